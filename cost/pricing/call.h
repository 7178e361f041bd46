// A kernel by itself, without the graph around it: all that a device has to know to run it, and all that its time depends
// on. Two kernels with the same call take the same time, wherever they stand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  /// Values are numbered: what is read, then all results of all steps.
  struct Step {
    Operator op;
    std::vector<std::uint32_t> operands;
    std::uint32_t first_result = 0;
    bool operator==(const Step&) const = default;
  };
  /// Elements that are moved as they are: in row-major order of `from.extents` on one side and of `to_extents` on the other,
  /// which hold equally many.
  struct Piece {
    std::uint32_t read = 0, written = 0;          ///< indices into the lists below
    std::int64_t from_offset = 0, to_offset = 0;  ///< in elements
    Extents from_extents, to_extents;
    Strides from_strides, to_strides;
    bool operator==(const Piece&) const = default;
  };

  Kernel::Kind kind = Kernel::Kind::element_wise;
  Precision precision = Precision::fp32;  ///< fp32 unless there are products of float32 that may be in TF32
  std::vector<Operand> read, written;
  std::vector<Step> steps;             ///< in an order in which they can be done; none if there are pieces
  std::vector<std::uint32_t> results;  ///< for each that is written, the number of the value that it is
  std::size_t main = 0;                ///< the step that gives the call its kind
  std::vector<Piece> pieces;           ///< of a copy that is no padding
  /// Of a copy that takes parts of what is read first along this axis: which ones, says what is read second. All are dense.
  std::optional<std::int64_t> gather_axis;
  /// Of an element-wise call without steps: its types need not be one. It writes one result.
  struct Function {
    PlainFunction what;  ///< an axis is counted from the front
    std::vector<std::uint32_t> operands;
    bool operator==(const Function&) const = default;
  };
  std::optional<Function> function;
  bool operator==(const Call&) const = default;
};

/// A value as it lies, or its copy in the other layout.
struct PlacedValue {
  PlanValue value{};
  bool is_copy = false;
  bool operator==(const PlacedValue&) const = default;
};

/// A kernel of a graph as a call, and what its operands are there.
struct PlacedCall {
  Call call;
  std::vector<PlacedValue> read, written;
};

/// The same for equal kernels of different graphs: reads are numbered in the order in which the steps come to them, and
/// steps stand behind what they need; of the operands of a sum or product, what is computed here comes first and weights come
/// last. A bias that is added to a convolution is its third operand (see added_bias.h), a vector, whatever the rank of the value.
/// Of an opaque kernel it has the operands only; operands that it leaves out are missing.
/// If only data is moved or cast there (see can_be_called), the call is a copy; if it is a plain function, element-wise.
PlacedCall call_of(const GraphView& view, const Kernel& kernel, Precision precision);

/// Whether a kernel is one of ours, or an opaque one that a device can do as well.
bool can_be_called(const GraphView& view, const Kernel& kernel);

/// How many elements of its i-th result a call writes: all of them, but for copies of pieces, where others write the rest.
std::int64_t elements_written(const Call& call, std::size_t result);

/// One line that says all of it: the same text, the same call.
std::string text_of(const Call& call);

}  // namespace taso::cost
