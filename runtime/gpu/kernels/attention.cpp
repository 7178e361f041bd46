// Attention as one kernel: a product of queries and keys, element-wise steps on its scores (scales, masks), their
// softmax along the keys, and a product with the values. Scores stay in registers: a block takes some keys at a time,
// and corrects its sums whenever a higher score turns up. Where rows are few, the warps of a block share the keys;
// where blocks are few, those of a cluster do.
#include <algorithm>
#include <array>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/attention_text.h"
#include "runtime/gpu/kernels/product_call.h"
#include "runtime/gpu/kernels/source.h"
#include "runtime/gpu/kernels/tensor_text.h"

namespace taso::gpu {
namespace {

using namespace kernels;

struct AttentionTile {
  std::int64_t warps_down = 1, warps_across = 1, warp_keys = 32, split = 1;
  std::string name() const {
    return fmt::format("attention {}x{} by {}{}", warps_down * 16, warps_across, warp_keys,
                       split > 1 ? fmt::format(" split {}", split) : "");
  }
};

/// Most promising first where rows are few; the last ones are for many rows.
constexpr std::array<AttentionTile, 9> attention_tiles{
    {{1, 4, 32}, {1, 2, 32}, {1, 8, 16}, {2, 2, 32}, {1, 4, 16}, {4, 2, 32}, {4, 1, 32}, {4, 1, 64}, {8, 1, 32}}};

class AttentionKernel {
 public:
  explicit AttentionKernel(const cost::Call& call) : call_(call), values_(call) {
    can_be_done_ = find_steps() && is_fit() && trace();
  }
  bool can_be_done() const { return can_be_done_; }

  std::vector<AttentionTile> tiles(std::int64_t multiprocessors) const {
    std::vector<AttentionTile> few;
    for (const AttentionTile& tile : attention_tiles) {
      if (shared_bytes(tile) > most_shared_bytes) continue;
      // Tiles that lie mostly outside of what there is.
      if (tile.warps_down > 1 && 16 * tile.warps_down / 2 >= rows_) continue;
      if (tile.warps_across > 1 && tile.warps_across * tile.warp_keys / 2 >= keys_) continue;
      few.push_back(tile);
    }
    // No warp may have no keys at all.
    if (few.empty() && shared_bytes({1, 1, 32, 1}) <= most_shared_bytes) few.push_back({1, 1, 32});
    const std::int64_t blocks = (rows_ + 15) / 16 * batches();
    if (blocks > 4 * multiprocessors) std::reverse(few.begin(), few.end());
    std::vector<AttentionTile> split;
    for (const AttentionTile& tile : few)
      add_splits(tile, (blocks + tile.warps_down - 1) / tile.warps_down, multiprocessors, split);
    few.insert(few.begin(), split.begin(), split.end());
    return few;
  }

