// Convolutions and matmuls on tensor cores, for products too small to fill the whole chip. Libraries cut a product into
// tiles, and a small one has few. This kernel also cuts the depth of a tile among the blocks of a cluster, which add up
// their sums through distributed shared memory. The next kernel starts, and fetches its weights, while this one still
// runs. Element-wise operators after the product are applied before its results are written, in any layout.
#include <algorithm>
#include <array>
#include <cmath>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/product_call.h"
#include "runtime/gpu/kernels/source.h"
#include "runtime/gpu/kernels/tensor_text.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// How a product is tiled.
struct Tile {
  std::int64_t rows = 0, columns = 0, warps_down = 1, warps_across = 1, stages = 4, split = 1;
  std::int64_t threads() const { return 32 * warps_down * warps_across; }
  /// The stages of copies, and the sums that the blocks of a cluster write.
  std::int64_t shared_bytes() const { return stages * (rows + columns) * 128 + rows * (columns + 8) * 4 + 16; }
  std::string name() const { return fmt::format("tensor {}x{} split {} stages {}", rows, columns, split, stages); }
};

constexpr std::array<Tile, 10> tiles{{{64, 64, 2, 2},
                                      {32, 64, 1, 2},
                                      {64, 32, 2, 1},
                                      {32, 32, 2, 2},
                                      {16, 64, 1, 2},
                                      {16, 32, 1, 1},
                                      {128, 32, 4, 1},
                                      {128, 64, 2, 2},
                                      {64, 128, 2, 4},
                                      {128, 128, 2, 4}}};
constexpr std::array<std::int64_t, 5> splits{1, 2, 4, 8, 16};
constexpr std::size_t most_ways = 6;
constexpr std::int64_t least_of_group = 16;  ///< filters; fewer leave most of a tile empty

/// The product of a call, as far as this kernel supports it.
class TensorProduct {
 public:
  explicit TensorProduct(const cost::Call& call)
      : call_(call), main_(call.steps.at(call.main)), values_(call), y_(values_.extents.at(main_.first_result)) {
    can_be_done_ = is_plain_product(call_, values_) &&
                   (std::holds_alternative<op::Conv>(main_.op) ? trace_convolution() : trace_matmul());
  }
  bool can_be_done() const { return can_be_done_; }

