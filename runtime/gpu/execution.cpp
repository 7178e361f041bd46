#include "runtime/gpu/execution.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "runtime/gpu/hazards.h"
#include "runtime/gpu/share.h"
#include "runtime/host/interpreter.h"

namespace taso::gpu {
namespace {

std::int64_t elements_of(const Extents& extents) {
  std::int64_t product = 1;
  for (const std::int64_t extent : extents) product *= extent;
  return product;
}

/// An axis of a copy; strides are in elements.
struct MovedAxis {
  std::int64_t extent, from, to;
};

/// The axes of a copy in the order in which elements are written. Drops axes of extent 1, and merges axes that are
/// contiguous on both sides.
std::vector<MovedAxis> moved_axes(const Extents& extents, const cost::Strides& from, const cost::Strides& to) {
  std::vector<MovedAxis> axes;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (extents[i] != 1) axes.push_back({extents[i], from[i], to[i]});
  std::stable_sort(axes.begin(), axes.end(), [](const MovedAxis& a, const MovedAxis& b) { return a.to > b.to; });
  std::vector<MovedAxis> merged;
  for (const MovedAxis& axis : axes) {
    if (!merged.empty() && merged.back().from == axis.from * axis.extent && merged.back().to == axis.to * axis.extent)
      merged.back() = {merged.back().extent * axis.extent, axis.from, axis.to};
    else
      merged.push_back(axis);
  }
  return merged;
}

/// Copies two axes in squares that stay in the cache in either direction.
template <class Element>
void move_plane(const MovedAxis& outer, const MovedAxis& inner, const Element* from, Element* to) {
  constexpr std::int64_t side = 32;
  for (std::int64_t i = 0; i < outer.extent; i += side)
    for (std::int64_t j = 0; j < inner.extent; j += side)
      for (std::int64_t k = i; k < std::min(i + side, outer.extent); ++k)
        for (std::int64_t l = j; l < std::min(j + side, inner.extent); ++l)
          to[k * outer.to + l * inner.to] = from[k * outer.from + l * inner.from];
}

template <class Element>
void move_elements(std::vector<MovedAxis> axes, const Element* from, Element* to) {
  const MovedAxis one{1, 0, 0};
  const MovedAxis inner = axes.empty() ? one : axes.back();
  if (!axes.empty()) axes.pop_back();
  // The axis that is innermost for reading, if it differs from the one for writing.
  const bool is_run = inner.from == 1 && inner.to == 1;
  auto read = axes.end();
  for (auto axis = axes.begin(); !is_run && axis != axes.end(); ++axis)
    if (std::abs(axis->from) < std::abs(inner.from) &&
        (read == axes.end() || std::abs(axis->from) < std::abs(read->from)))
      read = axis;
  const MovedAxis outer = read == axes.end() ? one : *read;
  if (read != axes.end()) axes.erase(read);
  std::vector<std::int64_t> index(axes.size(), 0);
  for (;;) {
    if (is_run)
      std::copy_n(from, inner.extent, to);
    else
      move_plane(outer, inner, from, to);
    std::size_t axis = axes.size();
    for (;;) {
      if (axis == 0) return;
      const MovedAxis& next = axes[--axis];
      from += next.from;
      to += next.to;
      if (++index[axis] < next.extent) break;
      from -= next.from * next.extent;
      to -= next.to * next.extent;
      index[axis] = 0;
    }
  }
}

/// Copies elements of `size` bytes between two sets of strides.
void rearrange(const Extents& extents, std::size_t size, const std::byte* from, const cost::Strides& from_strides,
               std::byte* to, const cost::Strides& to_strides) {
  if (elements_of(extents) == 0) return;
  const std::vector<MovedAxis> axes = moved_axes(extents, from_strides, to_strides);
  const auto with = [&]<class Element>(Element) {
    move_elements(axes, reinterpret_cast<const Element*>(from), reinterpret_cast<Element*>(to));
  };
  switch (size) {
    case 1: return with(std::uint8_t{});
    case 2: return with(std::uint16_t{});
    case 4: return with(std::uint32_t{});
    default: check(size == 8, "an element of 1, 2, 4 or 8 bytes"); return with(std::uint64_t{});
  }
}

class Maker {
 public:
  Maker(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan, cost::Precision precision,
        const KnownWeights* known = nullptr)
      : view_(view), graph_(graph), plan_(plan), precision_(precision), known_(known) {}

