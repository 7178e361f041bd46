#include "cost/plan/cover.h"

#include <algorithm>

#include "cost/plan/movement.h"
#include "ops/core/error.h"

namespace taso::cost {
namespace {

std::int64_t axis_of_concat(const GraphView& view, PlanNode concat) {
  return std::get<op::Concat>(*view.op(concat)).axis;
}

bool has_role(const GraphView& view, PlanNode node, Role role) {
  return !view.is_free(node) && role_of(view, node) == role;
}

/// The root of the chain of concats that is the only user of a slice; `no_plan_node` if there is none.
PlanNode chain_of_slice(const GraphView& view, PlanNode slice) {
  if (!has_role(view, slice, Role::slice)) return no_plan_node;
  const std::optional<Use> use = only_use(view, view.result(slice, 0));
  if (!use || !has_role(view, use->node, Role::concat)) return no_plan_node;
  if (std::get<op::Slice>(*view.op(slice)).axis != axis_of_concat(view, use->node)) return no_plan_node;
  return root_of_concats(view, use->node);
}

/// The root of the chain of concats that all users of a value, slices, belong to.
PlanNode chain_of_slices(const GraphView& view, PlanValue value) {
  const PlanNode producer = view.producer(value);
  if (view.is_free(producer) || view.op(producer) == nullptr || view.is_output(value) || view.is_cut(value))
    return no_plan_node;
  PlanNode root = no_plan_node;
  for (std::size_t i = 0; i < view.users(value); ++i) {
    const PlanNode chain = chain_of_slice(view, view.user(value, i));
    if (chain == no_plan_node || (i > 0 && chain != root)) return no_plan_node;
    root = chain;
  }
  return root;
}

/// The slices of a value in a chain that lie where they lie in the value.
struct Kept {
  PlanValue value = no_plan_value;
  std::size_t slices = 0;
  std::int64_t length = 0;  ///< together
};
/// Appends in the order of the chain.
void add_kept(const GraphView& view, PlanNode concat, std::int64_t& begin, std::vector<Kept>& kept) {
  const std::int64_t axis = axis_of_concat(view, concat);
  for (std::size_t i = 0; i < view.operands(concat); ++i) {
    const PlanValue value = view.operand(concat, i);
    const PlanNode producer = view.producer(value);
    if (joined(view, producer) == concat) {
      add_kept(view, producer, begin, kept);
      continue;
    }
    const std::int64_t length = (*view.extents(value))[static_cast<std::size_t>(axis)];
    if (chain_of_slice(view, producer) != no_plan_node &&
        std::get<op::Slice>(*view.op(producer)).begin.known() == begin) {
      const PlanValue whole = view.operand(producer, 0);
      auto found = std::find_if(kept.begin(), kept.end(), [&](const Kept& one) { return one.value == whole; });
      if (found == kept.end()) found = kept.insert(kept.end(), Kept{whole});
      ++found->slices;
      found->length += length;
    }
    begin += length;
  }
}

PlanValue find_corrected(const GraphView& view, PlanNode root) {
  std::vector<Kept> kept;
  std::int64_t begin = 0;
  add_kept(view, root, begin, kept);
  const PlanValue whole = view.result(root, 0);
  Kept best;
  for (const Kept& one : kept) {
    if (view.element(one.value) != view.element(whole) || *view.extents(one.value) != *view.extents(whole)) continue;
    if (one.slices != view.users(one.value) || chain_of_slices(view, one.value) != root) continue;
    if (best.value == no_plan_value || one.length > best.length) best = one;
  }
  return best.value;
}

/// The value that a kernel computes, of which the given one is the same bytes in another shape. `no_plan_value` if the
/// given one is a view of something else.
PlanValue base_of(const GraphView& view, PlanValue value) {
  std::vector<PlanValue> row{value};
  while (is_plain_reshape(view, view.producer(row.back()))) row.push_back(view.operand(view.producer(row.back()), 0));
  const PlanNode producer = view.producer(row.back());
  if (view.is_free(producer) || view.op(producer) == nullptr) return no_plan_value;
  // The first that is no view: what is reshaped from it is a view of it. The order matters: whether a value is a view
  // depends on where the one before it lies, and this is known only for views.
  for (; !row.empty(); row.pop_back())
    if (!seen(view, row.back())) return row.back();
  return no_plan_value;
}

PlanValue find_covered(const GraphView& view, PlanNode root, PlanValue corrected) {
  const PlanValue whole = view.result(root, 0);
  const Extents& extents = *view.extents(whole);
  const Layout layout = layout_of(view, corrected);
  if (layout != layout_of(view, whole) && !is_layout_free(extents)) return no_plan_value;
  const PlanValue base = base_of(view, corrected);
  if (base == no_plan_value) return no_plan_value;
  const Strides strides = strides_in_memory(view, whole);
  if (is_packed(extents, strides, layout)) return base;
  if (base != corrected || only_moves(view, view.producer(base))) return no_plan_value;
  return is_writable(extents, strides, layout) ? base : no_plan_value;
}

class PartFinder {
 public:
  PartFinder(const GraphView& view, std::span<const PlanNode> concats) : view_(view), concats_(concats) {}

