#include "cost/plan/movement.h"

#include <algorithm>

#include "cost/functions/device_function.h"
#include "cost/plan/attention_form.h"
#include "cost/plan/cover.h"
#include "cost/plan/repeated_heads.h"

namespace taso::cost {
namespace {

template <class T>
const T& as(const GraphView& view, PlanNode node) {
  return std::get<T>(*view.op(node));
}

/// The axis with `inner` axes inside it. In NHWC the channels, axis 1, are innermost.
std::size_t axis_outside(std::size_t inner, std::size_t rank, Layout layout) {
  if (layout != Layout::channels_last || rank < 2) return rank - 1 - inner;
  if (inner == 0) return 1;
  return inner + 1 < rank ? rank - inner : 0;
}

/// Whether there are no gaps between elements; with `apart`, gaps between examples are allowed.
bool is_packed_but_examples(const Extents& extents, const Strides& strides, Layout layout, bool apart) {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return true;  // an empty tensor
  std::int64_t expected = 1;
  for (std::size_t inner = 0; inner < extents.size(); ++inner) {
    const std::size_t axis = axis_outside(inner, extents.size(), layout);
    if (extents[axis] == 1) continue;
    if (strides[axis] != expected && !(apart && axis == 0)) return false;
    expected = strides[axis] * extents[axis];
  }
  return true;
}

/// In NHWC, a part of the channels is read and written in place if its begin, its length and the stride between pixels
/// are multiples of this: kernels move that many at once.
constexpr std::int64_t channels_at_once = 4;

/// Whether a value is a part of the channels of an NHWC image: the channels of a pixel are contiguous, with gaps
/// between pixels. Examples may have any stride.
bool is_part_of_channels(const Extents& extents, const Strides& strides) {
  if (extents.size() < 3 || extents[1] % channels_at_once != 0) return false;
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return false;
  std::int64_t expected = 0;  // of the next outer axis; 0: any
  for (std::size_t inner = 0; inner < extents.size(); ++inner) {
    const std::size_t axis = axis_outside(inner, extents.size(), Layout::channels_last);
    if (extents[axis] == 1 || axis == 0) continue;
    if (axis == 1) {
      if (strides[axis] != 1) return false;
      continue;
    }
    if (strides[axis] % channels_at_once != 0 || (expected != 0 && strides[axis] != expected)) return false;
    expected = strides[axis] * extents[axis];
  }
  return extents[0] == 1 || strides[0] % channels_at_once == 0;
}

/// Whether the innermost axis is dense. Readers of rows accept rows that begin anywhere.
bool has_dense_rows(const Extents& extents, const Strides& strides, Layout layout) {
  if (extents.empty()) return true;
  const std::size_t axis = axis_outside(0, extents.size(), layout);
  return extents[axis] == 1 || strides[axis] == 1;
}

/// Whether a reduction covers all pixels of an image, channel by channel: it works in either layout.
bool reduces_places(const Operator& op, std::size_t rank) {
  if (std::holds_alternative<op::GlobalAveragePool>(op)) return true;
  const auto covers = [&](const std::vector<std::int64_t>& axes) {
    if (rank < 3 || axes.size() != rank - 2) return false;
    return std::all_of(axes.begin(), axes.end(), [](std::int64_t axis) { return axis >= 2; });
  };
  if (const auto* mean = std::get_if<op::ReduceMean>(&op)) return covers(mean->axes);
  if (const auto* sum = std::get_if<op::ReduceSum>(&op)) return covers(sum->axes);
  if (const auto* most = std::get_if<op::ReduceMax>(&op)) return covers(most->axes);
  return false;
}

bool is_matrix(const Extents& extents, const Strides& strides) {
  const std::size_t rank = extents.size();
  if (rank < 2) return false;
  // One axis of the matrix must be contiguous; it does not matter which.
  const bool contiguous =
      strides[rank - 1] == 1 || strides[rank - 2] == 1 || extents[rank - 1] == 1 || extents[rank - 2] == 1;
  return contiguous && has_one_batch_stride(extents, strides);
}

/// The strides of the same elements in another shape; nothing if no strides describe it.
std::optional<Strides> reshaped(const Extents& from, const Strides& strides, const Extents& to) {
  if (is_dense(from, strides)) return strides_of(to);
  Strides result(to.size(), 1);
  std::size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // The fewest axes of both shapes that hold the same number of elements.
    std::size_t begin = i, end = j;
    std::int64_t have = i < from.size() ? from[i++] : 1, want = j < to.size() ? to[j++] : 1;
    while (have != want) {
      if (have < want && i < from.size())
        have *= from[i++];
      else if (want < have && j < to.size())
        want *= to[j++];
      else
        return std::nullopt;  // the sizes assumed for unknown dimensions need not be consistent
    }
    // These axes must have one common stride.
    std::int64_t step = 0;
    for (std::size_t k = i; k-- > begin;) {
      if (from[k] == 1) continue;
      if (step == 0)
        step = strides[k];
      else if (strides[k] != step)
        return std::nullopt;
      step *= from[k];
    }
    std::int64_t stride = 1;
    for (std::size_t k = i; k-- > begin;)
      if (from[k] != 1) {
        stride = strides[k];
        break;
      }
    for (std::size_t k = j; k-- > end;) {
      result[k] = stride;
      stride *= to[k];
    }
  }
  return result;
}

/// The strides of the result of a node that only moves data, as a view of its operand with the given strides.
std::optional<Strides> seen_through(const GraphView& view, PlanNode node, const Strides& operand) {
  const Extents& from = *view.extents(view.operand(node, 0));
  switch (*role_of(view, node)) {
    case Role::split:
    case Role::slice: return operand;
    case Role::reshape: return reshaped(from, operand, *view.extents(view.result(node, 0)));
    case Role::transpose: {
      Strides strides;
      for (const std::int64_t axis : as<op::Transpose>(view, node).permutation)
        strides.push_back(operand[static_cast<std::size_t>(axis)]);
      return strides;
    }
    default: return std::nullopt;
  }
}

/// Where the result of a split or slice begins in its operand, along its axis.
struct Begin {
  std::size_t axis = 0;
  std::int64_t at = 0;
};
Begin begin_in_operand(const GraphView& view, PlanNode node, PlanValue part) {
  if (const auto* split = std::get_if<op::Split>(view.op(node))) {
    const std::int64_t whole = extent(view, view.operand(node, 0), split->axis);
    return {static_cast<std::size_t>(split->axis),
            part == view.result(node, 0) ? 0 : whole - extent(view, part, split->axis)};
  }
  const auto& slice = as<op::Slice>(view, node);
  return {static_cast<std::size_t>(slice.axis), slice.begin.known().value_or(0)};
}

/// Whether a part of an image in NHWC begins at a multiple of the number of channels that its extents and strides allow
/// to move at once. If it is a part of parts, each must begin so: any of them may be a copy.
bool begins_well(const GraphView& view, PlanNode node, PlanValue part, const Strides& strides) {
  if (!is_image(view, part)) return true;
  const Extents& extents = *view.extents(part);
  std::int64_t together = channels_at_once;
  for (std::size_t i = 0; i < extents.size(); ++i)
    while (extents[i] != 1 && (i == 1 ? extents[i] : strides[i]) % together != 0) together /= 2;
  for (; role_of(view, node) == Role::split || role_of(view, node) == Role::slice; node = view.producer(part)) {
    const Begin begin = begin_in_operand(view, node, part);
    if (begin.at * strides[begin.axis] % together != 0) return false;
    part = view.operand(node, 0);
  }
  return true;
}

/// The position of an operand along the axis in the result of the whole chain of concats.
std::int64_t begin_in_concats(const GraphView& view, PlanNode concat, std::size_t operand) {
  const std::int64_t axis = as<op::Concat>(view, concat).axis;
  std::int64_t begin = operand == 0 ? 0 : extent(view, view.operand(concat, 0), axis);
  for (PlanNode outer = joined(view, concat); outer != no_plan_node; concat = outer, outer = joined(view, concat))
    if (view.operand(outer, 0) != view.result(concat, 0)) begin += extent(view, view.operand(outer, 0), axis);
  return begin;
}

}  // namespace

