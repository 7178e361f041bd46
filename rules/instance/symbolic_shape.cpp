// Shape inference with unknown attributes. Each operator's own `infer` (ops/operators) defines what is right for
// numbers; a test compares the two for every operator.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "rules/instance/symbolic_operator.h"

namespace taso::rules {
namespace {

using Maybe = std::optional<Shapes>;

class Inference {
 public:
  Inference(const SymbolicOperator& op, std::span<const Shape> in, std::vector<Requirement>& requirements)
      : op_(op), in_(in), requirements_(requirements) {}

  // Every operator without its own overload is element-wise.
  template <class Op>
  Maybe operator()(const Op&) {
    static_assert(std::is_base_of_v<op::Unary<Op>, Op> || std::is_base_of_v<op::Binary<Op>, Op>,
                  "an operator that is not element-wise needs its shapes written here");
    if constexpr (Op::max_inputs == 1)
      return one(in_[0]);
    else
      return broadcast();
  }
  Maybe operator()(const op::LeakyRelu&) { return one(in_[0]); }
  Maybe operator()(const op::Clip&) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto &low = real("low"), &high = real("high");
    if (low.variable.empty() && !(low.value < infinity)) return std::nullopt;
    if (high.variable.empty() && !(high.value > -infinity)) return std::nullopt;
    return one(in_[0]);
  }
  Maybe operator()(const op::Gelu&) { return one(in_[0]); }

  Maybe operator()(const op::ScalarMul&) {
    if (in_[1].size() > in_[0].size()) return std::nullopt;
    for (const Dim& dim : in_[1]) equal(dim, 1);
    return one(in_[0]);
  }

  Maybe operator()(const op::MatMul&) {
    const Shape &a = in_[0], &b = in_[1];
    if (a.size() < 2 || b.size() < 2) return std::nullopt;
    equal(a.back(), b[b.size() - 2]);
    Shape result = broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
    result.push_back(a[a.size() - 2]);
    result.push_back(b.back());
    return one(std::move(result));
  }

  Maybe operator()(const op::Conv&) {
    const Shape &x = in_[0], &w = in_[1];
    if (x.size() < 3 || w.size() != x.size()) return std::nullopt;
    const Dim groups = number("groups");
    at_least(groups, 1);
    equal(x[1], w[1] * groups);
    divides(groups, w[0]);
    if (in_.size() == 3) {
      if (in_[2].size() != 1) return std::nullopt;
      equal(in_[2][0], w[0]);
    }
    return windows({x[0], w[0]}, Shape(w.begin() + 2, w.end()));
  }

  Maybe operator()(const op::Transpose&) {
    const auto& permutation = numbers("permutation");
    if (permutation.size() != in_[0].size()) return std::nullopt;
    std::vector<bool> seen(permutation.size());
    Shape result;
    for (const std::int64_t axis : permutation) {
      if (axis < 0 || static_cast<std::size_t>(axis) >= seen.size() || seen[static_cast<std::size_t>(axis)])
        return std::nullopt;
      seen[static_cast<std::size_t>(axis)] = true;
      result.push_back(in_[0][static_cast<std::size_t>(axis)]);
    }
    return one(std::move(result));
  }

  Maybe operator()(const op::AveragePool&) { return pooling(); }
  Maybe operator()(const op::MaxPool&) {
    Maybe result = pooling();
    if (!result) return std::nullopt;
    // Otherwise dilation could step over all of the input. The maximum of nothing is not a real number, and rules do
    // not cover it.
    const auto& dilations = dims("dilations");
    for (std::size_t axis = 0; axis < dilations.size(); ++axis) at_least(in_[0][2 + axis], dilations[axis]);
    return result;
  }
  Maybe operator()(const op::GlobalAveragePool&) {
    if (in_[0].size() < 3) return std::nullopt;
    Shape result = in_[0];
    std::fill(result.begin() + 2, result.end(), Dim(1));
    return one(std::move(result));
  }

  Maybe operator()(const op::LocalResponseNorm&) {
    if (in_[0].size() < 3) return std::nullopt;
    at_least(number("size"), 1);
    return one(in_[0]);
  }

