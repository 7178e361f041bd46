#include "search/exact/cheapest.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include "cost/plan/repeated_heads.h"
#include "cost/pricing/call.h"
#include "ops/core/error.h"
#include "search/exact/integer_program.h"
#include "search/exact/lone_computation.h"

namespace taso::search {
namespace {

using cost::Cost;
using cost::Kernel;
using cost::Role;

/// Chooses computations of an equality graph by an integer program.
class Choosing {
 public:
  Choosing(const EqualityGraph& graph, const std::vector<const Graph*>& given, const cost::KernelPrices& prices,
           const CheapestOptions& options)
      : graph_(graph), store_(graph.store()), prices_(prices), options_(options) {
    for (const Graph* const one : given) {
      const cost::WholeGraph view(*one, options.pricing.sizes, options.pricing.layout);
      for (const Kernel& kernel : cost::kernels_of(view))
        if (kernel.kind == Kernel::Kind::opaque && (is_for_onnxruntime() || !cost::can_be_called(view, kernel)))
          add_opaque(view, kernel);
    }
  }

  Cheapest run() {
    Cheapest cheapest;
    find_useful();
    find_prices();
    make_program();
    double best = 0;
    std::size_t in_vain = 0;   // programs in sequence that did not raise the bound
    std::size_t unsolved = 0;  // nodes times variables of programs that were not solved to the end
    while (cheapest.solved < options_.most_solved && in_vain < options_.most_in_vain && unsolved < most_unsolved) {
      const IntegerProgram::Solution solution = program_.solve(most_nodes(), start(), options_.should_end);
      ++cheapest.solved;
      if (solution.end == IntegerProgram::Solution::End::limit) unsolved += most_nodes() * program_.variables();
      check(solution.end != IntegerProgram::Solution::End::impossible, "the given graph is a solution");
      in_vain = cheapest.solved > 1 && solution.bound < best * least_rise ? in_vain + 1 : 0;
      best = std::max(best, solution.bound);
      if (solution.values.empty() && program_.variables() > 0) break;
      if (!forbid_cycles(solution.values)) {
        cheapest.is_exact = solution.end == IntegerProgram::Solution::End::solved;
        cheapest.nodes = chosen(solution.values);
        break;
      }
      if (options_.should_end && options_.should_end()) break;
    }
    cheapest.least = static_cast<Cost>(std::floor(best * 1e3));
    cheapest.computations = useful_.size();
    cheapest.values = classes_.size();
    return cheapest;
  }

 private:
  bool is_for_onnxruntime() const { return options_.pricing.layout == cost::Layout::onnxruntime; }

  /// Of all nodes of a program together: a node of a large program takes long, so fewer of them are looked at.
  static constexpr std::size_t most_variables = 300'000;
  /// Of programs that were not solved. One more row makes the next one no easier, and hardly raises its bound: for a
  /// cell of NASNet by 3 % in six more programs of half a minute each.
  static constexpr std::size_t most_unsolved = 2 * most_variables;

  std::size_t most_nodes() const {
    return std::min(options_.most_nodes, most_variables / std::max<std::size_t>(program_.variables(), 1) + 1);
  }

  const Computation& computation(std::size_t node) const { return store_[graph_.nodes()[node].computation]; }

  /// Whether a class needs no computation at run time.
  bool is_free(ValueId value) const {
    if (store_.weight_only(value)) return true;
    for (const std::size_t node : graph_.computed_by(value))
      if (computation(node).is_leaf() || computation(node).weight_only) return true;
    return false;
  }

  /// The classes that can be computed if `without` cannot.
  std::vector<bool> derivable(ValueId without) const {
    std::vector<bool> is_there(store_.values(), false);
    std::vector<std::size_t> missing(graph_.nodes().size(), 0);
    std::vector<ValueId> fresh;
    const auto add = [&](ValueId value) {
      if (value == without || is_there[place(value)]) return;
      is_there[place(value)] = true;
      fresh.push_back(value);
    };
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i) {
      if (!graph_.nodes()[i].is_there) continue;
      std::set<ValueId> operands(computation(i).operands.begin(), computation(i).operands.end());
      operands.erase(no_value);
      missing[i] = operands.size();
      if (missing[i] == 0)
        for (const ValueId result : graph_.nodes()[i].results) add(result);
    }
    while (!fresh.empty()) {
      const ValueId value = fresh.back();
      fresh.pop_back();
      for (const std::size_t user : graph_.used_by(value))
        if (--missing[user] == 0)
          for (const ValueId result : graph_.nodes()[user].results) add(result);
    }
    return is_there;
  }

