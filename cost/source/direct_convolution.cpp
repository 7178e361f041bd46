// Convolutions with few channels in each group. A thread computes several results: along one spatial axis, so that what it
// reads serves several windows, and of neighbouring channels, where these lie side by side or read the same inputs.
#include <algorithm>
#include <numeric>

#include "cost/source/computation.h"
#include "cost/source/source.h"
#include "ops/error.h"

namespace taso {
namespace {

using namespace source;

/// Longer kernels are gone through in loops.
constexpr std::int64_t most_unrolled_products = 1536;

class DirectConvolution {
 public:
  DirectConvolution(const Call& call, std::int64_t multiprocessors)
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
    trace();
    choose();
    lay_out();
  }

  SourceLaunch launch() {
    const std::int64_t threads = source::count(axes_);
    const std::int64_t block = threads > multiprocessors_ * 1024 ? 256 : threads > multiprocessors_ * 64 ? 128 : 64;
    SourceLaunch launch;
    launch.name = "convolution";
    launch.block = static_cast<std::uint32_t>(block);
    launch.grid[0] = static_cast<std::uint32_t>(std::max<std::int64_t>(1, (threads + block - 1) / block));
    Parameters parameters;
    parameters.add(call_, false, main_.operands[0]);
    parameters.add(call_, false, main_.operands[1]);
    for (const Access& access : after_.accesses()) parameters.add(call_, access.is_written, access.operand);
    launch.arguments = parameters.arguments;
    code_.open("extern \"C\" __global__ void __launch_bounds__({}) {}({})", block, launch.name, parameters.text);
    code_.line("const {0} i = static_cast<{0}>(blockIdx.x) * {1} + threadIdx.x;", type(), at(block));
    code_.line("if (i >= {}) return;", at(threads));
    write_begins();
    write_sums();
    write_results();
    code_.close();
    launch.source = prelude(arithmetic_) + code_.text();
    return launch;
  }

 private:
  const Call::Operand& operand(std::size_t number) const {
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

  void trace() {
    AxisMap axes(y_.size());
    for (std::size_t i = 0; i < axes.size(); ++i) axes[i] = y_[i] == 1 ? -1 : static_cast<int>(i);
    std::optional<std::size_t> bias;
    if (main_.operands.size() > 2) bias = after_.make(main_.operands[2], {axes[1]});
    after_.give(main_.first_result, axes,
                [this, bias] { return bias ? "sums[t][e] + " + after_.text(*bias) : std::string("sums[t][e]"); });
    check(call_.results.size() == call_.written.size() && !call_.written.empty(),
          "each operand that is written is a value");
    for (std::uint32_t i = 0; i < call_.results.size(); ++i) {
      check(values_.extents.at(call_.results[i]) == y_, "what is written is of the shape of the convolution's result");
      results_.push_back(after_.make(call_.results[i], axes));
      stores_.push_back(after_.access(true, i, axes));
    }
  }

  /// How many results each thread has, of which channels and places.
  void choose() {
    const Strides& out = call_.written[0].strides;
    bool last = y_[1] > 1;
    for (std::size_t i = 0; i < rank(); ++i) last = last && (y_[2 + i] == 1 || out[1] < out[2 + i]);
    strip_ = last || rank() == 1 ? rank() - 1 : rank() - 2;
    const std::int64_t results = taso::count(y_);
    const auto are_enough = [&](std::int64_t threads) { return threads >= multiprocessors_ * 192; };
    if (is_depthwise() && last && x_.strides[1] == 1 && out[1] == 1) {
      channels_ = 16 / static_cast<std::int64_t>(size_of(x_.element));
      while (channels_ > 1 && (y_[1] % channels_ != 0 || !can_move(x_) || !can_move(call_.written[0]) ||
                               !are_enough(results / channels_)))
        channels_ /= 2;
    } else if (out_of_group() > 1) {
      channels_ = 4;
      while (channels_ > 1 && (out_of_group() % channels_ != 0 || !are_enough(results / channels_))) channels_ /= 2;
    }
    for (std::int64_t many = 6; many > 1; --many) {
      const std::int64_t strips = (y_[2 + strip_] + many - 1) / many;
      if (strips * many * 10 > y_[2 + strip_] * 11 || !are_enough(results / channels_ / many)) continue;
      places_ = many;
      break;
    }
  }
  bool can_move(const Call::Operand& operand) const {
    const std::int64_t bytes = channels_ * static_cast<std::int64_t>(size_of(operand.element));
    return alignment_of(operand) % std::min<std::int64_t>(16, bytes) == 0;
  }

  void lay_out() {
    std::vector<std::size_t> order(y_.size());
    std::iota(order.begin(), order.end(), 0);
    const Strides& out = call_.written[0].strides;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return out[a] > out[b]; });
    place_of_.assign(y_.size(), -1);
    for (const std::size_t axis : order) {
      const std::int64_t many = axis == 1 ? channels_ : axis == 2 + strip_ ? places_ : 1;
      Axis own{(y_[axis] + many - 1) / many, {}};
      for (const Access& access : after_.accesses()) own.strides.push_back(access.strides[axis] * many);
      if (own.extent == 1) continue;
      place_of_[axis] = static_cast<int>(axes_.size());
      axes_.push_back(std::move(own));
    }
    std::vector<Axis> read, weights;
    for (std::size_t i = 0; i < x_.extents.size(); ++i) read.push_back({x_.extents[i], {x_.strides[i]}});
    for (std::size_t i = 0; i < w_.extents.size(); ++i) weights.push_back({w_.extents[i], {w_.strides[i]}});
    is_wide_ =
        needs_wide_index(axes_, after_.accesses().size()) || needs_wide_index(read, 1) || needs_wide_index(weights, 1);
  }

