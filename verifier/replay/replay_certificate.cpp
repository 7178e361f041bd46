#include "verifier/replay/replay_certificate.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "onnx/cleanup/cleanup.h"
#include "onnx/cleanup/fused_attention.h"
#include "onnx/export/frame.h"
#include "onnx/import/import.h"
#include "onnx/import/taken_branches.h"
#include "ops/core/error.h"
#include "verifier/replay/clean_ups.h"
#include "verifier/replay/replay.h"
#include "verifier/replay/same_graph.h"
#include "verifier/replay/unused_nodes.h"
#include "verifier/replay/written_nodes.h"
#include "verifier/replay/written_values.h"

namespace taso::verifier {
namespace {

/// After the search, only those clean-ups are done that do not change results, not even in the last bit. They need no
/// replay, because the graph is the same.
bool is_harmless(std::string_view pass) {
  return pass == "identity" || pass == "no-op" || pass == "constant-folding" || pass == "cluster-folding" ||
         pass == "common-subexpressions" || pass == "dead-code" || pass == "equal-weights" ||
         pass == "reshape-targets" || pass == "unused-weights";
}

class CertificateReplay {
 public:
  CertificateReplay(const rules::RewriteCertificate& certificate, const onnx::Model& before, const onnx::Model& after,
                    const std::vector<rules::Rule>& rules)
      : certificate_(certificate), before_(before), after_(after), edit_(before), rules_(rules) {}

  CertificateVerdict run() {
    const bool fuses = uses_onnxruntime();
    if (const std::string part = onnx::frame_difference(before_, after_, fuses); !part.empty())
      return refuse(fmt::format("the models differ in {}", part));
    phase_ = Phase::written;
    if (std::string trouble = trouble_with_new_nodes(before_, after_, fuses); !trouble.empty())
      return refuse(std::move(trouble));
    if (std::string trouble = trouble_with_weights(before_, after_); !trouble.empty())
      return refuse(std::move(trouble));
    phase_ = Phase::clean_ups;
    original_ = edit_.imported();
    if (const std::string reason = clean(); !reason.empty()) return refuse(reason);
    const auto cleaned = edit_.imported();
    const onnx::ImportedModel& imported = *cleaned;
    Replay replay(imported.graph);
    if (const std::string reason = check_names(imported, replay); !reason.empty()) return refuse(reason);
    phase_ = Phase::steps;
    for (std::size_t i = 0; i < certificate_.steps.size(); ++i) {
      const rules::RewriteStep& step = certificate_.steps[i];
      if (i > 0 && step.cost_before != certificate_.steps[i - 1].cost_after)
        return refuse("its cost before does not equal the cost after the previous step", i + 1);
      if (const auto reason = replay.take(step, rules_)) return refuse(*reason, i + 1);
    }
    if (!certificate_.steps.empty() && certificate_.steps.back().cost_after > certificate_.steps.front().cost_before)
      return refuse("the steps increase the cost");
    phase_ = Phase::after;
    for (const rules::CleanupStep& step : certificate_.after)
      if (!is_harmless(step.pass) && step.pass != onnx::fused_attention_pass)
        return refuse(fmt::format("'{}' is not allowed after the search", step.pass));
    phase_ = Phase::comparison;
    return compare(imported, replay);
  }

 private:
  using Phase = CertificateVerdict::Phase;

  /// Whether some operators were replaced by those that only ONNX Runtime has. The importer knows what they compute.
  bool uses_onnxruntime() const {
    return std::any_of(certificate_.after.begin(), certificate_.after.end(),
                       [](const rules::CleanupStep& step) { return step.pass == onnx::fused_attention_pass; });
  }

  CertificateVerdict refuse(std::string reason, std::optional<std::size_t> step = std::nullopt) const {
    return {false, std::move(reason), step, phase_};
  }

