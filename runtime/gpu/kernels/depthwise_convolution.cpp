// Convolutions of each channel with its own filter, on images in NHWC. A block computes a tile of places for 32
// channels, the lanes of its warps: it copies the part of the image below the tile and the filters into shared memory,
// all reads at once. A warp then computes a row of the tile, so that an element it reads serves several windows.
#include <algorithm>

#include "runtime/gpu/kernels/computation.h"
#include "runtime/gpu/kernels/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;

class DepthwiseConvolution {
 public:
  struct Tile {
    std::int64_t rows = 1, columns = 1;
    bool operator==(const Tile&) const = default;
  };

  DepthwiseConvolution(const cost::Call& call, Tile most)
      : call_(call),
        values_(call),
        arithmetic_(arithmetic_of(call)),
        main_(call.steps.at(call.main)),
        conv_(std::get<op::Conv>(main_.op)),
        x_(call.read.at(main_.operands.at(0))),
        w_(call.read.at(main_.operands.at(1))),
        y_(values_.extents.at(main_.first_result)),
        after_(call, values_, y_) {
    if (!is_suitable()) return;
    results_ = after_.finish_convolution("sums[t]");
    tile_ = {shared_evenly(y_[2], most.rows), shared_evenly(y_[3], most.columns)};
    const auto size = static_cast<std::int64_t>(size_of(x_.element));
    while (width_ * size < 16 && x_.extents[1] % (2 * width_) == 0 && alignment_of(x_) % (2 * width_ * size) == 0)
      width_ *= 2;
    is_wide_ = needs_wide_index(axes_of(y_, after_.accesses()), after_.accesses().size()) || needs_wide_index(x_) ||
               needs_wide_index(w_);
    can_be_done_ = shared_bytes() <= most_shared_bytes;
  }

  bool can_be_done() const { return can_be_done_; }
  Tile tile() const { return tile_; }

  SourceLaunch launch() {
    SourceLaunch launch;
    launch.name = "depthwise_convolution";
    launch.block = static_cast<std::uint32_t>(threads());
    launch.grid[0] = grid_of(y_[0] * tiles(2, tile_.rows) * tiles(3, tile_.columns) * chunks());
    Parameters parameters;
    parameters.add(call_, false, main_.operands[0]);
    parameters.add(call_, false, main_.operands[1]);
    for (const Access& access : after_.accesses()) parameters.add(call_, access.is_written, access.operand);
    open_kernel(code_, launch, parameters);
    write_begin();
    if (w_.is_weight) write_filters();  // while earlier kernels still run
    write_waiting(code_);
    if (!w_.is_weight) write_filters();
    write_image();
    code_.line("__syncthreads();");
    write_sums();
    write_results();
    code_.close();
    launch.source = prelude(arithmetic_) + code_.text();
    return launch;
  }

 private:
  static constexpr std::int64_t lanes = 32;
  /// The bytes that a block has in shared memory without asking for more.
  static constexpr std::int64_t most_shared_bytes = std::int64_t{48} * 1024;
  /// The reads that a thread has in flight at a time.
  static constexpr std::int64_t most_read_ahead = 8;
  /// Larger filters use loops.
  static constexpr std::int64_t most_unrolled_products = 1024;

  bool is_suitable() const {
    return !is_integral(arithmetic_) && arithmetic_ != Arithmetic::twice && y_.size() == 4 && ops::count(y_) > 0 &&
           w_.extents[1] == 1 && conv_.groups == x_.extents[1] && w_.extents[0] == conv_.groups && x_.extents[1] > 1 &&
           x_.strides[1] == 1 && call_.written.at(0).strides.size() == 4 && call_.written[0].strides[1] == 1;
  }

  /// The length of tiles of about equal length, at most `most` each.
  static std::int64_t shared_evenly(std::int64_t extent, std::int64_t most) {
    const std::int64_t parts = (extent + most - 1) / most;
    return (extent + parts - 1) / parts;
  }
  std::int64_t tiles(std::size_t axis, std::int64_t length) const { return (y_[axis] + length - 1) / length; }
  std::int64_t chunks() const { return (y_[1] + lanes - 1) / lanes; }
  std::int64_t threads() const { return tile_.rows * lanes; }
  std::int64_t taps(std::size_t a) const { return w_.extents[2 + a]; }
  std::int64_t cells() const { return taps(0) * taps(1); }
  /// Lanes read from different banks.
  std::int64_t pitch() const { return cells() | 1; }
  /// The rows or columns of the image below a tile.
  std::int64_t reach(std::size_t a) const {
    return ((a == 0 ? tile_.rows : tile_.columns) - 1) * conv_.strides[a] + (taps(a) - 1) * conv_.dilations[a] + 1;
  }
  std::int64_t shared_bytes() const {
    return reach(0) * reach(1) * lanes * static_cast<std::int64_t>(size_of(x_.element)) +
           lanes * pitch() * static_cast<std::int64_t>(size_of(w_.element)) + 64;
  }
  std::string at(std::int64_t value) const { return index(value, is_wide_); }
  std::string_view type() const { return index_type(is_wide_); }

