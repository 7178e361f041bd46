#include "onnx/validation/validate.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/import/view.h"
#include "onnx/model/message_bytes.h"
#include "onnx/model/model_names.h"
#include "onnx/model/model_tensors.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "onnx/validation/attributes.h"
#include "onnx/validation/constants.h"
#include "onnx/validation/order.h"
#include "onnx/validation/types.h"
#include "ops/core/error.h"

namespace taso::onnx {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<proto::NodeProto>;

/// Parsed messages are less deep than this. Messages built in memory could be of any depth, and so our recursion.
constexpr int deepest_subgraph = 64;
constexpr int by_no_node = -1;

struct Value {
  int element = 0;  ///< TensorProto.DataType, 0 if not declared
  int producer = by_no_node;
};

/// The names that a graph defines. An inner graph also sees those of the outer graphs.
struct Scope {
  std::unordered_map<std::string_view, Value> values;
  const Scope* outer = nullptr;
  int inside = by_no_node;  ///< the node of the outer graph that contains this subgraph
};

/// The operator sets that a model or function imports, by domain.
using Opsets = std::unordered_map<std::string, std::int64_t>;

/// Names that a graph takes from outer graphs.
using Captured = std::unordered_set<std::string_view>;

std::string describe(const proto::NodeProto& node, int index) {
  const std::string name = node.name().empty() ? fmt::format("{}", index) : in_quotes(node.name());
  return node.op_type().empty() ? fmt::format("node {}", name)
                                : fmt::format("node {} ({})", name, in_quotes(node.op_type()));
}

bool is_own_domain(const proto::NodeProto& node) { return node.domain().empty() || node.domain() == "ai.onnx"; }

class Validator {
 public:
  explicit Validator(proto::ModelProto& model) : model_(model) {}

  void model() {
    if (!model_.has_ir_version()) throw InputError("the model has no ir_version");
    if (model_.ir_version() < 1) throw InputError(fmt::format("ir_version {} does not exist", model_.ir_version()));
    if (model_.opset_import_size() == 0) throw InputError("the model has no opset_import");
    if (!model_.has_graph()) throw InputError("the model has no graph");
    opsets_ = opsets_of(model_.opset_import());
    metadata();
    Captured captured;
    graph(*model_.mutable_graph(), nullptr, by_no_node, 0, captured);
    for (auto& body : *model_.mutable_functions()) function(body);
    function_calls();
  }

  /// The sparse tensors whose data is still to be checked.
  const std::vector<const proto::SparseTensorProto*>& sparse_tensors() const { return sparse_tensors_; }

 private:
  /// Two versions of one domain are ambiguous. "" and "ai.onnx" are the same domain.
  template <class Imports>
  static Opsets opsets_of(const Imports& imports) {
    Opsets opsets;
    for (const auto& import : imports) {
      if (import.version() < 0)
        throw InputError(
            fmt::format("version {} of the domain {} does not exist", import.version(), in_quotes(import.domain())));
      const auto [known, is_new] =
          opsets.emplace(is_default_domain(import.domain()) ? "" : import.domain(), import.version());
      if (!is_new && known->second != import.version())
        throw InputError(fmt::format("two versions of the domain {} are imported", in_quotes(import.domain())));
    }
    return opsets;
  }

  void metadata() const {
    std::unordered_set<std::string_view> keys;
    for (const auto& entry : model_.metadata_props())
      // Entries of an earlier run are replaced, however many there are.
      if (!entry.key().starts_with("taso.") && !keys.insert(entry.key()).second)
        throw InputError(fmt::format("the metadata has {} twice", in_quotes(entry.key())));
  }

