// Reductions, softmax and layer norm. A row is everything that is reduced to one number. Its elements are spread over
// several threads (called lanes here), which then combine their partial results. Operators that follow a reduction may
// combine that number with each element of the row again (cost/plan/spread.h), such as those of an RMS norm. If the elements of a row are
// contiguous, neighbouring lanes read them; if neighbouring elements belong to different rows, neighbouring threads
// work on different rows.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/computation.h"
#include "runtime/gpu/kernels/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// The elements that a thread keeps between passes; longer rows are read again in each pass.
constexpr std::int64_t most_kept = 32;
/// The threads of a warp, and the most threads of a block.
constexpr std::int64_t warp = 32, largest_block = 1024;

std::int64_t ceil_divided(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::int64_t power_of_two_from(std::int64_t number) {
  std::int64_t power = 1;
  while (power < number) power *= 2;
  return power;
}

std::vector<std::int64_t> axes_from(std::size_t first, std::size_t rank) {
  std::vector<std::int64_t> axes(rank - first);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(first));
  return axes;
}

class Rows {
 public:
  Rows(const cost::Call& call, std::int64_t multiprocessors)
      : call_(call),
        multiprocessors_(multiprocessors),
        values_(call),
        arithmetic_(arithmetic_of(call)),
        main_(call.steps.at(call.main)),
        x_(values_.extents.at(main_.operands.at(0))),
        before_(call, values_, x_),
        after_(call, values_, x_) {
    read_operator();
    trace();
    lay_out();
    spread();
  }

  SourceLaunch launch() {
    SourceLaunch launch;
    launch.name = "rows";
    launch.block = static_cast<std::uint32_t>(lanes_ * rows_in_block_);
    launch.grid[0] = grid_of(ceil_divided(rows_, rows_in_block_));
    Parameters parameters;
    for (const Access& access : accesses_) parameters.add(call_, access.is_written, access.operand);
    write_combination("total", is_integral(arithmetic_) ? "plus(v, {})" : "v + {}");
    write_combination("greatest", "maximum(v, {})");
    open_kernel(code_, launch, parameters);
    write_waiting(code_);
    if (rows_ > 0) write_kernel();
    code_.close();
    launch.source = prelude(arithmetic_) + code_.text();
    return launch;
  }

 private:
  enum class Kind : std::uint8_t { sum, mean, maximum, softmax, layer_norm };
  bool keeps_shape() const { return kind_ == Kind::softmax || kind_ == Kind::layer_norm; }