  std::string place(std::size_t axis) const {
    return place_of_[axis] < 0 ? at(0) : indices_[static_cast<std::size_t>(place_of_[axis])];
  }

  void write_begins() {
    indices_ = write_indices(code_, "i", "i", axes_, 1, is_wide_);
    code_.line("const {} o = {} * {};", type(), place(1), at(channels_));
    const std::string channel = is_depthwise() ? "o"
                                : in_group() == 1 && out_of_group() == 1
                                    ? "o"
                                    : fmt::format("o / {} * {}", at(out_of_group()), at(in_group()));
    code_.line("const {}* __restrict__ x = {} + ({} * {} + {} * {});", type_text(x_.element),
               pointer(false, main_.operands[0]), place(0), at(x_.strides[0]), channel, at(x_.strides[1]));
    code_.line("const {}* __restrict__ w = {} + o * {};", type_text(w_.element), pointer(false, main_.operands[1]),
               at(w_.strides[0]));
    for (std::size_t a = 0; a < rank(); ++a)
      code_.line("const int s{} = static_cast<int>({}) * {} - {};", a, place(2 + a),
                 conv_.strides[a] * (a == strip_ ? places_ : 1), conv_.pads[a]);
  }

  /// Whether windows reach beyond the input along an axis, or the thread's strip does.
  bool reaches_beyond(std::size_t a) const {
    const std::int64_t many = a == strip_ ? places_ : 1;
    const std::int64_t last = (y_[2 + a] + many - 1) / many * many - 1;
    return conv_.pads[a] > 0 ||
           last * conv_.strides[a] - conv_.pads[a] + (w_.extents[2 + a] - 1) * conv_.dilations[a] >= x_.extents[2 + a];
  }

  /// Beyond the input the nearest element is read, so that no read waits for a decision, and not counted.
  void write_position(std::size_t a, const std::string& position, std::string& inside) {
    if (!reaches_beyond(a)) {
      code_.line("const int q{} = {};", a, position);
      return;
    }
    code_.line("const int p{} = {};", a, position);
    code_.line("const int q{0} = p{0} < 0 ? 0 : p{0} < {1} ? p{0} : {2};", a, x_.extents[2 + a], x_.extents[2 + a] - 1);
    inside += fmt::format("{0}p{1} == q{1}", inside.empty() ? "" : " && ", a);
  }

