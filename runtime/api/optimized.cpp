#include "runtime/api/optimized.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include <fmt/format.h>

#include "cli/console/interrupt.h"
#include "cli/opt/optimise.h"
#include "onnx/model/detached_weights.h"
#include "ops/core/error.h"

namespace taso::runtime {
namespace {

/// A folder for the model on its way in and out. It is removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "taso-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw EnvironmentError(fmt::format("cannot make the folder {}", name));
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

onnx::Model optimized(const onnx::Model& model, const SessionOptions& options) {
  // One search at a time: it uses all processors anyway, and asks one caller whether to stop.
  static std::mutex guard;
  const std::lock_guard lock(guard);
  const TemporaryFolder folder;
  cli::OptSettings settings;
  settings.input = folder.path() / "in.onnx";
  settings.output = folder.path() / "out.onnx";
  settings.certificate = false;
  settings.time_budget = options.search_seconds;
  settings.jobs = options.threads;
  settings.pricing.precision = options.precision.value_or(cost::Precision::fp32);
  settings.pricing.file = options.prices;
  settings.pricing.lanes = options.lanes;
  settings.console.program = "taso";
  std::string trouble;
  settings.console.listener = [&](cli::Console::Level level, std::string_view text) {
    if (level == cli::Console::Level::error) trouble = text;
    options.say(level <= cli::Console::Level::warning ? LogLevel::warning : LogLevel::detail, std::string(text));
  };
  model.save(settings.input, {.sync = false});
  const cli::StopWhen stop(options.is_cancelled);
  cli::Console console(settings.console);
  const cli::ExitCode ending = cli::optimise(settings, console);
  if (options.is_cancelled && options.is_cancelled()) throw Cancelled();
  if (ending == cli::ExitCode::check_failed) throw CheckFailed(trouble);
  if (ending != cli::ExitCode::done) throw InternalError(fmt::format("the search failed: {}", trouble));
  onnx::Model found = onnx::Model::load(settings.output);
  onnx::take_in_weights(found);  // they are read when they are needed, and the folder is gone by then
  return found;
}

}  // namespace taso::runtime
