// Normalisations: bring a tensor to a standard mean, variance or norm over some of its dimensions.
#include <algorithm>
#include <cmath>

#include "ops/core/tensor.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

/// A tensor [N, C, …] as N, C and the number of elements of a plane.
struct Planes {
  std::size_t batches, channels, plane;
};

Planes planes_of(const HostCall& call, const Array& x) {
  require(call, x.rank() >= 2, "the operand must be [N, C, ...]");
  return {unsign(x.extents()[0]), unsign(x.extents()[1]), unsign(product(call, x.extents(), 2, x.rank()))};
}

template <class T>
std::vector<T> vector_of(const HostCall& call, std::size_t operand, std::size_t size) {
  const Array& array = call.input(operand);
  if (array.size() != sign(size)) refuse(call, fmt::format("operand {} needs {} elements", operand, size));
  require_floating(call, operand);
  return values_as<T>(array);
}

struct Moments {
  double mean, variance;
};

template <class T>
Moments moments_of(std::span<const T> values) {
  double sum = 0, squares = 0;
  for (const T value : values) sum += static_cast<double>(value);
  const double mean = sum / static_cast<double>(values.size());
  for (const T value : values) squares += (static_cast<double>(value) - mean) * (static_cast<double>(value) - mean);
  return {mean, squares / static_cast<double>(values.size())};
}

/// Normalises groups of channels of each example to mean 0 and variance 1, then scales and shifts by channel.
template <class T>
Array normalised_groups(const HostCall& call, std::size_t groups, const std::vector<T>& scale,
                        const std::vector<T>& bias, std::size_t channels_per_scale) {
  const Array x = call.input(0).cast(element_type_of<T>);
  const auto [batches, channels, plane] = planes_of(call, x);
  const double epsilon = call.attributes.number("epsilon", 1e-5);
  const auto in = x.values<T>();
  Array result = make_array(call, x.type(), x.extents());
  if (result.size() == 0) return result.cast(call.input(0).type());
  const auto out = result.mutable_values<T>();
  const std::size_t members = channels / groups, run = members * plane;
  for (std::size_t n = 0; n < batches; ++n)
    for (std::size_t g = 0; g < groups; ++g) {
      const std::size_t start = (n * groups + g) * run;
      const auto [mean, variance] = moments_of(in.subspan(start, run));
      const double factor = 1 / std::sqrt(variance + epsilon);
      for (std::size_t i = 0; i < run; ++i) {
        const std::size_t channel = (g * members + i / plane) / channels_per_scale;
        const double standard = (static_cast<double>(in[start + i]) - mean) * factor;
        out[start + i] =
            static_cast<T>(standard * static_cast<double>(scale[channel]) + static_cast<double>(bias[channel]));
      }
    }
  return result.cast(call.input(0).type());
}

Arrays instance_normalization(const HostCall& call) {
  const std::size_t channels = planes_of(call, call.input(0)).channels;
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    return {normalised_groups<T>(call, channels, vector_of<T>(call, 1, channels), vector_of<T>(call, 2, channels), 1)};
  });
}

Arrays group_normalization(const HostCall& call) {
  const std::size_t channels = planes_of(call, call.input(0)).channels;
  const std::int64_t groups = call.attributes.integer("num_groups", 0);
  require(call, groups > 0 && sign(channels) % groups == 0, "num_groups must divide the channels");
  // Up to opset 20 there is one scale per group, then one per channel.
  const std::size_t scales = call.opset < 21 ? unsign(groups) : channels;
  const std::size_t channels_per_scale = scales == 0 ? 1 : channels / scales;
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    return {normalised_groups<T>(call, unsign(groups), vector_of<T>(call, 1, scales), vector_of<T>(call, 2, scales),
                                 channels_per_scale)};
  });
}

/// An operand of layer normalisation, broadcast to the shape of x from the axis on (or to all of x, if it is that
/// large).
template <class T>
std::vector<T> stretched(const HostCall& call, std::size_t operand, const Extents& extents) {
  const Array& array = call.input(operand);
  require(call, array.rank() <= extents.size() && broadcast(array.extents(), extents) == extents,
          "scale and bias must stretch to the operand's shape");
  const std::vector<T> values = values_as<T>(array);
  const auto strides = ops::broadcast_strides(array.extents(), extents);
  std::vector<T> result;
  for_each_index(extents, [&](const Extents& index) { result.push_back(values[unsign(flat_index(index, strides))]); });
  return result;
}

