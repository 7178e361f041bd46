// Activations with parameters, Clip, Dropout at inference, and the softmax family.
#include <cmath>
#include <limits>
#include <numbers>

#include "runtime/host/families.h"
#include "runtime/host/loops.h"

namespace taso::runtime {
namespace {

// `make(tag)` returns the function for an element type.
template <class Make>
std::vector<Array> floating(const HostCall& call, Make make) {
  return through_float(call, [&](const HostCall& wide) {
    return with_floating(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      return {map<T, T>(wide.input(0), make(tag))};
    });
  });
}

std::vector<Array> elu(const HostCall& call) {
  const double alpha = call.attributes.number("alpha", 1);
  return floating(call, [=](auto tag) {
    using T = decltype(tag);
    return [a = static_cast<T>(alpha)](T x) { return x < 0 ? a * std::expm1(x) : x; };
  });
}

std::vector<Array> selu(const HostCall& call) {
  const double alpha = call.attributes.number("alpha", 1.67326319217681884765625);
  const double gamma = call.attributes.number("gamma", 1.05070102214813232421875);
  return floating(call, [=](auto tag) {
    using T = decltype(tag);
    return [a = static_cast<T>(alpha), g = static_cast<T>(gamma)](T x) { return g * (x <= 0 ? a * std::expm1(x) : x); };
  });
}

std::vector<Array> celu(const HostCall& call) {
  const double alpha = call.attributes.number("alpha", 1);
  return floating(call, [=](auto tag) {
    using T = decltype(tag);
    return [a = static_cast<T>(alpha)](T x) {
      return larger(T{0}, x) + smaller(T{0}, static_cast<T>(a * std::expm1(x / a)));
    };
  });
}

std::vector<Array> hard_sigmoid(const HostCall& call) {
  const double alpha = call.attributes.number("alpha", 0.2), beta = call.attributes.number("beta", 0.5);
  return floating(call, [=](auto tag) {
    using T = decltype(tag);
    return
        [a = static_cast<T>(alpha), b = static_cast<T>(beta)](T x) { return larger(T{0}, smaller(T{1}, a * x + b)); };
  });
}

std::vector<Array> swish(const HostCall& call) {
  const double alpha = call.attributes.number("alpha", 1);
  return floating(call, [=](auto tag) {
    using T = decltype(tag);
    return [a = static_cast<T>(alpha)](T x) { return x / (1 + std::exp(-a * x)); };
  });
}

std::vector<Array> gelu(const HostCall& call) {
  const std::string approximate = call.attributes.text("approximate", "none");
  require(call, approximate == "none" || approximate == "tanh", "is exact or approximated by tanh");
  if (approximate == "none")
    return floating(call, [](auto tag) {
      using T = decltype(tag);
      return [](T x) { return x * (1 + std::erf(x / std::numbers::sqrt2_v<T>)) / 2; };
    });
  return floating(call, [](auto tag) {
    using T = decltype(tag);
    return [scale = std::sqrt(2 / std::numbers::pi_v<T>)](T x) {
      return x * (1 + std::tanh(scale * (x + static_cast<T>(0.044715) * x * x * x))) / 2;
    };
  });
}

std::vector<Array> leaky_relu(const HostCall& call) {
  const double alpha = call.attributes.number("alpha", 0.01);
  return floating(call, [=](auto tag) {
    using T = decltype(tag);
    return [a = static_cast<T>(alpha)](T x) { return x < 0 ? a * x : x; };
  });
}

std::vector<Array> thresholded_relu(const HostCall& call) {
  const double alpha = call.attributes.number("alpha", 1);
  return floating(call, [=](auto tag) {
    using T = decltype(tag);
    return [a = static_cast<T>(alpha)](T x) { return x > a ? x : T{0}; };
  });
}

std::vector<Array> shrink(const HostCall& call) {
  const double bias = call.attributes.number("bias", 0), lambda = call.attributes.number("lambd", 0.5);
  return through_float(call, [&](const HostCall& wide) {
    const Array& in = wide.input(0);
    const auto shrunk = [=](double x) { return x < -lambda ? x + bias : x > lambda ? x - bias : 0; };
    with_number(wide, in.type(), [](auto) {});  // refuses other types
    return std::vector<Array>{map<double, double>(in.cast(ElementType::float64), shrunk).cast(in.type())};
  });
}

std::vector<Array> prelu(const HostCall& call) {
  require_same_type(call, 0, 2);
  return through_float(call, [](const HostCall& wide) {
    const Array &in = wide.input(0), &slope = wide.input(1);
    require(wide, broadcast(in.extents(), slope.extents()) == in.extents(), "has a slope that does not broadcast to x");
    return with_number(wide, in.type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      return {zip<T, T, T>(in, slope, [](T x, T a) { return x < T{0} ? wrapping_multiply(a, x) : x; })};
    });
  });
}

template <class T>
T bound(const HostCall& call, std::size_t index, std::string_view attribute, T otherwise) {
  if (call.opset < 11) {
    if (!call.attributes.has(attribute)) return otherwise;
    return Array::scalar(call.attributes.number(attribute, 0)).cast(element_type_of<T>).template values<T>()[0];
  }
  if (!call.has(index)) return otherwise;
  const Array& operand = call.input(index);
  require(call, operand.type() == element_type_of<T> && operand.size() == 1,
          "takes bounds of one element, of x's type");
  return operand.values<T>()[0];
}