  void graph(proto::GraphProto& graph, const Scope* outer, int inside, int depth, Captured& captured) {
    if (depth > deepest_subgraph) throw InputError("subgraphs are nested too deeply");
    const bool outermost = outer == nullptr;
    drop_overridden_constants(graph);
    if (graph.name().empty()) throw InputError(outermost ? "the graph has no name" : "a subgraph has no name");
    Scope scope;
    scope.outer = outer;
    scope.inside = inside;
    std::unordered_map<std::string_view, const proto::ValueInfoProto*> inputs;
    for (const auto& input : graph.input()) {
      check_declaration(input, outermost ? "graph input" : "input of a subgraph", outermost);
      if (!inputs.emplace(input.name(), &input).second)
        throw InputError(fmt::format("two graph inputs are named {}", in_quotes(input.name())));
      scope.values[input.name()] = {declared_element(input), by_no_node};
    }
    initializers(graph, inputs, scope);
    define_outputs(graph.node(), scope);
    for (const auto& value : graph.value_info()) declare(value, "value", scope);
    for (const auto& output : graph.output()) declare(output, "graph output", scope, outermost);
    nodes(*graph.mutable_node(), scope, depth, captured);
    for (const auto& output : graph.output()) {
      if (scope.values.contains(output.name())) continue;
      if (find(outer, output.name()) == nullptr)
        throw InputError(fmt::format("nothing produces the graph output {}", in_quotes(output.name())));
      captured.insert(output.name());
    }
  }

  void initializers(const proto::GraphProto& graph,
                    const std::unordered_map<std::string_view, const proto::ValueInfoProto*>& inputs, Scope& scope) {
    // Of two initializers with the same name, some runtimes read the first and some the last.
    std::unordered_set<std::string_view> known;
    const auto define = [&](const std::string& name) {
      if (name.empty()) throw InputError("an initializer has no name");
      if (!known.insert(name).second) throw InputError(fmt::format("two initializers are named {}", in_quotes(name)));
    };
    for (const auto& tensor : graph.initializer()) {
      define(tensor.name());
      if (model_.ir_version() == 3 && !inputs.contains(tensor.name()))
        throw InputError(
            fmt::format("the initializer {} must also be an input at IR version 3", in_quotes(tensor.name())));
      if (const auto input = inputs.find(tensor.name()); input != inputs.end()) check_fits(tensor, *input->second);
      scope.values[tensor.name()] = {tensor.data_type(), by_no_node};
    }
    for (const auto& tensor : graph.sparse_initializer()) {
      sparse(tensor);
      const std::string& name = tensor.values().name();
      define(name);
      scope.values[name] = {tensor.values().data_type(), by_no_node};
    }
  }

  void sparse(const proto::SparseTensorProto& tensor) {
    check_sparse(tensor);
    sparse_tensors_.push_back(&tensor);
  }

  static void define_outputs(const Nodes& nodes, Scope& scope) {
    for (int i = 0; i < nodes.size(); ++i)
      for (const auto& output : nodes.Get(i).output())
        if (!output.empty() && (!scope.values.emplace(output, Value{0, i}).second || is_known_outside(scope, output)))
          throw InputError(
              fmt::format("{} produces {}, which exists already", describe(nodes.Get(i), i), in_quotes(output)));
  }

  /// Whether an outer graph has the value by the time this graph runs.
  static bool is_known_outside(const Scope& scope, std::string_view name) {
    for (const Scope* inner = &scope; inner->outer != nullptr; inner = inner->outer) {
      const auto found = inner->outer->values.find(name);
      if (found != inner->outer->values.end() && found->second.producer < inner->inside) return true;
    }
    return false;
  }

  static void declare(const proto::ValueInfoProto& value, std::string_view what, Scope& scope, bool required = false) {
    check_declaration(value, what, required);
    const auto found = scope.values.find(value.name());
    if (found != scope.values.end() && found->second.element == 0) found->second.element = declared_element(value);
  }

