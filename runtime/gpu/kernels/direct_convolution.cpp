// Convolutions with few channels per group. A thread computes several results: along one spatial axis, so that its
// reads serve several windows, and of neighbouring channels, if these are contiguous or read the same inputs. In NHWC,
// neighbouring threads compute neighbouring channels; filters, which are not contiguous for them, go through shared
// memory.
#include <algorithm>
#include <numeric>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/computation.h"
#include "runtime/gpu/kernels/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// Larger filters use loops.
constexpr std::int64_t most_unrolled_products = 1536;
/// The filter elements that a thread holds at a time, and the bytes that a block holds in shared memory.
constexpr std::int64_t most_held = 64, most_staged_bytes = 24 * 1024;
/// The reads that a thread has in flight at a time.
constexpr std::int64_t most_read_ahead = 8;

class DirectConvolution {
 public:
  DirectConvolution(const cost::Call& call, std::int64_t multiprocessors)
      : call_(call),
        multiprocessors_(multiprocessors),
        values_(call),
        arithmetic_(arithmetic_of(call)),
        main_(call.steps.at(call.main)),
        conv_(std::get<op::Conv>(main_.op)),
        x_(operand(0)),
        w_(operand(1)),
        y_(values_.extents.at(main_.first_result)),
        after_(call, values_, y_) {
    check(!is_integral(arithmetic_), "convolutions are of floating-point numbers");
    results_ = after_.finish_convolution("sums[t][e]");
    choose();
    lay_out();
  }

  SourceLaunch launch() {
    SourceLaunch launch;
    launch.name = "convolution";
    Parameters parameters;
    parameters.add(call_, false, main_.operands[0]);
    parameters.add(call_, false, main_.operands[1]);
    for (const Access& access : after_.accesses()) parameters.add(call_, access.is_written, access.operand);
    const std::int64_t threads = kernels::count(axes_);
    std::int64_t block = threads > multiprocessors_ * 1024 ? 256 : threads > multiprocessors_ * 64 ? 128 : 64;
    std::int64_t blocks = (threads + block - 1) / block;
    if (is_staged_) {
      const std::int64_t places = threads / axes_.back().extent;
      const std::int64_t all = cells() * lanes_ * channels_ / staged_width_;
      while (block < 512 && all > block * most_read_ahead && blocks >= 2 * multiprocessors_) block *= 2, blocks /= 2;
      const std::int64_t rows = rows_in_block(block);
      block = rows * lanes_;
      blocks = chunks() * ((places + rows - 1) / rows);
    }
    launch.block = static_cast<std::uint32_t>(block);
    launch.grid[0] = grid_of(blocks);
    open_kernel(code_, launch, parameters);
    write_waiting(code_);
    if (is_staged_) {
      write_staging(block);
    } else {
      code_.line("const {0} i = static_cast<{0}>(blockIdx.x) * {1} + threadIdx.x;", type(), at(block));
      code_.line("if (i >= {}) return;", at(threads));
      indices_ = write_indices(code_, "i", "i", axes_, 1, is_wide_);
      write_begins();
    }
    write_sums();
    write_results();
    code_.close();
    launch.source = prelude(arithmetic_) + code_.text();
    return launch;
  }

 private:
  const cost::Call::Operand& operand(std::size_t number) const {
    check(main_.operands.at(number) < call_.read.size(), "nothing comes before a convolution");
    return call_.read[main_.operands[number]];
  }
  std::size_t rank() const { return y_.size() - 2; }
  std::int64_t in_group() const { return w_.extents[1]; }
  std::int64_t out_of_group() const { return w_.extents[0] / conv_.groups; }
  bool is_depthwise() const { return in_group() == 1 && out_of_group() == 1; }
  std::int64_t taps() const { return w_.extents[2 + strip_]; }
  std::string at(std::int64_t value) const { return index(value, is_wide_); }
  std::string_view type() const { return index_type(is_wide_); }

