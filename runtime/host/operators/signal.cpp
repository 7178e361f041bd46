// Fourier transforms, window functions, and the mel scale.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;
using Complex = std::complex<double>;

/// The discrete Fourier transform of any length: recursive while the length is even, a direct sum for the odd rest.
void transform(std::vector<Complex>& signal, bool inverse) {
  const std::size_t n = signal.size();
  if (n <= 1) return;
  const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
  if (n % 2 == 0) {
    std::vector<Complex> even(n / 2), odd(n / 2);
    for (std::size_t i = 0; i < n / 2; ++i) {
      even[i] = signal[2 * i];
      odd[i] = signal[2 * i + 1];
    }
    transform(even, inverse);
    transform(odd, inverse);
    for (std::size_t i = 0; i < n / 2; ++i) {
      const Complex turned = std::polar(1.0, turn * static_cast<double>(i)) * odd[i];
      signal[i] = even[i] + turned;
      signal[i + n / 2] = even[i] - turned;
    }
    return;
  }
  std::vector<Complex> roots(n), result(n);
  for (std::size_t i = 0; i < n; ++i) roots[i] = std::polar(1.0, turn * static_cast<double>(i));
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t root = 0;
    for (std::size_t i = 0; i < n; ++i) {
      result[k] += signal[i] * roots[root];
      root = (root + k) % n;
    }
  }
  signal = std::move(result);
}

Arrays dft(const HostCall& call) {
  const Array& x = call.input(0);
  require_floating(call, 0);
  require(call, x.rank() >= 2 && (x.extents().back() == 1 || x.extents().back() == 2),
          "the operand must be [..., 1 or 2]");
  const bool inverse = call.attributes.integer("inverse", 0) != 0,
             onesided = call.attributes.integer("onesided", 0) != 0;
  std::int64_t named = call.opset < 20 ? call.attributes.integer("axis", 1) : -2;
  if (call.opset >= 20 && call.has(2)) named = integer_of(call, 2);
  const std::size_t axis = axis_in(call, named, x.rank());
  require(call, axis + 1 < x.rank(), "the axis may not be the last dimension");
  const std::int64_t given = x.extents()[axis];
  // A half spectrum represents a real signal of twice its length.
  std::int64_t length = inverse && onesided ? 2 * (given - 1) : given;
  if (call.has(1)) length = integer_of(call, 1);
  require(call, length > 0 && length <= most_elements, "the length is out of range");
  const std::size_t parts = unsign(x.extents().back()),
                    inner = unsign(product(call, x.extents(), axis + 1, x.rank() - 1));
  Extents extents = x.extents();
  extents[axis] = onesided && !inverse ? length / 2 + 1 : length;
  extents.back() = inverse && onesided ? 1 : 2;
  Array result = make_array(call, ElementType::float64, extents);
  const auto out = result.mutable_values<double>();
  const std::vector<double> in = x.doubles();
  const std::size_t outer = unsign(product(call, x.extents(), 0, axis)), kept = unsign(extents[axis]),
                    out_parts = unsign(extents.back());
  std::vector<Complex> signal;
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < inner; ++i) {
      signal.assign(unsign(length), Complex());
      const auto limit = std::min(given, inverse && onesided ? length / 2 + 1 : length);
      for (std::size_t k = 0; k < unsign(limit); ++k) {
        const std::size_t at = ((o * unsign(given) + k) * inner + i) * parts;
        signal[k] = Complex(in[at], parts == 2 ? in[at + 1] : 0);
        if (inverse && onesided && k > 0) signal[unsign(length) - k] = std::conj(signal[k]);
      }
      if (inverse && onesided) signal[0] = signal[0].real();
      if (inverse && onesided && length % 2 == 0) signal[unsign(length) / 2] = signal[unsign(length) / 2].real();
      transform(signal, inverse);
      for (std::size_t k = 0; k < kept; ++k) {
        const std::size_t at = ((o * kept + k) * inner + i) * out_parts;
        const Complex value = inverse ? signal[k] / static_cast<double>(length) : signal[k];
        out[at] = value.real();
        if (out_parts == 2) out[at + 1] = value.imag();
      }
    }
  return {result.cast(x.type())};
}

