// Which nodes are attention that one kernel computes: the part of Fusion that looks for it.
#include <algorithm>

#include "cost/plan/fusion.h"
#include "cost/plan/movement.h"

namespace taso::cost {
namespace {

/// Rows of more numbers do not fit into the registers of a kernel.
constexpr std::int64_t widest_head = 256;

bool is_softmax(const GraphView& view, PlanNode node) {
  const Operator* const op = view.op(node);
  return op != nullptr && std::holds_alternative<op::Softmax>(*op) && !view.is_free(node);
}

bool is_product(const GraphView& view, PlanNode node) {
  return !view.is_free(node) && role_of(view, node) == Role::matmul;
}

/// Whether the left factor of a product is a softmax that nothing else uses.
bool follows_softmax(const GraphView& view, PlanNode product) {
  const PlanValue left = view.operand(product, 0);
  return !view.is_weight(left) && is_softmax(view, view.producer(left)) && only_use(view, left).has_value();
}

bool has_fit_type(const GraphView& view, PlanNode product) {
  const ElementType element = view.element(view.result(product, 0));
  const bool is_fit =
      element == ElementType::float32 || element == ElementType::float16 || element == ElementType::bfloat16;
  return is_fit && view.element(view.operand(product, 0)) == element &&
         view.element(view.operand(product, 1)) == element;
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
  const std::optional<Use> use = only_use(view_, view_.result(softmax, 0));
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
      if (follows_softmax(view_, found.first) || !are_fit(found)) continue;
      found.nodes.insert(found.nodes.end(), before.nodes.begin(), before.nodes.end());
      found.nodes.push_back(found.second);
      return found;
    }
  return std::nullopt;
}

PlanNode Fusion::softmax_near(PlanNode head) const {
  if (is_softmax(view_, head)) return head;
  if (!is_product(view_, head)) return no_plan_node;
  if (follows_softmax(view_, head)) return view_.producer(view_.operand(head, 0));
  const PlanNode user = only_user(view_, view_.result(segment_of(head).tail(), 0));
  if (user == no_plan_node || view_.is_free(user) || !can_lead_chain(user)) return no_plan_node;
  const PlanNode after = last_segment(user).head();
  return is_softmax(view_, after) ? after : no_plan_node;
}

std::optional<Fusion::Attention> Fusion::attention_around(PlanNode head) const {
  const PlanNode softmax = softmax_near(head);
  if (softmax == no_plan_node) return std::nullopt;
  if (std::optional<Attention> found = attention_of(softmax))
    if (head == found->softmax || head == found->first || head == found->second) return found;
  return std::nullopt;
}

void Fusion::add_attention(PlanNode head, Affected& nodes) const {
  if (!is_softmax(view_, head) && !is_product(view_, head)) return;
  const auto add_parts = [&](PlanNode softmax) {
    nodes.add(softmax);
    std::vector<PlanNode> members;
    collect(segment_of(softmax), members);
    for (const PlanNode member : members)
      for (std::size_t i = 0; i < view_.operands(member); ++i) {
        const PlanNode producer = view_.producer(view_.operand(member, i));
        if (can_lead_chain(producer)) nodes.add(segment_of(producer).head());
      }
    const PlanValue result = view_.result(softmax, 0);
    for (std::size_t i = 0; i < view_.users(result); ++i) {
      const PlanNode user = view_.user(result, i);
      if (!is_product(view_, user)) continue;
      nodes.add(user);
      // Whether this product comes second decides whether it may come first.
      const PlanValue after = view_.result(segment_of(user).tail(), 0);
      for (std::size_t j = 0; j < view_.users(after); ++j) {
        const PlanNode next = view_.user(after, j);
        if (!can_lead_chain(next)) continue;
        const PlanNode other = last_segment(next).head();
        if (!is_softmax(view_, other)) continue;
        nodes.add(other);
        const PlanValue shares = view_.result(other, 0);
        for (std::size_t k = 0; k < view_.users(shares); ++k) nodes.add(view_.user(shares, k));
      }
    }
  };
  if (is_softmax(view_, head)) return add_parts(head);
  if (const PlanNode before = view_.producer(view_.operand(head, 0)); is_softmax(view_, before)) add_parts(before);
  const PlanValue after = view_.result(segment_of(head).tail(), 0);
  for (std::size_t i = 0; i < view_.users(after); ++i)
    if (const PlanNode user = view_.user(after, i); can_lead_chain(user))
      if (const PlanNode last = last_segment(user).head(); is_softmax(view_, last)) add_parts(last);
}

}  // namespace taso::cost
