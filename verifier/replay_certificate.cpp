#include "verifier/replay_certificate.h"

#include <algorithm>

#include <fmt/format.h>

#include "ops/error.h"
#include "ops/onnx/cleanup.h"
#include "ops/onnx/frame.h"
#include "ops/onnx/import.h"
#include "verifier/replay.h"
#include "verifier/same_graph.h"
#include "verifier/written_nodes.h"

namespace taso {
namespace {

/// After the search only those clean-ups are done that do not change what is computed, not even in the last bit: what they did
/// needs no following, as the graph is the same.
bool is_harmless(std::string_view pass) {
  return pass == "identity" || pass == "no-op" || pass == "constant-folding" || pass == "common-subexpressions" ||
         pass == "dead-code" || pass == "unused-weights";
}

class CertificateReplay {
 public:
  CertificateReplay(const RewriteCertificate& certificate, const Model& before, const Model& after,
                    const std::vector<Rule>& rules)
      : certificate_(certificate), before_(before), after_(after), edit_(before), rules_(rules) {}

  CertificateVerdict run() {
    if (const std::string part = frame_difference(before_, after_); !part.empty())
      return refuse(fmt::format("the models differ in {}", part));
    if (std::string trouble = trouble_with_new_nodes(before_, after_); !trouble.empty())
      return refuse(std::move(trouble));
    if (const std::string reason = clean(); !reason.empty()) return refuse(reason);
    const Imported imported = import_model(edit_.view());
    Replay replay(imported.graph);
    if (const std::string reason = check_names(imported, replay); !reason.empty()) return refuse(reason);
    for (std::size_t i = 0; i < certificate_.steps.size(); ++i) {
      const RewriteStep& step = certificate_.steps[i];
      if (i > 0 && step.cost_before != certificate_.steps[i - 1].cost_after)
        return refuse("it does not begin with the cost that the one before ends with", i + 1);
      if (const auto reason = replay.take(step, rules_)) return refuse(*reason, i + 1);
    }
    if (!certificate_.steps.empty() && certificate_.steps.back().cost_after > certificate_.steps.front().cost_before)
      return refuse("the steps make it dearer");
    for (const CleanupStep& step : certificate_.after)
      if (!is_harmless(step.pass)) return refuse(fmt::format("'{}' is no clean-up after the search", step.pass));
    return compare(replay);
  }

 private:
  static CertificateVerdict refuse(std::string reason, std::optional<std::size_t> step = std::nullopt) {
    return {false, std::move(reason), step};
  }

  /// Does the clean-ups again. They are a part of what models mean, and always right; what was left out has to be known.
  std::string clean() {
    CleanupOptions options;
    const auto passes = cleanup_passes();
    for (const std::string& name : certificate_.disabled) {
      if (std::none_of(passes.begin(), passes.end(), [&](const CleanupPass& pass) { return pass.name == name; }))
        return fmt::format("there is no clean-up '{}'", name);
      options.disabled.insert(name);
    }
    options.fold_limit = certificate_.fold_limit;
    std::vector<CleanupAction> actions;
    clean_up(edit_, options, &actions);
    for (std::size_t i = 0; i < std::max(actions.size(), certificate_.before.size()); ++i) {
      if (i >= actions.size()) return fmt::format("there is nothing to clean up at '{}'", certificate_.before[i].at);
      if (i >= certificate_.before.size()) return fmt::format("the clean-up at '{}' is missing", actions[i].at);
      const CleanupStep& step = certificate_.before[i];
      if (step.pass != actions[i].pass || step.at != text_in_json(actions[i].at))
        return fmt::format("'{}' at '{}' is not the clean-up that is done there", step.pass, step.at);
    }
    return "";
  }

  std::string check_names(const Imported& imported, const Replay& replay) const {
    std::unordered_map<std::string, ValueNumber> numbers;
    for (const auto& [name, value] : imported.values)
      if (const auto number = replay.number_of(value)) numbers.emplace(text_in_json(name), *number);
    for (const auto& [number, name] : certificate_.names) {
      const auto found = numbers.find(name);
      if (found == numbers.end() || found->second != number)
        return fmt::format("value {} is not called '{}'", number, name);
    }
    return "";
  }

  CertificateVerdict compare(const Replay& replay) const {
    Graph graph;
    try {
      graph = replay.graph();
    } catch (const Refusal& refusal) {
      return refuse(refusal.reason);
    }
    const Imported written = import_model(view_of(after_));
    std::unordered_map<Value, std::string, HashValue> names;
    for (const auto& [name, value] : written.values) {
      std::string& known = names[value];
      if (known.empty() || name < known) known = name;
    }
    const auto describe = [&](const Value& value) {
      const auto found = names.find(value);
      return found == names.end() ? std::string("a value of the output")
                                  : fmt::format("the value '{}' of the output", found->second);
    };
    if (const auto reason = difference(graph, written.graph, describe)) return refuse(*reason);
    return {true, "", std::nullopt};
  }

  const RewriteCertificate& certificate_;
  const Model &before_, &after_;
  GraphEdit edit_;
  ReplayRules rules_;
};

}  // namespace

CertificateVerdict replay_certificate(const RewriteCertificate& certificate, const Model& before, const Model& after,
                                      const std::vector<Rule>& rules) {
  return CertificateReplay(certificate, before, after, rules).run();
}

}  // namespace taso
