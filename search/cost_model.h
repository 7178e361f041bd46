// What a graph costs, as a sum over its computations: the search needs to know what a rewrite saves, not to price the whole
// graph again.
#pragma once

#include <cstdint>
#include <vector>

#include "search/program.h"

namespace taso {

/// Whole numbers, so that sums do not depend on their order. For times these are picoseconds.
using Cost = std::int64_t;
inline constexpr double cost_per_second = 1e12;

/// Nothing costs more, so that sums over many thousands of nodes stay in range: 100 seconds.
inline constexpr Cost highest_price = 100'000'000'000'000;

class CostModel {
 public:
  virtual ~CostModel() = default;
  /// What a computation of the program costs where it stands: from 0 to `highest_price`.
  virtual Cost price(const Program& program, ComputationId id) const = 0;
  /// How many steps away, up or down, something may be that the price depends on. 0: on its operator and its operands'
  /// types alone.
  virtual std::size_t reach() const { return 0; }
};

/// Each computation is a kernel, which takes its launch and then the longer of moving its bytes and doing its arithmetic.
/// Reshaping and taking parts is looking at the same bytes in another way; what depends on constants only is done ahead.
class RooflineModel : public CostModel {
 public:
  struct Device {
    double launch = 2e-6;       ///< seconds until a kernel runs
    double bandwidth = 3.6e12;  ///< bytes a second; three quarters of what the H200's memory can do
    double flops = 4e13;        ///< a second; two thirds of what its cores do in float32
  };
  RooflineModel() = default;
  explicit RooflineModel(const Device& device) : device_(device) {}
  Cost price(const Program& program, ComputationId id) const override;

 private:
  Device device_;
};

/// Prices of computations, each asked for once if it depends on nothing else.
class Prices {
 public:
  explicit Prices(const CostModel& model) : model_(model) {}
  Cost total(const Program& program);
  /// Of the computations that are there among those given.
  Cost sum(const Program& program, const std::vector<ComputationId>& computations);
  /// The computations whose price these changes may have changed; those that are there now. Call it before and after.
  std::vector<ComputationId> affected(const Program& program, const Program::Log& log) const;
  /// What the program, to which the log has just been applied, costs more than before.
  Cost difference(Program& program, const Program::Log& log);

 private:
  Cost price(const Program& program, ComputationId id);
  const CostModel& model_;
  std::vector<Cost> known_;  // by computation; -1 where it has not been asked for
};

}  // namespace taso
