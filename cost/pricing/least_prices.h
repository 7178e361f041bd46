// The least recorded price of kernels in which one operator does the work, whatever is fused with it and wherever its
// operands lie: a lower limit of what a graph with this operator costs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cost/plan/kernel.h"
#include "cost/pricing/precision.h"

namespace taso::cost {

class LeastPrices {
 public:
  /// The text of a recorded call, and its price.
  void add(const std::string& call, Cost price);
  /// The text of a call that was not recorded and has the predicted price without the caution factor.
  void trust(const std::string& call);
  /// For the kernel of an operator alone: the least of the prices above and of the predicted one, which counts
  /// `caution` times unless something like it is trusted.
  Cost of(const GraphView& view, const Kernel& kernel, Precision precision, Cost predicted, double caution) const;

 private:
  /// A product of two matrices. A larger one limits the price of a smaller one (RecordedPrices).
  struct Product {
    std::int64_t rows = 0, columns = 0;
    Cost price = 0;
  };
  std::map<std::string, Cost> prices_;
  std::map<std::string, std::vector<Product>> products_;
  std::set<std::string> trusted_;
};

}  // namespace taso::cost
