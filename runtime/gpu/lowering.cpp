// Turns a call into launches.
#include <algorithm>

#include "ops/core/error.h"
#include "runtime/gpu/attention_parts.h"
#include "runtime/gpu/functions/source.h"
#include "runtime/gpu/kernels/source.h"
#include "runtime/gpu/launch.h"
#include "runtime/gpu/packed_operands.h"
#include "runtime/gpu/patches.h"

namespace taso::gpu {
namespace {

/// Convolutions with at most this many channels per group gain little from matrix products.
constexpr std::int64_t few_channels = 32;

/// From so many on, a product of a library and another kernel behind it may be faster than one kernel of ours.
constexpr double many_operations = 1e9;

std::int64_t bytes_of(const cost::Call::Operand& operand) {
  std::int64_t last = 0;  // the offset of the last element
  for (std::size_t i = 0; i < operand.extents.size(); ++i) last += (operand.extents[i] - 1) * operand.strides[i];
  return (last + 1) * static_cast<std::int64_t>(size_of(operand.element));
}

LaunchTensor tensor(const cost::Call::Operand& operand, Argument memory) {
  return {memory, operand.element, operand.extents, operand.strides};
}

/// The same tensor with leading axes of extent 1, up to this rank.
LaunchTensor with_rank(LaunchTensor tensor, std::size_t rank) {
  while (tensor.extents.size() < rank) {
    std::int64_t stride = 1;
    for (std::size_t i = 0; i < tensor.extents.size(); ++i)
      stride = std::max(stride, tensor.strides[i] * tensor.extents[i]);
    tensor.extents.insert(tensor.extents.begin(), 1);
    tensor.strides.insert(tensor.strides.begin(), stride);
  }
  return tensor;
}

/// A convolution or matmul and the steps applied to its result, often a chain.
class Product {
 public:
  explicit Product(const cost::Call& call) : call_(call), main_(call.steps[call.main]) {
    check(call.main == 0, "nothing comes before a product");
    chain_.assign(call.steps.begin() + 1, call.steps.end());
    if (!chain_.empty() && std::holds_alternative<op::Transpose>(chain_.back().op)) {
      transpose_ = std::get<op::Transpose>(chain_.back().op).permutation;
      chain_.pop_back();
    }
    result_ = call.written[0];
    if (transpose_.empty()) return;
    // The result before the transpose.
    for (std::size_t i = 0; i < transpose_.size(); ++i) {
      result_.extents[static_cast<std::size_t>(transpose_[i])] = call.written[0].extents[i];
      result_.strides[static_cast<std::size_t>(transpose_[i])] = call.written[0].strides[i];
    }
  }

  const cost::Call::Step& main() const { return main_; }
  const cost::Call::Operand& result() const { return result_; }
  /// The product alone, in scratch memory.
  cost::Call::Operand between() const {
    cost::Call::Operand product = without_gaps(result_);
    product.is_weight = false;
    return product;
  }
  LaunchTensor read(std::size_t operand) const {
    const std::uint32_t number = main_.operands[operand];
    return tensor(call_.read[number], {Argument::Place::read, number, 0});
  }
  bool has_epilogue() const { return !chain_.empty(); }

  /// The chain as an epilogue for a library; nothing if it cannot be expressed.
  std::optional<std::vector<Pointwise>> epilogue() const {
    std::vector<Pointwise> steps;
    std::uint32_t value = main_.first_result;
    for (const cost::Call::Step& step : chain_) {
      if (std::find(step.operands.begin(), step.operands.end(), value) == step.operands.end()) return std::nullopt;
      std::optional<Pointwise> next = pointwise(step, value);
      if (!next) return std::nullopt;
      steps.push_back(std::move(*next));
      value = step.first_result;
    }
    return steps;
  }

