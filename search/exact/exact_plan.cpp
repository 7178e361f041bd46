#include "search/exact/exact_plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "cost/plan/attention_form.h"
#include "cost/plan/repeated_heads.h"
#include "cost/plan/spread.h"
#include "ops/core/error.h"
#include "search/exact/integer_program.h"

namespace taso::search {
namespace {

using cost::Cost;
using cost::PlanNode;
using cost::PlanValue;
using cost::Role;

class ExactPlanner {
 public:
  ExactPlanner(cost::WholeGraph& view, const cost::KernelPrices& prices, const ExactPlanOptions& options)
      : view_(view), prices_(prices), options_(options), given_cuts_(view.cuts()) {
    given_cuts_.resize(view.values(), false);
  }

  ExactPlan make() {
    plan_.given = total(given_cuts_);
    find_links();
    find_parts();
    all_cut_ = given_cuts_;
    for (const Link& link : links_)
      if (!link.is_fixed) all_cut_[place(link.value)] = true;
    // Everything outside of the parts has the same kernels, whatever is cut.
    const Cost cut = total(all_cut_);
    Cost outside = cut;
    std::vector<bool> cuts = all_cut_;
    for (const Part& part : parts_) {
      outside -= price_of_part(part, all_cut_);
      decide(part, cuts);
    }
    plan_.bound += outside;
    plan_.best = total(cuts);
    plan_.cuts = std::move(cuts);
    if (plan_.best > plan_.given) {  // only if some part was too large or not solved
      plan_.best = plan_.given;
      plan_.cuts = given_cuts_;
    }
    view_.set_cuts(given_cuts_);
    return std::move(plan_);
  }

 private:
  /// A value through which its producer and all of its users may share a kernel.
  struct Link {
    PlanValue value{};
    std::vector<PlanNode> nodes;  ///< sorted
    /// Not cut, because views behind the cut would be copies: attention takes what repeats its heads, or nobody does.
    bool is_fixed = false;
  };
  struct Part {
    std::vector<std::size_t> links;
    std::vector<PlanNode> nodes;  ///< sorted
  };
  /// A set of operators of a part, sorted.
  using Group = std::vector<PlanNode>;

  Cost total(const std::vector<bool>& cuts) {
    view_.set_cuts(cuts);
    Cost sum = 0;
    for (const cost::Kernel& kernel : cost::kernels_of(view_)) sum += prices_.price(view_, kernel);
    return sum;
  }

  std::optional<Role> role(PlanNode node) const {
    return view_.is_free(node) ? std::nullopt : cost::role_of(view_, node);
  }

  bool is_softmax(PlanNode node) const {
    const Operator* const op = view_.op(node);
    return op != nullptr && std::holds_alternative<op::Softmax>(*op);
  }

  /// Whether fusion.h joins such a producer and such a user in some graph.
  bool may_join(PlanValue value, PlanNode user) const {
    const PlanNode producer = view_.producer(value);
    const std::optional<Role> before = role(producer), after = role(user);
    const auto guarded_by = [&](PlanNode node) { return cost::softmax_guarded_by(view_, node); };
    if (const PlanNode softmax = guarded_by(user); softmax != cost::no_plan_node)
      return producer == softmax || guarded_by(producer) == softmax;
    if (guarded_by(producer) != cost::no_plan_node) return after == Role::matmul;
    if (const PlanNode product = cost::product_after_repetition(view_, producer); product != cost::no_plan_node)
      return user == product || cost::product_scaled_by(view_, user) == product ||
             cost::product_after_repetition(view_, user) == product;
    if (!before || !after) return false;
    const bool computes = *before == Role::element_wise || *before == Role::convolution || *before == Role::matmul ||
                          *before == Role::rows;
    if (!computes) return false;
    switch (*after) {
      case Role::element_wise:
        return *view_.extents(view_.result(user, 0)) == *view_.extents(value) || cost::may_spread(view_, value, user);
      case Role::rows: return *before == Role::element_wise || (*before == Role::matmul && is_softmax(user));
      case Role::matmul: return is_softmax(producer) || cost::product_scaled_by(view_, producer) == user;
      case Role::transpose: return *before == Role::element_wise || *before == Role::matmul;
      default: return false;
    }
  }