  void write_begin() {
    code_.line("__shared__ __align__(16) {} image[{}];", type_text(x_.element), reach(0) * reach(1) * lanes);
    code_.line("__shared__ __align__(16) {} filters[{}];", type_text(w_.element), lanes * pitch());
    code_.line("const unsigned lane = threadIdx.x % {}u, row = threadIdx.x / {}u;", lanes, lanes);
    code_.line("const unsigned first = blockIdx.x % {}u * {}u;  // channel", chunks(), lanes);
    code_.line("unsigned rest = blockIdx.x / {}u;", chunks());
    code_.line("const int left = static_cast<int>(rest % {}u) * {};", tiles(3, tile_.columns), tile_.columns);
    code_.line("rest /= {}u;", tiles(3, tile_.columns));
    code_.line("const int top = static_cast<int>(rest % {}u) * {};", tiles(2, tile_.rows), tile_.rows);
    code_.line("const {0} example = static_cast<{0}>(rest / {1}u);", type(), tiles(2, tile_.rows));
  }

  /// Opens a loop of which each thread does a part, with many reads before their results are stored: `begin` declares
  /// the place that belongs to `j`, `read` reads it, and `store` stores it.
  template <class Begin, class Read, class Store>
  void write_copy(std::int64_t all, std::string_view element, std::int64_t width, const Begin& begin, const Read& read,
                  const Store& store) {
    const std::int64_t each = (all + threads() - 1) / threads(), batch = std::min(each, most_read_ahead);
    if (each > batch) {
      code_.line("#pragma unroll 1");
      code_.open("for (unsigned b = 0; b < {}u; b += {}u)", each, batch);
    } else {
      code_.open("");
    }
    code_.line("Pack<{}, {}> ahead[{}];", element, width, batch);
    for (const bool reads : {true, false}) {
      code_.unrolled("k", batch);
      code_.line("const unsigned j = threadIdx.x + (k{}) * {}u;", each > batch ? " + b" : "", threads());
      if (all % (batch * threads()) != 0) code_.line("if (j >= {}u) continue;", all);
      begin();
      if (reads)
        read();
      else
        store();
      code_.close();
    }
    code_.close();
  }

  void write_filters() {
    const std::int64_t all = lanes * cells();
    write_copy(
        all, type_text(w_.element), 1, [&] { code_.line("const unsigned c = j / {0}u, cell = j % {0}u;", cells()); },
        [&] {
          const std::string guard = y_[1] % lanes == 0 ? "true" : fmt::format("first + c < {}u", y_[1]);
          code_.line("if ({}) ahead[k].v[0] = {}[static_cast<{}>(first + c) * {} + cell / {}u * {} + cell % {}u * {}];",
                     guard, pointer(false, main_.operands[1]), type(), at(w_.strides[0]), taps(1), at(w_.strides[2]),
                     taps(1), at(w_.strides[3]));
        },
        [&] { code_.line("filters[c * {}u + cell] = ahead[k].v[0];", pitch()); });
  }

  /// Places beyond the image become 0.
  void write_image() {
    const std::int64_t packs = lanes / width_;
    write_copy(
        reach(0) * reach(1) * packs, type_text(x_.element), width_,
        [&] { code_.line("const unsigned place = j / {0}u, c = j % {0}u * {1}u;", packs, width_); },
        [&] {
          code_.line("const int y = top * {} - {} + static_cast<int>(place / {}u);", conv_.strides[0], conv_.pads[0],
                     reach(1));
          code_.line("const int x = left * {} - {} + static_cast<int>(place % {}u);", conv_.strides[1], conv_.pads[1],
                     reach(1));
          code_.line("ahead[k] = Pack<{}, {}>{{}};", type_text(x_.element), width_);
          const std::string guard = y_[1] % lanes == 0 ? "" : fmt::format(" && first + c < {}u", y_[1]);
          code_.line("if (y >= 0 && y < {} && x >= 0 && x < {}{})", x_.extents[2], x_.extents[3], guard);
          code_.line(
              "  ahead[k] = load<{0}>({1} + (example * {3} + static_cast<{2}>(first + c) + static_cast<{2}>(y) * "
              "{4} + static_cast<{2}>(x) * {5}));",
              width_, pointer(false, main_.operands[0]), type(), at(x_.strides[0]), at(x_.strides[2]),
              at(x_.strides[3]));
        },
        [&] { code_.line("store(image + (place * {}u + c), ahead[k]);", lanes); });
  }

