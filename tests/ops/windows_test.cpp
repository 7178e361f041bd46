// Convolution and pooling against independently written loops, at random sizes.
#include <cmath>
#include <random>

#include "ops/graph/operator.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

using T = ops::Tensor<double>;
using List = std::vector<std::int64_t>;

struct Setting {
  List input, kernel, strides, dilations, pads;
  bool ceil = false;
};

std::int64_t pick(std::mt19937& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<unsigned>(high - low + 1));
}

T random_tensor(std::mt19937& random, Extents extents) {
  T tensor(std::move(extents), 0.0);
  for (double& value : tensor.data) value = static_cast<double>(pick(random, -4, 4));
  return tensor;
}

/// A setting of `rank` spatial dimensions that has at least one window.
Setting random_setting(std::mt19937& random, std::size_t rank, bool ceil, bool small_pads) {
  Setting setting;
  setting.ceil = ceil;
  List ends;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    while (true) {
      const std::int64_t size = pick(random, 1, 6), kernel = pick(random, 1, 3), dilation = pick(random, 1, 2);
      const std::int64_t most = small_pads ? kernel - 1 : 3;
      const std::int64_t begin = pick(random, 0, most), end = pick(random, 0, most);
      if (size + begin + end < dilation * (kernel - 1) + 1) continue;
      setting.input.push_back(size);
      setting.kernel.push_back(kernel);
      setting.strides.push_back(pick(random, 1, 3));
      setting.dilations.push_back(dilation);
      setting.pads.push_back(begin);
      ends.push_back(end);
      break;
    }
  }
  setting.pads.insert(setting.pads.end(), ends.begin(), ends.end());
  return setting;
}

/// The number of windows, by trying where each would start.
List places(const Setting& s) {
  List result;
  const std::size_t rank = s.input.size();
  for (std::size_t a = 0; a < rank; ++a) {
    const std::int64_t reach = s.dilations[a] * (s.kernel[a] - 1);  // from the first to the last cell
    const std::int64_t end = s.input[a] + s.pads[rank + a];
    std::int64_t n = 0;
    for (std::int64_t start = -s.pads[a];; start += s.strides[a], ++n) {
      if (start + reach < end) continue;
      // Rounding up admits one more window if the one before left cells over, and if it starts before the padding at
      // the end.
      const std::int64_t before = start - s.strides[a] + reach;
      if (s.ceil && before < end - 1 && start < s.input[a]) ++n;
      break;
    }
    result.push_back(n);
  }
  return result;
}

/// Counts `flat` down into an index.
List index_of(std::int64_t flat, const List& extents) {
  List index(extents.size());
  for (std::size_t i = extents.size(); i-- > 0; flat /= extents[i]) index[i] = flat % extents[i];
  return index;
}

/// The flat position of cell `k` of window `o` in the input; -1 in the padding, -2 beyond it.
std::int64_t cell(const Setting& s, const List& o, const List& k) {
  std::int64_t flat = 0;
  bool padding = false;
  for (std::size_t a = 0; a < o.size(); ++a) {
    const std::int64_t at = o[a] * s.strides[a] + k[a] * s.dilations[a] - s.pads[a];
    if (at >= s.input[a] + s.pads[o.size() + a]) return -2;
    padding = padding || at < 0 || at >= s.input[a];
    flat = flat * s.input[a] + at;
  }
  return padding ? -1 : flat;
}

Extents with_front(std::int64_t first, std::int64_t second, const List& rest) {
  Extents extents{first, second};
  extents.insert(extents.end(), rest.begin(), rest.end());
  return extents;
}

}  // namespace

TEST_CASE("convolution is what independent loops compute") {
  std::mt19937 random(1);
  for (int round = 0; round < 150; ++round) {
    const Setting s = random_setting(random, 1 + static_cast<std::size_t>(round) % 3, false, false);
    const std::int64_t groups = pick(random, 1, 3), batch = pick(random, 1, 2);
    const std::int64_t channels = pick(random, 1, 2), filters = groups * pick(random, 1, 2);
    const bool has_bias = random() % 2 == 0;
    std::vector<T> operands{random_tensor(random, with_front(batch, channels * groups, s.input)),
                            random_tensor(random, with_front(filters, channels, s.kernel))};
    if (has_bias) operands.push_back(random_tensor(random, {filters}));
    const op::Conv conv{s.strides, s.dilations, s.pads, groups};
    const T result = evaluate<double>(conv, operands)[0];

    const List out = places(s);
    REQUIRE(result.extents == with_front(batch, filters, out));
    const std::int64_t in_size = count(s.input), kernel_size = count(s.kernel), out_size = count(out);
    for (std::int64_t flat = 0; flat < count(result.extents); ++flat) {
      const std::int64_t n = flat / out_size / filters, f = flat / out_size % filters;
      const List o = index_of(flat % out_size, out);
      double sum = has_bias ? operands[2][f] : 0;
      for (std::int64_t c = 0; c < channels * groups; ++c) {
        if (c / channels != f / (filters / groups)) continue;
        for (std::int64_t k = 0; k < kernel_size; ++k) {
          const std::int64_t at = cell(s, o, index_of(k, s.kernel));
          if (at >= 0)
            sum += operands[0][(n * channels * groups + c) * in_size + at] *
                   operands[1][(f * channels + c % channels) * kernel_size + k];
        }
      }
      REQUIRE(result[flat] == sum);
    }
  }
}

TEST_CASE("pooling is what independent loops compute") {
  std::mt19937 random(2);
  for (int round = 0; round < 300; ++round) {
    const Setting s = random_setting(random, 1 + static_cast<std::size_t>(round) % 3, round % 2 == 0, true);
    const bool count_padding = random() % 2 == 0;
    const std::vector<T> x{random_tensor(random, with_front(2, 2, s.input))};
    const T mean =
        evaluate<double>(op::AveragePool{s.kernel, s.strides, s.dilations, s.pads, s.ceil, count_padding}, x)[0];
    const T max = evaluate<double>(op::MaxPool{s.kernel, s.strides, s.dilations, s.pads, s.ceil}, x)[0];

    const List out = places(s);
    REQUIRE(mean.extents == with_front(2, 2, out));
    REQUIRE(max.extents == mean.extents);
    for (std::int64_t flat = 0; flat < count(mean.extents); ++flat) {
      const std::int64_t plane = flat / count(out);
      double sum = 0, greatest = -INFINITY, inside = 0, padded = 0;
      for (std::int64_t k = 0; k < count(s.kernel); ++k) {
        const std::int64_t at = cell(s, index_of(flat % count(out), out), index_of(k, s.kernel));
        if (at >= -1) ++padded;
        if (at < 0) continue;
        const double value = x[0][plane * count(s.input) + at];
        ++inside;
        sum += value;
        greatest = std::max(greatest, value);
      }
      REQUIRE(max[flat] == greatest);
      REQUIRE(mean[flat] == (inside == 0 ? 0 : sum / (count_padding ? padded : inside)));
    }
  }
}

}  // namespace taso::test
