#include <algorithm>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "verifier/normal_form/normal_form.h"
#include "verifier/normal_form/operators.h"

namespace taso::verifier {
namespace {

using namespace normal;

/// Whether the sum depends on its index only through the inputs' elements at that index.
class OwnPlace {
 public:
  OwnPlace(const rules::Instance& instance, const Index& index) : instance_(instance), index_(index) {}

  bool reads_only(const Sum& sum) const {
    return std::all_of(sum.terms.begin(), sum.terms.end(), [&](const normal::Term& term) {
      return term.bound.empty() && term.guards.empty() &&
             std::all_of(term.factors.begin(), term.factors.end(), [&](const Factor& f) { return reads_only(f); });
    });
  }

 private:
  bool reads_only(const Factor& factor) const {
    const auto inside = [&](const SumPtr& operand) { return reads_only(*operand); };
    switch (factor.kind) {
      case Factor::Kind::access: return is_own(factor);
      case Factor::Kind::real: return true;
      case Factor::Kind::size:
      case Factor::Kind::reciprocal: return factor.index[0].constant().has_value();
      case Factor::Kind::function: return std::all_of(factor.operands.begin(), factor.operands.end(), inside);
      case Factor::Kind::maximum:
        return std::all_of(factor.alternatives.begin(), factor.alternatives.end(), [&](const Alternative& part) {
          return part.bound.empty() && part.guards.empty() && reads_only(*part.body);
        });
    }
    return false;
  }

  /// An axis of size 1, which is broadcast, is always read at 0.
  bool is_own(const Factor& factor) const {
    const Shape& shape = instance_.nodes[factor.head].shapes[0];
    const std::size_t missing = index_.size() - shape.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (factor.index[axis] != (shape[axis] == Dim(1) ? Polynomial() : index_[missing + axis])) return false;
    return true;
  }

  const rules::Instance& instance_;
  const Index& index_;
};

}  // namespace

NormalFormResult prove_element_wise(const rules::Instance& instance, const NormalFormLimits& limits) {
  try {
    Workspace workspace(instance.unknowns, instance.hypotheses, limits.effort, limits.steps, limits.stop);
    Index index;
    for (const Dim& dim : instance.shape(instance.source[0]))
      index.push_back(dim == Dim(1) ? Polynomial()
                                    : Polynomial::variable(workspace.facts.fresh(workspace.facts.polynomial(dim),
                                                                                 fmt::format("i{}", index.size()))));
    if (OwnPlace(instance, index).reads_only(element(instance, instance.source[0], index)))
      return {NormalFormResult::proved, ""};
    return {NormalFormResult::unknown, "an element of the result depends on more than the elements at its index"};
  } catch (const ProofLimit& limit) {
    return {NormalFormResult::unknown, limit.what()};
  } catch (const ShapeError& error) {
    return {NormalFormResult::unknown, error.what()};
  }
}

}  // namespace taso::verifier
