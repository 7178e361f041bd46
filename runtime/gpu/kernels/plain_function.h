// What kernels make of the elements of a plain function's operands, which need not have one type.
#pragma once

#include "runtime/gpu/kernels/computation.h"

namespace taso::gpu::kernels {

/// How an operand is seen in the space of the result.
AxisMap operand_axes(const PlainFunction& function, std::size_t operand, const Extents& extents, const Extents& space);
/// Definitions that stand before a kernel, behind the usual ones.
std::string_view plain_definitions(const PlainFunction& function);
/// An element of the result, of this type, made of the operands' elements as they are in memory.
std::string expression(const PlainFunction& function, const std::vector<std::string>& operands, ElementType result);

}  // namespace taso::gpu::kernels