  /// Leaves out computations that need a value of their own class, however they are done, and what outputs cannot need.
  void find_useful() {
    std::vector<bool> is_class_seen(store_.values(), false);
    std::vector<ValueId> open;
    const auto need = [&](ValueId value) {
      if (is_class_seen[place(value)] || is_free(value)) return;
      is_class_seen[place(value)] = true;
      open.push_back(value);
    };
    std::vector<bool> is_node_seen(graph_.nodes().size(), false);
    for (const ValueId output : graph_.outputs()) need(output);
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      classes_.push_back(value);
      const bool is_choice = graph_.computed_by(value).size() > 1;
      const std::vector<bool> without = is_choice ? derivable(value) : std::vector<bool>();
      for (const std::size_t node : graph_.computed_by(value)) {
        const Computation& one = computation(node);
        const bool is_circular =
            is_choice && std::any_of(one.operands.begin(), one.operands.end(),
                                     [&](ValueId operand) { return operand != no_value && !without[place(operand)]; });
        // With several results, a computation may be of use for another one.
        if (is_circular && one.results > 1) circular_.emplace(node, value);
        if (is_circular || is_node_seen[node]) continue;
        is_node_seen[node] = true;
        for (const ValueId operand : one.operands)
          if (operand != no_value) need(operand);
      }
    }
    for (std::size_t i = 0; i < graph_.nodes().size(); ++i)
      if (is_node_seen[i]) useful_.push_back(i);
  }

  std::optional<Role> role(std::size_t node) const {
    const Computation& one = computation(node);
    return one.op == nullptr ? std::nullopt : std::optional(ops::role_of(one.op->op));
  }
  bool is_softmax(std::size_t node) const {
    const Computation& one = computation(node);
    return one.op != nullptr && std::holds_alternative<op::Softmax>(one.op->op);
  }
  bool is_chosen(const std::vector<double>& values, std::size_t node) const {
    return place_of_[node] != none && values[place_of_[node]] > 0.5;
  }

  std::vector<std::size_t> chosen(const std::vector<double>& values) const {
    std::vector<std::size_t> nodes;
    for (const std::size_t node : useful_)
      if (is_chosen(values, node)) nodes.push_back(node);
    return nodes;
  }

  /// The variables of the known graph, from which the solver starts.
  std::vector<IntegerProgram::Variable> start() const {
    std::vector<IntegerProgram::Variable> variables;
    for (const std::size_t node : options_.start)
      if (place_of_[node] != none) variables.push_back(place_of_[node]);
    return variables;
  }

  void find_prices() {
    if (options_.prices == ComputationPrices::alone)
      find_prices_alone();
    else
      find_least_prices();
  }

  /// In another graph it may cost less, if fewer of its results are used or some of its operands are equal.
  struct OpaquePrice {
    Cost price = 0;
    std::size_t operands = 0;  ///< different ones
  };

  void add_opaque(const cost::WholeGraph& view, const Kernel& kernel) {
    std::size_t used = 0;
    for (std::size_t i = 0; i < view.results(kernel.main); ++i)
      if (const cost::PlanValue value = view.result(kernel.main, i);
          value != cost::no_plan_value && (view.users(value) > 0 || view.is_output(value)))
        ++used;
    if (used != 1) return;
    std::set<cost::PlanValue> operands;
    for (std::size_t i = 0; i < view.operands(kernel.main); ++i)
      if (const cost::PlanValue value = view.operand(kernel.main, i); value != cost::no_plan_value)
        operands.insert(value);
    opaque_.emplace(&view.node(kernel.main), OpaquePrice{prices_.price(view, kernel), operands.size()});
  }

  Cost of_opaque(std::size_t node) const {
    const auto found = opaque_.find(computation(node).origin);
    if (found == opaque_.end()) return 0;
    const auto& classes = computation(node).operands;
    std::set<ValueId> operands(classes.begin(), classes.end());
    operands.erase(no_value);
    return operands.size() == found->second.operands ? found->second.price : 0;
  }