  /// Chooses how many results each thread computes, of which channels and places.
  void choose() {
    const cost::Strides& out = call_.written[0].strides;
    bool last = y_[1] > 1 && (y_[0] == 1 || out[1] < out[0]);
    for (std::size_t i = 0; i < rank(); ++i) last = last && (y_[2 + i] == 1 || out[1] < out[2 + i]);
    strip_ = last || rank() == 1 ? rank() - 1 : rank() - 2;
    const std::int64_t results = ops::count(y_);
    const auto are_enough = [&](std::int64_t threads) { return threads >= multiprocessors_ * 192; };
    if (is_depthwise() && last && x_.strides[1] == 1 && out[1] == 1) {
      channels_ = 16 / static_cast<std::int64_t>(size_of(x_.element));
      while (channels_ > 1 && (y_[1] % channels_ != 0 || !can_move(x_) || !can_move(call_.written[0]) ||
                               !are_enough(results / channels_)))
        channels_ /= 2;
    } else if (out_of_group() > 1) {
      channels_ = 4;
      // Each thread has more work here, so fewer threads are enough.
      while (channels_ > 1 && (out_of_group() % channels_ != 0 || !are_enough(2 * results / channels_))) channels_ /= 2;
    }
    for (std::int64_t many = 6; many > 1; --many) {
      const std::int64_t strips = (y_[2 + strip_] + many - 1) / many;
      if (strips * many * 10 > y_[2 + strip_] * 11 || !are_enough(results / channels_ / many)) continue;
      places_ = many;
      break;
    }
    if (!is_depthwise() && x_.strides[1] == 1) {
      const auto size = static_cast<std::int64_t>(size_of(x_.element));
      depth_ = 4;
      while (depth_ > 1 &&
             (in_group() % depth_ != 0 || alignment_of(x_) % std::min<std::int64_t>(16, depth_ * size) != 0 ||
              taps() * depth_ * channels_ > most_held))
        depth_ /= 2;
    }
    if (last && w_.strides[0] != 1) choose_lanes();
  }

