#include "generator/world.h"

#include <algorithm>

#include "ops/error.h"
#include "ops/random.h"

namespace taso {
namespace {

std::string_view name(const Operator& op) { return name_of(op); }

bool is_elementwise_pair(std::string_view op) { return op == "add" || op == "sub" || op == "mul"; }

/// One number for each channel of the other.
bool is_per_channel(const Extents& small, const Extents& large) {
  return small.size() == 4 && large.size() == 4 && small[0] == 1 && small[2] == 1 && small[3] == 1 &&
         small[1] == large[1];
}

}  // namespace

Cuts cuts_of(const Schema& schema, std::span<const Item* const> operands, const Extents& result) {
  Cuts cuts{};
  const std::string_view op = name(schema.op);
  if (op == "concat") {
    const auto axis = static_cast<std::size_t>(std::get<op::Concat>(schema.op).axis);
    for (std::size_t i = 0; i < cuts.size(); ++i)
      cuts[i] = operands[0]->cuts[i] == operands[1]->cuts[i] ? operands[0]->cuts[i] : std::uint8_t{0};
    cuts[axis] = static_cast<std::uint8_t>(operands[0]->tensor.extents[axis]);
  } else if (op == "matmul") {
    const std::size_t rank = result.size();
    for (std::size_t i = 0; i + 2 < rank; ++i) cuts[i] = operands[0]->cuts[i];
    cuts[rank - 2] = operands[0]->cuts[rank - 2];
    cuts[rank - 1] = operands[1]->cuts[rank - 1];
  } else if (op == "conv") {
    cuts[0] = operands[0]->cuts[0];
    cuts[1] = operands[1]->cuts[0];
  } else if (op == "transpose") {
    const auto& permutation = std::get<op::Transpose>(schema.op).permutation;
    for (std::size_t i = 0; i < permutation.size(); ++i)
      cuts[i] = operands[0]->cuts[static_cast<std::size_t>(permutation[i])];
  } else if (op == "split") {
    // The parts could be cut again only where they were joined before.
  } else if (op == "average_pool" || op == "max_pool" || op == "enlarge") {
    cuts[0] = operands[0]->cuts[0];
    cuts[1] = operands[0]->cuts[1];
  } else if (!operands.empty()) {
    cuts = operands[0]->cuts;
    if (operands.size() == 2)
      for (std::size_t i = 0; i < cuts.size(); ++i)
        if (cuts[i] == 0) cuts[i] = operands[1]->cuts[i];
  }
  return cuts;
}

bool gives_kernel(const Schema& schema, std::span<const Item* const> operands) {
  return operands.empty() ? name(schema.op).ends_with("_kernel") : operands[0]->is_kernel;
}

Fingerprint fingerprint(const Item& item) {
  // Horner's rule at two points of the field that nobody else uses; the shape comes first.
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

World::World(const Family& family, bool larger, std::uint64_t seed) : family_(family), larger_(larger) {
  Random random(seed);
  for (std::size_t kind = 0; kind < family.inputs.size(); ++kind)
    for (std::size_t i = 0; i < family.inputs[kind].count; ++i) {
      Item item;
      item.tensor = Tensor<Field>(larger ? family.inputs[kind].larger : family.inputs[kind].extents, Field());
      for (Field& element : item.tensor.data) element = Field::from_bits(random.next() >> 3);
      item.is_kernel = family.inputs[kind].is_kernel;
      inputs_.push_back(std::move(item));
      kinds_.push_back(kind);
    }
}

std::optional<Operator> World::concrete(const Schema& schema, std::span<const Item* const> operands) const {
  const std::string_view op = name(schema.op);
  if (operands.size() != schema.operands) return std::nullopt;
  const auto extents = [&](std::size_t i) -> const Extents& { return operands[i]->tensor.extents; };
  if (operands.empty()) {
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
  if (is_elementwise_pair(op)) {
    if (operands[0]->is_kernel != operands[1]->is_kernel) return std::nullopt;
    const bool fits = extents(0) == extents(1) || is_per_channel(extents(1), extents(0));
    return fits ? std::optional(schema.op) : std::nullopt;
  }
  if (op == "scalar_mul") return extents(1).empty() && !extents(0).empty() ? std::optional(schema.op) : std::nullopt;
  if (op == "concat") {
    const auto axis = static_cast<std::size_t>(std::get<op::Concat>(schema.op).axis);
    if (operands[0]->is_kernel != operands[1]->is_kernel || extents(0).size() != extents(1).size() ||
        axis >= extents(0).size() || extents(0)[axis] > 8)
      return std::nullopt;
    for (std::size_t i = 0; i < extents(0).size(); ++i)
      if (i != axis && extents(0)[i] != extents(1)[i]) return std::nullopt;
    return schema.op;
  }
  if (op == "split") {
    const auto axis = static_cast<std::size_t>(std::get<op::Split>(schema.op).axis);
    if (axis >= extents(0).size() || operands[0]->cuts[axis] == 0) return std::nullopt;
    Operator result = schema.op;
    set_field(result, "at", FieldValue(Dim(operands[0]->cuts[axis])));
    return result;
  }
  if (op == "conv") {
    const Extents &x = extents(0), &w = extents(1);
    if (x.size() != 4 || w.size() != 4 || operands[0]->is_kernel || !operands[1]->is_kernel) return std::nullopt;
    if (w[2] != schema.window[0] || w[3] != schema.window[1] || x[1] % w[1] != 0) return std::nullopt;
    const std::int64_t groups = x[1] / w[1];
    if ((groups != 1) != schema.grouped || w[0] % groups != 0) return std::nullopt;
    if (operands.size() == 3 && extents(2) != Extents{w[0]}) return std::nullopt;
    if (x[2] < 1 || x[3] < 1) return std::nullopt;
    Operator result = schema.op;
    set_field(result, "groups", groups);
    return result;
  }
  if (op == "average_pool" || op == "max_pool")
    return extents(0).size() == 4 && !operands[0]->is_kernel ? std::optional(schema.op) : std::nullopt;
  if (op == "enlarge")
    return operands[0]->is_kernel && extents(0).size() == 4 && extents(0)[2] <= 3 && extents(0)[3] <= 3 &&
                   (extents(0)[2] < 3 || extents(0)[3] < 3)
               ? std::optional(schema.op)
               : std::nullopt;
  if (op == "transpose")
    return extents(0).size() == std::get<op::Transpose>(schema.op).permutation.size() ? std::optional(schema.op)
                                                                                      : std::nullopt;
  if (op == "matmul") {
    if (extents(0).size() < 2 || extents(0).size() != extents(1).size()) return std::nullopt;
    return extents(0).back() == extents(1)[extents(1).size() - 2] ? std::optional(schema.op) : std::nullopt;
  }
  // Functions of one element: of tensors, not of kernels and scalars.
  return operands[0]->is_kernel || extents(0).empty() ? std::nullopt : std::optional(schema.op);
}

std::optional<std::vector<Item>> World::apply(const Schema& schema, std::span<const Item* const> operands) const {
  const auto op = concrete(schema, operands);
  if (!op) return std::nullopt;
  std::vector<Tensor<Field>> tensors;
  for (const Item* operand : operands) tensors.push_back(operand->tensor);
  std::vector<Tensor<Field>> results;
  try {
    results = evaluate<Field>(*op, tensors);
  } catch (const ShapeError&) {
    return std::nullopt;
  }
  std::vector<Item> items;
  const bool is_kernel = gives_kernel(schema, operands);
  for (Tensor<Field>& tensor : results) {
    Item item{std::move(tensor), is_kernel, {}};
    item.cuts = cuts_of(schema, operands, item.tensor.extents);
    items.push_back(std::move(item));
  }
  return items;
}

}  // namespace taso
