#include "cli/console/program.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include <fmt/format.h>

#include "cli/console/command_line.h"
#include "cli/console/interrupt.h"
#include "cli/console/memory.h"
#include "ops/core/error.h"
#include "ops/support/data_files.h"

namespace taso::cli {
namespace {

bool speaks_after_another = false;

/// The job ends when the first process fails, which ends this one by a signal or, once signals are watched, asks it to.
bool another_fails_too() {
  using namespace std::chrono_literals;
  const auto until = std::chrono::steady_clock::now() + 2s;
  while (!interrupted() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(20ms);
  return interrupted();
}

/// The program fails already, so an error while writing the log is ignored.
void end_log(Console& console) {
  try {
    console.begin_log();
    console.close();
  } catch (const EnvironmentError&) {
    return;
  }
}

ExitCode end_badly(const std::string& name, std::optional<Console>& console) {
  Failure trouble = failure_of(std::current_exception());
  if (trouble.ending == ExitCode::usage)
    trouble.text = fmt::format("{} ({} --help lists the options)", with_origin(trouble.text), name);
  if (speaks_after_another && another_fails_too()) return trouble.ending;
  if (!console) console.emplace(Console::Options{name, 0, Console::Color::automatic, {}});
  console->error(trouble.text);
  // After a usage error the log is not touched: the file may not be a log.
  if (trouble.ending != ExitCode::usage) end_log(*console);
  return trouble.ending;
}

}  // namespace

void speak_after_another() {
  speaks_after_another = true;
  announce_interrupts_by("");
}

ExitCode print(const std::string& text) {
  if (speaks_after_another) return ExitCode::done;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw EnvironmentError("cannot write to the standard output");
  return ExitCode::done;
}

ExitCode run_with_console(const Console::Options& options, std::optional<Console>& console,
                          const std::function<ExitCode(Console&)>& work) {
  console.emplace(options);
  if (const auto trouble = trouble_with_data_folder()) console->warning(*trouble);
  const ExitCode ending = work(*console);
  console->close();
  return ending;
}

namespace {

/// Calls `work` on a stack that is large enough for chains of 100,000 nodes, whatever the shell's limit; untouched
/// stack pages take no memory. Falls back to the normal stack if there is no room.
void call_on_large_stack(const std::function<void()>& work) {
  constexpr std::size_t large = std::size_t{1} << 30;
  const auto enter = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread{};
  bool begun = false;
  if (!memory_is_limited() && ::pthread_attr_init(&attributes) == 0) {
    // Worker threads recurse over the same graphs.
    if (::pthread_attr_setstacksize(&attributes, large / 16) == 0) ::pthread_setattr_default_np(&attributes);
    begun = ::pthread_attr_setstacksize(&attributes, large) == 0 &&
            ::pthread_create(&thread, &attributes, enter, const_cast<std::function<void()>*>(&work)) == 0;
    ::pthread_attr_destroy(&attributes);
  }
  if (begun)
    ::pthread_join(thread, nullptr);
  else
    work();
}

}  // namespace

int run_program(const std::string& name, const std::function<ExitCode(std::optional<Console>& console)>& run) {
  ExitCode ending = ExitCode::done;
  call_on_large_stack([&] {
    std::optional<Console> console;
    try {
      ending = run(console);
    } catch (...) {
      ending = end_badly(name, console);
    }
  });
  std::fflush(nullptr);
  // Skip static destructors: after an out-of-memory error OpenBLAS's shutdown can deadlock.
  if (ending == ExitCode::environment || memory_is_limited()) std::_Exit(static_cast<int>(ending));
  return static_cast<int>(ending);
}

}  // namespace taso::cli
