#include "verifier/normal_form/operators.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ops/core/error.h"
#include "rules/instance/symbolic_operator.h"

namespace taso::verifier::normal {
namespace {

/// The variables of an iterated sum or maximum; a range of one element needs none.
struct Binders {
  std::vector<Variable> variables;
  Polynomial add(const Polynomial& extent, const char* name) {
    if (extent == Polynomial(1)) return {};
    variables.push_back(facts().fresh(extent, name));
    return Polynomial::variable(variables.back());
  }
};

/// The cells of a window: where the kernel and the input are read, and the guards of cells inside the input.
struct WindowCells {
  Binders binders;
  Index kernel, input;
  Constraints inside;
};

/// During its lifetime, elements are read only where the guards hold.
class Path {
 public:
  explicit Path(const Constraints& guards) : length_(Workspace::current().path.size()) {
    Constraints& path = Workspace::current().path;
    path.insert(path.end(), guards.begin(), guards.end());
  }
  ~Path() { Workspace::current().path.resize(length_); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  std::size_t length_;
};

/// Switches the recording of partial functions on or off during its lifetime.
class Notes {
 public:
  explicit Notes(bool notes) : before_(std::exchange(Workspace::current().notes, notes)) {}
  ~Notes() { Workspace::current().notes = before_; }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;

 private:
  bool before_;
};

class Reader {
 public:
  Reader(const rules::Instance& instance, rules::InstanceValue value, const Index& index)
      : instance_(instance), node_(instance.nodes[value.first]), output_(value.second), index_(index) {}

  // Element-wise operators without attributes define themselves.
  template <class Op>
  Sum operator()(const Op& op) const {
    static_assert(std::is_base_of_v<op::Unary<Op>, Op> || std::is_base_of_v<op::Binary<Op>, Op>,
                  "an operator that is not element-wise needs its meaning written here");
    if constexpr (Op::max_inputs == 1)
      return op.template apply<Sum>(read(0, index_));
    else
      return op.template apply<Sum>(read_broadcast(0), read_broadcast(1));
  }
  Sum operator()(const op::Gelu&) const {
    op::Gelu gelu;
    gelu.tanh = flag("tanh");
    return gelu.apply<Sum>(read(0, index_));
  }
  Sum operator()(const op::LeakyRelu&) const {
    const Sum x = read(0, index_);
    return maximum(x, {}) + real("alpha") * minimum(x, {});
  }
  Sum operator()(const op::Clip&) const {
    Sum result = read(0, index_);
    if (is_bound("low")) result = maximum(result, real("low"));
    if (is_bound("high")) result = minimum(result, real("high"));
    return result;
  }

  /// A function of which only the class is known.
  Sum of_any(std::size_t place) const {
    const AnyFunction& any = Workspace::current().any_functions[place];
    const auto function = static_cast<Function>(static_cast<std::size_t>(Function::any) + place);
    if (node_.operands.size() == 1) return apply(function, {read(0, index_)});
    if (!any.is_linear) return apply(function, {read_broadcast(0), read_broadcast(1)});
    const std::string name = "'linear " + std::to_string(place);
    return real_attribute(name + "a") * read_broadcast(0) + real_attribute(name + "b") * read_broadcast(1);
  }

