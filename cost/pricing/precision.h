// The arithmetic precision of a program on a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/core/element_type.h"

namespace taso::cost {

/// The precision of float32 products and the storage type of float32. TF32 keeps 10 bits of each factor. fp16 and bf16
/// round activations and weights, but not sums.
enum class Precision : std::uint8_t { fp32, tf32, fp16, bf16 };
std::string_view name_of(Precision precision);
std::optional<Precision> precision_named(std::string_view name);

/// The element type in which a value is stored.
ElementType stored(ElementType element, Precision precision);

}  // namespace taso::cost