std::vector<Array> clip(const HostCall& call) {
  return through_float(call, [](const HostCall& wide) {
    return with_number(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      constexpr bool unbounded = std::numeric_limits<T>::has_infinity;
      const T least = unbounded ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
      const T most = unbounded ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();
      const T low = bound<T>(wide, 1, "min", least), high = bound<T>(wide, 2, "max", most);
      return {map<T, T>(wide.input(0), [=](T x) { return smaller(larger(x, low), high); })};
    });
  });
}

// Inference drops nothing.
std::vector<Array> dropout(const HostCall& call) {
  const Array& in = call.input(0);
  if (call.opset >= 12 && call.has(2)) {
    const Array& training = call.input(2);
    require(call, training.type() == ElementType::boolean && training.size() == 1, "takes a boolean training_mode");
    const bool never_drops = call.has(1) && call.input(1).size() == 1 && call.input(1).doubles()[0] == 0;
    require(call, never_drops || !training.values<bool>()[0], "is random in training mode");
  }
  if (call.outputs < 2) return {in};
  Array mask(ElementType::boolean, in.extents());
  std::fill(mask.mutable_values<bool>().begin(), mask.mutable_values<bool>().end(), true);
  return {in, call.opset < 10 ? mask.cast(in.type()) : mask};
}

// The softmax family: a function of each line along an axis. Before opset 13, everything from the axis on was one line.
template <class Line>
std::vector<Array> along_axis(const HostCall& call, Line line) {
  return through_float(call, [&](const HostCall& wide) {
    const Array& in = wide.input(0);
    const bool flattens = wide.opset < 13;
    std::int64_t axis_attribute = wide.attributes.integer("axis", flattens ? 1 : -1);
    if (flattens && axis_attribute == static_cast<std::int64_t>(in.rank())) axis_attribute = -1;
    const std::size_t axis = axis_in(wide, axis_attribute, in.rank());
    AxisView view(in.extents(), axis);
    if (flattens && in.size() > 0) {
      view.length *= view.inner;
      view.inner = 1;
    }
    return with_floating(wide, in.type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      Array result(in.type(), in.extents());
      const T* const from = in.values<T>().data();
      T* const to = result.mutable_values<T>().data();
      if (in.size() == 0) return {std::move(result)};
      for (std::int64_t o = 0; o < view.outer; ++o)
        for (std::int64_t i = 0; i < view.inner; ++i) {
          const std::int64_t at = o * view.length * view.inner + i;
          line(from + at, to + at, view.length, view.inner);
        }
      return {std::move(result)};
    });
  });
}

template <class T>
T largest_of(const T* from, std::int64_t length, std::int64_t step) {
  T largest = *from;
  for (std::int64_t i = 1; i < length; ++i) largest = larger(largest, from[i * step]);
  return largest;
}

std::vector<Array> softmax(const HostCall& call) {
  return along_axis(call, [](const auto* from, auto* to, std::int64_t length, std::int64_t step) {
    const auto largest = largest_of(from, length, step);
    double sum = 0;
    for (std::int64_t i = 0; i < length; ++i) sum += to[i * step] = std::exp(from[i * step] - largest);
    for (std::int64_t i = 0; i < length; ++i)
      to[i * step] = static_cast<std::decay_t<decltype(*to)>>(to[i * step] / sum);
  });
}

std::vector<Array> log_softmax(const HostCall& call) {
  return along_axis(call, [](const auto* from, auto* to, std::int64_t length, std::int64_t step) {
    const auto largest = largest_of(from, length, step);
    double sum = 0;
    for (std::int64_t i = 0; i < length; ++i) sum += std::exp(from[i * step] - largest);
    const double logarithm = std::log(sum);
    for (std::int64_t i = 0; i < length; ++i)
      to[i * step] = static_cast<std::decay_t<decltype(*to)>>(from[i * step] - largest - logarithm);
  });
}

std::vector<Array> hardmax(const HostCall& call) {
  return along_axis(call, [](const auto* from, auto* to, std::int64_t length, std::int64_t step) {
    std::int64_t best = 0;
    for (std::int64_t i = 0; i < length; ++i) {
      to[i * step] = 0;
      if (from[i * step] > from[best * step]) best = i;
    }
    to[best * step] = 1;
  });
}

}  // namespace

Family activation() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"Celu", celu},
      {"Clip", clip},
      {"Dropout", dropout},
      {"Elu", elu},
      {"Gelu", gelu},
      {"HardSigmoid", hard_sigmoid},
      {"Hardmax", hardmax},
      {"LeakyRelu", leaky_relu},
      {"LogSoftmax", log_softmax},
      {"PRelu", prelu},
      {"Selu", selu},
      {"Shrink", shrink},
      {"Softmax", softmax},
      {"Swish", swish},
      {"ThresholdedRelu", thresholded_relu},
  };
  return functions;
}

}  // namespace taso::runtime
