#include "rules/instance/coverage.h"

#include <algorithm>
#include <set>

#include "ops/core/error.h"

namespace taso::rules {
namespace {

using Kind = Requirement::Kind;

bool says_the_same(const Requirement& a, const Requirement& b) {
  if (a.kind != b.kind) return false;
  if (a == b) return true;
  const Dim left = a.left - a.right, right = b.left - b.right;
  if (a.kind == Kind::at_least) return left == right;
  if (a.kind == Kind::equal || a.kind == Kind::not_equal) return left == right || left == Dim(-1) * right;
  return false;
}

class Coverage {
 public:
  Coverage(const Instance& used, const Instance& proved) : used_(used), proved_(proved) {}

  bool holds() {
    if (!proved_.target_fits || used_.inputs.size() != proved_.inputs.size() ||
        used_.source.size() != proved_.source.size() || used_.target.size() != proved_.target.size())
      return false;
    for (const Unknown& unknown : used_.unknowns) known_.add_unknown(unknown.name, unknown.least);
    for (const auto* list : {&used_.hypotheses, &used_.obligations})
      for (const Requirement& requirement : *list)
        if (!known_.assume(requirement)) return false;  // it never holds, so nothing is lost
    rest_ = known_.rest();
    return assumes_no_more() && has_the_same_operators();
  }

 private:
  /// The dimension in the unknowns of `used`, as far as these are free.
  Dim known(const Dim& dim) const {
    Dim original = dim;
    // A made-up unknown may stand for a quotient of earlier ones.
    for (std::size_t depth = 0; depth <= proved_.made_up.size(); ++depth)
      original = substitute(original, [&](std::string_view name) -> std::optional<Dim> {
        const auto found = proved_.made_up.find(std::string(name));
        return found == proved_.made_up.end() ? std::nullopt : std::optional(found->second);
      });
    return known_.reduce(original);
  }

  bool follows(const Requirement& requirement) const {
    const Requirement here{requirement.kind, known(requirement.left), known(requirement.right)};
    return known_.is_obvious(here) ||
           std::any_of(rest_.begin(), rest_.end(), [&](const Requirement& r) { return says_the_same(r, here); });
  }

  bool assumes_no_more() const {
    for (const Unknown& unknown : proved_.unknowns)
      if (!follows({Kind::at_least, Dim::symbol(unknown.name), unknown.least})) return false;
    for (const auto& [name, dim] : proved_.determined)
      if (!follows({Kind::equal, Dim::symbol(name), dim})) return false;
    return std::all_of(proved_.hypotheses.begin(), proved_.hypotheses.end(),
                       [&](const Requirement& hypothesis) { return follows(hypothesis); });
  }

  bool has_the_same_operators() {
    for (std::size_t i = 0; i < used_.inputs.size(); ++i) {
      const auto place = std::find(proved_.inputs.begin(), proved_.inputs.end(), used_.inputs[i]);
      if (place == proved_.inputs.end()) return false;
      const InstanceNode& other = proved_.nodes[static_cast<std::size_t>(place - proved_.inputs.begin())];
      if (!are_equal(used_.nodes[i].shapes[0], other.shapes[0])) return false;
    }
    for (std::size_t i = 0; i < used_.source.size(); ++i)
      if (!are_equal(used_.source[i], proved_.source[i])) return false;
    for (std::size_t i = 0; i < used_.target.size(); ++i)
      if (!are_equal(used_.target[i], proved_.target[i])) return false;
    return true;
  }

  bool are_equal(const InstanceValue& a, const InstanceValue& b) {
    if (a.second != b.second) return false;
    if (seen_.contains({a.first, b.first})) return true;
    const InstanceNode &left = used_.nodes[a.first], &right = proved_.nodes[b.first];
    if (left.input.has_value() != right.input.has_value()) return false;
    if (left.input) {
      if (used_.inputs[*left.input] != proved_.inputs[*right.input]) return false;
    } else {
      if (left.op.kind != right.op.kind || left.op.fields.size() != right.op.fields.size() ||
          left.operands.size() != right.operands.size())
        return false;
      for (std::size_t i = 0; i < left.op.fields.size(); ++i)
        if (!are_equal(left.op.fields[i], right.op.fields[i])) return false;
      for (std::size_t i = 0; i < left.operands.size(); ++i)
        if (!are_equal(left.operands[i], right.operands[i])) return false;
    }
    seen_.insert({a.first, b.first});
    return true;
  }

  bool are_equal(const SymbolicField& a, const SymbolicField& b) const {
    if (a.index() != b.index()) return false;
    if (const auto* number = std::get_if<Dim>(&a)) return are_equal(std::vector{*number}, {std::get<Dim>(b)});
    if (const auto* list = std::get_if<std::vector<Dim>>(&a)) return are_equal(*list, std::get<std::vector<Dim>>(b));
    return a == b;
  }
  bool are_equal(const std::vector<Dim>& a, const std::vector<Dim>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Dim& left, const Dim& right) {
      return follows({Kind::equal, left, right});
    });
  }

  const Instance& used_;
  const Instance& proved_;
  Equations known_{true};
  std::vector<Requirement> rest_;
  std::set<std::pair<std::size_t, std::size_t>> seen_;  // nodes found equal
};

}  // namespace

bool is_covered(const Instance& used, const Instance& proved) {
  try {
    return Coverage(used, proved).holds();
  } catch (const ShapeError&) {
    return false;  // a number overflows
  }
}

}  // namespace taso::rules
