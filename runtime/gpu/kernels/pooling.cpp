#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/computation.h"
#include "runtime/gpu/kernels/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// Larger windows use loops.
constexpr std::int64_t most_unrolled_cells = 64;

struct Window {
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  bool is_maximum = false, counts_padding = false;
};

Window window_of(const Operator& op) {
  if (const auto* pool = std::get_if<op::MaxPool>(&op))
    return {pool->kernel, pool->strides, pool->dilations, pool->pads, true, false};
  const auto* pool = std::get_if<op::AveragePool>(&op);
  check(pool != nullptr, "pooling takes averages or maxima");
  return {pool->kernel, pool->strides, pool->dilations, pool->pads, false, pool->count_padding};
}

/// Whether one window covers the whole image: that is a reduction, which parallelises better.
bool is_global(const Window& window, const Extents& x, const Extents& y) {
  for (std::size_t i = 0; i < window.kernel.size(); ++i)
    if (window.kernel[i] != x[2 + i] || y[2 + i] != 1 || window.dilations[i] != 1 || window.pads[i] != 0) return false;
  return std::all_of(window.pads.begin(), window.pads.end(), [](std::int64_t pad) { return pad == 0; });
}

/// Writes the kernel of one call.
class Pooling {
 public:
  Pooling(const cost::Call& call, std::int64_t multiprocessors)
      : call_(call),
        multiprocessors_(multiprocessors),
        x_(call.read.at(0)),
        y_(call.written.at(0)),
        window_(window_of(call.steps.at(0).op)) {
    check(call.read.size() == 1 && call.written.size() == 1 && call.steps.size() == 1, "pooling stands alone");
    lay_out();
  }

  SourceLaunch launch() {
    const std::int64_t threads = kernels::count(axes_) / width_;
    const std::int64_t block = threads > multiprocessors_ * 1024 ? 256 : threads > multiprocessors_ * 64 ? 128 : 64;
    SourceLaunch launch;
    launch.name = "pooling";
    launch.block = static_cast<std::uint32_t>(block);
    launch.grid[0] = grid_of((threads + block - 1) / block);
    Parameters parameters;
    parameters.add(call_, false, 0);
    parameters.add(call_, true, 0);

    code_.open("__device__ inline int cells_before(int end, int start, int step, int kernel)");
    code_.line("const int cells = end <= start ? 0 : (end - start - 1) / step + 1;");
    code_.line("return cells < kernel ? cells : kernel;");
    code_.close();
    open_kernel(code_, launch, parameters);
    write_waiting(code_);
    code_.line("const {0} i = static_cast<{0}>(blockIdx.x) * {1} + threadIdx.x;", index_type(is_wide_),
               index(block, is_wide_));
    code_.line("if (i >= {}) return;", index(threads, is_wide_));
    write_window();
    code_.close();
    launch.source = prelude(arithmetic_) + code_.text();
    return launch;
  }

 private:
  std::size_t rank() const { return window_.kernel.size(); }

  /// Whether windows along a spatial axis can reach beyond the input.
  bool reaches_beyond(std::size_t axis) const {
    const std::int64_t last = (y_.extents[2 + axis] - 1) * window_.strides[axis] - window_.pads[axis] +
                              (window_.kernel[axis] - 1) * window_.dilations[axis];
    return window_.pads[axis] > 0 || last >= x_.extents[2 + axis];
  }

