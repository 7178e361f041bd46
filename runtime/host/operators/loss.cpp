// The losses at the end of training graphs.
#include <cmath>

#include "runtime/host/families.h"
#include "runtime/host/loops.h"

namespace taso::runtime {
namespace {

// Log-probabilities [N, C, d…] against classes [N, d…].
template <class T>
Array negative_log_likelihood(const HostCall& call, const Array& scores, const Array& target) {
  require(call, scores.rank() >= 2, "takes scores of rank 2 and more");
  Extents expected = scores.extents();
  expected.erase(expected.begin() + 1);
  require(call, target.extents() == expected, "has a target whose shape does not fit the scores");
  const AxisView view(scores.extents(), 1);
  if (call.has(2)) {
    const Array& weight = call.input(2);
    require(call, weight.type() == scores.type() && weight.rank() == 1 && weight.size() == view.length,
            "takes one weight per class");
  }
  const T* const weights = call.has(2) ? call.input(2).values<T>().data() : nullptr;
  const bool ignores = call.attributes.has("ignore_index");
  const std::int64_t ignored = call.attributes.integer("ignore_index", 0);
  const std::vector<std::int64_t> classes = target.integers();
  const auto from = scores.values<T>();
  Array losses(scores.type(), expected);
  const auto to = losses.mutable_values<T>();
  double sum = 0, weight_sum = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    to[i] = 0;
    if (ignores && classes[i] == ignored) continue;
    require(call, classes[i] >= 0 && classes[i] < view.length, "has a target that is no class");
    const T weight = weights == nullptr ? T{1} : weights[classes[i]];
    const auto position = static_cast<std::int64_t>(i);
    const std::int64_t at = (position / view.inner * view.length + classes[i]) * view.inner + position % view.inner;
    to[i] = -weight * from[static_cast<std::size_t>(at)];
    sum += to[i];
    weight_sum += weight;
  }
  const std::string reduction = call.attributes.text("reduction", "mean");
  if (reduction == "none") return losses;
  if (reduction == "sum") return Array::scalar(static_cast<T>(sum));
  require(call, reduction == "mean", "reduces by none, sum or mean");
  return Array::scalar(static_cast<T>(sum / weight_sum));
}

template <class T>
Array log_softmax(const HostCall& call, const Array& scores) {
  require(call, scores.rank() >= 2, "takes scores of rank 2 and more");
  const AxisView view(scores.extents(), 1);
  Array result(scores.type(), scores.extents());
  const T* const from = scores.values<T>().data();
  T* const to = result.mutable_values<T>().data();
  if (scores.size() == 0) return result;
  for (std::int64_t o = 0; o < view.outer; ++o)
    for (std::int64_t i = 0; i < view.inner; ++i) {
      const std::int64_t start = o * view.length * view.inner + i;
      T largest = from[start];
      for (std::int64_t k = 1; k < view.length; ++k) largest = larger(largest, from[start + k * view.inner]);
      double sum = 0;
      for (std::int64_t k = 0; k < view.length; ++k) sum += std::exp(from[start + k * view.inner] - largest);
      const double logarithm = std::log(sum);
      for (std::int64_t k = 0; k < view.length; ++k)
        to[start + k * view.inner] = static_cast<T>(from[start + k * view.inner] - largest - logarithm);
    }
  return result;
}

void require_classes(const HostCall& call) { require(call, is_integer(call.input(1).type()), "takes integer targets"); }

std::vector<Array> negative_log_likelihood_loss(const HostCall& call) {
  require_classes(call);
  return through_float(call, [](const HostCall& wide) {
    return with_floating(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      return {negative_log_likelihood<decltype(tag)>(wide, wide.input(0), wide.input(1))};
    });
  });
}

std::vector<Array> softmax_cross_entropy_loss(const HostCall& call) {
  require_classes(call);
  return through_float(call, [](const HostCall& wide) {
    return with_floating(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      const Array logarithms = log_softmax<T>(wide, wide.input(0));
      return {negative_log_likelihood<T>(wide, logarithms, wide.input(1)), logarithms};
    });
  });
}

}  // namespace

Family loss() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"NegativeLogLikelihoodLoss", negative_log_likelihood_loss},
      {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_loss},
  };
  return functions;
}

}  // namespace taso::runtime
