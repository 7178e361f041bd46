#include "cost/pricing/call.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/plan/added_bias.h"
#include "cost/plan/attention_form.h"
#include "cost/plan/cover.h"
#include "cost/pricing/gelu_steps.h"
#include "cost/pricing/shared_heads.h"
#include "ops/core/error.h"
#include "ops/graph/foreign_node.h"
#include "ops/text/operator_text.h"

namespace taso::cost {
namespace {

class CallMaker {
 public:
  CallMaker(const GraphView& view, const Kernel& kernel, Precision precision)
      : view_(view), kernel_(kernel), precision_(precision), members_(kernel.nodes), bias_(added_bias(view, kernel)) {
    std::sort(members_.begin(), members_.end());
    for (const PlanNode member : members_)
      if (is_softmax(view, member) && (guard_ = guard_after(view, member))) guarded_ = member;
    if (kernel.kind == Kernel::Kind::attention) find_repetitions();
    placed_.read.reserve(kernel.read.size());
    placed_.call.read.reserve(kernel.read.size());
    placed_.written.reserve(kernel.written.size());
    placed_.call.written.reserve(kernel.written.size());
  }

  PlacedCall make() {
    Call& call = placed_.call;
    call.kind = kernel_.kind;
    if (kernel_.nodes.empty()) {
      move(read({kernel_.read[0], false}), write({kernel_.read[0], true}));
    } else if (kernel_.kind == Kernel::Kind::opaque) {
      opaque();
    } else if (kernel_.kind == Kernel::Kind::copy) {
      copy();
    } else {
      steps();
    }
    if (has_products(call.kind) && precision_ == Precision::tf32 && !call.written.empty() &&
        call.written[0].element == ElementType::float32)
      call.precision = Precision::tf32;
    return std::move(placed_);
  }

 private:
  bool is_member(PlanNode node) const { return std::binary_search(members_.begin(), members_.end(), node); }
  bool is_choice(PlanNode node) const { return guarded_ != no_plan_node && guard_->choice == node && is_member(node); }

  /// Finds the factors that the kernel reads where they lie before they are repeated.
  void find_repetitions() {
    for (const PlanNode member : members_) {
      if (!is_product(view_, member)) continue;
      PlanValue factor = view_.operand(member, 1);
      if (!view_.is_weight(factor) && is_member(view_.producer(factor)) &&
          product_scaled_by(view_, view_.producer(factor)) == member)
        factor = unscaled(view_, view_.producer(factor));
      std::optional<Repetition> found = repetition(view_, factor, member != kernel_.main);
      if (found && is_member(found->expansion)) repetitions_.push_back(std::move(*found));
    }
  }
  const Repetition* repetition_of(PlanValue factor) const {
    const auto found = std::find_if(repetitions_.begin(), repetitions_.end(),
                                    [&](const Repetition& one) { return one.factor == factor; });
    return found == repetitions_.end() ? nullptr : &*found;
  }
  std::uint32_t read(const Repetition& repetition) {
    const std::uint32_t index = read(repetition.expansion, repetition.source);
    read_in_place(placed_.call.read[index], repetition);
    return index;
  }
  /// Gives the heads that share keys or values an axis of their own.
  void share_heads() {
    if (placed_.call.steps.empty()) return;  // nothing of it is used
    std::optional<SharedHeads> shared;
    std::vector<bool> is_cut(placed_.call.read.size(), false);
    for (const Repetition& one : repetitions_)
      if (const auto heads = shared_heads(one)) {
        shared = heads;
        is_cut[read(one)] = true;
      }
    if (shared) split_heads(placed_.call, repetitions_.front().axes.size(), *shared, is_cut);
  }

  /// Whether a value is the right factor of a matmul, and used for nothing else in this kernel.
  bool is_right_factor(PlanValue value) const {
    if (kernel_.kind != Kernel::Kind::matmul || view_.extents(value)->size() < 2) return false;
    for (const PlanNode member : members_)
      for (std::size_t i = 0; i < view_.operands(member); ++i)
        if (view_.operand(member, i) == value && (member != kernel_.main || i != 1)) return false;
    return view_.operands(kernel_.main) > 1 && view_.operand(kernel_.main, 1) == value;
  }

