#include "generator/selection/worth.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "generator/selection/prune.h"
#include "rules/egraph/property.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_size.h"
#include "rules/language/rule_text.h"
#include "rules/language/signature.h"

namespace taso::generator {
namespace {

using Side = std::vector<rules::PatternPtr>;
using Names = std::set<std::string_view>;

/// Calls look(pattern, is_known) for every operator. Known operators are computed before the network runs: filters and
/// biases of convolutions, and scalars.
void visit(const rules::Pattern& pattern, bool is_known, const std::function<void(const rules::Pattern&, bool)>& look) {
  if (pattern.is_input()) return;
  look(pattern, is_known);
  for (std::size_t i = 0; i < pattern.operands.size(); ++i)
    visit(*pattern.operands[i], is_known || (i > 0 && (pattern.op == "conv" || pattern.op == "scalar_mul")), look);
}
void visit(const Side& side, const std::function<void(const rules::Pattern&, bool)>& look) {
  for (const rules::PatternPtr& pattern : side) visit(*pattern, false, look);
}

/// Importers make none of these, except ones, to repeat elements; these have shapes that no rule has.
const Names made_by_rules{"enlarge", "pooling_kernel", "identity_matrix", "identity_kernel", "ones"};

bool is_square(const rules::Pattern& pattern) {
  return pattern.op == "mul" && *pattern.operands[0] == *pattern.operands[1];
}

void count_inputs(const rules::Pattern& pattern, std::map<std::string, std::size_t>& counts) {
  if (pattern.is_input()) ++counts[pattern.input];
  const std::size_t operands = is_square(pattern) ? 1 : pattern.operands.size();
  for (std::size_t i = 0; i < operands; ++i) count_inputs(*pattern.operands[i], counts);
}
bool has_each_input_once(const Side& side) {
  std::map<std::string, std::size_t> counts;
  for (const rules::PatternPtr& pattern : side) count_inputs(*pattern, counts);
  return std::all_of(counts.begin(), counts.end(), [](const auto& one) { return one.second == 1; });
}
bool takes_one_twice(const rules::Pattern& pattern) {
  for (std::size_t i = 1; i < pattern.operands.size(); ++i)
    if (*pattern.operands[i] == *pattern.operands[i - 1]) return !is_square(pattern);
  return false;
}

/// The operators of a side as text, without the names of inputs.
std::string form_of(const Side& side) {
  std::string text;
  visit(side, [&](const rules::Pattern& pattern, bool) {
    text += pattern.op + std::to_string(pattern.output) + '(';
    for (const auto& [name, term] : pattern.attributes) text += name + '=' + rules::text_of(*term) + ',';
    for (const rules::PatternPtr& operand : pattern.operands) text += operand->is_input() ? 'i' : 'o';
  });
  return text;
}

/// A sum of products: how often each multiset of factors occurs.
using Polynomial = std::map<std::multiset<std::string>, std::int64_t>;

std::string text_of(const Polynomial& polynomial);

bool is_arithmetic(std::string_view op) { return op == "add" || op == "sub" || op == "mul" || op == "scalar_mul"; }

Polynomial polynomial_of(const rules::Pattern& pattern) {
  if (pattern.is_input()) return {{{pattern.input}, 1}};
  if (!is_arithmetic(pattern.op)) {
    rules::Pattern alone = pattern;
    alone.operands.clear();
    std::string text = rules::text_of(alone) + '.' + std::to_string(pattern.output);
    for (const rules::PatternPtr& operand : pattern.operands) text += '(' + text_of(polynomial_of(*operand)) + ')';
    return {{{text}, 1}};
  }
  const Polynomial a = polynomial_of(*pattern.operands[0]), b = polynomial_of(*pattern.operands[1]);
  Polynomial result;
  if (pattern.op == "add" || pattern.op == "sub") {
    result = a;
    for (const auto& [product, times] : b) result[product] += pattern.op == "add" ? times : -times;
  } else {
    for (const auto& [left, left_times] : a)
      for (const auto& [right, right_times] : b) {
        std::multiset<std::string> product = left;
        product.insert(right.begin(), right.end());
        result[product] += left_times * right_times;
      }
  }
  std::erase_if(result, [](const auto& one) { return one.second == 0; });
  return result;
}

std::string text_of(const Polynomial& polynomial) {
  std::string text;
  for (const auto& [product, times] : polynomial) {
    text += std::to_string(times);
    for (const std::string& factor : product) text += '*' + factor;
    text += '+';
  }
  return text;
}

/// Whether one side scales by a product and the other side scales twice. A search needs both directions: scalars that
/// are computed at run time are multiplied in a kernel of their own, but a tensor is scaled twice in one kernel.
bool scales_by_product(const rules::Rule& law) {
  const auto is_scaled_by = [](const Side& side, std::size_t place, std::string_view op) {
    return side.size() == 1 && side[0]->op == "scalar_mul" && side[0]->operands[place]->op == op;
  };
  if (rules::size_of(law) != 2) return false;
  return (is_scaled_by(law.source, 1, "mul") && is_scaled_by(law.target, 0, "scalar_mul")) ||
         (is_scaled_by(law.target, 1, "mul") && is_scaled_by(law.source, 0, "scalar_mul"));
}

/// Whether it is the associativity of one operator, x + (y + z), or a tensor scaled twice.
bool associates(const rules::Rule& law) {
  if (scales_by_product(law)) return true;
  Names names;
  for (const Side* side : {&law.source, &law.target})
    visit(*side, [&](const rules::Pattern& pattern, bool) { names.insert(pattern.op); });
  return names.size() == 1 && rules::size_of(law) == 2;
}

/// Whether it adds one number per channel to a convolution.
bool is_bias(const rules::Pattern& pattern) {
  if (pattern.op != "add") return false;
  const auto is = [&](std::size_t place, std::string_view op) { return pattern.operands[place]->op == op; };
  return (is(0, "conv") && is(1, "reshape")) || (is(1, "conv") && is(0, "reshape"));
}

/// The text of a pattern with renamed inputs, independent of the order of summands and factors.
std::string text_in_one_order(const rules::Pattern& pattern, const std::map<std::string, std::string>& names) {
  if (pattern.is_input()) return names.at(pattern.input);
  rules::Pattern alone = pattern;
  alone.operands.clear();
  std::string text = rules::text_of(alone);
  std::vector<std::string> operands;
  for (const rules::PatternPtr& operand : pattern.operands) operands.push_back(text_in_one_order(*operand, names));
  if (pattern.op == "add" || pattern.op == "mul") std::sort(operands.begin(), operands.end());
  for (const std::string& operand : operands) text += '(' + operand + ')';
  return text;
}

/// Whether two rules are the same up to the order of sums and products.
bool are_alike(const rules::Rule& one, const rules::Rule& other) {
  const std::vector<std::string> inputs = one.inputs();
  std::vector<std::string> theirs = other.inputs();
  std::map<std::string, std::string> names;
  for (const std::string& input : inputs) names[input] = input;
  const auto text = [&](const rules::Rule& rule) {
    return text_in_one_order(*rule.source[0], names) + ' ' + text_in_one_order(*rule.target[0], names);
  };
  const std::string expected = text(one);
  if (theirs.size() != inputs.size()) return false;
  std::sort(theirs.begin(), theirs.end());
  do {
    names.clear();
    for (std::size_t i = 0; i < theirs.size(); ++i) names[theirs[i]] = inputs[i];
    if (text(other) == expected) return true;
  } while (std::next_permutation(theirs.begin(), theirs.end()));
  return false;
}

std::multiset<std::string> operators_of(const Side& side) {
  std::multiset<std::string> names;
  visit(side, [&](const rules::Pattern& pattern, bool) { names.insert(pattern.op); });
  return names;
}

rules::Rule as_equation(rules::Rule rule) {
  rule.kind = rules::Rule::Kind::axiom;
  return rule;
}

/// Whether a stated rule says it, in the same direction.
bool is_stated(const rules::Rule& rule, const std::vector<rules::Rule>& stated) {
  std::vector<rules::Rule> alike;
  for (const rules::Rule& other : stated)
    if (operators_of(other.source) == operators_of(rule.source)) alike.push_back(as_equation(other));
  return !alike.empty() && is_instance(rule, rules::Properties(alike), [](std::size_t) { return true; });
}

bool saves(const rules::Rule& rule) { return kernels_of(rule.target) < kernels_of(rule.source); }
bool saves_a_kernel(const Law& law) { return std::any_of(law.begin(), law.end(), saves); }

std::size_t rules_in(const std::vector<Law>& laws) {
  std::size_t count = 0;
  for (const Law& law : laws) count += law.size();
  return count;
}

/// Drops laws that follow from others of their size and from smaller ones; the least useful are tried first.
class Minimum {
 public:
  Minimum(std::vector<Law>& laws, const std::vector<rules::Rule>& stated, const std::stop_token& stop)
      : laws_(laws), stop_(stop) {
    for (rules::Rule& rule : commutativity_axioms()) known_.add(std::move(rule));
    free_ = known_.size();
    for (const rules::Rule& rule : stated) known_.add(as_equation(rule));
    first_ = known_.size();
    for (const Law& law : laws) {
      known_.add(as_equation(law.front()));
      sizes_.push_back(rules::size_of(law.front()));
    }
    kept_.assign(laws.size(), true);
  }

