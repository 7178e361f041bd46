#include "cost/pricing/recorded_prices.h"

#include <algorithm>
#include <cmath>
#include <mutex>

#include "cost/pricing/onnxruntime_work.h"

namespace taso::cost {
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

/// The share of a kernel's code-fetch time that counts in a network. The full time is measured with none of the code
/// cached. Little code arrives while the previous kernel still runs: 5 % of it counts. Of the time beyond `little_code`
/// nanoseconds, nearly all counts (see runtime/README.md).
constexpr double share_of_code = 0.05, share_of_much_code = 0.8, little_code = 1500;
/// A kernel that takes longer than this may also displace what the kernel measured before it has cached, which is then
/// counted as its own: of a product that reads 67 MB of weights, 22 microseconds. So less is believed.
constexpr double long_kernel = 10'000, most_code_of_long_kernel = 4000;

double noticed(const RecordedPrice& price) {
  double code = price.stranger_nanoseconds > 0 ? std::max(price.stranger_nanoseconds - price.nanoseconds, 0.0) : 0;
  if (price.nanoseconds > long_kernel) code = std::min(code, most_code_of_long_kernel);
  return share_of_code * code + share_of_much_code * std::max(code - little_code, 0.0);
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
    hash.add(ops::hash_of(step.op));
    hash.add_all(step.operands);
    hash.add(step.zeroes_nan);
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
    hash.add(std::hash<std::string>{}(call.function->what.name));
    hash.add_all(call.function->what.integers);
    hash.add_all(call.function->operands);
  }
  if (call.foreign) hash.add(std::hash<std::string>{}(call.foreign->text));
  return hash.value();
}

/// Sets one extent of an operand. False if its strides do not allow this.
bool resize(Call::Operand& operand, std::size_t axis, std::int64_t extent) {
  const bool is_dense = operand.strides == strides_of(operand.extents);
  operand.extents[axis] = extent;
  if (is_dense) operand.strides = strides_of(operand.extents);
  return is_dense || (operand.extents.size() == 2 && axis == 1 && operand.strides[0] == 1);
}

/// The numbers of rows (axis 0) or columns (axis 1) of products that this one may have been merged into, smallest
/// first.
std::vector<std::int64_t> larger_extents(std::int64_t now, std::size_t axis) {
  constexpr std::int64_t tile = 16, most_tiles = 10, usual_width = 256, most_steps = 48;
  std::vector<std::int64_t> extents;
  if (axis == 1) {
    const std::int64_t step = std::min(now & -now, usual_width);  // the likely width of the merged parts
    for (std::int64_t i = 1; step >= tile && i <= std::min(3 * (now / step), most_steps); ++i)
      extents.push_back(now + i * step);
  } else if (now > 1) {  // a single row may be a broadcast operand
    for (std::int64_t more = now + 1; more < tile; ++more) extents.push_back(more);
    for (std::int64_t tiles = now / tile + 1; tiles <= most_tiles; ++tiles) extents.push_back(tiles * tile);
  }
  return extents;
}

/// The same product of two matrices with another number of rows or columns, if its strides allow that.
std::optional<Call> resized(const Call& call, std::size_t axis, std::int64_t extent) {
  const std::int64_t now = call.written[0].extents[axis];
  Call larger = call;
  if (!resize(larger.written[0], axis, extent)) return std::nullopt;
  for (std::uint32_t i = 0; i < larger.read.size(); ++i) {
    if (i == call.steps[call.main].operands[1 - axis]) continue;  // the other factor, which has the depth there
    Call::Operand& operand = larger.read[i];
    const std::size_t rank = operand.extents.size();
    if (rank > 2) return std::nullopt;
    if (rank + axis < 2) continue;  // the same for all rows, or a single number
    const std::size_t place = rank == 2 ? axis : 0;
    if (operand.extents[place] == now && !resize(operand, place, extent)) return std::nullopt;
  }
  return larger;
}

