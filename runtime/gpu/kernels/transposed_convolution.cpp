// Transposed convolution. A thread computes several channels of one place of the result. It visits the cells of the
// kernel that meet an input place there, and for each of them all channels of the input: the search for cells costs
// little, and which cells they are depends on the place only.
#include <algorithm>
#include <limits>
#include <numeric>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/code.h"
#include "runtime/gpu/kernels/source.h"
#include "runtime/gpu/kernels/space.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// The most channels of the result that a thread computes, each with a sum of its own.
constexpr std::int64_t most_channels = 8;
/// So many threads of a multiprocessor are better than several channels, two or more than two, for each. Measured.
constexpr std::int64_t least_threads = 700, most_threads = 2048;

class TransposedConvolution {
 public:
  TransposedConvolution(const cost::Call& call, std::int64_t multiprocessors)
      : call_(call),
        step_(call.steps.at(0)),
        conv_(std::get<op::ConvTranspose>(step_.op)),
        x_(call.read.at(step_.operands.at(0))),
        w_(call.read.at(step_.operands.at(1))),
        y_(call.written.at(0)) {
    check(call.written.size() == 1 && call.steps.size() == 1, "a transposed convolution stands alone");
    check(!is_integral(arithmetic_), "convolutions are of floating-point numbers");
    choose(multiprocessors);
  }

  SourceLaunch launch() {
    const std::int64_t threads = kernels::count(axes_);
    constexpr std::int64_t block = 128;
    SourceLaunch launch;
    launch.name = "transposed_convolution";
    launch.block = static_cast<std::uint32_t>(block);
    launch.grid[0] = grid_of((threads + block - 1) / block);
    Parameters parameters;
    for (const std::uint32_t operand : step_.operands) parameters.add(call_, false, operand);
    parameters.add(call_, true, 0);
    open_kernel(code_, launch, parameters);
    write_waiting(code_);
    code_.line("const {0} i = static_cast<{0}>(blockIdx.x) * {1} + threadIdx.x;", index_type(is_wide_),
               index(block, is_wide_));
    code_.line("if (i >= {}) return;", index(threads, is_wide_));
    const auto indices = write_indices(code_, "i", "i", axes_, 1, is_wide_);
    for (std::size_t axis = 0; axis < y_.extents.size(); ++axis)
      code_.line("const {0} y{1} = {2};", whole(), axis,
                 axes_of_[axis] < 0
                     ? "0"
                     : fmt::format("static_cast<{}>({})", whole(), indices[static_cast<std::size_t>(axes_of_[axis])]));
    write_sums();
    write_results();
    code_.close();
    launch.source = prelude(arithmetic_) + code_.text();
    return launch;
  }

 private:
  std::size_t rank() const { return y_.extents.size() - 2; }
  std::int64_t channels() const { return w_.extents[0] / conv_.groups; }  // of the input, per group
  std::int64_t filters() const { return w_.extents[1]; }                  // per group
  /// How far the channels of a thread lie apart: so that neighbouring threads compute neighbouring channels.
  std::int64_t apart() const { return filters() / outputs_; }
  /// The type of places, which may be negative, unlike indices.
  std::string_view whole() const { return is_wide_ ? "long long" : "int"; }
  std::string at(std::int64_t value) const { return fmt::format("{}{}", value, is_wide_ ? "ll" : ""); }

