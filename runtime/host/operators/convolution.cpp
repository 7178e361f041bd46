// Variants of convolution: transposed, on integers, deformable; and Col2Im, the sum of overlapping columns.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/core/tensor.h"
#include "runtime/host/families.h"
#include "runtime/host/window.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

/// The channels of a convolution.
struct Channels {
  std::size_t batches, groups, in, out;  ///< in and out are per group
};

Extents result_extents(std::int64_t batches, std::int64_t channels, const Extents& spatial) {
  Extents extents{batches, channels};
  extents.insert(extents.end(), spatial.begin(), spatial.end());
  return extents;
}

/// kernel_shape, which must agree with the weights [., ., kernel…].
Extents kernel_of(const HostCall& call, const Array& weights) {
  const Extents kernel = spatial_of(call, weights);
  require(call, call.attributes.integers("kernel_shape", kernel) == kernel, "kernel_shape does not fit the weights");
  return kernel;
}

Channels channels_of(const HostCall& call, const Array& x, const Array& weights) {
  require(call, weights.rank() == x.rank(), "operand and weights must be of one rank");
  const std::int64_t groups = call.attributes.integer("group", 1);
  require(call, groups > 0 && weights.extents()[0] % groups == 0 && x.extents()[1] % groups == 0,
          "group must divide the channels");
  require(call, weights.extents()[1] == x.extents()[1] / groups, "the weights do not fit the operand's channels");
  return {unsign(x.extents()[0]), unsign(groups), unsign(x.extents()[1] / groups),
          unsign(weights.extents()[0] / groups)};
}

/// The window of the convolution whose transpose this is.
Window transposed_window(const HostCall& call, const Extents& input, const Extents& kernel) {
  const std::size_t rank = input.size();
  Window window = read_steps(call, input, kernel);
  const std::vector<std::int64_t> ends = window.end;
  const auto extra = call.attributes.integers("output_padding", std::vector<std::int64_t>(rank, 0));
  auto wanted = call.attributes.integers("output_shape");
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  require(call, extra.size() == rank && (wanted.empty() || wanted.size() == rank),
          "output_padding and output_shape need one number per spatial dimension");
  const std::string auto_pad = call.attributes.text("auto_pad", "NOTSET");
  const bool same = auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
  window.input.clear();
  for (std::size_t i = 0; i < rank; ++i) {
    require(call, extra[i] >= 0 && extra[i] <= most_elements, "output_padding is out of range");
    const std::int64_t reach = times(call, kernel[i] - 1, window.dilations[i]) + 1;
    const std::int64_t full = plus(call, times(call, input[i] - 1, window.strides[i]), reach + extra[i]);
    if (wanted.empty() && !same) {
      if (auto_pad == "VALID") window.begin[i] = 0;
      window.input.push_back(full - window.begin[i] - (auto_pad == "VALID" ? 0 : ends[i]));
    } else {
      const std::int64_t out = wanted.empty() ? times(call, input[i], window.strides[i]) : wanted[i];
      require(call, out >= 0 && out <= most_elements, "output_shape is out of range");
      const std::int64_t total = std::max<std::int64_t>(0, full - out);
      window.begin[i] = auto_pad == "SAME_UPPER" ? total / 2 : total - total / 2;
      window.input.push_back(out);
    }
    require(call, window.input.back() >= 0, "the result would be of negative extent");
    window.end[i] = 0;
  }
  window.output = input;
  return window;
}

