// Measured prices where they exist, and prices from the roofline for all other kernels.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include "cost/pricing/call.h"
#include "cost/pricing/least_prices.h"
#include "cost/pricing/price_database.h"
#include "cost/pricing/roofline.h"

namespace taso::cost {

/// The time of a recorded kernel in a network. `is_warm`: with weights from the cache, if that was measured.
Cost cost_of(const RecordedPrice& price, bool is_warm = false);
/// The time right after the same kernel.
Cost cost_again(const RecordedPrice& price, bool is_warm = false);

class RecordedPrices : public KernelPrices {
 public:
  RecordedPrices(std::shared_ptr<const PriceDatabase> database, std::string machine, Precision precision);
  Cost price(const GraphView& view, const Kernel& kernel) const override;
  PriceTwice price_twice(const GraphView& view, const Kernel& kernel) const override;
  std::span<const Layout> layouts() const override;
  /// The least of the recorded prices of such kernels and of predictions. Not thread-safe.
  Cost least(const GraphView& view, const Kernel& kernel) const override;
  Cost noise() const override { return h200_noise; }
  /// Prices are those of operators in ONNX Runtime, and so are predictions. Not thread-safe against readers.
  void set_onnxruntime() { is_onnxruntime_ = true; }
  /// In ONNX Runtime: makes predictions of each kind of kernel fit the measured ones of this plan, in the sum. Not
  /// thread-safe against readers.
  void fit(const GraphView& view, std::span<const Kernel> kernels);
  /// Exempts this kernel, if unmeasured, from the caution factor, because the given graph already contains it. Not
  /// thread-safe against readers.
  void trust(const GraphView& view, const Kernel& kernel);
  /// Multiplies roofline prices of unmeasured kernels by this factor. The roofline is right on average, but a search
  /// finds where it is wrong: kernels that do the same work, where one was measured and the other is predicted to take
  /// less.
  void set_caution(double factor) {
    caution_ = factor;
    forget_least_prices();
  }
  double caution() const { return caution_; }
  /// Switches to prices with weights from the cache, or back. Not thread-safe against readers.
  void set_warm(bool is_warm) { set_cold_share(is_warm ? 0 : 1); }
  /// The same if this share of the weights has left the cache: prices lie between both.
  void set_cold_share(double share) {
    cold_share_ = share;
    forget_least_prices();
    roofline_.set_warm(share < 0.5);
  }
  double cold_share() const { return cold_share_; }
  bool is_warm() const { return cold_share_ == 0; }
  /// Sets the cost of this call. Not thread-safe against readers.
  void learn(const Call& call, Cost cost) { learn(call, Costs{cost, cost, cost, cost}); }
  void learn(const Call& call, const RecordedPrice& price) { learn(call, Costs(price)); }
  /// The price if it was measured.
  std::optional<Cost> measured(const GraphView& view, const Kernel& kernel) const;
  /// Whether the kernel was not measured, or not in all surroundings, as in older files.
  bool is_incomplete(const GraphView& view, const Kernel& kernel) const;

  Precision precision() const { return precision_; }

 private:
  struct Costs {
    Costs(Cost of_cold, Cost of_warm, Cost of_cold_again, Cost of_warm_again)
        : cold(of_cold), warm(of_warm), cold_again(of_cold_again), warm_again(of_warm_again) {}
    explicit Costs(const RecordedPrice& price)
        : Costs(cost_of(price), cost_of(price, true), cost_again(price), cost_again(price, true)) {
      is_complete = price.is_complete();
    }
    /// The price if this share of the weights has left the cache, and that of further calls of the same kernel.
    Cost price(double cold_share) const { return between(warm, cold, cold_share); }
    Cost again(double cold_share) const { return between(warm_again, cold_again, cold_share); }
    static Cost between(Cost warm, Cost cold, double cold_share);
    Cost cold, warm, cold_again, warm_again;
    bool is_complete = true;
  };
  struct Found {
    std::optional<Costs> costs;
    std::optional<Costs> most;  ///< if there are no costs: an upper limit, the measured cost of a larger product
    bool is_trusted = false;    ///< the roofline without the caution factor
  };
  struct Known {
    Call call;
    Found found;
  };
  /// In picoseconds, without caution.
  double predicted_alone(const GraphView& view, const Kernel& kernel) const;
  Cost predicted(const GraphView& view, const Kernel& kernel, const Found& found) const;
  Found find(const GraphView& view, const Kernel& kernel) const;
  void learn(const Call& call, const Costs& costs);
  Found look_up(const Call& call) const;
  std::optional<Costs> recorded(const Call& call) const;
  std::optional<Costs> of_a_larger_product(const Call& call) const;

  std::shared_ptr<const PriceDatabase> database_;
  std::string machine_;
  Precision precision_;
  double cold_share_ = 1;
  double caution_ = 1;
  bool is_onnxruntime_ = false;
  std::array<double, kinds_of_kernels> factors_;  // of predictions in ONNX Runtime, by kind
  Roofline roofline_;
  const LeastPrices& least_prices() const;
  /// Several threads may do that at once.
  void forget_least_prices() {
    const std::lock_guard one_at_a_time(least_guard_);
    least_.reset();
  }
  mutable std::unique_ptr<LeastPrices> least_;  // of what was known when it was first asked for
  mutable std::mutex least_guard_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_multimap<std::size_t, Known> known_;  // by hash of the call, because building its text is slow
};

}  // namespace taso::cost
