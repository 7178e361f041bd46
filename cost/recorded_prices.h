// Prices from measurements, as far as there are any; the roofline's for the rest.
#pragma once

#include <functional>
#include <memory>
#include <shared_mutex>
#include <unordered_map>

#include "cost/call.h"
#include "cost/price_database.h"
#include "cost/roofline.h"

namespace taso {

class RecordedPrices : public KernelPrices {
 public:
  /// What measures a call that nobody has measured yet; nothing if that failed. Called by one thread at a time.
  using Measure = std::function<std::optional<RecordedPrice>(const Call& call, const std::string& text)>;

  RecordedPrices(std::shared_ptr<const PriceDatabase> database, std::string machine, Precision precision,
                 Measure measure = {});
  Cost price(const GraphView& view, const Kernel& kernel) const override;
  Cost noise() const override { return h200_noise; }
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
  Measure measure_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_multimap<std::size_t, Known> known_;  // by hash of the call: text is slow to make
};

}  // namespace taso
