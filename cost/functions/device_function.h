// Opaque operators that kernels of ours compute. A maker turns a node into a form that is the same for all opsets, with
// everything that a kernel has to know beside its operands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/plan/graph_view.h"

namespace taso::cost {

struct DeviceFunction {
  enum class Family : std::uint8_t {
    element,  ///< a formula of one element of each operand, with broadcasting; in either layout
    rows,     ///< passes over the elements of each row, then a formula; operands are dense, as in all families below
    scan,     ///< running sums or products along an axis, or a state that is carried along it (recurrence.h)
    place,    ///< one result element per thread, taken or computed from places of the operands
    scatter,  ///< a copy, into which updates are written
    top,      ///< the first of sorted rows
    range,    ///< numbers quantised by their range
  };
  Family family = Family::element;
  std::string name;                         ///< of the formula or kernel: an operator of ONNX, or a variant of one
  std::vector<std::int64_t> integers = {};  ///< as the kernel of that name wants them
  std::vector<double> numbers = {};
  std::vector<std::optional<std::size_t>> operands = {};  ///< those of the node that the kernel reads, or leaves out
  bool operator==(const DeviceFunction&) const = default;
};

DeviceFunction::Family family_of(std::string_view name);
/// Operations per element of the result; of functions of rows, per element of the larger of operand and result.
double operations_of(const DeviceFunction& function, std::size_t operands);
bool counts_results(const DeviceFunction& function);
/// How many of so many operations wait for one another: those of long loops overlap.
inline double chain_of(double operations) { return operations < 40 ? operations : 35 + operations / 8; }
/// Whether only as much of an operand is read as is written.
bool only_takes_parts(const DeviceFunction& function);

/// The function of a node. Nothing for other nodes, and for types or extents where device code might not agree with the
/// interpreter.
std::optional<DeviceFunction> function_of(const GraphView& view, PlanNode node);
/// Whether the node is a function of single elements.
bool is_element_function(const GraphView& view, PlanNode node);

}  // namespace taso::cost
