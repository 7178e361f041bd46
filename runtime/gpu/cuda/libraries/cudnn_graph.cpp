#ifdef TASO_HAS_CUDNN
#include "runtime/gpu/cuda/libraries/cudnn_graph.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/gpu/cuda/libraries/matmul_shape.h"

namespace taso::gpu::cuda {

namespace {

cudnnDataType_t type_of(ElementType element) {
  switch (element) {
    case ElementType::float32: return CUDNN_DATA_FLOAT;
    case ElementType::float64: return CUDNN_DATA_DOUBLE;
    case ElementType::float16: return CUDNN_DATA_HALF;
    case ElementType::bfloat16: return CUDNN_DATA_BFLOAT16;
    default: throw EnvironmentError(fmt::format("cuDNN: products of {} are not supported", name_of(element)));
  }
}

/// The axes, innermost first, in NHWC or NCHW.
std::vector<std::size_t> memory_order(std::size_t rank, bool is_channels_last) {
  std::vector<std::size_t> order;
  if (is_channels_last) order.push_back(1);
  for (std::size_t axis = rank - 1; axis >= 2; --axis) order.push_back(axis);
  if (!is_channels_last) order.push_back(1);
  order.push_back(0);
  return order;
}

/// cuDNN recognises layouts by strides. Strides along axes of 1 have no meaning, so they are set as in a dense tensor
/// of the layout.
cost::Strides told_strides(const Extents& extents, cost::Strides strides, bool is_channels_last) {
  std::int64_t next = 1;
  for (const std::size_t axis : memory_order(extents.size(), is_channels_last)) {
    if (extents[axis] == 1) strides[axis] = next;
    next = strides[axis] * extents[axis];
  }
  return strides;
}

/// Whether engines may misread a tensor with gaps. They load as many bytes at once (at most sixteen) as divide the
/// contiguous extent, whatever the stride to the next one; with gaps, that one may not be aligned for this.
bool may_be_cut_elsewhere(const Extents& extents, const cost::Strides& strides, std::int64_t element_bytes) {
  const auto taken_at_once = [&](std::int64_t elements) {
    return std::gcd(elements * element_bytes, std::int64_t{16});
  };
  std::int64_t side_by_side = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    if (strides[axis] == 1) side_by_side = std::max(side_by_side, extents[axis]);
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    if (extents[axis] > 1 && strides[axis] != 1 && taken_at_once(strides[axis]) < taken_at_once(side_by_side))
      return true;
  return false;
}

cost::Strides dense_strides(const Extents& extents, bool is_channels_last) {
  cost::Strides strides(extents.size());
  std::int64_t next = 1;
  for (const std::size_t axis : memory_order(extents.size(), is_channels_last)) {
    strides[axis] = next;
    next *= extents[axis];
  }
  return strides;
}

/// Nothing if the sizes do not tell.
std::optional<bool> is_channels_last(const LaunchTensor& tensor) {
  if (tensor.extents[1] == 1) return std::nullopt;
  for (std::size_t axis = 2; axis < tensor.extents.size(); ++axis)
    if (tensor.extents[axis] > 1) return tensor.strides[1] < tensor.strides[axis];
  return std::nullopt;
}

/// cuDNN needs at least two spatial dimensions.
LaunchTensor with_height(LaunchTensor tensor) {
  if (tensor.extents.size() != 3) return tensor;
  tensor.extents.insert(tensor.extents.begin() + 2, 1);
  tensor.strides.insert(tensor.strides.begin() + 2, 1);
  return tensor;
}

bool is_binary(Pointwise::Mode mode) { return mode <= Pointwise::Mode::min; }

cudnnPointwiseMode_t mode_of(Pointwise::Mode mode) {
  switch (mode) {
    case Pointwise::Mode::add: return CUDNN_POINTWISE_ADD;
    case Pointwise::Mode::sub: return CUDNN_POINTWISE_SUB;
    case Pointwise::Mode::mul: return CUDNN_POINTWISE_MUL;
    case Pointwise::Mode::div: return CUDNN_POINTWISE_DIV;
    case Pointwise::Mode::max: return CUDNN_POINTWISE_MAX;
    case Pointwise::Mode::min: return CUDNN_POINTWISE_MIN;
    case Pointwise::Mode::relu:
    case Pointwise::Mode::clip:
    case Pointwise::Mode::leaky_relu: return CUDNN_POINTWISE_RELU_FWD;
    case Pointwise::Mode::sigmoid: return CUDNN_POINTWISE_SIGMOID_FWD;
    case Pointwise::Mode::tanh:  // some engines of 9.14 return NaN
      throw EnvironmentError("cuDNN: tanh is not supported");
    case Pointwise::Mode::gelu: return CUDNN_POINTWISE_GELU_FWD;
    case Pointwise::Mode::gelu_tanh: return CUDNN_POINTWISE_GELU_APPROX_TANH_FWD;
    case Pointwise::Mode::exp: return CUDNN_POINTWISE_EXP;
    case Pointwise::Mode::erf: return CUDNN_POINTWISE_ERF;
    case Pointwise::Mode::sqrt: return CUDNN_POINTWISE_SQRT;
    case Pointwise::Mode::scale: return CUDNN_POINTWISE_MUL;
  }
  throw EnvironmentError("cuDNN: unsupported epilogue");
}

bool is_whole(const Pointwise& step, const Extents& extents) {
  return step.operand && step.operand->extents == extents;
}

/// Orders sums as the precompiled engines expect: full-size operands first, then the bias.
std::vector<Pointwise> in_known_order(const std::vector<Pointwise>& epilogue, const Extents& extents) {
  const auto is_sum = [](const Pointwise& step) { return step.mode == Pointwise::Mode::add; };
  std::vector<Pointwise> ordered;
  for (auto begin = epilogue.begin(); begin != epilogue.end();) {
    const auto end = is_sum(*begin) ? std::find_if_not(begin, epilogue.end(), is_sum) : begin + 1;
    for (const bool whole : {true, false})
      for (auto step = begin; step != end; ++step)
        if (is_whole(*step, extents) == whole) ordered.push_back(*step);
    begin = end;
  }
  return ordered;
}

}  // namespace

bool CudnnGraph::takes_nothing_added(const ConvolutionLaunch& launch) {
  const auto& steps = launch.epilogue;
  if (steps.empty() || steps.size() > 2) return false;
  if (steps[0].mode != Pointwise::Mode::add || is_whole(steps[0], launch.y.extents)) return false;
  return steps.size() == 1 || steps[1].mode == Pointwise::Mode::relu;
}

std::int64_t CudnnGraph::add_tensor(const LaunchTensor& given, const Shaped& shaped) {
  if (may_be_cut_elsewhere(shaped.extents, shaped.strides, static_cast<std::int64_t>(size_of(given.element))))
    throw EnvironmentError("cuDNN: unsupported gaps in an operand");
  const auto id = static_cast<std::int64_t>(tensors_.size() + 1);
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type_of(given.element))
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, shaped.extents)
      .set(CUDNN_ATTR_TENSOR_STRIDES, shaped.strides)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, alignments_->of(given.memory))
      .finalize("a tensor");
  tensors_.push_back(std::move(made));
  bound_.push_back({id, given.memory, std::nullopt});
  return id;
}

