// The interface for inference rules: a rule sees one node through Inference, and sets what it knows about the results.
#pragma once

#include <utility>

#include "runtime/host/inference/inference.h"

namespace taso::runtime::inference {

/// The smaller of two dimensions, if it is the same one for all values of the unknowns.
std::optional<Dim> smaller_of(Dim a, Dim b);
/// Whether an extent may be 0 at run time: unknowns are at least 1, but not those that the model computes, nor what is
/// left of one.
bool may_vanish(const Dim& extent);

/// The suffix of the names of computed extents, which InferenceCall::unknown gives.
inline constexpr std::string_view computed_mark = "~";

/// Longer contents are not shapes, and not worth the time.
inline constexpr std::size_t longest_content = 64;

class Inference {
 public:
  Inference(const InferenceCall& node, std::vector<Fact>& results) : call(node), results_(results) {}

  const InferenceCall& call;

  bool has(std::size_t operand) const { return operand < call.inputs.size() && call.inputs[operand] != nullptr; }
  ElementType type(std::size_t operand) const {
    return has(operand) ? call.inputs[operand]->type.element : ElementType::undefined;
  }
  /// The shape of the operand; null if its rank is unknown.
  const Shape* shape(std::size_t operand) const;
  /// The elements of an integer operand of rank 0 or 1 as dimensions, from its content or its constant.
  std::optional<std::vector<Dim>> content(std::size_t operand) const;
  /// The same if all elements are numbers.
  std::optional<std::vector<std::int64_t>> integers(std::size_t operand) const;
  std::optional<Dim> only(std::size_t operand) const;
  /// The known elements of an operand of rank 1 with known length.
  std::optional<std::vector<std::optional<Dim>>> elements(std::size_t operand) const;
  /// The whole operand, if its values are known.
  std::optional<Array> constant(std::size_t operand) const;
  /// A list that is an attribute before `opset` and an operand from then on. `given` says whether it is present;
  /// `values` is empty if it is present but unknown.
  struct List {
    bool given = false;
    std::optional<std::vector<std::int64_t>> values;
  };
  List list(std::string_view attribute, std::size_t operand, std::int64_t opset) const;

  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return call.attributes.integer(name, otherwise);
  }
  /// The element type named by an attribute; undefined if we do not model it.
  ElementType type_attribute(std::string_view name, ElementType otherwise) const;

  Fact* result(std::size_t index) { return index < results_.size() ? &results_[index] : nullptr; }
  void set_type(std::size_t index, ElementType type) {
    if (Fact* fact = result(index)) fact->type.element = type;
  }
  void set_shape(std::size_t index, std::optional<Shape> shape) {
    if (Fact* fact = result(index)) fact->type.shape = std::move(shape);
  }
  /// A shape with unspecified dimensions. Each of them becomes a new unknown of this result, if call.unknown allows it.
  using PartialShape = std::vector<std::optional<Dim>>;
  void set_shape(std::size_t index, const std::optional<PartialShape>& shape);
  void set_shape(std::size_t index, const PartialShape& shape) { set_shape(index, std::optional(shape)); }
  void set_shape(std::size_t index, const Shape& shape) { set_shape(index, std::optional(shape)); }
  void set(std::size_t index, ElementType type, const std::optional<PartialShape>& shape) {
    set_type(index, type);
    set_shape(index, shape);
  }
  void set(std::size_t index, ElementType type, std::optional<Shape> shape) {
    set_type(index, type);
    set_shape(index, std::move(shape));
  }
  /// Sets type and shape to those of an operand.
  void set_like(std::size_t index, std::size_t operand);
  void set_content(std::size_t index, std::vector<Dim> content);

 private:
  std::vector<Fact>& results_;
};

/// The axis counted from the front; nothing if it is out of range.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
using PartialShape = Inference::PartialShape;
/// A partial shape with all dimensions specified, or with none.
PartialShape partial(const Shape& shape);
PartialShape untold(std::size_t rank);
/// The shape of operands combined element by element. Dimensions that depend on the values of unknowns are unspecified;
/// nothing if the operands do not fit.
std::optional<PartialShape> broadcast_shapes(const PartialShape& a, const PartialShape& b);
inline Dim dim(std::size_t number) { return Dim(static_cast<std::int64_t>(number)); }

using Rule = void (*)(Inference&);
using Rules = std::span<const std::pair<std::string_view, Rule>>;

Rules elementwise_rules();  // one result element per element
Rules movement_rules();     // Reshape, Slice, Gather, …
Rules assembly_rules();     // Concat, Tile, Pad, Resize, Range, …
Rules reduction_rules();    // Reduce*, ArgMax, matrix products, losses
Rules window_rules();       // convolutions, pooling, recurrent cells

/// Infers the contents of small integer tensors, following the arithmetic that models do on shapes.
void infer_content(Inference& node);

}  // namespace taso::runtime::inference
