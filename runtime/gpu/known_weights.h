// Which weights of a graph are already on the device, and where: the plans of one model for different sizes share them.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "cost/plan/kernel.h"
#include "ops/graph/graph.h"
#include "runtime/gpu/accelerator.h"

namespace taso::gpu {

class KnownWeights {
 public:
  /// A weight as a kernel reads it.
  struct Weight {
    Value value;
    ElementType stored = ElementType::undefined;
    Extents extents;
    cost::Strides strides;
    bool operator==(const Weight&) const = default;
  };
  struct Found {
    std::shared_ptr<const WeightBlock> block;
    std::int64_t offset = 0;
  };
  /// A weight and its place among the weights of a program.
  struct Placed {
    Weight weight;
    std::int64_t offset = 0;
  };

  /// A weight of a graph with this pool, if a program that has it still exists.
  std::optional<Found> find(const std::shared_ptr<Pool>& pool, const Weight& weight) const;
  /// Adds what a program brought to the device; forgets what no program has any more.
  void add(const std::shared_ptr<Pool>& pool, const std::vector<Placed>& placed,
           const std::shared_ptr<const WeightBlock>& block);

 private:
  struct HashWeight {
    std::size_t operator()(const Weight& weight) const { return HashValue{}(weight.value); }
  };
  struct Entry {
    std::weak_ptr<Pool> pool;  // a node of another pool may get the address of a node that is no more
    std::weak_ptr<const WeightBlock> block;
    std::int64_t offset = 0;
  };
  std::unordered_map<Weight, Entry, HashWeight> entries_;
};

}  // namespace taso::gpu