  void find_prices_alone() {
    for (const std::size_t node : useful_) {
      prices_of_.push_back(role(node) ? 0 : of_opaque(node));
      if (!role(node)) continue;
      const LoneComputation view(store_, graph_.nodes()[node].computation, options_.pricing);
      if (const auto kernel = view.kernel()) prices_of_.back() = prices_.price(view, *kernel);
    }
  }

  void find_least_prices() {
    find_mixed();
    for (const std::size_t i : useful_) {
      prices_of_.push_back(0);
      const std::optional<Role> kind = role(i);
      if (has_mixed_operands(i)) continue;
      if (!kind) {  // a device may know how to do it if it sees the contents of constants
        prices_of_.back() = of_opaque(i);
        continue;
      }
      switch (*kind) {
        case Role::convolution:
        case Role::matmul:
        case Role::pooling:
        case Role::rows:
        case Role::copy:
        case Role::element_wise: prices_of_.back() = least(i); break;
        case Role::transpose:
        case Role::slice:
        case Role::concat:
          if (surely_moves(i)) prices_of_.back() = least(i);
          break;
        default: break;
      }
    }
    find_attention();
  }

  Kernel alone(const LoneComputation& view) const {
    std::optional<Kernel> kernel = view.kernel();
    check(kernel.has_value(), "a single operator leads its kernel");
    return *std::move(kernel);
  }

  /// The kernel of the operator alone.
  Kernel alone(std::size_t node) const {
    return alone(LoneComputation(store_, graph_.nodes()[node].computation, options_.pricing));
  }

  /// The least price of a kernel in which this does the work.
  Cost least(std::size_t node) const {
    const LoneComputation view(store_, graph_.nodes()[node].computation, options_.pricing);
    return prices_.least(view, alone(view));
  }

  /// Products and a softmax that one kernel may compute.
  struct Attention {
    std::set<std::size_t> first, softmax;  ///< one of these each
    Cost price = 0;                        ///< the least
  };

  /// Finds products and softmaxes that a kernel of attention may compute, each with the products that may be the last
  /// of it.
  void find_attention() {
    for (const std::size_t softmax : useful_)
      if (is_softmax(softmax))
        for (const std::size_t last : products_after(softmax)) attention_[last].softmax.insert(softmax);
    for (const std::size_t node : useful_) {
      if (role(node) != Role::matmul) continue;
      const std::set<std::size_t> after = softmaxes_after(node);
      for (auto& each : attention_) {
        Attention& one = each.second;
        if (std::any_of(after.begin(), after.end(), [&](std::size_t softmax) { return one.softmax.contains(softmax); }))
          one.first.insert(node);
      }
    }
    std::erase_if(attention_, [](const auto& one) { return one.second.first.empty(); });
    for (auto& [last, one] : attention_) {
      one.price = least_of_attention(last, one);
      in_attention_of_[last].insert(last);
      for (const auto* parts : {&one.first, &one.softmax})
        for (const std::size_t part : *parts) in_attention_of_[part].insert(last);
    }
  }

  Cost least_of_attention(std::size_t last, const Attention& parts) const {
    if (has_mixed_operands(last) || may_be_repeated(computation(last).operands[1], cost::most_views_of_heads)) return 0;
    const LoneComputation view(store_, graph_.nodes()[last].computation, options_.pricing);
    Kernel kernel = alone(view);
    kernel.kind = Kernel::Kind::attention;
    const auto least_of = [&](const std::set<std::size_t>& nodes, double Kernel::*part) {
      double least = std::numeric_limits<double>::infinity();
      for (const std::size_t node : nodes) least = std::min(least, alone(node).*part);
      return least;
    };
    kernel.first_depth = least_of(parts.first, &Kernel::depth);
    kernel.operations += least_of(parts.softmax, &Kernel::operations);
    return prices_.least(view, kernel);
  }

