// Products of few rows, as in a decoder, a classifier, or where an image was pooled to one value per channel. Every
// weight is read once, so that the memory decides their time: many loads have to be under way all the time, also while
// the kernel before this one ends. Tensor cores would be mostly idle. A block has some columns and, in a cluster, a
// part of the depth.
#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/gpu/kernels/product_call.h"
#include "runtime/gpu/kernels/source.h"
#include "runtime/gpu/kernels/stream_text.h"
#include "runtime/gpu/kernels/tensor_text.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// How a product is cut.
struct Cut {
  std::int64_t tile = 0;   ///< columns of a block
  std::int64_t width = 0;  ///< chunks that a thread reads at one place
  std::int64_t split = 1;  ///< blocks that share the depth
  std::int64_t part = 0;   ///< depth of a block
  /// If not 0, so many blocks have all columns: each warp takes `width` columns after `width` others.
  std::int64_t blocks = 0;
  std::string name() const {
    return blocks > 0 ? fmt::format("stream {} of {}", width, blocks) : fmt::format("stream {} split {}", tile, split);
  }
};

class RowProduct {
 public:
  explicit RowProduct(const cost::Call& call)
      : call_(call), main_(call.steps.at(call.main)), values_(call), y_(values_.extents.at(main_.first_result)) {
    can_be_done_ = is_plain_product(call, values_) &&
                   (std::holds_alternative<op::Conv>(main_.op) ? trace_convolution() : trace_matmul()) && is_fit();
  }
  bool can_be_done() const { return can_be_done_; }