std::int64_t CudnnGraph::add_virtual(const Shaped& shaped) {
  const auto id = static_cast<std::int64_t>(tensors_.size() + 1);
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, compute_)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, shaped.extents)
      .set(CUDNN_ATTR_TENSOR_STRIDES, shaped.strides)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Alignments::usual)
      .set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true)
      .finalize("a tensor in between");
  tensors_.push_back(std::move(made));
  return id;
}

std::int64_t CudnnGraph::add_number(double value, std::size_t rank) {
  const auto id = static_cast<std::int64_t>(tensors_.size() + 1);
  const std::vector<std::int64_t> ones(rank, 1);
  Descriptor made(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  made.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, ones)
      .set(CUDNN_ATTR_TENSOR_STRIDES, ones)
      .set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, Alignments::usual)
      .set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true)
      .finalize("a number");
  tensors_.push_back(std::move(made));
  bound_.push_back({id, {}, static_cast<float>(value)});
  return id;
}

void CudnnGraph::add_pointwise(const Pointwise& step, std::int64_t value, std::optional<std::int64_t> operand,
                               std::int64_t result, std::optional<double> factor) {
  Descriptor kind(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  kind.set(CUDNN_ATTR_POINTWISE_MODE, mode_of(step.mode)).set(CUDNN_ATTR_POINTWISE_MATH_PREC, compute_);
  if (step.mode == Pointwise::Mode::clip) {
    constexpr double most = std::numeric_limits<float>::max();
    kind.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, std::max(step.low, -most))
        .set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, std::min(step.high, most));
  } else if (step.mode == Pointwise::Mode::leaky_relu) {
    kind.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, step.low);
  }
  kind.finalize("what is done element by element");
  const bool is_swapped = operand && step.is_operand_first;
  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, kind)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensor(is_swapped ? *operand : value))
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensor(result));
  if (operand) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensor(is_swapped ? value : *operand));
  if (factor && compute_ == CUDNN_DATA_DOUBLE) {
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1.0).set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, *factor);
  } else if (factor) {
    operation.set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA1, 1.0F)
        .set(CUDNN_ATTR_OPERATION_POINTWISE_ALPHA2, static_cast<float>(*factor));
  }
  operation.finalize("an operation element by element");
  others_.push_back(std::move(kind));
  operations_.push_back(std::move(operation));
}