Arrays conv_transpose(const HostCall& call) {
  const Array& operand = call.input(0);
  const Array& weights = call.input(1);
  const Extents input = spatial_of(call, operand), kernel = kernel_of(call, weights);
  const std::int64_t groups = call.attributes.integer("group", 1);
  require(call,
          weights.rank() == operand.rank() && groups > 0 && weights.extents()[0] == operand.extents()[1] &&
              operand.extents()[1] % groups == 0,
          "the weights do not fit the operand");
  const Channels channels{unsign(operand.extents()[0]), unsign(groups), unsign(operand.extents()[1] / groups),
                          unsign(weights.extents()[1])};
  const Window window = transposed_window(call, input, kernel);
  require_floating(call, 1);
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    const Array x = operand.cast(element_type_of<T>), w = weights.cast(element_type_of<T>);
    const std::size_t out_channels = channels.groups * channels.out;
    Array result =
        make_zeros(call, element_type_of<T>, result_extents(operand.extents()[0], sign(out_channels), window.input));
    if (result.size() == 0) return {result.cast(operand.type())};
    const Taps taps = taps_of(call, window);
    const std::size_t in_plane = unsign(count(input)), out_plane = unsign(count(window.input)),
                      elements = unsign(count(kernel));
    const auto out = result.mutable_values<T>();
    std::vector<T> bias(out_channels, T(0));
    if (call.has(2)) {
      bias = values_as<T>(call.input(2));
      require(call, bias.size() == out_channels, "there must be one bias per output channel");
    }
    // For each output channel, adds the product of weights and operand, [kernel, input places], to the places of the
    // output.
    std::vector<T> columns(elements * in_plane);
    for (std::size_t n = 0; n < channels.batches; ++n)
      for (std::size_t m = 0; m < out_channels; ++m) {
        std::fill(columns.begin(), columns.end(), T(0));
        const std::size_t group = m / channels.out;
        for (std::size_t c = group * channels.in; c < (group + 1) * channels.in; ++c) {
          const T* from = x.values<T>().data() + (n * channels.groups * channels.in + c) * in_plane;
          const T* factors = w.values<T>().data() + (c * channels.out + m % channels.out) * elements;
          for (std::size_t e = 0; e < elements; ++e)
            for (std::size_t i = 0; i < in_plane; ++i) columns[e * in_plane + i] += factors[e] * from[i];
        }
        T* to = out.data() + (n * out_channels + m) * out_plane;
        std::fill(to, to + out_plane, bias[m]);
        for (std::size_t i = 0; i < in_plane; ++i)
          for (std::size_t tap = taps.first[i]; tap < taps.first[i + 1]; ++tap)
            to[taps.offset[tap]] += columns[unsign(taps.element[tap]) * in_plane + i];
      }
    return {result.cast(operand.type())};
  });
}

/// Σ (x - x_zero) (w - w_zero) over every window, exactly; w_zero is one number or one per output channel.
Array integer_convolution(const HostCall& call, const Array& x, const Array& weights, const Array* x_zero,
                          const Array* w_zero) {
  for (const Array* array : {&x, &weights})
    require(call, array->type() == ElementType::int8 || array->type() == ElementType::uint8,
            "the operands must be 8-bit integers");
  const Extents kernel = kernel_of(call, weights);
  const Channels channels = channels_of(call, x, weights);
  const Window window = read_window(call, spatial_of(call, x), kernel, false);
  const std::size_t out_channels = channels.groups * channels.out;
  const auto zeros = [&](const Array* array, std::size_t most) {
    if (array == nullptr) return std::vector<std::int64_t>{0};
    require(call, is_integer(array->type()) && (array->size() == 1 || array->size() == sign(most)),
            "a zero point does not fit its operand");
    return array->integers();
  };
  const std::int64_t x_offset = zeros(x_zero, 1)[0];
  const std::vector<std::int64_t> w_offsets = zeros(w_zero, out_channels);
  Array result =
      make_zeros(call, ElementType::int64, result_extents(x.extents()[0], sign(out_channels), window.output));
  if (result.size() == 0) return result;
  const Taps taps = taps_of(call, window);
  const std::size_t in_plane = unsign(count(window.input)), out_plane = unsign(count(window.output)),
                    elements = unsign(count(kernel));
  std::vector<std::int64_t> in = x.integers(), w = weights.integers();
  for (std::int64_t& value : in) value -= x_offset;
  const std::size_t per_channel = channels.in * elements;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] -= w_offsets[w_offsets.size() == 1 ? 0 : i / per_channel];
  const auto out = result.mutable_values<std::int64_t>();
  for (std::size_t n = 0; n < channels.batches; ++n)
    for (std::size_t m = 0; m < out_channels; ++m)
      for (std::size_t c = 0; c < channels.in; ++c) {
        const std::int64_t* from = in.data() + ((n * channels.groups + m / channels.out) * channels.in + c) * in_plane;
        const std::int64_t* factors = w.data() + (m * channels.in + c) * elements;
        std::int64_t* to = out.data() + (n * out_channels + m) * out_plane;
        for (std::size_t i = 0; i < out_plane; ++i)
          for (std::size_t tap = taps.first[i]; tap < taps.first[i + 1]; ++tap)
            to[i] += from[taps.offset[tap]] * factors[taps.element[tap]];
      }
  return result;
}