  std::vector<Cut> best_cuts(std::int64_t multiprocessors) const {
    std::vector<std::pair<double, Cut>> rated;
    for (const std::int64_t split : {1, 2, 4, 8})
      for (const Cut& cut : cuts(split)) {
        // Three blocks per multiprocessor keep enough loads under way. Meeting others takes time.
        const double blocks = static_cast<double>(tiles(cut) * split) / static_cast<double>(3 * multiprocessors);
        rated.emplace_back(std::abs(std::log2(blocks)) + 0.1 * std::log2(static_cast<double>(split)), cut);
      }
    std::stable_sort(rated.begin(), rated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Cut> best = endless_cuts(multiprocessors);
    for (std::size_t i = 0; i < rated.size() && i < most_cuts; ++i) best.push_back(rated[i].second);
    return best;
  }

  SourceLaunch launch(const Cut& cut) const {
    SourceLaunch launch;
    launch.name = "row_product";
    launch.block = threads;
    launch.shared_bytes = static_cast<std::uint32_t>(shared_bytes(cut));
    launch.cluster = static_cast<std::uint32_t>(cut.split);
    launch.grid[0] = grid_of(cut.blocks > 0 ? cut.blocks : tiles(cut) * cut.split);
    Computation after(call_, values_, y_);
    const AxisMap axes = aligned(y_, y_);
    std::optional<std::size_t> bias;
    if (main_.operands.size() > 2) bias = after.make(main_.operands[2], {axes[1]});
    after.give(main_.first_result, axes, [&] { return bias ? "total + " + after.text(*bias) : std::string("total"); });
    const Computation::Stored stored = after.store_result();
    Parameters parameters;
    parameters.add(call_, false, main_.operands[0]);
    parameters.add(call_, false, main_.operands[1]);
    for (const Access& access : after.accesses()) parameters.add(call_, access.is_written, access.operand);

    Code code;
    code.line("typedef {} element;", type_text(operand(1).element));
    code.line("constexpr int in_chunk = {}, rows = {}, columns = {}, depth = {}, pitch = {}, threads = {};", in_chunk(),
              rows_, columns_, depth_, pitch_, threads);
    code.line("constexpr int tile = {}, width = {}, split = {}, part = {}, in_flight = {};", cut.tile, cut.width,
              cut.split, cut.part, in_flight);
    code.line("constexpr bool are_columns_neighbours = {}, is_right_weight = {};", are_columns_neighbours_,
              operand(1).is_weight);
    code.add(stream_sizes);
    code.add(stream_functions);
    open_kernel(code, launch, parameters);
    code.line("const element* __restrict__ right = {};", pointer(false, main_.operands[1]));
    code.add(cut.blocks > 0 ? stream_columns_begin : stream_begin);
    write_left(code);
    if (cut.blocks > 0) {
      code.line("__syncthreads();");
      code.open("for (; column < columns; column += all)");
      code.add(stream_columns);
      code.open("if (row < rows && n < columns)");
      write_result(code, after, stored);
      code.close();
      code.close();
    } else {
      code.add(stream_sums);
      write_results(code, after, stored);
      code.line("if (split > 1) cluster_wait();  // until what was sent from here has arrived");
    }
    code.close();
    launch.source = prelude(Arithmetic::single) + std::string(tensor_instructions) + code.text();
    return launch;
  }

 private:
  /// Rows; sums of a thread; threads of a block; chunks that a thread reads at once; cuts that are tried.
  static constexpr std::int64_t most_rows = 8, most_sums = 32, threads = 256, in_flight = 8;
  static constexpr std::size_t most_cuts = 6;

  const cost::Call::Operand& operand(std::size_t number) const { return call_.read[main_.operands[number]]; }
  std::int64_t in_chunk() const { return elements_in_chunk(operand(1)); }
  std::int64_t tiles(const Cut& cut) const { return (columns_ + cut.tile - 1) / cut.tile; }
  std::int64_t shared_bytes(const Cut& cut) const {
    const std::int64_t slices = are_columns_neighbours_ ? threads / 32 : 1;
    return 4 * rows_ * (cut.part + (cut.blocks > 0 ? 0 : (slices + 2) * cut.tile)) + 16;
  }

  /// The ways to cut the columns, with the depth cut into so many parts.
  std::vector<Cut> cuts(std::int64_t split) const {
    std::vector<Cut> all;
    const auto add = [&](std::int64_t tile, std::int64_t width) {
      const std::int64_t part = ((depth_ + split - 1) / split + 7) / 8 * 8;
      const Cut cut{tile, width, split, part};
      const bool has_work = (split - 1) * part < depth_ && (split == 1 || part >= 64);
      if (has_work && rows_ * tile % (4 * split) == 0 && shared_bytes(cut) <= most_shared_bytes) all.push_back(cut);
    };
    if (are_columns_neighbours_) {
      for (const std::int64_t across : {8, 16, 32}) add(across * in_chunk(), 4);
    } else {
      for (const std::int64_t width : {2, 4}) add(threads / 32 * width, width);
    }
    return all;
  }

  /// The ways in which warps take columns by themselves, if there are enough of them.
  std::vector<Cut> endless_cuts(std::int64_t multiprocessors) const {
    std::vector<Cut> all;
    const std::int64_t warps = threads / 32, part = (depth_ + 7) / 8 * 8;
    if (are_columns_neighbours_ || 4 * rows_ * part > most_shared_bytes) return all;
    for (const std::int64_t width : {2, 1, 4})
      for (const std::int64_t each : {2, 3}) {
        const std::int64_t useful = (columns_ + warps * width - 1) / (warps * width);
        const Cut cut{warps * width, width, 1, part, std::min(useful, each * multiprocessors)};
        const bool is_known = !all.empty() && all.back().name() == cut.name();
        if (useful >= multiprocessors && !is_known) all.push_back(cut);
      }
    return all;
  }

  bool is_fit() const {
    const cost::Call::Operand& right = operand(1);
    if (rows_ > most_rows || rows_ * (are_columns_neighbours_ ? in_chunk() : 4) > most_sums) return false;
    return (are_columns_neighbours_ ? columns_ : depth_) % in_chunk() == 0 && alignment_of(right) == 16;
  }

  /// A convolution of single pixels with single pixels.
  bool trace_convolution() {
    const auto& conv = std::get<op::Conv>(main_.op);
    const cost::Call::Operand &x = operand(0), &w = operand(1);
    const auto is_pixel = [](const Extents& extents) {
      return std::all_of(extents.begin() + 2, extents.end(), [](std::int64_t extent) { return extent == 1; });
    };
    const bool has_pads = std::any_of(conv.pads.begin(), conv.pads.end(), [](std::int64_t pad) { return pad != 0; });
    if (conv.groups != 1 || has_pads || !is_pixel(x.extents) || !is_pixel(w.extents)) return false;
    rows_ = x.extents[0];
    depth_ = x.extents[1];
    columns_ = w.extents[0];
    left_rows_ = {{rows_, {x.strides[0]}}};
    left_step_ = x.strides[1];
    return take_right(w.strides[1], w.strides[0]);
  }

  bool trace_matmul() {
    const cost::Call::Operand &a = operand(0), &b = operand(1);
    if (a.extents.size() < 2 || b.extents.size() < 2 || y_.size() != a.extents.size()) return false;
    for (std::size_t i = 0; i + 2 < b.extents.size(); ++i)
      if (b.extents[i] != 1) return false;
    columns_ = y_.back();
    depth_ = a.extents.back();
    rows_ = ops::count(y_) / columns_;
    for (std::size_t i = 0; i + 1 < y_.size(); ++i) left_rows_.push_back({y_[i], {a.strides[i]}});
    left_step_ = a.strides.back();
    return take_right(b.strides[b.strides.size() - 2], b.strides.back());
  }

  /// The strides of the right factor along the depth and the columns.
  bool take_right(std::int64_t down, std::int64_t across) {
    are_columns_neighbours_ = down != 1 && depth_ > 1;
    pitch_ = are_columns_neighbours_ ? down : across;
    return !are_columns_neighbours_ || across == 1 || columns_ == 1;
  }

  /// Copies the block's part of the left factor into shared memory, with zeros behind its end.
  void write_left(Code& code) const {
    code.open("for (int u = thread; u < rows * (part / 2); u += threads)");
    code.line("const unsigned m = static_cast<unsigned>(u / (part / 2));");
    code.line("const int k = u % (part / 2) * 2;");
    std::vector<Axis> axes = left_rows_;
    merge(axes);
    const std::vector<std::string> indices = write_indices(code, "m", "i", axes, 1, false);
    code.line("const element* __restrict__ from = {} + ({});", pointer(false, main_.operands[0]),
              offset_text(axes, 0, indices, 1, false));
    const auto value = [&](int next) {
      return fmt::format("begin + k + {0} < end ? get(from[(begin + k + {0}) * {1}]) : 0", next, left_step_);
    };
    code.line("keep(left + static_cast<word>(u * 8), {}, {});", value(0), value(1));
    code.close();
  }

  void write_results(Code& code, Computation& after, const Computation::Stored& stored) const {
    code.open("for (int q = thread; q < own_quads; q += threads)");
    code.line("const int at = (rank * own_quads + q) * 4;");
    code.add(stream_total);
    code.unrolled("e", 4);
    code.line("const int row = at / tile, n = first_column + at % tile + e;");
    code.line("const float total = totals[e];");
    code.open("if (n < columns)");
    write_result(code, after, stored);
    code.close();
    code.close();
    code.close();
  }
  /// What becomes of the `total` of a row and a column.
  void write_result(Code& code, Computation& after, const Computation::Stored& stored) const {
    const std::vector<Access>& accesses = after.accesses();
    std::vector<Axis> axes = axes_of(y_, accesses);
    merge(axes);
    code.line("const unsigned flat = static_cast<unsigned>(row * columns + n);");
    const std::vector<std::string> indices = write_indices(code, "flat", "i", axes, 1, false);
    const auto element = [&](std::size_t i) {
      return fmt::format("{}[{}]", pointer(accesses[i].is_written, accesses[i].operand),
                         offset_text(axes, i, indices, 1, false));
    };
    after.write(code, Arithmetic::single, element);
    code.line("{} = put<element>({});", element(stored.access), after.text(stored.result));
  }

  const cost::Call& call_;
  const cost::Call::Step& main_;
  Values values_;
  const Extents& y_;
  bool can_be_done_ = false, are_columns_neighbours_ = false;
  std::int64_t rows_ = 0, columns_ = 0, depth_ = 0, pitch_ = 0;
  std::vector<Axis> left_rows_;  ///< the rows of the left factor
  std::int64_t left_step_ = 1;   ///< along the depth
};

}  // namespace

std::vector<std::pair<std::string, SourceLaunch>> row_product_sources(const cost::Call& call,
                                                                      std::int64_t multiprocessors) {
  std::vector<std::pair<std::string, SourceLaunch>> ways;
  const RowProduct product(call);
  if (!product.can_be_done()) return ways;
  for (const Cut& cut : product.best_cuts(multiprocessors)) ways.emplace_back(cut.name(), product.launch(cut));
  return ways;
}

}  // namespace taso::gpu
