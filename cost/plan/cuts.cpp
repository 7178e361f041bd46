#include "cost/plan/cuts.h"

#include "cost/plan/movement.h"

namespace taso::cost {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

/// The neighbour that a node may share a kernel with: the user of its only result; for a split or a view, the producer
/// of its operand. It links at least everything that fusion.h joins.
struct Link {
  std::uint32_t node = none;
  PlanValue value = no_plan_value;
};

bool is_of_row(Role role) { return role == Role::element_wise || role == Role::rows; }
bool is_of_views(Role role) { return role == Role::reshape || role == Role::transpose || role == Role::slice; }

class Cutter {
 public:
  explicit Cutter(const WholeGraph& graph) : graph_(graph), links_(graph.nodes()), is_below_(graph.nodes(), false) {}

  std::vector<bool> find() {
    for (std::uint32_t i = 0; i < graph_.nodes(); ++i) links_[i] = link_of(PlanNode{i});
    std::vector<std::size_t> sizes(graph_.nodes(), 1);
    bool is_any_long = false;
    leaves_first([&](std::uint32_t i) {
      sizes[links_[i].node] += sizes[i];
      is_any_long = is_any_long || sizes[links_[i].node] > longest_uncut_kernel;
    });
    std::vector<bool> cuts;
    if (!is_any_long) return cuts;
    const std::vector<bool> is_long = find_long(sizes);
    cuts.resize(graph_.values(), false);
    std::fill(sizes.begin(), sizes.end(), 1);
    leaves_first([&](std::uint32_t i) {
      if (is_long[i] && sizes[i] >= operators_of_part)
        cuts[place(links_[i].value)] = true;
      else
        sizes[links_[i].node] += sizes[i];
    });
    return cuts;
  }

 private:
  Link link_of(PlanNode node) {
    const std::optional<Role> role = role_of(graph_, node);
    if (!role || graph_.is_free(node)) return {};
    if (*role == Role::split || is_of_views(*role)) {
      is_below_[place(node)] = true;
      const PlanValue operand = graph_.operand(node, 0);
      return link_to(node, graph_.producer(operand), operand);
    }
    if (!is_of_row(*role) && *role != Role::concat) return {};
    const PlanValue result = graph_.result(node, 0);
    const PlanNode user = only_user(graph_, result);
    return user == no_plan_node ? Link() : link_to(node, user, result);
  }

  Link link_to(PlanNode node, PlanNode other, PlanValue through) const {
    const std::optional<Role> here = role_of(graph_, node), there = role_of(graph_, other);
    if (graph_.is_free(other) || !there) return {};
    const bool is_view = is_of_views(*here) && is_of_views(*there);  // views join even if the value has other users
    if (!is_view && only_user(graph_, through) == no_plan_node) return {};
    const bool is_one = is_view || here == there || (is_of_row(*here) && is_of_row(*there));
    return is_one ? Link{static_cast<std::uint32_t>(place(other)), through} : Link();
  }

  /// Calls `function` for every node with a link, before the node that the link leads to.
  template <class Function>
  void leaves_first(const Function& function) const {
    for (std::uint32_t i = 0; i < links_.size(); ++i)
      if (links_[i].node != none && !is_below_[i]) function(i);
    for (std::uint32_t i = static_cast<std::uint32_t>(links_.size()); i-- > 0;)
      if (links_[i].node != none && is_below_[i]) function(i);
  }

  std::vector<bool> find_long(const std::vector<std::size_t>& sizes) const {
    std::vector<bool> is_long(links_.size());
    const auto look = [&](std::uint32_t i) {
      is_long[i] = links_[i].node == none ? sizes[i] > longest_uncut_kernel : is_long[links_[i].node];
    };
    for (std::uint32_t i = static_cast<std::uint32_t>(links_.size()); i-- > 0;)
      if (!is_below_[i]) look(i);
    for (std::uint32_t i = 0; i < links_.size(); ++i)
      if (is_below_[i]) look(i);
    return is_long;
  }

  const WholeGraph& graph_;
  std::vector<Link> links_;
  std::vector<bool> is_below_;  // whether the link leads to the producer of its operand
};

}  // namespace

std::vector<bool> find_cuts(const WholeGraph& graph) {
  if (graph.nodes() <= longest_uncut_kernel) return {};
  return Cutter(graph).find();
}

}  // namespace taso::cost
