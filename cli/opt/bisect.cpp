#include "cli/opt/bisect.h"

#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/interrupt.h"
#include "cli/console/table.h"
#include "cli/files/places.h"
#include "cli/files/rule_input.h"
#include "cli/files/rule_set.h"
#include "cli/opt/replay.h"
#include "onnx/check/both_sides.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/export/edit.h"
#include "onnx/model/model_hash.h"
#include "onnx/model/proto.h"
#include "rules/language/mathematics.h"

namespace taso::cli {
namespace {

/// The largest difference of an output, as a share of its largest magnitude.
struct Difference {
  double share = 0;
  std::size_t output = 0;
};

/// 0 for equal arrays, infinite for elements that are special on one side only, or for other integers.
double share_of(const Array& expected, const Array& actual) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  if (expected.type() != actual.type() || expected.extents() != actual.extents()) return infinite;
  const std::vector<double> a = expected.doubles(), b = actual.doubles();
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isfinite(a[i])) largest = std::max(largest, std::abs(a[i]));
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    if (!std::isfinite(a[i]) || !std::isfinite(b[i]) || !is_floating(expected.type())) return infinite;
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst == 0 ? 0 : largest == 0 ? infinite : worst / largest;
}

/// Runs the model after some number of rewrites, on the same inputs each time.
class RunsAfterRewrites {
 public:
  RunsAfterRewrites(const onnx::CheckOptions& options, const onnx::Model& model, const onnx::ImportedModel& original)
      : options_(options), both_(options_, model.folder()), signature_(original.graph) {
    both_.set_defaults(original.defaults);
    for (unsigned sample = 0; sample < options.samples; ++sample)
      expected_.push_back(both_.run(signature_, signature_.outputs.size(), signature_, sample));
  }

  Difference of(const Graph& graph) {
    Difference worst;
    for (unsigned sample = 0; sample < expected_.size(); ++sample) {
      const std::vector<Array> outputs = both_.run(graph, graph.outputs.size(), signature_, sample);
      for (std::size_t i = 0; i < outputs.size(); ++i)
        if (const double share = share_of(expected_[sample][i], outputs[i]); share > worst.share) worst = {share, i};
    }
    return worst;
  }

 private:
  onnx::CheckOptions options_;
  onnx::BothSides both_;
  const Graph& signature_;
  std::vector<std::vector<Array>> expected_;
};

rules::RewriteCertificate certificate_of(const OptSettings& options) {
  const std::filesystem::path file = certificate_file_of(options.output);
  try {
    return rules::parse_certificate(std::string(read_source(file).text()));
  } catch (const InputError& error) {
    const std::string reason = error.what();
    throw InputError(reason.starts_with(file.string()) ? reason : fmt::format("{}: {}", file.string(), reason));
  }
}

onnx::CheckOptions inputs_of(const OptSettings& options, const proto::ModelProto& model) {
  onnx::CheckOptions check;
  check.samples = std::max(options.samples, 1u);
  check.seed = options.seed;
  check.shapes = test_shapes(model, options.test_shapes);
  check.data = read_input_data(model, options.input_data);
  check.threads = options.jobs;
  return check;
}

std::string text_of_share(double share) { return share == 0 ? "0" : fmt::format("{:.2g}", share); }

/// The rewrite in words: its rule, and where.
std::string describe_step(const rules::RewriteCertificate& certificate, std::size_t number,
                          const std::vector<rules::Rule>& rules) {
  const rules::RewriteStep& step = certificate.steps[number - 1];
  const std::map<rules::ValueNumber, std::string> names(certificate.names.begin(), certificate.names.end());
  std::vector<std::string> places;
  for (const rules::ValueNumber value : step.replaced)
    if (const auto name = names.find(value); name != names.end())
      places.push_back(fmt::format("'{}'", on_one_line(name->second)));
  std::string text = fmt::format("rewrite {}, by the rule '{}'", number, on_one_line(step.rule));
  if (!places.empty()) text += fmt::format(", at {}", fmt::join(places, ", "));
  for (const rules::Rule& rule : rules)
    if (rule.name == step.rule) {
      text += fmt::format("\n  {}  ⇒  {}", rules::mathematics_of(rule.source), rules::mathematics_of(rule.target));
      break;
    }
  return text;
}

}  // namespace