  void function(proto::FunctionProto& body) {
    if (body.name().empty()) throw InputError("a function has no name");
    Scope scope;
    for (const auto& input : body.input())
      if (!input.empty() && !scope.values.emplace(input, Value{}).second)
        throw InputError(fmt::format("function {}: two inputs are named {}", in_quotes(body.name()), in_quotes(input)));
    const auto no_two = [&](const auto& names, std::string_view what) {
      std::unordered_set<std::string_view> known;
      for (const auto& name : names)
        if (!known.insert(name).second)
          throw InputError(
              fmt::format("function {}: two {} are named {}", in_quotes(body.name()), what, in_quotes(name)));
    };
    no_two(body.output(), "outputs");
    no_two(body.attribute(), "attributes");
    if (model_.ir_version() >= 8 && !body.has_domain())
      throw InputError(fmt::format("function {} has no domain", in_quotes(body.name())));
    try {
      const Opsets around = std::exchange(opsets_, opsets_of(body.opset_import()));
      in_function_ = true;
      define_outputs(body.node(), scope);
      Captured captured;
      nodes(*body.mutable_node(), scope, 0, captured);
      in_function_ = false;
      opsets_ = around;
    } catch (const InputError& error) {
      throw InputError(fmt::format("function {}: {}", in_quotes(body.name()), error.what()));
    }
    for (const auto& output : body.output())
      if (!scope.values.contains(output))
        throw InputError(
            fmt::format("function {}: nothing produces the output {}", in_quotes(body.name()), in_quotes(output)));
  }

  /// A function that calls itself, directly or through others, never ends.
  void function_calls() const {
    const auto key = [](const std::string& domain, const std::string& name, const std::string& overload) {
      return fmt::format("{}\n{}\n{}", is_default_domain(domain) ? "" : domain, name, overload);
    };
    const auto key_of = [&](const proto::FunctionProto& body) {
      return key(body.domain(), body.name(), overload_of(body));
    };
    std::unordered_map<std::string, std::size_t> number;
    for (const auto& body : model_.functions())
      if (!number.emplace(key_of(body), number.size()).second)
        throw InputError(fmt::format("two functions are named {}", in_quotes(body.name())));
    std::vector<std::vector<std::size_t>> calls(number.size());
    for (const auto& body : model_.functions()) {
      std::unordered_set<std::size_t> callees;
      for (const auto& node : body.node())
        if (const auto callee = number.find(key(node.domain(), node.op_type(), overload_of(node)));
            callee != number.end())
          callees.insert(callee->second);
      calls[number.at(key_of(body))].assign(callees.begin(), callees.end());
    }
    if (!stable_order(calls).cycle.empty()) throw InputError("a function calls itself");
  }

  void nodes(Nodes& nodes, const Scope& scope, int depth, Captured& captured) {
    std::vector<std::vector<std::size_t>> needs(static_cast<std::size_t>(nodes.size()));
    for (int i = 0; i < nodes.size(); ++i) {
      proto::NodeProto& node = nodes[i];
      if (node.op_type().empty()) throw InputError(fmt::format("{} has no operator", describe(node, i)));
      if (node.input().empty() && node.output().empty())
        throw InputError(fmt::format("{} has neither operands nor results", describe(node, i)));
      // Functions of models below IR version 8 were experimental and have no operator sets of their own.
      if (!opsets_.contains(is_default_domain(node.domain()) ? "" : node.domain()) &&
          (!in_function_ || model_.ir_version() >= 8))
        throw InputError(
            fmt::format("{}: no version of its domain {} is imported", describe(node, i), in_quotes(node.domain())));
      Captured used;
      for (const auto& input : node.input()) {
        if (input.empty()) continue;
        used.insert(input);
        if (find(&scope, input) == nullptr)
          throw InputError(fmt::format("{}: nothing produces its operand {}", describe(node, i), in_quotes(input)));
      }
      attributes(node, i, scope, depth, used);
      types(node, i, scope);
      for (const std::string_view name : used) {
        const auto own = scope.values.find(name);
        if (own == scope.values.end())
          captured.insert(name);
        else if (own->second.producer != by_no_node)
          needs[static_cast<std::size_t>(i)].push_back(static_cast<std::size_t>(own->second.producer));
      }
    }
    sort(nodes, needs, scope);
  }

