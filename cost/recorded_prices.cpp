#include "cost/recorded_prices.h"

#include <cmath>
#include <mutex>

namespace taso {
namespace {

class Hash {
 public:
  void add(std::size_t part) { state_ = (state_ ^ part) * 0x9E3779B97F4A7C15 + (state_ >> 29); }
  template <class T>
  void add_all(const std::vector<T>& parts) {
    add(parts.size());
    for (const T& part : parts) add(static_cast<std::size_t>(part));
  }
  std::size_t value() const { return state_; }

 private:
  std::size_t state_ = 0;
};

/// In a network a kernel runs behind others, and its code may have to be fetched. What that takes is known from where none of it is
/// at hand. Of little code next to nothing is noticed, for it comes while the kernel before still runs: a twentieth; of what takes
/// longer than this, nearly all (see cost/README.md).
constexpr double share_of_code = 0.05, share_of_much_code = 0.8, little_code = 1500;

double noticed(double code) {
  return share_of_code * std::max(code, 0.0) + share_of_much_code * std::max(code - little_code, 0.0);
}

Cost rounded(double nanoseconds) {
  return std::min(static_cast<Cost>(std::llround(nanoseconds * 1e3)), highest_kernel_price);
}

std::size_t hash_of(const Call& call) {
  Hash hash;
  hash.add(static_cast<std::size_t>(call.kind));
  for (const auto* operands : {&call.read, &call.written})
    for (const Call::Operand& operand : *operands) {
      hash.add(static_cast<std::size_t>(operand.element) * 2 + operand.is_weight);
      hash.add_all(operand.extents);
      hash.add_all(operand.strides);
    }
  for (const Call::Step& step : call.steps) {
    hash.add(taso::hash_of(step.op));
    hash.add_all(step.operands);
  }
  for (const Call::Piece& piece : call.pieces) {
    hash.add(piece.read);
    hash.add(static_cast<std::size_t>(piece.from_offset));
    hash.add(static_cast<std::size_t>(piece.to_offset));
    hash.add_all(piece.from_extents);
    hash.add_all(piece.from_strides);
  }
  hash.add(static_cast<std::size_t>(call.gather_axis.value_or(-1)));
  if (call.function) {
    hash.add(static_cast<std::size_t>(call.function->what.kind));
    hash.add(static_cast<std::size_t>(call.function->what.axis));
    hash.add_all(call.function->operands);
  }
  return hash.value();
}

}  // namespace

Cost cost_of(const RecordedPrice& price, bool is_warm) {
  if (price.again_nanoseconds <= 0) return cost_again(price, is_warm);
  const double code = price.stranger_nanoseconds > 0 ? price.stranger_nanoseconds - price.nanoseconds : 0;
  return std::min(highest_kernel_price, cost_again(price, is_warm) + rounded(noticed(code)));
}

Cost cost_again(const RecordedPrice& price, bool is_warm) {
  if (is_warm && price.warm_nanoseconds > 0) return rounded(price.warm_nanoseconds);
  return rounded(price.again_nanoseconds > 0 ? price.again_nanoseconds : price.nanoseconds);
}

RecordedPrices::RecordedPrices(std::shared_ptr<const PriceDatabase> database, std::string machine, Precision precision)
    : database_(std::move(database)), machine_(std::move(machine)), precision_(precision), roofline_(precision) {}

std::optional<RecordedPrices::Costs> RecordedPrices::recorded(const Call& call) const {
  const RecordedPrice* const price = database_->find(machine_, text_of(call));
  return price != nullptr ? std::optional(Costs(*price)) : std::nullopt;
}

/// Products of few rows are one tile high, and a kernel for some rows more would do. Where a search merges one product after
/// the other, those in between need not have been measured.
std::optional<RecordedPrices::Costs> RecordedPrices::with_more_rows(const Call& call) const {
  constexpr std::int64_t rows_of_a_tile = 16;
  if (call.kind != Kernel::Kind::matmul || call.written.empty() || call.written[0].extents.size() != 2) return {};
  const std::int64_t rows = call.written[0].extents[0];
  if (rows < 2) return {};  // which may as well mean that something is repeated
  for (std::int64_t more = rows + 1; more <= rows_of_a_tile; ++more) {
    Call larger = call;
    for (auto* operands : {&larger.read, &larger.written})
      for (Call::Operand& operand : *operands)
        if (!operand.is_weight && operand.extents.size() == 2 && operand.extents[0] == rows) operand.extents[0] = more;
    if (const std::optional<Costs> costs = recorded(larger)) return costs;
  }
  return {};
}

RecordedPrices::Found RecordedPrices::look_up(const Call& call) const {
  const std::size_t hash = hash_of(call);
  const auto find_known = [&]() -> const Known* {
    const auto [first, last] = known_.equal_range(hash);
    for (auto one = first; one != last; ++one)
      if (one->second.call == call) return &one->second;
    return nullptr;
  };
  {
    const std::shared_lock lock(mutex_);
    if (const Known* known = find_known()) return known->found;
  }
  const std::unique_lock lock(mutex_);
  if (const Known* known = find_known()) return known->found;
  Known fresh{call, {recorded(call), {}}};
  if (!fresh.found.costs) fresh.found.most = with_more_rows(call);
  return known_.emplace(hash, std::move(fresh))->second.found;
}

void RecordedPrices::forget_records() {
  const std::unique_lock lock(mutex_);
  database_ = std::make_shared<PriceDatabase>();
  known_.clear();
  caution_ = 1;
}

void RecordedPrices::learn(const Call& call, const Costs& costs) {
  const std::size_t hash = hash_of(call);
  const std::unique_lock lock(mutex_);
  const auto [first, last] = known_.equal_range(hash);
  for (auto one = first; one != last; ++one)
    if (one->second.call == call) {
      one->second.found = {costs, {}};
      return;
    }
  known_.emplace(hash, Known{call, {costs, {}}});
}

RecordedPrices::Found RecordedPrices::find(const GraphView& view, const Kernel& kernel) const {
  for (const auto* values : {&kernel.read, &kernel.written})
    for (const PlanValue value : *values)
      if (value == no_plan_value || view.extents(value) == nullptr) return {};
  if (!can_be_called(view, kernel)) return {};
  return look_up(call_of(view, kernel, precision_).call);
}

std::optional<Cost> RecordedPrices::measured(const GraphView& view, const Kernel& kernel) const {
  const std::optional<Costs> costs = find(view, kernel).costs;
  return costs ? std::optional(is_warm_ ? costs->warm : costs->cold) : std::nullopt;
}

bool RecordedPrices::is_incomplete(const GraphView& view, const Kernel& kernel) const {
  const std::optional<Costs> costs = find(view, kernel).costs;
  return !costs || !costs->is_complete;
}

Cost RecordedPrices::predicted(const GraphView& view, const Kernel& kernel, const std::optional<Costs>& most) const {
  const double cost = static_cast<double>(roofline_.price(view, kernel)) * caution_;
  const Cost rounded_cost = std::min(static_cast<Cost>(std::llround(cost)), highest_kernel_price);
  return most ? std::min(rounded_cost, is_warm_ ? most->warm : most->cold) : rounded_cost;
}

Cost RecordedPrices::price(const GraphView& view, const Kernel& kernel) const {
  return price_twice(view, kernel).first;
}

PriceTwice RecordedPrices::price_twice(const GraphView& view, const Kernel& kernel) const {
  const Found found = find(view, kernel);
  if (const std::optional<Costs>& costs = found.costs)
    return is_warm_ ? PriceTwice{costs->warm, costs->warm_again} : PriceTwice{costs->cold, costs->cold_again};
  const Cost cost = predicted(view, kernel, found.most);
  return {cost, cost};
}

}  // namespace taso