  /// The call that applies the chain to the product, which is its first operand.
  cost::Call rest() const {
    cost::Call rest;
    rest.kind = cost::Kernel::Kind::element_wise;
    rest.read.push_back(between());
    std::vector<std::uint32_t> number(first_free(), 0);
    for (const cost::Call::Step& step : chain_)
      for (const std::uint32_t operand : step.operands)
        if (operand < call_.read.size() && number[operand] == 0) {
          number[operand] = static_cast<std::uint32_t>(rest.read.size());
          rest.read.push_back(call_.read[operand]);
        }
    auto next = static_cast<std::uint32_t>(rest.read.size());
    for (const cost::Call::Step& step : chain_) {
      cost::Call::Step again{step.op, {}, next};
      for (const std::uint32_t operand : step.operands) again.operands.push_back(number[operand]);
      number[step.first_result] = next++;
      rest.steps.push_back(std::move(again));
    }
    rest.written = {result_};
    rest.results = {next - 1};
    return rest;
  }
  /// The arguments for the operands of `rest().read`.
  std::vector<Argument> arguments_of_rest() const {
    std::vector<Argument> arguments{{Argument::Place::scratch, 0, 0}};
    std::vector<bool> known(call_.read.size(), false);
    for (const cost::Call::Step& step : chain_)
      for (const std::uint32_t operand : step.operands)
        if (operand < call_.read.size() && !known[operand]) {
          known[operand] = true;
          arguments.push_back({Argument::Place::read, operand, 0});
        }
    return arguments;
  }

 private:
  std::size_t first_free() const {
    std::size_t most = call_.read.size();
    for (const cost::Call::Step& step : call_.steps) most = std::max<std::size_t>(most, step.first_result + 1);
    return most;
  }

  std::optional<Pointwise> pointwise(const cost::Call::Step& step, std::uint32_t value) const {
    using Mode = Pointwise::Mode;
    const auto alone = [](Mode mode, double low = 0, double high = 0) {
      return Pointwise{mode, std::nullopt, false, low, high};
    };
    const auto with_operand = [&](Mode mode) -> std::optional<Pointwise> {
      const bool first = step.operands[0] != value;
      const std::uint32_t number = first ? step.operands[0] : step.operands[1];
      if (number >= call_.read.size()) return std::nullopt;  // the value twice, or an earlier value
      const cost::Call::Operand& operand = call_.read[number];
      if (operand.extents.size() > result_.extents.size()) return std::nullopt;
      return Pointwise{mode, with_rank(tensor(operand, {Argument::Place::read, number, 0}), result_.extents.size()),
                       first, 0, 0};
    };
    return std::visit(
        [&]<class T>(const T& op) -> std::optional<Pointwise> {
          using namespace op;
          if constexpr (std::is_same_v<T, ScalarMul>)
            return with_operand(Mode::mul);
          else if constexpr (std::is_same_v<T, Add>)
            return with_operand(Mode::add);
          else if constexpr (std::is_same_v<T, Sub>)
            return with_operand(Mode::sub);
          else if constexpr (std::is_same_v<T, Mul>)
            return with_operand(Mode::mul);
          else if constexpr (std::is_same_v<T, Div>)
            return with_operand(Mode::div);
          else if constexpr (std::is_same_v<T, Max>)
            return with_operand(Mode::max);
          else if constexpr (std::is_same_v<T, Min>)
            return with_operand(Mode::min);
          else if constexpr (std::is_same_v<T, Relu>)
            return alone(Mode::relu);
          else if constexpr (std::is_same_v<T, Clip>)
            return alone(Mode::clip, op.low, op.high);
          else if constexpr (std::is_same_v<T, LeakyRelu>)
            return alone(Mode::leaky_relu, op.alpha);
          else if constexpr (std::is_same_v<T, Sigmoid>)
            return alone(Mode::sigmoid);
          else if constexpr (std::is_same_v<T, Tanh>)
            return alone(Mode::tanh);
          else if constexpr (std::is_same_v<T, Gelu>)
            return alone(op.tanh ? Mode::gelu_tanh : Mode::gelu);
          else if constexpr (std::is_same_v<T, Exp>)
            return alone(Mode::exp);
          else if constexpr (std::is_same_v<T, Erf>)
            return alone(Mode::erf);
          else if constexpr (std::is_same_v<T, Sqrt>)
            return alone(Mode::sqrt);
          else
            return std::nullopt;
        },
        step.op);
  }

