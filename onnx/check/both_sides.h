// Runs two ways of computing the same values on the same random operands, and tells whether they agree.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "onnx/check/compare.h"
#include "onnx/check/drawing.h"
#include "onnx/model/messages.h"
#include "ops/graph/graph.h"

namespace taso::onnx {

/// A pair of values that must be equal, one of each model, and its name in messages.
struct Obligation {
  std::string name;
  Value expected, actual;
};

/// The sizes of dimensions.
using Symbols = std::map<std::string, std::int64_t, std::less<>>;

/// The edited model is wrong in a way that shows before any number is compared.
struct Broken {
  std::string reason;
};

class BothSides {
 public:
  using Defaults = std::unordered_map<std::string, const proto::TensorProto*>;
  BothSides(const CheckOptions& options, std::filesystem::path folder)
      : options_(options), folder_(std::move(folder)) {}
  /// The default values that the model itself gives to inputs.
  void set_defaults(Defaults defaults) { defaults_ = std::move(defaults); }

  /// Runs both sides on ordinary operands, which are redrawn until the original runs and gives finite numbers, then on
  /// large and on special ones. `signature` is the model; its inputs determine open dimensions. Throws InputError if
  /// the original does not run or never gives a finite number. Throws Broken.
  CheckResult compare(const std::shared_ptr<Pool>& pool, const Graph& signature,
                      const std::vector<Obligation>& obligations, CheckResult::Scope scope);
  /// Why the last difference may come from rounding alone, amplified on the way to a difference of any size; empty if
  /// it cannot.
  const std::string& why_regions() const { return why_regions_; }

  /// The outputs of a graph whose first half of outputs belongs to the original. Throws InputError if the original does
  /// not run on any operands, and Broken if only the other half does not.
  std::vector<Array> run(const Graph& graph, std::size_t half, const Graph& signature, unsigned sample = 0,
                         Draw draw = Draw::normal);

 private:
  /// Both sides of some obligations in one graph, the original's outputs first.
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
  std::vector<Array> operands_for(const Graph& graph, const Symbols& symbols, std::int64_t others, unsigned sample,
                                  bool zeros, Draw draw) const;

  const CheckOptions& options_;
  std::filesystem::path folder_;
  Defaults defaults_;
  std::string why_regions_;
};

}  // namespace taso::onnx
