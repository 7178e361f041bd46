#include "ops/graph/plain_function.h"

#include <utility>

#include "ops/core/error.h"

namespace taso::ops {
namespace {

constexpr std::pair<PlainFunction::Kind, std::string_view> names[] = {
    {PlainFunction::Kind::equal, "Equal"},
    {PlainFunction::Kind::less, "Less"},
    {PlainFunction::Kind::less_or_equal, "LessOrEqual"},
    {PlainFunction::Kind::greater, "Greater"},
    {PlainFunction::Kind::greater_or_equal, "GreaterOrEqual"},
    {PlainFunction::Kind::both, "And"},
    {PlainFunction::Kind::either, "Or"},
    {PlainFunction::Kind::one_of_two, "Xor"},
    {PlainFunction::Kind::negate, "Not"},
    {PlainFunction::Kind::choose, "Where"},
    {PlainFunction::Kind::quantise, "QuantizeLinear"},
    {PlainFunction::Kind::dequantise, "DequantizeLinear"},
};

}  // namespace

std::string_view name_of(PlainFunction::Kind kind) {
  for (const auto& [one, name] : names)
    if (one == kind) return name;
  check(false, "every plain function has a name");
  return {};
}

std::optional<PlainFunction::Kind> plain_function_named(std::string_view name) {
  for (const auto& [kind, one] : names)
    if (one == name) return kind;
  return std::nullopt;
}

}  // namespace taso::ops
