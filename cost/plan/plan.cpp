#include "cost/plan/plan.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "cost/plan/cover.h"
#include "cost/plan/movement.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"

namespace taso::cost {
namespace {

/// The size of a value in bytes as an integer, limited so that sums do not overflow.
std::int64_t whole_bytes(const GraphView& view, PlanValue value) {
  return static_cast<std::int64_t>(std::min(bytes_of(view, value), 1e15));
}

std::int64_t offset_of_view(const WholeGraph& view, PlanNode node, PlanValue result) {
  const PlanValue operand = view.operand(node, 0);
  std::int64_t axis = 0, begin = 0;
  if (const auto* split = std::get_if<op::Split>(view.op(node))) {
    axis = split->axis;
    if (result != view.result(node, 0)) begin = extent(view, view.result(node, 0), axis);
  } else if (const auto* slice = std::get_if<op::Slice>(view.op(node))) {
    axis = slice->axis;
    // The sizes assumed for unknown dimensions need not be consistent: clamp to a part of the operand.
    begin =
        std::clamp<std::int64_t>(view.size(slice->begin), 0,
                                 std::max<std::int64_t>(0, extent(view, operand, axis) - extent(view, result, axis)));
  }
  if (begin == 0) return 0;
  return begin * strides_in_memory(view, operand)[static_cast<std::size_t>(axis)] *
         static_cast<std::int64_t>(size_of(view.element(operand)));
}

/// The value in whose memory this one lies, and the offset in it; nothing if it owns its memory. Operands come before
/// results, and concats before the operands, and the corrected values, that are written into them.
std::optional<Storage> next_storage(const WholeGraph& view, PlanValue value) {
  const PlanNode producer = view.producer(value);
  if (view.is_free(producer)) return std::nullopt;
  if (seen(view, value)) return Storage{view.operand(producer, 0), offset_of_view(view, producer, value)};
  if (const PlanNode cover = cover_of(view, value); cover != no_plan_node) return Storage{view.result(cover, 0), 0};
  const PlanNode concat = concat_in_place(view, value);
  if (concat == no_plan_node) return std::nullopt;
  Storage next{view.result(concat, 0), 0};
  if (view.operand(concat, 1) == value) {
    const auto axis = std::get<op::Concat>(*view.op(concat)).axis;
    next.offset = extent(view, view.operand(concat, 0), axis) *
                  strides_in_memory(view, view.result(concat, 0))[static_cast<std::size_t>(axis)] *
                  static_cast<std::int64_t>(size_of(view.element(value)));
  }
  return next;
}

/// Whether the kernel only copies a value into the other layout.
bool is_conversion(const Kernel& kernel) { return kernel.nodes.empty(); }

class Planner {
 public:
  Planner(const WholeGraph& view, const KernelPrices& prices) : view_(view), prices_(prices) {}

  Plan make() {
    plan_.layout = view_.layout();
    price_kernels();
    order_steps();
    place_values();
    return std::move(plan_);
  }

 private:
  void price_kernels() {
    std::vector<Kernel> kernels = kernels_of(view_);
    plan_.steps.reserve(kernels.size());
    for (Kernel& kernel : kernels) {
      Plan::Step step{std::move(kernel), 0, 0};
      if (is_conversion(step.kernel)) {
        step.price = step.price_again = prices_.price(view_, step.kernel);
      } else {
        const PriceTwice price = prices_.price_twice(view_, step.kernel);
        step.price = price.first;
        step.price_again = price.again;
      }
      std::sort(step.kernel.nodes.begin(), step.kernel.nodes.end());
      plan_.cost += step.price;
      plan_.steps.push_back(std::move(step));
    }
  }

  /// Sorts the steps by the position of their last node: nothing else needs the values inside a kernel. Splits are the
  /// exception: their results are needed earlier, and they need only the operand of their root. Conversions run as soon
  /// as their value exists.
  void order_steps() {
    std::vector<std::size_t> done(view_.nodes());  // when a node is done; inputs are done before the first step
    for (std::uint32_t i = 0; i < view_.nodes(); ++i) done[i] = view_.is_free(PlanNode{i}) ? 0 : i + 1;
    for (const Plan::Step& step : plan_.steps) {
      if (is_conversion(step.kernel)) continue;
      const bool splits = role_of(view_, step.kernel.main) == Role::split;
      const std::size_t at = place(splits ? step.kernel.main : step.kernel.nodes.back()) + 1;
      for (const PlanNode node : step.kernel.nodes) done[place(node)] = at;
    }
    const auto key = [&](const Plan::Step& step) {
      return std::tuple(done[place(step.kernel.main)], is_conversion(step.kernel), place(step.kernel.main));
    };
    std::stable_sort(plan_.steps.begin(), plan_.steps.end(),
                     [&](const Plan::Step& a, const Plan::Step& b) { return key(a) < key(b); });
  }