  /// The strides that the kernel prefers for a constant, which is laid out once in advance.
  Strides strides_of_weight(PlanValue value) const {
    const Extents& extents = *view_.extents(value);
    if (view_.layout() != Layout::onnxruntime && is_right_factor(value)) {
      // Column-major: the fastest TF32 products of a GPU expect that.
      Strides strides = packed(extents, Layout::channels_first);
      const std::size_t rank = extents.size();
      strides[rank - 2] = 1;
      strides[rank - 1] = std::max<std::int64_t>(extents[rank - 2], 1);
      return strides;
    }
    const bool is_image_kernel =
        view_.layout() == Layout::channels_last && (kernel_.kind == Kernel::Kind::convolution ||
                                                    (!kernel_.written.empty() && is_image(view_, kernel_.written[0])));
    const bool has_channels =
        !kernel_.written.empty() && extents.size() == view_.extents(kernel_.written[0])->size() && extents.size() > 2;
    return packed(extents, is_image_kernel && has_channels ? Layout::channels_last : Layout::channels_first);
  }

  Call::Operand operand(PlacedValue placed) const {
    Call::Operand operand;
    operand.element = stored(view_.element(placed.value), precision_);
    operand.is_weight = view_.is_weight(placed.value);
    if (view_.extents(placed.value) == nullptr) return operand;
    if (bias_ && placed.value == bias_->vector) {  // as a vector, which the convolution expects
      operand.extents = {bias_->channels};
      operand.strides = packed(operand.extents, Layout::channels_first);
      return operand;
    }
    operand.extents = *view_.extents(placed.value);
    operand.strides = operand.is_weight ? strides_of_weight(placed.value)
                      : placed.is_copy  ? other_strides(view_, placed.value)
                                        : strides_in_memory(view_, placed.value);
    // Strides along axes of extent 1 have no meaning, but libraries look at them: normalise them, so that equal calls
    // look equal.
    const bool last = view_.layout() == Layout::channels_last && operand.extents.size() > 2 &&
                      (kernel_.kind == Kernel::Kind::convolution || kernel_.kind == Kernel::Kind::pooling);
    for (const Layout layout : {last ? Layout::channels_last : Layout::channels_first,
                                last ? Layout::channels_first : Layout::channels_last}) {
      if (!is_packed(operand.extents, operand.strides, layout)) continue;
      operand.strides = packed(operand.extents, layout);
      break;
    }
    return operand;
  }

  static std::uint32_t place_in(std::vector<PlacedValue>& list, PlacedValue placed, bool& is_new) {
    const auto found = std::find(list.begin(), list.end(), placed);
    is_new = found == list.end();
    if (is_new) list.push_back(placed);
    return static_cast<std::uint32_t>(is_new ? list.size() - 1 : static_cast<std::size_t>(found - list.begin()));
  }
  std::uint32_t read(PlacedValue placed) {
    bool is_new = false;
    const std::uint32_t index = place_in(placed_.read, placed, is_new);
    if (is_new) placed_.call.read.push_back(operand(placed));
    return index;
  }
  std::uint32_t read(PlanNode node, PlanValue value) { return read({value, reads_copy(view_, node, value)}); }
  std::uint32_t write(PlacedValue placed) {
    bool is_new = false;
    const std::uint32_t index = place_in(placed_.written, placed, is_new);
    if (is_new) placed_.call.written.push_back(operand(placed));
    return index;
  }

  // --- Calls that compute ---

  /// The index of the operand to visit first. For commutative operators, results of this call come first and weights
  /// last, so that the same work has the same text.
  std::size_t first_operand(PlanNode node) const {
    const Operator* const op = view_.op(node);
    const auto is = [&]<class T>(const T&) { return op != nullptr && std::holds_alternative<T>(*op); };
    if (!is(op::Add{}) && !is(op::Mul{}) && !is(op::ScalarMul{})) return 0;
    const auto rank = [&](std::size_t i) {
      const PlanValue value = view_.operand(node, i);
      return is_member(view_.producer(value)) ? 0 : view_.is_weight(value) ? 2 : 1;
    };
    return rank(1) < rank(0) ? 1 : 0;
  }
  /// An operand by its position in that order.
  PlanValue ordered_operand(PlanNode node, std::size_t number) const {
    const std::size_t first = first_operand(node);
    return view_.operand(node, first == 0 ? number : 1 - number);
  }