  SourceLaunch launch(const AttentionTile& tile) {
    SourceLaunch launch;
    launch.name = "attention";
    launch.block = static_cast<std::uint32_t>(32 * tile.warps_down * tile.warps_across);
    launch.shared_bytes = static_cast<std::uint32_t>(shared_bytes(tile));
    launch.cluster = static_cast<std::uint32_t>(tile.split);
    launch.grid = {grid_of((rows_ + 16 * tile.warps_down - 1) / (16 * tile.warps_down) * tile.split),
                   grid_of(batches()), 1};
    Computation before = scores(), after = results();
    Parameters parameters;
    for (const std::uint32_t factor : {query_, key_, value_}) parameters.add(call_, false, factor);
    for (const std::uint32_t scale : scale_operands_) parameters.add(call_, false, scale);
    for (const Computation* one : {&before, &after})
      for (const Access& access : one->accesses()) parameters.add(call_, access.is_written, access.operand);

    Code code;
    code.line("typedef {} element;", type_text(element()));
    code.line("constexpr int in_chunk = {}, rows = {}, keys = {}, depth = {}, values = {};", in_chunk(), rows_, keys_,
              depth_, columns_);
    code.line("constexpr int warps_down = {}, warps_across = {}, tile_keys = {}, split = {};", tile.warps_down,
              tile.warps_across, tile.warps_across * tile.warp_keys, tile.split);
    code.line("constexpr int query_stride = {}, key_stride = {}, value_stride = {};", query_stride_, key_stride_,
              value_stride_);
    code.line("constexpr bool is_exact = {};", is_exact());
    code.add(tensor_rounding);
    code.add(attention_sizes);
    open_kernel(code, launch, parameters);
    std::int64_t rest = 1;
    for (std::size_t i = batch_axes(); i-- > 0; rest *= y_[i])
      code.line("const int b{} = static_cast<int>(blockIdx.y) / {} % {};", i, rest, y_[i]);
    write_factor(code, "query", query_);
    write_factor(code, "key", key_);
    write_factor(code, "value", value_);
    code.add(attention_start);
    if (!scales_.empty()) {
      std::string product;
      for (const std::uint32_t scale : scale_operands_)
        product += fmt::format("{}get({}[0])", product.empty() ? "" : " * ", pointer(false, scale));
      code.line("const float scale = {};", product);
    }
    write_ahead(code, before, false);
    code.add(attention_round);
    write_ahead(code, before, true);
    code.add(attention_scores);
    write_scores(code, before);
    code.add(attention_sums);
    write_results(code, after);
    code.line("if (split > 1) cluster_wait();");
    code.close();
    launch.source = prelude(Arithmetic::single) + std::string(tensor_instructions) + code.text();
    return launch;
  }

 private:
  /// The same tile with its keys cut into so many parts that there are enough blocks, or half as many parts.
  void add_splits(AttentionTile tile, std::int64_t blocks, std::int64_t multiprocessors,
                  std::vector<AttentionTile>& to) const {
    constexpr std::int64_t most_of_cluster = 8;
    const std::int64_t keys = tile.warps_across * tile.warp_keys, rounds = (keys_ + keys - 1) / keys;
    if (2 * blocks > 3 * multiprocessors) return;
    std::int64_t split = 1;
    const auto has_work = [&](std::int64_t parts) { return (parts - 1) * ((rounds + parts - 1) / parts) < rounds; };
    while (split < most_of_cluster && 2 * split * blocks <= 3 * multiprocessors && 2 * split <= rounds &&
           has_work(2 * split))
      split *= 2;
    for (; split > 1 && to.size() < 6; split /= 2) {
      tile.split = split;
      to.push_back(tile);
    }
  }

  ElementType element() const { return call_.read[query_].element; }
  bool is_exact() const { return element() == ElementType::float32 && call_.precision == cost::Precision::fp32; }
  std::int64_t in_chunk() const { return elements_in_chunk(call_.read[query_]); }
  std::size_t batch_axes() const { return y_.size() - 2; }
  std::int64_t batches() const {
    std::int64_t many = 1;
    for (std::size_t i = 0; i < batch_axes(); ++i) many *= y_[i];
    return many;
  }
  /// As in attention_text.h.
  std::int64_t shared_bytes(const AttentionTile& tile) const {
    const std::int64_t deep = (depth_ + 4 * in_chunk() - 1) / (4 * in_chunk());
    const std::int64_t groups = (columns_ + 8 * in_chunk() - 1) / (8 * in_chunk());
    const std::int64_t key_pitch = deep * 64 + (deep % 2 == 0 ? 64 : 0), value_pitch = groups * 128 + 16;
    const std::int64_t stage = tile.warps_across * tile.warp_keys * (key_pitch + value_pitch);
    return std::max(16 * tile.warps_down * key_pitch + 2 * stage,
                    tile.warps_down * tile.warps_across * (groups * in_chunk() + 1) * 512);
  }