  /// Assigns neighbouring threads to neighbouring channels, as many as have room for their filters in shared memory.
  void choose_lanes() {
    const auto size = static_cast<std::int64_t>(size_of(w_.element));
    const std::int64_t units = y_[1] / channels_, most = most_staged_bytes / size / cells() / channels_;
    const std::int64_t usual = 32, widest = std::min<std::int64_t>(48, most);
    lanes_ = std::min(usual, most);
    if (units <= widest)
      lanes_ = units;
    else
      for (std::int64_t lanes = widest; lanes >= 16; --lanes)
        if (units % lanes == 0) {
          lanes_ = lanes;
          break;
        }
    pitch_ = lanes_ * channels_;
    pitch_ += 16 / size - pitch_ % (16 / size);  // rows start in different banks, aligned for vector reads
    const bool has_room = cells() * pitch_ * size <= 2 * most_staged_bytes - 1024;
    if (!has_room || (lanes_ < 4 && lanes_ < units)) return;  // too few to be worth it
    is_staged_ = true;
    // Cells are numbered in memory order.
    std::vector<std::size_t> order(w_.extents.size() - 1);
    std::iota(order.begin(), order.end(), 1);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return w_.strides[a] > w_.strides[b]; });
    cell_strides_.assign(w_.extents.size(), 0);
    std::int64_t next = 1;
    for (std::size_t i = order.size(); i-- > 0; next *= w_.extents[order[i]]) cell_strides_[order[i]] = next;
    for (const std::size_t axis : order) cell_axes_.push_back({w_.extents[axis], {w_.strides[axis]}});
    merge(cell_axes_);
    // Contiguous weights can be read several at once, wherever a filter starts.
    const bool are_dense =
        w_.strides[0] == cells() && (cell_axes_.empty() || (cell_axes_.size() == 1 && cell_axes_[0].strides[0] == 1));
    staged_width_ = w_.is_weight && are_dense ? 16 / size : 1;
    while (lanes_ * channels_ * cells() % staged_width_ != 0 || y_[1] * cells() % staged_width_ != 0)
      staged_width_ /= 2;
  }
  std::int64_t cells() const { return ops::count(w_.extents) / w_.extents[0]; }
  std::int64_t chunks() const { return (axes_.back().extent + lanes_ - 1) / lanes_; }
  /// The rows per block, chosen so that warps are full.
  std::int64_t rows_in_block(std::int64_t threads) const {
    std::int64_t rows = std::max<std::int64_t>(1, threads / lanes_);
    for (std::int64_t fewer = rows; fewer > 0 && fewer * 2 >= rows; --fewer)
      if (fewer * lanes_ % 32 == 0) return fewer;
    return rows;
  }
  bool can_move(const cost::Call::Operand& operand) const {
    const std::int64_t bytes = channels_ * static_cast<std::int64_t>(size_of(operand.element));
    return alignment_of(operand) % std::min<std::int64_t>(16, bytes) == 0;
  }

  void lay_out() {
    std::vector<std::size_t> order(y_.size());
    std::iota(order.begin(), order.end(), 0);
    const cost::Strides& out = call_.written[0].strides;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return out[a] > out[b]; });
    place_of_.assign(y_.size(), -1);
    for (const std::size_t axis : order) {
      const std::int64_t many = axis == 1 ? channels_ : axis == 2 + strip_ ? places_ : 1;
      Axis own{(y_[axis] + many - 1) / many, {}};
      for (const Access& access : after_.accesses()) own.strides.push_back(access.strides[axis] * many);
      if (own.extent == 1 && !(is_staged_ && axis == 1)) continue;
      place_of_[axis] = static_cast<int>(axes_.size());
      axes_.push_back(std::move(own));
    }
    check(!is_staged_ || place_of_[1] + 1 == static_cast<int>(axes_.size()), "the channel axis is the last one");
    is_wide_ = needs_wide_index(axes_, after_.accesses().size()) || needs_wide_index(x_) || needs_wide_index(w_);
  }

  std::string place(std::size_t axis) const {
    return place_of_[axis] < 0 ? at(0) : indices_[static_cast<std::size_t>(place_of_[axis])];
  }

  /// Computes the channels and places of a thread, and copies the filters of the block's channels into shared memory.
  void write_staging(std::int64_t block) {
    const std::int64_t all = cells() * lanes_ * channels_ / staged_width_, each = (all + block - 1) / block;
    const std::int64_t units = axes_.back().extent, places = kernels::count(axes_) / units, rows = block / lanes_;
    code_.line("__shared__ __align__(16) {} kernels[{}];", type_text(w_.element), cells() * pitch_);
    code_.line("const {} chunk = blockIdx.x % {}u * {};", type(), chunks(), at(lanes_));
    code_.line("const {}* __restrict__ from = {} + chunk * {};", type_text(w_.element),
               pointer(false, main_.operands[1]), at(channels_ * w_.strides[0]));
    // Threads beyond the end only help to copy filters.
    code_.line("const {0} place = static_cast<{0}>(blockIdx.x / {1}u) * {2} + threadIdx.x / {3}u;", type(), chunks(),
               at(rows), lanes_);
    code_.line("const {} lane = threadIdx.x % {}u, channel = chunk + lane;", type(), lanes_);
    const auto clamped = [&](std::string_view name, bool is_whole, std::int64_t end) {
      return is_whole ? std::string(name) : fmt::format("{0} < {1} ? {0} : {2}", name, at(end), at(end - 1));
    };
    code_.line("const {} i = {}, unit = {};", type(), clamped("place", places % rows == 0, places),
               clamped("channel", units % lanes_ == 0, units));
    indices_ = write_indices(code_, "i", "i", {axes_.begin(), axes_.end() - 1}, 1, is_wide_);
    indices_.push_back("unit");
    write_begins();

    // Issue many reads first, then store what was read.
    const std::int64_t batch = std::min(each, most_read_ahead);
    if (each > batch) {
      write_reads_ahead();
      code_.open("for (int b = 0; b < {}; b += {})", each, batch);
    }
    const auto open = [&] {
      code_.unrolled("k", batch);
      code_.line("const {} j = threadIdx.x + (k{}) * {}u;", type(), each > batch ? " + b" : "", block);
      std::string guard = all % (batch * block) == 0 ? "" : fmt::format("j < {}", at(all));
      if (units % lanes_ != 0)
        guard += fmt::format("{}chunk * {} + j * {} / {}u < {}", guard.empty() ? "" : " && ", at(channels_),
                             at(staged_width_), cells(), at(y_[1]));
      code_.open("if ({})", guard.empty() ? "true" : guard);
    };
    code_.line("Pack<{}, {}> read[{}];", type_text(w_.element), staged_width_, batch);
    open();
    if (staged_width_ > 1) {
      code_.line("read[k] = load<{0}>(from + j * {1});", staged_width_, at(staged_width_));
    } else {
      code_.line("const {0} cell = j % {1}u, c = j / {1}u;", type(), cells());
      const auto indices = write_indices(code_, "cell", "g", cell_axes_, 1, is_wide_);
      code_.line("read[k].v[0] = from[c * {} + {}];", at(w_.strides[0]),
                 offset_text(cell_axes_, 0, indices, 1, is_wide_));
    }
    code_.close();
    code_.close();
    if (each <= batch) write_reads_ahead();
    open();
    code_.unrolled("e", staged_width_);
    code_.line("const {} n = j * {} + e;", type(), at(staged_width_));
    code_.line("kernels[n % {0}u * {1}u + n / {0}u] = read[k].v[e];", cells(), pitch_);
    for (int i = 0; i < 3; ++i) code_.close();
    if (each > batch) code_.close();
    code_.line("__syncthreads();");
    if (places % rows != 0) code_.line("if (place >= {}) return;", at(places));
    if (units % lanes_ != 0) code_.line("if (channel >= {}) return;", at(units));
  }

  void write_begins() {
    code_.line("const {} o = {} * {};", type(), place(1), at(channels_));
    const std::string channel = is_depthwise() ? "o" : fmt::format("o / {} * {}", at(out_of_group()), at(in_group()));
    code_.line("const {}* __restrict__ x = {} + ({} * {} + {} * {});", type_text(x_.element),
               pointer(false, main_.operands[0]), place(0), at(x_.strides[0]), channel, at(x_.strides[1]));
    if (is_staged_)
      code_.line("const {}* w = kernels + lane * {}u;", type_text(w_.element), channels_);
    else
      code_.line("const {}* __restrict__ w = {} + o * {};", type_text(w_.element), pointer(false, main_.operands[1]),
                 at(w_.strides[0]));
    for (std::size_t a = 0; a < rank(); ++a)
      code_.line("const int s{} = static_cast<int>({}) * {} - {};", a, place(2 + a),
                 conv_.strides[a] * (a == strip_ ? places_ : 1), conv_.pads[a]);
  }

  /// Whether windows, or the strip of a thread, reach beyond the input along an axis.
  bool reaches_beyond(std::size_t a) const {
    const std::int64_t many = a == strip_ ? places_ : 1;
    const std::int64_t last = (y_[2 + a] + many - 1) / many * many - 1;
    return conv_.pads[a] > 0 ||
           last * conv_.strides[a] - conv_.pads[a] + (w_.extents[2 + a] - 1) * conv_.dilations[a] >= x_.extents[2 + a];
  }

  /// Beyond the input, reads the nearest element and ignores it, so that no read depends on a branch.
  void write_position(std::size_t a, const std::string& position, std::string& inside) {
    if (!reaches_beyond(a)) {
      code_.line("const int q{} = {};", a, position);
      return;
    }
    code_.line("const int p{} = {};", a, position);
    code_.line("const int q{0} = p{0} < 0 ? 0 : p{0} < {1} ? p{0} : {2};", a, x_.extents[2 + a], x_.extents[2 + a] - 1);
    inside += fmt::format("{0}p{1} == q{1}", inside.empty() ? "" : " && ", a);
  }

  std::int64_t products() const { return cells() * places_ * channels_; }
  std::int64_t reach() const {
    return (places_ - 1) * conv_.strides[strip_] + (taps() - 1) * conv_.dilations[strip_] + 1;
  }
  std::int64_t width_of_reads() const { return is_depthwise() ? channels_ : depth_; }

  /// Opens loops over the channels of the group and the cells of the filter, except those along the strip.
  void open_window(std::string& inside) {
    const auto open = [&](std::string_view variable, std::int64_t count) {
      if (products() <= most_unrolled_products) return code_.unrolled(variable, count);
      code_.line("#pragma unroll 1");
      code_.open("for (int {0} = 0; {0} < {1}; ++{0})", variable, count);
    };
    open("c", in_group() / depth_);
    for (std::size_t a = 0; a < rank(); ++a) {
      if (a == strip_) continue;
      open(fmt::format("k{}", a), w_.extents[2 + a]);
      write_position(a, fmt::format("s{0} + k{0} * {1}", a, conv_.dilations[a]), inside);
    }
  }
  void open_strip(std::string& inside) {
    code_.unrolled("r", reach());
    write_position(strip_, fmt::format("s{} + r", strip_), inside);
  }

  /// The read at one place of the window.
  std::string read() const {
    std::string offset = fmt::format("static_cast<{}>(c) * {}", type(), at(x_.strides[1] * depth_));
    for (std::size_t a = 0; a < rank(); ++a)
      offset += fmt::format(" + static_cast<{}>(q{}) * {}", type(), a, at(x_.strides[2 + a]));
    return width_of_reads() > 1 ? fmt::format("load<{}>(x + ({}))", width_of_reads(), offset)
                                : fmt::format("Pack<{}, 1>{{{{x[{}]}}}}", type_text(x_.element), offset);
  }
  /// Whether a thread can hold everything it reads: then it reads while it waits for the filters.
  bool is_read_ahead() const {
    const std::int64_t reads = cells() / taps() / depth_ * reach() * width_of_reads();
    return is_staged_ && products() <= most_unrolled_products &&
           reads * static_cast<std::int64_t>(size_of(x_.element)) <= 4 * most_held;
  }
  std::string ahead() const {
    std::string cell = "0";
    for (std::size_t a = 0; a < rank(); ++a)
      if (a != strip_) cell = fmt::format("({}) * {} + k{}", cell, w_.extents[2 + a], a);
    return fmt::format("ahead[c][{}][r]", cell);
  }
  void write_reads_ahead() {
    if (!is_read_ahead()) return;
    code_.line("Pack<{}, {}> ahead[{}][{}][{}];", type_text(x_.element), width_of_reads(), in_group() / depth_,
               cells() / taps() / in_group(), reach());
    std::string inside;
    open_window(inside);
    open_strip(inside);
    code_.line("{} = {};", ahead(), read());
    for (std::size_t i = 0; i < 1 + rank(); ++i) code_.close();
  }

  void write_sums() {
    code_.line("real sums[{}][{}];", places_, channels_);
    code_.unrolled("t", places_);
    code_.unrolled("e", channels_);
    code_.line("sums[t][e] = {};", number(0, arithmetic_));
    code_.close();
    code_.close();
    std::string inside;
    open_window(inside);
    write_weights();
    open_strip(inside);
    if (is_read_ahead())
      code_.line("const auto v = {};", ahead());
    else
      code_.line("const auto v = {};", read());
    const std::int64_t width = width_of_reads();
    code_.line("real u[{}];", width);
    code_.unrolled("e", width);
    code_.line("u[e] = {};", inside.empty() ? "get(v.v[e])" : inside + " ? get(v.v[e]) : " + number(0, arithmetic_));
    code_.close();
    code_.unrolled("t", places_);
    // The cell of the filter for this place in the t-th window, if there is one.
    const std::int64_t dilation = conv_.dilations[strip_];
    code_.line("const int k = r - t * {};", conv_.strides[strip_]);
    code_.open("if (k >= 0 && k % {0} == 0 && k / {0} < {1})", dilation, taps());
    code_.unrolled("g", depth_);
    code_.unrolled("e", channels_);
    code_.line("sums[t][e] += u[{}] * f[k / {}][g][e];", is_depthwise() ? "e" : "g", dilation);
    for (std::size_t i = 0; i < 5 + rank(); ++i) code_.close();
  }

  /// Writes the cells of the filter along the strip, for all channels that are read at once.
  void write_weights() {
    const cost::Strides& strides = is_staged_ ? cell_strides_ : w_.strides;
    std::string cell = fmt::format("static_cast<{0}>(c * {1} + g) * {2}", type(), depth_, at(strides[1]));
    for (std::size_t a = 0; a < rank(); ++a)
      cell += fmt::format(" + static_cast<{}>(k{}) * {}", type(), a, at(strides[2 + a]));
    if (is_staged_) cell = fmt::format("({}) * {}u", cell, pitch_);
    const bool are_neighbours = channels_ > 1 && (is_staged_ || (w_.strides[0] == 1 && can_move(w_)));
    code_.line("real f[{}][{}][{}];", taps(), depth_, channels_);
    code_.unrolled(fmt::format("k{}", strip_), taps());
    code_.unrolled("g", depth_);
    if (are_neighbours) code_.line("const auto h = load<{}>(w + ({}));", channels_, cell);
    code_.unrolled("e", channels_);
    code_.line("f[k{}][g][e] = get({});", strip_,
               are_neighbours   ? "h.v[e]"
               : channels_ == 1 ? fmt::format("w[{}]", cell)
                                : fmt::format("w[{} + static_cast<{}>(e) * {}]", cell, type(), at(w_.strides[0])));
    for (int i = 0; i < 3; ++i) code_.close();
  }

  bool moves(std::size_t access) const {
    const Access& own = after_.accesses()[access];
    const auto bytes = channels_ * static_cast<std::int64_t>(size_of(own.element));
    return channels_ > 1 && own.strides[1] == 1 && own.alignment % std::min<std::int64_t>(16, bytes) == 0;
  }
  /// The offset of an access for the t-th result.
  std::string offset_of(std::size_t access) const {
    const std::int64_t stride = after_.accesses()[access].strides[2 + strip_];
    const std::string begin = offset_text(axes_, access, indices_, 1, is_wide_);
    return places_ == 1 || stride == 0 ? begin : fmt::format("{} + static_cast<{}>(t) * {}", begin, type(), at(stride));
  }

  void write_results() {
    const std::vector<Access>& accesses = after_.accesses();
    code_.unrolled("t", places_);
    if (y_[2 + strip_] % places_ != 0)
      code_.line("if ({} * {} + t >= {}) continue;", place(2 + strip_), at(places_), at(y_[2 + strip_]));
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      const std::string begin = pointer(accesses[i].is_written, accesses[i].operand);
      if (accesses[i].is_written)
        code_.line("Pack<{}, {}> a{};", type_text(accesses[i].element), channels_, i);
      else if (moves(i))
        code_.line("const auto a{} = load<{}>({} + ({}));", i, channels_, begin, offset_of(i));
    }
    code_.unrolled("e", channels_);
    const auto element = [&](std::size_t i) {
      if (moves(i)) return fmt::format("a{}.v[e]", i);
      const std::int64_t stride = accesses[i].strides[1];
      return fmt::format(
          "{}[{}{}]", pointer(accesses[i].is_written, accesses[i].operand), offset_of(i),
          channels_ == 1 || stride == 0 ? "" : fmt::format(" + static_cast<{}>(e) * {}", type(), at(stride)));
    };
    after_.write(code_, arithmetic_, element);
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const std::string result =
          fmt::format("put<{}>({})", type_text(call_.written[i].element), after_.text(results_[i].result));
      if (moves(results_[i].access))
        code_.line("a{}.v[e] = {};", results_[i].access, result);
      else
        code_.line("{} = {};", element(results_[i].access), result);
    }
    code_.close();
    for (const auto& [result, store] : results_)
      if (moves(store))
        code_.line("store({} + ({}), a{});", pointer(true, accesses[store].operand), offset_of(store), store);
    code_.close();
  }

  const cost::Call& call_;
  std::int64_t multiprocessors_;
  Values values_;
  Arithmetic arithmetic_;
  const cost::Call::Step& main_;
  const op::Conv& conv_;
  const cost::Call::Operand &x_, &w_;
  const Extents& y_;
  Computation after_;
  std::vector<Computation::Stored> results_;
  std::size_t strip_ = 0;                   ///< the spatial axis along which a thread computes several results
  std::int64_t channels_ = 1, places_ = 1;  ///< per thread
  std::int64_t depth_ = 1;                  ///< channels read at once, if results share them
  bool is_staged_ = false;                  ///< whether filters go through shared memory; if so:
  std::int64_t lanes_ = 1, pitch_ = 0;      ///< threads for different channels; elements between cells
  std::int64_t staged_width_ = 1;           ///< elements read at once
  std::vector<Axis> cell_axes_;             ///< of a filter, in memory order
  cost::Strides cell_strides_;              ///< in cells, along each axis of the filters
  std::vector<Axis> axes_;                  ///< of the threads, with the strides of the accesses
  std::vector<int> place_of_;               ///< by axis of the result, its index in `axes_`; -1 if its extent is 1
  std::vector<std::string> indices_;
  bool is_wide_ = false;
  Code code_;
};

}  // namespace

SourceLaunch direct_convolution_source(const cost::Call& call, std::int64_t multiprocessors) {
  return DirectConvolution(call, multiprocessors).launch();
}

}  // namespace taso::gpu
