#include "runtime/host/host.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/host/families.h"

namespace taso::runtime {
namespace {

const std::map<std::string_view, HostFunction>& table() {
  static const auto all = [] {
    std::map<std::string_view, HostFunction> functions;
    for (const auto family : runtime::families())
      for (const auto& [name, function] : family) check(functions.emplace(name, function).second, "one function each");
    return functions;
  }();
  return all;
}

}  // namespace

const Array& HostCall::input(std::size_t index) const {
  if (!has(index)) throw InputError(fmt::format("{}: operand {} is missing", op_type, index));
  return *inputs[index];
}

HostFunction find_host_function(std::string_view domain, std::string_view op_type) {
  if (!domain.empty() && domain != "ai.onnx") return nullptr;
  const auto found = table().find(op_type);
  return found == table().end() ? nullptr : found->second;
}

std::vector<std::string_view> host_functions() {
  std::vector<std::string_view> names;
  for (const auto& [name, function] : table()) names.push_back(name);
  return names;
}

}  // namespace taso::runtime