ExitCode bisect(const OptSettings& options, Console& console) {
  if (!can_replay())
    throw EnvironmentError("this build has no prover, so it cannot replay certificates; use a build with Z3");
  const double tolerance = *options.bisect;
  const rules::RewriteCertificate certificate = certificate_of(options);
  onnx::Model model = onnx::Model::load(options.input);
  model.validate();
  const std::string file = on_one_line(certificate_file_of(options.output).string());
  if (onnx::hash_of_model(options.input, model) != certificate.input) {
    console.error(fmt::format("{} is not the certificate of a model made from {}", file, options.input.string()));
    return ExitCode::unverified;
  }
  if (onnx::hash_of_model(options.output) != certificate.output) {
    console.error(fmt::format("{} is not the certificate of {}", file, options.output.string()));
    return ExitCode::unverified;
  }
  if (options.console.log_file)
    check_weights_are_kept(std::vector{options.input, options.output}, {{"the log", *options.console.log_file}});
  console.begin_log();
  std::vector<InputShape> shapes;
  for (const auto& shape : certificate.input_shapes)
    shapes.push_back({shape.input.empty() ? std::nullopt : std::optional(shape.input), shape.extents});
  overwrite_input_shapes(model, shapes);

  std::vector<rules::Rule> rules;
  if (!certificate.steps.empty()) {
    const RuleSet set = read_rule_set(options.rule_files, {}, options.extra_rules);
    if (set.hash != certificate.rules)
      throw UsageError(fmt::format("{} was made with other rules; name the files with --rules or --extra-rules", file));
    for (const GivenRule& given : set.rules) rules.push_back(given.rule);
  }
  const onnx::ImportedModel original = onnx::import_model(onnx::view_of(model));
  onnx::GraphEdit edit(model);
  onnx::CleanupOptions cleaning;
  cleaning.disabled.insert(certificate.disabled.begin(), certificate.disabled.end());
  cleaning.fold_limit = certificate.fold_limit;
  onnx::clean_up(edit, cleaning);
  const auto cleaned = edit.imported();
  std::vector<Graph> graphs;
  if (const std::string rejection = graphs_after_steps(certificate, cleaned->graph, rules, graphs);
      !rejection.empty()) {
    console.error(fmt::format("{}: {}", file, on_one_line(rejection)));
    return ExitCode::unverified;
  }

  RunsAfterRewrites runs(inputs_of(options, model.proto()), model, original);
  std::map<std::size_t, Difference> known;
  const auto difference = [&](std::size_t steps) {
    const auto found = known.find(steps);
    return found != known.end() ? found->second : known.emplace(steps, runs.of(graphs[steps])).first->second;
  };
  // Invariant: after `within` rewrites the tolerance is kept, after `beyond` it is exceeded.
  std::size_t within = 0, beyond = graphs.size() - 1;
  const bool cleaned_exceeds = difference(0).share > tolerance;
  const bool exceeds = cleaned_exceeds || difference(beyond).share > tolerance;
  while (exceeds && !cleaned_exceeds && beyond - within > 1 && !interrupted()) {
    const std::size_t middle = within + (beyond - within) / 2;
    (difference(middle).share > tolerance ? beyond : within) = middle;
  }
  Table table;
  table.rows.push_back({"rewrites", "difference"});
  table.numbers_to = 2;
  for (const auto& [steps, found] : known)
    table.rows.push_back({steps == 0 ? "clean-ups only" : std::to_string(steps), text_of_share(found.share)});
  console.say(Console::Level::result, table.text());
  if (interrupted()) {
    console.error(fmt::format("interrupted: the tolerance is exceeded between rewrites {} and {}", within + 1, beyond));
    return ExitCode::interrupted;
  }
  const auto output_name = [&](std::size_t i) {
    return on_one_line(model.proto().graph().output(static_cast<int>(i)).name());
  };
  if (!exceeds) {
    console.say(Console::Level::warning,
                fmt::format("no rewrite exceeds {:g}: after all {} the outputs differ by {} of their largest magnitude",
                            tolerance, certificate.steps.size(), text_of_share(difference(beyond).share)));
    return ExitCode::done;
  }
  if (cleaned_exceeds) {
    console.say(Console::Level::warning,
                fmt::format("the clean-ups exceed {:g} already: '{}' differs by {} of its largest magnitude; "
                            "--disable-pass leaves one out",
                            tolerance, output_name(difference(0).output), text_of_share(difference(0).share)));
    return ExitCode::check_failed;
  }
  console.say(
      Console::Level::warning,
      fmt::format("{}\nis the first that exceeds {:g}: '{}' differs by {} of its largest magnitude, before it by "
                  "{}\n--disable-rule {} leaves the rule out",
                  describe_step(certificate, beyond, rules), tolerance, output_name(difference(beyond).output),
                  text_of_share(difference(beyond).share), text_of_share(difference(within).share),
                  certificate.steps[beyond - 1].rule));
  return ExitCode::check_failed;
}

}  // namespace taso::cli