Arrays conv_integer(const HostCall& call) {
  const Array sums = integer_convolution(call, call.input(0), call.input(1), call.has(2) ? &call.input(2) : nullptr,
                                         call.has(3) ? &call.input(3) : nullptr);
  return {sums.cast(ElementType::int32)};
}

Arrays qlinear_conv(const HostCall& call) {
  const Array sums = integer_convolution(call, call.input(0), call.input(3), &call.input(2), &call.input(5));
  const std::vector<double> w_scales = call.input(4).doubles();
  const double x_scale = number_of(call, 1), y_scale = number_of(call, 6);
  const ElementType type = call.input(7).type();
  require(call, type == ElementType::int8 || type == ElementType::uint8, "the result must be 8-bit integers");
  const auto y_zero = static_cast<double>(integer_of(call, 7));
  const std::size_t channels = unsign(sums.extents()[1]);
  require(call, w_scales.size() == 1 || w_scales.size() == channels, "the weights' scale does not fit them");
  std::vector<std::int64_t> bias(channels, 0);
  if (call.has(8)) bias = integers_of(call, 8);
  require(call, bias.size() == channels, "there must be one bias per output channel");
  Array result = make_array(call, ElementType::float64, sums.extents());
  const auto in = sums.values<std::int64_t>();
  const auto out = result.mutable_values<double>();
  const std::size_t plane =
      channels == 0
          ? 1
          : std::max<std::size_t>(1, in.size() / channels / std::max<std::size_t>(1, unsign(sums.extents()[0])));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t channel = i / plane % channels;
    const double scale = x_scale * w_scales[w_scales.size() == 1 ? 0 : channel] / y_scale;
    out[i] = std::nearbyint(static_cast<double>(in[i] + bias[channel]) * scale) + y_zero;
  }
  return {result.cast(type)};
}

Arrays col2im(const HostCall& call) {
  const Array& operand = call.input(0);
  require_rank(call, 0, 3);
  const Extents image = integers_of(call, 1), block = integers_of(call, 2);
  for (const std::int64_t extent : image)
    require(call, extent > 0 && extent <= most_elements, "image_shape is out of range");
  const Window window = read_window(call, image, block, false);
  const std::int64_t elements = product(call, block, 0, block.size()),
                     places = product(call, window.output, 0, image.size());
  require(call, operand.extents()[1] % elements == 0 && operand.extents()[2] == places,
          "the columns do not fit image_shape and block_shape");
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    const Array x = operand.cast(element_type_of<T>);
    const std::int64_t channels = operand.extents()[1] / elements;
    Array result = make_zeros(call, element_type_of<T>, result_extents(operand.extents()[0], channels, image));
    if (result.size() == 0) return {result.cast(operand.type())};
    const Taps taps = taps_of(call, window);
    const auto in = x.values<T>();
    const auto out = result.mutable_values<T>();
    const std::size_t plane = unsign(count(image)), columns = unsign(places), block_size = unsign(elements);
    for (std::size_t c = 0; c < out.size() / plane; ++c)
      for (std::size_t i = 0; i < columns; ++i)
        for (std::size_t tap = taps.first[i]; tap < taps.first[i + 1]; ++tap)
          out[c * plane + unsign(taps.offset[tap])] += in[(c * block_size + unsign(taps.element[tap])) * columns + i];
    return {result.cast(operand.type())};
  });
}

/// Linear interpolation of a plane in each dimension; zero outside.
double interpolated(const double* plane, const Extents& extents, const std::vector<std::int64_t>& strides,
                    const std::vector<double>& at) {
  double sum = 0;
  for (std::size_t corner = 0; corner < (std::size_t{1} << at.size()); ++corner) {
    double weight = 1;
    std::int64_t offset = 0;
    for (std::size_t i = 0; i < at.size() && weight != 0; ++i) {
      const double base = std::floor(at[i]), place = base + static_cast<double>(corner >> i & 1);
      weight *= corner >> i & 1 ? at[i] - base : 1 - (at[i] - base);
      if (!(place >= 0 && place < static_cast<double>(extents[i])))
        weight = 0;
      else
        offset += static_cast<std::int64_t>(place) * strides[i];
    }
    if (weight != 0) sum += weight * plane[offset];
  }
  return sum;
}