  /// Chooses the order of places, and how many channels are moved at once.
  void lay_out() {
    std::vector<std::size_t> order(y_.extents.size());
    std::iota(order.begin(), order.end(), 0);
    std::erase_if(order, [&](std::size_t axis) { return y_.extents[axis] == 1; });
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return y_.strides[a] > y_.strides[b]; });
    places_.assign(rank(), -1);
    for (const std::size_t axis : order) {
      const Axis own{y_.extents[axis], {axis < 2 ? x_.strides[axis] : 0, y_.strides[axis]}};
      if (axis >= 2)
        places_[axis - 2] = static_cast<int>(axes_.size());
      else if (!axes_.empty() && axis == 1 && axes_.size() == 1 && order[0] == 0 &&
               axes_[0].strides[0] == own.strides[0] * own.extent &&
               axes_[0].strides[1] == own.strides[1] * own.extent) {
        axes_[0] = {axes_[0].extent * own.extent, own.strides};
        continue;
      }
      axes_.push_back(own);
    }
    const std::vector<Access> accesses{{false, 0, x_.element, {}, alignment_of(x_)},
                                       {true, 0, y_.element, {}, alignment_of(y_)}};
    if (!order.empty() && order.back() < 2) width_ = vector_width(axes_, accesses);
    while (width_ > 1 && kernels::count(axes_) / width_ < multiprocessors_ * 64) width_ /= 2;
    is_wide_ = needs_wide_index(axes_, 2) || needs_wide_index(x_);
  }

  void write_window() {
    const auto indices = write_indices(code_, "i", "i", axes_, width_, is_wide_);
    const std::int64_t cells = ops::count(window_.kernel);
    const bool is_unrolled = cells <= most_unrolled_cells;
    code_.line("const {}* __restrict__ x = r0 + ({});", type_text(x_.element),
               offset_text(axes_, 0, indices, width_, is_wide_));
    for (std::size_t a = 0; a < rank(); ++a) {
      const std::string place =
          places_[a] < 0 ? "0" : fmt::format("static_cast<int>({})", indices[static_cast<std::size_t>(places_[a])]);
      code_.line("const int s{} = {} * {} - {};", a, place, window_.strides[a], window_.pads[a]);
    }
    code_.line("real sum[{}];", width_);
    code_.unrolled("e", width_);
    code_.line("sum[e] = {};", window_.is_maximum ? number(-HUGE_VAL, arithmetic_) : number(0, arithmetic_));
    code_.close();
    std::string offset, inside;
    for (std::size_t a = 0; a < rank(); ++a) {
      offset += fmt::format("{}static_cast<{}>(q{}) * {}", a == 0 ? "" : " + ", index_type(is_wide_), a,
                            index(x_.strides[2 + a], is_wide_));
      if (is_unrolled)
        open_unrolled(a, inside);
      else
        open_loop(a);
    }
    if (width_ > 1) {
      code_.line("const auto v = load<{}>(x + ({}));", width_, offset);
      code_.unrolled("e", width_);
      code_.line("const real c = {}get(v.v[e]){};", inside.empty() ? "" : inside + " ? ",
                 inside.empty() ? "" : " : " + identity());
    } else {
      code_.open("");
      code_.line("const int e = 0;");
      code_.line("const real c = {}get(x[{}]){};", inside.empty() ? "" : inside + " ? ", offset,
                 inside.empty() ? "" : " : " + identity());
    }
    code_.line("sum[e] = {};", window_.is_maximum         ? "maximum(sum[e], c)"
                               : is_integral(arithmetic_) ? "plus(sum[e], c)"
                                                          : "sum[e] + c");
    code_.close();
    for (std::size_t a = 0; a < rank(); ++a) code_.close();
    write_result(indices);
  }

  std::string identity() const { return window_.is_maximum ? number(-HUGE_VAL, arithmetic_) : number(0, arithmetic_); }

  /// Reads every cell, so that no read depends on a branch: beyond the input, the nearest cell is read. A maximum may
  /// include that cell, because it is in the window anyway; not in a dilated window, which may have skipped it.
  void open_unrolled(std::size_t a, std::string& inside) {
    code_.unrolled(fmt::format("k{}", a), window_.kernel[a]);
    if (!reaches_beyond(a)) {
      code_.line("const int q{0} = s{0} + k{0} * {1};", a, window_.dilations[a]);
      return;
    }
    const std::int64_t end = x_.extents[2 + a];
    code_.line("const int p{0} = s{0} + k{0} * {1};", a, window_.dilations[a]);
    code_.line("const int q{0} = p{0} < 0 ? 0 : p{0} < {1} ? p{0} : {2};", a, end, end - 1);
    if (window_.is_maximum && window_.dilations[a] == 1) return;
    inside += fmt::format("{0}p{1} == q{1}", inside.empty() ? "" : " && ", a);
  }

  void open_loop(std::size_t a) {
    code_.line("const int b{0} = cells_before(0, s{0}, {1}, {2}), l{0} = cells_before({3}, s{0}, {1}, {2});", a,
               window_.dilations[a], window_.kernel[a], x_.extents[2 + a]);
    code_.open("for (int k{0} = b{0}; k{0} < l{0}; ++k{0})", a);
    code_.line("const int q{0} = s{0} + k{0} * {1};", a, window_.dilations[a]);
  }

  void write_result(const std::vector<std::string>& indices) {
    std::string result = "sum[e]";
    if (!window_.is_maximum) {
      std::int64_t fixed = 1;
      std::string cells;
      for (std::size_t a = 0; a < rank(); ++a) {
        if (!reaches_beyond(a)) {
          fixed *= window_.kernel[a];
          continue;
        }
        const std::int64_t end = x_.extents[2 + a];
        const auto before = [&](std::int64_t place) {
          return fmt::format("cells_before({}, s{}, {}, {})", place, a, window_.dilations[a], window_.kernel[a]);
        };
        cells += fmt::format(" * ({})", window_.counts_padding ? before(end + window_.pads[rank() + a])
                                                               : before(end) + " - " + before(0));
      }
      code_.line("const int cells = {}{};", fixed, cells);
      result =
          is_integral(arithmetic_) ? "divide(sum[e], static_cast<real>(cells))" : "sum[e] / static_cast<real>(cells)";
      if (!cells.empty()) result = fmt::format("cells == 0 ? {} : {}", number(0, arithmetic_), result);
    }
    code_.line("Pack<{}, {}> y;", type_text(y_.element), width_);
    code_.unrolled("e", width_);
    code_.line("y.v[e] = put<{}>({});", type_text(y_.element), result);
    code_.close();
    code_.line("store(w0 + ({}), y);", offset_text(axes_, 1, indices, width_, is_wide_));
  }

  const cost::Call& call_;
  std::int64_t multiprocessors_;
  const cost::Call::Operand &x_, &y_;
  Window window_;
  Arithmetic arithmetic_ = arithmetic_of(call_);
  std::vector<Axis> axes_;   ///< of the result, with the strides of x where it has the same places, and of y
  std::vector<int> places_;  ///< by spatial axis, its index in `axes_`; -1 if there is one window along it
  std::int64_t width_ = 1;
  bool is_wide_ = false;
  Code code_;
};

}  // namespace

SourceLaunch pooling_source(const cost::Call& call, std::int64_t multiprocessors) {
  if (std::holds_alternative<op::LocalResponseNorm>(call.steps.at(0).op))
    return local_response_source(call, multiprocessors);
  if (std::holds_alternative<op::ConvTranspose>(call.steps.at(0).op))
    return transposed_convolution_source(call, multiprocessors);
  const Window window = window_of(call.steps.at(0).op);
  if (!is_global(window, call.read.at(0).extents, call.written.at(0).extents))
    return Pooling(call, multiprocessors).launch();
  cost::Call reduction = call;
  reduction.kind = cost::Kernel::Kind::rows;
  std::vector<std::int64_t> axes(window.kernel.size());
  std::iota(axes.begin(), axes.end(), 2);
  if (window.is_maximum)
    reduction.steps[0].op = op::ReduceMax{axes, true};
  else
    reduction.steps[0].op = op::ReduceMean{axes, true};
  return rows_source(reduction, multiprocessors);
}

}  // namespace taso::gpu
