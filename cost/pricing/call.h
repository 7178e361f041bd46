// A kernel without the graph around it: everything that a device needs to run it, and everything that its time depends
// on. Kernels with the same call take the same time in any graph.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cost/functions/device_function.h"
#include "cost/plan/kernel.h"
#include "cost/plan/movement.h"
#include "cost/pricing/precision.h"
#include "ops/graph/operator.h"

namespace taso::cost {

struct Call {
  /// A tensor in memory, as the call sees it.
  struct Operand {
    ElementType element = ElementType::undefined;
    Extents extents;
    Strides strides;  ///< in elements
    bool is_weight = false;
    bool operator==(const Operand&) const = default;
  };
  /// Values are numbered: first those that are read, then all results of all steps.
  struct Step {
    Operator op;
    std::vector<std::uint32_t> operands;
    std::uint32_t first_result = 0;
    bool zeroes_nan = false;  ///< of a softmax: its result has 0 in place of NaN
    bool operator==(const Step&) const = default;
  };
  /// A block of elements copied unchanged. Both sides are walked in row-major order, `from_extents` on one and
  /// `to_extents` on the other; both have the same number of elements.
  struct Piece {
    std::uint32_t read = 0, written = 0;          ///< indices into the lists below
    std::int64_t from_offset = 0, to_offset = 0;  ///< in elements
    Extents from_extents, to_extents;
    Strides from_strides, to_strides;
    bool operator==(const Piece&) const = default;
  };

  Kernel::Kind kind = Kernel::Kind::element_wise;
  Precision precision = Precision::fp32;  ///< fp32 unless the call has products of float32 that may use TF32
  std::vector<Operand> read, written;
  std::vector<Step> steps;             ///< topologically sorted; empty if there are pieces
  std::vector<std::uint32_t> results;  ///< for each written operand, the number of its value
  std::size_t main = 0;                ///< the step that gives the call its kind
  std::vector<Piece> pieces;           ///< of a copy that is not padding
  /// For a gather: the axis of read[0] that read[1] indexes. All operands are dense.
  std::optional<std::int64_t> gather_axis;
  /// The function of a call without steps. Its operands may have different types.
  struct Function {
    static constexpr std::uint32_t omitted = static_cast<std::uint32_t>(-1);
    DeviceFunction what;
    std::vector<std::uint32_t> operands;       ///< as the kernel wants them: indices of `read`, or `omitted`
    std::vector<std::uint32_t> results = {0};  ///< for each written operand, the number of the node's result
    bool operator==(const Function&) const = default;
  };
  std::optional<Function> function;
  /// In ONNX Runtime: the node of a call without steps.
  struct Foreign {
    std::string text;                        ///< see ForeignNode
    std::vector<std::uint32_t> operands;     ///< of the node: indices of `read`, or Function::omitted
    std::vector<std::uint32_t> results;      ///< for each written operand, the number of the node's result
    std::shared_ptr<const OpaqueBody> body;  ///< valid as long as the graph
    bool operator==(const Foreign& other) const {
      return text == other.text && operands == other.operands && results == other.results;
    }
  };
  std::optional<Foreign> foreign;
  bool operator==(const Call&) const = default;
};

/// A value in its own layout, or its copy in the other layout.
struct PlacedValue {
  PlanValue value{};
  bool is_copy = false;
  bool operator==(const PlacedValue&) const = default;
};

/// A kernel of a graph as a call, and the values of that graph that are its operands.
struct PlacedCall {
  Call call;
  std::vector<PlacedValue> read, written;
};

/// Equal kernels of different graphs give the same call. Reads are numbered in the order in which the steps use them,
/// and each step comes after those that it needs. The operands of a sum or product are ordered: results of this call
/// first, weights last. A bias added to a convolution is its third operand (see added_bias.h), a vector whatever the
/// rank of the value. For an opaque kernel the call has only the operands that are present. If the opaque kernel only
/// moves or casts data (see can_be_called), the call is a copy; if it is a function of a device, the call has it. In
/// ONNX Runtime the call has the node.
PlacedCall call_of(const GraphView& view, const Kernel& kernel, Precision precision);

/// Whether kernels of this kind multiply matrices, by a library or on tensor cores.
bool has_products(Kernel::Kind kind);

/// The kind of kernel that computes a function, and by which it is priced.
Kernel::Kind kind_of(const DeviceFunction& function);

/// Whether a device can run the kernel: it is one of ours, or an opaque one that a device can do as well. In ONNX
/// Runtime: or an opaque one that can run by itself.
bool can_be_called(const GraphView& view, const Kernel& kernel);

/// The number of elements of the i-th result that a call writes: all of them, except for copies of pieces, where other
/// kernels write the rest.
std::int64_t elements_written(const Call& call, std::size_t result);

/// Whether all that a call writes is empty: then there is nothing to do, and no kernel is launched.
bool writes_nothing(const Call& call);

/// One line with all fields: equal text means equal calls.
std::string text_of(const Call& call);

}  // namespace taso::cost
