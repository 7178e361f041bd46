#include <algorithm>
#include <optional>

#include "ops/core/error.h"
#include "runtime/gpu/kernels/computation.h"
#include "runtime/gpu/kernels/source.h"

namespace taso::gpu {
namespace {

using namespace kernels;

/// The side of a square for transposing through shared memory, and the number of its rows moved at once.
constexpr std::int64_t tile = 32, tile_rows = 8;
/// Along shorter axes, transposing squares wastes more than it gains.
constexpr std::int64_t shortest_turned = 16;

std::int64_t power_of_two_in(std::int64_t number, std::int64_t most) {
  while (number % most != 0) most /= 2;
  return most;
}

/// The merged axes of one side of a piece.
std::vector<Axis> side_of(const Extents& extents, const cost::Strides& strides) {
  check(extents.size() == strides.size(), "a piece has a stride for each axis");
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < extents.size(); ++i) axes.push_back({extents[i], {strides[i]}});
  merge(axes);
  return axes;
}

/// Common axes of both sides, cut wherever one side ends an axis; nothing if the extents do not divide one another.
std::optional<std::vector<Axis>> common_axes(std::vector<Axis> from, std::vector<Axis> to) {
  std::vector<Axis> axes;
  while (!from.empty() && !to.empty()) {
    Axis &a = from.back(), &b = to.back();
    const std::int64_t shorter = std::min(a.extent, b.extent);
    if (a.extent % shorter != 0 || b.extent % shorter != 0) return {};
    axes.push_back({shorter, {a.strides[0], b.strides[0]}});
    for (auto* side : {&from, &to}) {
      Axis& axis = side->back();
      axis.extent /= shorter;
      axis.strides[0] *= shorter;
      if (axis.extent == 1) side->pop_back();
    }
  }
  check(from.empty() && to.empty(), "both sides of a piece have the same number of elements");
  std::reverse(axes.begin(), axes.end());
  return axes;
}

/// How one piece is moved, and by how many blocks.
struct Plan {
  const cost::Call::Piece* piece = nullptr;
  std::vector<Access> accesses;       ///< from, to
  std::vector<Axis> axes;             ///< of both sides; or, if there are no common axes,
  std::vector<Axis> from, to;         ///< of each side
  std::optional<std::size_t> turned;  ///< if squares are transposed: the axis that is contiguous for reading
  std::int64_t width = 1, threads = 0, blocks = 0;
  bool is_wide = false;
};

Plan plan_of(const cost::Call& call, const cost::Call::Piece& piece, std::int64_t multiprocessors) {
  Plan plan;
  plan.piece = &piece;
  for (const bool is_written : {false, true}) {
    const std::uint32_t operand = is_written ? piece.written : piece.read;
    const cost::Call::Operand& own = (is_written ? call.written : call.read).at(operand);
    const auto size = static_cast<std::int64_t>(size_of(own.element));
    const std::int64_t offset = (is_written ? piece.to_offset : piece.from_offset) * size;
    plan.accesses.push_back({is_written, operand, own.element, {}, power_of_two_in(offset, alignment_of(own))});
  }
  if (ops::count(piece.from_extents) == 0) return plan;
  plan.from = side_of(piece.from_extents, piece.from_strides);
  plan.to = side_of(piece.to_extents, piece.to_strides);
  const auto axes = common_axes(plan.from, plan.to);
  if (!axes) {
    plan.threads = ops::count(piece.from_extents);
    plan.is_wide = needs_wide_index(plan.from, 1) || needs_wide_index(plan.to, 1);
    return plan;
  }
  plan.from.clear();
  plan.to.clear();
  plan.axes = simplified(*axes, 1);
  plan.is_wide = needs_wide_index(plan.axes, 2);
  if (!plan.axes.empty() && plan.axes.back().strides[0] != 1 && plan.axes.back().strides[1] == 1 &&
      plan.axes.back().extent >= shortest_turned)
    for (std::size_t i = 0; i + 1 < plan.axes.size(); ++i)
      if (plan.axes[i].strides[0] == 1 && plan.axes[i].extent >= shortest_turned) plan.turned = i;
  if (plan.turned) return plan;
  const std::int64_t places = count(plan.axes);
  plan.width = vector_width(plan.axes, plan.accesses);
  while (plan.width > 1 && places / plan.width < multiprocessors * 32) plan.width /= 2;
  plan.threads = places / plan.width;
  return plan;
}

/// The start of one side.
std::string begin_text(const Plan& plan, bool is_written) {
  const std::int64_t offset = is_written ? plan.piece->to_offset : plan.piece->from_offset;
  const std::string base = pointer(is_written, plan.accesses[is_written].operand);
  return offset == 0 ? base : fmt::format("{} + {}ll", base, offset);
}

/// Casts round towards 0 and clamp to the range of the integer type; NaN becomes 0.
constexpr std::string_view saturating = R"(template <class T>
__device__ inline T saturated(real x, real begin, real end, T least, T most) {
  return x != x ? T(0) : x <= begin ? least : x >= end ? most : static_cast<T>(x);
}
)";