  void write_sums() {
    code_.line("real sums[{}][{}];", places_, channels_);
    code_.unrolled("t", places_);
    code_.unrolled("e", channels_);
    code_.line("sums[t][e] = {};", number(0, arithmetic_));
    code_.close();
    code_.close();
    const std::int64_t products = taso::count(w_.extents) / w_.extents[0] * places_ * channels_;
    const auto open = [&](std::string_view variable, std::int64_t count) {
      if (products <= most_unrolled_products) return code_.unrolled(variable, count);
      code_.line("#pragma unroll 1");
      code_.open("for (int {0} = 0; {0} < {1}; ++{0})", variable, count);
    };
    open("c", in_group());
    std::string inside, offset = fmt::format("static_cast<{}>(c) * {}", type(), at(x_.strides[1]));
    std::string weight = fmt::format("static_cast<{}>(c) * {}", type(), at(w_.strides[1]));
    const auto add = [&](std::string& text, std::string_view variable, std::int64_t stride) {
      text += fmt::format(" + static_cast<{}>({}) * {}", type(), variable, at(stride));
    };
    std::size_t loops = 1;
    for (std::size_t a = 0; a < rank(); ++a) {
      add(offset, fmt::format("q{}", a), x_.strides[2 + a]);
      add(weight, fmt::format("k{}", a), w_.strides[2 + a]);
      if (a == strip_) continue;
      open(fmt::format("k{}", a), w_.extents[2 + a]);
      ++loops;
      write_position(a, fmt::format("s{0} + k{0} * {1}", a, conv_.dilations[a]), inside);
    }
    write_weights(weight);
    const std::int64_t stride = conv_.strides[strip_], dilation = conv_.dilations[strip_];
    const std::int64_t reach = (places_ - 1) * stride + (taps() - 1) * dilation + 1;
    code_.unrolled("r", reach);
    write_position(strip_, fmt::format("s{} + r", strip_), inside);
    const auto read = [&](const std::string& text) {
      return inside.empty() ? text : fmt::format("{} ? {} : {}", inside, text, number(0, arithmetic_));
    };
    const bool is_vector = is_depthwise() && channels_ > 1;
    if (is_vector) {
      code_.line("const auto v = load<{}>(x + ({}));", channels_, offset);
      code_.line("real u[{}];", channels_);
      code_.unrolled("e", channels_);
      code_.line("u[e] = {};", read("get(v.v[e])"));
      code_.close();
    } else {
      code_.line("const real u = {};", read(fmt::format("get(x[{}])", offset)));
    }
    code_.unrolled("t", places_);
    // Which cell of the kernel meets this place in the t-th window, if one does.
    code_.line("const int k = r - t * {};", stride);
    code_.open("if (k >= 0 && k % {0} == 0 && k / {0} < {1})", dilation, taps());
    code_.unrolled("e", channels_);
    code_.line("sums[t][e] += u{} * f[k / {}][e];", is_vector ? "[e]" : "", dilation);
    code_.close();
    code_.close();
    code_.close();
    code_.close();
    for (std::size_t i = 0; i < loops; ++i) code_.close();
  }

  /// The kernel's cells along the strip.
  void write_weights(const std::string& offset) {
    code_.line("real f[{}][{}];", taps(), channels_);
    code_.unrolled(fmt::format("k{}", strip_), taps());
    if (channels_ > 1 && w_.strides[0] == 1 && can_move(w_)) {
      code_.line("const auto g = load<{}>(w + ({}));", channels_, offset);
      code_.unrolled("e", channels_);
      code_.line("f[k{}][e] = get(g.v[e]);", strip_);
    } else {
      code_.unrolled("e", channels_);
      code_.line("f[k{}][e] = get(w[{} + static_cast<{}>(e) * {}]);", strip_, offset, type(), at(w_.strides[0]));
    }
    code_.close();
    code_.close();
  }

  bool moves(std::size_t access) const {
    const Access& own = after_.accesses()[access];
    const auto bytes = channels_ * static_cast<std::int64_t>(size_of(own.element));
    return channels_ > 1 && own.strides[1] == 1 && own.alignment % std::min<std::int64_t>(16, bytes) == 0;
  }
  /// Where the t-th result's element of an access is.
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
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      const std::string result =
          fmt::format("put<{}>({})", type_text(call_.written[i].element), after_.text(results_[i]));
      if (moves(stores_[i]))
        code_.line("a{}.v[e] = {};", stores_[i], result);
      else
        code_.line("{} = {};", element(stores_[i]), result);
    }
    code_.close();
    for (const std::size_t store : stores_)
      if (moves(store))
        code_.line("store({} + ({}), a{});", pointer(true, accesses[store].operand), offset_of(store), store);
    code_.close();
  }

  const Call& call_;
  std::int64_t multiprocessors_;
  Values values_;
  Arithmetic arithmetic_;
  const Call::Step& main_;
  const op::Conv& conv_;
  const Call::Operand &x_, &w_;
  const Extents& y_;
  Computation after_;
  std::vector<std::size_t> results_, stores_;
  std::size_t strip_ = 0;                   ///< the spatial axis along which a thread has several results
  std::int64_t channels_ = 1, places_ = 1;  ///< of one thread
  std::vector<Axis> axes_;                  ///< of the threads, with the strides of the accesses
  std::vector<int> place_of_;               ///< where an axis of the result is among those; -1: nowhere, it is 1
  std::vector<std::string> indices_;
  bool is_wide_ = false;
  Code code_;
};

}  // namespace

SourceLaunch direct_convolution_source(const Call& call, std::int64_t multiprocessors) {
  return DirectConvolution(call, multiprocessors).launch();
}

}  // namespace taso
