#include "onnx/check/compare.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "onnx/check/both_sides.h"
#include "onnx/export/rewiring.h"
#include "onnx/import/import.h"
#include "onnx/import/node_body.h"
#include "onnx/import/taken_branches.h"
#include "onnx/lowering/lowering.h"
#include "onnx/model/attributes.h"
#include "onnx/model/external_data.h"
#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "runtime/host/interpreter.h"

namespace taso::onnx {
namespace {

/// Names of two values that must be equal, in the original and in the edited model. If `rewired` is set, that node
/// counts as a node of the original only if they are.
struct Claim {
  std::string old_name, name;
  const proto::NodeProto* rewired = nullptr;
};

/// If both values are computed by the same operator: what remains to show, namely that the operands agree. Otherwise
/// nothing.
std::optional<std::vector<Obligation>> operands_of(const Obligation& obligation) {
  const Node &left = *obligation.expected.node, &right = *obligation.actual.node;
  if (obligation.expected.output != obligation.actual.output || left.inputs().size() != right.inputs().size())
    return std::nullopt;
  const Opaque *left_opaque = left.as_opaque(), *right_opaque = right.as_opaque();
  const bool same_operator =
      left.as_operator() != nullptr && right.as_operator() != nullptr && *left.as_operator() == *right.as_operator();
  const bool same_opaque = left_opaque != nullptr && right_opaque != nullptr && left_opaque->body != nullptr &&
                           right_opaque->body != nullptr && left_opaque->body->obstacle().empty() &&
                           left_opaque->outputs.size() == right_opaque->outputs.size() &&
                           left_opaque->body->same(*right_opaque->body);
  if (!same_operator && !same_opaque) return std::nullopt;
  std::vector<Obligation> operands;
  for (std::size_t i = 0; i < left.inputs().size(); ++i) {
    const Value &expected = left.inputs()[i], &actual = right.inputs()[i];
    if (expected == actual) continue;
    if (!expected || !actual) return std::nullopt;
    operands.push_back({obligation.name, expected, actual});
  }
  return operands;
}

/// Regions that do not agree are enlarged until they contain this many nodes.
constexpr std::size_t most_opened = 200;

/// The size of external weights in the subgraphs of a node.
std::uint64_t external_bytes_inside(const proto::NodeProto& node) {
  std::uint64_t bytes = 0;
  for (const auto& attribute : node.attribute()) {
    for (const auto& tensor : attribute.g().initializer())
      if (is_external(tensor)) bytes += raw_bytes_of(tensor).value_or(0);
    for (const auto& inner : attribute.g().node()) bytes += external_bytes_inside(inner);
  }
  return bytes;
}

class Comparison {
 public:
  Comparison(const ModelView& before, const ModelView& after, const CheckOptions& options)
      : before_(before), after_(after), options_(options), sides_(options, before.folder) {}

  CheckResult run() {
    if (same_nodes()) return {true, CheckResult::Scope::unchanged, 0, 0, ""};
    const ArrayLimit limit(options_.largest_tensor);
    try {
      return run_whole_or_regions();
    } catch (const Broken& broken) {
      return {false, scope_, 0, std::numeric_limits<double>::infinity(), broken.reason};
    }
  }

 private:
  bool same_nodes() const { return before_.nodes == after_.nodes && before_.initializers == after_.initializers; }

  CheckResult run_whole_or_regions() {
    CheckResult whole;
    std::string why_not_whole = obstacle_to_whole();
    if (why_not_whole.empty()) {
      try {
        whole = run_whole();
        // A rounding error may change an integer or a decision: then every region is checked by itself. The same if one
        // run does not cover the whole model.
        if (!branches() && (whole.passed || sides_.why_regions().empty())) return whole;
        why_not_whole = whole.passed ? "and the whole model, but one run takes only one branch of each If"
                                     : fmt::format("in the whole model, {}{}", whole.reason, sides_.why_regions());
      } catch (const runtime::TypeMismatch& error) {
        const bool declared = !mismatches_without_declarations();
        if (declared && !branches()) throw InputError(fmt::format("a declared type is wrong: {}", error.what()));
        // Regions would run on operands of the types that proved wrong, unless the wrong type is in a branch that only
        // our own run takes.
        if (!declared) return {false, CheckResult::Scope::whole, 0, 0, error.what()};
        why_not_whole = error.what();
      } catch (const InputError& error) {
        why_not_whole = error.what();
      }
    }
    scope_ = CheckResult::Scope::regions;
    CheckResult result = run_regions();
    if (result.passed) result.reason = why_not_whole;
    if (whole.passed) add(whole, result);
    return result;
  }

