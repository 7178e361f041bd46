#include "cost/pricing/precision.h"

namespace taso::cost {

std::string_view name_of(Precision precision) {
  switch (precision) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::fp16: return "fp16";
    case Precision::bf16: break;
  }
  return "bf16";
}

std::optional<Precision> precision_named(std::string_view name) {
  for (const Precision precision : {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16})
    if (name == name_of(precision)) return precision;
  return std::nullopt;
}

ElementType stored(ElementType element, Precision precision) {
  if (element != ElementType::float32) return element;
  if (precision == Precision::fp16) return ElementType::float16;
  return precision == Precision::bf16 ? ElementType::bfloat16 : element;
}

}  // namespace taso::cost