  /// Adds what the chain of concats copies, beginning at `begin` along its axis, within the ranges.
  void add(PlanNode concat, std::int64_t begin) {
    const std::int64_t axis = axis_of_concat(view_, concat);
    for (std::size_t i = 0; i < view_.operands(concat); ++i) {
      const PlanValue value = view_.operand(concat, i);
      const PlanNode producer = view_.producer(value);
      const Range range{axis, begin, begin + (*view_.extents(value))[static_cast<std::size_t>(axis)]};
      if (is_member(producer)) {
        add(producer, begin);
      } else if (!is_in_place(view_, concat, i)) {
        add(concat, value, range);
      } else if (is_kept(view_, value) && is_member(view_.producer(view_.operand(producer, 0)))) {
        within_.push_back(range);
        add(view_.producer(view_.operand(producer, 0)), 0);
        within_.pop_back();
      }
      begin = range.end;
    }
  }
  std::vector<CopiedPart> parts;

 private:
  /// Along an axis of the result.
  struct Range {
    std::int64_t axis, begin, end;
  };
  bool is_member(PlanNode node) const { return std::binary_search(concats_.begin(), concats_.end(), node); }

  void add(PlanNode concat, PlanValue value, const Range& range) {
    const Extents& extents = *view_.extents(value);
    CopiedPart part{concat, value, Extents(extents.size(), 0), Extents(extents.size(), 0), extents};
    part.to[static_cast<std::size_t>(range.axis)] = range.begin;
    for (const Range& other : within_) {
      const auto axis = static_cast<std::size_t>(other.axis);
      const std::int64_t begin = std::max(part.to[axis], other.begin);
      const std::int64_t end = std::min(part.to[axis] + part.extents[axis], other.end);
      if (begin >= end) return;
      part.from[axis] += begin - part.to[axis];
      part.to[axis] = begin;
      part.extents[axis] = end - begin;
    }
    parts.push_back(std::move(part));
  }