  /// The products whose left factor a softmax computes. Opaque operators may stand between them, which put zeros in
  /// place of NaN (cost/plan/attention_form.h).
  std::set<std::size_t> products_after(std::size_t softmax) const {
    constexpr int most_opaque = 2;
    std::set<std::size_t> found;
    std::set<ValueId> reached{graph_.nodes()[softmax].results[0]};
    for (int opaque = 0; opaque <= most_opaque; ++opaque) {
      std::set<ValueId> further;
      for (const ValueId value : reached)
        for (const std::size_t user : graph_.used_by(value)) {
          if (role(user) == Role::matmul && computation(user).operands[0] == value) found.insert(user);
          if (!role(user)) further.insert(graph_.nodes()[user].results.begin(), graph_.nodes()[user].results.end());
        }
      reached.insert(further.begin(), further.end());
    }
    return found;
  }

  /// The softmaxes that a product reaches through element-wise operators.
  std::set<std::size_t> softmaxes_after(std::size_t product) const {
    std::set<std::size_t> found;
    std::set<ValueId> reached{graph_.nodes()[product].results[0]};
    std::vector<ValueId> open(reached.begin(), reached.end());
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      for (const std::size_t user : graph_.used_by(value)) {
        if (is_softmax(user)) found.insert(user);
        if (role(user) != Role::element_wise) continue;
        const ValueId result = graph_.nodes()[user].results[0];
        if (reached.insert(result).second) open.push_back(result);
      }
    }
    return found;
  }

  /// Whether moving data is a call of its own in all graphs. In plans of our own it may be a view, or write in place.
  bool surely_moves(std::size_t node) const {
    if (!is_for_onnxruntime()) return false;
    const auto is_one_of = [&](const std::vector<std::size_t>& nodes, std::initializer_list<Role> roles) {
      return std::any_of(nodes.begin(), nodes.end(), [&](std::size_t other) {
        return role(other) && std::find(roles.begin(), roles.end(), *role(other)) != roles.end();
      });
    };
    switch (*role(node)) {
      case Role::transpose:  // a product may write in the order of the transpose after it
        return !is_one_of(graph_.computed_by(computation(node).operands[0]), {Role::matmul, Role::element_wise});
      case Role::concat:  // concats of concats are one call
        return !is_one_of(graph_.used_by(graph_.nodes()[node].results[0]), {Role::concat});
      default: return true;
    }
  }

  /// Whether a factor may repeat something, of which attention reads less (repeated_heads.h).
  bool may_be_repeated(ValueId factor, std::size_t furthest) const {
    const auto& by = graph_.computed_by(factor);
    return std::any_of(by.begin(), by.end(), [&](std::size_t node) {
      const std::optional<Role> kind = role(node);
      if (!kind) return !is_free(factor);
      const bool moves = kind == Role::reshape || kind == Role::transpose;
      return moves && (furthest == 0 || may_be_repeated(computation(node).operands[0], furthest - 1));
    });
  }

  bool has_weight(std::size_t node) const {
    const auto& operands = computation(node).operands;
    return std::any_of(operands.begin(), operands.end(),
                       [&](ValueId operand) { return operand != no_value && store_.weight_only(operand); });
  }

  /// Whether an operand may be a weight in one graph and computed at run time in another.
  bool has_mixed_operands(std::size_t node) const {
    return std::any_of(computation(node).operands.begin(), computation(node).operands.end(),
                       [&](ValueId operand) { return operand != no_value && is_mixed_[place(operand)]; });
  }

  /// Finds the values that may be weights in one graph and computed at run time in another.
  void find_mixed() {
    std::vector<bool> may_be_weight(store_.values(), false);
    for (bool grown = true; grown;) {
      grown = false;
      for (std::size_t node = 0; node < graph_.nodes().size(); ++node) {
        const auto& operands = computation(node).operands;
        const bool may = computation(node).weight_only ||
                         (!operands.empty() && std::all_of(operands.begin(), operands.end(), [&](ValueId operand) {
                           return operand == no_value || may_be_weight[place(operand)] || store_.weight_only(operand);
                         }));
        if (!may) continue;
        for (const ValueId result : graph_.nodes()[node].results)
          if (!may_be_weight[place(result)]) may_be_weight[place(result)] = grown = true;
      }
    }
    is_mixed_.assign(store_.values(), false);
    for (std::size_t node = 0; node < graph_.nodes().size(); ++node)
      for (const ValueId result : graph_.nodes()[node].results)
        if (computation(node).weight_only != store_.weight_only(result) ||
            (may_be_weight[place(result)] && !store_.weight_only(result)))
          is_mixed_[place(result)] = true;
  }

  /// Of two choices of the same price, the one with fewer operators is better.
  double price_of_operator() const {
    Cost lowest = cost::highest_kernel_price;
    for (const Cost price : prices_of_)
      if (price > 0) lowest = std::min(lowest, price);
    return static_cast<double>(lowest) * 1e-6;  // prices are divided by a thousand below
  }

  void make_program() {
    place_of_.assign(graph_.nodes().size(), none);
    const double own = options_.prices == ComputationPrices::alone ? price_of_operator() : 0;
    for (std::size_t k = 0; k < useful_.size(); ++k) {
      const bool pays_always = role(useful_[k]) != Role::element_wise && !in_attention_of_.contains(useful_[k]);
      place_of_[useful_[k]] = program_.add(own + (pays_always ? static_cast<double>(prices_of_[k]) * 1e-3 : 0));
    }
    for (const ValueId output : graph_.outputs())
      if (!is_free(output)) program_.add_row(computed(output), 1);
    for (const std::size_t node : useful_)
      for (const ValueId operand : different_operands(node)) {
        IntegerProgram::Terms terms = computed(operand);
        terms.emplace_back(place_of_[node], -1);
        program_.add_row(std::move(terms), 0);
      }
    add_element_wise();
    add_attention();
  }

  /// A product or softmax pays, or a kernel of attention does.
  void add_attention() {
    std::map<std::size_t, IntegerProgram::Variable> kernels;
    for (const auto& [last, one] : attention_)
      if (place_of_[last] != none) {
        kernels[last] = program_.add(static_cast<double>(one.price) * 1e-3);
        program_.add_row({{place_of_[last], 1}, {kernels[last], -1}}, 0);
      }
    for (std::size_t k = 0; k < useful_.size(); ++k) {
      const auto found = in_attention_of_.find(useful_[k]);
      if (found == in_attention_of_.end()) continue;
      IntegerProgram::Terms terms{{place_of_[useful_[k]], -1},
                                  {program_.add(static_cast<double>(prices_of_[k]) * 1e-3), 1}};
      for (const std::size_t last : found->second)
        if (const auto kernel = kernels.find(last); kernel != kernels.end()) terms.emplace_back(kernel->second, 1);
      program_.add_row(std::move(terms), 0);
    }
  }

  std::set<ValueId> different_operands(std::size_t node) const {
    std::set<ValueId> operands;
    for (const ValueId operand : computation(node).operands)
      if (operand != no_value && !is_free(operand)) operands.insert(operand);
    return operands;
  }

  IntegerProgram::Terms computed(ValueId value) const {
    IntegerProgram::Terms terms;
    for (const std::size_t node : graph_.computed_by(value))
      if (place_of_[node] != none && !circular_.contains({node, value})) terms.emplace_back(place_of_[node], 1);
    return terms;
  }

  /// An element-wise operator follows a product or reduction (directly, or after another that does), or comes before a
  /// reduction or an element-wise operator that does not follow one, or pays.
  void add_element_wise() {
    std::vector<std::size_t> follows(graph_.nodes().size(), none), leads(graph_.nodes().size(), none);
    for (const std::size_t node : useful_)
      if (role(node) == Role::element_wise) {
        follows[node] = program_.add(0);
        leads[node] = program_.add(0);
      }
    for (std::size_t k = 0; k < useful_.size(); ++k) {
      const std::size_t node = useful_[k];
      if (follows[node] == none) continue;
      const IntegerProgram::Variable pays = program_.add(static_cast<double>(prices_of_[k]) * 1e-3);
      // It is in one of these ways, if it is there at all.
      program_.add_row({{follows[node], 1}, {leads[node], 1}, {place_of_[node], -1}}, 0);
      IntegerProgram::Terms before{{follows[node], -1}};
      for (const ValueId operand : different_operands(node))
        for (const std::size_t by : graph_.computed_by(operand)) {
          const std::optional<Role> kind = role(by);
          if (place_of_[by] == none) continue;
          if (kind == Role::convolution || kind == Role::matmul || kind == Role::rows)
            before.emplace_back(place_of_[by], 1);
          else if (follows[by] != none)
            before.emplace_back(follows[by], 1);
        }
      program_.add_row(std::move(before), 0);
      IntegerProgram::Terms after{{leads[node], -1}, {pays, 1}};
      for (const std::size_t by : graph_.used_by(graph_.nodes()[node].results[0])) {
        if (place_of_[by] == none) continue;
        if (role(by) == Role::rows || (role(by) == Role::matmul && has_weight(node)))  // a scale, of attention
          after.emplace_back(place_of_[by], 1);
        else if (leads[by] != none)
          after.emplace_back(leads[by], 1);
      }
      program_.add_row(std::move(after), 0);
    }
  }

  /// Finds values that the chosen computations compute only from one another, and adds rows against that. False if
  /// there are none.
  bool forbid_cycles(const std::vector<double>& values) {
    std::vector<bool> is_there(store_.values(), false);
    const auto is_ready = [&](ValueId operand) {
      return operand == no_value || is_there[place(operand)] || is_free(operand);
    };
    for (bool grown = true; grown;) {
      grown = false;
      for (const std::size_t node : useful_) {
        if (!is_chosen(values, node)) continue;
        const auto& operands = computation(node).operands;
        if (!std::all_of(operands.begin(), operands.end(), is_ready)) continue;
        for (const ValueId result : graph_.nodes()[node].results)
          if (!is_there[place(result)]) is_there[place(result)] = grown = true;
      }
    }
    bool found = false;
    const auto forbid = [&](ValueId needed, IntegerProgram::Terms terms, double least) {
      // What it is computed from by chosen computations, and is not there: a set without a first one.
      std::set<ValueId> circle{needed};
      std::vector<ValueId> open{needed};
      while (!open.empty()) {
        const ValueId value = open.back();
        open.pop_back();
        for (const std::size_t node : graph_.computed_by(value)) {
          if (!is_chosen(values, node)) continue;
          for (const ValueId operand : computation(node).operands)
            if (!is_ready(operand) && circle.insert(operand).second) open.push_back(operand);
        }
      }
      std::set<std::size_t> firsts;
      for (const ValueId value : circle)
        for (const std::size_t node : graph_.computed_by(value)) {
          const auto& operands = computation(node).operands;
          const bool is_first =
              std::none_of(operands.begin(), operands.end(), [&](ValueId operand) { return circle.contains(operand); });
          if (is_first && place_of_[node] != none) firsts.insert(node);
        }
      for (const std::size_t node : firsts) terms.emplace_back(place_of_[node], 1);
      program_.add_row(std::move(terms), least);
      found = true;
    };
    for (const ValueId output : graph_.outputs())
      if (!is_ready(output)) forbid(output, {}, 1);
    if (!found) return false;
    for (const std::size_t node : useful_)
      if (is_chosen(values, node))
        for (const ValueId operand : different_operands(node))
          if (!is_ready(operand)) forbid(operand, {{place_of_[node], -1}}, 0);
    return true;
  }

  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr double least_rise = 1.001;  ///< of a bound
  const EqualityGraph& graph_;
  const Store& store_;
  const cost::KernelPrices& prices_;
  const CheapestOptions& options_;
  std::unordered_map<const ops::Node*, OpaquePrice> opaque_;  // that have a kernel each, and that no rule changes
  std::vector<ValueId> classes_;                              // that have to be computed in some graph
  std::vector<std::size_t> useful_;                           // nodes, rising
  std::set<std::pair<std::size_t, ValueId>> circular_;        // nodes, and those of their results that they need before
  std::vector<Cost> prices_of_;                               // by position in useful_
  std::vector<std::size_t> place_of_;                         // the variable of a node
  std::vector<bool> is_mixed_;                                // by value
  std::map<std::size_t, Attention> attention_;                // by the node of its last product
  std::map<std::size_t, std::set<std::size_t>> in_attention_of_;  // for products and softmaxes: the last products
  IntegerProgram program_;
};

}  // namespace

Cheapest cheapest_of(const EqualityGraph& graph, const std::vector<const Graph*>& given,
                     const cost::KernelPrices& prices, const CheapestOptions& options) {
  return Choosing(graph, given, prices, options).run();
}

}  // namespace taso::search
