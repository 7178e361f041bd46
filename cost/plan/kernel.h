// A kernel: what is launched once, with the operators that it takes together, and what that means in bytes and arithmetic.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "cost/plan/graph_view.h"

namespace taso::cost {

/// Whole numbers, so that sums do not depend on their order. Times are picoseconds.
using Cost = std::int64_t;
/// Nothing costs more, so that sums over many thousands of kernels stay in range: 100 seconds.
inline constexpr Cost highest_kernel_price = 100'000'000'000'000;

struct Kernel {
  enum class Kind : std::uint8_t { convolution, matmul, element_wise, pooling, rows, copy, opaque };
  Kind kind = Kind::element_wise;
  PlanNode main{};              ///< the operator that gives the kernel its kind
  std::vector<PlanNode> nodes;  ///< all that it takes, in no particular order
  std::vector<PlanValue> read;  ///< from memory, each once
  std::vector<PlanValue> written;

  ElementType element = ElementType::undefined;
  Layout layout = Layout::channels_first;  ///< of what a convolution or pooling reads and writes
  /// The product that a convolution or matmul amounts to: `batches` of [rows, depth] times [depth, columns]. A
  /// convolution's groups are batches. 0 if there is none.
  double batches = 0, rows = 0, columns = 0, depth = 0;
  bool has_few_channels = false;  ///< of a convolution: so few side by side that they do not fill 16 bytes
  double operations = 0;          ///< other arithmetic, on CUDA cores
  double chain = 0;               ///< of that arithmetic, the longest that a single operator does to one element
  double weight_bytes = 0;        ///< that are read from memory, for nothing wrote them just now
  double bytes = 0;               ///< of activations, read and written
};

std::string_view name_of(Kernel::Kind kind);

/// What a kernel costs, and what right behind the same kernel with other operands, where its code is at hand.
struct PriceTwice {
  Cost first = 0, again = 0;
};

/// Where prices come from: a model, a recording, a measurement. From 0 to `highest_kernel_price`.
class KernelPrices {
 public:
  virtual ~KernelPrices() = default;
  virtual Cost price(const GraphView& view, const Kernel& kernel) const = 0;
  /// Both in one, for those who need both. `first` is the price.
  virtual PriceTwice price_twice(const GraphView& view, const Kernel& kernel) const {
    const Cost cost = price(view, kernel);
    return {cost, cost};
  }
  /// A saving of less than this means nothing.
  virtual Cost noise() const { return 0; }
};

/// For those who want few launches: each costs 1.
class LaunchCount : public KernelPrices {
 public:
  Cost price(const GraphView&, const Kernel&) const override { return 1; }
};

/// For those who want little memory: the bytes that are written. What is needed at a time is not a sum over kernels (a plan
/// has it), but less written is less to hold.
class BytesWritten : public KernelPrices {
 public:
  Cost price(const GraphView& view, const Kernel& kernel) const override;
};

/// Fills in what the kernel reads, writes and does, from its kind, main operator and nodes.
void measure_work(const GraphView& view, Kernel& kernel);
double bytes_of(const GraphView& view, PlanValue value);

}  // namespace taso::cost