  const GraphView& view_;
  std::span<const PlanNode> concats_;
  std::vector<Range> within_;
};

}  // namespace

bool is_plain_reshape(const GraphView& view, PlanNode node) {
  if (!has_role(view, node, Role::reshape)) return false;
  const PlanValue operand = view.operand(node, 0), result = view.result(node, 0);
  return !view.is_cut(result) && !view.is_output(result) && only_use(view, operand) && !is_image(view, operand) &&
         !is_image(view, result);
}

bool may_be_kept(const GraphView& view, PlanValue value) {
  const PlanNode producer = view.producer(value);
  if (!has_role(view, producer, Role::slice)) return false;
  for (std::size_t i = 0; i < view.users(value); ++i) {
    const PlanNode user = view.user(value, i);
    if (has_role(view, user, Role::concat) &&
        axis_of_concat(view, user) == std::get<op::Slice>(*view.op(producer)).axis)
      return true;
  }
  return false;
}

bool may_be_corrected(const GraphView& view, PlanValue value) {
  for (std::size_t i = 0; i < view.users(value); ++i) {
    const PlanNode user = view.user(value, i);
    if (has_role(view, user, Role::reshape)
            ? may_be_corrected(view, view.result(user, 0))
            : has_role(view, user, Role::slice) && may_be_kept(view, view.result(user, 0)))
      return true;
  }
  return false;
}

PlanValue corrected_value(const GraphView& view, PlanNode root) {
  if (place(root) >= view.known_covers_.size())
    view.known_covers_.resize(std::max(place(root) + 1, 2 * view.known_covers_.size()));
  if (const auto& known = view.known_covers_[place(root)]; known.time == view.time_) return known.corrected;
  const PlanValue corrected =
      view.layout() == Layout::onnxruntime ? no_plan_value : find_corrected(view, root);  // it writes all of a result
  view.known_covers_[place(root)] = {view.time_, GraphView::KnownCover::State::corrected, corrected, no_plan_value};
  return corrected;
}

PlanNode corrector(const GraphView& view, PlanValue value) {
  const PlanNode root = chain_of_slices(view, value);
  return root != no_plan_node && corrected_value(view, root) == value ? root : no_plan_node;
}

bool is_overwritten(const GraphView& view, PlanValue value) {
  if (place(value) >= view.known_overwritten_.size())
    view.known_overwritten_.resize(std::max(place(value) + 1, 2 * view.known_overwritten_.size()));
  if (const auto& known = view.known_overwritten_[place(value)]; known.time == view.time_) return known.is_overwritten;
  bool overwritten = corrector(view, value) != no_plan_node;
  for (std::size_t i = 0; i < view.users(value) && !overwritten; ++i) {
    const PlanNode user = view.user(value, i);
    if (is_plain_reshape(view, user))
      overwritten = is_overwritten(view, view.result(user, 0));
    else if (has_role(view, user, Role::concat))
      overwritten = is_overwritten(view, view.result(root_of_concats(view, user), 0));
  }
  view.known_overwritten_[place(value)] = {view.time_, overwritten};
  return overwritten;
}

PlanValue covered_value(const GraphView& view, PlanNode root) {
  using State = GraphView::KnownCover::State;
  const PlanValue corrected = corrected_value(view, root);
  if (corrected == no_plan_value) return no_plan_value;
  const auto known = [&]() -> GraphView::KnownCover& { return view.known_covers_[place(root)]; };
  // The place of the result depends on what reads it, and that of the value on what it is computed from: neither on
  // this.
  check(known().state != State::asked, "a cover does not depend on itself");
  if (known().state == State::corrected) {
    known().state = State::asked;
    const PlanValue covered = find_covered(view, root, corrected);
    known().state = State::covered;
    known().covered = covered;
  }
  return known().covered;
}

PlanNode cover_of(const GraphView& view, PlanValue value) {
  PlanValue last = value;
  for (;;) {
    const std::optional<Use> use = only_use(view, last);
    if (!use || !is_plain_reshape(view, use->node)) break;
    last = view.result(use->node, 0);
  }
  const PlanNode root = corrector(view, last);
  return root != no_plan_node && covered_value(view, root) == value ? root : no_plan_node;
}

bool is_kept(const GraphView& view, PlanValue value) {
  const PlanNode producer = view.producer(value);
  if (!has_role(view, producer, Role::slice)) return false;
  const PlanNode root = corrector(view, view.operand(producer, 0));
  return root != no_plan_node && covered_value(view, root) != no_plan_value;
}

std::vector<CopiedPart> copied_parts(const GraphView& view, PlanNode root, std::span<const PlanNode> concats) {
  PartFinder finder(view, concats);
  finder.add(root, 0);
  return std::move(finder.parts);
}

}  // namespace taso::cost