  Sum operator()(const op::MatMul&) const {
    const std::size_t rank = index_.size();
    Binders binders;
    const Polynomial inner = binders.add(size(0, shape(0).size() - 1), "k");
    Index left(index_.end() - static_cast<std::ptrdiff_t>(shape(0).size()), index_.end());
    Index right(index_.end() - static_cast<std::ptrdiff_t>(shape(1).size()), index_.end());
    left.back() = inner;
    right[right.size() - 2] = inner;
    check(rank >= 2, "a product of matrices has rows and columns");
    return iterated(read(0, fitted(0, left)) * read(1, fitted(1, right)), binders.variables);
  }
  Sum operator()(const op::Conv&) const {
    const Polynomial groups = number("groups");
    Shape kernel(shape(1).begin() + 2, shape(1).end());
    WindowCells cells = window(kernel);
    const Polynomial channels = size(1, 1);
    const Polynomial channel = cells.binders.add(channels, "c");
    Polynomial group;
    if (groups != Polynomial(1)) group = facts().quotient(index_[1], facts().quotient(size(1, 0), groups));
    Index input{index_[0], group * channels + channel}, weight{index_[1], channel};
    input.insert(input.end(), cells.input.begin(), cells.input.end());
    weight.insert(weight.end(), cells.kernel.begin(), cells.kernel.end());
    Sum result =
        iterated(guarded(read_inside(0, input, cells.inside) * read_inside(1, weight, cells.inside), cells.inside),
                 cells.binders.variables);
    if (node_.operands.size() == 3) result = result + read(2, {index_[1]});
    return result;
  }
  /// The sum over channels, cells t of the kernel and places l of the input: strides l + dilations t - pads = index.
  Sum operator()(const op::ConvTranspose&) const {
    const Polynomial groups = number("groups"), filters = size(1, 1);
    const auto &strides = dims("strides"), &dilations = dims("dilations"), &pads = dims("pads");
    Polynomial group, channels = size(1, 0);
    if (groups != Polynomial(1)) {
      group = facts().quotient(index_[1], filters);
      channels = facts().quotient(channels, groups);
    }
    Binders binders;
    const Polynomial channel = group * channels + binders.add(channels, "c");
    Index input{index_[0], channel}, weight{channel, index_[1] - group * filters};
    Constraints met;
    for (std::size_t axis = 0; axis < strides.size(); ++axis) {
      input.push_back(binders.add(size(0, 2 + axis), "l"));
      weight.push_back(binders.add(size(1, 2 + axis), "w"));
      met.push_back(
          equal(facts().polynomial(strides[axis]) * input.back() + facts().polynomial(dilations[axis]) * weight.back(),
                index_[2 + axis] + facts().polynomial(pads[axis])));
    }
    Sum result = iterated(guarded(read_inside(0, input, met) * read_inside(1, weight, met), met), binders.variables);
    if (node_.operands.size() == 3) result = result + read(2, {index_[1]});
    return result;
  }
  Sum operator()(const op::AveragePool&) const {
    WindowCells cells = window(dims("kernel"));
    const Sum sum =
        iterated(guarded(read_inside(0, pooled(cells), cells.inside), cells.inside), cells.binders.variables);
    // Windows are not rounded up, so each lies within the padded input.
    if (flag("count_padding")) return sum * reciprocal_of_size(product(dims("kernel")));
    const Sum one = constant(Rational{1, 1});
    return sum * apply(Function::reciprocal, {iterated(guarded(one, cells.inside), cells.binders.variables)});
  }
  Sum operator()(const op::MaxPool&) const {
    WindowCells cells = window(dims("kernel"));
    const Sum cell = read_inside(0, pooled(cells), cells.inside);
    return maximum({{cells.binders.variables, cells.inside, std::make_shared<const Sum>(cell)}});
  }
  Sum operator()(const op::GlobalAveragePool&) const {
    Binders binders;
    Index inside{index_[0], index_[1]};
    for (std::size_t axis = 2; axis < shape(0).size(); ++axis) inside.push_back(binders.add(size(0, axis), "k"));
    return iterated(read(0, inside), binders.variables) * reciprocal_of_size(product(std::span(shape(0)).subspan(2)));
  }