bool saturates(ElementType from, ElementType to) { return is_floating(from) && is_integer(to); }

std::string converted(const Plan& plan, const std::string& element) {
  const ElementType from = plan.accesses[0].element, to = plan.accesses[1].element;
  if (from == to) return element;
  if (!saturates(from, to)) return fmt::format("put<{}>(get({}))", type_text(to), element);
  // The bounds are powers of two, which every floating-point type can represent.
  const std::size_t bits = 8 * size_of(to);
  if (is_signed_integer(to))
    return fmt::format(
        "saturated<{0}>(get({1}), -0x1p{2}f, 0x1p{2}f, static_cast<{0}>(1ull << {2}), "
        "static_cast<{0}>((1ull << {2}) - 1))",
        type_text(to), element, bits - 1);
  return fmt::format("saturated<{0}>(get({1}), 0.0f, 0x1p{2}f, static_cast<{0}>(0), static_cast<{0}>(~0ull))",
                     type_text(to), element, bits);
}

void write_plain(Code& code, const Plan& plan, const std::string& block_number, std::int64_t block) {
  code.line("const {0} i = static_cast<{0}>({1}) * {2} + threadIdx.x;", index_type(plan.is_wide), block_number,
            index(block, plan.is_wide));
  if (plan.threads % block != 0) code.line("if (i >= {}) return;", index(plan.threads, plan.is_wide));
  std::string offsets[2];
  if (plan.from.empty()) {
    const auto indices = write_indices(code, "i", "i", plan.axes, plan.width, plan.is_wide);
    for (std::size_t side = 0; side < 2; ++side)
      offsets[side] = offset_text(plan.axes, side, indices, plan.width, plan.is_wide);
  } else {
    const auto from = write_indices(code, "i", "f", plan.from, 1, plan.is_wide);
    const auto to = write_indices(code, "i", "t", plan.to, 1, plan.is_wide);
    offsets[0] = offset_text(plan.from, 0, from, 1, plan.is_wide);
    offsets[1] = offset_text(plan.to, 0, to, 1, plan.is_wide);
  }
  if (plan.width == 1) {
    code.line("({})[{}] = {};", begin_text(plan, true), offsets[1],
              converted(plan, fmt::format("({})[{}]", begin_text(plan, false), offsets[0])));
    return;
  }
  // An element repeated along the last axis is read once.
  const bool is_repeated = plan.axes.back().strides[0] == 0;
  if (is_repeated)
    code.line("const auto x = ({})[{}];", begin_text(plan, false), offsets[0]);
  else
    code.line("const auto x = load<{}>({} + ({}));", plan.width, begin_text(plan, false), offsets[0]);
  if (!is_repeated && plan.accesses[0].element == plan.accesses[1].element) {
    code.line("store({} + ({}), x);", begin_text(plan, true), offsets[1]);
    return;
  }
  code.line("Pack<{}, {}> y;", type_text(plan.accesses[1].element), plan.width);
  code.unrolled("k", plan.width);
  code.line("y.v[k] = {};", converted(plan, is_repeated ? "x" : "x.v[k]"));
  code.close();
  code.line("store({} + ({}), y);", begin_text(plan, true), offsets[1]);
}

/// Reads rows along one axis and writes them along another.
void write_turned(Code& code, const Plan& plan, const std::string& block_number) {
  std::vector<Axis> others = plan.axes;
  const Axis across = others[*plan.turned], along = others.back();
  others.pop_back();
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(*plan.turned));
  const auto number = [&](std::int64_t value) { return index(value, plan.is_wide); };
  const std::string_view type = index_type(plan.is_wide);
  const std::int64_t columns = (across.extent + tile - 1) / tile, rows = (along.extent + tile - 1) / tile;
  code.line("const {0} b = {1};", type, block_number);
  code.line("const {} c = b % {} * {}, d = b / {} % {} * {}, o = b / {};", type, number(columns), number(tile),
            number(columns), number(rows), number(tile), number(columns * rows));
  const auto indices = write_indices(code, "o", "o", others, 1, plan.is_wide);
  code.line("const {0} x = threadIdx.x % {1}u, y = threadIdx.x / {1}u;", type, tile);
  code.line("{0}* square = reinterpret_cast<{0}*>(squares);", type_text(plan.accesses[0].element));
  code.line("const {}* __restrict__ from = {} + ({});", type_text(plan.accesses[0].element), begin_text(plan, false),
            offset_text(others, 0, indices, 1, plan.is_wide));
  code.line("{}* __restrict__ to = {} + ({});", type_text(plan.accesses[1].element), begin_text(plan, true),
            offset_text(others, 1, indices, 1, plan.is_wide));
  const auto guard = [&](const char* first, std::int64_t first_end, const char* second, std::int64_t second_end) {
    std::string text;
    if (first_end % tile != 0) text = fmt::format("{} < {}", first, number(first_end));
    if (second_end % tile != 0)
      text += fmt::format("{}{} < {}", text.empty() ? "" : " && ", second, number(second_end));
    return text.empty() ? text : fmt::format("if ({}) ", text);
  };
  code.unrolled("k", tile / tile_rows);
  code.line("const {} r = y + k * {}u;", type, tile_rows);
  code.line("{}square[r * {}u + x] = from[c + x + (d + r) * {}];", guard("c + x", across.extent, "d + r", along.extent),
            tile + 1, number(along.strides[0]));
  code.close();
  code.line("__syncthreads();");
  code.unrolled("k", tile / tile_rows);
  code.line("const {} r = y + k * {}u;", type, tile_rows);
  code.line("{}to[d + x + (c + r) * {}] = {};", guard("c + r", across.extent, "d + x", along.extent),
            number(across.strides[1]), converted(plan, fmt::format("square[x * {}u + r]", tile + 1)));
  code.close();
}

