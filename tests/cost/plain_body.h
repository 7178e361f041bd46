// Operators that a device may compute, as a model would contain them, for hand-made graphs.
#pragma once

#include "ops/graph/graph.h"
#include "ops/graph/plain_function.h"
#include "runtime/host/host.h"

namespace taso::test {

class PlainBody : public OpaqueBody {
 public:
  explicit PlainBody(PlainFunction function, std::size_t results = 1)
      : function_(std::move(function)), results_(results) {}
  std::string obstacle() const override { return ""; }
  std::vector<Array> run(const std::vector<std::optional<Array>>& inputs) const override {
    const runtime::HostFunction host = runtime::find_host_function("", function_.name);
    return host(runtime::HostCall{function_.name, function_.opset, function_.attributes, inputs, results_});
  }
  bool same(const OpaqueBody& other) const override { return this == &other; }
  std::optional<PlainMovement> movement() const override {
    if (function_.name == "Expand") return PlainMovement{PlainMovement::Kind::expand, 0};
    return std::nullopt;
  }
  const PlainFunction* function() const override { return &function_; }
  bool is_deterministic() const override { return true; }

 private:
  PlainFunction function_;
  std::size_t results_;
};

/// An operator of opset 21, with an axis if it has one.
inline PlainFunction plain(std::string name, std::optional<std::int64_t> axis = std::nullopt) {
  PlainFunction function{std::move(name), 21, {}, {}};
  if (axis) function.attributes.set("axis", *axis);
  return function;
}

/// A null value is an omitted operand.
inline Value apply_plain(Pool& pool, const PlainFunction& function, const Type& result, std::vector<Value> operands) {
  return pool.add_opaque({function.name, 0, {result}, std::make_shared<PlainBody>(function)}, operands).output();
}

}  // namespace taso::test
