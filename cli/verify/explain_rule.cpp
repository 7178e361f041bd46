#include "cli/verify/explain_rule.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/console/interrupt.h"
#include "cli/console/program.h"
#include "cli/console/progress_line.h"
#include "cli/files/property_file.h"
#include "cli/files/rule_input.h"
#include "cli/files/rule_set.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "rules/language/mathematics.h"
#include "verifier/explanation/explain.h"

namespace taso::cli {
namespace {

std::string_view word_of(verifier::RuleVerdict::Kind kind) {
  return kind == verifier::RuleVerdict::Kind::proved ? "PASSED" : "FAILED";
}

/// Without files, the shipped rules, and the properties that their proofs name.
std::vector<GivenFile> files_with_rules(const VerifySettings& settings) {
  std::vector<GivenFile> files;
  for (const auto& file : settings.files) files.push_back(read_rules(file));
  if (!files.empty()) return files;
  std::error_code unknown;
  if (std::filesystem::exists(*settings.explained, unknown))
    throw UsageError(fmt::format("--explain takes the name of a rule, and '{}' is a file: name both",
                                 on_one_line(*settings.explained)));
  files = read_rule_set({}, {}).files;
  files.push_back(read_properties(properties_path(settings.properties)));
  return files;
}

}  // namespace

ExitCode explain_rule(const VerifySettings& settings, Console& console) {
  const std::vector<GivenFile> files = files_with_rules(settings);
  const std::vector<GivenRule> rules = rules_of(files);
  const GivenRule& given = rule_named(rules, *settings.explained, "--explain");
  console.begin_log();
  if (!given.unstated.empty()) {
    print(fmt::format("{}: cannot be stated: {}\n", on_one_line(given.rule.name), on_one_line(given.unstated)));
    console.verdict(false, "FAILED");
    return ExitCode::unverified;
  }
  rules::Rule rule = given.rule;
  std::vector<rules::Rule> known;
  if (rule.kind == rules::Rule::Kind::axiom)  // not from itself: by the normal form, in the direction that is written
    rule.kind = rules::Rule::Kind::candidate;
  else
    known = read_properties(properties_path(settings.properties)).rules.rules();
  const rules::Properties properties(known);
  verifier::Explanation explanation;
  ProgressLine shown(console);
  std::stop_source end;
  run_watched(
      end,
      [&] {
        try {
          explanation = verifier::explain(rule, properties, settings.proving, end.get_token());
        } catch (const ShapeError& error) {
          throw InputError(fmt::format("{}: {}", place_of(given, files), error.what()));
        }
      },
      [&] {
        shown.show([&] { return fmt::format("proving {}; {:.0f} s", rule.name, shown.seconds()); });
        if (interrupted()) end.request_stop();
      });
  console.draw({});
  if (interrupted()) {
    console.error(fmt::format("{}: interrupted before there was a verdict", on_one_line(rule.name)));
    return ExitCode::interrupted;
  }
  print(on_lines(explanation.text));
  if (!explanation.verdict.disagreement.empty()) {
    console.error(fmt::format("{}: {}", rule.name, explanation.verdict.disagreement));
    return ExitCode::bug;
  }
  console.verdict(explanation.verdict.kind == verifier::RuleVerdict::Kind::proved, word_of(explanation.verdict.kind));
  return explanation.verdict.kind == verifier::RuleVerdict::Kind::proved ? ExitCode::done : ExitCode::unverified;
}

namespace {

/// Names for the values of a certificate: that of the original, with the node that computes it, or the step that made
/// it.
class ValueNames {
 public:
  ValueNames(const rules::RewriteCertificate& certificate, const onnx::Model& model) {
    std::map<std::string, std::string> makers;
    for (const auto& node : model.proto().graph().node())
      for (const auto& output : node.output())
        makers.emplace(output, fmt::format("{}{}", on_one_line(node.op_type()),
                                           node.name().empty() ? "" : fmt::format(" '{}'", on_one_line(node.name()))));
    for (const auto& [number, name] : certificate.names) {
      const auto maker = makers.find(name);
      short_[number] = fmt::format("'{}'", on_one_line(name));
      long_[number] = fmt::format("'{}'{}", on_one_line(name), maker == makers.end() ? "" : " of " + maker->second);
    }
    for (std::size_t i = 0; i < certificate.steps.size(); ++i)
      for (const auto& made : certificate.steps[i].made)
        for (const rules::ValueNumber result : made.results)
          short_.try_emplace(result, fmt::format("the {} that step {} made", made.op, i + 1));
  }

  std::string text(rules::ValueNumber number, bool with_node) const {
    if (with_node)
      if (const auto known = long_.find(number); known != long_.end()) return known->second;
    const auto known = short_.find(number);
    return known == short_.end() ? fmt::format("value {}", number) : known->second;
  }