bool has_one_batch_stride(const Extents& extents, const Strides& strides) {
  std::optional<std::int64_t> expected;  // of the next outer axis
  for (std::size_t i = extents.size() - 2; i-- > 0;) {
    if (extents[i] == 1) continue;
    if (expected && strides[i] != *expected) return false;
    expected = strides[i] * extents[i];
  }
  return true;
}

bool is_layout_free(const Extents& extents) {
  return is_packed(extents, packed(extents, Layout::channels_last), Layout::channels_first);
}

bool is_writable(const Extents& extents, const Strides& strides, Layout layout) {
  return layout != Layout::channels_last ? is_packed_but_examples(extents, strides, layout, true)
                                         : is_part_of_channels(extents, strides);
}

Layout layout_of(const GraphView& view, PlanValue value) {
  return is_image(view, value) ? Layout::channels_last : Layout::channels_first;
}

PlanNode only_user(const GraphView& view, PlanValue value) {
  if (value == no_plan_value || view.users(value) != 1 || view.is_output(value) || view.is_cut(value))
    return no_plan_node;
  return view.user(value, 0);
}

std::optional<Use> only_use(const GraphView& view, PlanValue value) {
  const PlanNode user = only_user(view, value);
  if (user == no_plan_node) return std::nullopt;
  std::optional<Use> use;
  for (std::size_t i = 0; i < view.operands(user); ++i) {
    if (view.operand(user, i) != value) continue;
    if (use) return std::nullopt;
    use = Use{user, i};
  }
  return use;
}

