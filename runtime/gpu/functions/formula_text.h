// The text of formulas (cost/functions/formula.h) in kernels.
#pragma once

#include "runtime/gpu/kernels/computation.h"

namespace taso::gpu::kernels {

/// What a formula refers to.
struct FormulaTexts {
  std::vector<std::string> numbers;  ///< $0, $1, …
  std::vector<std::string> stored;   ///< %0, %1, …
  std::vector<double> attributes;    ///< #0, #1, …
};
std::string text_of(std::string_view formula, const FormulaTexts& texts, Arithmetic arithmetic);

/// The definitions that a text uses beyond those at the start of every kernel.
std::string definitions_for(std::string_view text, Arithmetic arithmetic);

/// The axes of an operand of an element function in the space of the result.
AxisMap operand_axes(const cost::DeviceFunction& function, std::size_t operand, const Extents& extents,
                     const Extents& space);
/// The expression of one result element, as it is stored, from the operands' elements as they are stored.
std::string expression(const cost::DeviceFunction& function, const std::vector<std::string>& operands,
                       ElementType result, Arithmetic arithmetic);

}  // namespace taso::gpu::kernels