  void write_sums() {
    code_.line("real sums[{}];", tile_.columns);
    code_.unrolled("t", tile_.columns);
    code_.line("sums[t] = {};", number(0, arithmetic_));
    code_.close();
    if (cells() * tile_.columns <= most_unrolled_products)
      code_.unrolled("a", taps(0));
    else
      code_.open("for (int a = 0; a < {}; ++a)", taps(0));
    code_.line("real f[{}];", taps(1));
    code_.unrolled("k", taps(1));
    code_.line("f[k] = get(filters[lane * {}u + static_cast<unsigned>(a * {} + k)]);", pitch(), taps(1));
    code_.close();
    code_.line("const {}* from = image + ((row * {}u + static_cast<unsigned>(a) * {}u) * {}u + lane);",
               type_text(x_.element), conv_.strides[0], conv_.dilations[0], reach(1) * lanes);
    code_.unrolled("r", reach(1));
    code_.line("const real v = get(from[r * {}]);", lanes);
    code_.unrolled("t", tile_.columns);
    code_.line("const int k = r - t * {};", conv_.strides[1]);
    code_.line("if (k >= 0 && k % {0} == 0 && k / {0} < {1}) sums[t] += v * f[k / {0}];", conv_.dilations[1], taps(1));
    for (int i = 0; i < 3; ++i) code_.close();
  }

  void write_results() {
    std::string guard;
    if (y_[2] % tile_.rows != 0) guard = fmt::format("top + static_cast<int>(row) >= {}", y_[2]);
    if (y_[1] % lanes != 0) guard += fmt::format("{}first + lane >= {}u", guard.empty() ? "" : " || ", y_[1]);
    if (!guard.empty()) code_.line("if ({}) return;", guard);
    code_.line("const {0} channel = first + lane, line = static_cast<{0}>(top) + row;", type());
    code_.unrolled("t", tile_.columns);
    if (y_[3] % tile_.columns != 0) code_.line("if (left + t >= {}) continue;", y_[3]);
    code_.line("const {0} column = static_cast<{0}>(left + t);", type());
    const std::vector<Access>& accesses = after_.accesses();
    const auto element = [&](std::size_t i) {
      std::string offset;
      const char* const names[] = {"example", "channel", "line", "column"};
      for (std::size_t a = 0; a < 4; ++a)
        if (accesses[i].strides[a] != 0)
          offset += fmt::format("{}{} * {}", offset.empty() ? "" : " + ", names[a], at(accesses[i].strides[a]));
      return fmt::format("{}[{}]", pointer(accesses[i].is_written, accesses[i].operand), offset.empty() ? "0" : offset);
    };
    after_.write(code_, arithmetic_, element);
    for (std::size_t i = 0; i < results_.size(); ++i)
      code_.line("{} = put<{}>({});", element(results_[i].access), type_text(call_.written[i].element),
                 after_.text(results_[i].result));
    code_.close();
  }

  const cost::Call& call_;
  Values values_;
  Arithmetic arithmetic_;
  const cost::Call::Step& main_;
  const op::Conv& conv_;
  const cost::Call::Operand &x_, &w_;
  const Extents& y_;
  Computation after_;
  std::vector<Computation::Stored> results_;
  Tile tile_;
  std::int64_t width_ = 1;  ///< channels that are read at once
  bool is_wide_ = false, can_be_done_ = false;
  Code code_;
};

}  // namespace

std::vector<std::pair<std::string, SourceLaunch>> depthwise_convolution_sources(const cost::Call& call, std::int64_t) {
  std::vector<std::pair<std::string, SourceLaunch>> all;
  using Tile = DepthwiseConvolution::Tile;
  std::vector<Tile> done;
  for (const Tile most : {Tile{8, 8}, Tile{8, 4}, Tile{4, 4}}) {
    DepthwiseConvolution convolution(call, most);
    if (!convolution.can_be_done()) continue;
    const Tile tile = convolution.tile();
    if (std::find(done.begin(), done.end(), tile) != done.end()) continue;
    done.push_back(tile);
    all.emplace_back(fmt::format("tiles {}x{}", tile.rows, tile.columns), convolution.launch());
  }
  return all;
}

}  // namespace taso::gpu