  Execution make(std::uint32_t most_lanes) {
    bind_steps();
    schedule(most_lanes);
    lay_out_arena();
    lay_out_weights();
    execution_.steps = std::move(steps_);
    return std::move(execution_);
  }

  Outlook look_ahead(std::uint32_t most_lanes) {
    is_to_run_ = false;  // sizes known only at run time are assumed as for pricing
    bind_steps();
    schedule(most_lanes);
    const std::size_t copies = execution_.tasks.size() - execution_.plan_steps.size();
    const cost::Cost in_a_row = one_after_the_other(execution_.tasks).predicted;
    Outlook outlook{1, in_a_row, in_a_row, static_cast<cost::Cost>(copies) * price_of_copy};
    if (!steps_.schedules.empty() && steps_.schedules.front().expected < outlook.cost) {
      outlook.lanes = steps_.schedules.front().lanes;
      outlook.cost = steps_.schedules.front().expected;
    }
    return outlook;
  }

  Timeline timeline(std::uint32_t most_lanes) {
    const Outlook outlook = look_ahead(most_lanes);
    const std::vector<Span> spans = spans_of(
        execution_.tasks, outlook.lanes > 1 ? steps_.schedules.front() : one_after_the_other(execution_.tasks));
    Timeline timeline;
    timeline.steps.resize(plan_.steps.size());
    for (std::size_t i = 0; i < spans.size(); ++i)
      if (i < execution_.plan_steps.size())
        timeline.steps[execution_.plan_steps[i]] = spans[i];
      else
        timeline.copies.push_back(spans[i]);
    return timeline;
  }

 private:
  void bind_steps() {
    need_known_sizes();
    index_places();
    bind_borders();
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) add(i);
    copy_outputs();
    steps_.in_place = in_place_of(steps_);
  }

  /// Throws unless each size is a number, or follows from sizes of inputs, which the view knows.
  void need_known_sizes() const {
    std::set<std::string, std::less<>> told;
    for (const Value& input : graph_.inputs)
      for (const Dim& dim : input.type().shape.value_or(Shape()))
        for (const auto& name : dim.symbols()) told.emplace(name);
    const auto is_known = [&](const Dim& dim) {
      const auto names = dim.symbols();
      return !is_to_run_ ||
             std::all_of(names.begin(), names.end(), [&](const auto& name) { return told.contains(name); });
    };
    for (std::uint32_t i = 0; i < view_.values(); ++i) {
      const Value value = view_.value(cost::PlanValue{i});
      const Type& type = value.type();
      const bool is_used = view_.users(cost::PlanValue{i}) > 0 || view_.is_output(cost::PlanValue{i});
      if (!is_used) continue;
      const bool is_all_known = type.shape && std::all_of(type.shape->begin(), type.shape->end(), is_known);
      if (!is_all_known || size_of(type.element) == 0) refuse(cost::PlanValue{i});
    }
  }

  [[noreturn]] void refuse(cost::PlanValue value) const {
    const Opaque* const opaque = view_.node(view_.producer(value)).as_opaque();
    if (const std::string obstacle = opaque && opaque->body ? opaque->body->obstacle() : ""; !obstacle.empty())
      throw InputError(fmt::format("cannot run {}: {}", opaque->kind, obstacle));
    throw InputError(fmt::format("cannot run: the size of a result of {}{} is not known before run time",
                                 producer_name(value), operands_text(value)));
  }

  std::string producer_name(cost::PlanValue value) const {
    const cost::PlanNode node = view_.producer(value);
    if (view_.op(node) != nullptr) return std::string(name_of(*view_.op(node)));
    if (const Opaque* opaque = view_.node(node).as_opaque()) return opaque->kind;
    if (const Input* input = view_.node(node).as_input()) return fmt::format("the input '{}'", input->name);
    return "a constant";
  }

  /// The types of the operands, for a message: operands that do not fit have no result of any size.
  std::string operands_text(cost::PlanValue value) const {
    constexpr std::size_t most = 4;
    std::vector<std::string> types;
    for (const Value& operand : view_.node(view_.producer(value)).inputs())
      if (operand) types.push_back(types.size() < most ? text_of(operand.type()) : "…");
    if (types.empty()) return "";
    types.resize(std::min(types.size(), most + 1));
    return fmt::format(" (of {})", fmt::join(types, ", "));
  }