Arrays deform_conv(const HostCall& call) {
  const Array& x = call.input(0);
  const Array& weights = call.input(1);
  for (const std::size_t operand : {0, 1, 2}) require_floating(call, operand);
  const Extents kernel = kernel_of(call, weights);
  const Channels channels = channels_of(call, x, weights);
  const Window window = read_window(call, spatial_of(call, x), kernel, false);
  const std::size_t rank = kernel.size(), elements = unsign(product(call, kernel, 0, rank));
  require(call, rank >= 1 && rank <= 8, "the operand must have 1 to 8 spatial dimensions");
  const std::int64_t offset_groups = call.attributes.integer("offset_group", 1);
  require(call, offset_groups > 0 && x.extents()[1] % offset_groups == 0, "offset_group must divide the channels");
  const std::int64_t per_group = x.extents()[1] / offset_groups;
  require(call,
          call.input(2).extents() == result_extents(x.extents()[0],
                                                    times(call, times(call, offset_groups, sign(elements)), sign(rank)),
                                                    window.output),
          "the offsets are not of the shape needed");
  if (call.has(4))
    require(call,
            call.input(4).extents() ==
                result_extents(x.extents()[0], times(call, offset_groups, sign(elements)), window.output),
            "the mask is not of the shape needed");
  const std::size_t out_channels = channels.groups * channels.out;
  Array result =
      make_zeros(call, ElementType::float64, result_extents(x.extents()[0], sign(out_channels), window.output));
  if (result.size() == 0) return {result.cast(x.type())};
  const std::vector<double> in = x.doubles(), w = weights.doubles(), offsets = call.input(2).doubles();
  const std::vector<double> mask = call.has(4) ? call.input(4).doubles() : std::vector<double>{};
  std::vector<double> bias(out_channels, 0);
  if (call.has(3)) bias = call.input(3).doubles();
  require(call, bias.size() == out_channels, "there must be one bias per output channel");
  const auto strides = strides_of(window.input);
  const std::size_t in_channels = unsign(x.extents()[1]), in_plane = unsign(count(window.input)),
                    out_plane = unsign(count(window.output));
  const auto out = result.mutable_values<double>();
  std::vector<double> at(rank), sampled(elements);
  for (std::size_t n = 0; n < channels.batches; ++n) {
    std::size_t place = 0;
    for_each_index(window.output, [&](const Extents& index) {
      for (std::size_t c = 0; c < in_channels; ++c) {
        const std::size_t first = (n * unsign(offset_groups) + c / unsign(per_group)) * elements;
        std::size_t e = 0;
        for_each_index(kernel, [&](const Extents& k) {
          for (std::size_t i = 0; i < rank; ++i)
            at[i] = static_cast<double>(index[i] * window.strides[i] - window.begin[i] + k[i] * window.dilations[i]) +
                    offsets[((first + e) * rank + i) * out_plane + place];
          sampled[e] = interpolated(in.data() + (n * in_channels + c) * in_plane, window.input, strides, at);
          if (!mask.empty()) sampled[e] *= mask[(first + e) * out_plane + place];
          ++e;
        });
        const std::size_t group = c / channels.in;
        for (std::size_t m = group * channels.out; m < (group + 1) * channels.out; ++m)
          for (e = 0; e < elements; ++e)
            out[(n * out_channels + m) * out_plane + place] +=
                sampled[e] * w[(m * channels.in + c % channels.in) * elements + e];
      }
      for (std::size_t m = 0; m < out_channels; ++m) out[(n * out_channels + m) * out_plane + place] += bias[m];
      ++place;
    });
  }
  return {result.cast(x.type())};
}

}  // namespace

Family convolution() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"ConvTranspose", conv_transpose}, {"ConvInteger", conv_integer},
      {"QLinearConv", qlinear_conv},     {"Col2Im", col2im},
      {"DeformConv", deform_conv},
  };
  return functions;
}

}  // namespace taso::runtime
