// Measures the enumeration and pairing of programs:
//   benchmark_generate [--max-ops 4] [--growth] [--memory-limit GB]
// Prints processor time, memory and evaluations per second for TASO's operators and for all, with 2, 3, … operators per
// program; with --growth, for growing sets of operators with three per program. Each line is measured in its own
// process, which makes its memory measurable.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "generator/enumeration/enumerate.h"
#include "ops/core/error.h"

namespace {

using namespace taso;

struct Totals {
  double graphs = 0;
  std::uint64_t evaluations = 0, values = 0, equalities = 0, candidates = 0;
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

Totals enumerate_all(const std::vector<std::string>& schemas, std::size_t operators, std::size_t memory_limit) {
  Totals totals;
  for (const generator::Family& family : generator::families(schemas)) {
    generator::EnumerateOptions options;
    options.max_operators = operators;
    options.memory_limit = memory_limit;
    const generator::Enumeration found = generator::enumerate(family, options);
    totals.graphs += found.graphs;
    totals.evaluations += found.evaluations;
    totals.values += found.values;
    totals.equalities += found.equalities;
    totals.candidates += found.found.size();
  }
  return totals;
}

/// Prints a line of the table; false if the measurement failed.
bool measure(const std::string& name, const std::vector<std::string>& schemas, std::size_t operators,
             std::size_t memory_limit) {
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return false;
  if (child == 0) {
    int code = 0;
    try {
      const Totals totals = enumerate_all(schemas, operators, memory_limit);
      struct rusage usage {};
      ::getrusage(RUSAGE_SELF, &usage);
      const double spent = seconds(usage.ru_utime) + seconds(usage.ru_stime);
      fmt::print("| {} | {} | {} | {:.3g} | {} | {} | {} | {:.2f} s | {:.0f} MB | {:.3g} | {:.3g} |\n", name,
                 schemas.size(), operators, totals.graphs, totals.evaluations, totals.values, totals.candidates, spent,
                 static_cast<double>(usage.ru_maxrss) / 1024, static_cast<double>(totals.evaluations) / spent,
                 totals.graphs / spent);
    } catch (const EnvironmentError& error) {
      fmt::print("| {} | {} | {} | {} |\n", name, schemas.size(), operators, error.what());
      code = 1;
    }
    std::fflush(nullptr);
    std::_Exit(code);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void print_heading() {
  fmt::print(
      "| set | kinds | operators | graphs | evaluations | classes | candidates | processor time | memory | "
      "evaluations/s | graphs/s |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t most = 4, memory_limit = std::size_t{4} << 30;
  bool growth = false;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--growth") {
      growth = true;
    } else if (flag == "--max-ops" && i + 1 < argc) {
      most = std::strtoul(argv[++i], nullptr, 10);
    } else if (flag == "--memory-limit" && i + 1 < argc) {
      memory_limit = std::strtoul(argv[++i], nullptr, 10) << 30;
    } else {
      fmt::print(stderr, "benchmark_generate [--max-ops 4] [--growth] [--memory-limit GB]\n");
      return 2;
    }
  }
  print_heading();
  bool good = true;
  if (!growth) {
    for (std::size_t operators = 2; operators <= most; ++operators) {
      good = measure("taso", generator::taso_schemas(), operators, memory_limit) && good;
      good = measure("full", generator::schema_names(), operators, memory_limit) && good;
    }
    return good ? 0 : 1;
  }
  const std::vector<std::string> all = generator::schema_names();
  for (std::size_t count = 5; count < all.size() + 5; count += 5) {
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(std::min(count, all.size()));
    good = measure("the first", {all.begin(), end}, std::min<std::size_t>(most, 3), memory_limit) && good;
  }
  return good ? 0 : 1;
}