  std::vector<Tile> best_tiles(std::int64_t multiprocessors) const {
    std::vector<std::pair<double, Tile>> rated;
    for (Tile tile : tiles) {
      if (!fits(tile)) continue;
      for (const std::int64_t split : splits)
        for (const std::int64_t stages : {4, 3}) {
          tile.split = split;
          tile.stages = stages;
          if (split > std::min(slabs(), tile.rows) || (split > 1 && blocks(tile) > 5 * multiprocessors)) continue;
          if (tile.shared_bytes() <= most_shared_bytes) rated.emplace_back(estimate(tile, multiprocessors), tile);
        }
    }
    std::stable_sort(rated.begin(), rated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Tile> best;
    for (std::size_t i = 0; i < rated.size() && i < most_ways; ++i) best.push_back(rated[i].second);
    return best;
  }

  SourceLaunch launch(const Tile& tile) {
    SourceLaunch launch;
    launch.name = "tensor_product";
    launch.block = static_cast<std::uint32_t>(tile.threads());
    launch.shared_bytes = static_cast<std::uint32_t>(tile.shared_bytes());
    launch.cluster = static_cast<std::uint32_t>(tile.split);
    launch.grid = {grid_of(tiles_of(tile) * tile.split), grid_of(batches()), 1};
    Computation after = epilogue();
    Parameters parameters;
    parameters.add(call_, false, main_.operands[0]);
    parameters.add(call_, false, main_.operands[1]);
    for (const Access& access : after.accesses()) parameters.add(call_, access.is_written, access.operand);

    Code code;
    write_constants(code, tile);
    code.add(tensor_sizes);
    code.add(tensor_rounding);
    write_rows(code);
    open_kernel(code, launch, parameters);
    for (std::size_t i = 0, rest = 1; i < batch_.size(); rest *= static_cast<std::size_t>(y_[batch_[i++]]))
      code.line("const int b{} = static_cast<int>(blockIdx.y) / {} % {};", batch_[i], rest, y_[batch_[i]]);
    if (groups_ > 1) code.line("const int group = static_cast<int>(blockIdx.y);");
    write_factor(code, "left", main_.operands[0], left_batch_, operand(1).extents[1]);
    write_factor(code, "right", main_.operands[1], right_batch_, columns_ * right_pitch_);
    code.add(tensor_sums);
    write_results(code, after);
    code.close();
    launch.source = prelude(Arithmetic::single) + std::string(tensor_instructions) + code.text();
    return launch;
  }

 private:
  const cost::Call::Operand& operand(std::size_t number) const { return call_.read[main_.operands[number]]; }
  /// Whether all bits of float32 count.
  bool is_exact() const {
    return operand(0).element == ElementType::float32 && call_.precision == cost::Precision::fp32;
  }
  std::int64_t in_chunk() const { return elements_in_chunk(operand(0)); }
  std::int64_t slabs() const { return (depth_ + 8 * in_chunk() - 1) / (8 * in_chunk()); }
  std::int64_t tiles_of(const Tile& tile) const {
    return (rows_ + tile.rows - 1) / tile.rows * ((columns_ + tile.columns - 1) / tile.columns);
  }
  std::int64_t batches() const {
    std::int64_t many = groups_;
    for (const std::size_t axis : batch_) many *= y_[axis];
    return many;
  }
  std::int64_t blocks(const Tile& tile) const { return tiles_of(tile) * tile.split * batches(); }

  bool trace_convolution() {
    const auto& conv = std::get<op::Conv>(main_.op);
    const cost::Call::Operand &x = operand(0), &w = operand(1);
    const std::size_t rank = conv.strides.size();
    if (rank < 1 || rank > 3) return false;
    groups_ = conv.groups;
    column_ = 1;
    columns_ = w.extents[0] / groups_;
    if (groups_ > 1 && (columns_ < least_of_group || groups_ > 65535)) return false;
    // Filters must be dense, with channels innermost.
    std::int64_t step = 1;
    const auto is_next = [&](std::size_t axis) {
      const bool fits = w.extents[axis] == 1 || w.strides[axis] == step;
      step *= w.extents[axis];
      return fits;
    };
    if (!is_next(1)) return false;
    for (std::size_t a = rank; a-- > 0;)
      if (!is_next(2 + a)) return false;
    depth_ = right_pitch_ = step;
    if (!is_next(0) || (x.strides[1] != 1 && x.extents[1] > 1)) return false;
    are_chunks_whole_ = w.extents[1] % in_chunk() == 0 && alignment_of(x) == 16;
    if (!are_chunks_whole_ && in_chunk() != 4) return false;
    row_axes_ = {0};
    for (std::size_t a = 0; a < rank; ++a) row_axes_.push_back(2 + a);
    rows_ = ops::count(y_) / y_[1];
    is_right_weight_ = w.is_weight;
    return true;
  }

  bool trace_matmul() {
    const cost::Call::Operand &a = operand(0), &b = operand(1);
    if (a.extents.size() < 2 || b.extents.size() < 2 || y_.size() < 2) return false;
    const std::size_t rank = y_.size(), a_rank = a.extents.size(), b_rank = b.extents.size();
    column_ = rank - 1;
    columns_ = y_.back();
    depth_ = a.extents.back();
    const auto stride = [](const cost::Call::Operand& one, std::size_t from_end) {
      return one.strides[one.strides.size() - from_end];
    };
    if (stride(a, 1) != 1 && depth_ > 1) return false;
    if (depth_ % in_chunk() != 0 || alignment_of(a) != 16 || alignment_of(b) != 16) return false;
    are_chunks_whole_ = true;
    if (stride(b, 2) == 1) {
      right_pitch_ = stride(b, 1);
    } else {
      are_columns_neighbours_ = stride(b, 1) == 1 && columns_ % in_chunk() == 0;
      right_pitch_ = stride(b, 2);
      if (!are_columns_neighbours_) return false;
    }
    // If all batches share one right factor, their rows belong to one product.
    bool is_shared = true;
    for (std::size_t i = 0; i + 2 < b_rank; ++i) is_shared = is_shared && b.extents[i] == 1;
    for (std::size_t i = 0; i + 2 < rank; ++i) {
      (is_shared ? row_axes_ : batch_).push_back(i);
      const auto along = [&](const cost::Call::Operand& one, std::size_t own_rank) {
        const std::size_t missing = rank - own_rank;
        return i < missing || one.extents[i - missing] == 1 ? 0 : one.strides[i - missing];
      };
      if (is_shared) {
        left_rows_.push_back(along(a, a_rank));
      } else {
        left_batch_.push_back(along(a, a_rank));
        right_batch_.push_back(along(b, b_rank));
      }
    }
    row_axes_.push_back(rank - 2);
    left_rows_.push_back(stride(a, 2));
    rows_ = 1;
    for (const std::size_t axis : row_axes_) rows_ *= y_[axis];
    is_right_weight_ = b.is_weight;
    return batches() <= 65535;
  }

  bool fits(const Tile& tile) const {
    // If columns are contiguous, a warp takes as many as its threads fetch at once.
    if (are_columns_neighbours_ && tile.columns / tile.warps_across % (8 * in_chunk()) != 0) return false;
    // The tile must not lie mostly outside of the product.
    if (tile.columns > 32 && tile.columns / 2 >= columns_) return false;
    return tile.rows <= 16 || tile.rows / 2 < rows_;
  }

  /// A rough estimate in microseconds: what a multiprocessor copies from the cache, multiplies or waits for; what its
  /// blocks then send one another and write; and the launch. Fitted to some 1,400 times of 23 products on an H200. It
  /// only decides what is tried: the best of six tilings tried takes 0.6 % more than the best of all.
  double estimate(const Tile& tile, std::int64_t multiprocessors) const {
    constexpr double clocks_per_microsecond = 1980, launch = 0.85, another_wave = 2.5;
    // In clocks, and in products or bytes per clock.
    constexpr double first_slab = 3000, each_slab = 470, products_per_clock = 500;
    constexpr double meeting = 520, meeting_of_more = 490, sent_per_clock = 13, written_per_clock = 27;
    const auto real = [](std::int64_t number) { return static_cast<double>(number); };
    const double all = std::ceil(real(blocks(tile)) / real(multiprocessors));  // per multiprocessor
    const std::int64_t warps = tile.threads() / 32;
    const double at_once =
        std::max(1.0, std::min({all, std::floor(227e3 / real(tile.shared_bytes())), std::floor(16 / real(warps))}));
    const double waves = std::ceil(all / at_once), depth = std::ceil(real(slabs()) / real(tile.split));
    const double busy = std::pow(std::min(real(warps) * at_once / 4, 2.0), 0.116);
    const double copied_per_clock = busy * (all == 1 ? 17.3 : all == 2 ? 26.1 : 31.3);
    const double loop =
        std::max({all * depth * real((tile.rows + tile.columns) * 128) / copied_per_clock,
                  all * depth * real(tile.rows * tile.columns * 32) / products_per_clock * (is_exact() ? 3 : 1),
                  waves * (first_slab + each_slab * depth)});
    const double bytes = at_once * real(tile.rows * tile.columns * 4);
    double rest = bytes / written_per_clock;
    if (tile.split > 1)
      rest +=
          meeting + meeting_of_more * std::log2(real(tile.split)) + bytes * (1 - 1 / real(tile.split)) / sent_per_clock;
    return launch + (loop + rest) / clocks_per_microsecond + another_wave * (waves - 1);
  }

  void write_constants(Code& code, const Tile& tile) const {
    code.line("typedef {} element;", type_text(operand(0).element));
    code.line("constexpr int in_chunk = {}, rows = {}, columns = {}, depth = {}, right_pitch = {};", in_chunk(), rows_,
              columns_, depth_, right_pitch_);
    code.line(
        "constexpr int tile_rows = {}, tile_columns = {}, warps_down = {}, warps_across = {}, stages = {}, split = {};",
        tile.rows, tile.columns, tile.warps_down, tile.warps_across, tile.stages, tile.split);
    code.line("constexpr bool are_columns_neighbours = {}, are_chunks_whole = {}, is_right_weight = {}, is_exact = {};",
              are_columns_neighbours_, are_chunks_whole_, is_right_weight_, is_exact());
    // The addresses that a convolution reads are so much code that fetching it takes longer than looping: 1 to 2 % of
    // ResNet-50 and Inception-v3. Matmuls are faster without a loop: 3 % of BERT.
    const bool is_convolution = std::holds_alternative<op::Conv>(main_.op);
    code.line("constexpr int first_unrolled = {};", is_convolution ? 1 : tile.stages - 1);
  }

  /// Writes the index along each row axis for a row `m`.
  void write_row_indices(Code& code) const {
    std::int64_t rest = 1;
    for (std::size_t i = row_axes_.size(); i-- > 0; rest *= y_[row_axes_[i]])
      code.line("const int i{} = m / {}{};", row_axes_[i], rest, i == 0 ? "" : fmt::format(" % {}", y_[row_axes_[i]]));
  }
  /// The offset of a row, for an operand with these strides along the row axes.
  std::string row_offset(const cost::Strides& strides) const {
    std::int64_t next = 0;
    bool is_even = true, is_first = true;
    for (std::size_t i = row_axes_.size(); i-- > 0;) {
      if (y_[row_axes_[i]] == 1) continue;
      if (is_first) next = strides[i];
      is_even = is_even && strides[i] == next;
      is_first = false;
      next = strides[i] * y_[row_axes_[i]];
    }
    std::string text;
    if (is_even) {
      for (std::size_t i = row_axes_.size(); i-- > 0;)
        if (y_[row_axes_[i]] > 1) return fmt::format("m * {}", strides[i]);
      return "0";
    }
    for (std::size_t i = 0; i < row_axes_.size(); ++i)
      if (strides[i] != 0) text += fmt::format("{}i{} * {}", text.empty() ? "" : " + ", row_axes_[i], strides[i]);
    return text;
  }

  void write_rows(Code& code) const {
    const bool is_convolution = std::holds_alternative<op::Conv>(main_.op);
    const auto* conv = is_convolution ? &std::get<op::Conv>(main_.op) : nullptr;
    const std::size_t rank = is_convolution ? conv->strides.size() : 0;
    bool is_window = false;
    for (std::size_t a = 0; a < rank; ++a)
      is_window = is_window || operand(1).extents[2 + a] > 1 || conv->pads[a] > 0 || conv->pads[rank + a] > 0;
    code.line("struct Row {{ int at, window[{}]; bool is_inside; }};", std::max<std::size_t>(rank, 1));
    code.line("struct Depth {{ int at, window[{}]; bool is_inside; }};", std::max<std::size_t>(rank, 1));
    code.open("__device__ inline Row row_at(int m)");
    write_row_indices(code);
    code.line("Row row;");
    code.line("row.is_inside = m < rows;");
    if (!is_window) {
      cost::Strides strides = left_rows_;
      if (is_convolution) {
        strides = {operand(0).strides[0]};
        for (std::size_t a = 0; a < rank; ++a) strides.push_back(operand(0).strides[2 + a] * conv->strides[a]);
      }
      code.line("row.at = {};", row_offset(strides));
    } else {
      code.line("row.at = i0 * {};", operand(0).strides[0]);
      for (std::size_t a = 0; a < rank; ++a) {
        code.line("row.window[{0}] = i{1} * {2} - {3};", a, 2 + a, conv->strides[a], conv->pads[a]);
        code.line("row.at += row.window[{}] * {};", a, operand(0).strides[2 + a]);
      }
    }
    code.line("return row;");
    code.close();
    // If a slab lies within one place of the window, visit all places in turn: they read nearly the same data.
    std::int64_t windows = 1;
    for (std::size_t a = 0; a < rank; ++a) windows *= operand(1).extents[2 + a];
    if (windows > 1 && operand(1).extents[1] % (8 * in_chunk()) != 0) windows = 1;
    code.line("constexpr int windows = {};", windows);
    if (windows > 1)
      code.line("__device__ inline int depth_of(int s) {{ return s % {} * {} + s / {} * slab; }}", windows,
                operand(1).extents[1], windows);
    else
      code.line("__device__ inline int depth_of(int s) {{ return s * slab; }}");
    code.open("__device__ inline Depth depth_at(int k)");
    code.line("Depth d;");
    code.line("d.is_inside = k < depth;");
    if (!is_window) {
      code.line("d.at = k;");
    } else {
      const std::int64_t channels = operand(1).extents[1];
      code.line("d.at = k % {};", channels);
      std::int64_t rest = channels;
      for (std::size_t a = rank; a-- > 0; rest *= operand(1).extents[2 + a]) {
        code.line("d.window[{}] = k / {} % {} * {};", a, rest, operand(1).extents[2 + a], conv->dilations[a]);
        code.line("d.at += d.window[{}] * {};", a, operand(0).strides[2 + a]);
      }
    }
    code.line("return d;");
    code.close();
    code.open("__device__ inline bool meet(const Row& row, const Depth& d)");
    std::string inside = "row.is_inside && d.is_inside";
    for (std::size_t a = 0; is_window && a < rank; ++a)
      inside += fmt::format(" && static_cast<unsigned>(row.window[{0}] + d.window[{0}]) < {1}u", a,
                            operand(0).extents[2 + a]);
    code.line("return {};", inside);
    code.close();
  }

  void write_factor(Code& code, std::string_view name, std::uint32_t number, const cost::Strides& batch,
                    std::int64_t of_group) const {
    std::string offset = groups_ > 1 ? fmt::format(" + group * {}", of_group) : "";
    for (std::size_t i = 0; i < batch_.size(); ++i)
      if (batch[i] != 0) offset += fmt::format(" + b{} * {}", batch_[i], batch[i]);
    code.line("const element* __restrict__ {} = {}{};", name, pointer(false, number), offset);
  }

  /// The computation applied to the product, `total[e]`. Remembers its result and where it is stored.
  Computation epilogue() {
    Computation after(call_, values_, y_);
    const AxisMap axes = aligned(y_, y_);
    std::optional<std::size_t> bias;
    if (main_.operands.size() > 2) bias = after.make(main_.operands[2], {axes[1]});
    after.give(main_.first_result, axes,
               [this, bias] { return bias ? "total[e] + " + after_->text(*bias) : std::string("total[e]"); });
    stored_ = after.store_result();
    return after;
  }

  std::string offset_of(const Access& access) const {
    cost::Strides strides;
    for (const std::size_t axis : row_axes_) strides.push_back(access.strides[axis]);
    std::string text = row_offset(strides);
    for (const std::size_t axis : batch_)
      if (access.strides[axis] != 0) text += fmt::format(" + b{} * {}", axis, access.strides[axis]);
    if (access.strides[column_] != 0) {
      const std::string column = groups_ > 1 ? fmt::format("(group * {} + n)", columns_) : "n";
      text += fmt::format(" + {} * {}", column, access.strides[column_]);
    }
    return text;
  }
  /// Whether four elements of neighbouring columns are read or written at once.
  bool moves(const Access& access) const {
    const auto bytes = 4 * static_cast<std::int64_t>(size_of(access.element));
    return access.strides[column_] == 1 && columns_ % 4 == 0 &&
           access.alignment % std::min<std::int64_t>(16, bytes) == 0;
  }

  void write_results(Code& code, Computation& after) {
    after_ = &after;
    const std::vector<Access>& accesses = after.accesses();
    const auto is_ahead = [&](const Access& access) {
      return !access.is_written && (moves(access) || access.strides[column_] == 0);
    };
    const auto type = [&](const Access& access) {
      return moves(access) ? fmt::format("Pack<{}, 4>", type_text(access.element))
                           : std::string(type_text(access.element));
    };
    const auto open_unit = [&] {
      code.add("#pragma unroll");
      code.open("for (int k = 0; k < units_each; ++k)");
      code.line("const int u = k * threads + thread, r = u / (tile_columns / 4), c = u % (tile_columns / 4) * 4;");
      code.line("const int m = first_row + rank * own_rows + r, n = first_column + c;");
      code.open("if (u < units && m < rows && n < columns)");
      write_row_indices(code);
    };
    // Other operands are read while the other blocks finish.
    bool reads_ahead = false;
    for (std::size_t i = 0; i < accesses.size(); ++i)
      if (is_ahead(accesses[i])) {
        reads_ahead = true;
        code.line("{} a{}[units_each];", type(accesses[i]), i);
      }
    if (reads_ahead) {
      open_unit();
      for (std::size_t i = 0; i < accesses.size(); ++i) {
        if (!is_ahead(accesses[i])) continue;
        const std::string from = fmt::format("{} + ({})", pointer(false, accesses[i].operand), offset_of(accesses[i]));
        code.line("a{}[k] = {};", i, moves(accesses[i]) ? fmt::format("load<4>({})", from) : "*(" + from + ")");
      }
      code.close();
      code.close();
    }
    code.open("if (split > 1)");
    code.line("wait_for_count(count);");
    code.line("cluster_arrive();");
    code.close();
    open_unit();
    code.add(tensor_total);
    const Access& store = accesses[stored_.access];
    const std::string to = fmt::format("{} + ({})", pointer(true, 0), offset_of(store));
    if (moves(store)) code.line("Pack<{}, 4> results;", type_text(store.element));
    code.unrolled("e", 4);
    if (columns_ % 4 != 0) code.open("if (n + e < columns)");
    after.write(code, Arithmetic::single, [&](std::size_t i) {
      const Access& access = accesses[i];
      if (moves(access)) return fmt::format("a{}[k].v[e]", i);
      if (is_ahead(access)) return fmt::format("a{}[k]", i);
      return fmt::format("{}[{} + e * {}]", pointer(access.is_written, access.operand), offset_of(access),
                         access.strides[column_]);
    });
    const std::string value = fmt::format("put<{}>({})", type_text(store.element), after.text(stored_.result));
    if (moves(store))
      code.line("results.v[e] = {};", value);
    else
      code.line("({})[e * {}] = {};", to, store.strides[column_], value);
    if (columns_ % 4 != 0) code.close();
    code.close();
    if (moves(store)) code.line("store({}, results);", to);
    code.close();
    code.close();
    code.line("if (split > 1) cluster_wait();  // until what was sent from here has arrived");
    after_ = nullptr;
  }

  const cost::Call& call_;
  const cost::Call::Step& main_;
  Values values_;
  const Extents& y_;
  bool can_be_done_ = false;
  std::int64_t groups_ = 1;  ///< of a convolution, one product each
  std::int64_t rows_ = 0, columns_ = 0, depth_ = 0, right_pitch_ = 0;
  bool are_columns_neighbours_ = false, are_chunks_whole_ = false, is_right_weight_ = false;
  std::size_t column_ = 1;             ///< the axis of the result for the columns
  std::vector<std::size_t> row_axes_;  ///< the axes of the result for the rows
  std::vector<std::size_t> batch_;     ///< the axes with one product each
  cost::Strides left_rows_;            ///< of a matmul, along the row axes
  cost::Strides left_batch_, right_batch_;
  Computation* after_ = nullptr;
  Computation::Stored stored_;
};

}  // namespace

std::vector<std::pair<std::string, SourceLaunch>> tensor_product_sources(const cost::Call& call,
                                                                         std::int64_t multiprocessors) {
  std::vector<std::pair<std::string, SourceLaunch>> ways;
  TensorProduct product(call);
  if (!product.can_be_done()) return ways;
  for (const Tile& tile : product.best_tiles(multiprocessors)) ways.emplace_back(tile.name(), product.launch(tile));
  return ways;
}

}  // namespace taso::gpu