  void read_operator() {
    std::vector<std::int64_t> axes;
    bool keep = true;
    if (const auto* sum = std::get_if<op::ReduceSum>(&main_.op)) {
      kind_ = Kind::sum, axes = sum->axes, keep = sum->keep;
    } else if (const auto* mean = std::get_if<op::ReduceMean>(&main_.op)) {
      kind_ = Kind::mean, axes = mean->axes, keep = mean->keep;
    } else if (const auto* maximum = std::get_if<op::ReduceMax>(&main_.op)) {
      kind_ = Kind::maximum, axes = maximum->axes, keep = maximum->keep;
    } else if (std::holds_alternative<op::GlobalAveragePool>(main_.op)) {
      kind_ = Kind::mean, axes = axes_from(2, x_.size());
    } else if (const auto* softmax = std::get_if<op::Softmax>(&main_.op)) {
      kind_ = Kind::softmax, axes = {softmax->axis};
    } else {
      const auto* norm = std::get_if<op::LayerNorm>(&main_.op);
      check(norm != nullptr, "a reduction, softmax or layer norm");
      kind_ = Kind::layer_norm, axes = axes_from(static_cast<std::size_t>(norm->axis), x_.size());
      epsilon_ = norm->epsilon;
    }
    is_reduced_.assign(x_.size(), false);
    for (const std::int64_t axis : axes) is_reduced_[static_cast<std::size_t>(axis)] = true;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      if (is_reduced_[i] && !keeps_shape()) {
        if (keep) result_axes_.push_back(-1);
      } else {
        result_axes_.push_back(x_[i] == 1 ? -1 : static_cast<int>(i));
      }
    }
  }

  /// Collects the accesses before and after the reduction.
  void trace() {
    input_ = before_.make(main_.operands[0], aligned(x_, x_));
    std::vector<std::size_t> factors;
    for (std::size_t i = 1; i < main_.operands.size(); ++i)
      factors.push_back(after_.make(main_.operands[i], aligned(values_.extents.at(main_.operands[i]), x_)));
    after_.give(main_.first_result, result_axes_, [this, factors] {
      std::string text = main_.zeroes_nan ? "(y == y ? y : real(0))" : "y";
      if (!factors.empty()) text += " * " + after_.text(factors[0]);
      if (factors.size() > 1) text += " + " + after_.text(factors[1]);
      return text;
    });
    check(call_.results.size() == call_.written.size(), "each operand that is written is a value");
    for (std::uint32_t i = 0; i < call_.results.size(); ++i) {
      const Extents& extents = values_.extents.at(call_.results[i]);
      const bool is_spread = extents != values_.extents.at(main_.first_result);
      check(i == 0 || is_spread == is_spread_, "written operands have the same shape");
      check(!is_spread || extents == x_, "results have the shape of the main result, or of the rows");
      is_spread_ = is_spread;
      const AxisMap axes = is_spread ? aligned(x_, x_) : result_axes_;
      results_.push_back(after_.make(call_.results[i], axes));
      stores_.push_back(after_.access(true, i, axes));
    }
    accesses_ = before_.accesses();
    accesses_.insert(accesses_.end(), after_.accesses().begin(), after_.accesses().end());
  }
  std::size_t first_after() const { return before_.accesses().size(); }

  void lay_out() {
    std::vector<Axis> all = axes_of(x_, accesses_);
    const std::size_t key = largest(all, before_.accesses());
    for (std::size_t i = 0; i < all.size(); ++i) (is_reduced_[i] ? reduced_ : kept_).push_back(all[i]);
    kept_ = simplified(std::move(kept_), key);
    reduced_ = simplified(std::move(reduced_), key);
    rows_ = kernels::count(kept_);
    length_ = kernels::count(reduced_);
    all = kept_;
    all.insert(all.end(), reduced_.begin(), reduced_.end());
    is_wide_ = needs_wide_index(all, accesses_.size());
    are_neighbours_ = !reduced_.empty() && (kept_.empty() || reduced_.back().strides[key] <= kept_.back().strides[key]);
    if (are_neighbours_) width_ = vector_width(all, accesses_);
    units_ = length_ / width_;
  }

  /// Chooses the number of threads per row, and of rows per block.
  void spread() {
    const std::int64_t enough = multiprocessors_ * 1024;
    if (!are_neighbours_) {
      rows_in_block_ = warp;
      const std::int64_t fewest =
          32 / static_cast<std::int64_t>(size_of(accesses_[0].element));  // elements read at once
      while (rows_in_block_ > fewest && rows_ < rows_in_block_ * multiprocessors_) rows_in_block_ /= 2;
      lanes_ = std::min(power_of_two_from(length_), (length_ > 4096  ? 1024
                                                     : length_ > 512 ? 512
                                                                     : 256) /
                                                        rows_in_block_);
      while (lanes_ > 1 && rows_ * lanes_ > 2 * enough) lanes_ /= 2;
      if (rows_in_block_ * lanes_ < 64) rows_in_block_ = 64 / lanes_;
    } else if (units_ <= 2 * warp || (rows_ >= multiprocessors_ * 16 && units_ * width_ <= warp * most_kept)) {
      lanes_ = std::min(power_of_two_from(units_), warp);
      while (lanes_ > 1 && rows_ * lanes_ > enough && units_ * width_ * 2 <= lanes_ * 8) lanes_ /= 2;
      rows_in_block_ = (rows_ * lanes_ > multiprocessors_ * 256  ? 128
                        : rows_ * lanes_ > multiprocessors_ * 64 ? 64
                                                                 : warp) /
                       lanes_;
    } else {
      const std::int64_t each = rows_ <= multiprocessors_ * 2 ? 1 : rows_ <= multiprocessors_ * 8 ? 2 : 4;
      lanes_ = std::clamp(ceil_divided(ceil_divided(units_, each), warp) * warp, 2 * warp, largest_block);
      rows_in_block_ = 1;
    }
    units_of_lane_ = ceil_divided(units_, lanes_);
    is_kept_ = units_of_lane_ * width_ <= most_kept;
    is_exact_ = units_ % lanes_ == 0;
  }
  bool uses_memory() const { return are_neighbours_ ? lanes_ > warp : lanes_ > 1; }
  std::int64_t parts() const { return are_neighbours_ ? lanes_ / warp : lanes_; }

  /// Writes a function that combines the numbers of the lanes; all lanes get the result.
  void write_combination(std::string_view name, fmt::string_view combined) {
    const auto with = [&](std::string_view other) { return fmt::format(fmt::runtime(combined), other); };
    code_.open("__device__ inline real {}(real v, real* parts)", name);
    if (are_neighbours_ && lanes_ > 1) {
      code_.line("#pragma unroll");
      code_.line("for (int o = {}; o > 0; o /= 2) v = {};", std::min(lanes_, warp) / 2,
                 with("__shfl_xor_sync(0xffffffffu, v, o)"));
    }
    if (uses_memory()) {
      // Every lane reads the results of all: one barrier instead of several.
      const std::string own = are_neighbours_ ? fmt::format("threadIdx.x / {}u", warp) : "threadIdx.x";
      if (are_neighbours_)
        code_.line("if (threadIdx.x % {}u == 0u) parts[{}] = v;", warp, own);
      else
        code_.line("parts[{}] = v;", own);
      code_.line("__syncthreads();");
      const std::string row = are_neighbours_ ? "0u" : fmt::format("threadIdx.x % {}u", rows_in_block_);
      const std::int64_t step = are_neighbours_ ? 1 : rows_in_block_;
      code_.line("v = parts[{}];", row);
      if (parts() > 1) code_.line("#pragma unroll");
      code_.line("for (int o = 1; o < {}; ++o) v = {};", parts(), with(fmt::format("parts[o * {} + {}]", step, row)));
    }
    code_.line("return v;");
    code_.close();
  }

  std::string number(double value) const { return kernels::number(value, arithmetic_); }
  std::string at(std::int64_t value) const { return index(value, is_wide_); }
  std::string_view type() const { return index_type(is_wide_); }

  void write_kernel() {
    const bool has_two_passes = keeps_shape();
    if (uses_memory())
      code_.line("__shared__ real parts[{}];", (has_two_passes ? 2 : 1) * part_size());
    else
      code_.line("real* const parts = nullptr;");
    if (are_neighbours_)
      code_.line("const {} q = threadIdx.x % {}u, first = threadIdx.x / {}u;", type(), lanes_, lanes_);
    else
      code_.line("const {} q = threadIdx.x / {}u, first = threadIdx.x % {}u;", type(), rows_in_block_, rows_in_block_);
    code_.line("const {0} row = static_cast<{0}>(blockIdx.x) * {1} + first;", type(), at(rows_in_block_));
    // Threads beyond the end repeat the last row: every thread must reach the barriers.
    const bool is_whole = rows_ % rows_in_block_ == 0;
    code_.line("const {} o = {};", type(),
               is_whole ? "row" : fmt::format("row < {0} ? row : {1}", at(rows_), at(rows_ - 1)));
    const auto indices = write_indices(code_, "o", "o", kept_, 1, is_wide_);
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      const Access& access = accesses_[i];
      code_.line("{}{}* __restrict__ p{} = {} + ({});", access.is_written ? "" : "const ", type_text(access.element), i,
                 pointer(access.is_written, access.operand), offset_text(kept_, i, indices, 1, is_wide_));
    }
    if (!keeps_shape())
      write_reduction(is_whole);
    else if (is_kept_)
      write_kept(is_whole);
    else
      write_again(is_whole);
  }
  std::int64_t part_size() const { return are_neighbours_ ? parts() : parts() * rows_in_block_; }

  bool moves(std::size_t access) const {
    return !reduced_.empty() && reduced_.back().strides[access] != 0 && width_ > 1;
  }
  std::string element(std::size_t access, std::string_view name) const {
    return moves(access) ? fmt::format("{}{}.v[e]", name, access) : fmt::format("{}{}", name, access);
  }

  /// Reads the elements of unit `u` for the accesses from `from` to `end`.
  void write_loads(const std::vector<std::string>& indices, std::size_t from, std::size_t end) {
    for (std::size_t i = from; i < end; ++i) {
      if (accesses_[i].is_written) continue;
      const std::string offset = offset_text(reduced_, i, indices, width_, is_wide_);
      if (moves(i))
        code_.line("const auto a{0} = load<{1}>(p{0} + ({2}));", i, width_, offset);
      else
        code_.line("const auto a{0} = p{0}[{1}];", i, offset);
    }
  }
  /// Computes the input of the reduction for one unit, element by element; `use` writes what is done with it.
  template <class Use>
  void write_unit(const std::vector<std::string>& indices, Use&& use) {
    write_loads(indices, 0, first_after());
    code_.unrolled("e", width_);
    before_.restart();
    before_.write(code_, arithmetic_, [&](std::size_t access) { return element(access, "a"); });
    use(before_.text(input_));
    code_.close();
  }

  std::string sum_of(const std::string& a, const std::string& b) const {
    return is_integral(arithmetic_) ? fmt::format("plus({}, {})", a, b) : fmt::format("{} + {}", a, b);
  }
  std::string mean_of(const std::string& sum) const {
    const std::string many = number(static_cast<double>(length_));
    return is_integral(arithmetic_) ? fmt::format("divide({}, {})", sum, many) : fmt::format("{} / {}", sum, many);
  }

  /// Opens a loop over the units of a lane. Where a lane has one unit less, it reads the last unit of the row again, so
  /// that all reads can start at once; `inside` says whether the unit counts.
  void open_units(bool is_unrolled) {
    if (is_unrolled) {
      code_.unrolled("k", units_of_lane_);
      code_.line("const {} n = q + k * {};", type(), at(lanes_));
    } else {
      code_.line("#pragma unroll 4");
      code_.open("for ({} n = q; n < {}; n += {})", type(), at(ceil_divided(units_, lanes_) * lanes_), at(lanes_));
    }
    if (is_exact_) {
      code_.line("const {} u = n;", type());
      return;
    }
    code_.line("const bool inside = n < {};", at(units_));
    code_.line("const {} u = inside ? n : {};", type(), at(units_ - 1));
  }
  std::string if_inside(const std::string& text, const std::string& otherwise) const {
    return is_exact_ ? text : fmt::format("inside ? {} : {}", text, otherwise);
  }

  void write_reduction(bool is_whole) {
    const bool is_maximum = kind_ == Kind::maximum;
    code_.line("real s = {};", number(is_maximum ? -HUGE_VAL : 0));
    if (length_ > 0) {
      open_units(units_of_lane_ * width_ <= most_kept);
      write_unit(write_indices(code_, "u", "j", reduced_, width_, is_wide_), [&](const std::string& x) {
        // The repeated last unit does not change a maximum.
        code_.line("s = {};", is_maximum ? fmt::format("maximum(s, {})", x) : if_inside(sum_of("s", x), "s"));
      });
      code_.close();
    }
    code_.line("s = {}(s, parts);", is_maximum ? "greatest" : "total");
    code_.line("const real y = {};", kind_ == Kind::mean ? mean_of("s") : "s");
    if (is_spread_)
      write_spread(is_whole);
    else
      write_reduced(is_whole);
  }

  void write_reduced(bool is_whole) {
    code_.open("if (q == 0u{})", is_whole ? "" : fmt::format(" && row < {}", at(rows_)));
    after_.write(code_, arithmetic_, [&](std::size_t access) { return fmt::format("p{}[0]", first_after() + access); });
    for (std::size_t i = 0; i < stores_.size(); ++i)
      code_.line("p{}[0] = put<{}>({});", first_after() + stores_[i], type_text(call_.written[i].element),
                 after_.text(results_[i]));
    code_.close();
  }

  /// Computes what follows for every element of the row, from the number y.
  void write_spread(bool is_whole) {
    if (length_ == 0) return;
    if (!is_whole) code_.line("if (row >= {}) return;", at(rows_));
    open_units(units_of_lane_ * width_ <= most_kept);
    if (!is_exact_) code_.open("if (inside)");
    const auto indices = write_indices(code_, "u", "j", reduced_, width_, is_wide_);
    write_loads(indices, first_after(), accesses_.size());
    write_results(indices, "a", [] {});
    if (!is_exact_) code_.close();
    code_.close();
  }

  /// Writes the results of one unit; `y` writes the normalised element.
  template <class Y>
  void write_results(const std::vector<std::string>& indices, std::string_view name, Y&& y) {
    for (const std::size_t store : stores_)
      code_.line("Pack<{}, {}> a{};", type_text(accesses_[first_after() + store].element), width_,
                 first_after() + store);
    code_.unrolled("e", width_);
    y();
    after_.restart();
    after_.write(code_, arithmetic_, [&](std::size_t access) { return element(first_after() + access, name); });
    for (std::size_t i = 0; i < stores_.size(); ++i)
      code_.line("a{}.v[e] = put<{}>({});", first_after() + stores_[i], type_text(call_.written[i].element),
                 after_.text(results_[i]));
    code_.close();
    for (const std::size_t store : stores_) {
      const std::size_t access = first_after() + store;
      code_.line("store(p{} + ({}), a{});", access, offset_text(reduced_, access, indices, width_, is_wide_), access);
    }
  }

  std::string exponential(const std::string& x) const {
    return fmt::format("{}({})", arithmetic_ == Arithmetic::single ? "expf" : "exp", x);
  }
  /// Writes the numbers m and f of the row: y = (x - m) f, or for softmax y = exp(x - m) f.
  void write_scale() {
    if (kind_ == Kind::softmax)
      code_.line("const real f = {} / s;", number(1));
    else
      code_.line("const real f = {} / {}({} + {});", number(1), arithmetic_ == Arithmetic::single ? "sqrtf" : "sqrt",
                 mean_of("s"), number(epsilon_));
  }

  /// Keeps the row in registers. Operands needed afterwards are read along with it, if there is room.
  void write_kept(bool is_whole) {
    check(!is_integral(arithmetic_), "integers have neither softmax nor layer norm");
    std::int64_t later = 0;
    for (std::size_t i = first_after(); i < accesses_.size(); ++i)
      if (!accesses_[i].is_written) later += moves(i) ? width_ : 1;
    const bool is_read_ahead = later * units_of_lane_ <= most_kept;
    code_.line("real v[{}][{}];", units_of_lane_, width_);
    if (is_read_ahead)
      for (std::size_t i = first_after(); i < accesses_.size(); ++i)
        if (!accesses_[i].is_written)
          code_.line("{} b{}[{}];",
                     moves(i) ? fmt::format("Pack<{}, {}>", type_text(accesses_[i].element), width_)
                              : std::string(type_text(accesses_[i].element)),
                     i, units_of_lane_);
    open_units(true);
    auto indices = write_indices(code_, "u", "j", reduced_, width_, is_wide_);
    write_unit(indices, [&](const std::string& x) { code_.line("v[k][e] = {};", x); });
    if (is_read_ahead)
      for (std::size_t i = first_after(); i < accesses_.size(); ++i)
        if (!accesses_[i].is_written) {
          const std::string offset = offset_text(reduced_, i, indices, width_, is_wide_);
          code_.line(
              "b{0}[k] = {1};", i,
              moves(i) ? fmt::format("load<{}>(p{} + ({}))", width_, i, offset) : fmt::format("p{}[{}]", i, offset));
        }
    code_.close();

    const auto each = [&](auto&& body) {
      code_.unrolled("k", units_of_lane_);
      if (!is_exact_) code_.line("const bool inside = q + k * {} < {};", at(lanes_), at(units_));
      code_.unrolled("e", width_);
      body();
      code_.close();
      code_.close();
    };
    const bool is_softmax = kind_ == Kind::softmax;
    code_.line("real m = {};", is_softmax ? "v[0][0]" : number(0));
    each([&] { code_.line("m = {};", is_softmax ? "maximum(m, v[k][e])" : if_inside("m + v[k][e]", "m")); });
    code_.line("m = {}(m, parts);", is_softmax ? "greatest" : "total");
    if (!is_softmax) code_.line("m = {};", mean_of("m"));
    code_.line("real s = {};", number(0));
    each([&] {
      code_.line("v[k][e] = {};", is_softmax ? exponential("v[k][e] - m") : "v[k][e] - m");
      code_.line("s = {};", if_inside(is_softmax ? "s + v[k][e]" : "s + v[k][e] * v[k][e]", "s"));
    });
    code_.line("s = total(s, parts{});", uses_memory() ? fmt::format(" + {}", part_size()) : "");
    write_scale();
    if (!is_whole) code_.line("if (row >= {}) return;", at(rows_));
    open_units(true);
    if (!is_exact_) code_.open("if (inside)");
    indices = write_indices(code_, "u", "j", reduced_, width_, is_wide_);
    if (!is_read_ahead)
      write_loads(indices, first_after(), accesses_.size());
    else
      for (std::size_t i = first_after(); i < accesses_.size(); ++i)
        if (!accesses_[i].is_written) code_.line("const auto a{0} = b{0}[k];", i);
    write_results(indices, "a", [&] { code_.line("const real y = v[k][e] * f;"); });
    if (!is_exact_) code_.close();
    code_.close();
  }

  /// Reads the row in each of three passes.
  void write_again(bool is_whole) {
    check(!is_integral(arithmetic_), "integers have neither softmax nor layer norm");
    const bool is_softmax = kind_ == Kind::softmax;
    const auto pass = [&](const std::function<std::string(const std::string&)>& next, const char* to) {
      open_units(false);
      write_unit(write_indices(code_, "u", "j", reduced_, width_, is_wide_),
                 [&](const std::string& x) { code_.line("{} = {};", to, if_inside(next(x), to)); });
      code_.close();
    };
    code_.line("real m = {};", number(is_softmax ? -HUGE_VAL : 0));
    pass([&](const std::string& x) { return is_softmax ? fmt::format("maximum(m, {})", x) : "m + " + x; }, "m");
    code_.line("m = {}(m, parts);", is_softmax ? "greatest" : "total");
    if (!is_softmax) code_.line("m = {};", mean_of("m"));
    code_.line("real s = {};", number(0));
    pass(
        [&](const std::string& x) {
          return is_softmax ? "s + " + exponential(x + " - m") : fmt::format("s + ({0} - m) * ({0} - m)", x);
        },
        "s");
    code_.line("s = total(s, parts{});", uses_memory() ? fmt::format(" + {}", part_size()) : "");
    write_scale();
    if (!is_whole) code_.line("if (row >= {}) return;", at(rows_));
    open_units(false);
    if (!is_exact_) code_.open("if (inside)");
    const auto indices = write_indices(code_, "u", "j", reduced_, width_, is_wide_);
    code_.line("real x[{}];", width_);
    write_unit(indices, [&](const std::string& x) { code_.line("x[e] = {};", x); });
    write_loads(indices, first_after(), accesses_.size());
    write_results(indices, "a", [&] {
      code_.line("const real y = {};", is_softmax ? exponential("x[e] - m") + " * f" : "(x[e] - m) * f");
    });
    if (!is_exact_) code_.close();
    code_.close();
  }

  const cost::Call& call_;
  std::int64_t multiprocessors_;
  Values values_;
  Arithmetic arithmetic_;
  const cost::Call::Step& main_;
  const Extents& x_;
  Computation before_, after_;
  Kind kind_ = Kind::sum;
  double epsilon_ = 0;
  std::vector<bool> is_reduced_;
  AxisMap result_axes_;
  std::size_t input_ = 0;
  std::vector<std::size_t> results_, stores_;
  bool is_spread_ = false;        ///< whether there is a result for each element of a row
  std::vector<Access> accesses_;  ///< before the reduction, then after it
  std::vector<Axis> kept_, reduced_;
  std::int64_t rows_ = 0, length_ = 0;
  std::int64_t width_ = 1, units_ = 0;  ///< elements moved at once, and their number of groups in a row
  bool is_wide_ = false, are_neighbours_ = false;
  std::int64_t lanes_ = 1, rows_in_block_ = 1, units_of_lane_ = 0;
  bool is_kept_ = false, is_exact_ = false;
  Code code_;
};

}  // namespace

SourceLaunch rows_source(const cost::Call& call, std::int64_t multiprocessors) {
  return Rows(call, multiprocessors).launch();
}

}  // namespace taso::gpu