  Maybe operator()(const op::Concat&) {
    const auto axis = axis_of(in_[0]);
    if (!axis || in_[0].size() != in_[1].size()) return std::nullopt;
    Shape result = in_[0];
    for (std::size_t i = 0; i < result.size(); ++i)
      if (i != *axis) equal(in_[0][i], in_[1][i]);
    result[*axis] = in_[0][*axis] + in_[1][*axis];
    return one(std::move(result));
  }
  Maybe operator()(const op::Split&) {
    const auto axis = axis_of(in_[0]);
    if (!axis) return std::nullopt;
    Shapes parts{in_[0], in_[0]};
    parts[0][*axis] = number("at");
    parts[1][*axis] = in_[0][*axis] - number("at");
    at_least(parts[0][*axis], 1);
    at_least(parts[1][*axis], 1);
    return parts;
  }
  Maybe operator()(const op::Slice&) {
    const auto axis = axis_of(in_[0]);
    if (!axis) return std::nullopt;
    const Dim begin = number("begin"), end = number("end");
    at_least(begin, 0);
    at_least(end - begin, 1);
    at_least(in_[0][*axis], end);
    Shape result = in_[0];
    result[*axis] = end - begin;
    return one(std::move(result));
  }
  Maybe operator()(const op::Pad&) {
    const auto &before = dims("before"), &after = dims("after");
    if (before.size() != in_[0].size() || after.size() != in_[0].size()) return std::nullopt;
    Shape result = in_[0];
    for (std::size_t i = 0; i < result.size(); ++i) {
      at_least(before[i], 0);
      at_least(after[i], 0);
      result[i] = result[i] + before[i] + after[i];
    }
    return one(std::move(result));
  }
  Maybe operator()(const op::Reshape&) {
    const auto& shape = dims("shape");
    for (const Dim& dim : shape) at_least(dim, 1);
    equal(count(in_[0]), count(shape));
    return one(shape);
  }
  Maybe operator()(const op::Enlarge&) {
    const auto& kernel = dims("kernel");
    if (in_[0].size() < 3 || kernel.size() + 2 != in_[0].size()) return std::nullopt;
    Shape result{in_[0][0], in_[0][1]};
    for (std::size_t i = 0; i < kernel.size(); ++i) {
      at_least(kernel[i], in_[0][2 + i]);
      result.push_back(kernel[i]);
    }
    return one(std::move(result));
  }

  Maybe operator()(const op::BatchNorm&) {
    if (in_[0].size() < 2) return std::nullopt;
    for (const Shape& shape : in_.subspan(1)) {
      if (shape.size() != 1) return std::nullopt;
      equal(shape[0], in_[0][1]);
    }
    return one(in_[0]);
  }
  Maybe operator()(const op::LayerNorm&) {
    if (!axis_of(in_[0])) return std::nullopt;
    for (const Shape& shape : in_.subspan(1)) {
      if (shape.size() > in_[0].size()) return std::nullopt;
      const std::size_t missing = in_[0].size() - shape.size();
      for (std::size_t i = 0; i < shape.size(); ++i)
        if (shape[i] != Dim(1)) equal(shape[i], in_[0][missing + i]);
    }
    return one(in_[0]);
  }
  Maybe operator()(const op::Softmax&) { return axis_of(in_[0]) ? one(in_[0]) : std::nullopt; }
  Maybe operator()(const op::ReduceSum&) { return reduction(); }
  Maybe operator()(const op::ReduceMean&) { return reduction(); }
  Maybe operator()(const op::ReduceMax&) { return reduction(); }

  Maybe operator()(const op::IdentityMatrix&) {
    at_least(number("size"), 1);
    return one({number("size"), number("size")});
  }
  Maybe operator()(const op::IdentityKernel&) {
    for (const Dim& size : dims("kernel")) divides(2, size - 1);  // it has a middle
    return diagonal_kernel();
  }
  Maybe operator()(const op::PoolingKernel&) { return diagonal_kernel(); }
  Maybe operator()(const op::Ones&) {
    for (const Dim& dim : dims("shape")) at_least(dim, 1);
    return one(dims("shape"));
  }

 private:
  static Maybe one(Shape shape) { return Shapes{std::move(shape)}; }
  void require(Requirement::Kind kind, Dim left, Dim right) { requirements_.push_back({kind, left, right}); }
  void equal(Dim left, Dim right) {
    if (left != right) require(Requirement::Kind::equal, left, right);
  }
  void at_least(Dim left, Dim right) { require(Requirement::Kind::at_least, left, right); }
  void divides(Dim left, Dim right) { require(Requirement::Kind::divides, left, right); }

  Dim number(std::string_view name) const { return std::get<Dim>(field(op_, name)); }
  const std::vector<Dim>& dims(std::string_view name) const { return std::get<std::vector<Dim>>(field(op_, name)); }
  const std::vector<std::int64_t>& numbers(std::string_view name) const {
    return std::get<std::vector<std::int64_t>>(field(op_, name));
  }
  const RealAttribute& real(std::string_view name) const { return std::get<RealAttribute>(field(op_, name)); }
  bool flag(std::string_view name) const { return std::get<bool>(field(op_, name)); }
  std::optional<std::size_t> axis_of(const Shape& shape) const {
    const std::int64_t axis = std::get<std::int64_t>(field(op_, "axis"));
    if (axis < 0 || static_cast<std::size_t>(axis) >= shape.size()) return std::nullopt;
    return static_cast<std::size_t>(axis);
  }

