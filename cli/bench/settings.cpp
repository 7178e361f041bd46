#include "cli/bench/settings.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/console/command_line.h"
#include "cli/console/exit_code.h"
#include "cli/console/option_values.h"

namespace taso::cli {
namespace {

/// The options as text. CLI11 only splits the command line; resolve() interprets the values.
struct Raw {
  std::vector<std::string> models, shapes;
  std::string device, precision, batch, runs, lanes, seed, jobs, prices, exported, imported, json, html, log_file,
      color, time_budget;
  bool no_check = false, no_measuring = false, no_search = false, version = false;
  int verbose = 0, quiet = 0;
};

void declare(CLI::App& app, Raw& raw, BenchSettings& settings) {
  const auto one = [&](const std::string& flag, std::string& value, const std::string& about, const std::string& type,
                       const std::string& group) { app.add_option(flag, value, about)->type_name(type)->group(group); };
  app.add_option("models", raw.models, "The models; each is compared with the first; - is the standard input")
      ->type_name("FILE");
  const std::string running = "Options";
  one("--device", raw.device, "Where to run; auto: on a GPU if there is one (default auto)", "cuda|cpu|auto", running);
  one("--precision", raw.precision, "How float32 is computed on a GPU (default tf32)", "tf32|fp32|fp16|bf16,...",
      running);
  one("--batch", raw.batch,
      "First dimension of every input without --test-input-shape, if it is unknown or can be changed", "N", running);
  app.add_option("--test-input-shape", raw.shapes, "Shape of an input that the model leaves open; may be repeated")
      ->type_name("NAME:1,3,224,224")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  one("--runs", raw.runs,
      fmt::format(
          "Runs of each model (default {}, {} on a CPU); rounded up to a multiple of {} on a GPU, of two on a CPU with "
          "several models",
          runs_on_gpu, runs_on_cpu, 2 * gpu_rounds),
      "N", running);
  one("--lanes", raw.lanes,
      fmt::format("Streams for concurrent kernels on a GPU; 1: sequential (default {})", settings.lanes), "N", running);
  one("--seed", raw.seed, "Seed for the random inputs (default 0)", "N", running);
  one("--jobs", raw.jobs, "CPU threads; 0: one for each processor (default 0)", "N", running);
  app.add_flag("--no-check", raw.no_check, "Do not compare the GPU's outputs with those of the CPU");

  const std::string pricing = "Prices of kernels";
  one("--prices", raw.prices, "File of measured prices (default $XDG_CACHE_HOME/taso/measured.prices)", "FILE",
      pricing);
  app.add_flag("--record", settings.record,
               "Only measure the kernels of the models and of the graphs that the search finds, and keep their prices; "
               "--precision and --batch may be lists, such as tf32,fp16 and 1,16")
      ->group(pricing);
  one("--time-budget", raw.time_budget, "With --record: seconds after which to stop; another run continues", "SECONDS",
      pricing);
  app.add_flag("--no-search", raw.no_search, "With --record: measure only the kernels of the given models")
      ->group(pricing);
  app.add_flag("--anew", settings.anew, "With --record: measure kernels again that only the shipped prices cover")
      ->group(pricing);
  app.add_flag("--no-measuring", raw.no_measuring,
               "Do not measure kernels first: unmeasured ones run in the variant that is predicted to be best")
      ->group(pricing);
  one("--export", raw.exported, "Write all known prices; - is the standard output", "FILE", pricing);
  one("--import", raw.imported, "Add exported prices", "FILE", pricing);

  const std::string saying = "Output";
  app.add_flag("--profile", settings.profile, "Show every kernel, with predicted and measured time")->group(saying);
  one("--html", raw.html, "Write a page with all figures and, on a GPU, every kernel: predicted against measured",
      "FILE", saying);
  one("--json", raw.json, "Write all figures, as JSON; - is the standard output", "FILE", saying);
  app.add_flag("-v,--verbose", raw.verbose, "Print more; may be repeated")->group(saying);
  app.add_flag("-q,--quiet", raw.quiet, "Print less; may be repeated")->group(saying);
  one("--log-file", raw.log_file, "Append all messages, at every verbosity, to FILE", "FILE", saying);
  one("--color", raw.color, "Colour of messages (default auto)", "auto|always|never", saying);
  app.add_flag("--version", raw.version, "Print versions and exit")->group(saying)->configurable(false);
}

/// The parts of a comma-separated list, including empty ones.
std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; !list.empty() && begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    parts.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

BenchSettings::Device device_named(const std::string& name) {
  return name == "cuda"  ? BenchSettings::Device::cuda
         : name == "cpu" ? BenchSettings::Device::cpu
                         : BenchSettings::Device::automatic;
}

void resolve(const Raw& raw, BenchSettings& settings) {
  for (const std::string& model : raw.models) settings.models.emplace_back(model);
  settings.device = device_named(raw.device);
  for (const std::string& text : parts_of(raw.precision))
    settings.precisions.push_back(cost::precision_named(text).value());
  for (const std::string& text : parts_of(raw.batch))
    settings.batches.push_back(static_cast<std::int64_t>(whole_number("--batch", text, 1'000'000, 1)));
  if (!settings.record && (settings.precisions.size() > 1 || settings.batches.size() > 1))
    throw UsageError("--precision and --batch take lists with --record only");
  settings.is_precision_given = !settings.precisions.empty();
  if (!settings.is_precision_given) settings.precisions.push_back(settings.precision);
  if (settings.batches.empty()) settings.batches.emplace_back();
  settings.precision = settings.precisions.front();
  settings.batch = settings.batches.front();
  settings.search = !raw.no_search;
  if (!raw.time_budget.empty()) settings.time_budget = number_from_zero("--time-budget", raw.time_budget);
  if (!settings.record && (settings.time_budget || raw.no_search || settings.anew))
    throw UsageError("--time-budget, --no-search and --anew need --record");
  for (const std::string& text : raw.shapes) settings.shapes.push_back(parse_input_shape(text));
  if (!raw.runs.empty()) settings.runs = static_cast<std::size_t>(whole_number("--runs", raw.runs, 1'000'000, 1));
  if (!raw.lanes.empty())
    settings.lanes = static_cast<std::uint32_t>(whole_number("--lanes", raw.lanes, gpu::usual_lanes, 1));
  if (!raw.seed.empty()) settings.seed = whole_number("--seed", raw.seed, std::numeric_limits<std::uint64_t>::max());
  if (!raw.jobs.empty()) settings.jobs = static_cast<unsigned>(whole_number("--jobs", raw.jobs, 4096));
  settings.check = !raw.no_check;
  settings.measure = !raw.no_measuring;
  if (settings.record && !settings.measure) throw UsageError("--record and --no-measuring cannot be combined");
  const auto file = [](const std::string& text) {
    return text.empty() ? std::nullopt : std::optional<std::filesystem::path>(text);
  };
  settings.prices = named_file("--prices", raw.prices);
  settings.exported = file(raw.exported);
  settings.imported = file(raw.imported);
  settings.json = file(raw.json);
  settings.html = file(raw.html);
  settings.console.log_file = named_file("--log-file", raw.log_file);
  if (settings.models.empty() && !settings.exported && !settings.imported) throw UsageError("no model is given");
  if (settings.record && settings.models.empty()) throw UsageError("--record: no model is given");
  if (settings.record && settings.device == BenchSettings::Device::cpu)
    throw UsageError("--record needs a GPU: prices cannot be measured on the CPU");
  if (std::count(raw.models.begin(), raw.models.end(), "-") + (raw.imported == "-" ? 1 : 0) > 1)
    throw UsageError("the standard input can be read only once");
  std::vector<Place> read;
  for (const auto& model : settings.models) read.push_back({"the model", model});
  if (settings.imported) read.push_back({"the file of --import", *settings.imported});
  check_apart(read, written_places(settings));
}

}  // namespace

std::vector<Place> written_places(const BenchSettings& settings) {
  std::vector<Place> written;
  if (settings.exported) written.push_back({"the file of --export", *settings.exported});
  if (settings.json) written.push_back({"the figures", *settings.json});
  if (settings.html) written.push_back({"the page", *settings.html});
  if (settings.console.log_file) written.push_back({"the log", *settings.console.log_file});
  if (settings.prices) written.push_back({"the file of --prices", *settings.prices});
  return written;
}

BenchCommand parse_bench_command(int argc, const char* const* argv) {
  BenchCommand command;
  Raw raw;
  CLI::App app("Runs ONNX models, measures how long they take, and compares them.", "taso-bench");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(
      "Examples:\n"
      "  taso-bench model.onnx fast.onnx\n"
      "  taso-bench model.onnx fast.onnx --device cuda --precision fp16\n"
      "  taso-bench model.onnx --profile --json figures.json");
  declare(app, raw, command.settings);
  if (auto help = take_apart(app, argc, argv)) {
    command.kind = BenchCommand::Kind::help;
    command.help = std::move(*help);
    return command;
  }
  command.settings.console.program = "taso-bench";
  command.settings.console.verbosity = raw.verbose - raw.quiet;
  command.settings.console.color = color_named(raw.color);
  if (raw.version) {
    command.kind = BenchCommand::Kind::version;
    return command;
  }
  resolve(raw, command.settings);
  return command;
}

}  // namespace taso::cli
