#include "cli/opt/bisect.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/interrupt.h"
#include "cli/console/progress_line.h"
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

/// The differences after some numbers of rewrites, and the least number of them after which the tolerance is exceeded.
struct Found {
  std::map<std::size_t, Difference> known;
  std::optional<std::size_t> first;
  bool is_certain = true;  ///< false if it was interrupted
};

/// Halving finds a place where the tolerance is crossed after few runs. As the difference may rise and fall, that is
/// the first one only if all states before it keep the tolerance: they are run as well. If none exceeds it, all are.
Found find_first(const std::function<Difference(std::size_t steps)>& run, std::size_t last, double tolerance,
                 Console& console) {
  Found found;
  ProgressLine progress(console);
  const auto exceeds = [&](std::size_t steps) {
    if (!found.known.contains(steps)) {
      progress.show([&] { return fmt::format("{} of {} states run", found.known.size(), last + 1); });
      found.known.emplace(steps, run(steps));
    }
    const bool is_beyond = found.known.at(steps).share > tolerance;
    if (is_beyond && (!found.first || steps < *found.first)) found.first = steps;
    return is_beyond;
  };
  if (!exceeds(0) && !interrupted() && exceeds(last))
    for (std::size_t within = 0; *found.first - within > 1 && !interrupted();)
      if (const std::size_t middle = within + (*found.first - within) / 2; !exceeds(middle)) within = middle;
  for (std::size_t steps = 0; steps < found.first.value_or(last + 1) && !interrupted(); ++steps) exceeds(steps);
  found.is_certain = !interrupted();
  console.draw({});
  return found;
}

/// Neighbours with the same difference have one row.
std::string table_of(const std::map<std::size_t, Difference>& known) {
  Table table;
  table.rows.push_back({"rewrites", "difference"});
  table.numbers_to = 2;
  for (auto one = known.begin(); one != known.end();) {
    const std::size_t begin = one->first;
    const std::string share = text_of_share(one->second.share);
    std::size_t end = begin;
    for (++one; one != known.end() && one->first == end + 1 && text_of_share(one->second.share) == share; ++one)
      end = one->first;
    const std::string from = begin == 0 ? "clean-ups only" : std::to_string(begin);
    table.rows.push_back({begin == end ? from : fmt::format("{} to {}", from, end), share});
  }
  return table.text();
}

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
      const auto [source, target] = rules::mathematics_of(rule);
      text += fmt::format("\n  {}  ⇒  {}", source, target);
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
  const std::size_t last = certificate.steps.size();
  const Found found = find_first([&](std::size_t steps) { return runs.of(graphs[steps]); }, last, tolerance, console);
  console.say(Console::Level::result, table_of(found.known));
  const auto text_of = [&](std::size_t steps) {
    const Difference& one = found.known.at(steps);
    const auto& output = model.proto().graph().output(static_cast<int>(one.output));
    return fmt::format("'{}' differs by {} of its largest magnitude", on_one_line(output.name()),
                       text_of_share(one.share));
  };
  const std::string ran = fmt::format("{} of {} states were run", found.known.size(), last + 1);
  if (!found.is_certain) {
    console.error(found.first ? fmt::format("interrupted: the tolerance is exceeded after rewrite {}, or earlier; {}",
                                            *found.first, ran)
                              : fmt::format("interrupted: nothing exceeds {:g} so far; {}", tolerance, ran));
    return ExitCode::interrupted;
  }
  if (!found.first) {
    console.say(Console::Level::warning,
                fmt::format("no rewrite exceeds {:g}: after all {}, {}; {}", tolerance, last, text_of(last), ran));
    return ExitCode::done;
  }
  if (*found.first == 0) {
    console.say(
        Console::Level::warning,
        fmt::format("the clean-ups exceed {:g} already: {}; --disable-pass leaves one out", tolerance, text_of(0)));
    return ExitCode::check_failed;
  }
  console.say(Console::Level::warning,
              fmt::format("{}\nis the first that exceeds {:g}: {}, before it by {}{}; {}\n--disable-rule {} leaves the "
                          "rule out",
                          describe_step(certificate, *found.first, rules), tolerance, text_of(*found.first),
                          text_of_share(found.known.at(*found.first - 1).share),
                          found.known.at(last).share > tolerance ? "" : ", and later rewrites make up for it", ran,
                          certificate.steps[*found.first - 1].rule));
  return ExitCode::check_failed;
}

}  // namespace taso::cli
