// How exactly a program is computed on a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/core/element_type.h"

namespace taso::cost {

/// What products of float32 are computed in, and what float32 is stored as. TF32 keeps 10 bits of each factor; in the two
/// small types activations and weights are rounded, sums are not.
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16 };
std::string_view name_of(Precision precision);
std::optional<Precision> precision_named(std::string_view name);

/// The element type in which a value is stored.
ElementType stored(ElementType element, Precision precision);

}  // namespace taso::cost
