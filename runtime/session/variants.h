// The graphs of a model for unusual calls: sizes that the model leaves open are 0, or inputs with a default are given.
//
// Unknown dimensions of a graph stand for numbers from 1 on. Clean-ups and the rules of the search hold from there. For
// sizes of 0 the model is imported again as it was read, with 0 in place of these unknowns, and is not cleaned up.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "onnx/model/model.h"
#include "ops/graph/graph.h"
#include "runtime/session/recently_used.h"
#include "runtime/session/sizes.h"

namespace taso::runtime {

/// An input or output of the model.
struct Port {
  std::string name;
  Type type;
  bool is_optional = false;  ///< an input with a default: an initializer that callers may override
  /// The name or formula of each unknown size, as the model says it; empty for others.
  std::vector<std::string> dimensions = {};
};
Port port_of(const proto::ValueInfoProto& declared, Type type);

/// All inputs of a model, also those that it may do without.
class Signature {
 public:
  /// Takes inputs with a default out of the model's list: there they become constants. Below IR 4 nothing has a
  /// default, because an initializer that is also an input is a constant anyway.
  explicit Signature(onnx::Model& model);
  ~Signature();

  const std::vector<Port>& ports() const { return ports_; }
  const proto::ValueInfoProto& declaration(std::size_t port) const;
  bool has_defaults() const;
  /// The model that the signature was taken from, as it was before.
  onnx::Model whole(const onnx::Model& model) const;

 private:
  std::vector<Port> ports_;
  std::unique_ptr<proto::GraphProto> inputs_;  // the messages of the ports, and nothing else
};

/// What is unusual about a call.
struct Unusual {
  std::set<std::string> given;  ///< inputs that have a default
  std::set<std::string> empty;  ///< unknown dimensions of size 0

  bool operator==(const Unusual&) const = default;
  bool is_usual() const { return given.empty() && empty.empty(); }
};

class Variants {
 public:
  /// At most `most` graphs are kept. All arguments must outlive this object and its graphs.
  Variants(const Signature& signature, std::size_t most) : signature_(signature), made_(most) {}

  /// The graph of the model for such calls; its inputs are those without a default, and those given. Several threads
  /// may ask. Throws InputError.
  std::shared_ptr<const Graph> find(const onnx::Model& model, const Unusual& unusual);
  /// The graph with numbers in place of unknown dimensions, cleaned up: what the model computes of sizes is constant.
  /// It has a copy of the model, with its weights. Throws InputError.
  std::shared_ptr<const Graph> with_sizes(const onnx::Model& model, const Sizes& sizes) const;

 private:
  Graph make(const onnx::Model& model, const Unusual& unusual) const;

  const Signature& signature_;
  RecentlyUsed<Unusual, Graph> made_;
};

}  // namespace taso::runtime