  /// Leaves laws that follow without rules.
  void find() {
    std::vector<std::size_t> order(laws_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    // Within one size, laws that save no kernel go first, the longest of them before others.
    const auto key = [&](std::size_t i) {
      const rules::Rule& law = laws_[i].front();
      const std::size_t operators = operators_of(law.source).size() + operators_of(law.target).size();
      return std::tuple(sizes_[i], saves_a_kernel(laws_[i]), -static_cast<std::int64_t>(operators), law.inputs().size(),
                        rules::canonical_text(law));
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    for (const std::size_t i : order) {
      if (stop_.stop_requested()) return;
      kept_[i] = !follows(i, false);
      if (!kept_[i]) dropped_.push_back(i);
    }
    for (const std::size_t i : dropped_) laws_[i].clear();
    // Stated rules exist in one direction only, the one that saves something.
    for (std::size_t i = 0; i < laws_.size() && !stop_.stop_requested(); ++i)
      if (kept_[i] && saves_a_kernel(laws_[i]) && follows(i, true)) std::erase_if(laws_[i], saves);
  }

 private:
  /// Whether law i follows. A search finds a law that saves a kernel only if it takes few steps.
  bool follows(std::size_t i, bool with_stated) const {
    const auto may_use = [&](std::size_t property) {
      if (property < first_) return property < free_ || with_stated;
      const std::size_t other = property - first_;
      return other != i && kept_[other] && sizes_[other] <= sizes_[i];
    };
    return is_derivable(laws_[i].front(), known_, saves_a_kernel(laws_[i]) ? 2 : 4, may_use);
  }

  std::vector<Law>& laws_;
  const std::stop_token& stop_;
  rules::Properties known_{{}};
  std::size_t free_ = 0, first_ = 0;  // properties below free_ need no rule; those below first_ are stated
  std::vector<std::size_t> sizes_;
  std::vector<bool> kept_;
  std::vector<std::size_t> dropped_;
};

}  // namespace

bool can_match(const rules::Rule& rule) {
  bool is_found =
      std::none_of(rule.source.begin(), rule.source.end(), [](const auto& pattern) { return pattern->is_input(); });
  visit(rule.source,
        [&](const rules::Pattern& pattern, bool) { is_found = is_found && !made_by_rules.contains(pattern.op); });
  return is_found;
}

bool is_coincidence(const rules::Rule& law) {
  bool takes_twice = false;
  for (const Side* side : {&law.source, &law.target})
    visit(*side, [&](const rules::Pattern& pattern, bool) { takes_twice = takes_twice || takes_one_twice(pattern); });
  return takes_twice || (!has_each_input_once(law.source) && !has_each_input_once(law.target));
}

bool only_permutes_inputs(const rules::Rule& law) {
  return form_of(law.source) == form_of(law.target) && !associates(law);
}

bool is_polynomial_identity(const rules::Rule& law) {
  return std::equal(law.source.begin(), law.source.end(), law.target.begin(), law.target.end(),
                    [](const auto& a, const auto& b) { return polynomial_of(*a) == polynomial_of(*b); });
}

std::size_t kernels_of(const Side& side) {
  // A view moves no data.
  static const Names views{"split", "slice", "reshape"};
  std::set<std::string> seen;
  visit(side, [&](const rules::Pattern& pattern, bool is_known) {
    if (is_known || pattern.operands.empty() || views.contains(pattern.op) || is_bias(pattern)) return;
    rules::Pattern whole = pattern;
    whole.output = 0;
    seen.insert(rules::text_of(whole));
  });
  return seen.size();
}

bool is_useful_direction(const rules::Rule& rule) {
  if (rule.source.size() > 1) {
    std::map<std::string, std::size_t> counts;
    for (const rules::PatternPtr& pattern : rule.source) count_inputs(*pattern, counts);
    const bool shares = std::any_of(counts.begin(), counts.end(), [](const auto& one) { return one.second > 1; });
    return shares && std::all_of(rule.source.begin(), rule.source.end(), [](const rules::PatternPtr& pattern) {
             return pattern->op == "matmul" || pattern->op == "conv";
           });
  }
  if (kernels_of(rule.target) <= kernels_of(rule.source) || scales_by_product(rule)) return true;
  static const Names movements{"transpose", "reshape", "split", "slice"};
  const rules::Pattern &before = *rule.source[0], &after = *rule.target[0];
  const bool is_function = rules::is_function(before.op, 1);
  if (is_function && after.op == before.op && after.operands[0]->op == before.op) return true;
  return (is_function || movements.contains(before.op)) && after.op == before.operands[0]->op &&
         std::all_of(after.operands.begin(), after.operands.end(),
                     [&](const rules::PatternPtr& operand) { return operand->op == before.op; });
}

std::vector<rules::Rule> commutativity_axioms() {
  return {rules::parse_rule("axiom add-commutes\n  add(x, y) = add(y, x)\n  where broadcast(x, y)\n"),
          rules::parse_rule("axiom mul-commutes\n  mul(x, y) = mul(y, x)\n  where broadcast(x, y)\n")};
}

Worth worth_of(std::vector<Law> laws, const std::vector<rules::Rule>& stated, const std::stop_token& stop) {
  Worth worth;
  worth.proved = rules_in(laws);
  const auto drop_empty = [&] { std::erase_if(laws, [](const Law& law) { return law.empty(); }); };
  std::stable_sort(laws.begin(), laws.end(),
                   [](const Law& a, const Law& b) { return rules::size_of(a.front()) < rules::size_of(b.front()); });
  for (Law& law : laws) std::erase_if(law, [](const rules::Rule& rule) { return !can_match(rule); });
  drop_empty();
  worth.matching = rules_in(laws);
  // Of polynomial identities, a search needs those that save a kernel, and that sums and products may be taken in any
  // order.
  for (Law& law : laws)
    if (is_polynomial_identity(law.front()) && !associates(law.front()))
      std::erase_if(law, [](const rules::Rule& rule) { return !saves(rule); });
  for (Law& law : laws)
    if (law.size() > 1 && associates(law[0]) && are_alike(law[0], law[1])) law.erase(law.begin() + 1);
  drop_empty();
  worth.no_arithmetic = rules_in(laws);
  for (Law& law : laws) std::erase_if(law, [&](const rules::Rule& rule) { return is_stated(rule, stated); });
  drop_empty();
  worth.not_stated = rules_in(laws);
  Minimum(laws, stated, stop).find();
  drop_empty();
  worth.laws = std::move(laws);
  worth.not_following = rules_in(worth.laws);
  for (Law& law : worth.laws) std::erase_if(law, [](const rules::Rule& rule) { return !is_useful_direction(rule); });
  std::erase_if(worth.laws, [](const Law& law) { return law.empty(); });
  worth.leading_on = rules_in(worth.laws);
  return worth;
}

}  // namespace taso::generator
