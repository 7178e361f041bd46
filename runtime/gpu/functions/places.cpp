// Kernels that take each result element from places of their operands. cost/functions/place_function.cpp says what the
// integers and numbers of each are.
#include <algorithm>

#include "cost/functions/recurrence.h"
#include "ops/core/error.h"
#include "runtime/gpu/functions/place_writer.h"
#include "runtime/gpu/functions/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;

std::int64_t product(const Extents& extents, std::size_t begin, std::size_t end) {
  std::int64_t result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= extents[i];
  return result;
}

void gather_elements(PlaceWriter& to) {
  const auto axis = static_cast<std::size_t>(to.integers()[0]);
  to.indices("i", "i", to.result());
  to.index("taken", to.element(1, "i"), to.extents(0)[axis]);
  std::vector<std::string> indices = numbered("i", to.result().size());
  indices[axis] = "taken";
  to.code().line("w0[i] = {};", to.element(0, to.place(indices, to.extents(0))));
}

/// Writes `place`, the place of the run that a tuple of indices selects, in runs.
void write_tuple(PlaceWriter& to, std::size_t operand, const Extents& extents, std::size_t batch) {
  const Extents& indices = to.extents(operand);
  const std::int64_t depth = indices.back();
  std::string place;
  if (batch > 0) {
    const std::int64_t tuples = product(indices, batch, indices.size() - 1);
    place = fmt::format("(tuple / {})", std::max<std::int64_t>(tuples, 1));
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    const std::int64_t extent = extents[batch + static_cast<std::size_t>(k)];
    const std::string name = fmt::format("taken{}", k);
    to.index(name, to.element(operand, fmt::format("tuple * {} + {}", depth, k)), extent);
    place = place.empty() ? name : fmt::format("({}) * {} + {}", place, extent, name);
  }
  to.code().line("const whole place = {};", place.empty() ? "0" : place);
}

void gather_nd(PlaceWriter& to) {
  const auto batch = static_cast<std::size_t>(to.integers()[0]);
  const auto depth = static_cast<std::size_t>(to.extents(1).back());
  const std::int64_t run = product(to.extents(0), batch + depth, to.extents(0).size());
  to.code().line("const whole tuple = i / {};", std::max<std::int64_t>(run, 1));
  write_tuple(to, 1, to.extents(0), batch);
  to.code().line("w0[i] = {};", to.element(0, fmt::format("place * {0} + i % {0}", run)));
}

void tile(PlaceWriter& to) {
  to.indices("i", "i", to.result());
  std::vector<std::string> indices;
  for (std::size_t axis = 0; axis < to.result().size(); ++axis)
    indices.push_back(to.extents(0)[axis] == to.result()[axis] ? fmt::format("i{}", axis)
                                                               : fmt::format("i{} % {}", axis, to.extents(0)[axis]));
  to.code().line("w0[i] = {};", to.element(0, to.place(indices, to.extents(0))));
}

void trilu(PlaceWriter& to) {
  const Extents& extents = to.result();
  const std::int64_t columns = extents.back(), rows = extents[extents.size() - 2];
  to.code().line("const long long ahead = i % {} - i / {} % {};", columns, columns, rows);
  to.code().line("const long long diagonal = {};", to.operands() > 1 ? to.element(1, "0") : "0");
  to.code().line("w0[i] = ahead {} diagonal ? {} : put<{}>(real(0));",
                 to.integers()[0] != 0 ? ">=" : "<=", to.element(0, "i"), to.type());
}

void depth_to_space(PlaceWriter& to) {
  const Extents& x = to.extents(0);
  const std::int64_t block = to.integers()[0], channels = to.result()[1];
  to.indices("i", "i", to.result());
  const std::string inside = fmt::format("(i2 % {0} * {0} + i3 % {0})", block);
  const std::string channel = to.integers()[1] != 0 ? fmt::format("{} * {} + i1", inside, channels)
                                                    : fmt::format("i1 * {} + {}", block * block, inside);
  to.code().line(
      "w0[i] = {};",
      to.element(0, to.place({"i0", channel, fmt::format("i2 / {}", block), fmt::format("i3 / {}", block)}, x)));
}

