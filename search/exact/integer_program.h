// Integer programs: the least sum of costs of variables that are 0 or 1 and satisfy linear rows. CBC solves them; it is
// optional when taso is built. Limits are counts, never seconds, so that the answer is the same everywhere.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

namespace taso::search {

class IntegerProgram {
 public:
  using Variable = std::size_t;
  using Terms = std::vector<std::pair<Variable, double>>;
  static constexpr double unlimited = std::numeric_limits<double>::infinity();

  /// A variable between 0 and 1. It is 0 or 1 in a solution, unless it may be anything between them.
  Variable add(double cost, bool is_whole = true);
  /// least <= sum of the terms <= most
  void add_row(Terms terms, double least, double most = unlimited);
  std::size_t variables() const { return costs_.size(); }
  std::size_t rows() const { return rows_.size(); }

  struct Solution {
    enum class End {
      solved,      ///< no solution costs less
      limit,       ///< the node limit was reached; there may be a better solution, and there may be none at all
      impossible,  ///< there is no solution
      ended,       ///< it was asked to end, or the solver failed
    } end = End::impossible;
    std::vector<double> values;  ///< by variable; empty if no solution was found
    double cost = 0;             ///< of this solution
    double bound = 0;            ///< no solution costs less
  };
  /// Looks at up to `most_nodes` nodes of the search tree. `start` are the variables that are 1 in a known solution, as
  /// far as they matter. CBC runs in a process of its own, since nothing else can interrupt it; `should_end` is asked
  /// now and then. Throws EnvironmentError without CBC.
  Solution solve(std::size_t most_nodes, const std::vector<Variable>& start = {},
                 const std::function<bool()>& should_end = {}) const;

 private:
  Solution solve_here(std::size_t most_nodes, const std::vector<Variable>& start) const;

  struct Row {
    Terms terms;
    double least, most;
  };
  std::vector<double> costs_;
  std::vector<bool> is_whole_;
  std::vector<Row> rows_;
};

/// Whether this build has CBC.
bool has_cbc();
/// What to tell people if it has not.
inline constexpr std::string_view no_cbc = "this build has no CBC, which solves integer programs (coinor-libcbc-dev)";

}  // namespace taso::search