SourceLaunch pieces_source(const cost::Call& call, std::int64_t multiprocessors) {
  std::vector<Plan> plans;
  std::int64_t threads = 0, square_bytes = 0;
  for (const cost::Call::Piece& piece : call.pieces) {
    Plan& plan = plans.emplace_back(plan_of(call, piece, multiprocessors));
    threads += plan.threads;
    if (plan.turned)
      square_bytes =
          std::max(square_bytes, tile * (tile + 1) * static_cast<std::int64_t>(size_of(plan.accesses[0].element)));
  }
  const std::int64_t block = square_bytes > 0 || threads > multiprocessors * 1024 ? tile * tile_rows : 128;
  std::int64_t blocks = 0;
  for (Plan& plan : plans) {
    plan.blocks = (plan.threads + block - 1) / block;
    if (plan.turned) {
      const Axis &across = plan.axes[*plan.turned], &along = plan.axes.back();
      plan.blocks = count(plan.axes) / across.extent / along.extent * ((across.extent + tile - 1) / tile) *
                    ((along.extent + tile - 1) / tile);
    }
    blocks += plan.blocks;
  }
  SourceLaunch launch;
  launch.name = "copy";
  launch.block = static_cast<std::uint32_t>(block);
  launch.grid[0] = grid_of(blocks);
  Parameters parameters;
  for (const Plan& plan : plans)
    for (const Access& access : plan.accesses) parameters.add(call, access.is_written, access.operand);

  Code code;
  open_kernel(code, launch, parameters);
  write_waiting(code);
  if (square_bytes > 0) code.line("__shared__ __align__(16) unsigned char squares[{}];", square_bytes);
  std::int64_t first = 0;
  for (const Plan& plan : plans) {
    if (plan.blocks == 0) continue;
    const bool is_last = first + plan.blocks == blocks;
    code.open("{}", is_last ? "" : fmt::format("if (blockIdx.x < {}u)", first + plan.blocks));
    const std::string block_number = first == 0 ? "blockIdx.x" : fmt::format("(blockIdx.x - {}u)", first);
    if (plan.turned)
      write_turned(code, plan, block_number);
    else
      write_plain(code, plan, block_number, block);
    if (!is_last) code.line("return;");
    code.close();
    first += plan.blocks;
  }
  code.close();
  const bool is_rounded = std::any_of(plans.begin(), plans.end(), [](const Plan& plan) {
    return saturates(plan.accesses[0].element, plan.accesses[1].element);
  });
  launch.source = prelude(arithmetic_of(call)) + std::string(is_rounded ? saturating : "") + code.text();
  return launch;
}

/// An axis of a padded tensor, with the place of the operand in it.
struct PaddedAxis {
  std::int64_t extent = 1, before = 0, inside = 1, from_stride = 0, to_stride = 0;
  bool is_padded() const { return inside != extent; }
};

std::vector<PaddedAxis> padded_axes(const cost::Call& call, const std::vector<std::int64_t>& before) {
  const cost::Call::Operand &from = call.read.at(0), &to = call.written.at(0);
  std::vector<PaddedAxis> axes;
  for (std::size_t i = 0; i < to.extents.size(); ++i)
    if (to.extents[i] != 1 || from.extents[i] != 1)
      axes.push_back({to.extents[i], before[i], from.extents[i], from.strides[i], to.strides[i]});
  std::stable_sort(axes.begin(), axes.end(),
                   [](const PaddedAxis& a, const PaddedAxis& b) { return a.to_stride > b.to_stride; });
  std::vector<PaddedAxis> merged;
  for (const PaddedAxis& axis : axes) {
    if (merged.empty() || axis.is_padded() || merged.back().from_stride != axis.from_stride * axis.extent ||
        merged.back().to_stride != axis.to_stride * axis.extent) {
      merged.push_back(axis);
      continue;
    }
    PaddedAxis& outer = merged.back();
    outer = {outer.extent * axis.extent, outer.before * axis.extent, outer.inside * axis.extent, axis.from_stride,
             axis.to_stride};
  }
  return merged;
}