  void index_places() {
    place_.assign(view_.values(), nullptr);
    copy_.assign(view_.values(), nullptr);
    for (const cost::Plan::Place& found : plan_.places) place_[cost::place(found.value)] = &found;
    for (const cost::Plan::Place& found : plan_.converted) copy_[cost::place(found.value)] = &found;
  }

  std::int64_t dense_bytes(cost::PlanValue value) const {
    return elements_of(*view_.extents(value)) *
           static_cast<std::int64_t>(size_of(cost::stored(view_.element(value), precision_)));
  }

  /// Converts an offset: the plan counts bytes of the graph's types, but stored types may be smaller.
  std::int64_t stored_offset(cost::PlanValue value, std::int64_t bytes) const {
    const auto size = static_cast<std::int64_t>(size_of(view_.element(value)));
    return bytes / size * static_cast<std::int64_t>(size_of(cost::stored(view_.element(value), precision_)));
  }

  void bind_borders() {
    for (const Value& input : graph_.inputs) {
      const cost::PlanValue value = view_.find(input);
      input_of_value_.try_emplace(value, static_cast<std::uint32_t>(steps_.input_bytes.size()));
      steps_.input_bytes.push_back(value == cost::no_plan_value ? 0 : dense_bytes(value));
      steps_.input_elements.push_back(cost::stored(input.type().element, precision_));
    }
    output_of_buffer_.assign(plan_.buffers.size(), no_output);
    is_written_.assign(graph_.outputs.size(), false);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const cost::PlanValue value = view_.find(graph_.outputs[i]);
      steps_.output_bytes.push_back(dense_bytes(value));
      steps_.output_elements.push_back(cost::stored(view_.element(value), precision_));
      const cost::Plan::Place* const found = place_of_output(value);
      if (found == nullptr || found->offset != 0 || output_of_buffer_[found->buffer] != no_output) continue;
      if (stored_offset(value, plan_.buffers[found->buffer].size) != dense_bytes(value)) continue;
      output_of_buffer_[found->buffer] = static_cast<std::uint32_t>(i);
      is_written_[i] = true;
    }
  }

  bool is_output_in_copy(cost::PlanValue value) const {
    return copy_[cost::place(value)] != nullptr &&
           !cost::is_dense(*view_.extents(value), cost::strides_in_memory(view_, value));
  }
  const cost::Plan::Place* place_of_output(cost::PlanValue value) const {
    return is_output_in_copy(value) ? copy_[cost::place(value)] : place_[cost::place(value)];
  }

  /// Arena bindings use the number of the buffer as index until the arena is laid out.
  Binding in_buffer(cost::PlanValue value, const cost::Plan::Place& found) const {
    const std::int64_t offset = stored_offset(value, found.offset);
    if (const std::uint32_t output = output_of_buffer_[found.buffer]; output != no_output)
      return {Binding::Place::output, output, offset};
    return {Binding::Place::arena, static_cast<std::uint32_t>(found.buffer), offset};
  }

  /// The memory of an operand. A view of an input has no place of its own: it lies in the input.
  Binding binding(cost::PlacedValue placed, const cost::Call::Operand& operand) {
    Binding found = place_of(placed, operand);
    if (elements_of(operand.extents) == 0) found.offset = 0;  // any address will do for an empty operand
    return found;
  }
  Binding place_of(cost::PlacedValue placed, const cost::Call::Operand& operand) {
    if (operand.is_weight) return weight(placed.value, operand);
    const cost::Plan::Place* const found =
        placed.is_copy ? copy_[cost::place(placed.value)] : place_[cost::place(placed.value)];
    if (found != nullptr) return in_buffer(placed.value, *found);
    check(!placed.is_copy, "a copy has a place");
    const auto [owner, offset] = cost::storage_of(view_, placed.value);
    const auto input = input_of_value_.find(owner);
    check(input != input_of_value_.end(), "a value that is not computed is an input or a weight");
    return {Binding::Place::input, input->second, stored_offset(owner, offset)};
  }

  Binding weight(cost::PlanValue value, const cost::Call::Operand& operand) {
    const Extents& extents = *view_.extents(value);
    // A bias may be passed as a vector, and a mask with an axis of its own for heads that share keys.
    const bool is_seen_otherwise = operand.extents.size() != extents.size();
    check(!is_seen_otherwise || (cost::is_dense(operand.extents, operand.strides) &&
                                 elements_of(operand.extents) == elements_of(extents)),
          "a weight is seen as it is, or densely");
    const auto [found, is_new] =
        weights_.try_emplace({value, is_seen_otherwise ? strides_of(extents) : operand.strides});
    if (is_new) found->second = place_of_weight(found->first);
    return found->second;
  }

