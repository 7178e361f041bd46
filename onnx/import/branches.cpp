#include "onnx/import/branches.h"

#include <unordered_map>

#include <fmt/format.h>

#include "onnx/import/node_body.h"
#include "onnx/import/view.h"
#include "onnx/lowering/lowering.h"
#include "onnx/model/attributes.h"
#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx {
namespace {

/// Constants of at most this many elements are read during import; larger ones stay where they are.
constexpr std::int64_t small_constant = 4096;

/// The values that a branch sees, by name: those that the node captures, then its own.
using Values = std::unordered_map<std::string, Array>;

class BranchRun {
 public:
  BranchRun(const proto::GraphProto& graph, std::int64_t opset, const std::filesystem::path& folder, Values values,
            const runtime::InterpreterOptions& options)
      : graph_(graph), opset_(opset), folder_(folder), values_(std::move(values)), options_(options) {}

  std::vector<Array> operator()() {
    for (const auto& tensor : graph_.initializer())
      values_.insert_or_assign(tensor.name(), read_tensor(tensor, folder_));
    // A branch may be a whole network, so drop values after their last use.
    std::unordered_map<std::string, int> last_use;
    for (int i = 0; i < graph_.node_size(); ++i)
      for (std::string& name : operand_names(graph_.node(i))) last_use.insert_or_assign(std::move(name), i);
    for (const auto& output : graph_.output()) last_use.insert_or_assign(output.name(), graph_.node_size());
    for (int i = 0; i < graph_.node_size(); ++i) {
      const std::vector<std::string> names = operand_names(graph_.node(i));
      run(graph_.node(i), names);
      for (const std::string& name : names)
        if (last_use.at(name) == i) values_.erase(name);
    }
    std::vector<Array> results;
    for (const auto& output : graph_.output()) results.push_back(value(output.name()));
    return results;
  }

 private:
  void run(const proto::NodeProto& node, const std::vector<std::string>& names) {
    std::vector<std::optional<Array>> operands;
    for (const std::string& name : names) {
      operands.emplace_back();
      if (!name.empty()) operands.back() = value(name);
    }
    std::vector<Array> results = run_node(node, opset_, folder_, operands, options_);
    for (std::size_t i = 0; i < outputs_of(node); ++i)
      if (const std::string& name = node.output(static_cast<int>(i)); !name.empty())
        values_.insert_or_assign(name, std::move(results.at(i)));
  }

  const Array& value(const std::string& name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) throw InputError(fmt::format("nothing computes '{}' inside a branch", name));
    return found->second;
  }

  const proto::GraphProto& graph_;
  std::int64_t opset_;
  const std::filesystem::path& folder_;
  Values values_;
  const runtime::InterpreterOptions& options_;
};

using Facts = std::unordered_map<std::string, runtime::Fact>;

class BranchInference {
 public:
  BranchInference(const proto::GraphProto& graph, std::int64_t opset, const std::filesystem::path& folder, Facts facts)
      : graph_(graph), opset_(opset), folder_(folder), facts_(std::move(facts)) {}

  /// Ignores the types that the branch declares: the unknown dimensions of both branches would share one name.
  std::vector<runtime::Fact> operator()() {
    for (const auto& tensor : graph_.initializer()) facts_.insert_or_assign(tensor.name(), fact_of(tensor, folder_));
    for (const auto& node : graph_.node()) {
      std::vector<runtime::Fact> results = infer(node);
      for (std::size_t i = 0; i < results.size(); ++i)
        facts_.insert_or_assign(node.output(static_cast<int>(i)), std::move(results[i]));
    }
    std::vector<runtime::Fact> results;
    for (const auto& output : graph_.output()) results.push_back(facts_[output.name()]);
    return results;
  }

 private:
  std::vector<runtime::Fact> infer(const proto::NodeProto& node) {
    const std::size_t outputs = outputs_of(node);
    std::vector<const runtime::Fact*> operands;
    for (const std::string& name : operand_names(node)) operands.push_back(name.empty() ? nullptr : &facts_[name]);
    if (const auto branches = branches_of(node))
      return infer_branches(*branches, node, opset_, folder_, operands, outputs);
    const runtime::Attributes attributes = read_attributes(node, folder_);
    std::vector<runtime::Fact> results =
        runtime::infer_facts({node.domain(), node.op_type(), opset_, attributes, operands, outputs});
    results.resize(outputs);
    // As on import: if our operators cover the node, their types count.
    Pool pool;
    LoweringCall call{pool, node.op_type(), opset_, attributes, {}, operands, outputs};
    for (std::size_t i = 0; i < operands.size(); ++i)
      call.inputs.push_back(operands[i] == nullptr ? Value{} : pool.input(std::to_string(i), operands[i]->type));
    if (const Lowered lowered = lower(call))
      for (std::size_t i = 0; i < outputs; ++i) results[i].type = (*lowered)[i].type();
    return results;
  }

