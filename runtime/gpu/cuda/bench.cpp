#include "runtime/gpu/cuda/bench.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "cost/functions/recurrence.h"
#include "ops/core/error.h"

namespace taso::gpu::cuda {

namespace {

constexpr std::size_t unit = 256;  // alignment in the pool
constexpr std::size_t most_weight_bytes = std::size_t{400} << 20;
constexpr std::size_t most_copies = 41;
constexpr std::size_t most_kept = 4;
constexpr std::size_t most_rewritten = std::size_t{16} << 20;  // more would not stay in the cache anyway

std::size_t rounded(std::size_t bytes) { return (bytes + unit - 1) / unit * unit; }

/// Whether an operand has the lengths of sequences: random ones would be too short.
bool has_lengths(const cost::Call& call, const cost::Call::Operand& operand) {
  return call.function && cost::is_recurrence(call.function->what) && operand.element == ElementType::int32;
}

/// Whether the operands should be positive: roots and quotients of numbers of either sign would give NaN.
bool wants_positive(const cost::Call& call) {
  return std::any_of(call.steps.begin(), call.steps.end(), [](const cost::Call::Step& step) {
    return std::holds_alternative<op::Sqrt>(step.op) || std::holds_alternative<op::Pow>(step.op) ||
           std::holds_alternative<op::Div>(step.op);
  });
}

unsigned count_multiprocessors() {
  int device = 0, count = 0;
  require(cudaGetDevice(&device), "the device");
  require(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device), "its multiprocessors");
  return static_cast<unsigned>(std::max(count, 1));
}

}  // namespace

Bench::Bench(std::size_t cache_bytes)
    : cache_bytes_(cache_bytes),
      multiprocessors_(count_multiprocessors()),
      stream_(make_stream()),
      begin_(make_event()),
      end_(make_event()),
      flushed_(std::max<std::size_t>(2 * cache_bytes, std::size_t{16} << 20)) {
  fill_randomly(stream_.get(), flushed_.get(), flushed_.size(), ElementType::uint32, false, 1);
}

std::byte* Bench::take(std::size_t bytes) {
  std::byte* const data = pool_.get() + taken_;
  taken_ += rounded(bytes);
  check(taken_ <= pool_.size(), "the pool has room for the operands");
  return data;
}

void Bench::set_up(const cost::Call& call, std::size_t scratch_bytes, std::size_t workspace_bytes) {
  call_ = &call;
  std::size_t weights = 0, others = 0, results = 0;
  for (const cost::Call::Operand& operand : call.read)
    (operand.is_weight ? weights : others) += rounded(std::max<std::size_t>(span_bytes(operand), 1));
  for (const cost::Call::Operand& operand : call.written)
    results += rounded(std::max<std::size_t>(span_bytes(operand), 1));
  copies_ = weights == 0 ? 1 : std::clamp<std::size_t>(most_weight_bytes / weights, 2, most_copies);
  const std::size_t needed = weights * copies_ + others + results * (1 + most_kept) + rounded(scratch_bytes) +
                             rounded(workspace_bytes) + rounded(sizeof(Agreement)) + 4 * unit;
  if (pool_.size() < needed) {
    pool_ = DeviceBuffer();  // free the old pool first: both may not fit
    pool_ = DeviceBuffer(needed + needed / 4);
  }
  taken_ = 0;
  agreement_ = reinterpret_cast<Agreement*>(take(sizeof(Agreement)));
  read_.clear();
  copy_distance_.clear();
  rewritten_ = {};
  std::size_t left = most_rewritten;
  const bool is_positive = wants_positive(call);
  std::uint64_t seed = 1;
  for (const cost::Call::Operand& operand : call.read) {
    const std::size_t bytes = std::max<std::size_t>(span_bytes(operand), 1);
    const std::size_t copies = operand.is_weight ? copies_ : 1;
    std::byte* const data = take(rounded(bytes) * copies);
    for (std::size_t copy = 0; copy < copies; ++copy)
      fill_randomly(stream_.get(), data + copy * rounded(bytes), bytes, operand.element, is_positive, seed++);
    if (has_lengths(call, operand)) poison(stream_.get(), data, bytes);  // -1: they are whole
    read_.push_back({data, bytes});
    if (!operand.is_weight && rewritten_.count < Rewritten::most && left >= unit) {
      // In a network, the end of a large operand was written last.
      const std::size_t share = std::min(rounded(bytes), left / unit * unit);
      rewritten_.data[rewritten_.count] = data + rounded(bytes) - share;
      rewritten_.bytes[rewritten_.count++] = share;
      left -= share;
    }
    copy_distance_.push_back(operand.is_weight ? rounded(bytes) : 0);
  }
  const auto results_memory = [&] {
    std::vector<Memory> list;
    for (const cost::Call::Operand& operand : call.written) {
      const std::size_t bytes = span_bytes(operand);
      list.push_back({take(std::max<std::size_t>(bytes, 1)), bytes});
    }
    return list;
  };
  written_ = results_memory();
  kept_.clear();
  for (std::size_t i = 0; i < most_kept; ++i) kept_.push_back(results_memory());
  kept_count_ = 0;
  scratch_ = take(scratch_bytes);
  workspace_ = take(workspace_bytes);
  poison(stream_.get(), scratch_, scratch_bytes);
  require(cudaStreamSynchronize(stream_.get()), "operands");
}

Places Bench::places(std::size_t copy) const {
  Places places;
  for (std::size_t i = 0; i < read_.size(); ++i)
    places.read.push_back(read_[i].data + copy % copies_ * copy_distance_[i]);
  for (const Memory& result : written_) places.written.push_back(result.data);
  places.scratch = scratch_;
  places.workspace = workspace_;
  return places;
}