std::optional<Role> role_of(const GraphView& view, PlanNode node) {
  const Operator* op = view.op(node);
  return op ? std::optional(role_of(*op)) : std::nullopt;
}

std::optional<Role> role_of_kernel(const GraphView& view, PlanNode node) {
  const std::optional<Role> role = role_of(view, node);
  return !role && is_element_function(view, node) ? Role::element_wise : role;
}

Strides packed(const Extents& extents, Layout layout) {
  Strides strides(extents.size(), 1);
  std::int64_t next = 1;
  for (std::size_t inner = 0; inner < extents.size(); ++inner) {
    const std::size_t axis = axis_outside(inner, extents.size(), layout);
    strides[axis] = next;
    next *= std::max<std::int64_t>(extents[axis], 1);
  }
  return strides;
}

bool is_packed(const Extents& extents, const Strides& strides, Layout layout) {
  return is_packed_but_examples(extents, strides, layout, false);
}

bool is_dense(const Extents& extents, const Strides& strides) {
  return is_packed(extents, strides, Layout::channels_first);
}

namespace {

/// Whether a transpose makes NCHW of NHWC. Its result, stored in NHWC, is a view. Swapping the last two of three axes
/// may as well be the way back.
bool brings_channels_forward(const std::vector<std::int64_t>& permutation) {
  const auto rank = static_cast<std::int64_t>(permutation.size());
  if (rank < 4) return false;
  for (std::int64_t axis = 0; axis < rank; ++axis)
    if (permutation[static_cast<std::size_t>(axis)] != (axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1)) return false;
  return true;
}

}  // namespace

bool is_image(const GraphView& view, PlanValue value) {
  const Extents* extents = view.extents(value);
  if (view.layout() != Layout::channels_last || extents == nullptr || extents->size() < 3) return false;
  if (place(value) >= view.known_images_.size())
    view.known_images_.resize(std::max(place(value) + 1, 2 * view.known_images_.size()));
  if (const auto& known = view.known_images_[place(value)]; known.time == view.time_) return known.is_image;
  const PlanNode producer = view.producer(value);
  bool image = false;
  if (view.is_free(producer)) {
    image = view.is_image_on_border(value);
  } else {
    switch (role_of_kernel(view, producer).value_or(Role::constant)) {
      case Role::convolution:
      case Role::pooling: image = true; break;
      case Role::element_wise:
      case Role::concat:
        for (std::size_t i = 0; i < view.operands(producer) && !image; ++i) {
          const PlanValue operand = view.operand(producer, i);
          if (operand == no_plan_value) continue;
          image = !view.is_weight(operand) && view.extents(operand)->size() == extents->size() &&
                  (role_of(view, producer) == Role::concat || *view.extents(operand) == *extents) &&
                  is_image(view, operand);
        }
        break;
      case Role::split:
      case Role::slice:
      case Role::copy: image = is_image(view, view.operand(producer, 0)); break;
      case Role::transpose:
        image = brings_channels_forward(as<op::Transpose>(view, producer).permutation) &&
                !only_moves(view, view.producer(view.operand(producer, 0)));
        break;
      default: break;
    }
  }
  view.known_images_[place(value)] = {view.time_, image};
  return image;
}