  /// Repeats the clean-ups to see what they do, and checks by other means that the graph still computes the same.
  std::string clean() {
    onnx::CleanupOptions options;
    const auto passes = onnx::cleanup_passes();
    for (const std::string& name : certificate_.disabled) {
      if (std::none_of(passes.begin(), passes.end(), [&](const onnx::CleanupPass& pass) { return pass.name == name; }))
        return fmt::format("there is no clean-up '{}'", name);
      options.disabled.insert(name);
    }
    options.fold_limit = certificate_.fold_limit;
    std::vector<onnx::CleanupAction> actions;
    onnx::clean_up(edit_, options, &actions);
    for (std::size_t i = 0; i < std::max(actions.size(), certificate_.before.size()); ++i) {
      if (i >= actions.size()) return fmt::format("there is nothing to clean up at '{}'", certificate_.before[i].at);
      if (i >= certificate_.before.size()) return fmt::format("the clean-up at '{}' is missing", actions[i].at);
      const rules::CleanupStep& step = certificate_.before[i];
      if (step.pass != actions[i].pass || step.at != rules::text_in_json(actions[i].at))
        return fmt::format("'{}' at '{}' is not the clean-up that is done there", step.pass, step.at);
    }
    if (actions.empty()) return "";
    std::unordered_set<std::string> taken;  // Ifs
    for (const onnx::CleanupAction& action : actions)
      if (action.pass == "dead-branches") taken.insert(action.at);
    const auto cleaned = edit_.imported();
    const Graph original = taken.empty() ? original_->graph : with_branches(taken);
    const auto reason = difference(original, cleaned->graph, by_name(*cleaned), computed_ahead());
    return reason ? fmt::format("the clean-ups are not shown to be right: {}", *reason) : "";
  }

  /// The original with the branches of these Ifs in their place, as far as their conditions are known.
  Graph with_branches(const std::unordered_set<std::string>& taken) const {
    const onnx::ModelView view = onnx::view_of(before_);
    const auto decisions =
        onnx::decided_branches(view, [&](const std::string& result) { return taken.contains(result); });
    return onnx::import_with_branches(view, decisions).graph;
  }

  /// The names of a model's values, for messages. At most one message is made, so there is no table.
  static std::function<std::string(const Value&)> by_name(const onnx::ImportedModel& model) {
    return [&model](const Value& value) {
      const std::string* first = nullptr;
      for (const auto& [name, its] : model.values)
        if (its == value && !name.empty() && (first == nullptr || name < *first)) first = &name;
      return first == nullptr ? std::string("a value of the output")
                              : fmt::format("the value '{}' of the output", *first);
    };
  }

  std::string check_names(const onnx::ImportedModel& imported, const Replay& replay) const {
    if (certificate_.names.empty()) return "";
    std::unordered_map<std::string, rules::ValueNumber> numbers;
    for (const auto& [name, value] : imported.values)
      if (const auto number = replay.number_of(value)) numbers.emplace(rules::text_in_json(name), *number);
    for (const auto& [number, name] : certificate_.names) {
      const auto found = numbers.find(name);
      if (found == numbers.end() || found->second != number)
        return fmt::format("value {} is not called '{}'", number, name);
    }
    return "";
  }

  CertificateVerdict compare(const onnx::ImportedModel& imported, const Replay& replay) const {
    onnx::ImportedModel written = onnx::import_model(onnx::view_of(after_));
    if (std::string trouble = trouble_with_declarations(before_, *original_, after_, written); !trouble.empty())
      return refuse(std::move(trouble));
    const UnusedNodes unused = compare_unused_nodes(edit_.view(), onnx::view_of(after_));
    if (!unused.trouble.empty()) return refuse(unused.trouble);
    Graph graph;
    try {
      std::vector<rules::ValueNumber> taken;
      for (const auto& [old_name, new_name] : unused.taken) {
        const Value& old = imported.values.at(old_name);
        const Value& now = written.values.at(new_name);
        if (const auto number = replay.number_of(old)) {
          taken.push_back(*number);
          written.graph.outputs.push_back(now);
        } else if (old_name != new_name) {  // an input or a weight that only such nodes use
          return refuse(fmt::format("an unused node takes '{}' instead of '{}'", new_name, old_name));
        }
      }
      graph = replay.graph(taken);
    } catch (const Refusal& refusal) {
      return refuse(refusal.reason);
    }
    const auto describe = by_name(written);
    const OtherWay other_way = uses_onnxruntime() ? with_fused_attention() : OtherWay{};
    if (const auto reason = difference(graph, written.graph, describe, other_way)) return refuse(*reason);
    return {true, "", std::nullopt, Phase::done};
  }

  const rules::RewriteCertificate& certificate_;
  const onnx::Model &before_, &after_;
  onnx::GraphEdit edit_;
  std::shared_ptr<const onnx::ImportedModel> original_;  // the model before the clean-ups
  ReplayRules rules_;
  Phase phase_ = Phase::frame;
};

}  // namespace

CertificateVerdict replay_certificate(const rules::RewriteCertificate& certificate, const onnx::Model& before,
                                      const onnx::Model& after, const std::vector<rules::Rule>& rules) {
  return CertificateReplay(certificate, before, after, rules).run();
}

}  // namespace taso::verifier
