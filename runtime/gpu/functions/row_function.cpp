#include <algorithm>
#include <limits>

#include "cost/functions/formula.h"
#include "ops/core/error.h"
#include "runtime/gpu/functions/formula_text.h"
#include "runtime/gpu/functions/source.h"
#include "runtime/gpu/kernels/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;
using Combine = cost::RowPass::Combine;

struct RowAxis {
  std::int64_t extent = 1, stride = 1;
};

std::int64_t product(const std::vector<RowAxis>& axes) {
  std::int64_t result = 1;
  for (const RowAxis& axis : axes) result *= axis.extent;
  return result;
}

std::int64_t power_of_two(std::int64_t least) {
  std::int64_t power = 1;
  while (power < least) power *= 2;
  return power;
}

/// The offset of the element with this number in row-major order.
std::string offset_of(const std::string& number, const std::vector<RowAxis>& axes) {
  std::string text;
  std::int64_t below = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::string divided = below == 1 ? number : fmt::format("{} / {}u", number, below);
    const std::string index = i == 0 ? divided : fmt::format("{} % {}u", divided, axes[i].extent);
    text = fmt::format("{} * {}u{}{}", index, axes[i].stride, text.empty() ? "" : " + ", text);
    below *= axes[i].extent;
  }
  return text.empty() ? "0u" : text;
}

class RowKernel {
 public:
  explicit RowKernel(const cost::Call& call)
      : call_(call),
        what_(call.function->what),
        formula_(*cost::find_row_formula(what_.name)),
        arithmetic_(arithmetic_of(call)) {
    has_scale_ = what_.name == "Normalization" || what_.name == "RMSNormalization";
    const std::size_t end = what_.integers.size() - (has_scale_ ? 4 : 0);
    std::int64_t stride = 1;
    for (std::size_t i = end; i > 0; i -= 2) {
      const bool is_row = what_.integers[i - 1] != 0;
      if (i == end) is_row_last_ = is_row;
      std::vector<RowAxis>& axes = is_row ? row_ : kept_;
      axes.insert(axes.begin(), {what_.integers[i - 2], stride});
      stride *= what_.integers[i - 2];
    }
    is_wide_ = stride >= (std::int64_t{1} << 31);
    length_ = product(row_);
    rows_ = product(kept_);
    choose_threads();
  }

  SourceLaunch make() {
    SourceLaunch launch;
    launch.name = "row_function";
    launch.block = static_cast<std::uint32_t>(lanes_ * together_);
    launch.grid[0] = grid_of((rows_ + together_ - 1) / together_);
    Parameters parameters;
    for (const std::uint32_t operand : call_.function->operands)
      if (operand != cost::Call::Function::omitted) parameters.add(call_, false, operand);
    parameters.add(call_, true, 0);
    open_kernel(code_, launch, parameters);
    const std::string_view type = index_type(is_wide_);
    const std::int64_t shared = is_row_last_ ? lanes_ / 32 * together_ : lanes_ * together_;
    if (lanes_ > (is_row_last_ ? 32 : 1)) code_.line("__shared__ real shared[{}];", shared);
    write_waiting(code_);
    code_.line("const {} lane = threadIdx.x {} {}u, own = threadIdx.x {} {}u;", type, is_row_last_ ? '%' : '/',
               is_row_last_ ? lanes_ : together_, is_row_last_ ? '/' : '%', is_row_last_ ? lanes_ : together_);
    code_.line("const {0} wanted = static_cast<{0}>(blockIdx.x) * {1}u + own;", type, together_);
    code_.line("const {} row = wanted < {}u ? wanted : {}u;", type, rows_, rows_ - 1);
    code_.line("const {} begin = {};", type, offset_of("row", kept_));
    code_.line("const real n = {};", number(static_cast<double>(length_), arithmetic_));
    if (is_kept_) keep_elements();
    for (const cost::RowPass& pass : formula_.passes) write_pass(pass);
    write_result();
    code_.close();
    launch.source = prelude(arithmetic_) + definitions_for(code_.text(), arithmetic_) + code_.text();
    return launch;
  }

 private:
  /// Neighbouring threads read neighbouring elements: of one row if its last axis is the last of all, else of
  /// neighbouring rows.
  void choose_threads() {
    constexpr std::int64_t many = 4 * usual_multiprocessors;
    if (is_row_last_) {
      lanes_ = std::min<std::int64_t>(power_of_two((length_ + 3) / 4), rows_ >= many ? 256 : 1024);
      together_ = std::clamp<std::int64_t>(128 / lanes_, 1, power_of_two(rows_));
      if (lanes_ * together_ < 32) together_ = 32 / lanes_;
    } else {
      together_ = 32;
      lanes_ = std::min<std::int64_t>(power_of_two((length_ + 7) / 8), rows_ / together_ >= 2 * many ? 4 : 32);
    }
    each_ = (length_ + lanes_ - 1) / lanes_;
    is_kept_ = each_ <= 16 && formula_.passes.size() + (formula_.is_map ? 1 : 0) > 1;
  }

  std::string address(const std::string& place) const { return fmt::format("begin + ({})", offset_of(place, row_)); }
  std::string read(const std::string& place) const {
    return fmt::format("get({}[{}])", pointer(false, call_.function->operands[0]), address(place));
  }

