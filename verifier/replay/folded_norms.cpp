#include "verifier/replay/folded_norms.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ops/text/operator_text.h"

namespace taso::verifier {
namespace {

/// A convolution that is not modelled, for example because its sizes are unknown.
const Opaque* opaque_conv(const Value& value) {
  const Opaque* opaque = value.node->as_opaque();
  return opaque != nullptr && opaque->body && (opaque->kind == "Conv" || opaque->kind == "ai.onnx.Conv") ? opaque
                                                                                                         : nullptr;
}

/// Whether these are convolutions that differ at most in their operands.
bool convolve_alike(const Value& a, const Value& b) {
  if ((is_a<op::Conv>(a) && is_a<op::Conv>(b)) || (is_a<op::ConvTranspose>(a) && is_a<op::ConvTranspose>(b)))
    return ops::text_of(*a.node->as_operator()) == ops::text_of(*b.node->as_operator());
  const Opaque *first = opaque_conv(a), *second = opaque_conv(b);
  return first != nullptr && second != nullptr && first->body->same(*second->body);
}

/// A product to which a known value is added.
struct Linear {
  Value product;
  Value added;  ///< empty if nothing is added
};

Linear linear(const Value& value, Numbers& numbers) {
  const auto operands = value.node->inputs();
  if ((is_a<op::Conv>(value) || is_a<op::ConvTranspose>(value) || opaque_conv(value) != nullptr) &&
      operands.size() == 3)
    return {value, operands[2]};
  if (is_a<op::Add>(value) && numbers.of(operands[1]) != nullptr) return {operands[0], operands[1]};
  return {value, {}};
}

/// One number per channel; nothing if it has no such contents.
std::optional<std::vector<double>> per_channel(const Value& value, std::size_t channels, Numbers& numbers) {
  if (!value) return std::vector<double>(channels, 0.0);
  const Array* array = numbers.of(value);
  if (array == nullptr || array->rank() == 0 || !is_floating(array->type())) return std::nullopt;
  std::vector<double> found = array->doubles();
  if (found.size() != channels || array->extents().back() != static_cast<std::int64_t>(channels)) return std::nullopt;
  return found;
}

}  // namespace

bool is_normalised(const Value& expected, const Value& actual, Numbers& numbers, OpenPairs& open) {
  std::vector<const Node*> norms;  // in sequence: the last is nearest to the product
  Value normalised = expected;
  for (; is_a<op::BatchNorm>(normalised); normalised = normalised.node->inputs()[0]) norms.push_back(normalised.node);
  Linear old = linear(normalised, numbers), now = linear(actual, numbers);
  const Value old_added = old.added, new_added = now.added;
  while (is_a<op::ScalarMul>(old.product) && is_a<op::ScalarMul>(now.product)) {
    const Array* a = numbers.of(old.product.node->inputs()[1]);
    const Array* b = numbers.of(now.product.node->inputs()[1]);
    if (a == nullptr || b == nullptr || !identical(*a, *b)) return false;
    old = {old.product.node->inputs()[0], {}};
    now = {now.product.node->inputs()[0], {}};
  }
  const bool convolves = convolve_alike(old.product, now.product);
  if (!convolves) {
    if (!is_a<op::MatMul>(old.product) || !is_a<op::MatMul>(now.product)) return false;
    if (ops::text_of(*old.product.node->as_operator()) != ops::text_of(*now.product.node->as_operator())) return false;
  }

  const Array* weight = numbers.of(old.product.node->inputs()[1]);
  const Array* folded = numbers.of(now.product.node->inputs()[1]);
  if (weight == nullptr || folded == nullptr || weight->type() != folded->type() ||
      weight->extents() != folded->extents() || weight->rank() < 2 || !is_floating(weight->type()))
    return false;
  // A transposed convolution has the channels of one group along axis 1, and its groups along axis 0.
  const bool is_transposed = is_a<op::ConvTranspose>(old.product);
  const std::size_t axis = is_transposed ? 1 : convolves ? 0 : weight->rank() - 1;
  const auto groups = static_cast<std::size_t>(
      is_transposed ? std::get<op::ConvTranspose>(*old.product.node->as_operator()).groups : 1);
  const auto channels = static_cast<std::size_t>(weight->extents()[axis]) * groups;
  const auto bias = per_channel(old_added, channels, numbers), new_bias = per_channel(new_added, channels, numbers);
  if (!bias || !new_bias) return false;
  const std::vector<double> before = weight->doubles(), after = folded->doubles();
  std::vector<long double> factors(channels, 1), shifts(bias->begin(), bias->end());
  std::vector<double> shift_errors(channels, 0);
  for (auto norm = norms.rbegin(); norm != norms.rend(); ++norm) {
    std::vector<std::vector<double>> parameters;
    for (std::size_t i = 1; i < 5; ++i) {
      const auto parameter = per_channel((*norm)->inputs()[i], channels, numbers);
      if (!parameter) return false;
      parameters.push_back(*parameter);
    }
    const double epsilon = std::get<op::BatchNorm>(*(*norm)->as_operator()).epsilon;
    for (std::size_t c = 0; c < channels; ++c) {
      // Computed independently of the fold, in more digits.
      const long double factor =
          static_cast<long double>(parameters[0][c]) / std::sqrt(static_cast<long double>(parameters[3][c]) + epsilon);
      const double size = std::abs(static_cast<double>(factor));
      const double lost = 0x1p-48 * (std::abs(static_cast<double>(shifts[c])) * size +
                                     std::abs(parameters[2][c]) * size + std::abs(parameters[1][c]));
      factors[c] *= factor;
      shifts[c] = (shifts[c] - parameters[2][c]) * factor + parameters[1][c];
      shift_errors[c] = shift_errors[c] * size + rounding(weight->type(), static_cast<double>(shifts[c])) + lost;
    }
  }
  for (std::size_t c = 0; c < channels; ++c)
    if (!(std::abs((*new_bias)[c] - static_cast<double>(shifts[c])) <= shift_errors[c])) return false;
  std::size_t run = 1;  // elements that lie in sequence and belong to one channel
  for (std::size_t i = axis + 1; i < weight->rank(); ++i) run *= static_cast<std::size_t>(weight->extents()[i]);
  const std::size_t own = channels / groups;
  const std::size_t in_group = before.size() / std::max<std::size_t>(groups, 1);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::size_t channel = (is_transposed ? i / in_group * own : 0) + i / run % own;
    const auto exact = static_cast<double>(before[i] * factors[channel]);
    // Each normalisation rounded it once.
    const double allowed = static_cast<double>(norms.size()) * rounding(weight->type(), exact);
    if (!(std::abs(after[i] - exact) <= allowed)) return false;
  }
  open.emplace_back(old.product.node->inputs()[0], now.product.node->inputs()[0]);
  return true;
}

}  // namespace taso::verifier
