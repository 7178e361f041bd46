// Constant, in the forms that hold numbers.
#include "runtime/host/families.h"
#include "runtime/host/loops.h"

namespace taso::runtime {
namespace {

std::vector<Array> constant_value(const HostCall& call) {
  const Attributes& attributes = call.attributes;
  if (auto value = attributes.array("value")) return {*std::move(value)};
  if (attributes.has("value_int")) return {Array::scalar(attributes.integer("value_int", 0))};
  if (attributes.has("value_float")) return {Array::scalar(static_cast<float>(attributes.number("value_float", 0)))};
  if (attributes.has("value_ints")) {
    const auto values = attributes.integers("value_ints");
    return {Array::of({static_cast<std::int64_t>(values.size())}, values)};
  }
  if (attributes.has("value_floats")) {
    const auto values = attributes.numbers("value_floats");
    return {Array::of({static_cast<std::int64_t>(values.size())}, values).cast(ElementType::float32)};
  }
  refuse(call, "has no value of a supported kind");
}

}  // namespace

Family constant() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {{"Constant", constant_value}};
  return functions;
}

}  // namespace taso::runtime
