#include "runtime/gpu/attention_parts.h"

#include <algorithm>
#include <map>

#include "cost/plan/memory_plan.h"
#include "ops/core/error.h"
#include "runtime/gpu/kernels/computation.h"
#include "runtime/gpu/packed_operands.h"

namespace taso::gpu {
namespace {

/// A part of a call, as a call of its own, and the memory of its operands.
struct Part {
  cost::Call call;
  std::vector<Argument> read;
  Argument written;
};

/// Cuts a call into parts. Values between them lie in scratch memory.
class Cutter {
 public:
  explicit Cutter(const cost::Call& call) : call_(call), values_(call) {
    for (std::uint32_t i = 0; i < call.read.size(); ++i) places_[i] = {call.read[i], {Argument::Place::read, i, 0}};
  }
  std::int64_t scratch_bytes() const { return scratch_; }

  /// These steps as a call; `main` is the place of its main step among them.
  Part cut(cost::Kernel::Kind kind, const std::vector<std::size_t>& steps, std::size_t main) {
    Part part;
    part.call.kind = kind;
    if (cost::has_products(kind)) part.call.precision = call_.precision;
    part.call.main = main;
    std::map<std::uint32_t, std::uint32_t> numbers;  // of values in the part
    for (const std::size_t step : steps)
      for (const std::uint32_t operand : call_.steps[step].operands) {
        const bool is_made_here = std::find(steps.begin(), steps.end(), values_.steps[operand]) != steps.end();
        if (is_made_here || !numbers.emplace(operand, static_cast<std::uint32_t>(part.read.size())).second) continue;
        part.call.read.push_back(places_.at(operand).first);
        part.read.push_back(places_.at(operand).second);
      }
    auto next = static_cast<std::uint32_t>(part.read.size());
    for (const std::size_t i : steps) {
      const cost::Call::Step& step = call_.steps[i];
      cost::Call::Step again{step.op, {}, next, step.zeroes_nan};
      for (const std::uint32_t operand : step.operands) again.operands.push_back(numbers.at(operand));
      numbers[step.first_result] = next++;
      part.call.steps.push_back(std::move(again));
    }
    part.call.results = {next - 1};
    const std::uint32_t result = call_.steps[steps.back()].first_result;
    if (steps.back() + 1 == call_.steps.size()) {
      part.call.written = {call_.written[0]};
      part.written = {Argument::Place::written, 0, 0};
    } else {
      cost::Call::Operand between;
      between.element = values_.elements[result];
      between.extents = values_.extents[result];
      between.strides = cost::packed(between.extents, cost::Layout::channels_first);
      part.written = {Argument::Place::scratch, 0, scratch_};
      scratch_ += cost::aligned_size(ops::count(between.extents) * static_cast<std::int64_t>(size_of(between.element)));
      part.call.written = {between};
      places_[result] = {between, part.written};
    }
    return part;
  }