void space_to_depth(PlaceWriter& to) {
  const Extents& x = to.extents(0);
  const std::int64_t block = to.integers()[0], channels = x[1];
  to.indices("i", "i", to.result());
  const bool is_outer = to.integers()[1] != 0;
  to.code().line("const whole channel = i1 {} {}, inside = i1 {} {};", is_outer ? '%' : '/',
                 is_outer ? channels : block * block, is_outer ? '/' : '%', is_outer ? channels : block * block);
  to.code().line("w0[i] = {};", to.element(0, to.place({"i0", "channel", fmt::format("i2 * {0} + inside / {0}", block),
                                                        fmt::format("i3 * {0} + inside % {0}", block)},
                                                       x)));
}

void pad(PlaceWriter& to) {
  const Extents& x = to.extents(0);
  const std::int64_t mode = to.integers()[0];
  to.indices("i", "i", to.result());
  std::string inside;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    const std::int64_t begin = to.integers()[1 + axis], extent = x[axis];
    Code& code = to.code();
    code.line("whole p{0} = i{0} - ({1});", axis, begin);
    const bool is_within = begin <= 0 && to.result()[axis] - begin <= extent;
    if (is_within) continue;
    switch (mode) {
      case 0: inside += fmt::format("{}p{} >= 0 && p{} < {}", inside.empty() ? "" : " && ", axis, axis, extent); break;
      case 1: code.line("p{0} = p{0} < 0 ? 0 : p{0} > {1} ? {1} : p{0};", axis, extent - 1); break;
      case 2:
        if (extent == 1) {
          code.line("p{} = 0;", axis);
          break;
        }
        code.line("p{0} = (p{0} % {1} + {1}) % {1};", axis, 2 * (extent - 1));
        code.line("if (p{0} >= {1}) p{0} = {2} - p{0};", axis, extent, 2 * (extent - 1));
        break;
      default: code.line("p{0} = (p{0} % {1} + {1}) % {1};", axis, extent); break;
    }
  }
  const std::string element = to.element(0, to.place(numbered("p", x.size()), x));
  if (inside.empty()) return to.code().line("w0[i] = {};", element);
  const std::string value =
      to.operands() > 1 ? to.element(1, "0")
                        : fmt::format("put<{}>({})", to.type(), number(to.numbers()[0], arithmetic_of(to.call())));
  to.code().line("w0[i] = {} ? {} : {};", inside, element, value);
}

void one_hot(PlaceWriter& to) {
  const auto axis = static_cast<std::size_t>(to.integers()[0]);
  const std::int64_t depth = to.result()[axis], inner = product(to.result(), axis + 1, to.result().size());
  to.code().line("long long wanted = {};",
                 to.element(0, fmt::format("i / {} * {} + i % {}", depth * inner, inner, inner)));
  to.code().line("if (wanted < 0) wanted += {};", depth);
  to.code().line("w0[i] = {};", to.element(1, fmt::format("wanted == i / {} % {} ? 1 : 0", inner, depth)));
}

void eye_like(PlaceWriter& to) {
  to.code().line("const long long row = i / {0}, column = i % {0};", to.result()[1]);
  to.code().line("w0[i] = put<{}>(column - row == {} ? real(1) : real(0));", to.type(), to.integers()[0]);
}

void reverse_sequence(PlaceWriter& to) {
  const Extents& x = to.extents(0);
  const std::int64_t inner = product(x, 2, x.size());
  const bool is_batch_first = to.integers()[0] == 0;
  Code& code = to.code();
  code.line("const whole first = i / {}, second = i / {} % {};", x[1] * inner, inner, x[1]);
  code.line("const whole batch = {}, time = {};", is_batch_first ? "first" : "second",
            is_batch_first ? "second" : "first");
  code.line("const long long length = {};", to.element(1, "batch"));
  code.line("const whole from = time < length && length <= {} ? static_cast<whole>(length) - 1 - time : time;",
            x[is_batch_first ? 1 : 0]);
  code.line("w0[i] = {};", to.element(0, fmt::format("({}) * {} + i % {}",
                                                     is_batch_first ? fmt::format("batch * {} + from", x[1])
                                                                    : fmt::format("from * {} + batch", x[1]),
                                                     inner, inner)));
}