  const cost::Call& call_;
  const cost::Call::Step& main_;
  std::vector<cost::Call::Step> chain_;
  std::vector<std::int64_t> transpose_;
  cost::Call::Operand result_;
};

ConvolutionLaunch convolution(const cost::Call& call, const Product& product) {
  const auto& conv = std::get<op::Conv>(product.main().op);
  ConvolutionLaunch launch;
  launch.x = product.read(0);
  launch.w = product.read(1);
  launch.y = tensor(product.result(), {Argument::Place::written, 0, 0});
  launch.strides = conv.strides;
  launch.dilations = conv.dilations;
  const auto half = static_cast<std::ptrdiff_t>(conv.pads.size() / 2);
  launch.pads_before.assign(conv.pads.begin(), conv.pads.begin() + half);
  launch.pads_after.assign(conv.pads.begin() + half, conv.pads.end());
  launch.groups = conv.groups;
  launch.is_tf32 = call.precision == cost::Precision::tf32;
  if (product.main().operands.size() > 2) {
    LaunchTensor bias = product.read(2);
    const std::int64_t channels = bias.extents[0];
    bias.extents = Extents(launch.y.extents.size(), 1);
    bias.extents[1] = channels;
    const bool last = launch.y.extents.size() > 2 && launch.y.strides[1] == 1;
    bias.strides = cost::packed(bias.extents, last ? cost::Layout::channels_last : cost::Layout::channels_first);
    launch.epilogue.push_back({Pointwise::Mode::add, std::move(bias), false, 0, 0});
  }
  return launch;
}

MatmulLaunch matmul(const cost::Call& call, const Product& product) {
  MatmulLaunch launch;
  launch.y = tensor(product.result(), {Argument::Place::written, 0, 0});
  launch.is_tf32 = call.precision == cost::Precision::tf32;
  const std::size_t rank = launch.y.extents.size();
  const auto stretched = [&](LaunchTensor factor) {
    factor = with_rank(std::move(factor), rank);
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      if (factor.extents[i] == launch.y.extents[i]) continue;
      factor.extents[i] = launch.y.extents[i];
      factor.strides[i] = 0;
    }
    return factor;
  };
  launch.a = stretched(product.read(0));
  launch.b = stretched(product.read(1));
  return launch;
}

/// Merges batches into rows if the right factor is the same for all: the left factors and the results can be stacked.
void merge_batches(MatmulLaunch& launch) {
  const auto merge = [&](std::size_t axis) {  // the axis with the rows
    const std::int64_t extent = launch.y.extents[axis];
    const auto below = [&](const LaunchTensor& t) {
      return extent == 1 || t.extents[axis + 1] == 1 || t.strides[axis] == t.strides[axis + 1] * t.extents[axis + 1];
    };
    if (launch.b.extents[axis] != 1 && launch.b.strides[axis] != 0) return false;
    if (!below(launch.a) || !below(launch.y)) return false;
    for (const Pointwise& step : launch.epilogue) {
      if (!step.operand) continue;
      const LaunchTensor& t = *step.operand;
      const bool is_row = t.extents[axis] == 1 && t.extents[axis + 1] == 1;
      if (!is_row && (t.extents[axis] != extent || t.extents[axis + 1] != launch.y.extents[axis + 1] || !below(t)))
        return false;
    }
    return true;
  };
  const auto join = [](LaunchTensor& t, std::size_t axis) {
    if (t.extents[axis + 1] == 1) t.strides[axis + 1] = t.strides[axis];
    t.extents[axis + 1] *= t.extents[axis];
    t.extents.erase(t.extents.begin() + static_cast<std::ptrdiff_t>(axis));
    t.strides.erase(t.strides.begin() + static_cast<std::ptrdiff_t>(axis));
  };
  while (launch.y.extents.size() > 2) {
    const std::size_t axis = launch.y.extents.size() - 3;
    if (!merge(axis)) return;
    launch.b.extents.erase(launch.b.extents.begin() + static_cast<std::ptrdiff_t>(axis));
    launch.b.strides.erase(launch.b.strides.begin() + static_cast<std::ptrdiff_t>(axis));
    join(launch.a, axis);
    join(launch.y, axis);
    for (Pointwise& step : launch.epilogue)
      if (step.operand) join(*step.operand, axis);
  }
}

void add_own_products(const cost::Call& call, std::vector<Lowering>& ways) {
  for (auto& [name, launch] : row_product_sources(call)) ways.push_back({name, {std::move(launch)}, 0});
  for (auto& [name, launch] : tensor_product_sources(call)) ways.push_back({name, {std::move(launch)}, 0});
}

/// The kernel that applies the chain to the product in scratch memory.
SourceLaunch rest_of(const Product& product) {
  SourceLaunch launch = element_wise_source(product.rest());
  const std::vector<Argument> read = product.arguments_of_rest();
  for (Argument& argument : launch.arguments)
    if (argument.place == Argument::Place::read) {
      const std::int64_t offset = argument.offset;
      argument = read[argument.index];
      argument.offset += offset;
    }
  return launch;
}

double operations_of(const MatmulLaunch& launch) {
  return 2 * static_cast<double>(ops::count(launch.y.extents) * launch.a.extents.back());
}
double operations_of(const ConvolutionLaunch& launch) {
  return 2 * static_cast<double>(ops::count(launch.y.extents) * ops::count(launch.w.extents) / launch.w.extents[0]);
}

template <class L>
void add_ways(const Product& product, L plain, std::vector<Lowering>& ways) {
  const auto finish = [](L launch) {
    if constexpr (std::is_same_v<L, MatmulLaunch>) merge_batches(launch);
    return launch;
  };
  if (const auto epilogue = product.epilogue()) {
    L fused = plain;
    fused.epilogue.insert(fused.epilogue.end(), epilogue->begin(), epilogue->end());
    ways.push_back({product.has_epilogue() ? "fused" : "plain", {finish(std::move(fused))}, 0});
  }
  if (!product.has_epilogue()) return;
  Lowering way{"apart", {}, bytes_of(product.between()), operations_of(plain) < many_operations};
  plain.y = tensor(product.between(), {Argument::Place::scratch, 0, 0});
  way.launches.emplace_back(finish(std::move(plain)));
  way.launches.emplace_back(rest_of(product));
  ways.push_back(std::move(way));
}

}  // namespace

