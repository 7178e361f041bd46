// Pooling: a window slides over the spatial dimensions, and each of its positions gives one number.
#include <algorithm>
#include <cmath>

#include "ops/core/tensor.h"
#include "runtime/host/copy.h"
#include "runtime/host/families.h"
#include "runtime/host/window.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

Window pool_window(const HostCall& call) {
  return read_window(call, spatial_of(call, call.input(0)), call.attributes.integers("kernel_shape"),
                     call.attributes.integer("ceil_mode", 0) != 0);
}

Extents with_spatial(const Array& x, const Extents& spatial) {
  Extents extents{x.extents()[0], x.extents()[1]};
  extents.insert(extents.end(), spatial.begin(), spatial.end());
  return extents;
}

/// Converts a row-major offset in a plane to the column-major offset of the same element.
std::int64_t column_major(std::int64_t offset, const Extents& extents) {
  const auto strides = strides_of(extents);
  std::int64_t result = 0, step = 1;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    result += offset / strides[i] % extents[i] * step;
    step *= extents[i];
  }
  return result;
}

template <class T>
Arrays max_pool(const HostCall& call, const Array& x) {
  const Window window = pool_window(call);
  const Extents extents = with_spatial(x, window.output);
  Array result = make_array(call, x.type(), extents);
  Array indices = make_array(call, ElementType::int64, extents);
  if (result.size() == 0) return {result, indices};
  const Taps taps = taps_of(call, window);
  const std::int64_t in_plane = count(window.input), out_plane = count(window.output);
  const bool columns = call.attributes.integer("storage_order", 0) != 0;
  const auto values = x.values<T>();
  const auto out = result.mutable_values<T>();
  const auto places = indices.mutable_values<std::int64_t>();
  for (std::int64_t plane = 0; plane < extents[0] * extents[1]; ++plane) {
    const auto input = values.subspan(unsign(plane * in_plane), unsign(in_plane));
    for (std::size_t i = 0; i < unsign(out_plane); ++i) {
      T best = std::numeric_limits<T>::lowest();
      if constexpr (std::is_floating_point_v<T>) best = -std::numeric_limits<T>::infinity();
      std::int64_t place = taps.first[i] < taps.first[i + 1] ? taps.offset[taps.first[i]] : 0;
      for (std::size_t tap = taps.first[i]; tap < taps.first[i + 1]; ++tap) {
        const T value = input[unsign(taps.offset[tap])];
        if (value > best) {
          best = value;
          place = taps.offset[tap];
        }
      }
      out[unsign(plane * out_plane) + i] = best;
      places[unsign(plane * out_plane) + i] = plane * in_plane + (columns ? column_major(place, window.input) : place);
    }
  }
  return {std::move(result), std::move(indices)};
}

Arrays max_pool(const HostCall& call) {
  const ElementType type = call.input(0).type();
  const Array x = call.input(0).cast(computing_type(type));
  Arrays results = with_element_type(x.type(), [&](auto tag) -> Arrays {
    using T = decltype(tag);
    if constexpr (std::is_arithmetic_v<T>) return max_pool<T>(call, x);
    refuse(call, "the operand must hold numbers");
  });
  results[0] = results[0].cast(type);
  return results;
}

/// Pools each window by `combine(first, last, input, padded)`, where first to last are entries of `taps`.
template <class T, class Combine>
Array pooled(const HostCall& call, const Window& window, Combine&& combine) {
  const Array x = call.input(0).cast(element_type_of<T>);
  Array result = make_array(call, x.type(), with_spatial(x, window.output));
  if (result.size() == 0) return result;
  const Taps taps = taps_of(call, window);
  const std::size_t in_plane = unsign(count(window.input)), out_plane = unsign(count(window.output));
  const auto values = x.values<T>();
  const auto out = result.mutable_values<T>();
  for (std::size_t plane = 0; plane < out.size() / out_plane; ++plane)
    for (std::size_t i = 0; i < out_plane; ++i)
      out[plane * out_plane + i] =
          combine(values.subspan(plane * in_plane, in_plane),
                  std::span(taps.offset).subspan(taps.first[i], taps.first[i + 1] - taps.first[i]), taps.padded[i]);
  return result.cast(call.input(0).type());
}

Arrays average_pool(const HostCall& call) {
  const bool count_padding = call.attributes.integer("count_include_pad", 0) != 0;
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    return {pooled<T>(call, pool_window(call),
                      [&](std::span<const T> input, std::span<const std::int64_t> taps, std::int64_t padded) {
                        T sum = 0;
                        for (const std::int64_t tap : taps) sum += input[unsign(tap)];
                        const std::int64_t divisor = count_padding ? padded : sign(taps.size());
                        return divisor == 0 ? T(0) : sum / static_cast<T>(divisor);
                      })};
  });
}