void affine_grid(PlaceWriter& to) {
  const bool is_aligned = to.integers()[0] != 0;
  const std::size_t rank = to.result().size() - 2;
  to.indices("i", "i", to.result());
  Code& code = to.code();
  code.line("const whole line = (i0 * {0} + i{1}) * {2};", rank, rank + 1, rank + 1);
  code.line("double sum = static_cast<double>(get({}));", to.element(0, fmt::format("line + {}", rank)));
  for (std::size_t k = 0; k < rank; ++k) {  // the matrix starts with the last dimension
    const std::int64_t length = to.result()[rank - k];
    const std::string at = fmt::format("static_cast<double>(i{})", rank - k);
    const std::string normal = !is_aligned  ? fmt::format("(2 * {} + 1) / {}.0 - 1", at, length)
                               : length > 1 ? fmt::format("2 * {} / {}.0 - 1", at, length - 1)
                                            : "-1.0";
    code.line("sum += static_cast<double>(get({})) * ({});", to.element(0, fmt::format("line + {}", k)), normal);
  }
  code.line("w0[i] = put<{}>(static_cast<real>(sum));", to.type());
}

void numbers(PlaceWriter& to) {
  for (std::size_t i = 0; i < to.integers().size(); ++i)
    to.code().line("if (i == {}) w0[i] = {}ll;", i, to.integers()[i]);
}

using Write = void (*)(PlaceWriter&);
constexpr std::pair<std::string_view, Write> writers[] = {
    {"ConvInteger", write_integer_convolution},
    {"MatMulInteger", write_integer_matmul},
    {"QLinearConv", write_integer_convolution},
    {"QLinearMatMul", write_integer_matmul},
    {"AffineGrid", affine_grid},
    {"Col2Im", write_column_to_image},
    {"Det", write_determinant},
    {"DepthToSpace", depth_to_space},
    {"EyeLike", eye_like},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"GridSample", write_grid_sample},
    {"LpPool", write_lp_pool},
    {"Numbers", numbers},
    {"OneHot", one_hot},
    {"Pad", pad},
    {"Resize", write_resize},
    {"ReverseSequence", reverse_sequence},
    {"RoiAlign", write_roi_align},
    {"RotaryEmbedding", write_rotary_embedding},
    {"SpaceToDepth", space_to_depth},
    {"Tile", tile},
    {"Trilu", trilu},
};

/// The statement that puts an update into its place.
std::string update(const PlaceWriter& to, const std::string& place, const std::string& from) {
  constexpr std::string_view combines[] = {"", "added", "multiplied", "maximum", "minimum"};
  const std::string element = to.element(2, from);
  if (to.integers()[0] == 0) return fmt::format("w0[{}] = {};", place, element);
  return fmt::format("w0[{0}] = put<{1}>({2}(get(w0[{0}]), get({3})));", place, to.type(), combines[to.integers()[0]],
                     element);
}

/// With a reduction, a thread for each place in the run walks over all tuples in their order.
SourceLaunch scattered_runs(const cost::Call& call) {
  const Extents &x = call.read[call.function->operands[0]].extents,
                &indices = call.read[call.function->operands[1]].extents;
  const bool reduces = call.function->what.integers[0] != 0;
  const std::int64_t run = product(x, static_cast<std::size_t>(indices.back()), x.size());
  const std::int64_t tuples = product(indices, 0, indices.size() - 1);
  PlaceWriter to(call, "scattered", reduces ? run : run * tuples);
  if (reduces)
    to.code().open("for (int tuple = 0; tuple < {}; ++tuple)", tuples);
  else
    to.code().line("const whole tuple = i / {};", run);
  write_tuple(to, 1, x, 0);
  to.code().line(
      "{}", update(to, fmt::format("place * {0} + i % {0}", run), reduces ? fmt::format("tuple * {} + i", run) : "i"));
  if (reduces) to.code().close();
  return to.finish();
}