 private:
  std::map<rules::ValueNumber, std::string> short_, long_;
};

/// What the certificate says of a step. Only of an accepted one it is known to be so.
std::string step_text(const rules::RewriteStep& step, const ValueNames& names, const rules::Rule* rule,
                      bool is_accepted) {
  std::vector<std::string> places, bound, made;
  for (const rules::ValueNumber number : step.replaced) places.push_back(names.text(number, true));
  std::string text = fmt::format("  at {}\n", fmt::join(places, ", "));
  if (rule != nullptr) {
    const auto [source, target] = rules::mathematics_of(*rule);
    text += fmt::format("     {}  ⇒  {}\n", source, target);
  }
  for (const auto& [input, number] : step.inputs)
    bound.push_back(fmt::format("{} = {}", input, names.text(number, false)));
  for (const auto& [variable, value] : step.variables)
    bound.push_back(fmt::format("{} = {}", variable, on_one_line(value)));
  if (!bound.empty()) text += fmt::format("     with {}\n", fmt::join(bound, ", "));
  for (const auto& one : step.made) made.push_back(one.op);
  if (!made.empty())
    text += fmt::format("     {} by {}\n", is_accepted ? "computed now" : "would be computed", fmt::join(made, ", "));
  for (const auto& [one, other] : step.merged)
    text += fmt::format("     {} and {} {}\n", names.text(one, false), names.text(other, false),
                        is_accepted ? "are one now" : "would become one");
  for (const std::string& condition : step.conditions)
    text += fmt::format("     {}: {}\n", is_accepted ? "holds" : "has to hold", on_one_line(condition));
  return text;
}

}  // namespace

std::string explain_replay(const rules::RewriteCertificate& certificate, const onnx::Model& model,
                           const std::vector<rules::Rule>& rules, const verifier::CertificateVerdict& verdict) {
  using Phase = verifier::CertificateVerdict::Phase;
  const Phase reached = verdict.accepted ? Phase::done : verdict.phase;
  const auto state = [&](Phase phase) -> std::string {
    if (reached == phase) return fmt::format("REJECTED: {}", on_one_line(verdict.reason));
    return reached > phase ? "accepted" : "not reached";
  };
  std::string text = fmt::format("Everything but nodes and weights is the same: {}\n", state(Phase::frame));
  text += fmt::format("New nodes and weights are of kinds that rewriting writes: {}\n", state(Phase::written));

  std::map<std::string, std::size_t> passes;
  for (const rules::CleanupStep& step : certificate.before) ++passes[step.pass];
  text += fmt::format("\n{} clean-ups, repeated and shown to be right by other code: {}\n", certificate.before.size(),
                      state(Phase::clean_ups));
  for (const auto& [pass, count] : passes) text += fmt::format("  {} × {}\n", count, on_one_line(pass));

  text += fmt::format("\n{} rewrites; each has to be an instance of a proved rule at the place that it names:\n",
                      certificate.steps.size());
  const ValueNames names(certificate, model);
  std::set<std::string> told;
  for (std::size_t i = 0; i < certificate.steps.size(); ++i) {
    const rules::RewriteStep& step = certificate.steps[i];
    // Without a step, it is the steps together that are rejected.
    const bool is_at_steps = reached == Phase::steps, is_rejected = is_at_steps && verdict.step == i + 1;
    const bool is_accepted = reached > Phase::steps || (is_at_steps && (!verdict.step || i + 1 < *verdict.step));
    const std::string word = is_accepted   ? "accepted"
                             : is_rejected ? fmt::format("REJECTED: {}", on_one_line(verdict.reason))
                                           : "not reached";
    const auto rule =
        std::find_if(rules.begin(), rules.end(), [&](const rules::Rule& one) { return one.name == step.rule; });
    // The mathematics of a rule once is enough.
    const bool is_new = rule != rules.end() && told.insert(step.rule).second;
    text += fmt::format("  {}. {}: {}\n   {}", i + 1, on_one_line(step.rule), word,
                        step_text(step, names, is_new ? &*rule : nullptr, is_accepted));
  }
  if (!certificate.after.empty())
    text += fmt::format("\n{} clean-ups after them, which do not change any result: {}\n", certificate.after.size(),
                        state(Phase::after));
  text += fmt::format("\nThe graph after the rewrites is what the output computes: {}\n", state(Phase::comparison));
  if (verdict.accepted) return text + "\nACCEPTED: nothing else was changed.\n";
  return text + fmt::format("\nREJECTED{}: {}\nNothing is known of what is not reached.\n",
                            verdict.step ? fmt::format(" at rewrite {}", *verdict.step) : "",
                            on_one_line(verdict.reason));
}

}  // namespace taso::cli