  bool find_steps() {
    const auto& steps = call_.steps;
    const auto is_product = [](const cost::Call::Step& step) { return std::holds_alternative<op::MatMul>(step.op); };
    const auto is_softmax = [](const cost::Call::Step& step) { return std::holds_alternative<op::Softmax>(step.op); };
    if (std::count_if(steps.begin(), steps.end(), is_product) != 2) return false;
    if (std::count_if(steps.begin(), steps.end(), is_softmax) != 1) return false;
    first_ = &*std::find_if(steps.begin(), steps.end(), is_product);
    softmax_ = &*std::find_if(steps.begin(), steps.end(), is_softmax);
    second_ = &*std::find_if(steps.rbegin(), steps.rend(), is_product);
    const std::size_t reads = call_.read.size();
    query_ = unscaled(first_->operands[0]);
    key_ = unscaled(first_->operands[1]);
    if (query_ >= reads || key_ >= reads || second_->operands[1] >= reads) return false;
    if (second_->operands[0] != softmax_->first_result || softmax_->operands[0] < reads) return false;
    value_ = second_->operands[1];
    scores_ = values_.extents.at(first_->first_result);
    y_ = values_.extents.at(second_->first_result);
    return std::get<op::Softmax>(softmax_->op).axis == static_cast<std::int64_t>(scores_.size()) - 1;
  }

  /// The operand that a factor of the first product is, times numbers. These are kept.
  std::uint32_t unscaled(std::uint32_t value) {
    while (values_.steps.at(value) < call_.steps.size()) {
      const cost::Call::Step& step = call_.steps[values_.steps[value]];
      if (!std::holds_alternative<op::Mul>(step.op)) break;
      const std::size_t number = ops::count(values_.extents[step.operands[0]]) == 1 ? 0 : 1;
      if (step.operands[number] >= call_.read.size() || ops::count(values_.extents[step.operands[number]]) != 1) break;
      scales_.push_back(&step);
      scale_operands_.push_back(step.operands[number]);
      value = step.operands[1 - number];
    }
    return value;
  }
  bool is_scale(const cost::Call::Step& step) const {
    return std::find(scales_.begin(), scales_.end(), &step) != scales_.end();
  }

  bool is_fit() const {
    using enum ElementType;
    if (call_.written.size() != 1 || call_.results.size() != 1 || scores_.size() < 2) return false;
    if (element() != float32 && element() != float16 && element() != bfloat16) return false;
    for (const auto* list : {&call_.read, &call_.written})
      for (const cost::Call::Operand& one : *list) {
        if (one.element != element() || ops::count(one.extents) == 0) return false;
        std::int64_t span = 1;
        for (std::size_t i = 0; i < one.extents.size(); ++i) {
          if (one.strides[i] < 0) return false;
          span += (one.extents[i] - 1) * one.strides[i];
        }
        if (span >= std::int64_t{1} << 30) return false;
      }
    // Nothing but element-wise steps around the three, in their shapes, and perhaps a transpose at the end.
    bool is_after = false;
    for (const cost::Call::Step& step : call_.steps) {
      if (&step == second_) is_after = true;
      if (&step == first_ || &step == softmax_ || &step == second_ || is_scale(step)) continue;
      if (is_after && &step == &call_.steps.back() && std::holds_alternative<op::Transpose>(step.op)) continue;
      if (values_.extents.at(step.first_result) != (is_after ? y_ : scores_)) return false;
    }
    // The batches of both products are the same.
    return y_.size() == scores_.size() && std::equal(y_.begin(), y_.end() - 1, scores_.begin());
  }