SourceLaunch padding_source(const cost::Call& call, std::int64_t multiprocessors) {
  check(call.steps.size() == 1 && call.read.size() == 1 && call.written.size() == 1, "a padding stands alone");
  const Operator& op = call.steps[0].op;
  const cost::Call::Operand &from = call.read[0], &to = call.written[0];
  std::vector<std::int64_t> before;
  double value = 0;
  if (const auto* pad = std::get_if<op::Pad>(&op)) {
    before = pad->before;
    value = pad->value;
  } else {
    check(std::holds_alternative<op::Enlarge>(op), "a copy without pieces is a padding");
    for (std::size_t i = 0; i < to.extents.size(); ++i) before.push_back((to.extents[i] - from.extents[i]) / 2);
  }
  const std::vector<PaddedAxis> padded = padded_axes(call, before);
  const std::vector<Access> accesses{{false, 0, from.element, {}, alignment_of(from)},
                                     {true, 0, to.element, {}, alignment_of(to)}};
  std::vector<Axis> axes;
  for (const PaddedAxis& axis : padded) axes.push_back({axis.extent, {axis.from_stride, axis.to_stride}});
  const std::int64_t places = count(axes);
  std::int64_t width = vector_width(axes, accesses);
  while (width > 1 && (padded.back().before % width != 0 || padded.back().inside % width != 0 ||
                       places / width < multiprocessors * 32))
    width /= 2;
  const std::int64_t threads = places / width, block = threads > multiprocessors * 1024 ? 256 : 128;
  const bool is_wide = needs_wide_index(axes, 2);
  const Arithmetic arithmetic = arithmetic_of(call);

  SourceLaunch launch;
  launch.name = "pad";
  launch.block = static_cast<std::uint32_t>(block);
  launch.grid[0] = grid_of((threads + block - 1) / block);
  Parameters parameters;
  for (const Access& access : accesses) parameters.add(call, access.is_written, access.operand);

  Code code;
  open_kernel(code, launch, parameters);
  write_waiting(code);
  code.line("const {0} i = static_cast<{0}>(blockIdx.x) * {1} + threadIdx.x;", index_type(is_wide),
            index(block, is_wide));
  code.line("if (i >= {}) return;", index(threads, is_wide));
  const auto indices = write_indices(code, "i", "i", axes, width, is_wide);
  // Indices are unsigned: a place before the start becomes a very large number, too.
  std::string inside;
  std::vector<std::string> shifted = indices;
  for (std::size_t i = 0; i < padded.size(); ++i) {
    if (!padded[i].is_padded()) continue;
    const std::int64_t unit = i + 1 == padded.size() ? width : 1;
    if (padded[i].before != 0)
      shifted[i] = fmt::format("({} - {})", indices[i], index(padded[i].before / unit, is_wide));
    inside +=
        fmt::format("{}{} < {}", inside.empty() ? "" : " && ", shifted[i], index(padded[i].inside / unit, is_wide));
  }
  const std::string_view type = type_text(to.element);
  code.line("Pack<{}, {}> y;", type, width);
  code.unrolled("k", width);
  code.line("y.v[k] = put<{}>({});", type, number(value, arithmetic));
  code.close();
  code.open("if ({})", inside.empty() ? "true" : inside);
  const std::string read = offset_text(axes, 0, shifted, width, is_wide);
  if (width > 1 && axes.back().strides[0] != 0)
    code.line("const auto x = load<{}>(r0 + ({}));", width, read);
  else
    code.line("const Pack<{0}, 1> x = {{{{r0[{1}]}}}};", type_text(from.element), read);
  code.unrolled("k", width);
  const std::string element = width > 1 && axes.back().strides[0] != 0 ? "x.v[k]" : "x.v[0]";
  code.line("y.v[k] = {};", from.element == to.element ? element : fmt::format("put<{}>(get({}))", type, element));
  code.close();
  code.close();
  code.line("store(w0 + ({}), y);", offset_text(axes, 1, indices, width, is_wide));
  code.close();
  launch.source = prelude(arithmetic) + code.text();
  return launch;
}

}  // namespace

SourceLaunch copy_source(const cost::Call& call, std::int64_t multiprocessors) {
  return call.steps.empty() ? pieces_source(call, multiprocessors) : padding_source(call, multiprocessors);
}

}  // namespace taso::gpu