  /// Adds what was compared elsewhere.
  static void add(const CheckResult& more, CheckResult& result) {
    result.compared += more.compared;
    result.worst = std::max(result.worst, more.worst);
    result.finite = std::min(result.finite, more.finite);
    result.large += more.large;
    result.special += more.special;
  }

  /// Whether one run covers only a part of the original.
  bool branches() const {
    return std::any_of(before_.nodes.begin(), before_.nodes.end(),
                       [](const auto* node) { return has_subgraph(*node); });
  }

  /// Whether running the node by itself shows what it does.
  bool shows_by_running(const proto::NodeProto& node) const {
    return !has_subgraph(node) && obstacle_of(*before_.model, node).empty();
  }

  /// Whether a wrong type comes from our inference rather than from the model's declarations.
  bool mismatches_without_declarations() {
    SharedImport shared;
    shared.believe_declarations = false;
    Graph graph = import_model(before_, &shared).graph;
    try {
      sides_.run(graph, graph.outputs.size(), graph);
    } catch (const runtime::TypeMismatch&) {
      return true;
    } catch (const InputError&) {
    }
    return false;
  }

  ImportedModel import_edited(SharedImport& shared) const {
    try {
      return import_model(after_, &shared);
    } catch (const InputError& error) {
      throw Broken{fmt::format("the edited model cannot be read: {}", error.what())};
    }
  }

  std::string obstacle_to_whole() const {
    std::uint64_t external = 0;
    for (const proto::TensorProto* tensor : before_.initializers)
      if (is_external(*tensor)) external += raw_bytes_of(*tensor).value_or(0);
    for (const proto::NodeProto* node : before_.nodes) external += external_bytes_inside(*node);
    if (external > options_.memory_limit) return fmt::format("{} bytes of external weights", external);
    for (const proto::NodeProto* node : before_.nodes) {
      if (is_of_onnxruntime(*before_.model, *node) && is_lowered_onnxruntime(node->op_type())) continue;
      if (const auto obstacle = obstacle_of(*before_.model, *node); !obstacle.empty())
        return fmt::format("{}: {}", node->op_type(), obstacle);
    }
    return "";
  }

  CheckResult run_whole() {
    Graph before, after;
    {
      // The tables of names of a large model take much memory: only the graphs stay while they run.
      SharedImport shared;
      ImportedModel imported = import_model(before_, &shared);
      sides_.set_defaults(imported.defaults);
      before = std::move(imported.graph);
      imported = {};
      after = import_edited(shared).graph;
    }
    std::vector<Obligation> obligations;
    const auto& outputs = before_.model->graph().output();
    for (int i = 0; i < outputs.size(); ++i) {
      const auto index = static_cast<std::size_t>(i);
      obligations.push_back({outputs[i].name(), before.outputs[index], after.outputs[index]});
    }
    return sides_.compare(before.pool, before, obligations, CheckResult::Scope::whole);
  }

  /// Assume and guarantee: untouched nodes compute the same from the same operands, so their results become random
  /// inputs of both sides. It remains to show that every touched node agrees with what it replaced.
  CheckResult run_regions() {
    for (;;) {
      const std::size_t before = no_rewiring_.size() + opened_.size();
      CheckResult result = run_claims();
      // If operands differ, a node that looked rewired was in fact replaced by one of the same kind, and becomes part
      // of a region. If the random inputs of a region depend on each other, the nodes that compute them become part of
      // the region.
      if (no_rewiring_.size() + opened_.size() == before) return result;
    }
  }

