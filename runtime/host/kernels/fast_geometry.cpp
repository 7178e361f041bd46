#include "runtime/host/kernels/fast_geometry.h"

#include "ops/graph/plain.h"
#include "runtime/host/kernels/geometry.h"

namespace taso::runtime::kernels {
namespace {

using std::int64_t;

struct Moving {
  std::span<const Array> in;
  const std::vector<Extents>& shapes;
  unsigned threads;

  Array result(std::size_t i = 0) const { return Array(in[0].type(), shapes[i]); }
};

/// An array as runs: one for each index before the axis, with all elements from the axis on.
struct Runs {
  int64_t number = 1;
  std::size_t bytes = 0;
};
Runs runs_of(const Array& array, int64_t axis) {
  Runs runs;
  int64_t elements = 1;
  for (std::size_t i = 0; i < array.rank(); ++i)
    (static_cast<int64_t>(i) < axis ? runs.number : elements) *= array.extents()[i];
  runs.bytes = static_cast<std::size_t>(elements) * size_of(array.type());
  return runs;
}

/// Copies the part that starts at `begin` along the axis, as long as `part`.
void cut_out(const Array& x, int64_t axis, int64_t begin, Array& part, unsigned threads) {
  const Runs from = runs_of(x, axis), to = runs_of(part, axis);
  const int64_t extent = x.extents()[static_cast<std::size_t>(axis)];
  if (part.size() == 0 || extent == 0) return;
  const std::size_t offset = from.bytes / static_cast<std::size_t>(extent) * static_cast<std::size_t>(begin);
  copy_runs(x.data() + offset, from.bytes, part.mutable_data(), to.bytes, to.bytes, to.number, threads);
}

Array placed(const Array& x, const Extents& before, const Array& fill, const Moving& moving) {
  Array out = moving.result();
  pad(x.data(), x.extents(), before, out.extents(), size_of(x.type()), fill.data(), out.mutable_data(), moving.threads);
  return out;
}

/// One element of the padding value, from the operator's own definition.
Array fill_of(double value, ElementType type) {
  const Array nothing(type, {0});
  return evaluate_plainly(op::Pad{{1}, {0}, value}, std::span(&nothing, 1))[0];
}

std::vector<Array> move(const op::Reshape&, const Moving& m) { return {m.in[0].reshaped(m.shapes[0])}; }

std::vector<Array> move(const op::Transpose& op, const Moving& m) {
  return {transposed(m.in[0], op.permutation, m.threads)};
}

std::vector<Array> move(const op::Concat& op, const Moving& m) {
  Array out = m.result();
  std::byte* to = out.mutable_data();
  const Runs whole = runs_of(out, op.axis);
  for (const Array& part : m.in) {
    const Runs runs = runs_of(part, op.axis);
    copy_runs(part.data(), runs.bytes, to, whole.bytes, runs.bytes, runs.number, m.threads);
    to += runs.bytes;
  }
  return {std::move(out)};
}

std::vector<Array> move(const op::Slice& op, const Moving& m) {
  Array out = m.result();
  cut_out(m.in[0], op.axis, op.begin.value(), out, m.threads);
  return {std::move(out)};
}

std::vector<Array> move(const op::Split& op, const Moving& m) {
  std::vector<Array> parts;
  int64_t begin = 0;
  for (std::size_t i = 0; i < m.shapes.size(); ++i) {
    Array& part = parts.emplace_back(m.result(i));
    cut_out(m.in[0], op.axis, begin, part, m.threads);
    begin += part.extents()[static_cast<std::size_t>(op.axis)];
  }
  return parts;
}

std::vector<Array> move(const op::Pad& op, const Moving& m) {
  return {placed(m.in[0], op.before, fill_of(op.value, m.in[0].type()), m)};
}

std::vector<Array> move(const op::Enlarge&, const Moving& m) {
  Extents before(m.shapes[0].size());
  for (std::size_t i = 0; i < before.size(); ++i) before[i] = (m.shapes[0][i] - m.in[0].extents()[i]) / 2;
  return {placed(m.in[0], before, fill_of(0, m.in[0].type()), m)};
}

}  // namespace

Array transposed(const Array& x, const std::vector<int64_t>& permutation, unsigned threads) {
  Extents extents;
  for (const int64_t axis : permutation) extents.push_back(x.extents()[static_cast<std::size_t>(axis)]);
  Array out(x.type(), std::move(extents));
  transpose(x.data(), x.extents(), permutation, size_of(x.type()), out.mutable_data(), threads);
  return out;
}

std::optional<std::vector<Array>> evaluate_geometry(const Operator& op, std::span<const Array> inputs,
                                                    const std::vector<Extents>& shapes, unsigned threads) {
  const Moving moving{inputs, shapes, threads};
  return std::visit(
      [&](const auto& o) -> std::optional<std::vector<Array>> {
        if constexpr (requires { move(o, moving); })
          return move(o, moving);
        else
          return std::nullopt;
      },
      op);
}

}  // namespace taso::runtime::kernels