bool reads(const GraphView& view, PlanNode node, PlanValue value, const Strides& strides) {
  const Extents& extents = *view.extents(value);
  const bool rows = is_dense(extents, strides);
  if (rows && (view.layout() != Layout::channels_last || is_layout_free(extents))) return true;
  const std::optional<Role> role = role_of_kernel(view, node);
  if (!role && is_expansion(view, node)) return view.operand(node, 0) == value || rows;
  if (!role || view.is_free(node)) return rows;
  switch (*role) {
    case Role::element_wise:
      // A broadcast operand is small and stays in the cache however it is read.
      if (view.layout() == Layout::channels_last && extents != *view.extents(view.result(node, 0))) return true;
      if (has_dense_rows(extents, strides, layout_of(view, view.result(node, 0)))) return true;
      if (const PlanNode product = product_scaled_by(view, node, Cuts::ignored);
          product != no_plan_node && !view.is_weight(value))
        return reads_rows_of_batches(view, product, view.result(node, 0), strides);
      return false;
    case Role::rows:
      if (view.operand(node, 0) == value && reduces_places(*view.op(node), extents.size()))
        return has_dense_rows(extents, strides, Layout::channels_first) ||
               has_dense_rows(extents, strides, Layout::channels_last);
      return has_dense_rows(extents, strides, Layout::channels_first);
    case Role::matmul: return rows || is_matrix(extents, strides) || reads_rows_of_batches(view, node, value, strides);
    case Role::convolution:
    case Role::pooling:
      if (view.operand(node, 0) != value) return rows || is_packed(extents, strides, view.layout());
      return is_packed_but_examples(extents, strides, view.layout(), true) ||
             (view.layout() == Layout::channels_last && is_part_of_channels(extents, strides));
    case Role::concat:
    case Role::split:
    case Role::slice:
    case Role::transpose:
    case Role::copy: return true;
    case Role::reshape:
      // The producer of the view copies it instead of this node: a matmul can even write it in this order. Not if that
      // would not help.
      return rows || !only_moves(view, view.producer(value)) || seen_through(view, node, strides) ||
             !seen_through(view, node, packed(extents, layout_of(view, value)));
    case Role::constant: break;
  }
  return rows;
}

bool is_converted(const GraphView& view, PlanValue value) {
  if (view.layout() != Layout::channels_last || view.is_weight(value) || view.extents(value) == nullptr) return false;
  if (is_layout_free(*view.extents(value))) return false;
  const Strides strides = strides_in_memory(view, value);
  if (view.is_output(value) && !view.is_output_on_border(value) && !is_dense(*view.extents(value), strides))
    return true;
  for (std::size_t i = 0; i < view.users(value); ++i)
    if (!view.is_free(view.user(value, i)) && !reads(view, view.user(value, i), value, strides)) return true;
  return false;
}

bool reads_copy(const GraphView& view, PlanNode node, PlanValue value) {
  return is_converted(view, value) && !reads(view, node, value, strides_in_memory(view, value));
}

Strides other_strides(const GraphView& view, PlanValue value) {
  const Extents& extents = *view.extents(value);
  const bool rows = is_dense(extents, strides_in_memory(view, value));
  return packed(extents, rows ? Layout::channels_last : Layout::channels_first);
}

bool only_moves(const GraphView& view, PlanNode node) {
  if (view.is_free(node)) return false;
  const std::optional<Role> role = role_of(view, node);
  return role == Role::reshape || role == Role::transpose || role == Role::split || role == Role::slice;
}

bool ends_views(const GraphView& view, PlanValue value) {
  const PlanNode producer = view.producer(value);
  return view.is_cut(value) && only_moves(view, producer) && role_of(view, producer) != Role::split;
}