  /// Ifs of the original that the edited model has no longer, because the same branch is taken for all inputs. Read in
  /// this way, one run covers all of them.
  const Decisions& taken_branches() {
    if (taken_) return *taken_;
    std::unordered_set<std::string> left;
    for (const proto::NodeProto* node : after_.nodes)
      if (node->op_type() == "If") left.insert(node->output().begin(), node->output().end());
    taken_ = branches() ? decided_branches(before_, [&](const std::string& result) { return !left.contains(result); })
                        : Decisions();
    return *taken_;
  }

  /// The original of a node of the edited model, and the values that must agree for that.
  struct Partner {
    const proto::NodeProto* node;
    NamePairs operands;
  };

  CheckResult run_claims() {
    std::unordered_map<std::string, const proto::NodeProto*> producers;
    for (const proto::NodeProto* node : before_.nodes)
      for (const std::string& output : node->output()) producers.emplace(output, node);
    const std::unordered_set<const proto::TensorProto*> untouched_weights(before_.initializers.begin(),
                                                                          before_.initializers.end());
    std::unordered_set<std::string> known;  // names that the original defines
    for (const auto& [name, node] : producers) known.insert(name);
    for (const proto::TensorProto* tensor : before_.initializers) known.insert(tensor->name());

    std::vector<Claim> claims;
    std::unordered_map<std::string, std::string> cut_before, cut_after;
    const auto partners = find_partners(producers);
    for (const proto::NodeProto* node : after_.nodes) {
      const auto partner = partners.find(node);
      if (partner != partners.end())
        for (const auto& [old_name, name] : partner->second.operands) claims.push_back({old_name, name, node});
      for (int i = 0; i < node->output_size(); ++i) {
        const std::string& output = node->output(i);
        if (output.empty()) continue;
        const std::string* original = partner == partners.end() ? nullptr : &partner->second.node->output(i);
        if (original != nullptr) {
          cut_before.emplace(*original, *original);
          cut_after.emplace(output, *original);
        }
        if (known.contains(output) && (original == nullptr || *original != output)) claims.push_back({output, output});
      }
    }
    for (const proto::TensorProto* tensor : after_.initializers)
      if (known.contains(tensor->name()) && !untouched_weights.contains(tensor))
        claims.push_back({tensor->name(), tensor->name()});

    SharedImport shared;
    shared.cut = std::move(cut_before);
    const ImportedModel before = import_with_branches(before_, taken_branches(), &shared);
    shared.cut = std::move(cut_after);
    const ImportedModel after = import_edited(shared);
    sides_.set_defaults(before.defaults);
    CheckResult result{true, CheckResult::Scope::regions, 0, 0, ""};
    for (const Claim& claim : claims) {
      if (claim.rewired != nullptr && no_rewiring_.contains(claim.rewired)) continue;
      const Obligation obligation{claim.name, before.values.at(claim.old_name), after.values.at(claim.name)};
      try {
        settle(shared.pool, before.graph, obligation, result);
      } catch (const Broken& broken) {
        result.passed = false;
        result.reason = broken.reason;
      } catch (const InputError& error) {
        if (!give_up_rewiring(claim))
          throw Uncheckable(fmt::format("the change at '{}' cannot be checked: {}", obligation.name, error.what()));
      }
      if (result.passed) continue;
      if (give_up_rewiring(claim)) {
        result.passed = true;
        continue;
      }
      open_region(shared, obligation, partners);
      return result;
    }
    return result;
  }

  /// From now on computes the nodes that a region takes random operands from, as far as they can run.
  void open_region(const SharedImport& shared, const Obligation& obligation,
                   const std::unordered_map<const proto::NodeProto*, Partner>& partners) {
    if (opened_.size() > most_opened) return;
    std::unordered_set<const Node*> inputs;
    for (const Node* node : Graph{shared.pool, {}, {obligation.expected, obligation.actual}}.nodes())
      if (node->as_input() != nullptr) inputs.insert(node);
    for (const auto& [node, partner] : partners) {
      if (!shows_by_running(*node)) continue;
      for (const std::string& output : partner.node->output()) {
        const auto cut = shared.cut_inputs.find(output);
        if (cut != shared.cut_inputs.end() && inputs.contains(cut->second.node)) opened_.insert(node);
      }
    }
  }