  Sum operator()(const op::Transpose&) const {
    const auto& permutation = numbers("permutation");
    Index inside(index_.size());
    for (std::size_t i = 0; i < index_.size(); ++i) inside[static_cast<std::size_t>(permutation[i])] = index_[i];
    return read(0, inside);
  }
  Sum operator()(const op::Concat&) const {
    const std::size_t axis = axis_of("axis");
    const Polynomial first = size(0, axis);
    Index later = index_;
    later[axis] = later[axis] - first;
    return read_where(0, index_, at_least(first - 1, index_[axis])) +
           read_where(1, later, at_least(index_[axis], first));
  }
  Sum operator()(const op::Split&) const { return shifted(output_ == 0 ? Polynomial() : number("at")); }
  Sum operator()(const op::Slice&) const { return shifted(number("begin")); }
  Sum operator()(const op::Pad&) const {
    Index inside = index_;
    Constraints guards;
    for (std::size_t axis = 0; axis < index_.size(); ++axis) {
      inside[axis] = inside[axis] - facts().polynomial(dims("before")[axis]);
      guards.push_back(at_least(inside[axis], 0));
      guards.push_back(at_least(size(0, axis) - 1, inside[axis]));
    }
    const Sum value = real("value");
    return value + guarded(read_inside(0, inside, guards) - value, guards);
  }
  Sum operator()(const op::Enlarge&) const {
    Index inside = index_;
    Constraints guards;
    for (std::size_t axis = 2; axis < index_.size(); ++axis) {
      const Polynomial more = facts().polynomial(dims("kernel")[axis - 2]) - size(0, axis);
      inside[axis] = inside[axis] - facts().quotient(more, 2);
      guards.push_back(at_least(inside[axis], 0));
      guards.push_back(at_least(size(0, axis) - 1, inside[axis]));
    }
    return guarded(read_inside(0, inside, guards), guards);
  }
  Sum operator()(const op::Reshape&) const {
    // The same position in row-major order. The fewest axes of both shapes that hold equally many elements are
    // decomposed by themselves, from the first one on: longer positions have quotients that are hard to simplify.
    const Shape& result = node_.shapes[0];
    Index inside;
    for (std::size_t from = 0, to = 0; to < shape(0).size();) {
      Polynomial position, outer(1), inner(1);
      const std::size_t begin = to;
      const auto take_result = [&] {
        position = position * facts().polynomial(result[from]) + index_[from];
        outer = outer * facts().polynomial(result[from++]);
      };
      const auto take_operand = [&] { inner = inner * facts().polynomial(shape(0)[to++]); };
      if (from < result.size()) take_result();
      take_operand();
      while (inner != outer && (from < result.size() || to < shape(0).size())) {
        const bool is_less =
            from == result.size() || (to < shape(0).size() && !outer.divided_by(inner).quotient.is_zero());
        is_less ? take_operand() : take_result();
      }
      if (to == shape(0).size())
        while (from < result.size()) take_result();
      for (std::size_t axis = begin; axis < to; ++axis) {
        if (shape(0)[axis] == Dim(1)) {
          inside.emplace_back();
          continue;
        }
        const Polynomial stride = product(std::span(shape(0)).subspan(axis + 1, to - axis - 1));
        inside.push_back(facts().quotient(position, stride, Workspace::current().path));
        position = position - inside.back() * stride;
      }
    }
    return read(0, inside);
  }

  Sum operator()(const op::BatchNorm&) const {
    const Index channel{index_[1]};
    const Sum deviation = Math<Sum>::sqrt(read(4, channel) + real("epsilon"));
    return Math<Sum>::divide(read(1, channel) * (read(0, index_) - read(3, channel)), deviation) + read(2, channel);
  }
  Sum operator()(const op::LayerNorm&) const {
    std::vector<std::int64_t> axes;
    for (std::size_t axis = axis_of("axis"); axis < index_.size(); ++axis)
      axes.push_back(static_cast<std::int64_t>(axis));
    const auto centred = [&](const Index& index) { return read(0, index) - mean(index, axes); };
    Binders binders;
    const Index inside = replaced(index_, axes, binders);
    const Sum square = centred(inside) * centred(inside);
    const Sum variance = iterated(square, binders.variables) * reciprocal_of_size(count(axes));
    const Sum deviation = Math<Sum>::sqrt(variance + real("epsilon"));
    Sum result = Math<Sum>::divide(centred(index_), deviation) * read_broadcast(1);
    if (node_.operands.size() == 3) result = result + read_broadcast(2);
    return result;
  }
  Sum operator()(const op::LocalResponseNorm&) const {
    const Polynomial width = number("size");
    Binders binders;
    const Polynomial channel = index_[1] - facts().quotient(width - 1, 2) + binders.add(width, "w");
    Index near = index_;
    near[1] = channel;
    const Constraints inside{at_least(channel, 0), at_least(size(0, 1) - 1, channel)};
    const Sum cell = read_inside(0, near, inside);
    const Sum squares = iterated(guarded(cell * cell, inside), binders.variables);
    const Sum base = real("bias") + real("alpha") * reciprocal_of_size(width) * squares;
    return Math<Sum>::divide(read(0, index_), Math<Sum>::pow(base, real("beta")));
  }
  Sum operator()(const op::Softmax&) const {
    const std::vector<std::int64_t> axes{static_cast<std::int64_t>(axis_of("axis"))};
    const auto power = [&](const Index& index) { return Math<Sum>::exp(read(0, index) - greatest(index, axes)); };
    Binders binders;
    const Index inside = replaced(index_, axes, binders);
    return Math<Sum>::divide(power(index_), iterated(power(inside), binders.variables));
  }
  Sum operator()(const op::ReduceSum&) const { return total(unreduced(), numbers("axes")); }
  Sum operator()(const op::ReduceMean&) const { return mean(unreduced(), numbers("axes")); }
  Sum operator()(const op::ReduceMax&) const { return greatest(unreduced(), numbers("axes")); }