bool is_own(const Lowering& lowering) {
  return std::all_of(lowering.launches.begin(), lowering.launches.end(),
                     [](const Launch& launch) { return std::holds_alternative<SourceLaunch>(launch); });
}

std::vector<Lowering> lowerings(const cost::Call& call) {
  if (call.function && call.function->what.family != cost::DeviceFunction::Family::element) {
    std::vector<SourceLaunch> launches = function_sources(call);
    return {{"own", {launches.begin(), launches.end()}, scratch_bytes_of_function(call)}};
  }
  std::vector<Lowering> ways;
  switch (call.kind) {
    case cost::Kernel::Kind::convolution: {
      const auto of_libraries = [](const cost::Call& same) {
        std::vector<Lowering> list;
        const Product product(same);
        add_ways(product, convolution(same, product), list);
        return list;
      };
      ways = of_libraries(call);
      const Product product(call);
      for (Lowering& way : through_copies(call, product.main().operands[0], of_libraries))
        ways.push_back(std::move(way));
      const auto& conv = std::get<op::Conv>(product.main().op);
      const std::int64_t channels = call.read[product.main().operands[1]].extents[1];
      if (conv.groups > 1 && channels <= few_channels && conv.strides.size() == 2)
        ways.push_back({"direct", {direct_convolution_source(call)}, 0});
      for (auto& [name, launch] : depthwise_convolution_sources(call)) ways.push_back({name, {std::move(launch)}, 0});
      add_own_products(call, ways);
      for (Lowering& way : through_patches(call, lowerings)) ways.push_back(std::move(way));
      break;
    }
    case cost::Kernel::Kind::matmul: {
      const Product product(call);
      add_ways(product, matmul(call, product), ways);
      add_own_products(call, ways);
      for (Lowering& way : through_dense_batches(call, lowerings)) ways.push_back(std::move(way));
      break;
    }
    case cost::Kernel::Kind::attention: {
      const auto in_parts = [](const cost::Call& same) { return attention_in_parts(same, lowerings); };
      for (auto& [name, launch] : attention_sources(call)) ways.push_back({name, {std::move(launch)}, 0});
      for (Lowering& way : in_parts(call)) ways.push_back(std::move(way));
      for (Lowering& way : through_dense_batches(call, in_parts)) ways.push_back(std::move(way));
      break;
    }
    case cost::Kernel::Kind::element_wise: ways.push_back({"own", {element_wise_source(call)}, 0}); break;
    case cost::Kernel::Kind::rows: ways.push_back({"own", {rows_source(call)}, 0}); break;
    case cost::Kernel::Kind::pooling: ways.push_back({"own", {pooling_source(call)}, 0}); break;
    case cost::Kernel::Kind::copy:
      ways.push_back({"own", {call.gather_axis ? gather_source(call) : copy_source(call)}, 0});
      break;
    case cost::Kernel::Kind::opaque: throw InputError("an opaque operator has no kernel");
  }
  check(!ways.empty(), "every call can be done");
  return ways;
}

}  // namespace taso::gpu