/// (Σ |x|^p)^(1/p) over the given windows.
Arrays lp_pool_over(const HostCall& call, const Window& window) {
  const auto p = static_cast<double>(call.attributes.integer("p", 2));
  require(call, p > 0, "p must be positive");
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    return {pooled<T>(call, window, [&](std::span<const T> input, std::span<const std::int64_t> taps, std::int64_t) {
      double sum = 0;
      for (const std::int64_t tap : taps) sum += std::pow(std::abs(static_cast<double>(input[unsign(tap)])), p);
      return static_cast<T>(std::pow(sum, 1 / p));
    })};
  });
}

Arrays lp_pool(const HostCall& call) { return lp_pool_over(call, pool_window(call)); }

/// One window that covers everything.
Window whole(const HostCall& call) {
  const Extents spatial = spatial_of(call, call.input(0));
  for (const std::int64_t extent : spatial) require(call, extent > 0, "nothing to pool");
  const std::vector<std::int64_t> ones(spatial.size(), 1), zeros(spatial.size(), 0);
  return {spatial, spatial, ones, ones, ones, zeros, zeros};
}

Arrays global_lp_pool(const HostCall& call) { return lp_pool_over(call, whole(call)); }

Arrays global_average_pool(const HostCall& call) {
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    return {pooled<T>(call, whole(call), [](std::span<const T> input, std::span<const std::int64_t>, std::int64_t) {
      double sum = 0;
      for (const T value : input) sum += static_cast<double>(value);
      return static_cast<T>(sum / static_cast<double>(input.size()));
    })};
  });
}

Arrays global_max_pool(const HostCall& call) {
  return with_floating(call, 0, [&](auto tag) -> Arrays {
    using T = decltype(tag);
    return {pooled<T>(call, whole(call), [](std::span<const T> input, std::span<const std::int64_t>, std::int64_t) {
      return *std::max_element(input.begin(), input.end());
    })};
  });
}

Arrays max_unpool(const HostCall& call) {
  const Array& x = call.input(0);
  const std::vector<std::int64_t> indices = indices_of(call, 1);
  require(call, call.input(1).extents() == x.extents(), "the indices must be of the operand's shape");
  const Extents spatial = spatial_of(call, x);
  const std::size_t rank = spatial.size();
  const auto numbers = [&](std::string_view name, std::size_t size, std::int64_t otherwise) {
    auto list = call.attributes.integers(name, std::vector<std::int64_t>(size, otherwise));
    require(call, list.size() == size, "kernel_shape, strides and pads must fit the spatial dimensions");
    for (const std::int64_t value : list)
      require(call, value >= 0 && value <= most_elements, "an attribute is out of range");
    return list;
  };
  const auto kernel = numbers("kernel_shape", rank, 1), strides = numbers("strides", rank, 1),
             pads = numbers("pads", 2 * rank, 0);
  Extents inner;
  for (std::size_t i = 0; i < rank; ++i)
    inner.push_back(plus(call, times(call, spatial[i] - 1, strides[i]), kernel[i] - pads[i] - pads[rank + i]));
  Array result = make_zeros(call, x.type(), with_spatial(x, inner));
  const std::size_t size = size_of(x.type());
  std::byte* to = result.mutable_data();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    require(call, indices[i] >= 0 && indices[i] < result.size(), "an index is out of range");
    std::memcpy(to + unsign(indices[i]) * size, x.data() + i * size, size);
  }
  if (!call.has(2)) return {std::move(result)};
  // The indices refer to the shape computed above; a larger requested shape is filled with zeros at the end.
  const Extents wanted = integers_of(call, 2);
  require(call, wanted.size() == x.rank(), "output_shape must name every dimension");
  for (std::size_t i = 0; i < wanted.size(); ++i)
    require(call, wanted[i] >= result.extents()[i], "output_shape is too small");
  Array larger = make_zeros(call, x.type(), wanted);
  copy_strided(larger.mutable_data(), strides_of(wanted), result.data(), strides_of(result.extents()), result.extents(),
               size);
  return {std::move(larger)};
}

}  // namespace

Family pooling() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"MaxPool", max_pool},
      {"AveragePool", average_pool},
      {"LpPool", lp_pool},
      {"GlobalAveragePool", global_average_pool},
      {"GlobalMaxPool", global_max_pool},
      {"GlobalLpPool", global_lp_pool},
      {"MaxUnpool", max_unpool},
  };
  return functions;
}

}  // namespace taso::runtime