  /// Chooses how many channels a thread computes, and the order of places.
  void choose(std::int64_t multiprocessors) {
    const std::int64_t results = ops::count(y_.extents);
    // Neighbouring threads compute neighbouring channels in NHWC, and neighbouring places otherwise.
    const bool last = y_.strides[1] < y_.strides.back();
    const auto fits = [&] {
      if (filters() % outputs_ != 0 || (last && (outputs_ > 2 || apart() < 32))) return false;
      return results / outputs_ >= multiprocessors * (outputs_ > 2 ? most_threads : least_threads);
    };
    for (outputs_ = most_channels; outputs_ > 1 && !fits();) outputs_ /= 2;
    std::vector<std::size_t> order(y_.extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return y_.strides[a] > y_.strides[b]; });
    axes_of_.assign(order.size(), -1);
    for (const std::size_t axis : order) {
      const std::int64_t extent = axis == 1 ? y_.extents[1] / outputs_ : y_.extents[axis];
      if (extent == 1) continue;
      axes_of_[axis] = static_cast<int>(axes_.size());
      axes_.push_back({extent, {y_.strides[axis]}});
    }
    is_wide_ = is_wide_ || needs_wide_index(x_) || needs_wide_index(w_) || needs_wide_index(y_);
    for (std::size_t a = 0; a < rank(); ++a)  // places before the pads are cut off, and how far a kernel reaches
      for (const std::int64_t reach :
           {y_.extents[2 + a] + conv_.pads[a], (w_.extents[2 + a] + conv_.strides[a]) * conv_.dilations[a]})
        is_wide_ = is_wide_ || reach > std::numeric_limits<std::int32_t>::max() / 2;
  }

  void write_sums() {
    code_.line("const {0} g = y1 / {1}, f = y1 % {1}, m = g * {2} + f;", whole(), at(apart()), at(filters()));
    const auto start = [&](std::string_view name, const cost::Call::Operand& from, std::uint32_t operand,
                           const std::string& offset) {
      code_.line("const {}* __restrict__ {} = {} + ({});", type_text(from.element), name, pointer(false, operand),
                 offset);
    };
    start("x", x_, step_.operands[0],
          fmt::format("y0 * {} + g * {}", at(x_.strides[0]), at(channels() * x_.strides[1])));
    start("w", w_, step_.operands[1],
          fmt::format("g * {} + f * {}", at(channels() * w_.strides[0]), at(w_.strides[1])));
    code_.line("real sum[{}];", outputs_);
    code_.unrolled("e", outputs_);
    if (step_.operands.size() == 3) {
      const std::uint32_t bias = step_.operands[2];
      code_.line("sum[e] = get({}[(m + e * {}) * {}]);", pointer(false, bias), at(apart()),
                 at(call_.read.at(bias).strides.at(0)));
    } else {
      code_.line("sum[e] = {};", number(0, arithmetic_));
    }
    code_.close();
    std::string from, with;
    for (std::size_t a = 0; a < rank(); ++a) {
      open_cells(a);
      from += fmt::format("{}q{} * {}", a == 0 ? "" : " + ", a, at(x_.strides[2 + a]));
      with += fmt::format("{}t{} * {}", a == 0 ? "" : " + ", a, at(w_.strides[2 + a]));
    }
    code_.line("const {}* __restrict__ xc = x + ({});", type_text(x_.element), from);
    code_.line("const {}* __restrict__ wc = w + ({});", type_text(w_.element), with);
    code_.open("for ({} c = 0; c < {}; ++c)", whole(), at(channels()));
    code_.line("const real v = get(xc[c * {}]);", at(x_.strides[1]));
    code_.unrolled("e", outputs_);
    const std::string weight = fmt::format("get(wc[c * {} + e * {}])", at(w_.strides[0]), at(apart() * w_.strides[1]));
    code_.line("sum[e] += v * {};", weight);
    code_.close();
    code_.close();
    for (std::size_t a = 0; a < rank(); ++a) code_.close();
  }

  /// A loop over the cells t of the kernel along an axis that meet an input place q: stride q + dilation t = place.
  /// These are a multiple of stride / gcd(stride, dilation) apart.
  void open_cells(std::size_t a) {
    const std::int64_t stride = conv_.strides[a], dilation = conv_.dilations[a];
    code_.line("const {0} p{1} = y{2} + {3};", whole(), a, 2 + a, at(conv_.pads[a]));
    if (stride == 1) {
      code_.line("const {0} f{1} = 0;", whole(), a);
    } else if (dilation == 1) {
      code_.line("const {0} f{1} = p{1} % {2};", whole(), a, at(stride));
    } else {
      code_.line("{0} f{1} = 0;", whole(), a);
      code_.line("while (f{0} < {1} && (p{0} - f{0} * {2}) % {3} != 0) ++f{0};", a, at(w_.extents[2 + a]), at(dilation),
                 at(stride));
    }
    code_.open("for ({0} t{1} = f{1}; t{1} < {2} && t{1} * {3} <= p{1}; t{1} += {4})", whole(), a,
               at(w_.extents[2 + a]), at(dilation), at(stride / std::gcd(stride, dilation)));
    code_.line("const {0} q{1} = (p{1} - t{1} * {2}) / {3};", whole(), a, at(dilation), at(stride));
    code_.line("if (q{} >= {}) continue;", a, at(x_.extents[2 + a]));
  }

  void write_results() {
    std::string place;
    for (std::size_t axis = 0; axis < y_.extents.size(); ++axis)
      if (axis != 1) place += fmt::format("{}y{} * {}", place.empty() ? "" : " + ", axis, at(y_.strides[axis]));
    code_.unrolled("e", outputs_);
    code_.line("w0[{} + (m + e * {}) * {}] = put<{}>(sum[e]);", place, at(apart()), at(y_.strides[1]),
               type_text(y_.element));
    code_.close();
  }

  const cost::Call& call_;
  const cost::Call::Step& step_;
  const op::ConvTranspose& conv_;
  const cost::Call::Operand &x_, &w_, &y_;
  Arithmetic arithmetic_ = arithmetic_of(call_);
  std::vector<Axis> axes_;    ///< of threads, with the strides of y
  std::vector<int> axes_of_;  ///< by axis of y, its index in `axes_`; -1 if it has one place
  std::int64_t outputs_ = 1;  ///< channels per thread
  bool is_wide_ = false;
  Code code_;
};

}  // namespace

SourceLaunch transposed_convolution_source(const cost::Call& call, std::int64_t multiprocessors) {
  return TransposedConvolution(call, multiprocessors).launch();
}

}  // namespace taso::gpu