std::optional<Strides> seen(const GraphView& view, PlanValue value) {
  const PlanNode producer = view.producer(value);
  if (!only_moves(view, producer) || ends_views(view, value)) return std::nullopt;
  if (view.layout() == Layout::onnxruntime && role_of(view, producer) != Role::reshape) return std::nullopt;
  std::optional<Strides> strides = seen_through(view, producer, strides_in_memory(view, view.operand(producer, 0)));
  if (!strides) return std::nullopt;
  // A copy would have exactly these strides. Readers that need the other layout get a conversion.
  if (is_packed(*view.extents(value), *strides, layout_of(view, value))) return strides;
  if (is_kept(view, value)) return strides;
  if (!begins_well(view, producer, value, *strides)) return std::nullopt;
  if (view.is_output(value) && !view.is_output_on_border(value) && !is_dense(*view.extents(value), *strides))
    return std::nullopt;
  for (std::size_t i = 0; i < view.users(value); ++i)
    if (!reads(view, view.user(value, i), value, *strides)) return std::nullopt;
  return strides;
}

namespace {

Strides find_strides(const GraphView& view, PlanValue value) {
  if (std::optional<Strides> strides = seen(view, value)) return std::move(*strides);
  Strides own = packed(*view.extents(value), layout_of(view, value));
  const PlanNode cover = cover_of(view, value);
  const PlanNode concat = cover != no_plan_node ? cover : concat_in_place(view, value);
  if (cover != no_plan_node && corrected_value(view, cover) != value) return own;  // in another shape
  if (concat == no_plan_node) return own;
  Strides strides = strides_in_memory(view, view.result(concat, 0));
  // Strides that differ from the packed ones only along axes of extent 1 are packed.
  return is_packed(*view.extents(value), strides, layout_of(view, value)) ? own : strides;
}

}  // namespace

Strides strides_in_memory(const GraphView& view, PlanValue value) {
  if (view.extents(value) == nullptr) return {};
  if (place(value) >= view.known_strides_.size())
    view.known_strides_.resize(std::max(place(value) + 1, 2 * view.known_strides_.size()));
  if (const auto& known = view.known_strides_[place(value)]; known.time == view.time_) return known.strides;
  Strides strides = find_strides(view, value);
  view.known_strides_[place(value)] = {view.time_, strides};
  return strides;
}

bool is_view(const GraphView& view, PlanNode node) {
  if (!only_moves(view, node)) return false;
  for (std::size_t i = 0; i < view.results(node); ++i) {
    const PlanValue value = view.result(node, i);
    if (value == no_plan_value || (view.users(value) == 0 && !view.is_output(value))) continue;
    if (!seen(view, value)) return false;
  }
  return true;
}

bool keeps_rows(const GraphView& view, PlanNode transpose) {
  const auto& permutation = as<op::Transpose>(view, transpose).permutation;
  const auto rank = static_cast<std::int64_t>(permutation.size());
  return rank >= 2 && permutation.back() == rank - 1;
}

bool can_write_transposed(const GraphView& view, PlanNode transpose) {
  const Extents& from = *view.extents(view.operand(transpose, 0));
  const Extents& to = *view.extents(view.result(transpose, 0));
  if (from.size() < 2) return false;
  const auto own = strides_of(to);
  std::vector<std::int64_t> strides(from.size());
  const auto& permutation = as<op::Transpose>(view, transpose).permutation;
  for (std::size_t i = 0; i < permutation.size(); ++i) strides[static_cast<std::size_t>(permutation[i])] = own[i];
  const std::size_t rank = from.size();
  return (strides[rank - 1] == 1 || from[rank - 1] == 1) && has_one_batch_stride(from, strides);
}

bool is_in_place(const GraphView& view, PlanNode concat, std::size_t operand) {
  const PlanValue value = view.operand(concat, operand);
  const PlanNode producer = view.producer(value);
  if (is_kept(view, value)) return true;
  if (view.is_free(producer) || view.is_output(value) || view.op(producer) == nullptr || seen(view, value))
    return false;
  if (view.operand(concat, 0) == view.operand(concat, 1)) return false;
  std::size_t claims = 0;
  for (std::size_t i = 0; i < view.users(value); ++i)
    if (role_of(view, view.user(value, i)) == Role::concat) ++claims;
  if (claims != 1) return false;

  // A value in another layout than the whole result has to be converted.
  const PlanNode root = root_of_concats(view, concat);
  const PlanValue whole = view.result(root, 0);
  if (layout_of(view, value) != layout_of(view, whole) && !is_layout_free(*view.extents(whole))) return false;
  // The result of an inner concat of a chain has no place of its own; its operands decide for themselves.
  if (joined(view, producer) == concat) return true;
  if (view.layout() == Layout::onnxruntime) return false;
  // A correction is copied at the end: in place it would have to wait for the corrected value. Nothing else may read
  // what corrections overwrite.
  if (corrected_value(view, root) != no_plan_value) return false;
  if (is_overwritten(view, whole) && !only_use(view, value)) return false;
  const Extents& extents = *view.extents(value);
  const Strides strides = strides_in_memory(view, view.result(concat, 0));
  if (is_packed(extents, strides, layout_of(view, value))) return true;
  if (only_moves(view, producer)) return false;
  if (!is_writable(extents, strides, layout_of(view, whole))) return false;
  if (layout_of(view, whole) == Layout::channels_last && as<op::Concat>(view, concat).axis == 1 &&
      begin_in_concats(view, concat, operand) % channels_at_once != 0)
    return false;
  for (std::size_t i = 0; i < view.users(value); ++i)
    if (!reads(view, view.user(value, i), value, strides)) return false;
  return true;
}

