// Prices from measurements, as far as there are any; the roofline's for the rest.
#pragma once

#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "cost/call.h"
#include "cost/price_database.h"
#include "cost/roofline.h"

namespace taso {

Cost cost_of(const RecordedPrice& price);

class RecordedPrices : public KernelPrices {
 public:
  RecordedPrices(std::shared_ptr<const PriceDatabase> database, std::string machine, Precision precision);
  Cost price(const GraphView& view, const Kernel& kernel) const override;
  Cost noise() const override { return h200_noise; }
  /// From now on nothing counts as measured that was recorded before.
  void forget_records();
  /// From now on this is what the call costs. Not while others ask.
  void learn(const Call& call, Cost cost);
  /// The price if it was measured.
  std::optional<Cost> measured(const GraphView& view, const Kernel& kernel) const;

  Precision precision() const { return precision_; }

 private:
  struct Known {
    Call call;
    std::optional<Cost> cost;
  };
  std::optional<Cost> look_up(const Call& call) const;

  std::shared_ptr<const PriceDatabase> database_;
  std::string machine_;
  Precision precision_;
  Roofline roofline_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_multimap<std::size_t, Known> known_;  // by hash of the call: text is slow to make
};

}  // namespace taso