  Sum operator()(const op::IdentityMatrix&) const {
    return guarded(constant(Rational{1, 1}), {equal(index_[0], index_[1])});
  }
  Sum operator()(const op::IdentityKernel&) const {
    Constraints guards{diagonal()};
    for (std::size_t axis = 2; axis < index_.size(); ++axis)
      guards.push_back(equal(index_[axis], facts().quotient(facts().polynomial(dims("kernel")[axis - 2]), 2)));
    return guarded(constant(Rational{1, 1}), guards);
  }
  Sum operator()(const op::PoolingKernel&) const {
    return guarded(reciprocal_of_size(product(dims("kernel"))), {diagonal()});
  }
  Sum operator()(const op::Ones&) const { return constant(Rational{1, 1}); }

 private:
  const Shape& shape(std::size_t operand) const { return instance_.shape(node_.operands[operand]); }
  Polynomial size(std::size_t operand, std::size_t axis) const { return facts().polynomial(shape(operand)[axis]); }
  static Polynomial product(std::span<const Dim> dims) {
    Polynomial result(1);
    for (const Dim& dim : dims) result = result * facts().polynomial(dim);
    return result;
  }
  Sum read(std::size_t operand, const Index& index) const { return element(instance_, node_.operands[operand], index); }
  /// An element that is used only where the guards hold.
  Sum read_inside(std::size_t operand, const Index& index, const Constraints& guards) const {
    const Path path(guards);
    return read(operand, index);
  }
  /// The element where the guard holds, and 0 elsewhere.
  Sum read_where(std::size_t operand, const Index& index, const Constraint& guard) const {
    return guarded(read_inside(operand, index, {guard}), {guard});
  }
  /// A dimension of size 1 is always read at 0.
  Index fitted(std::size_t operand, Index index) const {
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      if (shape(operand)[axis] == Dim(1)) index[axis] = {};
    return index;
  }
  Sum read_broadcast(std::size_t operand) const {
    return read(operand, fitted(operand, Index(index_.end() - static_cast<std::ptrdiff_t>(shape(operand).size()),
                                               index_.end())));
  }
  Sum shifted(const Polynomial& by) const {
    Index inside = index_;
    inside[axis_of("axis")] = inside[axis_of("axis")] + by;
    return read(0, inside);
  }
  /// Filter o reads channel o modulo the channels of its group.
  Constraint diagonal() const {
    const Polynomial channels = facts().polynomial(node_.shapes[0][1]);
    if (channels == facts().polynomial(node_.shapes[0][0])) return equal(index_[1], index_[0]);
    return equal(index_[1], index_[0] - channels * facts().quotient(index_[0], channels));
  }

  WindowCells window(const std::vector<Dim>& kernel) const {
    WindowCells cells;
    const auto &strides = dims("strides"), &dilations = dims("dilations"), &pads = dims("pads");
    for (std::size_t axis = 0; axis < kernel.size(); ++axis) {
      const Polynomial cell = cells.binders.add(facts().polynomial(kernel[axis]), "w");
      const Polynomial place = facts().polynomial(strides[axis]) * index_[2 + axis] +
                               facts().polynomial(dilations[axis]) * cell - facts().polynomial(pads[axis]);
      cells.kernel.push_back(cell);
      cells.input.push_back(place);
      cells.inside.push_back(at_least(place, 0));
      cells.inside.push_back(at_least(size(0, 2 + axis) - 1, place));
    }
    return cells;
  }
  Index pooled(const WindowCells& cells) const {
    Index input{index_[0], index_[1]};
    input.insert(input.end(), cells.input.begin(), cells.input.end());
    return input;
  }