void Bench::run(const PreparedCall& call) {
  for (const Memory& result : written_) poison(stream_.get(), result.data, result.bytes);
  call.launch(stream_.get(), places(0));
  require(cudaStreamSynchronize(stream_.get()), "a run of " + call.choice);
}

bool Bench::is_complete() {
  for (std::size_t i = 0; i < written_.size(); ++i) {
    const cost::Call::Operand& operand = call_->written[i];
    if (!is_floating(operand.element)) continue;  // any bits may be a result
    const Agreement self =
        compare(stream_.get(), written_[i].data, written_[i].data, written_[i].bytes, operand.element, agreement_);
    const std::size_t places = written_[i].bytes / size_of(operand.element);
    if (self.unwritten != places - static_cast<std::size_t>(cost::elements_written(*call_, i))) return false;
  }
  return true;
}

double Bench::distance(std::size_t kept) {
  double worst = 0;
  for (std::size_t i = 0; i < written_.size(); ++i) {
    const ElementType element = call_->written[i].element;
    const Agreement found =
        compare(stream_.get(), written_[i].data, kept_[kept][i].data, written_[i].bytes, element, agreement_);
    if (found.different == 0) continue;
    if (!is_floating(element)) return std::numeric_limits<double>::quiet_NaN();
    const double distance = std::sqrt(found.difference / std::max(found.size, 1e-30));
    if (!(distance <= worst)) worst = distance;
    if (std::isnan(worst)) return worst;
  }
  return worst;
}

std::size_t Bench::keep() {
  if (kept_count_ == most_kept) return most_kept;
  for (std::size_t i = 0; i < written_.size(); ++i) {
    require(cudaMemcpyAsync(kept_[kept_count_][i].data, written_[i].data, written_[i].bytes, cudaMemcpyDeviceToDevice,
                            stream_.get()),
            "a result");
  }
  require(cudaStreamSynchronize(stream_.get()), "a result");
  return kept_count_++;
}

double Bench::estimate(const PreparedCall& call) {
  const Places where = places(0);
  require(cudaEventRecord(begin_.get(), stream_.get()), "an event");
  call.launch(stream_.get(), where);
  require(cudaEventRecord(end_.get(), stream_.get()), "an event");
  require(cudaEventSynchronize(end_.get()), "a run of " + call.choice);
  return microseconds(begin_, end_);
}

GraphExecution Bench::graph_of(const PreparedCall& call, std::size_t repetitions, const Surroundings& surroundings,
                               bool with_call) {
  cudaStream_t const stream = stream_.get();
  std::byte* const nowhere = reinterpret_cast<std::byte*>(agreement_);
  const auto before = [&] {
    if (surroundings.before != Surroundings::Before::itself)
      rewrite(stream, rewritten_, surroundings.before == Surroundings::Before::stranger, multiprocessors_, nowhere);
  };
  const auto repeat = [&](std::size_t count, std::size_t first) {
    for (std::size_t i = 0; i < count; ++i) {
      before();
      if (with_call) call.launch(stream, places(surroundings.is_warm ? 0 : first + i));
    }
  };
  return instantiate(capture(stream, [&] {
    read_through(stream, flushed_.get(), flushed_.size(), nowhere);
    call.launch(stream, places(0));  // brings operands that are not weights back into the cache
    repeat(1, 1);                    // the first repetition may start differently
    require(cudaEventRecordWithFlags(begin_.get(), stream, cudaEventRecordExternal), "an event");
    repeat(repetitions, 2);
    require(cudaEventRecordWithFlags(end_.get(), stream, cudaEventRecordExternal), "an event");
  }));
}

std::vector<double> Bench::time(const PreparedCall& call, std::size_t repetitions, std::size_t replays,
                                const Surroundings& surroundings) {
  const bool is_alone = surroundings.before == Surroundings::Before::itself;
  const GraphExecution execution = graph_of(call, repetitions, surroundings, true);
  const GraphExecution others = is_alone ? GraphExecution() : graph_of(call, repetitions, surroundings, false);
  const auto replay = [&](const GraphExecution& graph) {
    require(cudaGraphLaunch(graph.get(), stream_.get()), "a graph");
    require(cudaStreamSynchronize(stream_.get()), "a graph of " + call.choice);
    return microseconds(begin_, end_) / static_cast<double>(repetitions);
  };
  std::vector<double> times;
  for (std::size_t i = 0; i <= replays; ++i) {
    double time = replay(execution);
    if (!is_alone) time -= replay(others);
    if (i > 0) times.push_back(std::max(time, 0.0));  // the first one is a warm-up
  }
  last_busy_ = std::chrono::steady_clock::now();
  return times;
}

void Bench::wake() {
  constexpr double wanted = 10'000;
  constexpr std::chrono::milliseconds short_pause(50);  // as between two calls that need no compiler
  if (std::chrono::steady_clock::now() - last_busy_ < short_pause) return;
  double spent = 0;
  for (int i = 0; i < 100 && spent < wanted; ++i) {
    require(cudaEventRecord(begin_.get(), stream_.get()), "an event");
    for (int j = 0; j < 20; ++j)
      read_through(stream_.get(), flushed_.get(), flushed_.size(), reinterpret_cast<std::byte*>(agreement_));
    require(cudaEventRecord(end_.get(), stream_.get()), "an event");
    require(cudaEventSynchronize(end_.get()), "a warm-up");
    spent += microseconds(begin_, end_);
  }
  last_busy_ = std::chrono::steady_clock::now();
}

}  // namespace taso::gpu::cuda