  void steps() {
    std::vector<PlanNode> order;
    for (const PlanValue value : kernel_.written) visit(view_.producer(value), order);
    Call& call = placed_.call;
    auto next = static_cast<std::uint32_t>(call.read.size());
    std::vector<std::uint32_t> first_results(members_.size());
    const auto first_result = [&](PlanNode node) -> std::uint32_t& {
      const auto found = std::lower_bound(members_.begin(), members_.end(), node);
      return first_results[static_cast<std::size_t>(found - members_.begin())];
    };
    call.steps.reserve(order.size());
    for (const PlanNode node : order) {
      if (bias_ && node == bias_->add) {
        first_result(node) = first_result(kernel_.main);
        continue;
      }
      if (is_choice(node)) {
        first_result(node) = first_result(guarded_);
        call.steps.back().zeroes_nan = true;
        continue;
      }
      if (node == kernel_.main) call.main = call.steps.size();
      Call::Step step{*view_.op(node), {}, next};
      if (std::holds_alternative<op::ScalarMul>(step.op)) step.op = op::Mul{};  // the same work at the same price
      for (std::size_t i = 0; i < view_.operands(node); ++i) {
        const PlanValue value = ordered_operand(node, i);
        const PlanNode producer = view_.producer(value);
        if (const Repetition* const repeated = repetition_of(value)) {
          step.operands.push_back(read(*repeated));
          continue;
        }
        if (!is_member(producer)) {
          step.operands.push_back(read(node, value));
          continue;
        }
        std::uint32_t number = first_result(producer);
        for (std::size_t j = 0; view_.result(producer, j) != value; ++j) ++number;
        step.operands.push_back(number);
      }
      if (bias_ && node == kernel_.main) step.operands.push_back(read(bias_->add, bias_->vector));
      first_result(node) = next;
      next += static_cast<std::uint32_t>(view_.results(node));
      call.steps.push_back(std::move(step));
    }
    for (const PlanValue value : kernel_.written) {
      write({value, false});
      const PlanNode producer = view_.producer(value);
      std::uint32_t number = first_result(producer);
      for (std::size_t j = 0; view_.result(producer, j) != value; ++j) ++number;
      call.results.push_back(number);
    }
    share_heads();
    join_steps();
  }

  void join_steps() {
    Call& call = placed_.call;
    const auto is_gate = [](const Call::Step& step) {
      return std::holds_alternative<op::Erf>(step.op) || std::holds_alternative<op::Tanh>(step.op);
    };
    if (std::none_of(call.steps.begin(), call.steps.end(), is_gate)) return;
    std::vector<std::optional<double>> numbers;
    for (const PlacedValue& placed : placed_.read) {
      const Extents* extents = view_.extents(placed.value);
      const bool is_single = extents != nullptr && (extents->empty() || *extents == Extents{1});
      numbers.push_back(is_single && view_.is_weight(placed.value) ? view_.number(placed.value) : std::nullopt);
    }
    // A single number may have a higher rank than the value it is combined with.
    for (const Call::Operand& operand : call.read)
      if (!operand.is_weight && operand.extents.empty()) return;
    std::vector<PlacedValue> kept;
    for (const std::uint32_t old : join_gelu(call, numbers)) kept.push_back(placed_.read[old]);
    placed_.read = std::move(kept);
  }

  void visit(PlanNode node, std::vector<PlanNode>& order) {
    if (std::find(order.begin(), order.end(), node) != order.end()) return;
    if (is_choice(node)) {  // between the softmax and 0, by the softmax itself
      visit(guarded_, order);
      order.push_back(node);
      return;
    }
    for (std::size_t i = 0; i < view_.operands(node); ++i) {
      const PlanValue value = ordered_operand(node, i);
      const PlanNode producer = view_.producer(value);
      if (const Repetition* const repeated = repetition_of(value))
        read(*repeated);
      else
        is_member(producer) ? visit(producer, order) : static_cast<void>(read(node, value));
    }
    order.push_back(node);
  }

  // --- Calls that only move data ---

  void move(std::uint32_t from, std::uint32_t to) {
    Call& call = placed_.call;
    call.pieces.push_back({from, to, 0, 0, call.read[from].extents, call.written[to].extents, call.read[from].strides,
                           call.written[to].strides});
  }

