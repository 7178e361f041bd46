#include "cost/plan/fusion.h"

#include <algorithm>

#include "cost/plan/attention_form.h"
#include "cost/plan/cover.h"
#include "cost/plan/movement.h"
#include "cost/plan/repeated_heads.h"
#include "cost/plan/spread.h"
#include "ops/core/error.h"

namespace taso::cost {
namespace {

bool is_role(const GraphView& view, PlanNode node, Role role) { return role_of(view, node) == role; }

bool same_kind(const GraphView& view, PlanValue a, PlanValue b) {
  return view.element(a) == view.element(b) && *view.extents(a) == *view.extents(b) &&
         is_image(view, a) == is_image(view, b);
}

/// Whether all operands of the concats already lie in place.
bool is_all_in_place(const GraphView& view, PlanNode root) {
  for (const PlanNode node : concats_below(view, root))
    for (std::size_t i = 0; i < view.operands(node); ++i)
      if (!is_in_place(view, node, i)) return false;
  return true;
}

bool is_all_seen(const GraphView& view, PlanNode root) {
  const auto below = splits_below(view, root);
  return std::all_of(below.begin(), below.end(), [&](PlanNode one) { return is_view(view, one); });
}

}  // namespace

void Affected::clear(std::size_t changes) {
  nodes_.clear();
  changes_ = changes;
  ++change_;
  ++graph_;
}

void Affected::add(PlanNode node) {
  if (mark(added_, place(node), change_)) nodes_.push_back(node);
}

bool Affected::mark(std::vector<std::uint32_t>& marks, std::size_t at, std::uint32_t by) {
  if (at >= marks.size()) marks.resize(std::max(at + 1, 2 * marks.size()), 0);
  if (marks[at] == by) return false;
  marks[at] = by;
  return true;
}

bool Affected::begin(std::vector<Limited>& begun, PlanNode node, std::size_t furthest) const {
  if (place(node) >= begun.size()) begun.resize(std::max(place(node) + 1, 2 * begun.size()));
  Limited& known = begun[place(node)];
  if (known.graph == graph_ && known.furthest >= furthest) return false;
  known = {graph_, furthest};
  return true;
}

void Fusion::forget() {
  ++time_;
  segments_.clear();
  view_.forget();
}

bool Fusion::is_element_wise(PlanNode node) const {
  return !view_.is_free(node) && is_role(view_, node, Role::element_wise);
}

bool Fusion::can_lead_chain(PlanNode node) const {
  if (view_.is_free(node)) return false;
  const std::optional<Role> role = role_of(view_, node);
  return role == Role::element_wise || role == Role::convolution || role == Role::matmul || role == Role::rows;
}

std::size_t Fusion::link(PlanNode node) const {
  const std::size_t operands = view_.operands(node);
  if (!is_element_wise(node)) return operands;
  const auto may_join = [&](PlanValue value) {
    return !view_.is_weight(value) && can_lead_chain(view_.producer(value)) && only_user(view_, value) != no_plan_node;
  };
  for (std::size_t i = 0; i < operands; ++i)
    if (const PlanValue value = view_.operand(node, i);
        may_join(value) && same_kind(view_, value, view_.result(node, 0)))
      return i;
  for (std::size_t i = 0; i < operands; ++i)
    if (const PlanValue value = view_.operand(node, i);
        may_join(value) && may_spread(view_, value, node) &&
        spreads(view_, top_of_chain(view_.producer(value)), value, node))
      return i;
  return operands;
}

PlanNode Fusion::top_of_chain(PlanNode node) const {
  for (std::size_t linked = link(node); linked < view_.operands(node); linked = link(node))
    node = view_.producer(view_.operand(node, linked));
  return node;
}

PlanNode Fusion::next(PlanNode node) const {
  const PlanValue result = view_.result(node, 0);
  const PlanNode user = only_user(view_, result);
  if (user == no_plan_node || !is_element_wise(user)) return no_plan_node;
  const std::size_t linked = link(user);
  return linked < view_.operands(user) && view_.operand(user, linked) == result ? user : no_plan_node;
}

bool Fusion::takes(const Segment& segment, PlanNode node) const {
  const Role head = *role_of(view_, segment.head());
  if (head != Role::convolution && head != Role::matmul) return true;
  if (segment.nodes.size() > longest_epilogue) return false;
  std::size_t residuals = 0;
  const auto count = [&](PlanNode member) {
    const PlanValue linked = view_.operand(member, link(member));
    for (std::size_t i = 0; i < view_.operands(member); ++i)
      if (view_.operand(member, i) != linked && !view_.is_weight(view_.operand(member, i))) ++residuals;
  };
  count(node);
  if (residuals == 0) return true;
  for (std::size_t i = 1; i < segment.nodes.size(); ++i) count(segment.nodes[i]);
  return residuals == 1;
}

std::vector<PlanNode> Fusion::chain(PlanNode node) const {
  std::vector<PlanNode> nodes;
  for (PlanNode top = top_of_chain(node); top != no_plan_node; top = next(top)) nodes.push_back(top);
  return nodes;
}

const Fusion::Segment& Fusion::segment_of(PlanNode node) const {
  if (place(node) < known_.size() && known_[place(node)].time == time_) return segments_[known_[place(node)].segment];
  const std::vector<PlanNode> members = chain(node);
  for (const PlanNode member : members) {
    if (member == members.front() || !takes(segments_.back(), member)) segments_.emplace_back();
    segments_.back().nodes.push_back(member);
    if (place(member) >= known_.size()) known_.resize(std::max(place(member) + 1, 2 * known_.size()));
    known_[place(member)] = {time_, static_cast<std::uint32_t>(segments_.size() - 1)};
  }
  check(known_[place(node)].time == time_, "a node is in its own chain");
  return segments_[known_[place(node)].segment];
}

PlanNode Fusion::absorber(const Segment& segment) const {
  if (!segment.absorber) segment.absorber = find_absorber(segment);
  return *segment.absorber;
}

PlanNode Fusion::find_absorber(const Segment& segment) const {
  if (!is_element_wise(segment.head())) return no_plan_node;
  const PlanValue result = view_.result(segment.tail(), 0);
  const PlanNode user = only_user(view_, result);
  if (user == no_plan_node || view_.is_free(user) || is_converted(view_, result)) return no_plan_node;
  if (is_role(view_, user, Role::rows)) {
    const std::optional<Use> use = only_use(view_, result);
    return use && use->operand == 0 ? user : no_plan_node;
  }
  if (!is_element_wise(user) || !same_kind(view_, result, view_.result(user, 0))) return no_plan_node;
  return is_element_wise(segment_of(user).head()) ? user : no_plan_node;
}

const Fusion::Segment& Fusion::last_segment(PlanNode node) const {
  // Caches the result in every segment on the way: a chain may have thousands of segments, and every node asks.
  std::vector<const Segment*> way;
  const Segment* last = nullptr;
  while (last == nullptr) {
    const Segment& segment = segment_of(node);
    last = segment.last;
    if (last != nullptr) break;
    way.push_back(&segment);
    const PlanNode user = absorber(segment);
    if (user == no_plan_node) last = &segment;
    node = user;
  }
  for (const Segment* const segment : way) segment->last = last;
  return *last;
}

PlanNode Fusion::product_of(const Segment& segment) const {
  if (!segment.product) segment.product = find_product(segment);
  return *segment.product;
}

PlanNode Fusion::find_product(const Segment& segment) const {
  if (!is_element_wise(segment.head())) return no_plan_node;
  std::vector<PlanNode> members;
  collect(segment, members);
  if (members.size() > longest_branching_epilogue) return no_plan_node;
  for (const PlanNode member : members)
    for (std::size_t i = 0; i < view_.operands(member); ++i) {
      const PlanValue value = view_.operand(member, i);
      const PlanNode producer = view_.producer(value);
      // A value with one user is in its own chain, or does not join.
      if (view_.is_weight(value) || view_.users(value) < 2 || !can_lead_chain(producer)) continue;
      const Segment& other = segment_of(producer);
      if (other.tail() == producer && goes_with(other, members)) return other.head();
    }
  return no_plan_node;
}

bool Fusion::goes_with(const Segment& product, const std::vector<PlanNode>& members) const {
  const std::optional<Role> role = role_of(view_, product.head());
  if (role != Role::convolution && role != Role::matmul) return false;
  if (product.nodes.size() - 1 + members.size() > longest_branching_epilogue) return false;
  const auto is_member = [&](PlanNode node) {
    return std::find(members.begin(), members.end(), node) != members.end();
  };
  const PlanValue result = view_.result(product.tail(), 0);
  if (view_.is_output(result) || view_.is_cut(result) || is_converted(view_, result)) return false;
  for (std::size_t i = 0; i < view_.users(result); ++i)
    if (!is_member(view_.user(result, i))) return false;
  std::vector<PlanValue> residuals;
  for (const PlanNode member : members) {
    if (!same_kind(view_, view_.result(member, 0), result)) return false;
    bool works_on_it = false;
    for (std::size_t i = 0; i < view_.operands(member); ++i) {
      const PlanValue value = view_.operand(member, i);
      if (value == result || is_member(view_.producer(value)))
        works_on_it = true;
      else if (!view_.is_weight(value))
        residuals.push_back(value);
    }
    if (!works_on_it) return false;
  }
  for (std::size_t n = 1; n < product.nodes.size(); ++n) {
    const PlanNode node = product.nodes[n];
    for (std::size_t i = 0; i < view_.operands(node); ++i)
      if (i != link(node) && !view_.is_weight(view_.operand(node, i)) &&
          view_.operand(node, i) != view_.operand(node, link(node)))
        residuals.push_back(view_.operand(node, i));
  }
  return std::all_of(residuals.begin(), residuals.end(), [&](PlanValue value) { return value == residuals.front(); });
}

PlanNode Fusion::leader_of_chain(PlanNode node) const {
  const Segment& segment = last_segment(node);
  const PlanNode product = product_of(segment), head = product == no_plan_node ? segment.head() : product;
  const std::optional<Attention> attention = attention_around(head);
  return attention ? attention->second : head;
}

bool Fusion::is_free_root(PlanNode root) const {
  if (place(root) >= known_roots_.size()) known_roots_.resize(std::max(place(root) + 1, 2 * known_roots_.size()));
  KnownRoot& known = known_roots_[place(root)];
  if (known.time != time_)
    known = {time_, is_role(view_, root, Role::concat) ? is_all_in_place(view_, root) : is_all_seen(view_, root)};
  return known.is_free;
}

PlanNode Fusion::concats_covered_by(PlanNode root) const {
  const PlanValue covered = covered_value(view_, root);
  if (covered == no_plan_value || covered != corrected_value(view_, root)) return no_plan_node;
  const PlanNode inner = view_.producer(covered);
  return is_role(view_, inner, Role::concat) && !is_free_root(inner) ? inner : no_plan_node;
}

PlanNode Fusion::leader_of_concats(PlanNode root) const {
  if (is_free_root(root)) return no_plan_node;
  for (;;) {
    const PlanNode outer = cover_of(view_, view_.result(root, 0));
    if (outer == no_plan_node || is_free_root(outer) || concats_covered_by(outer) != root) return root;
    root = outer;
  }
}

PlanNode Fusion::leader(PlanNode node) const {
  if (view_.is_free(node)) return no_plan_node;
  const std::optional<Role> role = role_of(view_, node);
  if (!role) {
    const PlanNode softmax = softmax_guarded_by(view_, node);
    if (softmax != no_plan_node) return leader_of_chain(softmax);
  }
  if (const PlanNode attention = attention_repeating(node); attention != no_plan_node) return attention;
  if (!role) return node;
  if (*role != Role::split && is_view(view_, node)) return no_plan_node;
  switch (*role) {
    case Role::element_wise:
    case Role::convolution:
    case Role::matmul:
    case Role::rows: return leader_of_chain(node);
    case Role::concat: return leader_of_concats(root_of_concats(view_, node));
    case Role::split: {
      const PlanNode root = root_of_splits(view_, node);
      return is_free_root(root) ? no_plan_node : root;
    }
    case Role::transpose: {
      const PlanValue operand = view_.operand(node, 0);
      const PlanNode producer = view_.producer(operand);
      if (can_lead_chain(producer) && only_use(view_, operand)) {
        const PlanNode head = segment_of(producer).head();
        if (is_role(view_, head, Role::matmul) &&
            (can_write_transposed(view_, node) || (keeps_rows(view_, node) && is_second(head))))
          return head;
      }
      return node;
    }
    case Role::pooling:
    case Role::slice:
    case Role::reshape:
    case Role::copy: return node;
    case Role::constant: break;
  }
  return no_plan_node;
}

void Fusion::collect(const Segment& segment, std::vector<PlanNode>& nodes) const {
  nodes = segment.nodes;
  for (std::size_t done = 0; done < nodes.size(); ++done) {
    const PlanNode node = nodes[done];
    const std::size_t linked = link(node);
    for (std::size_t i = 0; i < view_.operands(node); ++i) {
      const PlanNode producer = view_.producer(view_.operand(node, i));
      if (!is_element_wise(producer)) continue;
      if (linked < view_.operands(node) && view_.operand(node, i) == view_.operand(node, linked)) continue;
      const Segment& other = segment_of(producer);
      if (other.tail() == producer && absorber(other) == node)
        nodes.insert(nodes.end(), other.nodes.begin(), other.nodes.end());
    }
  }
}

Kernel Fusion::kernel(PlanNode leader) const {
  Kernel kernel;
  kernel.main = leader;
  const std::optional<Role> role = role_of(view_, leader);
  switch (role.value_or(Role::constant)) {
    case Role::element_wise: {
      kernel.kind = Kernel::Kind::element_wise;
      collect(segment_of(leader), kernel.nodes);
      break;
    }
    case Role::convolution:
    case Role::matmul: {
      kernel.kind = role == Role::matmul ? Kernel::Kind::matmul : Kernel::Kind::convolution;
      kernel.nodes = segment_of(leader).nodes;
      if (std::optional<Attention> attention = attention_around(leader)) {
        kernel.kind = Kernel::Kind::attention;
        kernel.nodes = std::move(attention->nodes);
      }
      if (const PlanValue result = view_.result(kernel.nodes.back(), 0); view_.users(result) > 1) {
        const PlanNode user = view_.user(result, 0);
        if (!is_element_wise(user)) break;
        const Segment& rest = last_segment(user);
        if (product_of(rest) != leader) break;
        std::vector<PlanNode> more;
        collect(rest, more);
        kernel.nodes.insert(kernel.nodes.end(), more.begin(), more.end());
        break;
      }
      const std::optional<Use> use = only_use(view_, view_.result(kernel.nodes.back(), 0));
      if (use && is_role(view_, use->node, Role::transpose) && this->leader(use->node) == leader)
        kernel.nodes.push_back(use->node);
      break;
    }
    case Role::rows:
      kernel.kind = Kernel::Kind::rows;
      collect(segment_of(leader), kernel.nodes);
      if (is_softmax(view_, leader))
        if (const std::optional<Guard> guard = guard_after(view_, leader))
          kernel.nodes.insert(kernel.nodes.end(), {guard->test, guard->choice});
      break;
    case Role::concat:
      kernel.kind = Kernel::Kind::copy;
      for (PlanNode root = leader; root != no_plan_node; root = concats_covered_by(root)) {
        const std::vector<PlanNode> below = concats_below(view_, root);
        kernel.nodes.insert(kernel.nodes.end(), below.begin(), below.end());
      }
      break;
    case Role::split:
      kernel.kind = Kernel::Kind::copy;
      kernel.nodes = splits_below(view_, leader);
      break;
    case Role::pooling:
      kernel.kind = Kernel::Kind::pooling;
      kernel.nodes = {leader};
      break;
    case Role::slice:
    case Role::transpose:
    case Role::reshape:
    case Role::copy:
      kernel.kind = Kernel::Kind::copy;
      kernel.nodes = {leader};
      break;
    case Role::constant:
      kernel.kind = Kernel::Kind::opaque;
      kernel.nodes = {leader};
      break;
  }
  measure_work(view_, kernel);
  return kernel;
}

Kernel Fusion::conversion(PlanValue value) const {
  Kernel kernel;
  kernel.kind = Kernel::Kind::copy;
  kernel.main = view_.producer(value);
  kernel.read = kernel.written = {value};
  kernel.element = view_.element(value);
  kernel.bytes = 2 * bytes_of(view_, value);
  return kernel;
}

Cost Fusion::price(PlanNode node, const KernelPrices& prices) const {
  Cost sum = leader(node) == node ? prices.price(view_, kernel(node)) : 0;
  if (view_.layout() != Layout::channels_last) return sum;
  for (std::size_t i = 0; i < view_.results(node); ++i) {
    const PlanValue value = view_.result(node, i);
    if (value != no_plan_value && is_converted(view_, value)) sum += prices.price(view_, conversion(value));
  }
  return sum;
}

void Fusion::add_chain(PlanNode node, Affected& nodes) const {
  if (!nodes.begin(node)) return;
  nodes.add(node);
  if (view_.is_free(node)) return;
  if (const PlanNode first = leader(node); first != no_plan_node) nodes.add(first);
  add_attention(node, furthest_product, nodes);
  add_attention_after(node, most_views_of_heads + 1, nodes);
  if (!can_lead_chain(node)) return;
  for (const PlanNode member : chain(node)) {
    nodes.begin(member);
    nodes.add(member);
    add_attention(member, furthest_product, nodes);
    if (const PlanNode first = leader(member); first != no_plan_node) nodes.add(first);
    // Other operands may join one kernel of the chain and not another.
    for (std::size_t i = 0; i < view_.operands(member); ++i) {
      const PlanNode producer = view_.producer(view_.operand(member, i));
      if (is_element_wise(producer)) nodes.add(segment_of(producer).head());
    }
    add_products(member, longest_branching_epilogue, nodes);
    const PlanValue result = view_.result(member, 0);
    for (std::size_t i = 0; i < view_.users(result); ++i) {
      const PlanNode user = view_.user(result, i);
      // A matmul may write in the order of the transpose, and a reduction may absorb the chain, or not.
      if (is_role(view_, user, Role::transpose) || is_role(view_, user, Role::rows)) nodes.add(user);
      if (!is_element_wise(user)) continue;
      // Whether it joins depends on the reduction, which may be further up.
      if (may_spread(view_, result, user)) add_chain(user, nodes);
      const Segment& last = last_segment(user);
      // The kernel that uses it more than once may join it, or not.
      if (view_.users(result) > 1) nodes.add(last.head());
      // Other operands of an operator that works on a product may prevent it from joining that product.
      add_products(last.tail(), longest_branching_epilogue, nodes);
    }
  }
}

void Fusion::add_products(PlanNode node, std::size_t furthest, Affected& nodes) const {
  if (furthest == 0 || !nodes.begin_products(node, furthest)) return;
  for (std::size_t i = 0; i < view_.operands(node); ++i) {
    const PlanValue value = view_.operand(node, i);
    const PlanNode producer = view_.producer(value);
    if (view_.is_weight(value) || !can_lead_chain(producer)) continue;
    if (view_.users(value) > 1) {
      const PlanNode head = segment_of(producer).head();
      nodes.add(head);
      add_attention(head, furthest_product, nodes);  // whose second product takes no epilogue
    } else if (is_element_wise(producer)) {
      add_products(producer, furthest - 1, nodes);
    }
  }
}

void Fusion::add_moved(PlanValue value, Affected& nodes) const {
  if (!nodes.begin(value)) return;
  const auto add = [&](PlanNode node) {
    if (view_.is_free(node)) return;
    nodes.add(node);
    if (const PlanNode first = leader(node); first != no_plan_node) nodes.add(first);
    if (!is_role(view_, node, Role::transpose)) return;
    // The product before it writes in its order if the result cannot be read as a view.
    if (const PlanNode before = view_.producer(view_.operand(node, 0)); can_lead_chain(before))
      nodes.add(segment_of(before).head());
  };
  const PlanNode producer = view_.producer(value);
  add(producer);
  // The value is dense, whatever changes before it.
  if (ends_views(view_, value)) return;
  // The place of a concat's operands depends on the place of the concat.
  if (!view_.is_free(producer) && is_role(view_, producer, Role::concat))
    for (std::size_t i = 0; i < view_.operands(producer); ++i) add_moved(view_.operand(producer, i), nodes);
  // So does the place of a value that the concat corrects.
  const bool is_of_corrected =
      may_be_kept(view_, value) || (is_role(view_, producer, Role::reshape) && may_be_corrected(view_, value));
  if (is_of_corrected) add_moved(view_.operand(producer, 0), nodes);
  for (std::size_t i = 0; i < view_.users(value); ++i) {
    const PlanNode user = view_.user(value, i);
    if (view_.is_free(user)) continue;
    add(user);
    add_attention_after(user, most_views_of_heads + 1, nodes);
    if (only_moves(view_, user)) {
      for (std::size_t j = 0; j < view_.results(user); ++j)
        if (view_.result(user, j) != no_plan_value) add_moved(view_.result(user, j), nodes);
    } else if (is_role(view_, user, Role::concat)) {
      // Whether one operand lies in place decides how the others lie.
      const PlanNode root = root_of_concats(view_, user);
      if (!nodes.begin_concats(root)) continue;
      for (const PlanNode concat : concats_below(view_, root))
        for (std::size_t j = 0; j < view_.operands(concat); ++j) add_moved(view_.operand(concat, j), nodes);
    }
  }
}

void Fusion::affected_by_layout(PlanValue changed, Affected& nodes) const {
  if (!nodes.begin_layout(changed)) return;
  affected(changed, nodes);
  for (std::size_t i = 0; i < view_.users(changed); ++i) {
    const PlanNode user = view_.user(changed, i);
    if (view_.is_free(user)) continue;
    affected(user, nodes);
    const std::optional<Role> role = role_of_kernel(view_, user);
    if (role != Role::element_wise && role != Role::concat && role != Role::copy && !only_moves(view_, user)) continue;
    for (std::size_t j = 0; j < view_.results(user); ++j)
      if (view_.result(user, j) != no_plan_value) affected_by_layout(view_.result(user, j), nodes);
  }
}

void Fusion::affected(PlanNode changed, Affected& nodes) const {
  add_chain(changed, nodes);
  for (std::size_t i = 0; i < view_.operands(changed); ++i)
    if (view_.operand(changed, i) != no_plan_value) affected(view_.operand(changed, i), nodes);
  for (std::size_t i = 0; i < view_.results(changed); ++i)
    if (view_.result(changed, i) != no_plan_value) affected(view_.result(changed, i), nodes);
}

/// True if no kernel could fuse that many users with the producer, and the users do not affect one another. They do
/// where they decide how the value lies: as a view, in the place of a concat, or corrected by one. A concat that the
/// change adds is handled when it exists.
bool Fusion::has_users_enough(PlanValue value, std::size_t changes) const {
  const std::size_t users = view_.users(value);
  if (users <= longest_branching_epilogue || users - longest_branching_epilogue <= changes) return false;
  if (only_moves(view_, view_.producer(value)) || may_be_corrected(view_, value)) return false;
  for (std::size_t i = 0; i < users; ++i)
    if (is_role(view_, view_.user(value, i), Role::concat)) return false;
  return true;
}

void Fusion::affected(PlanValue changed, Affected& nodes) const {
  if (view_.is_weight(changed)) return;
  const PlanNode producer = view_.producer(changed);
  add_chain(producer, nodes);
  if (has_users_enough(changed, nodes.changes_)) return;
  for (std::size_t i = 0; i < view_.users(changed); ++i) add_chain(view_.user(changed, i), nodes);
  add_moved(changed, nodes);
}

}  // namespace taso::cost