  const proto::GraphProto& graph_;
  std::int64_t opset_;
  const std::filesystem::path& folder_;
  Facts facts_;
};

}  // namespace

std::optional<bool> truth_of(const Array& condition) {
  if (condition.type() != ElementType::boolean || condition.size() != 1) return std::nullopt;
  return condition.integers().front() != 0;
}

std::optional<Branches> branches_of(const proto::NodeProto& node) {
  if (node.op_type() != "If" || !is_default_domain(node.domain())) return std::nullopt;
  Branches branches{nullptr, nullptr};
  for (const auto& attribute : node.attribute()) {
    if (!attribute.has_g()) continue;
    if (attribute.name() == "then_branch") branches.then_branch = &attribute.g();
    if (attribute.name() == "else_branch") branches.else_branch = &attribute.g();
  }
  if (branches.then_branch == nullptr || branches.else_branch == nullptr) return std::nullopt;
  return branches;
}

std::vector<Array> run_branches(const Branches& branches, const proto::NodeProto& node, std::int64_t opset,
                                const std::filesystem::path& folder, const std::vector<std::optional<Array>>& operands,
                                const runtime::InterpreterOptions& options) {
  const auto condition = !operands.empty() && operands[0] ? truth_of(*operands[0]) : std::nullopt;
  if (!condition) throw InputError("the condition of If must be a single boolean");
  Values values;
  for (const auto& [name, place] : places_of_operands(node))
    if (place < operands.size() && operands[place]) values.emplace(name, *operands[place]);
  std::vector<Array> results;
  try {
    const proto::GraphProto& taken = *condition ? *branches.then_branch : *branches.else_branch;
    results = BranchRun(taken, opset, folder, std::move(values), options)();
  } catch (const runtime::TypeMismatch&) {
    throw;
  } catch (const InputError& error) {
    // Another condition might take the other branch, so the message names the one taken.
    throw InputError(fmt::format("{} of If: {}", *condition ? "then_branch" : "else_branch", error.what()));
  }
  if (results.size() < outputs_of(node))
    throw InputError(fmt::format("{} of If has {} results, not {}", *condition ? "then_branch" : "else_branch",
                                 results.size(), outputs_of(node)));
  return results;
}

std::vector<runtime::Fact> infer_branches(const Branches& branches, const proto::NodeProto& node, std::int64_t opset,
                                          const std::filesystem::path& folder,
                                          const std::vector<const runtime::Fact*>& operands, std::size_t outputs) {
  const auto infer = [&](const proto::GraphProto& branch) {
    Facts facts;
    for (const auto& [name, place] : places_of_operands(node))
      if (place < operands.size() && operands[place] != nullptr) facts.emplace(name, *operands[place]);
    std::vector<runtime::Fact> results = BranchInference(branch, opset, folder, std::move(facts))();
    results.resize(outputs);
    for (runtime::Fact& fact : results) fact = runtime::Fact{std::move(fact.type), std::nullopt, std::nullopt};
    return results;
  };
  const bool known = !operands.empty() && operands[0] != nullptr && operands[0]->constant;
  if (const auto condition = known ? truth_of(*operands[0]->constant) : std::nullopt)
    return infer(*condition ? *branches.then_branch : *branches.else_branch);
  std::vector<runtime::Fact> results = infer(*branches.then_branch);
  const std::vector<runtime::Fact> others = infer(*branches.else_branch);
  for (std::size_t i = 0; i < outputs; ++i) {
    Type& type = results[i].type;
    const Type& other = others[i].type;
    if (type.element != other.element) type.element = ElementType::undefined;
    if (type.element == ElementType::undefined || type.shape != other.shape) type.shape.reset();
  }
  return results;
}

runtime::Fact fact_of(const proto::TensorProto& tensor, const std::filesystem::path& folder) {
  const Extents extents(tensor.dims().begin(), tensor.dims().end());
  runtime::Fact fact{Type{element_type_from_onnx(tensor.data_type()), shape_of(extents)}, std::nullopt, std::nullopt};
  if (count(extents) <= small_constant) fact.constant = read_tensor(tensor, folder);
  return fact;
}

}  // namespace taso::onnx