  void copy() {
    if (view_.layout() == Layout::onnxruntime) return steps();
    switch (*role_of(view_, kernel_.main)) {
      case Role::concat: return gather(write({view_.result(kernel_.main, 0), false}));
      case Role::split: return scatter(kernel_.main, read(kernel_.main, view_.operand(kernel_.main, 0)), 0);
      case Role::slice: {
        const auto& slice = std::get<op::Slice>(*view_.op(kernel_.main));
        take(kernel_.main, slice.axis, slice.begin.known().value_or(0));
        return;
      }
      case Role::transpose: {
        const std::uint32_t from = read(kernel_.main, view_.operand(kernel_.main, 0));
        const std::uint32_t to = write({view_.result(kernel_.main, 0), false});
        move(from, to);
        Call::Piece& piece = placed_.call.pieces.back();
        const auto& permutation = std::get<op::Transpose>(*view_.op(kernel_.main)).permutation;
        for (std::size_t i = 0; i < permutation.size(); ++i)
          piece.from_strides[i] = placed_.call.read[from].strides[static_cast<std::size_t>(permutation[i])];
        piece.from_extents = piece.to_extents;
        return;
      }
      case Role::reshape: {
        const std::uint32_t from = read(kernel_.main, view_.operand(kernel_.main, 0));
        return move(from, write({view_.result(kernel_.main, 0), false}));
      }
      default: return steps();
    }
  }

  void take(PlanNode node, std::int64_t axis, std::int64_t begin) {
    const std::uint32_t from = read(node, view_.operand(node, 0));
    const PlanValue result = view_.result(node, 0);
    move(from, write({result, false}));
    Call::Piece& piece = placed_.call.pieces.back();
    piece.from_extents = piece.to_extents;
    piece.from_offset = begin * piece.from_strides[static_cast<std::size_t>(axis)];
  }

  /// Adds pieces for the operands of concats that do not lie in place.
  void gather(std::uint32_t to) {
    for (const CopiedPart& part : copied_parts(view_, kernel_.main, members_)) {
      move(read(part.concat, part.value), to);
      Call::Piece& piece = placed_.call.pieces.back();
      piece.from_extents = piece.to_extents = part.extents;
      for (std::size_t axis = 0; axis < part.extents.size(); ++axis) {
        piece.from_offset += part.from[axis] * piece.from_strides[axis];
        piece.to_offset += part.to[axis] * piece.to_strides[axis];
      }
    }
  }

  void scatter(PlanNode split, std::uint32_t from, std::int64_t begin) {
    const std::int64_t axis = std::get<op::Split>(*view_.op(split)).axis;
    // An unused result may have no number.
    const std::int64_t whole = extent(view_, view_.operand(split, 0), axis);
    const PlanValue first = view_.result(split, 0), second = view_.result(split, 1);
    const std::int64_t length =
        first != no_plan_value ? extent(view_, first, axis) : whole - extent(view_, second, axis);
    for (const auto& [value, at] : {std::pair(first, begin), std::pair(second, begin + length)}) {
      if (value == no_plan_value) continue;
      if (std::find(kernel_.written.begin(), kernel_.written.end(), value) != kernel_.written.end()) {
        move(from, write({value, false}));
        Call::Piece& piece = placed_.call.pieces.back();
        piece.from_extents = piece.to_extents;
        piece.from_offset = at * piece.from_strides[static_cast<std::size_t>(axis)];
      }
      for (std::size_t i = 0; i < view_.users(value); ++i)
        if (is_member(view_.user(value, i))) scatter(view_.user(value, i), from, at);
    }
  }

  void opaque() {
    if (view_.layout() == Layout::onnxruntime) return foreign();
    if (const auto function = function_of(view_, kernel_.main)) return compute(*function);
    if (can_be_called(view_, kernel_)) return moved();
    for (std::size_t i = 0; i < view_.operands(kernel_.main); ++i)
      if (view_.operand(kernel_.main, i) != no_plan_value) read(kernel_.main, view_.operand(kernel_.main, i));
    for (const PlanValue value : kernel_.written) write({value, false});
  }

  /// Writes the results of the main node that are used. Returns their numbers.
  std::vector<std::uint32_t> write_results() {
    std::vector<std::uint32_t> results;
    for (std::size_t i = 0; i < view_.results(kernel_.main); ++i) {
      const PlanValue value = view_.result(kernel_.main, i);
      if (std::find(kernel_.written.begin(), kernel_.written.end(), value) == kernel_.written.end()) continue;
      write({value, false});
      results.push_back(static_cast<std::uint32_t>(i));
    }
    return results;
  }