void CudnnGraph::add_epilogue(std::int64_t product, const LaunchTensor& y, const Shaped& y_shaped,
                              const std::vector<Pointwise>& epilogue, const std::vector<Shaped>& operands,
                              bool with_nothing_added) {
  Shaped between = y_shaped;  // dense, with axes in the same order
  std::vector<std::size_t> order(between.extents.size());
  for (std::size_t axis = 0; axis < order.size(); ++axis) order[axis] = axis;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return y_shaped.strides[a] < y_shaped.strides[b]; });
  std::int64_t next = 1;
  for (const std::size_t axis : order) {
    between.strides[axis] = next;
    next *= between.extents[axis];
  }
  std::int64_t value = product;
  if (with_nothing_added) {
    const std::int64_t nothing = add_tensor(y, y_shaped), result = add_virtual(between);
    add_pointwise({Pointwise::Mode::add, y, false, 0, 0}, value, nothing, result, 0.0);
    value = result;
  }
  for (std::size_t at = 0; at < epilogue.size(); ++at) {
    const Pointwise& step = epilogue[at];
    std::optional<std::int64_t> operand;
    if (is_binary(step.mode)) {
      check(step.operand.has_value(), "a binary operation has an operand");
      operand = add_tensor(*step.operand, operands[at]);
    } else if (step.mode == Pointwise::Mode::scale) {
      operand = add_number(step.low, y_shaped.extents.size());
    }
    const bool is_last = at + 1 == epilogue.size();
    const std::int64_t result = is_last ? add_tensor(y, y_shaped) : add_virtual(between);
    add_pointwise(step, value, operand, result);
    value = result;
  }
}

void CudnnGraph::finish(cudnnHandle_t handle) {
  graph_ = Descriptor(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph_.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_)
      .set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, handle)
      .finalize("a graph of operations");
}

CudnnGraph::CudnnGraph(cudnnHandle_t handle, const ConvolutionLaunch& launch, const Alignments& alignments,
                       bool with_nothing_added)
    : alignments_(&alignments) {
  const bool is_flat = launch.x.extents.size() == 3;
  const LaunchTensor x = with_height(launch.x), w = with_height(launch.w), y = with_height(launch.y);
  check(x.extents.size() >= 4 && w.extents.size() == x.extents.size(), "the ranks of a convolution agree");
  // Engines assume packed filters, whatever the descriptor says.
  if (!cost::is_packed(w.extents, w.strides, cost::Layout::channels_first) &&
      !cost::is_packed(w.extents, w.strides, cost::Layout::channels_last))
    throw EnvironmentError("cuDNN: the filters are not packed");
  bool last = true;
  for (const LaunchTensor* one : {&w, &y, &x}) last = is_channels_last(*one).value_or(last);
  const auto told = [last](const LaunchTensor& one) {
    return Shaped{one.extents, told_strides(one.extents, one.strides, last)};
  };
  if (x.element == ElementType::float64) compute_ = CUDNN_DATA_DOUBLE;
  is_tf32_ = launch.is_tf32 && x.element == ElementType::float32;
  is_small_ = x.element == ElementType::float16 || x.element == ElementType::bfloat16;

  const auto spatial = [is_flat](std::vector<std::int64_t> list, std::int64_t unit) {
    if (is_flat) list.insert(list.begin(), unit);
    return list;
  };
  Descriptor convolution(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  convolution.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, compute_)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<std::int64_t>(x.extents.size() - 2))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, spatial(launch.strides, 1))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, spatial(launch.dilations, 1))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, spatial(launch.pads_before, 0))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, spatial(launch.pads_after, 0))
      .finalize("a convolution");

  const std::vector<Pointwise> epilogue = in_known_order(launch.epilogue, launch.y.extents);
  std::vector<Shaped> operands;
  for (const Pointwise& step : epilogue) operands.push_back(step.operand ? told(with_height(*step.operand)) : Shaped{});
  const std::int64_t from = add_tensor(x, told(x)), weights = add_tensor(w, told(w));
  const Shaped between{y.extents, dense_strides(y.extents, last)};
  const std::int64_t product = epilogue.empty() ? add_tensor(y, told(y)) : add_virtual(between);
  Descriptor operation(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, convolution)
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, tensor(from))
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, tensor(weights))
      .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, tensor(product));
  if (compute_ == CUDNN_DATA_DOUBLE) {
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0);
  } else {
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1.0F)
        .set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0.0F);
  }
  operation.finalize("the operation of a convolution");
  others_.push_back(std::move(convolution));
  operations_.push_back(std::move(operation));
  add_epilogue(product, y, told(y), epilogue, operands, with_nothing_added);
  finish(handle);
}

