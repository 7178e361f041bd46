#include "generator/enumeration/values.h"

#include <utility>

namespace taso::generator {
namespace {

/// Hashes values with the names of inputs replaced by their order of first use.
class ShapeHash {
 public:
  explicit ShapeHash(const Values& values) : values_(values) {}
  void add(std::uint64_t number) {
    hash_ = (hash_ ^ number) * 0x9e3779b97f4a7c15u;
    hash_ ^= hash_ >> 29;
  }
  void add(ValueId id) {
    const Value& value = values_[id];
    add(value.shape);
    for (const std::uint8_t input : value.uses) {
      if (names_[input] == 0) names_[input] = ++next_[values_.kinds[input]];
      add(std::uint64_t{names_[input]});
    }
  }
  void add(const Form& form) {
    add(form.schema | std::uint64_t{form.output} << 16 | std::uint64_t{form.count} << 24);
    for (const ValueId operand : form.used()) add(operand);
  }
  std::uint64_t hash() const { return hash_; }

 private:
  const Values& values_;
  std::uint64_t hash_ = 0x2545f4914f6cdd1d;
  std::array<std::uint8_t, 64> names_{};
  std::array<std::uint8_t, 16> next_{};
};

}  // namespace

std::uint64_t Values::shape_of(const Form& form) const {
  ShapeHash hash(*this);
  hash.add(form);
  return hash.hash();
}

std::uint64_t Values::shape_of(ValueId known, ValueId second, const Form& form) const {
  ShapeHash hash(*this);
  hash.add(known);
  if (second != ~ValueId{0}) hash.add(second);
  hash.add(form);
  return hash.hash();
}

bool Values::is_canonical(std::span<const ValueId> operands) const {
  std::array<std::uint8_t, 16> next{};
  std::uint64_t seen = 0;
  for (const ValueId operand : operands)
    for (const std::uint8_t input : all[operand].uses) {
      if (seen >> input & 1) continue;
      seen |= std::uint64_t{1} << input;
      const std::size_t kind = kinds[input];
      if (input != firsts[kind] + next[kind]) return false;
      ++next[kind];
    }
  return true;
}

std::array<ValueId, Form::most_operands> Values::in_order_of_naming(const Form& form) const {
  std::size_t main = 0;
  for (std::size_t i = 1; i < form.count; ++i)
    if (all[form.operands[i]].size > all[form.operands[main]].size) main = i;
  auto order = form.operands;
  for (std::size_t i = main; i > 0; --i) std::swap(order[i], order[i - 1]);
  return order;
}

}  // namespace taso::generator
