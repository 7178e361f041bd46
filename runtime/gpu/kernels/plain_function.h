// Expressions for plain functions, whose operands may have different types.
#pragma once

#include "runtime/gpu/kernels/computation.h"

namespace taso::gpu::kernels {

/// The axes of an operand in the space of the result.
AxisMap operand_axes(const PlainFunction& function, std::size_t operand, const Extents& extents, const Extents& space);
/// Additional definitions at the start of the kernel.
std::string_view plain_definitions(const PlainFunction& function);
/// The expression of one result element of this type from the operands' elements as stored in memory.
std::string expression(const PlainFunction& function, const std::vector<std::string>& operands, ElementType result);

}  // namespace taso::gpu::kernels