  using LaidWeight = std::pair<cost::PlanValue, cost::Strides>;
  KnownWeights::Weight known_by(const LaidWeight& weight) const {
    const auto& [value, strides] = weight;
    return {view_.value(value), cost::stored(view_.element(value), precision_), *view_.extents(value), strides};
  }

  Binding place_of_weight(const LaidWeight& weight) {
    if (known_ != nullptr) {
      if (auto found = known_->find(graph_.pool, known_by(weight)))
        return {Binding::Place::weights, number_of(std::move(found->block)), found->offset};
    }
    const std::int64_t offset = weight_bytes_;
    weight_bytes_ += cost::aligned_size(dense_bytes(weight.first));
    return {Binding::Place::weights, own_weights, offset};
  }

  /// The number of weights of another program in bindings.
  std::uint32_t number_of(std::shared_ptr<const WeightBlock> block) {
    auto& all = steps_.shared_weights;
    const auto found = std::find(all.begin(), all.end(), block);
    const auto number = static_cast<std::uint32_t>(found - all.begin()) + 1;
    if (found == all.end()) all.push_back(std::move(block));
    return number;
  }

  void add(std::size_t index) {
    const cost::Kernel& kernel = plan_.steps[index].kernel;
    cost::PlacedCall placed = cost::call_of(view_, kernel, precision_);
    if (cost::writes_nothing(placed.call)) return;
    DeviceSteps::Step step;
    for (std::size_t i = 0; i < placed.read.size(); ++i)
      step.read.push_back(binding(placed.read[i], placed.call.read[i]));
    for (std::size_t i = 0; i < placed.written.size(); ++i)
      step.written.push_back(binding(placed.written[i], placed.call.written[i]));
    if (placed.call.kind == cost::Kernel::Kind::opaque) step.host = on_host(kernel, placed);
    step.call = std::move(placed.call);
    steps_.steps.push_back(std::move(step));
    execution_.plan_steps.push_back(index);
  }