Arrays stft(const HostCall& call) {
  const Array& x = call.input(0);
  require_floating(call, 0);
  require(call, x.rank() == 2 || (x.rank() == 3 && x.extents()[2] >= 1 && x.extents()[2] <= 2),
          "the signal must be [N, L, 1 or 2]");
  const std::size_t parts = x.rank() == 3 ? unsign(x.extents()[2]) : 1;
  const std::int64_t step = integer_of(call, 1), given = x.extents()[1];
  std::vector<double> window;
  if (call.has(2)) window = call.input(2).doubles();
  const std::int64_t length = call.has(3) ? integer_of(call, 3) : call.has(2) ? sign(window.size()) : given;
  require(call, step > 0 && length > 0 && length <= given, "frame_step or frame_length is out of range");
  if (!call.has(2)) window.assign(unsign(length), 1);
  require(call, sign(window.size()) <= length, "the window is longer than the frame");
  const std::int64_t frames = (given - length) / step + 1;
  const bool onesided = call.attributes.integer("onesided", 1) != 0;
  const std::int64_t kept = onesided ? length / 2 + 1 : length;
  Array result = make_array(call, ElementType::float64, {x.extents()[0], frames, kept, 2});
  const auto out = result.mutable_values<double>();
  const std::vector<double> in = x.doubles();
  std::vector<Complex> signal;
  std::size_t next = 0;
  for (std::size_t n = 0; n < unsign(x.extents()[0]); ++n)
    for (std::size_t frame = 0; frame < unsign(frames); ++frame) {
      signal.assign(unsign(length), Complex());
      for (std::size_t k = 0; k < window.size(); ++k) {
        const std::size_t at = (n * unsign(given) + frame * unsign(step) + k) * parts;
        signal[k] = window[k] * Complex(in[at], parts == 2 ? in[at + 1] : 0);
      }
      transform(signal, false);
      for (std::size_t k = 0; k < unsign(kept); ++k) {
        out[next++] = signal[k].real();
        out[next++] = signal[k].imag();
      }
    }
  return {result.cast(x.type())};
}

/// a0 - a1 cos(2πn/N) + a2 cos(4πn/N), where N is the period.
Arrays cosine_window(const HostCall& call, double a0, double a1, double a2) {
  const std::int64_t size = integer_of(call, 0);
  const ElementType type = type_coded(call, call.attributes.integer("output_datatype", 1));
  const bool periodic = call.attributes.integer("periodic", 1) != 0;
  const double period = static_cast<double>(size) - (periodic ? 0 : 1);
  Array result = make_array(call, ElementType::float64, {size});
  std::size_t n = 0;
  for (double& value : result.mutable_values<double>()) {
    const double turn = period > 0 ? 2 * std::numbers::pi * static_cast<double>(n++) / period : std::numbers::pi;
    value = a0 - a1 * std::cos(turn) + a2 * std::cos(2 * turn);
  }
  return {result.cast(type)};
}

Arrays hann_window(const HostCall& call) { return cosine_window(call, 0.5, 0.5, 0); }
Arrays hamming_window(const HostCall& call) { return cosine_window(call, 25.0 / 46, 21.0 / 46, 0); }
Arrays blackman_window(const HostCall& call) { return cosine_window(call, 0.42, 0.5, 0.08); }

Arrays mel_weight_matrix(const HostCall& call) {
  const std::int64_t mels = integer_of(call, 0), length = integer_of(call, 1), rate = integer_of(call, 2);
  const double lower = number_of(call, 3), upper = number_of(call, 4);
  require(call, mels >= 0 && mels <= (1 << 24) && length > 0 && length <= most_elements && rate > 0,
          "an operand is out of range");
  const ElementType type = type_coded(call, call.attributes.integer("output_datatype", 1));
  const std::int64_t bins = length / 2 + 1;
  const auto mel_of = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel_of(upper) - mel_of(lower)) / static_cast<double>(mels + 2);
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < mels + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (mel_of(lower) + static_cast<double>(i) * step) / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    require(call, bin >= 0 && bin < static_cast<double>(bins), "a frequency lies outside the spectrum");
    edges.push_back(static_cast<std::int64_t>(bin));
  }
  Array result = make_zeros(call, ElementType::float64, {bins, mels});
  const auto out = result.mutable_values<double>();
  for (std::int64_t m = 0; m < mels; ++m) {
    const std::int64_t left = edges[unsign(m)], centre = edges[unsign(m) + 1], right = edges[unsign(m) + 2];
    const auto at = [&](std::int64_t bin) -> double& { return out[unsign(bin * mels + m)]; };
    if (left == centre) at(centre) = 1;
    for (std::int64_t bin = left; left < centre && bin <= centre; ++bin)
      at(bin) = static_cast<double>(bin - left) / static_cast<double>(centre - left);
    for (std::int64_t bin = centre; bin < right; ++bin)
      at(bin) = static_cast<double>(right - bin) / static_cast<double>(right - centre);
  }
  return {result.cast(type)};
}

}  // namespace

Family signal_processing() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"DFT", dft},
      {"STFT", stft},
      {"HannWindow", hann_window},
      {"HammingWindow", hamming_window},
      {"BlackmanWindow", blackman_window},
      {"MelWeightMatrix", mel_weight_matrix},
  };
  return functions;
}

}  // namespace taso::runtime
