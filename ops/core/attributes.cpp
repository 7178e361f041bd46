#include "ops/core/attributes.h"

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::ops {
namespace {

template <class T>
T attribute(const std::map<std::string, Attributes::Attribute, std::less<>>& values, std::string_view name,
            T otherwise) {
  const auto found = values.find(name);
  if (found == values.end()) return otherwise;
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  throw InputError(fmt::format("attribute '{}' is of the wrong kind", name));
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

}  // namespace taso::ops
