// Which nodes are attention that one kernel computes: the part of Fusion that looks for it.
#include <algorithm>

#include "cost/plan/attention_form.h"
#include "cost/plan/fusion.h"
#include "cost/plan/movement.h"
#include "cost/plan/repeated_heads.h"

namespace taso::cost {
namespace {

/// Rows of more numbers do not fit into the registers of a kernel.
constexpr std::int64_t widest_head = 256;

/// The softmax, perhaps guarded, that is the left factor of a product and has no other use; or `no_plan_node`.
PlanNode softmax_before(const GraphView& view, PlanNode product) {
  return softmax_with(view, view.operand(product, 0));
}

bool has_fit_type(const GraphView& view, PlanNode product) {
  const ElementType element = view.element(view.result(product, 0));
  const bool is_fit =
      element == ElementType::float32 || element == ElementType::float16 || element == ElementType::bfloat16;
  return is_fit && view.element(view.operand(product, 0)) == element &&
         view.element(view.operand(product, 1)) == element;
}

bool is_read_by(const GraphView& view, PlanValue value, const std::vector<PlanNode>& nodes) {
  for (const PlanNode node : nodes)
    for (std::size_t i = 0; i < view.operands(node); ++i)
      if (view.operand(node, i) == value) return true;
  return false;
}

}  // namespace

/// The shapes that both products and the softmax must have.
bool Fusion::are_fit(const Attention& found) const {
  const PlanValue scores = view_.result(found.first, 0), shares = view_.result(found.softmax, 0),
                  sums = view_.result(found.second, 0);
  const PlanValue query = view_.operand(found.first, 0), value = view_.operand(found.second, 1);
  const Extents *of_scores = view_.extents(scores), *of_shares = view_.extents(shares), *of_sums = view_.extents(sums);
  const Extents *of_query = view_.extents(query), *of_value = view_.extents(value);
  for (const Extents* one : {of_scores, of_shares, of_sums, of_query, of_value})
    if (one == nullptr || one->size() < 2 || ops::count(*one) == 0) return false;
  if (*of_scores != *of_shares || of_sums->size() != of_scores->size()) return false;
  if (!std::equal(of_sums->begin(), of_sums->end() - 1, of_scores->begin())) return false;
  const auto& softmax = std::get<op::Softmax>(*view_.op(found.softmax));
  if (softmax.axis != static_cast<std::int64_t>(of_shares->size()) - 1) return false;
  if (view_.element(shares) != view_.element(sums) || view_.element(scores) != view_.element(sums)) return false;
  return of_query->back() <= widest_head && of_sums->back() <= widest_head && has_fit_type(view_, found.first) &&
         has_fit_type(view_, found.second);
}

std::optional<Fusion::Attention> Fusion::attention_of(PlanNode softmax) const {
  Attention found;
  found.softmax = softmax;
  const Segment& segment = segment_of(softmax);
  if (segment.head() != softmax || segment.tail() != softmax) return std::nullopt;
  const std::optional<Use> use = only_use(view_, shares_of(view_, softmax));
  if (!use || use->operand != 0 || !is_product(view_, use->node)) return std::nullopt;
  found.second = use->node;
  if (segment_of(found.second).nodes.size() != 1) return std::nullopt;
  const PlanValue sums = view_.result(found.second, 0);
  if (view_.users(sums) > 1 && is_element_wise(view_.user(sums, 0)) &&
      product_of(last_segment(view_.user(sums, 0))) == found.second)
    return std::nullopt;
  collect(segment, found.nodes);
  for (const PlanNode member : found.nodes)
    for (std::size_t i = 0; i < view_.operands(member); ++i) {
      const PlanValue value = view_.operand(member, i);
      const PlanNode producer = view_.producer(value);
      if (view_.is_weight(value) || !can_lead_chain(producer)) continue;
      const Segment& before = segment_of(producer);
      if (before.tail() != producer || !is_product(view_, before.head())) continue;
      if (only_user(view_, value) == no_plan_node || is_converted(view_, value)) continue;
      found.first = before.head();
      if (softmax_before(view_, found.first) != no_plan_node || !are_fit(found)) continue;
      found.nodes.insert(found.nodes.end(), before.nodes.begin(), before.nodes.end());
      for (const std::size_t factor : {0U, 1U})
        if (const PlanNode scale = scale_before(found.first, factor); scale != no_plan_node)
          found.scales.push_back(scale);
      found.nodes.insert(found.nodes.end(), found.scales.begin(), found.scales.end());
      found.repeated = repeated_in(found);
      found.nodes.insert(found.nodes.end(), found.repeated.begin(), found.repeated.end());
      if (const std::optional<Guard> guard = guard_after(view_, softmax))
        found.nodes.insert(found.nodes.end(), {guard->test, guard->choice});
      found.nodes.push_back(found.second);
      return found;
    }
  return std::nullopt;
}

PlanNode Fusion::scale_before(PlanNode product, std::size_t factor) const {
  const PlanValue value = view_.operand(product, factor);
  if (view_.is_weight(value)) return no_plan_node;
  const PlanNode scale = view_.producer(value);
  if (!is_element_wise(scale) || product_scaled_by(view_, scale) != product) return no_plan_node;
  const Segment& segment = segment_of(scale);
  std::vector<PlanNode> members;
  collect(segment, members);
  const bool is_alone = members.size() == 1 && product_of(segment) == no_plan_node;
  return is_alone && !is_converted(view_, value) ? scale : no_plan_node;
}

std::vector<PlanNode> Fusion::repeated_in(const Attention& found) const {
  PlanValue keys = view_.operand(found.first, 1);
  if (const PlanNode scale = scale_before(found.first, 1); scale != no_plan_node) keys = unscaled(view_, scale);
  std::vector<PlanNode> nodes;
  std::vector<PlanNode> readers = found.nodes;
  readers.push_back(found.second);
  std::optional<SharedHeads> shared;
  for (const auto& [factor, is_of_first] : {std::pair(keys, true), std::pair(view_.operand(found.second, 1), false)}) {
    const std::optional<Repetition> one = repetition(view_, factor, is_of_first);
    if (!one || one->axes.size() != view_.extents(view_.result(found.first, 0))->size()) continue;
    // A kernel sees each value in one way only.
    if (is_read_by(view_, one->source, readers)) continue;
    const std::optional<SharedHeads> heads = shared_heads(*one);
    if (shared && heads && *shared != *heads) continue;  // its heads are in other groups: copied
    if (heads) shared = heads;
    nodes.insert(nodes.end(), one->nodes.begin(), one->nodes.end());
    readers.push_back(one->expansion);
  }
  return nodes;
}

PlanNode Fusion::attention_repeating(PlanNode node) const {
  const PlanNode product = product_after_repetition(view_, node);
  if (product == no_plan_node) return no_plan_node;
  const std::optional<Attention> found = attention_around(product);
  const bool is_inside =
      found && std::find(found->repeated.begin(), found->repeated.end(), node) != found->repeated.end();
  return is_inside ? found->second : no_plan_node;
}

PlanNode Fusion::softmax_near(PlanNode head) const {
  if (is_softmax(view_, head)) return head;
  if (is_element_wise(head)) head = product_scaled_by(view_, head);
  if (head == no_plan_node) return no_plan_node;
  if (!is_product(view_, head)) return no_plan_node;
  if (const PlanNode before = softmax_before(view_, head); before != no_plan_node) return before;
  const PlanNode user = only_user(view_, view_.result(segment_of(head).tail(), 0));
  if (user == no_plan_node || view_.is_free(user) || !can_lead_chain(user)) return no_plan_node;
  const PlanNode after = last_segment(user).head();
  return is_softmax(view_, after) ? after : no_plan_node;
}

std::optional<Fusion::Attention> Fusion::attention_around(PlanNode head) const {
  const PlanNode softmax = softmax_near(head);
  if (softmax == no_plan_node) return std::nullopt;
  if (std::optional<Attention> found = attention_of(softmax))
    if (std::find(found->nodes.begin(), found->nodes.end(), head) != found->nodes.end()) return found;
  return std::nullopt;
}

bool Fusion::is_second(PlanNode product) const {
  const std::optional<Attention> found = attention_around(product);
  return found && found->second == product;
}

/// Adds what decides how the factors of a product lie: attention reads more than a product does.
void Fusion::add_factors(PlanNode product, Affected& nodes) const {
  nodes.add(product);
  for (std::size_t i = 0; i < 2; ++i) {
    const PlanValue value = view_.operand(product, i);
    if (view_.is_weight(value)) continue;
    add_moved(value, nodes);
    add_repetition(value, nodes);
    if (const PlanNode scale = view_.producer(value); is_element_wise(scale)) {
      nodes.add(scale);
      for (std::size_t j = 0; j < view_.operands(scale); ++j)
        if (!view_.is_weight(view_.operand(scale, j))) {
          add_moved(view_.operand(scale, j), nodes);
          add_repetition(view_.operand(scale, j), nodes);
        }
    }
  }
}

void Fusion::add_repetition(PlanValue factor, Affected& nodes) const {
  for (const PlanNode node : nodes_before(view_, factor)) nodes.add(node);
}

void Fusion::add_attention_after(PlanNode node, std::size_t furthest, Affected& nodes) const {
  if (furthest == 0 || !repeats(view_, node)) return;
  const PlanValue result = view_.result(node, 0);
  for (std::size_t i = 0; i < view_.users(result); ++i) {
    const PlanNode user = view_.user(result, i);
    if (view_.is_free(user)) continue;
    if (is_product(view_, user) || is_element_wise(user)) add_attention(user, furthest_product, nodes);
    add_attention_after(user, furthest - 1, nodes);
  }
}

void Fusion::add_products_before(PlanNode node, std::size_t furthest, Affected& nodes) const {
  for (std::size_t i = 0; i < view_.operands(node); ++i) {
    const PlanValue value = view_.operand(node, i);
    const PlanNode producer = view_.producer(value);
    if (view_.is_weight(value) || !can_lead_chain(producer)) continue;
    const PlanNode head = segment_of(producer).head();
    nodes.add(head);
    if (is_product(view_, head)) add_factors(head, nodes);
    if (furthest > 0 && is_element_wise(producer)) add_products_before(producer, furthest - 1, nodes);
  }
}

void Fusion::add_product_after(PlanNode product, Affected& nodes) const {
  add_factors(product, nodes);
  // Whether this product comes second decides whether it may come first, and how a transpose after it is written.
  const PlanValue after = view_.result(segment_of(product).tail(), 0);
  for (std::size_t i = 0; i < view_.users(after); ++i) {
    const PlanNode next = view_.user(after, i);
    if (role_of(view_, next) == Role::transpose) nodes.add(next);
    if (!can_lead_chain(next)) continue;
    const PlanNode other = last_segment(next).head();
    if (!is_softmax(view_, other)) continue;
    nodes.add(other);
    const PlanValue shares = view_.result(other, 0);
    for (std::size_t j = 0; j < view_.users(shares); ++j) nodes.add(view_.user(shares, j));
  }
}

void Fusion::add_softmax(PlanNode softmax, Affected& nodes) const {
  if (!nodes.begin_softmax(softmax)) return;
  nodes.add(softmax);
  add_products_before(softmax, furthest_product, nodes);
  const auto add_users = [&](PlanValue shares) {
    for (std::size_t i = 0; i < view_.users(shares); ++i)
      if (const PlanNode user = view_.user(shares, i); is_product(view_, user)) add_product_after(user, nodes);
  };
  const PlanValue result = view_.result(softmax, 0);
  add_users(result);
  for (std::size_t i = 0; i < view_.users(result); ++i)
    if (const PlanNode user = view_.user(result, i); softmax_near_guard(view_, user) == softmax) {
      nodes.add(user);
      add_users(view_.result(user, 0));
    }
}

void Fusion::add_attention(PlanNode node, std::size_t furthest, Affected& nodes) const {
  if (view_.is_free(node)) return;
  if (is_softmax(view_, node)) return add_softmax(node, nodes);
  if (const PlanNode softmax = softmax_near_guard(view_, node); softmax != no_plan_node)
    return add_softmax(softmax, nodes);
  if (!is_product(view_, node) && !is_element_wise(node)) return;
  if (is_product(view_, node)) {
    const PlanNode before = view_.producer(view_.operand(node, 0));
    const PlanNode softmax = is_softmax(view_, before) ? before : softmax_near_guard(view_, before);
    if (softmax != no_plan_node) add_softmax(softmax, nodes);
  }
  if (furthest == 0 || !nodes.begin_scores(node, furthest)) return;
  const PlanValue result = view_.result(node, 0);
  for (std::size_t i = 0; i < view_.users(result); ++i)
    if (const PlanNode user = view_.user(result, i); is_element_wise(user) || is_softmax(view_, user))
      add_attention(user, furthest - 1, nodes);
    else if (is_product(view_, user) && is_element_wise(node) && furthest == furthest_product)  // it may scale a factor
      add_attention(user, furthest, nodes);
}

}  // namespace taso::cost
