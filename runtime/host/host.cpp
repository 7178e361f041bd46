#include "runtime/host/host.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/host/families.h"

namespace taso::runtime {
namespace {

template <class T>
T attribute(const std::map<std::string, Attributes::Attribute, std::less<>>& values, std::string_view name,
            T otherwise) {
  const auto found = values.find(name);
  if (found == values.end()) return otherwise;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw InputError(fmt::format("attribute '{}' is of the wrong kind", name));
}

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

std::int64_t Attributes::integer(std::string_view name, std::int64_t otherwise) const {
  return attribute<std::int64_t>(values_, name, otherwise);
}
double Attributes::number(std::string_view name, double otherwise) const {
  return attribute<double>(values_, name, otherwise);
}
std::string Attributes::text(std::string_view name, std::string otherwise) const {
  return attribute<std::string>(values_, name, std::move(otherwise));
}
std::vector<std::int64_t> Attributes::integers(std::string_view name, std::vector<std::int64_t> otherwise) const {
  return attribute<std::vector<std::int64_t>>(values_, name, std::move(otherwise));
}
std::vector<double> Attributes::numbers(std::string_view name, std::vector<double> otherwise) const {
  return attribute<std::vector<double>>(values_, name, std::move(otherwise));
}
std::vector<std::string> Attributes::texts(std::string_view name) const {
  return attribute<std::vector<std::string>>(values_, name, {});
}
std::optional<Array> Attributes::array(std::string_view name) const {
  if (!has(name)) return std::nullopt;
  return attribute<Array>(values_, name, Array());
}

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