  Shape broadcast(const Shape& a, const Shape& b) {
    const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
    Shape result = longer;
    const std::size_t missing = longer.size() - shorter.size();
    for (std::size_t i = 0; i < shorter.size(); ++i) {
      Dim& dim = result[missing + i];
      if (dim == Dim(1))
        dim = shorter[i];
      else if (shorter[i] != Dim(1))
        equal(dim, shorter[i]);
    }
    return result;
  }
  Maybe broadcast() { return one(broadcast(in_[0], in_[1])); }

  Maybe windows(Shape result, const Shape& kernel) {
    const Shape& x = in_[0];
    const std::size_t rank = x.size() - 2;
    const auto &strides = dims("strides"), &dilations = dims("dilations"), &pads = dims("pads");
    if (strides.size() != rank || dilations.size() != rank || pads.size() != 2 * rank || kernel.size() != rank)
      return std::nullopt;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      at_least(strides[axis], 1);
      at_least(dilations[axis], 1);
      at_least(pads[axis], 0);
      at_least(pads[rank + axis], 0);
      at_least(kernel[axis], 1);
      const Dim room = x[2 + axis] + pads[axis] + pads[rank + axis] - dilations[axis] * (kernel[axis] - 1) - 1;
      at_least(room, 0);
      if (strides[axis].is_static() && strides[axis].value() < 1) return std::nullopt;
      result.push_back(floor_div(room, strides[axis]) + 1);
    }
    return one(std::move(result));
  }
  Maybe pooling() {
    const Shape& x = in_[0];
    const auto &kernel = dims("kernel"), &pads = dims("pads");
    // The shape is not a polynomial if windows are rounded up.
    if (x.size() < 3 || kernel.size() + 2 != x.size() || flag("ceil")) return std::nullopt;
    Maybe result = windows({x[0], x[1]}, kernel);
    if (!result) return std::nullopt;
    for (std::size_t axis = 0; axis < kernel.size(); ++axis) {
      at_least(kernel[axis], pads[axis] + 1);
      at_least(kernel[axis], pads[kernel.size() + axis] + 1);
    }
    return result;
  }
  Maybe reduction() {
    std::vector<bool> reduced(in_[0].size());
    for (const std::int64_t axis : numbers("axes")) {
      if (axis < 0 || static_cast<std::size_t>(axis) >= reduced.size() || reduced[static_cast<std::size_t>(axis)])
        return std::nullopt;
      reduced[static_cast<std::size_t>(axis)] = true;
    }
    Shape result;
    for (std::size_t i = 0; i < reduced.size(); ++i) {
      if (!reduced[i])
        result.push_back(in_[0][i]);
      else if (flag("keep"))
        result.push_back(1);
    }
    return one(std::move(result));
  }
  Maybe diagonal_kernel() {
    const Dim channels = number("channels"), groups = number("groups");
    const auto& kernel = dims("kernel");
    if (kernel.empty()) return std::nullopt;
    at_least(channels, 1);
    at_least(groups, 1);
    divides(groups, channels);
    if (groups.is_static() && groups.value() < 1) return std::nullopt;
    Shape result{channels, floor_div(channels, groups)};
    for (const Dim& size : kernel) {
      at_least(size, 1);
      result.push_back(size);
    }
    return one(std::move(result));
  }

  const SymbolicOperator& op_;
  std::span<const Shape> in_;
  std::vector<Requirement>& requirements_;
};

/// Proofs are about real numbers. Only a bound may be infinite, which means that there is none.
bool has_real_numbers(const SymbolicOperator& op) {
  if (std::holds_alternative<op::Clip>(prototype(op.kind))) return true;
  return std::all_of(op.fields.begin(), op.fields.end(), [](const SymbolicField& field) {
    const auto* const real = std::get_if<RealAttribute>(&field);
    return real == nullptr || !real->variable.empty() || std::isfinite(real->value);
  });
}

}  // namespace

std::optional<Shapes> infer(const SymbolicOperator& op, std::span<const Shape> operands,
                            std::vector<Requirement>& requirements) {
  const Operator& sample = prototype(op.kind);
  if (operands.size() < min_inputs(sample) || operands.size() > max_inputs(sample)) return std::nullopt;
  if (!has_real_numbers(op)) return std::nullopt;
  return std::visit(Inference(op, operands, requirements), sample);
}

}  // namespace taso::rules