PlanNode concat_in_place(const GraphView& view, PlanValue value) {
  for (std::size_t i = 0; i < view.users(value); ++i) {
    const PlanNode user = view.user(value, i);
    if (view.is_free(user) || role_of(view, user) != Role::concat) continue;
    for (std::size_t operand = 0; operand < view.operands(user); ++operand)
      if (view.operand(user, operand) == value && is_in_place(view, user, operand)) return user;
  }
  return no_plan_node;
}

template <class Next>
PlanNode GraphView::end_of_row(PlanNode node, const Next& next) const {
  std::vector<PlanNode> row;
  PlanNode root = no_plan_node;
  while (root == no_plan_node) {
    if (place(node) >= known_roots_.size()) known_roots_.resize(std::max(place(node) + 1, 2 * known_roots_.size()));
    if (const KnownRoot& known = known_roots_[place(node)]; known.time == time_) {
      root = known.root;
      break;
    }
    row.push_back(node);
    const PlanNode further = next(node);
    if (further == no_plan_node) root = node;
    node = further;
  }
  for (const PlanNode one : row) known_roots_[place(one)] = {time_, root};
  return root;
}

PlanNode joined(const GraphView& view, PlanNode concat) {
  if (view.is_free(concat) || role_of(view, concat) != Role::concat) return no_plan_node;
  const std::optional<Use> use = only_use(view, view.result(concat, 0));
  if (!use || role_of(view, use->node) != Role::concat ||
      as<op::Concat>(view, use->node).axis != as<op::Concat>(view, concat).axis)
    return no_plan_node;
  return use->node;
}

PlanNode root_of_concats(const GraphView& view, PlanNode concat) {
  return view.end_of_row(concat, [&](PlanNode node) { return joined(view, node); });
}

PlanNode root_of_splits(const GraphView& view, PlanNode split) {
  return view.end_of_row(split, [&](PlanNode node) {
    const PlanValue operand = view.operand(node, 0);
    const PlanNode producer = view.producer(operand);
    const bool is_one = !view.is_free(producer) && role_of(view, producer) == Role::split && only_use(view, operand) &&
                        as<op::Split>(view, producer).axis == as<op::Split>(view, node).axis;
    return is_one ? producer : no_plan_node;
  });
}

std::vector<PlanNode> concats_below(const GraphView& view, PlanNode root) {
  std::vector<PlanNode> nodes{root};
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (std::size_t i = 0; i < view.operands(nodes[n]); ++i) {
      const PlanValue operand = view.operand(nodes[n], i);
      const PlanNode producer = view.producer(operand);
      if (!view.is_free(producer) && role_of(view, producer) == Role::concat && only_use(view, operand) &&
          as<op::Concat>(view, producer).axis == as<op::Concat>(view, root).axis)
        nodes.push_back(producer);
    }
  return nodes;
}

std::vector<PlanNode> splits_below(const GraphView& view, PlanNode root) {
  std::vector<PlanNode> nodes{root};
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (std::size_t i = 0; i < view.results(nodes[n]); ++i) {
      const std::optional<Use> use = only_use(view, view.result(nodes[n], i));
      if (use && role_of(view, use->node) == Role::split &&
          as<op::Split>(view, use->node).axis == as<op::Split>(view, root).axis)
        nodes.push_back(use->node);
    }
  return nodes;
}

}  // namespace taso::cost