  void place_values() {
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::vector<std::size_t> buffer_of(view_.values(), none);
    const auto touch = [&](PlanValue value, std::size_t step) {
      const Storage storage = storage_of(value);
      if (view_.is_free(view_.producer(storage.owner))) return;
      std::size_t& index = buffer_of[place(storage.owner)];
      if (index == none) {
        index = plan_.buffers.size();
        plan_.buffers.push_back({whole_bytes(view_, storage.owner), step, step, 0});
      }
      Buffer& buffer = plan_.buffers[index];
      buffer.begin = std::min(buffer.begin, step);
      buffer.end = std::max(buffer.end, step);
    };
    std::vector<std::size_t> copy_of(view_.values(), none);  // in the other layout
    const auto touch_copy = [&](PlanValue value, std::size_t step) {
      std::size_t& index = copy_of[place(value)];
      if (index == none) {
        index = plan_.buffers.size();
        plan_.buffers.push_back({whole_bytes(view_, value), step, step, 0});
      }
      plan_.buffers[index].end = std::max(plan_.buffers[index].end, step);
    };
    const std::size_t last = plan_.steps.empty() ? 0 : plan_.steps.size() - 1;
    for (std::size_t step = 0; step < plan_.steps.size(); ++step) {
      const Kernel& kernel = plan_.steps[step].kernel;
      if (is_conversion(kernel)) {
        touch(kernel.read[0], step);
        touch_copy(kernel.read[0], step);
        continue;
      }
      std::unordered_map<PlanValue, std::vector<PlanNode>> readers;
      for (const PlanNode node : kernel.nodes)
        for (std::size_t i = 0; i < view_.operands(node); ++i)
          if (view_.operand(node, i) != no_plan_value) readers[view_.operand(node, i)].push_back(node);
      for (const PlanValue value : kernel.read)
        for (const PlanNode node : readers[value])
          reads_copy(view_, node, value) ? touch_copy(value, step) : touch(value, step);
      for (const PlanValue value : kernel.written) touch(value, step);
    }
    for (std::uint32_t i = 0; i < view_.values(); ++i) {
      const PlanValue value{i};
      if (!view_.is_output(value)) continue;
      const bool as_copy = copy_of[i] != none && !is_dense(*view_.extents(value), strides_in_memory(view_, value));
      as_copy ? touch_copy(value, last) : touch(value, last);
    }
    plan_.arena_bytes = lay_out(plan_.buffers);
    for (std::uint32_t i = 0; i < view_.values(); ++i) {
      const PlanValue value{i};
      const Storage storage = storage_of(value);
      if (const std::size_t buffer = buffer_of[place(storage.owner)]; buffer != none)
        plan_.places.push_back({value, buffer, storage.offset, strides_in_memory(view_, value)});
      if (copy_of[i] != none) plan_.converted.push_back({value, copy_of[i], 0, other_strides(view_, value)});
    }
  }

  /// Caches the result for every value on the way: in a long chain of views, every view asks for the owner.
  Storage storage_of(PlanValue value) {
    std::vector<PlanValue> row;
    std::vector<std::int64_t> offsets;
    while (!storages_[place(value)]) {
      const auto next = next_storage(view_, value);
      if (!next) {
        storages_[place(value)] = Storage{value, 0};
        break;
      }
      row.push_back(value);
      offsets.push_back(next->offset);
      value = next->owner;
    }
    Storage storage = *storages_[place(value)];
    for (std::size_t i = row.size(); i-- > 0;) {
      storage.offset += offsets[i];
      storages_[place(row[i])] = storage;
    }
    return storage;
  }