  void foreign() {
    Call::Foreign call;
    for (std::size_t i = 0; i < view_.operands(kernel_.main); ++i) {
      const PlanValue value = view_.operand(kernel_.main, i);
      call.operands.push_back(value != no_plan_value ? read(kernel_.main, value) : Call::Function::omitted);
    }
    call.results = write_results();
    const Opaque* const node = view_.opaque(kernel_.main);
    const ForeignNode* const known = foreign_node(node);
    if (known == nullptr) return;
    call.text = known->foreign_text();
    call.body = node->body;
    placed_.call.foreign = std::move(call);
  }

  void compute(DeviceFunction function) {
    placed_.call.kind = kind_of(function);
    Call::Function call;
    for (const std::optional<std::size_t>& operand : function.operands)
      call.operands.push_back(operand ? read(kernel_.main, view_.operand(kernel_.main, *operand))
                                      : Call::Function::omitted);
    call.results = write_results();
    function.operands.clear();  // which operands of the node they were does not matter to the call
    call.what = std::move(function);
    placed_.call.function = std::move(call);
  }

  void moved() {
    const PlainMovement movement = *view_.opaque(kernel_.main)->body->movement();
    placed_.call.kind = Kernel::Kind::copy;
    const std::uint32_t from = read(kernel_.main, view_.operand(kernel_.main, 0));
    if (movement.kind == PlainMovement::Kind::cast) return move(from, write({view_.result(kernel_.main, 0), false}));
    if (movement.kind == PlainMovement::Kind::expand)
      return repeat(from, write({view_.result(kernel_.main, 0), false}));
    read(kernel_.main, view_.operand(kernel_.main, 1));
    write({view_.result(kernel_.main, 0), false});
    const auto rank = static_cast<std::int64_t>(placed_.call.read[0].extents.size());
    placed_.call.gather_axis = movement.axis < 0 ? movement.axis + rank : movement.axis;
  }

  /// Broadcasts: uses stride 0 along axes that the operand lacks or where its extent is 1.
  void repeat(std::uint32_t from, std::uint32_t to) {
    move(from, to);
    Call::Piece& piece = placed_.call.pieces.back();
    const Call::Operand& operand = placed_.call.read[from];
    const std::size_t more = piece.to_extents.size() - operand.extents.size();
    piece.from_extents = piece.to_extents;
    piece.from_strides.assign(piece.to_extents.size(), 0);
    for (std::size_t i = 0; i < operand.extents.size(); ++i)
      if (operand.extents[i] == piece.to_extents[more + i]) piece.from_strides[more + i] = operand.strides[i];
  }

