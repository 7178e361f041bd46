#include "rules/instance/compiled_dim.h"

#include "ops/core/error.h"

namespace taso::rules {
namespace {

constexpr std::int64_t quotient = -1;

std::optional<std::int64_t> run(const std::int64_t*& code, std::span<const std::int64_t> values) {
  std::int64_t sum = 0;
  bool fits = true;
  for (std::int64_t terms = *code++; terms > 0; --terms) {
    std::int64_t product = *code++;
    for (std::int64_t factors = *code++; factors > 0; --factors) {
      const std::int64_t place = *code++;
      std::int64_t factor = 0;
      if (place != quotient) {
        factor = values[static_cast<std::size_t>(place)];
      } else {
        const auto numerator = run(code, values);
        if (!numerator) return std::nullopt;
        const auto denominator = run(code, values);
        if (!denominator || *denominator <= 0) return std::nullopt;
        factor = *numerator / *denominator - static_cast<std::int64_t>(*numerator % *denominator < 0);
      }
      fits &= !__builtin_mul_overflow(product, factor, &product);
    }
    fits &= !__builtin_add_overflow(sum, product, &sum);
  }
  return fits ? std::optional(sum) : std::nullopt;
}

}  // namespace

CompiledDim::CompiledDim(Dim dim, const Places& places) {
  if (const auto known = dim.known())
    constant_ = *known;
  else
    append(dim, places);
}

void CompiledDim::append(Dim dim, const Places& places) {
  const auto terms = terms_of(dim);
  code_.push_back(static_cast<std::int64_t>(terms.size()));
  for (const DimTerm& term : terms) {
    code_.push_back(term.coefficient);
    code_.push_back(static_cast<std::int64_t>(term.factors.size()));
    for (const DimFactor& factor : term.factors) {
      if (factor.name.empty()) {
        code_.push_back(quotient);
        append(factor.numerator, places);
        append(factor.denominator, places);
        continue;
      }
      const auto place = places.find(factor.name);
      check(place != places.end(), "every unknown of a dimension has a place");
      code_.push_back(static_cast<std::int64_t>(place->second));
    }
  }
}

std::optional<std::int64_t> CompiledDim::evaluate_code(std::span<const std::int64_t> values) const {
  const std::int64_t* code = code_.data();
  return run(code, values);
}

}  // namespace taso::rules