  void attributes(proto::NodeProto& node, int index, const Scope& scope, int depth, Captured& used) {
    std::unordered_set<std::string_view> names;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.name().empty())
        throw InputError(fmt::format("{} has an attribute without a name", describe(node, index)));
      if (!names.insert(attribute.name()).second)
        throw InputError(fmt::format("{} has two attributes {}", describe(node, index), in_quotes(attribute.name())));
      // A type that our schema does not know is among the unknown fields.
      if (!attribute.has_type() && model_.ir_version() >= 2 && attribute.unknown_fields().empty())
        throw InputError(
            fmt::format("{}: attribute {} has no type", describe(node, index), in_quotes(attribute.name())));
      if (const std::string_view trouble = trouble_with(attribute, in_function_ || scope.outer != nullptr);
          !trouble.empty())
        throw InputError(
            fmt::format("{}: attribute {} {}", describe(node, index), in_quotes(attribute.name()), trouble));
      if (attribute.has_sparse_tensor()) sparse(attribute.sparse_tensor());
      for (const auto& tensor : attribute.sparse_tensors()) sparse(tensor);
      if (attribute.has_g()) graph(*attribute.mutable_g(), &scope, index, depth + 1, used);
      for (auto& inner : *attribute.mutable_graphs()) graph(inner, &scope, index, depth + 1, used);
    }
  }

  /// Checks only operands whose types are declared; inferred types are left to the runtime.
  static void types(const proto::NodeProto& node, int index, const Scope& scope) {
    if (!is_own_domain(node) || !operands_are_alike(node.op_type())) return;
    const std::string* first = nullptr;
    int element = 0;
    for (const auto& input : node.input()) {
      const Value* value = input.empty() ? nullptr : find(&scope, input);
      if (value == nullptr || value->element == 0) continue;
      if (first == nullptr) {
        first = &input;
        element = value->element;
      } else if (value->element != element) {
        throw InputError(fmt::format("{}: operands {} of {} and {} of {} must be of one type", describe(node, index),
                                     in_quotes(*first), data_type_name(element), in_quotes(input),
                                     data_type_name(value->element)));
      }
    }
  }

  static void sort(Nodes& nodes, const std::vector<std::vector<std::size_t>>& needs, const Scope& scope) {
    const StableOrder sorted = stable_order(needs);
    if (!sorted.cycle.empty()) refuse_cycle(nodes, sorted.cycle, scope);
    if (std::is_sorted(sorted.order.begin(), sorted.order.end())) return;
    std::vector<proto::NodeProto*> list(needs.size());
    nodes.ExtractSubrange(0, nodes.size(), list.data());
    for (const std::size_t index : sorted.order) nodes.AddAllocated(list[index]);
  }

  [[noreturn]] static void refuse_cycle(const Nodes& nodes, const std::vector<std::size_t>& cycle, const Scope& scope) {
    constexpr std::size_t shown = 8;
    std::vector<std::string> values;
    for (std::size_t i = 0; i < cycle.size() && i < shown; ++i) {
      const auto& needed = nodes.Get(static_cast<int>(cycle[(i + 1) % cycle.size()]));
      // The value for which this node needs the next one; a use in a subgraph counts like an operand.
      const auto& node = nodes.Get(static_cast<int>(cycle[i]));
      std::string name = needed.output_size() > 0 ? needed.output(0) : "";
      for (const auto& input : node.input()) {
        const auto value = scope.values.find(input);
        if (value != scope.values.end() && value->second.producer >= 0 && &nodes.Get(value->second.producer) == &needed)
          name = input;
      }
      values.push_back(in_quotes(name));
    }
    throw InputError(fmt::format("the nodes form a cycle, each value needing the next: {}{}", fmt::join(values, ", "),
                                 cycle.size() > shown ? ", …" : ""));
  }

  static const Value* find(const Scope* scope, std::string_view name) {
    for (; scope != nullptr; scope = scope->outer)
      if (const auto value = scope->values.find(name); value != scope->values.end()) return &value->second;
    return nullptr;
  }

  proto::ModelProto& model_;
  Opsets opsets_;  // those of the model or function being validated
  bool in_function_ = false;
  std::vector<const proto::SparseTensorProto*> sparse_tensors_;
};

}  // namespace

void validate(proto::ModelProto& model, const std::filesystem::path& folder) {
  Validator validator(model);
  validator.model();
  for_each_tensor(model, [&](proto::TensorProto& tensor, bool) { check_tensor(tensor, folder); });
  for (const proto::SparseTensorProto* tensor : validator.sparse_tensors()) check_indices(*tensor, folder);
}

}  // namespace taso::onnx