  /// A loop over the elements of this thread: x, its number and its place.
  void open_loop() {
    if (is_kept_) {
      code_.unrolled("q", each_);
      code_.line("const {0} number = lane + static_cast<{0}>(q) * {1}u;", index_type(is_wide_), lanes_);
      code_.open("if (number < {}u)", length_);
      code_.line("const real x = kept[q];");
    } else {
      code_.add("#pragma unroll 4");
      code_.open("for ({} number = lane; number < {}u; number += {}u)", index_type(is_wide_), length_, lanes_);
      code_.line("const real x = {};", read("number"));
    }
    code_.line("const real j = static_cast<real>(number);");
    code_.line("(void)j;");
  }
  void close_loop() {
    code_.close();
    if (is_kept_) code_.close();
  }

  void keep_elements() {
    code_.line("real kept[{}];", each_);
    code_.unrolled("q", each_);
    code_.line("const {0} number = lane + static_cast<{0}>(q) * {1}u;", index_type(is_wide_), lanes_);
    code_.line("kept[q] = number < {}u ? {} : real(0);", length_, read("number"));
    code_.close();
  }

  static std::string_view name_of(Combine combine) {
    switch (combine) {
      case Combine::sum: return "added";
      case Combine::product: return "multiplied";
      case Combine::maximum: return "maximum";
      case Combine::minimum: break;
    }
    return "minimum";
  }
  std::string start_of(Combine combine) const {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    switch (combine) {
      case Combine::sum: return number(0, arithmetic_);
      case Combine::product: return number(1, arithmetic_);
      case Combine::maximum: return number(-infinite, arithmetic_);
      case Combine::minimum: break;
    }
    return number(infinite, arithmetic_);
  }
  std::string text(std::string_view formula) const { return text_of(formula, {{}, {}, what_.numbers}, arithmetic_); }

  void write_pass(const cost::RowPass& pass) {
    const std::string_view combine = name_of(pass.combine);
    code_.line("real {};", pass.name);
    code_.open("");
    code_.line("real t = {};", start_of(pass.combine));
    open_loop();
    code_.line("t = {}(t, {});", combine, text(pass.term));
    close_loop();
    if (is_row_last_) {
      for (std::int64_t with = std::min<std::int64_t>(lanes_, 32) / 2; with > 0; with /= 2)
        code_.line("t = {}(t, __shfl_xor_sync(0xffffffffu, t, {}));", combine, with);
      if (lanes_ > 32) {
        code_.line("if (lane % 32u == 0u) shared[threadIdx.x / 32u] = t;");
        meet(combine, fmt::format("own * {}u", lanes_ / 32), lanes_ / 32, 1);
      }
    } else if (lanes_ > 1) {
      code_.line("shared[threadIdx.x] = t;");
      meet(combine, "own", lanes_, together_);
    }
    code_.line("{} = {};", pass.name, text(pass.after));
    code_.close();
  }
  /// Combines the totals of all threads of a row.
  void meet(std::string_view combine, const std::string& first, std::int64_t count, std::int64_t step) {
    code_.line("__syncthreads();");
    code_.line("t = shared[{}];", first);
    code_.line("for (unsigned q = 1u; q < {}u; ++q) t = {}(t, shared[{} + q * {}u]);", count, combine, first, step);
    code_.line("__syncthreads();");
  }

  void write_result() {
    const std::string_view type = type_text(call_.written[0].element);
    if (!formula_.is_map) {
      code_.line("if (wanted < {}u && lane == 0u) w0[row] = put<{}>(static_cast<real>({}));", rows_, type,
                 text(formula_.result));
      return;
    }
    code_.open("if (wanted < {}u)", rows_);
    open_loop();
    code_.line("const {} at = {};", index_type(is_wide_), address("number"));
    if (has_scale_) {
      const std::size_t places = what_.integers.size() - 4;
      for (std::size_t i = 0; i < 2; ++i) {
        const std::uint32_t operand = call_.function->operands.at(1 + i);
        const std::string_view name = i == 0 ? "scale" : "bias";
        if (operand == cost::Call::Function::omitted)
          code_.line("const real {} = real({});", name, i == 0 ? 1 : 0);
        else
          code_.line("const real {} = get({}[at / {}u % {}u]);", name, pointer(false, operand),
                     what_.integers[places + 2 * i], what_.integers[places + 2 * i + 1]);
        code_.line("(void){};", name);
      }
    }
    code_.line("w0[at] = put<{}>(static_cast<real>({}));", type, text(formula_.result));
    close_loop();
    code_.close();
  }

  const cost::Call& call_;
  const cost::DeviceFunction& what_;
  const cost::RowFormula& formula_;
  Arithmetic arithmetic_;
  std::vector<RowAxis> kept_, row_;
  bool is_row_last_ = true, has_scale_ = false, is_wide_ = false, is_kept_ = false;
  std::int64_t length_ = 1, rows_ = 1;
  std::int64_t lanes_ = 1;     // threads for one row
  std::int64_t together_ = 1;  // rows of one block
  std::int64_t each_ = 1;      // elements of one thread
  Code code_;
};

}  // namespace

SourceLaunch row_function_source(const cost::Call& call) { return RowKernel(call).make(); }

}  // namespace taso::gpu
