#include "cli/gen/progress.h"

#include <utility>

#include <fmt/format.h>

#include "cli/console/memory.h"
#include "cli/console/table.h"

namespace taso::cli {
namespace {

double between(std::chrono::steady_clock::time_point from, std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string line_of(const generator::GenerateProgress& progress, std::size_t operators, std::uint64_t memory,
                    double seconds, double seconds_left) {
  std::string text = progress.phase.empty() ? std::string("starting") : progress.phase;
  if (progress.total > 0) text += fmt::format(" {} of {}", with_commas(progress.done), with_commas(progress.total));
  text += fmt::format("; {}", duration_text(seconds));
  if (seconds_left > 0) text += fmt::format(", about {} left", duration_text(seconds_left));
  text += fmt::format("; {}", bytes_text(memory));
  std::string_view between = "; ";
  const auto part = [&](std::uint64_t count, std::string_view words) {
    if (count > 0) text += fmt::format("{}{} {}", std::exchange(between, ", "), with_commas(count), words);
  };
  part(progress.proved, "proved");
  part(progress.derived, "derived");
  part(progress.refuted, "refuted");
  part(progress.unknown, "open");
  between = "; ";
  part(progress.candidates, "candidates");
  if (progress.graphs < 1e15) part(static_cast<std::uint64_t>(progress.graphs), "graphs");
  part(progress.values, "classes");
  return text + fmt::format("; at most {} operators", operators);
}

void GenProgress::update(const generator::GenerateProgress& progress) {
  const std::lock_guard lock(mutex_);
  if (progress.phase != last_.phase) {
    phase_start_ = Clock::now();
    phase_done_ = progress.done;
  }
  last_ = progress;
}

void GenProgress::show() {
  shown_.show([&] {
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    // Estimate the time left from the proofs done so far; only for proofs, which take most of the time.
    double left = 0;
    if (last_.phase == "proving" && last_.done > phase_done_)
      left = between(phase_start_, now) / static_cast<double>(last_.done - phase_done_) *
             static_cast<double>(last_.total - last_.done);
    return line_of(last_, operators_, memory_in_use(), shown_.seconds(), left);
  });
}

}  // namespace taso::cli