  const GraphView& view_;
  const Kernel& kernel_;
  Precision precision_;
  std::vector<PlanNode> members_;
  std::optional<AddedBias> bias_;
  std::optional<Guard> guard_;
  PlanNode guarded_ = no_plan_node;  ///< the softmax that has this guard
  std::vector<Repetition> repetitions_;
  PlacedCall placed_;
};

std::string text_of(const Call::Operand& operand) {
  std::string text = fmt::format("{}{}[{}]", operand.is_weight ? "*" : "", ops::name_of(operand.element),
                                 fmt::join(operand.extents, ","));
  if (operand.strides == packed(operand.extents, Layout::channels_first)) return text;
  if (operand.strides == packed(operand.extents, Layout::channels_last)) return text + "last";
  return text + fmt::format("by[{}]", fmt::join(operand.strides, ","));
}

std::string text_of(const Call::Piece& piece) {
  std::string text = fmt::format("{}+{}[{}]by[{}]", piece.read, piece.from_offset, fmt::join(piece.from_extents, ","),
                                 fmt::join(piece.from_strides, ","));
  text += fmt::format(" to {}+{}", piece.written, piece.to_offset);
  if (piece.to_extents != piece.from_extents) text += fmt::format("[{}]", fmt::join(piece.to_extents, ","));
  return text + fmt::format("by[{}]", fmt::join(piece.to_strides, ","));
}

/// "(0,-,1) = 0,2": the operands and results of a function or node.
std::string text_of(const std::vector<std::uint32_t>& operands, const std::vector<std::uint32_t>& results) {
  std::string text = "(";
  for (const std::uint32_t operand : operands) {
    if (text.back() != '(') text += ",";
    text += operand == Call::Function::omitted ? "-" : fmt::format("{}", operand);
  }
  text += ")";
  if (results != std::vector<std::uint32_t>{0}) text += fmt::format(" = {}", fmt::join(results, ","));
  return text;
}

std::string text_of(const Call::Function& function) {
  std::string text = " " + function.what.name;
  if (!function.what.integers.empty() || !function.what.numbers.empty())
    text += fmt::format("[{}]", fmt::join(function.what.integers, ","));
  if (!function.what.numbers.empty()) text += fmt::format("[{}]", fmt::join(function.what.numbers, ","));
  return text + text_of(function.operands, function.results);
}

}  // namespace

bool has_products(Kernel::Kind kind) {
  return kind == Kernel::Kind::convolution || kind == Kernel::Kind::matmul || kind == Kernel::Kind::attention;
}

Kernel::Kind kind_of(const DeviceFunction& function) {
  switch (function.family) {
    case DeviceFunction::Family::element: return Kernel::Kind::element_wise;
    case DeviceFunction::Family::rows:
    case DeviceFunction::Family::scan:
    case DeviceFunction::Family::top:
    case DeviceFunction::Family::range: return Kernel::Kind::rows;
    case DeviceFunction::Family::place:
    case DeviceFunction::Family::scatter: break;
  }
  return Kernel::Kind::copy;
}

bool can_be_called(const GraphView& view, const Kernel& kernel) {
  if (kernel.kind != Kernel::Kind::opaque) return true;
  if (view.layout() == Layout::onnxruntime) return foreign_node(view.opaque(kernel.main)) != nullptr;
  if (function_of(view, kernel.main)) return true;
  const Opaque* const opaque = view.opaque(kernel.main);
  const auto movement = opaque != nullptr && opaque->body ? opaque->body->movement() : std::nullopt;
  if (!movement || view.results(kernel.main) < 1 || view.result(kernel.main, 0) == no_plan_value) return false;
  const auto has_size = [&](PlanValue value) {
    return value != no_plan_value && view.extents(value) != nullptr && size_of(view.element(value)) > 0;
  };
  const PlanValue result = view.result(kernel.main, 0);
  if (movement->kind == PlainMovement::Kind::cast)
    return view.operands(kernel.main) >= 1 && has_size(view.operand(kernel.main, 0)) && has_size(result);
  if (view.operands(kernel.main) != 2) return false;
  const PlanValue data = view.operand(kernel.main, 0), indices = view.operand(kernel.main, 1);
  if (movement->kind == PlainMovement::Kind::expand) return is_expansion(view, kernel.main);
  if (!has_size(indices) || view.extents(data) == nullptr) return false;
  if (view.element(indices) != ElementType::int32 && view.element(indices) != ElementType::int64) return false;
  const auto rank = static_cast<std::int64_t>(view.extents(data)->size());
  return movement->axis >= -rank && movement->axis < rank && size_of(view.element(data)) > 0;
}

PlacedCall call_of(const GraphView& view, const Kernel& kernel, Precision precision) {
  return CallMaker(view, kernel, precision).make();
}

bool writes_nothing(const Call& call) {
  return std::all_of(call.written.begin(), call.written.end(),
                     [](const Call::Operand& operand) { return ops::count(operand.extents) == 0; });
}

std::int64_t elements_written(const Call& call, std::size_t result) {
  if (call.pieces.empty()) return count(call.written[result].extents);
  std::int64_t elements = 0;
  for (const Call::Piece& piece : call.pieces)
    if (piece.written == result) elements += count(piece.to_extents);
  return elements;
}

std::string text_of(const Call& call) {
  std::string text = fmt::format("{} {}:", name_of(call.kind), name_of(call.precision));
  for (const Call::Operand& operand : call.read) text += " " + text_of(operand);
  text += " ->";
  for (const Call::Operand& operand : call.written) text += " " + text_of(operand);
  text += ":";
  for (const Call::Step& step : call.steps)
    text +=
        fmt::format(" {}({}){}", ops::text_of(step.op), fmt::join(step.operands, ","), step.zeroes_nan ? " or 0" : "");
  for (const Call::Piece& piece : call.pieces) text += " " + text_of(piece);
  if (call.gather_axis) text += fmt::format(" gather {}", *call.gather_axis);
  if (call.function) text += text_of(*call.function);
  if (call.foreign) text += " " + call.foreign->text + text_of(call.foreign->operands, call.foreign->results);
  if (call.results.size() > 1) text += fmt::format(" = {}", fmt::join(call.results, ","));
  return text;
}

}  // namespace taso::cost
