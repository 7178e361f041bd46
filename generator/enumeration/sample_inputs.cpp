#include "generator/enumeration/sample_inputs.h"

#include <algorithm>

#include "ops/core/error.h"
#include "ops/core/random.h"

namespace taso::generator {
namespace {

std::string_view name(const Operator& op) { return name_of(op); }

bool is_elementwise_pair(std::string_view op) { return op == "add" || op == "sub" || op == "mul"; }

/// Whether `small` has one number per channel of the image or per filter of the kernel.
bool spreads_over(const Extents& small, const Extents& large) {
  if (small.size() != 4 || large.size() != 4) return false;
  for (std::size_t i = 0; i < 4; ++i)
    if (small[i] != 1 && small[i] != large[i]) return false;
  return true;
}

bool is_joint(std::uint8_t cut) { return cut != 0 && (cut & rows_bit) == 0; }

/// The shape after the reshape; nothing if the reshape is not meant for such a tensor.
std::optional<Extents> reshaped(Fit fit, const Layout& layout, bool is_channels) {
  const Extents& from = layout.extents;
  switch (fit) {
    case Fit::rows_joined:
      if (from.size() != 3) return std::nullopt;
      return Extents{from[0] * from[1], from[2]};
    case Fit::rows_parted: {
      const std::int64_t outer = layout.cuts[0] & ~rows_bit;
      if (from.size() != 2 || (layout.cuts[0] & rows_bit) == 0 || from[0] % outer != 0) return std::nullopt;
      return Extents{outer, from[0] / outer, from[1]};
    }
    case Fit::vector_to_channels:
      if (from.size() != 1) return std::nullopt;
      return Extents{1, from[0], 1, 1};
    case Fit::channels_to_vector:
      if (!is_channels) return std::nullopt;
      return Extents{from[1]};
    case Fit::channels_to_filters:
      if (!is_channels) return std::nullopt;
      return Extents{from[1], 1, 1, 1};
    default: return std::nullopt;
  }
}

/// Negates half of the positive elements: otherwise the maximum of a window would almost always be positive, and relu
/// would seem to change nothing.
void make_mostly_negative(Tensor<Field>& tensor, Random& random) {
  for (Field& element : tensor.data)
    if (element.signed_value() > 0 && random.next() % 2 == 0) element = Field() - element;
}

/// Multiples of 81, so that means over nine elements, taken twice, are integers.
Field small_integer(Random& random, bool is_kernel) {
  const std::int64_t number = static_cast<std::int64_t>(random.next() >> 44) - (std::int64_t{1} << 19);
  return Field(is_kernel ? number : number * 81);
}

}  // namespace

Cuts cuts_of(const Schema& schema, std::span<const Layout> operands, const Extents& result) {
  Cuts cuts{};
  const std::string_view op = name(schema.op);
  if (op == "concat") {
    const auto axis = static_cast<std::size_t>(std::get<op::Concat>(schema.op).axis);
    for (std::size_t i = 0; i < cuts.size(); ++i)
      cuts[i] = operands[0].cuts[i] == operands[1].cuts[i] ? operands[0].cuts[i] : std::uint8_t{0};
    cuts[axis] = static_cast<std::uint8_t>(operands[0].extents[axis]);
  } else if (op == "matmul") {
    const std::size_t rank = result.size();
    for (std::size_t i = 0; i + 1 < rank; ++i) cuts[i] = operands[0].cuts[i];
    cuts[rank - 1] = operands[1].cuts[operands[1].extents.size() - 1];
  } else if (op == "conv") {
    cuts[0] = operands[0].cuts[0];
    cuts[1] = operands[1].cuts[0];
  } else if (op == "transpose") {
    const auto& permutation = std::get<op::Transpose>(schema.op).permutation;
    for (std::size_t i = 0; i < permutation.size(); ++i)
      cuts[i] = operands[0].cuts[static_cast<std::size_t>(permutation[i])];
  } else if (op == "split" || schema.fit == Fit::before_joint || schema.fit == Fit::after_joint) {
    // The parts could be cut again only where they were joined before.
  } else if (op == "average_pool" || op == "max_pool" || op == "enlarge" || op == "pad" || op == "slice") {
    cuts[0] = operands[0].cuts[0];
    cuts[1] = operands[0].cuts[1];
  } else if (op == "reshape") {
    const Extents& extents = operands[0].extents;
    if (schema.fit == Fit::rows_joined) {
      cuts[0] = static_cast<std::uint8_t>(rows_bit | extents[0]);
      cuts[1] = operands[0].cuts[2];
    }
    if (schema.fit == Fit::rows_parted) cuts[2] = operands[0].cuts[1];
    if (schema.fit == Fit::vector_to_channels) cuts[1] = operands[0].cuts[0];
    if (schema.fit == Fit::channels_to_vector || schema.fit == Fit::channels_to_filters) cuts[0] = operands[0].cuts[1];
  } else if (!operands.empty()) {
    cuts = operands[0].cuts;
    if (operands.size() == 2)
      for (std::size_t i = 0; i < cuts.size(); ++i)
        if (cuts[i] == 0) cuts[i] = operands[1].cuts[i];
  }
  return cuts;
}

bool is_zero(std::span<const Field> contents) {
  return std::all_of(contents.begin(), contents.end(), [](const Field& element) { return element == Field(); });
}

bool gives_kernel(const Schema& schema, std::span<const Layout> operands) {
  if (operands.empty()) return name(schema.op).ends_with("_kernel");
  if (operands.size() == 2 && operands[1].is_kernel && is_elementwise_pair(name(schema.op))) return true;
  return operands[0].is_kernel || schema.fit == Fit::channels_to_filters;
}

Fingerprint fingerprint(const Item& item) {
  // Horner's rule at two points of the field that nothing else uses; the shape comes first.
  constexpr std::uint64_t first_point = 0x0f3a5c96e1d24b87u, second_point = 0x1b85d3a7c49e260fu;
  const Field p = Field::from_bits(first_point), q = Field::from_bits(second_point);
  Field high(static_cast<std::int64_t>(item.tensor.extents.size()) + (item.is_kernel ? 8 : 0)), low = high;
  for (const std::int64_t extent : item.tensor.extents) {
    high = high * p + Field(extent);
    low = low * q + Field(extent);
  }
  for (const Field& element : item.tensor.data) {
    high = high * p + element;
    low = low * q + element;
  }
  return {high.bits(), low.bits()};
}

bool needs_order(const Family& family) {
  return std::any_of(family.schemas.begin(), family.schemas.end(),
                     [](const Schema& schema) { return name(schema.op) == "relu" || name(schema.op) == "max_pool"; });
}

SampleInputs::SampleInputs(const Family& family, bool larger, std::uint64_t seed, Contents contents)
    : family_(family), larger_(larger) {
  Random random(seed);
  const bool has_maxima = std::any_of(family.schemas.begin(), family.schemas.end(),
                                      [](const Schema& schema) { return name(schema.op) == "max_pool"; });
  has_channels_ =
      std::any_of(family.inputs.begin(), family.inputs.end(), [](const auto& kind) { return kind.is_channels(); }) ||
      std::any_of(family.schemas.begin(), family.schemas.end(),
                  [](const Schema& schema) { return schema.fit == Fit::vector_to_channels; });
  for (std::size_t kind = 0; kind < family.inputs.size(); ++kind)
    for (std::size_t i = 0; i < family.inputs[kind].count; ++i) {
      Item item;
      item.tensor = Tensor<Field>(larger ? family.inputs[kind].larger : family.inputs[kind].extents, Field());
      for (Field& element : item.tensor.data)
        element = contents == Contents::field ? Field::from_bits(random.next() >> 3)
                                              : small_integer(random, family.inputs[kind].is_kernel);
      if (has_maxima && !family.inputs[kind].is_kernel) make_mostly_negative(item.tensor, random);
      item.is_kernel = family.inputs[kind].is_kernel;
      for (std::size_t axis = 0; axis < item.tensor.extents.size(); ++axis)
        item.cuts[axis] = static_cast<std::uint8_t>(family.inputs[kind].cut);
      inputs_.push_back(std::move(item));
      kinds_.push_back(kind);
    }
}

bool SampleInputs::is_channels(const Layout& layout) const {
  const Extents& extents = layout.extents;
  return has_channels_ && !layout.is_kernel && extents.size() == 4 && extents[0] == 1 && extents[2] == 1 &&
         extents[3] == 1;
}

std::optional<Operator> SampleInputs::concrete(const Schema& schema, std::span<const Layout> operands) const {
  const std::string_view op = name(schema.op);
  if (operands.size() != schema.operands) return std::nullopt;
  if (operands.empty()) return constant(schema);
  const Layout& first = operands[0];
  const auto extents = [&](std::size_t i) -> const Extents& { return operands[i].extents; };
  const std::size_t rank = extents(0).size();
  const auto if_fits = [&](bool fits) { return fits ? std::optional(schema.op) : std::nullopt; };
  if (is_elementwise_pair(op)) {
    if (first.is_kernel != operands[1].is_kernel) {
      // One factor per input channel of a kernel
      const Layout &kernel = operands[first.is_kernel ? 0 : 1], &other = operands[first.is_kernel ? 1 : 0];
      return if_fits(op == "mul" && is_channels(other) && spreads_over(other.extents, kernel.extents));
    }
    return if_fits(extents(0) == extents(1) ||
                   (has_channels_ && (spreads_over(extents(1), extents(0)) || spreads_over(extents(0), extents(1)))));
  }
  if (op == "scalar_mul") return if_fits(extents(1).empty() && !extents(0).empty());
  if (op == "conv") return convolution(schema, operands);
  if (op == "matmul") {
    if (rank < 2 || extents(1).size() != (schema.shares_matrix ? 2 : rank) || (schema.shares_matrix && rank < 3))
      return std::nullopt;
    return if_fits(extents(0).back() == extents(1)[extents(1).size() - 2]);
  }
  if (op == "concat") {
    const auto axis = static_cast<std::size_t>(std::get<op::Concat>(schema.op).axis);
    if (first.is_kernel != operands[1].is_kernel || rank != extents(1).size() || axis >= rank || extents(0)[axis] > 8)
      return std::nullopt;
    if (axis != 1 && (is_channels(first) || is_channels(operands[1]))) return std::nullopt;
    for (std::size_t i = 0; i < rank; ++i)
      if (i != axis && extents(0)[i] != extents(1)[i]) return std::nullopt;
    return schema.op;
  }
  if (op == "split" || op == "slice") return part(schema, first);
  if (op == "reshape") {
    const auto shape = reshaped(schema.fit, first, is_channels(first));
    if (!shape) return std::nullopt;
    Operator result = schema.op;
    set_field(result, "shape", *shape);
    return result;
  }
  if (op == "enlarge") {
    const auto& window = std::get<op::Enlarge>(schema.op).kernel;
    return if_fits(first.is_kernel && rank == 4 && extents(0)[2] <= window[0] && extents(0)[3] <= window[1] &&
                   (extents(0)[2] < window[0] || extents(0)[3] < window[1]));
  }
  if (op == "transpose") return if_fits(rank == std::get<op::Transpose>(schema.op).permutation.size());
  if (op == "pad") return if_fits(rank == 4 && !first.is_kernel && !has_grown(extents(0)));
  // Functions of elements and of windows: of tensors, not of kernels, scalars and the like.
  if (first.is_kernel || rank < 2 || is_channels(first)) return std::nullopt;
  return if_fits(rank == 4 || (op != "average_pool" && op != "max_pool"));
}

bool SampleInputs::has_grown(const Extents& extents) const {
  const InputKind& kind = family_.inputs[0];
  const Extents& least = larger_ ? kind.larger : kind.extents;
  for (std::size_t i = 2; i < extents.size(); ++i)
    if (extents[i] > least[i]) return true;
  return false;
}

Operator SampleInputs::constant(const Schema& schema) const {
  const std::string_view op = name(schema.op);
  Operator result = schema.op;
  const Extents& shape = larger_ ? schema.larger_constant : schema.constant;
  if (op == "identity_matrix") set_field(result, "size", shape[0]);
  if (op == "ones") set_field(result, "shape", shape);
  if (op == "identity_kernel" || op == "pooling_kernel") {
    set_field(result, "channels", shape[0]);
    set_field(result, "groups", shape[0] / shape[1]);
  }
  return result;
}

std::optional<Operator> SampleInputs::convolution(const Schema& schema, std::span<const Layout> operands) const {
  const Extents &x = operands[0].extents, &w = operands[1].extents;
  if (x.size() != 4 || w.size() != 4 || operands[0].is_kernel || !operands[1].is_kernel) return std::nullopt;
  if (w[2] != schema.window[0] || w[3] != schema.window[1] || x[1] % w[1] != 0) return std::nullopt;
  if (is_channels(operands[0])) return std::nullopt;
  const std::int64_t groups = x[1] / w[1];
  // Grouped: as many filters as channels. Otherwise the groups of two convolutions would match only by chance.
  if ((groups != 1) != schema.grouped || (groups != 1 && w[0] != x[1])) return std::nullopt;
  if (operands.size() == 3 && operands[2].extents != Extents{w[0]}) return std::nullopt;
  Operator result = schema.op;
  set_field(result, "groups", groups);
  return result;
}

std::optional<Operator> SampleInputs::part(const Schema& schema, const Layout& whole) const {
  Operator result = schema.op;
  const auto fields = fields_of(schema.op);
  const auto axis = static_cast<std::size_t>(std::get<std::int64_t>(fields.front().value));
  if (axis >= whole.extents.size()) return std::nullopt;
  const std::int64_t size = whole.extents[axis], cut = whole.cuts[axis];
  if (schema.fit == Fit::inside) {
    if (whole.is_kernel || size < 3) return std::nullopt;
    set_field(result, "begin", FieldValue(Dim(1)));
    set_field(result, "end", FieldValue(Dim(size - 1)));
    return result;
  }
  if (!is_joint(whole.cuts[axis])) return std::nullopt;
  if (schema.fit == Fit::at_joint) {
    set_field(result, "at", FieldValue(Dim(cut)));
    return result;
  }
  set_field(result, "begin", FieldValue(Dim(schema.fit == Fit::before_joint ? 0 : cut)));
  set_field(result, "end", FieldValue(Dim(schema.fit == Fit::before_joint ? cut : size)));
  return result;
}

}  // namespace taso::generator
