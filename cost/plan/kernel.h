// A kernel: one launch, the operators it fuses, and its bytes and arithmetic.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "cost/plan/graph_view.h"

namespace taso::cost {

/// An integer, so that sums do not depend on their order. Times are in picoseconds.
using Cost = std::int64_t;
/// The upper limit of a price: 100 seconds. It keeps sums over many thousands of kernels in range.
inline constexpr Cost highest_kernel_price = 100'000'000'000'000;

struct Kernel {
  enum class Kind : std::uint8_t { convolution, matmul, attention, element_wise, pooling, rows, copy, opaque };
  Kind kind = Kind::element_wise;
  PlanNode main{};              ///< the operator that gives the kernel its kind
  std::vector<PlanNode> nodes;  ///< all fused operators, in no particular order
  std::vector<PlanValue> read;  ///< from memory, each once
  std::vector<PlanValue> written;

  ElementType element = ElementType::undefined;
  Layout layout = Layout::channels_first;  ///< of the images that a convolution or pooling reads and writes
  /// The matrix product of a convolution or matmul: `batches` of [rows, depth] times [depth, columns]. The groups of a
  /// convolution are batches. Of attention, its second product. 0 if there is no product.
  double batches = 0, rows = 0, columns = 0, depth = 0;
  double first_depth = 0;         ///< of attention: the depth of its first product, whose columns are `depth`
  bool has_few_channels = false;  ///< of a convolution: fewer than 4 per group, which do not fill 16 bytes
  double operations = 0;          ///< other arithmetic, on CUDA cores
  double chain = 0;               ///< of that arithmetic, the most that a single operator does to one element
  double weight_bytes = 0;        ///< of weights, which always come from memory: no kernel has just written them
  double bytes = 0;               ///< of activations, read and written
};

inline constexpr std::size_t kinds_of_kernels = static_cast<std::size_t>(Kernel::Kind::opaque) + 1;
std::string_view name_of(Kernel::Kind kind);

/// The price of a kernel, and its price right after the same kernel with other operands, when its code is still cached.
struct PriceTwice {
  Cost first = 0, again = 0;
};

/// The source of prices: a model, a recording or a measurement. Prices lie between 0 and `highest_kernel_price`.
class KernelPrices {
 public:
  virtual ~KernelPrices() = default;
  virtual Cost price(const GraphView& view, const Kernel& kernel) const = 0;
  /// Both prices in one call. `first` equals price().
  virtual PriceTwice price_twice(const GraphView& view, const Kernel& kernel) const {
    const Cost cost = price(view, kernel);
    return {cost, cost};
  }
  /// The layouts of plans that these prices are for.
  virtual std::span<const Layout> layouts() const { return cost::layouts; }
  /// A lower limit of the prices of all kernels in which this operator does the work, whatever is fused with it and
  /// wherever its operands lie. The kernel is that of the operator alone, of the kind that the limit is for.
  virtual Cost least(const GraphView&, const Kernel&) const { return 0; }
  /// Savings below this are noise.
  virtual Cost noise() const { return 0; }
};

/// Minimises launches: each costs 1.
class LaunchCount : public KernelPrices {
 public:
  Cost price(const GraphView&, const Kernel&) const override { return 1; }
  Cost least(const GraphView&, const Kernel&) const override { return 1; }
};

/// Minimises memory: the price is the number of bytes written. Peak memory is not a sum over kernels (a plan knows it),
/// but a graph that writes less usually holds less.
class BytesWritten : public KernelPrices {
 public:
  Cost price(const GraphView& view, const Kernel& kernel) const override;
};

/// Fills in what the kernel reads, writes and computes, from its kind, main operator and nodes.
void measure_work(const GraphView& view, Kernel& kernel);
double bytes_of(const GraphView& view, PlanValue value);

}  // namespace taso::cost