/// Whether the call of the kernel may have a price: all sizes are known, and a device can run it.
bool may_have_price(const GraphView& view, const Kernel& kernel) {
  for (const auto* values : {&kernel.read, &kernel.written})
    for (const PlanValue value : *values)
      if (value == no_plan_value || view.extents(value) == nullptr) return false;
  return can_be_called(view, kernel);
}

}  // namespace

Cost cost_of(const RecordedPrice& price, bool is_warm) {
  if (price.again_nanoseconds <= 0) return cost_again(price, is_warm);
  return std::min(highest_kernel_price, cost_again(price, is_warm) + rounded(noticed(price)));
}

Cost cost_again(const RecordedPrice& price, bool is_warm) {
  if (is_warm && price.warm_nanoseconds > 0) return rounded(price.warm_nanoseconds);
  return rounded(price.again_nanoseconds > 0 ? price.again_nanoseconds : price.nanoseconds);
}

Cost RecordedPrices::Costs::between(Cost warm, Cost cold, double cold_share) {
  if (cold_share <= 0) return warm;
  if (cold_share >= 1) return cold;
  return static_cast<Cost>(
      std::llround(static_cast<double>(warm) * (1 - cold_share) + static_cast<double>(cold) * cold_share));
}

RecordedPrices::RecordedPrices(std::shared_ptr<const PriceDatabase> database, std::string machine, Precision precision)
    : database_(std::move(database)), machine_(std::move(machine)), precision_(precision), roofline_(precision) {
  factors_.fill(1);
}

std::span<const Layout> RecordedPrices::layouts() const {
  static constexpr std::array of_onnxruntime{Layout::onnxruntime};
  return is_onnxruntime_ ? std::span<const Layout>(of_onnxruntime) : std::span<const Layout>(cost::layouts);
}

void RecordedPrices::fit(const GraphView& view, std::span<const Kernel> kernels) {
  std::array<double, kinds_of_kernels> predictions{}, measurements{};
  for (const Kernel& kernel : kernels)
    if (const std::optional<Cost> known = measured(view, kernel)) {
      const auto kind = static_cast<std::size_t>(kernel.kind);
      predictions[kind] += onnxruntime_nanoseconds(kernel) * 1e3;
      measurements[kind] += static_cast<double>(*known);
    }
  for (std::size_t kind = 0; kind < kinds_of_kernels; ++kind)
    if (predictions[kind] > 0) factors_[kind] = measurements[kind] / predictions[kind];
}

std::optional<RecordedPrices::Costs> RecordedPrices::recorded(const Call& call) const {
  const RecordedPrice* const price = database_->find(machine_, text_of(call));
  return price != nullptr ? std::optional(Costs(*price)) : std::nullopt;
}

/// An upper limit for the cost of a product: the measured cost of one with more rows or columns, whose kernel could be
/// used. When a search merges products one at a time, the intermediate widths need not have been measured.
std::optional<RecordedPrices::Costs> RecordedPrices::of_a_larger_product(const Call& call) const {
  std::optional<Costs> least;
  if (call.kind != Kernel::Kind::matmul || call.written.size() != 1 || call.written[0].extents.size() != 2)
    return least;
  for (const std::size_t axis : {0, 1})
    for (const std::int64_t extent : larger_extents(call.written[0].extents[axis], axis)) {
      const std::optional<Call> larger = resized(call, axis, extent);
      if (!larger) break;
      const std::optional<Costs> costs = recorded(*larger);
      if (!costs) continue;
      if (!least || costs->cold < least->cold) least = costs;
      break;  // larger ones cost more
    }
  return least;
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
  Known fresh{call, {recorded(call), {}, false}};
  if (!fresh.found.costs) fresh.found.most = of_a_larger_product(call);
  return known_.emplace(hash, std::move(fresh))->second.found;
}

void RecordedPrices::trust(const GraphView& view, const Kernel& kernel) {
  if (!may_have_price(view, kernel)) return;
  const Call call = call_of(view, kernel, precision_).call;
  if (look_up(call).is_trusted) return;
  forget_least_prices();
  const std::unique_lock lock(mutex_);
  const auto [first, last] = known_.equal_range(hash_of(call));
  for (auto one = first; one != last; ++one)
    if (one->second.call == call) one->second.found.is_trusted = true;
}