/// With a reduction, a thread for each line along the axis walks over it.
SourceLaunch scattered_elements(const cost::Call& call) {
  const Extents& updates = call.read[call.function->operands[2]].extents;
  const bool reduces = call.function->what.integers[0] != 0;
  const auto axis = static_cast<std::size_t>(call.function->what.integers[1]);
  Extents space = updates;
  if (reduces) space[axis] = 1;
  PlaceWriter to(call, "scattered", ops::count(space));
  to.indices("i", "i", space);
  std::vector<std::string> indices = numbered("i", updates.size());
  if (reduces) {
    to.code().open("for (whole k = 0; k < {}; ++k)", updates[axis]);
    indices[axis] = "k";
    to.code().line("const whole from = {};", PlaceWriter::place(indices, updates));
  }
  const std::string from = reduces ? "from" : "i";
  to.index("taken", to.element(1, from), to.extents(0)[axis]);
  indices[axis] = "taken";
  to.code().line("{}", update(to, PlaceWriter::place(indices, to.extents(0)), from));
  if (reduces) to.code().close();
  return to.finish();
}

/// A cache, into which the newest tokens of each example are written from a place of its own on.
SourceLaunch scattered_tokens(const cost::Call& call) {
  const cost::Call::Function& function = *call.function;
  const Extents& updates = call.read[function.operands[1]].extents;
  const auto axis = static_cast<std::size_t>(function.what.integers[0]);
  const bool is_circular = function.what.integers[1] != 0;
  PlaceWriter to(call, "scattered", ops::count(updates));
  to.indices("i", "i", updates);
  const std::int64_t length = to.extents(0)[axis];
  to.code().line("const long long begin = {};", to.has(2) ? to.element(2, "i0") : "0");
  if (is_circular)
    to.code().line("const whole taken = static_cast<whole>(((begin % {0} + {0}) + i{1}) % {0});", length, axis);
  else
    to.code().line("const whole taken = static_cast<whole>(begin < 0 ? 0 : begin > {0} ? {0} : begin) + i{1};",
                   length - updates[axis], axis);
  std::vector<std::string> indices = numbered("i", updates.size());
  indices[axis] = "taken";
  to.code().line("w0[{}] = {};", PlaceWriter::place(indices, to.extents(0)), to.element(1, "i"));
  return to.finish();
}

}  // namespace

SourceLaunch place_source(const cost::Call& call) {
  const cost::DeviceFunction& what = call.function->what;
  const auto* const found = std::find_if(std::begin(writers), std::end(writers),
                                         [&](const auto& writer) { return writer.first == what.name; });
  check(found != std::end(writers), "every function of places has a kernel");
  PlaceWriter to(call, "place", ops::count(call.written[0].extents));
  found->second(to);
  return to.finish(what.name == "RoiAlign" ? region_definitions() : sampling_definitions(what));
}

std::vector<SourceLaunch> scatter_sources(const cost::Call& call) {
  const cost::Call::Function& function = *call.function;
  const bool has_indices = function.what.name != "TensorScatter";
  const Extents& updates = call.read[function.operands[has_indices ? 2 : 1]].extents;
  std::vector<SourceLaunch> launches;
  PlaceWriter copy(call, "copied", ops::count(call.written[0].extents));
  copy.code().line("w0[i] = {};", copy.element(0, "i"));
  launches.push_back(copy.finish());
  if (ops::count(updates) == 0 || ops::count(call.written[0].extents) == 0) return launches;
  launches.back().only_copies = true;
  if (function.what.name == "TensorScatter")
    launches.push_back(scattered_tokens(call));
  else
    launches.push_back(function.what.name == "ScatterND" ? scattered_runs(call) : scattered_elements(call));
  return launches;
}

std::vector<SourceLaunch> function_sources(const cost::Call& call) {
  using Family = cost::DeviceFunction::Family;
  switch (call.function->what.family) {
    case Family::element: break;
    case Family::rows: return {row_function_source(call)};
    case Family::scan:
      if (cost::is_recurrence(call.function->what)) return recurrent_sources(call);
      return {scan_source(call)};
    case Family::place: return {place_source(call)};
    case Family::scatter: return scatter_sources(call);
    case Family::top: return {top_source(call)};
    case Family::range: return dynamic_quantisation_sources(call);
  }
  check(false, "an element function has an element-wise kernel");
  return {};
}

}  // namespace taso::gpu
