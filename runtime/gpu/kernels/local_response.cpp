#include <algorithm>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/code.h"
#include "runtime/gpu/kernels/source.h"
#include "runtime/gpu/kernels/space.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// Wider windows use a loop.
constexpr std::int64_t most_unrolled_channels = 16;

/// Divides each element by a power of the sum of squares around it. In NHWC a thread computes one element, because
/// neighbouring threads read nearly the same window; otherwise as many places of one channel as can be moved at once.
class LocalResponse {
 public:
  LocalResponse(const cost::Call& call, std::int64_t multiprocessors)
      : call_(call),
        norm_(std::get<op::LocalResponseNorm>(call.steps.at(0).op)),
        x_(call.read.at(0)),
        y_(call.written.at(0)) {
    check(call.read.size() == 1 && call.written.size() == 1 && call.steps.size() == 1, "a norm stands alone");
    check(!is_integral(arithmetic_), "integers have no such powers");
    lay_out(multiprocessors);
  }

  SourceLaunch launch() {
    const std::int64_t threads = kernels::count(axes_) / width_;
    constexpr std::int64_t block = 128;
    SourceLaunch launch;
    launch.name = "local_response";
    launch.block = static_cast<std::uint32_t>(block);
    launch.grid[0] = grid_of((threads + block - 1) / block);
    Parameters parameters;
    parameters.add(call_, false, 0);
    parameters.add(call_, true, 0);
    open_kernel(code_, launch, parameters);
    write_waiting(code_);
    code_.line("const {0} i = static_cast<{0}>(blockIdx.x) * {1} + threadIdx.x;", index_type(is_wide_),
               index(block, is_wide_));
    code_.line("if (i >= {}) return;", index(threads, is_wide_));
    write_elements();
    code_.close();
    launch.source = prelude(arithmetic_) + code_.text();
    return launch;
  }

 private:
  /// Merges contiguous places into one axis, but keeps the channel axis separate.
  void lay_out(std::int64_t multiprocessors) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < y_.extents.size(); ++i)
      if (i == 1 || y_.extents[i] != 1) order.push_back(i);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return y_.strides[a] > y_.strides[b]; });
    std::vector<Axis> together;
    const auto end_of_places = [&] {
      merge(together);
      axes_.insert(axes_.end(), together.begin(), together.end());
      together.clear();
    };
    for (const std::size_t axis : order) {
      if (axis == 1) {
        end_of_places();
        channel_ = axes_.size();
        axes_.push_back({y_.extents[1], {x_.strides[1], y_.strides[1]}});
      } else {
        together.push_back({y_.extents[axis], {x_.strides[axis], y_.strides[axis]}});
      }
    }
    end_of_places();
    const std::vector<Access> accesses{{false, 0, x_.element, {}, alignment_of(x_)},
                                       {true, 0, y_.element, {}, alignment_of(y_)}};
    if (channel_ + 1 < axes_.size()) width_ = vector_width(axes_, accesses);
    while (width_ > 1 && kernels::count(axes_) / width_ < multiprocessors * 256) width_ /= 2;
    is_wide_ = needs_wide_index(axes_, 2);
  }

  std::string real(double value) const { return number(value, arithmetic_); }
  std::string function(std::string_view name, std::string_view operands) const {
    return fmt::format("{}{}({})", name, arithmetic_ == Arithmetic::twice ? "" : "f", operands);
  }

  void write_elements() {
    const auto indices = write_indices(code_, "i", "i", axes_, width_, is_wide_);
    const std::string type(type_text(x_.element));
    const std::int64_t last = x_.extents[1] - 1, below = (norm_.size - 1) / 2, above = norm_.size - 1 - below;
    code_.line("const {}* __restrict__ x = r0 + ({});", type, offset_text(axes_, 0, indices, width_, is_wide_));
    code_.line("const auto own = load<{}>(x);", width_);
    code_.line("real sum[{}];", width_);
    code_.unrolled("e", width_);
    code_.line("sum[e] = {};", real(0));
    code_.close();
    const std::string_view whole = is_wide_ ? "long long" : "int";  // signed, unlike indices
    code_.line("const {0} c = static_cast<{0}>({1});", whole, indices[channel_]);
    if (norm_.size <= most_unrolled_channels) {
      // Reads every channel, so that no read depends on a branch: beyond the last one, the nearest is read.
      code_.unrolled("k", norm_.size);
      code_.line("const {} p = c + k - {};", whole, below);
      code_.line("const {0} q = p < 0 ? 0 : p < {1} ? p : {1};", whole, last);
    } else {
      code_.line("const {0} first = c < {1} ? 0 : c - {1}, end = {2} - c < {3} ? {2} : c + {3};", whole, below, last,
                 above);
      code_.open("for ({} q = first; q <= end; ++q)", whole);
      code_.line("const {} p = q;", whole);
    }
    code_.line("const auto v = load<{}>(x + (q - c) * {}{});", width_, x_.strides[1], is_wide_ ? "ll" : "");
    code_.unrolled("e", width_);
    code_.line("const real value = get(v.v[e]);");
    code_.line("sum[e] += p == q ? value * value : {};", real(0));
    code_.close();
    code_.close();
    code_.line("Pack<{}, {}> y;", type_text(y_.element), width_);
    code_.unrolled("e", width_);
    code_.line("const real base = {} + {} * sum[e];", real(norm_.bias),
               real(norm_.alpha / static_cast<double>(norm_.size)));
    code_.line("y.v[e] = put<{}>(get(own.v[e]) / ({}));", type_text(y_.element), power());
    code_.close();
    code_.line("store(w0 + ({}), y);", offset_text(axes_, 1, indices, width_, is_wide_));
  }

  /// The power of `base`. Roots are faster than pow, and equal if the base cannot be negative.
  std::string power() const {
    if (norm_.beta == 1) return "base";
    if (norm_.alpha >= 0 && norm_.bias >= 0) {
      const std::string root = function("sqrt", "base");
      if (norm_.beta == 0.5) return root;
      if (norm_.beta == 0.75) return fmt::format("{} * {}", root, function("sqrt", root));
    }
    return function("pow", fmt::format("base, {}", real(norm_.beta)));
  }

  const cost::Call& call_;
  const op::LocalResponseNorm& norm_;
  const cost::Call::Operand &x_, &y_;
  Arithmetic arithmetic_ = arithmetic_of(call_);
  std::vector<Axis> axes_;  ///< of the result, with the strides of x and of y
  std::size_t channel_ = 0;
  std::int64_t width_ = 1;
  bool is_wide_ = false;
  Code code_;
};

}  // namespace

SourceLaunch local_response_source(const cost::Call& call, std::int64_t multiprocessors) {
  return LocalResponse(call, multiprocessors).launch();
}

}  // namespace taso::gpu