void RecordedPrices::learn(const Call& call, const Costs& costs) {
  forget_least_prices();
  const std::size_t hash = hash_of(call);
  const std::unique_lock lock(mutex_);
  if (call.kind == Kernel::Kind::matmul)  // it may be the upper limit of products that were not measured
    std::erase_if(known_, [](const auto& one) {
      return one.second.call.kind == Kernel::Kind::matmul && !one.second.found.costs;
    });
  const auto [first, last] = known_.equal_range(hash);
  for (auto one = first; one != last; ++one)
    if (one->second.call == call) {
      one->second.found = {costs, {}, false};
      return;
    }
  known_.emplace(hash, Known{call, {costs, {}, false}});
}

RecordedPrices::Found RecordedPrices::find(const GraphView& view, const Kernel& kernel) const {
  if (!may_have_price(view, kernel)) return {{}, {}, true};  // it runs on the host in any case
  return look_up(call_of(view, kernel, precision_).call);
}

std::optional<Cost> RecordedPrices::measured(const GraphView& view, const Kernel& kernel) const {
  const std::optional<Costs> costs = find(view, kernel).costs;
  return costs ? std::optional(costs->price(cold_share_)) : std::nullopt;
}

bool RecordedPrices::is_incomplete(const GraphView& view, const Kernel& kernel) const {
  const std::optional<Costs> costs = find(view, kernel).costs;
  return !costs || !costs->is_complete;
}

double RecordedPrices::predicted_alone(const GraphView& view, const Kernel& kernel) const {
  if (!is_onnxruntime_) return static_cast<double>(roofline_.price(view, kernel));
  return onnxruntime_nanoseconds(kernel) * 1e3 * factors_[static_cast<std::size_t>(kernel.kind)];
}

Cost RecordedPrices::predicted(const GraphView& view, const Kernel& kernel, const Found& found) const {
  const double cost = predicted_alone(view, kernel) * (found.is_trusted ? 1 : caution_);
  const Cost rounded_cost = std::min(static_cast<Cost>(std::llround(cost)), highest_kernel_price);
  return found.most ? std::min(rounded_cost, found.most->price(cold_share_)) : rounded_cost;
}

Cost RecordedPrices::price(const GraphView& view, const Kernel& kernel) const {
  return price_twice(view, kernel).first;
}

/// Searches of regions ask from several threads.
const LeastPrices& RecordedPrices::least_prices() const {
  const std::lock_guard one_at_a_time(least_guard_);
  if (least_) return *least_;
  auto made = std::make_unique<LeastPrices>();
  const auto cost = [&](const Costs& costs) { return costs.price(cold_share_); };
  for (const std::string& text : database_->calls(machine_))
    made->add(text, cost(Costs(*database_->find(machine_, text))));
  {
    const std::shared_lock lock(mutex_);
    for (const auto& [hash, known] : known_) {
      if (known.found.costs)
        made->add(text_of(known.call), cost(*known.found.costs));
      else if (known.found.is_trusted)
        made->trust(text_of(known.call));
    }
  }
  least_ = std::move(made);
  return *least_;
}

Cost RecordedPrices::least(const GraphView& view, const Kernel& kernel) const {
  const double least =
      std::min(predicted_alone(view, least_work(view, kernel)), static_cast<double>(highest_kernel_price));
  if (!may_have_price(view, kernel)) return static_cast<Cost>(std::llround(least));
  const auto hopeful = static_cast<Cost>(std::floor(least * std::min(caution_, 1.0)));
  return least_prices().of(view, kernel, precision_, hopeful, std::max(caution_, 1.0));
}

PriceTwice RecordedPrices::price_twice(const GraphView& view, const Kernel& kernel) const {
  const Found found = find(view, kernel);
  if (const std::optional<Costs>& costs = found.costs) return {costs->price(cold_share_), costs->again(cold_share_)};
  const Cost cost = predicted(view, kernel, found);
  return {cost, cost};
}

}  // namespace taso::cost
