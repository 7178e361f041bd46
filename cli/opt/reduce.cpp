#include "cli/opt/reduce.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "cli/console/child_process.h"
#include "cli/console/interrupt.h"
#include "cli/console/progress_line.h"
#include "cli/console/streams.h"
#include "cli/files/places.h"
#include "cli/opt/certificate.h"
#include "onnx/export/part.h"
#include "onnx/import/import.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"

namespace taso::cli {
namespace {

using std::filesystem::path;

/// A folder for the models to try, removed at the end.
class TrialFolder {
 public:
  TrialFolder() : folder_(std::filesystem::temp_directory_path() / fmt::format("taso-reduce-{}", ::getpid())) {
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    if (error) throw EnvironmentError(fmt::format("cannot make the folder {}: {}", folder_.string(), error.message()));
  }
  TrialFolder(const TrialFolder&) = delete;
  TrialFolder& operator=(const TrialFolder&) = delete;
  ~TrialFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  path model() const { return folder_ / "model.onnx"; }

 private:
  path folder_;
};

/// Quotes a word for the shell.
std::string in_shell_quotes(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

/// How a program ends on a model.
class Trial {
 public:
  explicit Trial(const OptSettings& options) : options_(options) {}

  /// An interrupt ends the command too: it may take long.
  ChildResult run(const onnx::Model& model) const {
    onnx::SaveOptions saving;
    saving.weights = onnx::SaveOptions::Weights::embedded;
    saving.sync = false;
    model.save(folder_.model(), saving);
    ChildResult result;
    std::stop_source end;
    run_watched(
        end, [&] { result = run_child(command(), "", 0, end.get_token()); },
        [&] {
          if (interrupted()) end.request_stop();
        });
    return result;
  }

  /// Taso's own faults are bugs, failed checks and crashes; a command fails if it does not end with 0.
  bool is_failure(int code) const {
    if (options_.reduce_command) return code != 0;
    return code == -1 || code == static_cast<int>(ExitCode::bug) || code == static_cast<int>(ExitCode::check_failed);
  }

  std::string name() const { return options_.reduce_command ? *options_.reduce_command : "taso-opt"; }

 private:
  std::vector<std::string> command() const {
    if (!options_.reduce_command) {
      std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(), folder_.model().string(),
                                     "--dry-run"};
      words.insert(words.end(), options_.passed_on.begin(), options_.passed_on.end());
      return words;
    }
    std::string text = *options_.reduce_command;
    const std::string file = in_shell_quotes(folder_.model().string());
    bool has_place = false;
    for (std::size_t at = 0; (at = text.find("{}", at)) != std::string::npos; at += file.size()) {
      text.replace(at, 2, file);
      has_place = true;
    }
    return {"/bin/sh", "-c", has_place ? text : text + " " + file};
  }

  const OptSettings& options_;
  TrialFolder folder_;
};

std::string ending_text(int code) { return code == -1 ? "a signal" : fmt::format("exit {}", code); }

}  // namespace

ExitCode reduce(const OptSettings& options, Console& console) {
  std::vector<Place> written{{"the output", options.output}};
  if (options.console.log_file) written.push_back({"the log", *options.console.log_file});
  check_weights_are_kept(std::vector{options.input}, written);
  check_writable(options.output);
  const onnx::Model model = [&] {
    onnx::Model read = onnx::Model::load(options.input);
    read.validate();
    return read;
  }();
  const onnx::ImportedModel imported = onnx::import_model(onnx::view_of(model));
  console.begin_log();
  const Trial trial(options);
  const ChildResult first = trial.run(model);
  if (interrupted()) return ExitCode::interrupted;
  if (options.reduce_command && (first.code == 126 || first.code == 127))
    throw UsageError(fmt::format("--reduce-with: the command cannot run: {}", on_one_line(first.output)));
  if (!trial.is_failure(first.code))
    throw InputError(fmt::format("{}: {} does not fail ({}); there is nothing to reduce", options.input.string(),
                                 on_one_line(trial.name()), ending_text(first.code)));

  const auto nodes = static_cast<std::size_t>(model.proto().graph().node_size());
  std::vector<bool> kept(nodes, true);
  std::size_t left = nodes, tried = 0;
  ProgressLine shown(console);
  const auto still_fails = [&](const std::vector<bool>& some) {
    ++tried;
    shown.show([&] { return fmt::format("{} of {} nodes; {} tried; {:.0f} s", left, nodes, tried, shown.seconds()); });
    try {
      return trial.run(onnx::part_of(model, some, imported)).code == first.code;
    } catch (const InputError&) {
      return false;
    }
  };
  // Leaves out ever smaller pieces, and single nodes until none can be left out (Zeller and Hildebrandt's ddmin, with
  // the complements only).
  for (std::size_t size = std::max<std::size_t>(left / 2, 1); left > 1 && !interrupted();) {
    bool removed = false;
    std::vector<std::size_t> present;
    for (std::size_t i = 0; i < nodes; ++i)
      if (kept[i]) present.push_back(i);
    // From the end: what follows the fault is left out first.
    for (std::size_t end = present.size(); end > 0 && !interrupted();) {
      const std::size_t begin = end > size ? end - size : 0;
      std::vector<bool> fewer = kept;
      for (std::size_t i = begin; i < end; ++i) fewer[present[i]] = false;
      const std::size_t rest = left - (end - begin);
      if (rest > 0 && still_fails(fewer) && !interrupted()) {
        kept = std::move(fewer);
        left = rest;
        removed = true;
      }
      end = begin;
    }
    if (size > 1)
      size = std::min(size / 2, std::max<std::size_t>(left / 2, 1));
    else if (!removed)
      break;
  }
  console.draw({});
  const onnx::Model small = onnx::part_of(model, kept, imported);
  if (is_standard_stream(options.output)) {
    write_output(options.output, small.serialise_whole());
  } else {
    onnx::SaveOptions saving;
    saving.weights = onnx::SaveOptions::Weights::embedded;
    small.save(options.output, saving);
    remove_certificate(options.output);
  }
  console.say(
      Console::Level::result,
      fmt::format("{} of {} nodes are left in {}; {} still ends with {}; {} models tried", left, nodes,
                  on_one_line(options.output.string()), on_one_line(trial.name()), ending_text(first.code), tried));
  return interrupted() ? ExitCode::interrupted : ExitCode::done;
}

}  // namespace taso::cli