  /// The function that computes an opaque operator from the bytes of its operands.
  decltype(DeviceSteps::Step::host) on_host(const cost::Kernel& kernel, const cost::PlacedCall& placed) {
    if (!is_to_run_) return [](const auto&, const auto&) {};
    const Node& node = view_.node(kernel.main);
    const Opaque* const opaque = node.as_opaque();
    check(opaque != nullptr, "an operator without a kernel is opaque");
    if (!opaque->body) throw InputError(fmt::format("cannot run {}: unknown operator", opaque->kind));
    if (const std::string obstacle = opaque->body->obstacle(); !obstacle.empty())
      throw InputError(fmt::format("cannot run {}: {}", opaque->kind, obstacle));
    auto& kinds = execution_.on_host;
    if (std::find(kinds.begin(), kinds.end(), opaque->kind) == kinds.end()) kinds.push_back(opaque->kind);

    struct Side {
      ElementType element;
      Extents extents;
    };
    std::vector<Side> read;
    for (const cost::PlacedValue& value : placed.read)
      read.push_back({view_.element(value.value), *view_.extents(value.value)});
    std::vector<std::optional<std::size_t>> operands;  // for each operand of the node, its index among those read
    for (std::size_t i = 0; i < view_.operands(kernel.main); ++i) {
      operands.emplace_back();
      for (std::size_t j = 0; j < placed.read.size(); ++j)
        if (placed.read[j].value == view_.operand(kernel.main, i)) operands.back() = j;
    }
    std::vector<std::size_t> results;  // for each written operand, the index of the result
    for (const cost::PlacedValue& value : placed.written)
      for (std::size_t j = 0; j < view_.results(kernel.main); ++j)
        if (view_.result(kernel.main, j) == value.value) results.push_back(j);

    return [read = std::move(read), operands = std::move(operands), results = std::move(results), body = opaque->body,
            kind = opaque->kind, precision = precision_](std::span<const std::span<const std::byte>> from,
                                                         std::span<const std::span<std::byte>> to) {
      std::vector<std::optional<Array>> arrays;
      for (const std::optional<std::size_t>& operand : operands) {
        arrays.emplace_back();
        if (!operand) continue;
        const Side& side = read[*operand];
        arrays.back() = from_device(from[*operand], side.element, side.extents, precision);
      }
      const std::vector<Array> computed = body->run(arrays);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const std::vector<std::byte> bytes = to_device(computed.at(results[i]), precision);
        if (bytes.size() != to[i].size())
          throw InputError(fmt::format("a result of {} has another size than inferred", kind));
        std::copy(bytes.begin(), bytes.end(), to[i].begin());
      }
    };
  }

  /// Adds copies for outputs that no kernel writes in place: inputs, weights, parts of other values.
  void copy_outputs() {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (is_written_[i] || steps_.output_bytes[i] == 0) continue;
      const cost::PlanValue value = view_.find(graph_.outputs[i]);
      cost::Call call;
      call.kind = cost::Kernel::Kind::copy;
      cost::Call::Operand to{cost::stored(view_.element(value), precision_), *view_.extents(value),
                             strides_of(*view_.extents(value)), false};
      cost::Call::Operand from = to;
      from.is_weight = view_.is_weight(value);
      if (!from.is_weight && !is_output_in_copy(value)) from.strides = cost::strides_in_memory(view_, value);
      call.pieces.push_back({0, 0, 0, 0, from.extents, to.extents, from.strides, to.strides});
      DeviceSteps::Step step;
      step.read.push_back(binding({value, is_output_in_copy(value)}, from));
      step.written.push_back({Binding::Place::output, static_cast<std::uint32_t>(i), 0});
      call.read.push_back(std::move(from));
      call.written.push_back(std::move(to));
      step.call = std::move(call);
      steps_.steps.push_back(std::move(step));
    }
  }

  /// The first step with the same call. Equal calls have equal prices, so the map is by price.
  std::uint32_t kind_of(std::size_t step) {
    std::vector<std::uint32_t>& alike = by_price_[plan_.steps[execution_.plan_steps[step]].price];
    for (const std::uint32_t other : alike)
      if (steps_.steps[other].call == steps_.steps[step].call) return other;
    alike.push_back(static_cast<std::uint32_t>(step));
    return alike.back();
  }

  void schedule(std::uint32_t most_lanes) {
    const std::vector<std::vector<std::uint32_t>> needs = needs_of(steps_.steps, steps_.in_place);
    for (std::size_t i = 0; i < steps_.steps.size(); ++i) {
      Task task{price_of_copy, 1, static_cast<bool>(steps_.steps[i].host), needs[i]};
      if (i < execution_.plan_steps.size()) {
        const cost::Plan::Step& step = plan_.steps[execution_.plan_steps[i]];
        task.cost = step.price;
        task.cost_again = step.price_again;
        if (!steps_.steps[i].host) task.kind = kind_of(i);
        task.share = share_of(step.kernel, step.price);
        task.load = load_of(step.kernel, step.price, precision_);
      }
      execution_.tasks.push_back(std::move(task));
    }
    if (most_lanes > 1) steps_.schedules = schedules(execution_.tasks, most_lanes);
  }

  /// Lays out the arena. Two buffers share memory only if, in every schedule, all users of one finish before any user
  /// of the other starts.
  void lay_out_arena() {
    std::vector<cost::Buffer> buffers = plan_.buffers;
    std::vector<std::vector<std::uint32_t>> users(buffers.size());
    for (std::uint32_t i = 0; i < steps_.steps.size(); ++i)
      for (const auto* list : {&steps_.steps[i].read, &steps_.steps[i].written})
        for (const Binding& binding : *list)
          if (binding.place == Binding::Place::arena) users[binding.index].push_back(i);
    for (std::size_t i = 0; i < buffers.size(); ++i)
      if (users[i].empty()) buffers[i].size = 0;    // an output, or unused
    std::vector<std::vector<StepOrder::Use>> uses;  // by schedule and buffer
    const auto add_order = [&](const Schedule& way) {
      const StepOrder order(execution_.tasks, way);
      uses.emplace_back();
      for (const std::vector<std::uint32_t>& list : users) uses.back().push_back(order.use_by(list));
    };
    add_order(one_after_the_other(execution_.tasks));
    for (const Schedule& way : steps_.schedules) add_order(way);
    steps_.arena_bytes = cost::lay_out(buffers, [&](std::size_t a, std::size_t b) {
      if (users[a].empty() || users[b].empty()) return false;
      return std::any_of(uses.begin(), uses.end(), [&](const std::vector<StepOrder::Use>& use) {
        return !use[a].is_before(use[b]) && !use[b].is_before(use[a]);
      });
    });
    for (DeviceSteps::Step& step : steps_.steps)
      for (auto* list : {&step.read, &step.written})
        for (Binding& binding : *list)
          if (binding.place == Binding::Place::arena)
            binding = {Binding::Place::arena, 0, buffers[binding.index].offset + binding.offset};
  }

  void lay_out_weights() {
    steps_.weights.resize(static_cast<std::size_t>(weight_bytes_));
    std::vector<Value> values;
    std::erase_if(weights_, [](const auto& one) { return one.second.index != own_weights; });
    for (const auto& [key, place] : weights_)
      if (values.empty() || !(values.back() == view_.value(key.first))) values.push_back(view_.value(key.first));
    const std::vector<Array> arrays = runtime::interpret(Graph{graph_.pool, {}, values}, {});
    struct Laid {
      const Array* array;
      cost::PlanValue value;
      const cost::Strides* strides;
      std::int64_t offset;
    };
    std::vector<Laid> list;
    std::size_t at = 0;
    for (const auto& [key, place] : weights_) {
      while (!(values[at] == view_.value(key.first))) ++at;
      list.push_back({&arrays[at], key.first, &key.second, place.offset});
      execution_.new_weights.push_back({known_by(key), place.offset});
    }
    parallel_for(thread_count(0), static_cast<std::int64_t>(list.size()), [&](std::int64_t i) {
      const Laid& one = list[static_cast<std::size_t>(i)];
      const ElementType element = cost::stored(one.array->type(), precision_);
      const Array kept = element == one.array->type() ? *one.array : one.array->cast(element);
      const Extents& extents = *view_.extents(one.value);
      rearrange(extents, size_of(element), kept.data(), strides_of(extents), steps_.weights.data() + one.offset,
                *one.strides);
    });
  }

  static constexpr std::uint32_t no_output = static_cast<std::uint32_t>(-1);
  static constexpr std::uint32_t own_weights = 0;         // the index of bindings
  static constexpr cost::Cost price_of_copy = 2'000'000;  // of an output; the plan has no such step
  const cost::WholeGraph& view_;
  const Graph& graph_;
  const cost::Plan& plan_;
  cost::Precision precision_;
  const KnownWeights* known_;
  bool is_to_run_ = true;
  Execution execution_;
  std::map<cost::Cost, std::vector<std::uint32_t>> by_price_;  // the first step of each kind, by price
  DeviceSteps steps_;
  std::vector<const cost::Plan::Place*> place_, copy_;  // by value
  std::unordered_map<cost::PlanValue, std::uint32_t> input_of_value_;
  std::vector<std::uint32_t> output_of_buffer_;
  std::vector<bool> is_written_;  // by output
  std::map<LaidWeight, Binding> weights_;
  std::int64_t weight_bytes_ = 0;
};

}  // namespace