  /// Looks at the factors: rows of each must be dense and aligned.
  bool trace() {
    const auto stride = [&](std::uint32_t factor, std::size_t from_end) {
      const cost::Call::Operand& one = call_.read[factor];
      return one.strides[one.strides.size() - from_end];
    };
    for (const std::uint32_t factor : {query_, key_, value_})
      if (call_.read[factor].extents.size() < 2 || alignment_of(call_.read[factor]) != 16) return false;
    rows_ = y_[y_.size() - 2];
    columns_ = y_.back();
    keys_ = scores_.back();
    depth_ = call_.read[query_].extents.back();
    if (depth_ % in_chunk() != 0 || columns_ % in_chunk() != 0) return false;
    const bool is_dense = (stride(query_, 1) == 1 || depth_ == 1) && (stride(key_, 2) == 1 || depth_ == 1) &&
                          (stride(value_, 1) == 1 || columns_ == 1);
    query_stride_ = stride(query_, 2);
    key_stride_ = stride(key_, 1);
    value_stride_ = stride(value_, 2);
    constexpr std::int64_t widest = 256;  // what fits into registers
    return is_dense && depth_ <= widest && columns_ <= widest && batches() <= 65535;
  }

  void write_factor(Code& code, std::string_view name, std::uint32_t number) const {
    const cost::Call::Operand& own = call_.read[number];
    std::string text;
    const std::size_t missing = y_.size() - own.extents.size();
    for (std::size_t i = missing; i < batch_axes(); ++i)
      if (own.extents[i - missing] != 1 && own.strides[i - missing] != 0)
        text += fmt::format(" + b{} * {}", i, own.strides[i - missing]);
    code.line("const element* __restrict__ {} = {}{};", name, pointer(false, number), text);
  }

  /// The steps between the first product, `score`, and the softmax.
  Computation scores() {
    Computation before(call_, values_, scores_);
    before.give(first_->first_result, aligned(scores_, scores_),
                [this] { return std::string(scales_.empty() ? "scores[j][e]" : "scores[j][e] * scale"); });
    score_ = before.make(softmax_->operands[0], aligned(scores_, scores_));
    return before;
  }
  /// The steps after the second product.
  Computation results() {
    Computation after(call_, values_, y_);
    after.give(second_->first_result, aligned(y_, y_), [this] {
      const std::string sum = "sums[i * in_chunk + f][2 * h + e] * share[h]";
      // Without a share that is a number (the total is 0 or NaN), all shares count as 0.
      return softmax_->zeroes_nan ? "(total[h] > 0 ? " + sum + " : times_zero(value + n, value_stride))" : sum;
    });
    stored_ = after.store_result();
    return after;
  }

  /// The offset of an element in row `m` and column `n`.
  std::string offset_of(const Access& access) const {
    std::string text = "0";
    for (std::size_t i = 0; i < y_.size(); ++i)
      if (access.strides[i] != 0) {
        const std::string index = i < batch_axes() ? fmt::format("b{}", i) : i + 1 < y_.size() ? "m" : "n";
        text += fmt::format(" + {} * {}", index, access.strides[i]);
      }
    return text;
  }
  std::string element_of(const Access& access) const {
    return fmt::format("{}[{}]", pointer(access.is_written, access.operand), offset_of(access));
  }

  bool moves_down(const Access& access) const { return access.strides[y_.size() - 2] != 0; }
  bool moves_across(const Access& access) const { return access.strides.back() != 0; }
  /// The element of an operand of the steps on the scores, which was read ahead.
  std::string ahead(const Computation& before, std::size_t i) const {
    const Access& access = before.accesses()[i];
    return fmt::format("a{}{}{}", i, moves_down(access) ? "[e / 2]" : "", moves_across(access) ? "[j][e % 2]" : "");
  }
  /// Reads the operands of the steps on the scores: those that are the same for all keys once, others in each round.
  void write_ahead(Code& code, const Computation& before, bool is_in_round) const {
    for (std::size_t i = 0; i < before.accesses().size(); ++i) {
      const Access& access = before.accesses()[i];
      if (moves_across(access) != is_in_round) continue;
      code.line("{} a{}{}{};", type_text(access.element), i, moves_down(access) ? "[2]" : "",
                moves_across(access) ? "[key_parts][2]" : "");
      code.open("");
      if (moves_across(access)) {
        code.add("#pragma unroll");
        code.open("for (int j = 0; j < key_parts; ++j)");
      }
      code.unrolled("e", 4);
      // Each once: all four, two in a row or in a column, or one.
      if (!moves_down(access)) code.line("if (e / 2 != 0) continue;");
      if (!moves_across(access)) code.line("if (e % 2 != 0) continue;");
      write_place(code, moves_across(access) ? "first_key + j * 8 + 2 * t + e % 2" : "0");
      code.line("{} = {};", ahead(before, i), element_of(access));
      code.close();
      if (moves_across(access)) code.close();
      code.close();
    }
  }
  /// Writes the row and column of an element of the scores, within them.
  static void write_place(Code& code, std::string_view key) {
    code.line("const int row = first_row + warp_row + g + e / 2 * 8, at = {};", key);
    code.line("const int m = row < rows ? row : rows - 1, n = at < keys ? at : keys - 1;");
    code.line("static_cast<void>(m), static_cast<void>(n);");
  }