  /// Whether the claim can be dropped: a node that can run need not be a node of the original.
  bool give_up_rewiring(const Claim& claim) {
    if (claim.rewired == nullptr || !shows_by_running(*claim.rewired)) return false;
    no_rewiring_.insert(claim.rewired);
    return true;
  }

  /// Runs both sides. If that is impossible, goes back through the operators that they have in common.
  void settle(const std::shared_ptr<Pool>& pool, const Graph& signature, const Obligation& obligation,
              CheckResult& result) {
    std::vector<Obligation> open{obligation};
    std::set<std::pair<const Node*, const Node*>> seen;
    while (!open.empty() && result.passed) {
      const Obligation next = open.back();
      open.pop_back();
      if (next.expected == next.actual) {
        ++result.compared;
        continue;
      }
      try {
        const CheckResult one = sides_.compare(pool, signature, {next}, CheckResult::Scope::regions);
        add(one, result);
        result.passed = one.passed;
        result.reason = one.reason;
      } catch (const InputError&) {
        const auto operands = operands_of(next);
        if (!operands) throw;
        for (const Obligation& operand : *operands)
          if (seen.emplace(operand.expected.node, operand.actual.node).second) open.push_back(operand);
      }
    }
  }

  std::unordered_map<const proto::NodeProto*, Partner> find_partners(
      const std::unordered_map<std::string, const proto::NodeProto*>& producers) const {
    std::unordered_map<const proto::NodeProto*, Partner> partners;
    std::unordered_set<const proto::NodeProto*> free(before_.nodes.begin(), before_.nodes.end());
    std::vector<const proto::NodeProto*> left;
    const auto join = [&](const proto::NodeProto& node, const proto::NodeProto& original, NamePairs operands) {
      free.erase(&original);
      partners.emplace(&node, Partner{&original, std::move(operands)});
    };
    for (const proto::NodeProto* node : after_.nodes) {
      if (node->op_type() == "Constant" || opened_.contains(node)) continue;  // its value is known, not arbitrary
      if (free.contains(node)) {
        join(*node, *node, {});
        continue;
      }
      const auto original = node->output_size() > 0 ? producers.find(node->output(0)) : producers.end();
      auto operands = original != producers.end() && free.contains(original->second) && !no_rewiring_.contains(node)
                          ? rewiring_of(*original->second, *node)
                          : std::nullopt;
      if (operands && std::equal(node->output().begin(), node->output().end(), original->second->output().begin()))
        join(*node, *original->second, std::move(*operands));
      else if (!shows_by_running(*node))
        left.push_back(node);
    }
    // A node that cannot run must be a node of the original, although its results may have other names. Take the one
    // with most operands in common, and the first of equals.
    for (const proto::NodeProto* node : left) {
      const proto::NodeProto* best = nullptr;
      NamePairs best_operands;
      std::ptrdiff_t most = -1;
      for (const proto::NodeProto* original : before_.nodes) {
        if (!free.contains(original) || original->name() != node->name()) continue;
        auto operands = rewiring_of(*original, *node);
        if (!operands) continue;
        const auto same =
            std::count_if(operands->begin(), operands->end(), [](const auto& p) { return p.first == p.second; });
        if (same <= most) continue;
        most = same;
        best = original;
        best_operands = std::move(*operands);
      }
      if (best != nullptr) join(*node, *best, std::move(best_operands));
    }
    return partners;
  }

  const ModelView& before_;
  const ModelView& after_;
  const CheckOptions& options_;
  BothSides sides_;
  CheckResult::Scope scope_ = CheckResult::Scope::whole;
  std::optional<Decisions> taken_;
  std::unordered_set<const proto::NodeProto*> no_rewiring_;  // nodes of the edited model that are not the original's
  std::unordered_set<const proto::NodeProto*> opened_;       // nodes of the edited model that regions contain
};

}  // namespace

CheckResult compare(const ModelView& before, const ModelView& after, const CheckOptions& options) {
  return Comparison(before, after, options).run();
}

}  // namespace taso::onnx