/// LayerNormalization, and RMSNormalization, which does not subtract the mean.
Arrays layer_normalization(const HostCall& call) {
  const bool centred = call.op_type != "RMSNormalization";
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", -1), call.input(0).rank());
  const double epsilon = call.attributes.number("epsilon", 1e-5);
  const ElementType stash = type_coded(call, call.attributes.integer("stash_type", 1));
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    const Array x = call.input(0).cast(element_type_of<T>);
    const std::size_t outer = unsign(product(call, x.extents(), 0, axis));
    const std::size_t run = unsign(product(call, x.extents(), axis, x.rank()));
    // A scale for the normalised dimensions only is not broadcast over the rest.
    const auto stretch = [&](std::size_t operand) {
      const bool small = call.input(operand).rank() <= x.rank() - axis;
      return stretched<T>(call, operand,
                          small ? Extents(x.extents().begin() + sign(axis), x.extents().end()) : x.extents());
    };
    const std::vector<T> scale = stretch(1), bias = centred && call.has(2) ? stretch(2) : std::vector<T>{};
    Extents reduced = x.extents();
    std::fill(reduced.begin() + sign(axis), reduced.end(), 1);
    Array means = make_array(call, element_type_of<T>, reduced),
          inverses = make_array(call, element_type_of<T>, reduced);
    const auto in = x.values<T>();
    Array result = make_array(call, x.type(), x.extents());
    const auto out = result.mutable_values<T>();
    const auto mean_out = means.mutable_values<T>(), inverse_out = inverses.mutable_values<T>();
    for (std::size_t o = 0; o < outer; ++o) {
      Moments moments = moments_of(in.subspan(o * run, run));
      if (!centred) moments = {0, moments.variance + moments.mean * moments.mean};
      const double factor = 1 / std::sqrt(moments.variance + epsilon);
      mean_out[o] = static_cast<T>(moments.mean);
      inverse_out[o] = static_cast<T>(factor);
      for (std::size_t i = 0; i < run; ++i) {
        const std::size_t at = o * run + i;
        double value = (static_cast<double>(in[at]) - moments.mean) * factor;
        value *= static_cast<double>(scale[at % scale.size()]);
        if (!bias.empty()) value += static_cast<double>(bias[at % bias.size()]);
        out[at] = static_cast<T>(value);
      }
    }
    Arrays results{result.cast(call.input(0).type())};
    if (centred) results.insert(results.end(), {means.cast(stash), inverses.cast(stash)});
    return results;
  });
}

Arrays lp_normalization(const HostCall& call) {
  const std::size_t axis = axis_in(call, call.attributes.integer("axis", -1), call.input(0).rank());
  const std::int64_t p = call.attributes.integer("p", 2);
  require(call, p == 1 || p == 2, "p must be 1 or 2");
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    const Array x = call.input(0).cast(element_type_of<T>);
    const std::size_t length = unsign(x.extents()[axis]),
                      inner = unsign(product(call, x.extents(), axis + 1, x.rank()));
    const std::size_t outer = unsign(product(call, x.extents(), 0, axis));
    const auto in = x.values<T>();
    Array result = make_array(call, x.type(), x.extents());
    const auto out = result.mutable_values<T>();
    for (std::size_t o = 0; o < outer; ++o)
      for (std::size_t i = 0; i < inner; ++i) {
        const std::size_t start = o * length * inner + i;
        double norm = 0;
        for (std::size_t k = 0; k < length; ++k) {
          const double value = std::abs(static_cast<double>(in[start + k * inner]));
          norm += p == 1 ? value : value * value;
        }
        if (p == 2) norm = std::sqrt(norm);
        for (std::size_t k = 0; k < length; ++k)
          out[start + k * inner] = norm == 0 ? T(0) : static_cast<T>(static_cast<double>(in[start + k * inner]) / norm);
      }
    return {result.cast(call.input(0).type())};
  });
}

