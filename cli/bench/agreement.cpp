#include "cli/bench/agreement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "cli/bench/rounding.h"

namespace taso::cli {
namespace {

/// Allowed error as a multiple of the error by rounding alone. Devices do not round like the reference. They sum in
/// another order, so that other elements cross a threshold, such as one of quantisation. They may truncate instead of
/// rounding to nearest: each number is then off by twice as much, always in one direction, and a difference of products
/// by 2.6 times as much. In TF32 a quantised MobileNet was as far off on a GPU as by rounding alone, YOLOX-nano half as
/// far.
constexpr double most_roundings = 3;

/// All-zero output has error 1 and unrelated output of the same norm about 1.4: errors near that are never excused,
/// however large the error by rounding is.
constexpr double unrelated = 0.5;

std::vector<Array> rounded_reference(const Graph& graph, const std::vector<Array>& inputs, cost::Precision precision,
                                     const runtime::InterpreterOptions& options) {
  std::vector<Array> kept;
  kept.reserve(inputs.size());
  for (const Array& input : inputs) kept.push_back(rounded(input, precision));
  return runtime::interpret(with_rounded_products(graph, precision), kept, options);
}

bool is_excused(double error, double rounding_error) {
  return std::isfinite(rounding_error) && error < unrelated && error <= most_roundings * rounding_error;
}

}  // namespace

double relative_error(const Array& expected, const Array& actual) {
  const std::vector<double> x = expected.doubles(), y = actual.doubles();
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is_same = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    if (!is_same) error += (x[i] - y[i]) * (x[i] - y[i]);
    if (std::isfinite(x[i])) norm += x[i] * x[i];
  }
  if (!std::isfinite(error)) return std::numeric_limits<double>::infinity();
  return error == 0 ? 0 : std::sqrt(error / std::max(norm, 1e-30));
}

double tolerance_of(cost::Precision precision) {
  switch (precision) {
    case cost::Precision::fp32: return 1e-4;
    case cost::Precision::tf32: return 1e-2;
    case cost::Precision::fp16: return 3e-2;
    case cost::Precision::bf16: break;
  }
  return 1e-1;
}

bool is_rounding_as_far(const Agreement& agreement) {
  return !agreement.agrees && agreement.rounding_error &&
         (!std::isfinite(*agreement.rounding_error) || agreement.error <= most_roundings * *agreement.rounding_error);
}

Agreement agreement_of(const Graph& graph, const std::vector<Array>& inputs, const std::vector<Array>& outputs,
                       cost::Precision precision, const runtime::InterpreterOptions& options) {
  const std::vector<Array> expected = runtime::interpret(graph, inputs, options);
  check(outputs.size() == expected.size(), "the number of outputs is that of the program");
  std::vector<Array> by_rounding;
  Agreement worst;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    Agreement one;
    one.error = relative_error(expected[i], outputs[i]);
    one.agrees = one.error <= tolerance_of(precision);
    if (!one.agrees && precision != cost::Precision::fp32) {
      if (by_rounding.empty()) by_rounding = rounded_reference(graph, inputs, precision, options);
      one.rounding_error = relative_error(expected[i], by_rounding[i]);
      one.agrees = is_excused(one.error, *one.rounding_error);
    }
    if (std::tuple(!one.agrees, one.error) > std::tuple(!worst.agrees, worst.error)) worst = one;
  }
  return worst;
}

}  // namespace taso::cli