CudnnGraph::CudnnGraph(cudnnHandle_t handle, const MatmulLaunch& launch, const Alignments& alignments)
    : alignments_(&alignments) {
  // Engines treat it as a plain relu, and ignore its bounds or slope.
  for (const Pointwise& step : launch.epilogue)
    if (step.mode == Pointwise::Mode::clip || step.mode == Pointwise::Mode::leaky_relu)
      throw EnvironmentError("cuDNN: clip and leaky relu after a matmul are not supported");
  const MatmulShape shape = shape_of(launch);
  if (launch.a.element == ElementType::float64) compute_ = CUDNN_DATA_DOUBLE;
  is_tf32_ = launch.is_tf32 && launch.a.element == ElementType::float32;
  is_small_ = launch.a.element == ElementType::float16 || launch.a.element == ElementType::bfloat16;

  // At least one batch dimension; broadcast operands have extent 1.
  std::vector<MatmulShape::Axis> batches = shape.batches;
  if (batches.empty()) {
    MatmulShape::Axis one;
    one.operands.resize(launch.epilogue.size());
    batches.push_back(one);
  }
  struct Dimension {
    std::int64_t extent, stride;
  };
  const auto shaped = [&](auto stride_of_batch, Dimension rows, Dimension columns) {
    Shaped made;
    std::int64_t next = std::max(rows.extent * rows.stride, columns.extent * columns.stride);
    const auto add = [&](std::int64_t extent, std::int64_t stride) {
      made.extents.push_back(extent);
      made.strides.push_back(extent == 1 ? next : stride);
    };
    for (const MatmulShape::Axis& axis : batches) {
      const std::int64_t stride = stride_of_batch(axis);
      add(stride == 0 ? 1 : axis.extent, stride);
    }
    // An extent of 1 gets the stride of a dense row-major matrix.
    made.extents.push_back(rows.extent);
    made.strides.push_back(rows.extent == 1 ? std::max<std::int64_t>(columns.extent * columns.stride, 1) : rows.stride);
    made.extents.push_back(columns.extent);
    made.strides.push_back(columns.extent == 1 ? 1 : columns.stride);
    return made;
  };
  const auto& rows = shape.rows;
  const auto& columns = shape.columns;
  const Shaped a = shaped([](const auto& axis) { return axis.a; }, {rows.extent, rows.a}, {shape.depth, shape.a_depth});
  const Shaped b =
      shaped([](const auto& axis) { return axis.b; }, {shape.depth, shape.b_depth}, {columns.extent, columns.b});
  const Shaped y = shaped([](const auto& axis) { return axis.y; }, {rows.extent, rows.y}, {columns.extent, columns.y});
  std::vector<Shaped> operands;
  for (std::size_t at = 0; at < launch.epilogue.size(); ++at) {
    operands.push_back(shaped([at](const auto& axis) { return axis.operands[at]; },
                              {rows.operands[at] == 0 ? 1 : rows.extent, rows.operands[at]},
                              {columns.operands[at] == 0 ? 1 : columns.extent, columns.operands[at]}));
  }

  Descriptor kind(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  kind.set(CUDNN_ATTR_MATMUL_COMP_TYPE, compute_).finalize("a product");
  const std::int64_t left = add_tensor(launch.a, a), right = add_tensor(launch.b, b);
  Shaped between = y;
  std::int64_t next = 1;
  for (std::size_t axis = y.extents.size(); axis-- > 0;) {
    between.strides[axis] = next;
    next *= y.extents[axis];
  }
  const std::int64_t product = launch.epilogue.empty() ? add_tensor(launch.y, y) : add_virtual(between);
  Descriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, kind)
      .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, tensor(left))
      .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, tensor(right))
      .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, tensor(product))
      .finalize("the operation of a product");
  others_.push_back(std::move(kind));
  operations_.push_back(std::move(operation));
  add_epilogue(product, launch.y, y, launch.epilogue, operands, false);
  finish(handle);
}

}  // namespace taso::gpu::cuda
#endif