 private:
  const cost::Call& call_;
  kernels::Values values_;
  std::map<std::uint32_t, std::pair<cost::Call::Operand, Argument>> places_;  // by value
  std::int64_t scratch_ = 0;
};

/// The steps that come before this one because it needs their results, in their order.
std::vector<std::size_t> steps_needed_by(const cost::Call& call, std::size_t step) {
  std::vector<std::uint32_t> needed = call.steps[step].operands;
  std::vector<std::size_t> steps;
  for (std::size_t i = step; i-- > 0;) {
    if (std::find(needed.begin(), needed.end(), call.steps[i].first_result) == needed.end()) continue;
    needed.insert(needed.end(), call.steps[i].operands.begin(), call.steps[i].operands.end());
    steps.insert(steps.begin(), i);
  }
  return steps;
}

/// The first variant of a part that is a single launch, of our own or of a library.
std::optional<Launch> launch_of(const Part& part, const std::vector<Lowering>& ways, bool own) {
  for (const Lowering& way : ways) {
    if (way.launches.size() != 1 || is_own(way) != own) continue;
    Launch launch = way.launches[0];
    for_each_argument(launch, [&](Argument& argument) {
      const Argument& place = argument.place == Argument::Place::read ? part.read.at(argument.index) : part.written;
      argument = {place.place, place.index, place.offset + argument.offset};
    });
    return launch;
  }
  return std::nullopt;
}

/// Turns a call of a transpose into a copy of its operand, seen in the order of the result's axes.
void make_transposing_copy(cost::Call& call) {
  const std::vector<std::int64_t> permutation = std::get<op::Transpose>(call.steps.at(0).op).permutation;
  cost::Call::Operand& from = call.read.at(0);
  const cost::Call::Operand& to = call.written.at(0);
  cost::Strides strides;
  for (const std::int64_t axis : permutation) strides.push_back(from.strides.at(static_cast<std::size_t>(axis)));
  from.extents = to.extents;
  from.strides = strides;
  call.steps.clear();
  call.results.clear();
  call.pieces.push_back({0, 0, 0, 0, from.extents, to.extents, from.strides, to.strides});
}

using Ways = std::function<std::vector<Lowering>(const cost::Call&)>;

/// The variants with products of a library and with our own. With `turns_apart`, a transpose at the end is a kernel of
/// its own: libraries do not write the results of several batches into all places.
std::vector<Lowering> in_parts(const cost::Call& call, const Ways& ways, bool turns_apart) {
  const auto place_of = [&](auto&& is_it) {
    return static_cast<std::size_t>(std::find_if(call.steps.begin(), call.steps.end(), is_it) - call.steps.begin());
  };
  const std::size_t first =
      place_of([](const cost::Call::Step& step) { return std::holds_alternative<op::MatMul>(step.op); });
  const std::size_t softmax =
      place_of([](const cost::Call::Step& step) { return std::holds_alternative<op::Softmax>(step.op); });
  check(first < softmax && softmax + 1 < call.steps.size(), "attention is a product, a softmax and a product");
  const std::vector<std::size_t> scales = steps_needed_by(call, first);
  std::vector<std::size_t> before, after, turn;
  for (std::size_t i = 0; i < call.steps.size(); ++i)
    if (i != first && std::find(scales.begin(), scales.end(), i) == scales.end())
      (i <= softmax ? before : after).push_back(i);
  if (turns_apart) {
    turn.push_back(after.back());
    after.pop_back();
  }
  using Kind = cost::Kernel::Kind;
  Cutter cutter(call);
  std::vector<Launch> scaled;
  for (const std::size_t scale : scales) {
    const Part part = cutter.cut(Kind::element_wise, {scale}, 0);
    scaled.push_back(*launch_of(part, ways(part.call), true));
  }
  const Part scores = cutter.cut(Kind::matmul, {first}, 0), rows = cutter.cut(Kind::rows, before, before.size() - 1),
             sums = cutter.cut(Kind::matmul, after, 0);
  const std::vector<Lowering> of_scores = ways(scores.call), of_rows = ways(rows.call), of_sums = ways(sums.call);
  std::optional<Launch> turned;
  if (turns_apart) {
    Part part = cutter.cut(Kind::copy, turn, 0);
    make_transposing_copy(part.call);
    turned = launch_of(part, ways(part.call), true);
  }
  std::vector<Lowering> all;
  for (const bool own : {false, true}) {
    if (own && turns_apart) continue;
    const auto one = launch_of(scores, of_scores, own), two = launch_of(rows, of_rows, true),
               three = launch_of(sums, of_sums, own);
    if (!one || !two || !three || (turns_apart && !turned)) continue;
    Lowering way{own ? "parts of our own" : turns_apart ? "four parts" : "parts", scaled, cutter.scratch_bytes()};
    way.launches.insert(way.launches.end(), {*one, *two, *three});
    if (turned) way.launches.push_back(*turned);
    all.push_back(std::move(way));
  }
  return all;
}

}  // namespace

std::vector<Lowering> attention_in_parts(const cost::Call& call, const Ways& ways) {
  std::vector<Lowering> all = in_parts(call, ways, false);
  if (std::holds_alternative<op::Transpose>(call.steps.back().op))
    for (Lowering& way : in_parts(call, ways, true)) all.push_back(std::move(way));
  return all;
}

}  // namespace taso::gpu