  /// The index in the operand of a reduction; indices along the reduced axes are replaced later.
  Index unreduced() const {
    if (flag("keep")) return index_;
    const auto& axes = numbers("axes");
    Index inside;
    std::size_t next = 0;
    for (std::size_t axis = 0; axis < shape(0).size(); ++axis) {
      const bool reduced = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) != axes.end();
      inside.push_back(reduced ? Polynomial() : index_[next++]);
    }
    return inside;
  }
  Index replaced(Index index, const std::vector<std::int64_t>& axes, Binders& binders) const {
    for (const std::int64_t axis : axes)
      index[static_cast<std::size_t>(axis)] = binders.add(size(0, static_cast<std::size_t>(axis)), "r");
    return index;
  }
  Polynomial count(const std::vector<std::int64_t>& axes) const {
    Polynomial result(1);
    for (const std::int64_t axis : axes) result = result * size(0, static_cast<std::size_t>(axis));
    return result;
  }
  Sum total(const Index& index, const std::vector<std::int64_t>& axes) const {
    Binders binders;
    const Index inside = replaced(index, axes, binders);
    return iterated(read(0, inside), binders.variables);
  }
  Sum mean(const Index& index, const std::vector<std::int64_t>& axes) const {
    return total(index, axes) * reciprocal_of_size(count(axes));
  }
  Sum greatest(const Index& index, const std::vector<std::int64_t>& axes) const {
    Binders binders;
    const Index inside = replaced(index, axes, binders);
    return maximum({{binders.variables, {}, std::make_shared<const Sum>(read(0, inside))}});
  }

  const std::vector<Dim>& dims(std::string_view name) const {
    return std::get<std::vector<Dim>>(rules::field(node_.op, name));
  }
  Polynomial number(std::string_view name) const {
    return facts().polynomial(std::get<Dim>(rules::field(node_.op, name)));
  }
  const std::vector<std::int64_t>& numbers(std::string_view name) const {
    return std::get<std::vector<std::int64_t>>(rules::field(node_.op, name));
  }
  std::size_t axis_of(std::string_view name) const {
    return static_cast<std::size_t>(std::get<std::int64_t>(rules::field(node_.op, name)));
  }
  bool flag(std::string_view name) const { return std::get<bool>(rules::field(node_.op, name)); }
  Sum real(std::string_view name) const {
    const auto& attribute = std::get<rules::RealAttribute>(rules::field(node_.op, name));
    return attribute.variable.empty() ? constant(attribute.value) : real_attribute("'" + attribute.variable);
  }
  bool is_bound(std::string_view name) const {
    const auto& attribute = std::get<rules::RealAttribute>(rules::field(node_.op, name));
    return !attribute.variable.empty() || std::isfinite(attribute.value);
  }

  const rules::Instance& instance_;
  const rules::InstanceNode& node_;
  std::size_t output_;
  const Index& index_;
};

}  // namespace

Sum element(const rules::Instance& instance, rules::InstanceValue value, const Index& index) {
  Workspace::current().step();
  const rules::InstanceNode& node = instance.nodes[value.first];
  if (node.input) {
    Index place = index;
    for (std::size_t axis = 0; axis < place.size(); ++axis)
      if (instance.shape(value)[axis] == Dim(1)) place[axis] = {};
    return access(*node.input, std::move(place));
  }
  const std::vector<AnyFunction>& any = Workspace::current().any_functions;
  for (std::size_t i = 0; i < any.size(); ++i)
    if (any[i].stand_in == node.op.kind) return Reader(instance, value, index).of_any(i);
  const Notes notes(rules::may_be_undefined(node.op));
  return std::visit(Reader(instance, value, index), rules::prototype(node.op.kind));
}

}  // namespace taso::verifier::normal