Arrays mean_variance_normalization(const HostCall& call) {
  const Extents& extents = call.input(0).extents();
  const auto axes = axes_in(call, call.attributes.integers("axes", {0, 2, 3}), extents.size());
  Extents kept = extents, reduced(extents.size(), 1);
  for (const std::size_t axis : axes) std::swap(kept[axis], reduced[axis]);
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    const Array x = call.input(0).cast(element_type_of<T>);
    const auto in = x.values<T>();
    Array result = make_array(call, x.type(), extents);
    const auto out = result.mutable_values<T>();
    const auto strides = strides_of(extents);
    std::vector<T> line;
    for_each_index(kept, [&](const Extents& at) {
      const std::int64_t base = flat_index(at, strides);
      line.clear();
      for_each_index(reduced, [&](const Extents& k) { line.push_back(in[unsign(base + flat_index(k, strides))]); });
      const auto [mean, variance] = moments_of(std::span<const T>(line));
      const double deviation = std::sqrt(variance) + 1e-9;
      for_each_index(reduced, [&, mean = mean](const Extents& k) {
        const std::size_t place = unsign(base + flat_index(k, strides));
        out[place] = static_cast<T>((static_cast<double>(in[place]) - mean) / deviation);
      });
    });
    return {result.cast(call.input(0).type())};
  });
}

Arrays batch_normalization(const HostCall& call) {
  const Array& operand = call.input(0);
  require(call, operand.rank() >= 1, "the operand must be [N, C, ...]");
  const std::size_t batches = unsign(operand.extents()[0]);
  const std::size_t channels = operand.rank() > 1 ? unsign(operand.extents()[1]) : 1;
  const std::size_t plane = operand.rank() > 2 ? unsign(product(call, operand.extents(), 2, operand.rank())) : 1;
  const double epsilon = call.attributes.number("epsilon", 1e-5), momentum = call.attributes.number("momentum", 0.9);
  const bool training = call.attributes.integer("training_mode", 0) != 0 || (call.opset < 14 && call.outputs > 1);
  // Opset 7 allowed statistics for each place of the plane.
  const bool by_place = call.opset < 9 && call.attributes.integer("spatial", 1) == 0;
  const std::size_t statistics = by_place ? channels * plane : channels;
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    const Array x = operand.cast(element_type_of<T>);
    const auto in = x.values<T>();
    const auto scale = vector_of<T>(call, 1, statistics), bias = vector_of<T>(call, 2, statistics);
    std::vector<T> mean = vector_of<T>(call, 3, statistics), variance = vector_of<T>(call, 4, statistics);
    std::vector<T> running_mean = mean, running_variance = variance;
    if (training) {
      std::vector<T> values;
      for (std::size_t s = 0; s < statistics; ++s) {
        values.clear();
        const std::size_t first = by_place ? s : s * plane, length = by_place ? 1 : plane;
        for (std::size_t n = 0; n < batches; ++n)
          for (std::size_t i = 0; i < length; ++i) values.push_back(in[n * channels * plane + first + i]);
        if (values.empty()) continue;
        const Moments moments = moments_of(std::span<const T>(values));
        mean[s] = static_cast<T>(moments.mean);
        variance[s] = static_cast<T>(moments.variance);
        const auto blend = [&](T& old, double fresh) {
          old = static_cast<T>(static_cast<double>(old) * momentum + fresh * (1 - momentum));
        };
        blend(running_mean[s], moments.mean);
        blend(running_variance[s], moments.variance);
      }
    }
    Array result = make_array(call, x.type(), x.extents());
    const auto out = result.mutable_values<T>();
    for (std::size_t i = 0; i < out.size(); ++i) {
      const std::size_t s = by_place ? i % statistics : i / plane % channels;
      const double standard = (static_cast<double>(in[i]) - static_cast<double>(mean[s])) /
                              std::sqrt(static_cast<double>(variance[s]) + epsilon);
      out[i] = static_cast<T>(standard * static_cast<double>(scale[s]) + static_cast<double>(bias[s]));
    }
    Arrays results{result.cast(operand.type())};
    if (training) {
      const Extents shape = call.input(3).extents();
      results.push_back(Array::of<T>(shape, running_mean).cast(call.input(3).type()));
      results.push_back(Array::of<T>(shape, running_variance).cast(call.input(4).type()));
      // Before opset 14, also the statistics used in this step.
      results.push_back(Array::of<T>(shape, mean).cast(call.input(3).type()));
      results.push_back(Array::of<T>(shape, variance).cast(call.input(4).type()));
    }
    return results;
  });
}

}  // namespace

Family normalisation() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"InstanceNormalization", instance_normalization},
      {"GroupNormalization", group_normalization},
      {"LayerNormalization", layer_normalization},
      {"RMSNormalization", layer_normalization},
      {"LpNormalization", lp_normalization},
      {"MeanVarianceNormalization", mean_variance_normalization},
      {"BatchNormalization", batch_normalization},
  };
  return functions;
}

}  // namespace taso::runtime
