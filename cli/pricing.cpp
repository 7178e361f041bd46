#include "cli/pricing.h"

#include <fmt/format.h>

#include "cli/interrupt.h"
#include "cli/table.h"
#include "ops/error.h"

namespace taso {

Pricing::Pricing(const PricingOptions& options, std::unique_ptr<Accelerator> gpu, Console& console)
    : console_(console),
      store_(options.file),
      gpu_(std::move(gpu)),
      machine_(gpu_ ? fmt::format("{}, {}", gpu_->device(), gpu_->versions()) : store_.shipped_machine()),
      bytes_(std::make_unique<BytesWritten>()),
      launches_(std::make_unique<LaunchCount>()) {
  RecordedPrices::Measure measuring;
  if (gpu_) measuring = [this](const Call& call, const std::string& text) { return measure(call, text); };
  // What is measured from now on is kept by whoever asked: the store may grow, what is looked into does not.
  times_ = std::make_unique<RecordedPrices>(std::make_shared<PriceDatabase>(store_.all()), machine_, options.precision,
                                            std::move(measuring));
}

std::optional<RecordedPrice> Pricing::measure(const Call& call, const std::string& text) {
  if (interrupted()) return std::nullopt;
  Measurement found;
  try {
    found = gpu_->measure(call);
  } catch (const EnvironmentError& error) {
    store_.save();  // what was measured before is worth keeping
    throw EnvironmentError(fmt::format("{}: {}", error.what(), text));
  }
  if (!found.trouble.empty()) {
    console_.say(Console::Level::detail, fmt::format("{}: {}", found.trouble, text));
    return std::nullopt;
  }
  const RecordedPrice price{found.nanoseconds, found.spread, found.is_settled, found.choice};
  store_.add(machine_, text, price);
  // What took long to measure is not lost if something goes wrong later.
  if (++measured_ % 200 == 0) store_.save();
  if (console_.is_live()) console_.draw(fmt::format("measuring: {} kernels", with_commas(measured_)));
  return price;
}

const KernelPrices& Pricing::of(Objective objective) const {
  switch (objective) {
    case Objective::time: return *times_;
    case Objective::memory: return *bytes_;
    case Objective::launches: break;
  }
  return *launches_;
}

std::string Pricing::choice_of(const Call& call) const {
  const RecordedPrice* const price = store_.all().find(machine_, text_of(call));
  return price == nullptr ? std::string() : price->choice;
}

std::string Pricing::source() const {
  if (gpu_) return fmt::format("measured on this machine: {}; {} just now", machine_, with_commas(measured_));
  if (machine_.empty()) return "predicted, none measured";
  return fmt::format("measured on another machine: {}", machine_);
}

void Pricing::save() { store_.save(); }

}  // namespace taso