  void write_scores(Code& code, Computation& before) const {
    code.add("#pragma unroll");
    code.open("for (int j = 0; j < key_parts; ++j)");
    code.unrolled("e", 4);
    before.write(code, is_exact() ? Arithmetic::single : Arithmetic::quick,
                 [&](std::size_t i) { return ahead(before, i); });
    code.line("scores[j][e] = {};", before.text(score_));
    code.close();
    code.close();
    code.add(attention_end);
  }

  void write_results(Code& code, Computation& after) const {
    const Access& store = after.accesses()[stored_.access];
    const bool is_whole = store.strides.back() == 1 && store.alignment == 16;
    code.add("#pragma unroll");
    code.open("for (int i = 0; i < groups; ++i)");
    code.unrolled("h", 2);
    code.unrolled("e", 2);
    code.line("const int m = first_row + warp_row + g + h * 8;");
    code.line("const int column = i * 8 * in_chunk + (2 * t + e) * in_chunk;");
    code.line("if (m >= rows || column >= values) continue;");
    if (is_whole) code.line("Pack<element, in_chunk> whole;");
    code.unrolled("f", in_chunk());
    code.line("const int n = column + f;");
    after.write(code, Arithmetic::single, [&](std::size_t k) { return element_of(after.accesses()[k]); });
    const std::string value = fmt::format("put<element>({})", after.text(stored_.result));
    code.line("{} = {};", is_whole ? "whole.v[f]" : element_of(store), value);
    code.line("static_cast<void>(n);");
    code.close();
    if (is_whole) {
      code.line("const int n = column;");
      code.line("store({} + ({}), whole);", pointer(true, 0), offset_of(store));
    }
    code.close();
    code.close();
    code.close();
  }

  const cost::Call& call_;
  Values values_;
  bool can_be_done_ = false;
  const cost::Call::Step *first_ = nullptr, *softmax_ = nullptr, *second_ = nullptr;
  std::vector<const cost::Call::Step*> scales_;  ///< products of a factor and a number
  std::vector<std::uint32_t> scale_operands_;    ///< these numbers
  std::uint32_t query_ = 0, key_ = 0, value_ = 0;
  Extents scores_, y_;
  std::int64_t rows_ = 0, keys_ = 0, depth_ = 0, columns_ = 0;
  std::int64_t query_stride_ = 0, key_stride_ = 0, value_stride_ = 0;
  std::size_t score_ = 0;
  Computation::Stored stored_;
};

}  // namespace

std::vector<std::pair<std::string, SourceLaunch>> attention_sources(const cost::Call& call,
                                                                    std::int64_t multiprocessors) {
  std::vector<std::pair<std::string, SourceLaunch>> ways;
  AttentionKernel kernel(call);
  if (!kernel.can_be_done()) return ways;
  for (const AttentionTile& tile : kernel.tiles(multiprocessors)) ways.emplace_back(tile.name(), kernel.launch(tile));
  return ways;
}

}  // namespace taso::gpu