  /// Whether neither this group nor a larger one is a kernel: several products or reductions are one only as attention,
  /// and what follows a convolution is limited.
  bool is_hopeless(const Group& group) const {
    std::size_t convolutions = 0, products = 0, reductions = 0;
    bool is_attention = false;
    for (const PlanNode node : group) {
      const std::optional<Role> one = role(node);
      convolutions += one == Role::convolution ? 1 : 0;
      products += one == Role::matmul ? 1 : 0;
      reductions += one == Role::rows ? 1 : 0;
      is_attention = is_attention || is_softmax(node);
    }
    if (convolutions > 0)
      return convolutions > 1 || products > 0 || reductions > 0 || group.size() > 1 + cost::longest_branching_epilogue;
    return reductions > 1 || products > 2 || (reductions == 1 && products > 0 && !is_attention);
  }

  void find_links() {
    for (std::uint32_t i = 0; i < view_.values(); ++i) {
      const PlanValue value{i};
      if (given_cuts_[i] || view_.is_output(value) || view_.users(value) == 0 || view_.is_weight(value)) continue;
      const PlanNode producer = view_.producer(value);
      Link link{value, {producer}, cost::product_after_repetition(view_, producer) != cost::no_plan_node};
      bool joins = true;
      for (std::size_t j = 0; j < view_.users(value) && joins; ++j) {
        link.nodes.push_back(view_.user(value, j));
        joins = may_join(value, link.nodes.back());
      }
      if (!joins) continue;
      std::sort(link.nodes.begin(), link.nodes.end());
      links_.push_back(std::move(link));
    }
  }

  void find_parts() {
    std::vector<std::uint32_t> root(view_.nodes());
    std::iota(root.begin(), root.end(), 0U);
    const auto find = [&](std::uint32_t node) {
      while (root[node] != node) node = root[node] = root[root[node]];
      return node;
    };
    for (const Link& link : links_)
      for (const PlanNode node : link.nodes)
        root[find(static_cast<std::uint32_t>(place(node)))] =
            find(static_cast<std::uint32_t>(place(link.nodes.front())));
    std::vector<std::size_t> part_of(view_.nodes(), parts_none);
    for (std::size_t i = 0; i < links_.size(); ++i) {
      std::size_t& index = part_of[find(static_cast<std::uint32_t>(place(links_[i].nodes.front())))];
      if (index == parts_none) {
        index = parts_.size();
        parts_.emplace_back();
      }
      Part& part = parts_[index];
      part.links.push_back(i);
      part.nodes.insert(part.nodes.end(), links_[i].nodes.begin(), links_[i].nodes.end());
    }
    for (Part& part : parts_) {
      std::sort(part.nodes.begin(), part.nodes.end());
      part.nodes.erase(std::unique(part.nodes.begin(), part.nodes.end()), part.nodes.end());
    }
    plan_.parts = parts_.size();
  }

  Cost price_of_part(const Part& part, const std::vector<bool>& cuts) {
    view_.set_cuts(cuts);
    const cost::Fusion fusion(view_);
    std::set<PlanNode> leaders;
    for (const PlanNode node : part.nodes)
      if (const PlanNode leader = fusion.leader(node); leader != cost::no_plan_node) leaders.insert(leader);
    Cost sum = 0;
    for (const PlanNode leader : leaders) sum += prices_.price(view_, fusion.kernel(leader));
    return sum;
  }

  bool is_inside(const Link& link, const Group& group) const {
    return std::includes(group.begin(), group.end(), link.nodes.begin(), link.nodes.end());
  }

  /// The price of a group as one kernel, if fusion makes it one when everything around it is cut.
  std::optional<Cost> price_of(const Part& part, const Group& group) {
    std::vector<bool> cuts = all_cut_;
    for (const std::size_t i : part.links)
      if (is_inside(links_[i], group)) cuts[place(links_[i].value)] = false;
    view_.set_cuts(std::move(cuts));
    const cost::Fusion fusion(view_);
    const PlanNode leader = fusion.leader(group.front());
    if (leader == cost::no_plan_node) return group.size() == 1 ? std::optional<Cost>(0) : std::nullopt;
    cost::Kernel kernel = fusion.kernel(leader);
    std::vector<PlanNode> nodes = kernel.nodes;
    std::sort(nodes.begin(), nodes.end());
    if (nodes != group) return std::nullopt;
    return prices_.price(view_, kernel);
  }

