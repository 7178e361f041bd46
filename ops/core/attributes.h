// The attributes of an ONNX node as our own types.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "ops/core/array.h"

namespace taso::ops {

class Attributes {
 public:
  using Attribute = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                 std::vector<std::string>, Array>;

  void set(std::string name, Attribute value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  // Each throws InputError if the attribute exists but is of another kind.
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> otherwise = {}) const;
  std::vector<double> numbers(std::string_view name, std::vector<double> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::optional<Array> array(std::string_view name) const;

 private:
  std::map<std::string, Attribute, std::less<>> values_;
};

}  // namespace taso::ops