Execution make_execution(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan,
                         cost::Precision precision, std::uint32_t most_lanes, const KnownWeights* known) {
  return Maker(view, graph, plan, precision, known).make(most_lanes);
}

Outlook look_ahead(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan, cost::Precision precision,
                   std::uint32_t most_lanes) {
  return Maker(view, graph, plan, precision).look_ahead(most_lanes);
}

Timeline timeline_of(const cost::WholeGraph& view, const Graph& graph, const cost::Plan& plan,
                     cost::Precision precision, std::uint32_t most_lanes) {
  return Maker(view, graph, plan, precision).timeline(most_lanes);
}

std::vector<std::byte> to_device(const Array& array, cost::Precision precision) {
  const ElementType element = cost::stored(array.type(), precision);
  const Array kept = element == array.type() ? array : array.cast(element);
  return {kept.data(), kept.data() + kept.bytes()};
}

Array from_device(std::span<const std::byte> bytes, ElementType element, const Extents& extents,
                  cost::Precision precision) {
  Array array(cost::stored(element, precision), extents);
  check(array.bytes() == bytes.size(), "the bytes fit the type and the extents");
  std::copy(bytes.begin(), bytes.end(), array.mutable_data());
  return array.type() == element ? array : array.cast(element);
}

}  // namespace taso::gpu
