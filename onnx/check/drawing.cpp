#include "onnx/check/drawing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <span>
#include <vector>

namespace taso::onnx {
namespace {

/// One in this many elements is special, and at least one in every tensor.
constexpr std::size_t elements_per_special = 64;

double largest_of(ElementType type) {
  switch (type) {
    case ElementType::float16: return 65504;
    case ElementType::float64: return std::numeric_limits<double>::max();
    default: return static_cast<double>(std::numeric_limits<float>::max());
  }
}

double least_of(ElementType type) {
  switch (type) {
    case ElementType::float16: return std::ldexp(1.0, -24);
    case ElementType::bfloat16: return std::ldexp(1.0, -133);
    case ElementType::float64: return std::numeric_limits<double>::denorm_min();
    default: return static_cast<double>(std::numeric_limits<float>::denorm_min());
  }
}

std::vector<double> specials_of(ElementType type, Draw draw) {
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double huge = largest_of(type) / 4, tiny = least_of(type);
  switch (draw) {
    case Draw::with_nan: return {nan};
    case Draw::with_infinity: return {infinity};
    case Draw::with_minus_infinity: return {-infinity};
    case Draw::with_huge: return {huge, -huge};
    case Draw::with_tiny: return {tiny, 0.0, -tiny, -0.0};
    case Draw::with_all: return {nan, infinity, huge, tiny, -infinity, -huge, 0.0, -tiny, -0.0};
    default: return {};
  }
}

double shaped(double normal, ElementType type, Draw draw) {
  switch (draw) {
    case Draw::positive: return 1 + std::abs(normal);
    case Draw::between_0_and_1: return 0.1 + 0.8 * std::abs(normal) / (1 + std::abs(normal));
    case Draw::small: return normal / 16;
    case Draw::large: return normal * (type == ElementType::float16 ? 32 : 1e4);
    default: return normal;
  }
}

void add_specials(std::span<double> values, ElementType type, Draw draw, std::mt19937_64& random) {
  const std::vector<double> specials = specials_of(type, draw);
  if (specials.empty() || values.empty()) return;
  const std::size_t count = std::max<std::size_t>(1, values.size() / elements_per_special);
  for (std::size_t i = 0; i < count; ++i) values[random() % values.size()] = specials[i % specials.size()];
}

}  // namespace

Array draw_array(const Type& type, const Extents& extents, std::int64_t range, std::uint64_t seed, Draw draw) {
  std::mt19937_64 random(seed);
  if (is_floating(type.element)) {
    std::normal_distribution<double> normal;
    Array values(ElementType::float64, extents);
    for (double& value : values.mutable_values<double>()) value = shaped(normal(random), type.element, draw);
    add_specials(values.mutable_values<double>(), type.element, draw, random);
    return values.cast(type.element);
  }
  Array values(ElementType::int64, extents);
  const auto top = static_cast<std::uint64_t>(std::max<std::int64_t>(range, 1));
  for (std::int64_t& value : values.mutable_values<std::int64_t>()) value = static_cast<std::int64_t>(random() % top);
  return values.cast(type.element);
}

std::int64_t index_range(const Graph& graph, const Value& input) {
  static constexpr std::int64_t otherwise = 2;
  std::set<const Node*> reached{input.node};
  std::int64_t range = std::numeric_limits<std::int64_t>::max();
  for (const Node* node : graph.nodes()) {
    const auto operands = node->inputs();
    const Opaque* opaque = node->as_opaque();
    const bool gathers = opaque != nullptr && (opaque->kind == "Gather" || opaque->kind == "GatherElements");
    if (gathers && operands.size() > 1 && operands[1] && reached.contains(operands[1].node)) {
      if (operands[0].type().shape)
        for (const Dim& dim : *operands[0].type().shape) range = std::min(range, dim.known().value_or(otherwise));
      continue;
    }
    // An index passes through operators that only move or convert it.
    const bool passes = (opaque != nullptr && opaque->kind == "Cast") ||
                        (node->as_operator() != nullptr && std::holds_alternative<op::Reshape>(*node->as_operator()));
    if (passes && !operands.empty() && reached.contains(operands[0].node)) reached.insert(node);
  }
  return range == std::numeric_limits<std::int64_t>::max() ? otherwise : range;
}

std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace taso::onnx
