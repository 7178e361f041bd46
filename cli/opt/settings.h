// The command line of taso-opt.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/console/console.h"
#include "cli/opt/input_shape.h"
#include "cost/plan/objective.h"
#include "onnx/model/model.h"
#include "rules/instance/float_class.h"
#include "runtime/pricing/pricing.h"

namespace taso::cli {

struct OptSettings {
  std::filesystem::path input;
  std::filesystem::path output;                 ///< empty only if no model is written
  std::optional<std::filesystem::path> engine;  ///< an engine file to write
  bool dry_run = false;                         ///< writes no model
  bool force = false;

  unsigned samples = 1;  ///< sets of random inputs for the check; 0 turns it off
  std::uint64_t seed = 0;
  unsigned jobs = 0;  ///< threads; 0: one for each processor
  std::optional<double> rtol, atol;
  std::vector<InputShape> test_shapes;
  std::vector<InputShape> new_shapes;
  std::vector<std::string> input_data;  ///< resolved once the model is read

  std::set<std::string, std::less<>> disabled_passes;
  std::size_t fold_limit = 1024;
  onnx::SaveOptions::Weights weights = onnx::SaveOptions::Weights::automatic;

  enum class Search : std::uint8_t { backtracking, saturation, both };
  Search search = Search::backtracking;
  std::uint64_t budget = 1000;  ///< graphs that the search expands; 0: no search
  cost::Objective objective = cost::Objective::time;
  pricing::PricingOptions pricing;
  double alpha = 1.05;
  std::optional<double> min_gain;                  ///< percent; if missing, the noise of prices decides
  double max_growth = 50;                          ///< of the weights, percent
  std::optional<double> time_budget;               ///< seconds
  std::vector<std::filesystem::path> rule_files;   ///< instead of the shipped rules
  std::vector<std::filesystem::path> extra_rules;  ///< in addition to the others
  std::vector<std::string> disabled_rules;
  bool has_partial_rules = true;  ///< programs that are right on most of an output, with the rest corrected
  rules::FloatMode float_mode = rules::FloatMode::usual;
  bool all_rules = false;  ///< also those that never paid off for this kind of network
  bool explain = false;    ///< print which rules were chosen, and why

  enum class Target : std::uint8_t { plan, onnxruntime, onnxruntime_cuda };
  Target target = Target::plan;  ///< where the model will run
  bool is_for_onnxruntime() const { return target != Target::plan; }
  std::string python;                        ///< for ONNX Runtime; empty: the usual one
  bool allow_onnxruntime_operators = false;  ///< of its own domain
  std::string prices_of;                     ///< part of the name of the machine whose prices count; empty: this one
  std::optional<unsigned> runtime_threads;   ///< of ONNX Runtime; missing: one for each processor
  double runtime_patience = 300;             ///< seconds that ONNX Runtime may take for an answer
  bool confirm = false;          ///< run both models on the GPU, and keep the rewrites only if they are faster there
  bool certificate = true;       ///< write one beside the output
  bool annotate = false;         ///< note in the nodes where they come from
  std::optional<double> bisect;  ///< the tolerance of --bisect; `output` is then read
  bool reduce = false;           ///< make a failing model small
  std::optional<std::string> reduce_command;  ///< that fails, instead of taso-opt
  std::vector<std::string> passed_on;         ///< to taso-opt, for --reduce: the other options
  std::optional<std::filesystem::path> report;
  std::optional<std::filesystem::path> html;  ///< a page to write
  bool coverage_only = false;                 ///< say what is understood, and do nothing else
  Console::Options console;
};

/// As the option and reports have it.
std::string_view name_of_search(OptSettings::Search search);

struct OptCommand {
  enum class Kind { optimise, bisect, reduce, help, version, list_passes, list_rules };
  Kind kind = Kind::optimise;
  OptSettings
      options;       ///< complete for `optimise`, `bisect`, `reduce`; for `list_rules` it has the options about rules
  std::string help;  ///< the text to print for `help`
};

/// Throws UsageError.
OptCommand parse_opt_command(int argc, const char* const* argv);

}  // namespace taso::cli
