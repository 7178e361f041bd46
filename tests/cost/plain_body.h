// Operators that are plain functions, as a model would contain them, for hand-made graphs.
#pragma once

#include "ops/graph/graph.h"
#include "runtime/host/host.h"

namespace taso::test {

class PlainBody : public OpaqueBody {
 public:
  explicit PlainBody(PlainFunction function) : function_(function) {
    if (function.kind == PlainFunction::Kind::quantise || function.kind == PlainFunction::Kind::dequantise)
      attributes_.set("axis", function.axis);
  }
  std::string obstacle() const override { return ""; }
  std::vector<Array> run(const std::vector<std::optional<Array>>& inputs) const override {
    const std::string_view name = name_of(function_.kind);
    return runtime::find_host_function("", name)(runtime::HostCall{name, 21, attributes_, inputs, 1});
  }
  bool same(const OpaqueBody& other) const override {
    const auto* plain = dynamic_cast<const PlainBody*>(&other);
    return plain != nullptr && plain->function_ == function_;
  }
  std::optional<PlainFunction> function() const override { return function_; }
  bool is_deterministic() const override { return true; }

 private:
  PlainFunction function_;
  runtime::Attributes attributes_;
};

/// A null value is an omitted operand.
inline Value apply_plain(Pool& pool, PlainFunction function, const Type& result, std::vector<Value> operands) {
  return pool
      .add_opaque({std::string(name_of(function.kind)), 0, {result}, std::make_shared<PlainBody>(function)}, operands)
      .output();
}

}  // namespace taso::test
