// Two ways to compute some values, run on the same random operands: do they agree?
#pragma once

#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/check/compare.h"
#include "onnx/check/drawing.h"
#include "onnx/model/messages.h"
#include "ops/graph/graph.h"

namespace taso::onnx {

/// A pair of values that must be equal, one of each model, and what to call it.
struct Obligation {
  std::string name;
  Value expected, actual;
};

/// The edited model is wrong in a way that shows before any number is compared.
struct Broken {
  std::string reason;
};

class BothSides {
 public:
  using Defaults = std::unordered_map<std::string, const proto::TensorProto*>;
  BothSides(const CheckOptions& options, std::filesystem::path folder)
      : options_(options), folder_(std::move(folder)) {}
  /// Of inputs that are given a value by the model itself.
  void set_defaults(Defaults defaults) { defaults_ = std::move(defaults); }

  /// Runs both sides on ordinary operands, which are drawn anew until the original runs and gives finite numbers; then on large
  /// and on special ones. `signature` is the model, whose inputs tell how large open dimensions are. Throws InputError if the
  /// original does not run or never gives a finite number; throws Broken.
  CheckResult compare(const std::shared_ptr<Pool>& pool, const Graph& signature,
                      const std::vector<Obligation>& obligations, CheckResult::Scope scope);
  /// Why the last difference may come from rounding alone, that was turned into a difference of any size on the way; empty if
  /// it may not.
  const std::string& why_regions() const { return why_regions_; }

  /// The outputs of a graph of which the first half is the original's. Throws InputError if the original does not run,
  /// whatever the operands; throws Broken if only the other half does not.
  std::vector<Array> run(const Graph& graph, std::size_t half, const Graph& signature, unsigned sample = 0,
                         Draw draw = Draw::normal);

 private:
  /// Both sides of some obligations in one graph: outputs of the original first.
  struct Sides {
    const Graph& graph;
    std::size_t half;
    const Graph& signature;
    const std::vector<Obligation>& obligations;
  };
  void run_sample(const Sides& sides, unsigned sample, CheckResult& result);
  bool compare_one(const Sides& sides, const std::vector<Array>& outputs, std::size_t i, CheckResult& result);
  void fail(const Sides& sides, std::size_t i, CheckResult& result, std::string reason);
  bool has_free_numbers(const Graph& graph) const;
  void run_specials(const Sides& sides, CheckResult& result);
  void run_special(const Sides& sides, Draw draw, Kinds& found, bool is_demanded, CheckResult& result);
  std::vector<Array> operands_for(const Graph& graph, const Graph& signature, unsigned sample, std::int64_t size,
                                  bool zeros, Draw draw) const;

  const CheckOptions& options_;
  std::filesystem::path folder_;
  Defaults defaults_;
  std::string why_regions_;
};

}  // namespace taso::onnx