  /// All unions of links that hang together, and single operators; nothing if there are too many.
  std::optional<std::set<Group>> groups_of(const Part& part) const {
    std::set<Group> groups;
    std::vector<Group> fresh;
    for (const PlanNode node : part.nodes) groups.insert({node});
    const auto add = [&](Group group) {
      const auto [place_in, is_new] = groups.insert(std::move(group));
      if (is_new) fresh.push_back(*place_in);
    };
    for (const std::size_t i : part.links)
      if (!is_hopeless(links_[i].nodes)) add(links_[i].nodes);
    while (!fresh.empty()) {
      if (groups.size() > options_.most_groups) return std::nullopt;
      const Group group = std::move(fresh.back());
      fresh.pop_back();
      for (const std::size_t i : part.links) {
        const Link& link = links_[i];
        if (is_inside(link, group)) continue;
        const bool touches = std::any_of(link.nodes.begin(), link.nodes.end(), [&](PlanNode node) {
          return std::binary_search(group.begin(), group.end(), node);
        });
        if (!touches) continue;
        Group larger;
        std::set_union(group.begin(), group.end(), link.nodes.begin(), link.nodes.end(), std::back_inserter(larger));
        if (!is_hopeless(larger)) add(std::move(larger));
      }
    }
    return groups;
  }

  /// Chooses the kernels of a part, uncuts the values inside them, and adds to the bound.
  void decide(const Part& part, std::vector<bool>& cuts) {
    const Cost given = price_of_part(part, given_cuts_);
    const auto keep = [&] {
      for (const std::size_t i : part.links) cuts[place(links_[i].value)] = given_cuts_[place(links_[i].value)];
    };
    const std::optional<std::set<Group>> groups = groups_of(part);
    if (!groups) {
      ++plan_.too_large;
      plan_.unbounded += given;
      plan_.bound += given;
      return keep();
    }
    plan_.groups += groups->size();
    IntegerProgram program;
    std::vector<const Group*> kernels;
    std::vector<IntegerProgram::Terms> rows(part.nodes.size());
    for (const Group& group : *groups) {
      const std::optional<Cost> price = price_of(part, group);
      if (!price) continue;
      const IntegerProgram::Variable variable = program.add(static_cast<double>(*price) * 1e-3);
      kernels.push_back(&group);
      for (const PlanNode node : group) {
        const auto found = std::lower_bound(part.nodes.begin(), part.nodes.end(), node);
        rows[static_cast<std::size_t>(found - part.nodes.begin())].emplace_back(variable, 1);
      }
    }
    plan_.kernels += kernels.size();
    for (auto& row : rows) program.add_row(std::move(row), 1, 1);
    const IntegerProgram::Solution solution = program.solve(options_.most_nodes);
    // CBC calculates with tolerances; prices are whole numbers.
    plan_.bound += std::min(given, static_cast<Cost>(std::ceil(solution.bound * 1e3 - 0.5)));
    if (solution.values.empty() || solution.cost * 1e3 >= static_cast<double>(given) - 0.5) return keep();
    for (std::size_t i = 0; i < kernels.size(); ++i)
      if (solution.values[i] > 0.5)
        for (const std::size_t link : part.links)
          if (is_inside(links_[link], *kernels[i])) cuts[place(links_[link].value)] = false;
  }

  static constexpr std::size_t parts_none = static_cast<std::size_t>(-1);
  cost::WholeGraph& view_;
  const cost::KernelPrices& prices_;
  const ExactPlanOptions& options_;
  std::vector<bool> given_cuts_, all_cut_;
  std::vector<Link> links_;
  std::vector<Part> parts_;
  ExactPlan plan_;
};

}  // namespace

ExactPlan exact_plan(cost::WholeGraph& view, const cost::KernelPrices& prices, const ExactPlanOptions& options) {
  return ExactPlanner(view, prices, options).make();
}

}  // namespace taso::search
