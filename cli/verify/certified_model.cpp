#include "cli/verify/certified_model.h"

#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/console/interrupt.h"
#include "cli/console/program.h"
#include "cli/console/streams.h"
#include "cli/console/version.h"
#include "cli/files/rule_input.h"
#include "cli/files/rule_set.h"
#include "cli/opt/input_shape.h"
#include "cli/verify/explain_rule.h"
#include "onnx/model/annotation.h"
#include "onnx/model/model_hash.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "verifier/replay/replay_certificate.h"

namespace taso::cli {
namespace {

using std::filesystem::path;

/// Why a certificate is rejected.
struct Rejection {
  std::string reason;
};

rules::RewriteCertificate read_certificate(const path& file) {
  const Source source = read_source(file);
  try {
    return rules::parse_certificate(std::string(source.text()));
  } catch (const InputError& trouble) {
    throw InputError(fmt::format("{}: {}", file.string(), trouble.what()));
  }
}

/// The nodes, to see whether validation changed them: it can reorder nodes and drop overridden ones.
std::string nodes_of(const onnx::Model& model) {
  std::string all;
  const auto add = [&](const auto& messages) {
    for (const auto& message : messages) {
      const std::string bytes = message.SerializeAsString();
      all += fmt::format("{}:{}", bytes.size(), bytes);
    }
  };
  add(model.proto().graph().node());
  add(model.proto().functions());
  return all;
}

onnx::Model load(const path& file, const std::string& hash, std::string_view which) {
  onnx::Model model = onnx::Model::load(file);
  const std::string nodes = nodes_of(model);
  model.validate();
  if (which == "output" && nodes_of(model) != nodes)
    throw Rejection{
        fmt::format("{} has nodes out of order, or two of one name, which taso-opt never writes", file.string())};
  if (onnx::hash_of_model(file, model) != hash)
    throw Rejection{
        fmt::format("{} is not the {} of the certificate: it belongs to another run, or one of the two was "
                    "changed afterwards",
                    file.string(), which)};
  return model;
}

void overwrite_shapes(const rules::RewriteCertificate& certificate, onnx::Model& model) {
  std::vector<InputShape> shapes;
  for (const auto& shape : certificate.input_shapes)
    shapes.push_back({shape.input.empty() ? std::nullopt : std::optional(shape.input), shape.extents});
  try {
    overwrite_input_shapes(model, shapes);
  } catch (const UsageError& error) {
    throw Rejection{fmt::format("the input shapes do not fit: {}", error.what())};
  }
}

/// ", with inputs x:3,4,": the models are equal for these shapes only.
std::string new_shapes(const rules::RewriteCertificate& certificate) {
  std::string text;
  for (const auto& [input, extents] : certificate.input_shapes)
    text += fmt::format(" {}{}{},", on_one_line(input), input.empty() ? "" : ":", fmt::join(extents, ","));
  return text.empty() ? "" : fmt::format(", with input{}{}", certificate.input_shapes.size() == 1 ? "" : "s", text);
}

/// The rules that the steps use, all proved.
std::vector<rules::Rule> proved_rules(const rules::RewriteCertificate& certificate, const VerifySettings& settings,
                                      Console& console) {
  if (certificate.steps.empty()) return {};
  RuleSet set = read_rule_set(settings.rules, {}, settings.extra_rules);
  if (set.hash != certificate.rules)
    throw Rejection{
        fmt::format("it was made with other rules ({}, these are {}); name the files with --rules or --extra-rules",
                    certificate.rules, set.hash)};
  std::set<std::string> used;
  for (const rules::RewriteStep& step : certificate.steps) used.insert(step.rule);
  std::erase_if(set.rules, [&](const GivenRule& one) { return !used.contains(one.rule.name); });
  SearchRules proved = prove(set, settings.jobs, console, !settings.use_cache);
  if (!proved.failures.empty()) throw Rejection{proved.failures.front()};
  return std::move(proved.rules);
}

}  // namespace

namespace {

std::string report_of(const VerifySettings& settings, const rules::RewriteCertificate& certificate,
                      std::string_view verdict, const std::string& reason) {
  using Json = nlohmann::ordered_json;
  Json rules = Json::object();
  for (const rules::RewriteStep& step : certificate.steps) rules[step.rule] = rules.value(step.rule, 0) + 1;
  const Json report = {
      {"schema_version", 1},
      {"program", {{"name", "taso-verify"}, {"version", program_version()}}},
      {"certificate", settings.certificate->string()},
      {"input", settings.files[0].string()},
      {"output", settings.files[1].string()},
      {"verdict", verdict},
      {"reason", reason.empty() ? Json(nullptr) : Json(reason)},
      {"clean_ups", certificate.before.size() + certificate.after.size()},
      {"steps", certificate.steps.size()},
      {"rules", rules},
  };
  // File names may hold any bytes.
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

ExitCode check_certificate(const VerifySettings& settings, Console& console) {
  if (settings.report) check_writable(*settings.report);
  const rules::RewriteCertificate certificate = read_certificate(*settings.certificate);
  console.begin_log();
  std::string reason;
  try {
    onnx::Model before = load(settings.files[0], certificate.input, "input");
    onnx::Model after = load(settings.files[1], certificate.output, "output");
    // They compute nothing.
    onnx::remove_annotations(before);
    onnx::remove_annotations(after);
    overwrite_shapes(certificate, before);
    const std::vector<rules::Rule> rules = proved_rules(certificate, settings, console);
    if (interrupted()) {
      if (settings.report) write_output(*settings.report, report_of(settings, certificate, "INTERRUPTED", ""));
      console.error(fmt::format("{}: interrupted before it was replayed", on_one_line(settings.certificate->string())));
      return ExitCode::interrupted;
    }
    const verifier::CertificateVerdict verdict = verifier::replay_certificate(certificate, before, after, rules);
    if (settings.explained) print(on_lines(explain_replay(certificate, before, rules, verdict)));
    if (!verdict.accepted) {
      reason = verdict.reason;
      if (verdict.step)
        reason =
            fmt::format("step {} (rule '{}'): {}", *verdict.step, certificate.steps[*verdict.step - 1].rule, reason);
    }
  } catch (const Rejection& rejection) {
    reason = rejection.reason;
    if (settings.explained) print(fmt::format("REJECTED before the replay: {}\n", on_one_line(reason)));
  }
  const std::string file = on_one_line(settings.certificate->string());
  if (settings.report)
    write_output(*settings.report, report_of(settings, certificate, reason.empty() ? "ACCEPTED" : "REJECTED", reason));
  if (!reason.empty()) {
    console.verdict(false, "REJECTED");
    console.error(fmt::format("{}: {}", file, on_one_line(reason)));
    return ExitCode::unverified;
  }
  console.say(Console::Level::result, fmt::format("{} clean-ups and {} steps lead from {}{} to {}",
                                                  certificate.before.size() + certificate.after.size(),
                                                  certificate.steps.size(), on_one_line(settings.files[0].string()),
                                                  new_shapes(certificate), on_one_line(settings.files[1].string())));
  console.verdict(true, "ACCEPTED");
  return ExitCode::done;
}

}  // namespace taso::cli