  const WholeGraph& view_;
  const KernelPrices& prices_;
  Plan plan_;
  std::vector<std::optional<Storage>> storages_ = std::vector<std::optional<Storage>>(view_.values());
};

}  // namespace

Storage storage_of(const WholeGraph& view, PlanValue value) {
  Storage storage{value, 0};
  while (const auto next = next_storage(view, storage.owner)) {
    storage.owner = next->owner;
    storage.offset += next->offset;
  }
  return storage;
}

std::vector<Kernel> kernels_of(const WholeGraph& view) {
  const Fusion fusion(view);
  std::vector<Kernel> kernels;
  std::vector<bool> taken(view.nodes(), false);
  for (std::uint32_t i = 0; i < view.nodes(); ++i) {
    if (taken[i]) continue;
    const PlanNode leader = fusion.leader(PlanNode{i});
    if (leader == no_plan_node) continue;
    kernels.push_back(fusion.kernel(leader));
    for (const PlanNode node : kernels.back().nodes) {
      check(!taken[place(node)], "each node is in one kernel");
      taken[place(node)] = true;
    }
  }
  for (std::uint32_t i = 0; i < view.values(); ++i)
    if (is_converted(view, PlanValue{i})) kernels.push_back(fusion.conversion(PlanValue{i}));
  return kernels;
}

Plan plan(const WholeGraph& view, const KernelPrices& prices) { return Planner(view, prices).make(); }

Plan plan(const Graph& graph, const KernelPrices& prices, const PlanOptions& options) {
  return plan(WholeGraph(graph, options.sizes, options.layout), prices);
}

Plan best_plan(const Graph& graph, const KernelPrices& prices, const DimensionSizes& sizes) {
  const std::span<const Layout> possible = prices.layouts();
  Plan best = plan(graph, prices, {sizes, possible.front()});
  for (const Layout layout : possible.subspan(1))
    if (Plan other = plan(graph, prices, {sizes, layout}); other.cost < best.cost) best = std::move(other);
  return best;
}

Layout best_layout(const Graph& graph, const KernelPrices& prices, const DimensionSizes& sizes, unsigned threads) {
  const std::span<const Layout> possible = prices.layouts();
  if (possible.size() == 1) return possible.front();
  std::vector<Cost> costs(possible.size(), 0);
  parallel_for(threads, std::ssize(possible), [&](std::int64_t task) {
    const auto i = static_cast<std::size_t>(task);
    const WholeGraph view(graph, sizes, possible[i]);
    for (const Kernel& kernel : kernels_of(view)) costs[i] += prices.price(view, kernel);
  });
  return possible[static_cast<std::size_t>(std::min_element(costs.begin(), costs.end()) - costs.begin())];
}

Corrections corrections_of(const WholeGraph& view, const Plan& plan) {
  const auto corrects = [&](PlanNode concat) {
    return !view.is_free(concat) && role_of(view, concat) == Role::concat &&
           corrected_value(view, root_of_concats(view, concat)) != no_plan_value;
  };
  const auto is_slice_of_corrected = [&](PlanValue value) {
    const PlanNode producer = view.producer(value);
    return role_of(view, producer) == Role::slice && corrector(view, view.operand(producer, 0)) != no_plan_node;
  };
  // Whether all users of a node's results only serve corrections, from the last node to the first.
  std::vector<bool> is_only_correction(view.nodes(), false);
  for (std::uint32_t i = static_cast<std::uint32_t>(view.nodes()); i-- > 0;) {
    const PlanNode node{i};
    if (view.is_free(node)) continue;
    bool is_used = false, is_needed = false;
    for (std::size_t j = 0; j < view.results(node) && !is_needed; ++j) {
      const PlanValue value = view.result(node, j);
      is_needed = view.is_output(value) || is_slice_of_corrected(value);
      for (std::size_t k = 0; k < view.users(value) && !is_needed; ++k) {
        const PlanNode user = view.user(value, k);
        is_used = true;
        is_needed = !is_only_correction[place(user)] && (!corrects(user) || joined(view, node) == user);
      }
    }
    is_only_correction[i] = is_used && !is_needed;
  }
  const auto serves = [&](const Kernel& kernel) {
    if (!is_conversion(kernel))
      return corrects(kernel.main) || std::all_of(kernel.nodes.begin(), kernel.nodes.end(),
                                                  [&](PlanNode node) { return is_only_correction[place(node)]; });
    const PlanValue value = kernel.read[0];
    if (view.is_output(value)) return false;
    for (std::size_t i = 0; i < view.users(value); ++i)
      if (reads_copy(view, view.user(value, i), value) && !is_only_correction[place(view.user(value, i))]) return false;
    return true;
  };
  Corrections corrections;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (!serves(plan.steps[i].kernel)) continue;
    corrections.steps.push_back(i);
    corrections.cost += plan.steps[i].price;
  }
  return corrections;
}

std::string text_of(const Plan& plan, const WholeGraph& view) {
  std::string text;
  for (const Plan::Step& step : plan.steps) {
    text += fmt::format("{:10.3f} us  {:12}", static_cast<double>(step.price) * 1e-6, name_of(step.kernel.kind));
    if (step.kernel.nodes.empty()) text += " conversion";
    for (const PlanNode node : step.kernel.nodes)
      text += fmt::format(
          " {}", view.op(node) ? ops::name_of(*view.op(node)) : std::string_view(view.node(node).as_opaque()->kind));
    text += '\n';
  }
  return text;
}

}  // namespace taso::cost
