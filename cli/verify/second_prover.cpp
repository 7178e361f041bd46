#include "cli/verify/second_prover.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "cli/console/child_process.h"
#include "cli/console/exit_code.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

SecondProver::SecondProver(std::string program) : program_(std::move(program)) {
  constexpr double patience = 30;
  ChildResult answer;
  try {
    answer = run_child({program_, "--version"}, {}, patience);
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(fmt::format("cannot start the second prover: {}", error.what()));
  }
  const auto lines = lines_of(answer.output);
  if (answer.timed_out || answer.code != 0 || lines.empty())
    throw EnvironmentError(fmt::format("the second prover {} does not work: --version fails", program_));
  version_ = on_one_line(lines.front());
  if (version_.starts_with("This is ")) version_.erase(0, 8);
}

SecondOpinion SecondProver::check(const std::vector<std::string>& certificates, double seconds,
                                  const std::stop_token& stop) const {
  SecondOpinion opinion;
  for (const std::string& certificate : certificates) {
    const std::size_t questions = questions_in(certificate);
    const ChildResult answer = run_child({program_, "--lang=smt2", "--incremental", "-"}, certificate, seconds, stop);
    std::size_t answered = 0;
    for (const std::string_view line : lines_of(answer.output)) {
      if (line == "unsat") {
        ++opinion.agreed;
        ++answered;
      } else if (line == "sat") {
        opinion.disagreement =
            fmt::format("{} answers sat to question {} of:\n{}", version_, answered + 1, certificate);
        return opinion;
      } else {
        if (line == "unknown") ++answered, ++opinion.open;
        if (opinion.trouble.empty()) opinion.trouble = on_one_line(line.substr(0, 200));
      }
    }
    if (answered < questions) {
      opinion.open += questions - answered;
      if (answer.timed_out) opinion.trouble = "timed out";
    }
  }
  return opinion;
}

std::size_t questions_in(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == ';' || c == '"' || c == '|') {
      i = std::min(text.find(c == ';' ? '\n' : c, i + 1), text.size());
    } else if (text.substr(i).starts_with("(check-sat)")) {
      ++count;
    }
  }
  return count;
}

}  // namespace taso::cli
