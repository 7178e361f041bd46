#include "runtime/gpu/cuda/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "ops/core/error.h"
#include "runtime/gpu/cuda/device_data.h"
#include "runtime/gpu/cuda/median.h"
#include "runtime/gpu/kernels/space.h"

namespace taso::gpu::cuda {

namespace {

/// Concurrent streams must take less than this share of the sequential time to be used.
constexpr double least_gain = 0.99;

/// The alignment of an address, as far as it matters. Buffers themselves are aligned better.
std::int64_t alignment(const Binding& binding) { return std::gcd(binding.offset, Alignments::usual); }

/// Whether an operand is aligned as kernels expect.
bool is_well_placed(const Binding& binding, const cost::Call::Operand& operand) {
  return alignment(binding) % kernels::alignment_of(operand) == 0;
}

std::size_t kernels_in(const Graph& graph) {
  std::size_t nodes = 0;
  require(cudaGraphGetNodes(graph.get(), nullptr, &nodes), "a graph's nodes");
  std::vector<cudaGraphNode_t> list(nodes);
  require(cudaGraphGetNodes(graph.get(), list.data(), &nodes), "a graph's nodes");
  std::size_t kernels = 0;
  for (cudaGraphNode_t node : list) {
    cudaGraphNodeType type{};
    require(cudaGraphNodeGetType(node, &type), "a graph's node");
    if (type == cudaGraphNodeTypeKernel) ++kernels;
  }
  return kernels;
}

}  // namespace

Program::Program(Libraries& libraries, const std::function<Tuner&()>& tuner, DeviceSteps steps)
    : libraries_(libraries), steps_(std::move(steps)), stream_(make_stream()) {
  allocate();
  choose(tuner);
  libraries_.expect_nothing();  // what follows is timed: no compilation in the background
  placement_ = placed(own_);
  make_lanes();
  fill_inputs();
  // Launch once without a graph: some libraries load their kernels at the first launch, which a capture forbids.
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (!steps_.steps[i].host) launch(placement_, i, 0, false);
  wait();
  fastest_ = in_sequence();
  alone_ = way(placement_, fastest_, {});
  for (const Segment& segment : alone_) launches_ += segment.kernels;
  choose_way();
  steps_.schedules.clear();
  last_ = make_mark();
}

Schedule Program::in_sequence() const {
  Schedule schedule;
  for (std::size_t i = 0; i < calls_.size(); ++i) schedule.steps.push_back({static_cast<std::uint32_t>(i), 0, {}});
  return schedule;
}

Program::~Program() {
  const DeviceGuard device(libraries_.device());
  if (has_run_) cudaEventSynchronize(last_.get());  // the caller's stream may still use our memory
  cudaStreamSynchronize(stream_.get());
  cudaGetLastError();
}

void Program::allocate() {
  const auto bytes = [](std::int64_t size) { return static_cast<std::size_t>(std::max<std::int64_t>(size, 1)); };
  arena_ = DeviceBuffer(bytes(steps_.arena_bytes), steps_.memory);
  require(cudaMemsetAsync(arena_.get(), 0, arena_.size(), stream_.get()), "the arena");
  weights_.push_back(libraries_.weights(std::move(steps_.weights), steps_.memory));
  for (const std::shared_ptr<const WeightBlock>& block : steps_.shared_weights) {
    weights_.push_back(std::dynamic_pointer_cast<const Weights>(block));
    check(weights_.back() != nullptr, "weights are shared by programs of one kind of device");
  }
  for (const std::int64_t size : steps_.input_bytes) inputs_.emplace_back(bytes(size), steps_.memory);
  for (const std::int64_t size : steps_.output_bytes) outputs_.emplace_back(bytes(size), steps_.memory);
  for (const DeviceBuffer& buffer : inputs_) own_.inputs.push_back(buffer.get());
  for (const DeviceBuffer& buffer : outputs_) own_.outputs.push_back(buffer.get());
  wait();
}

std::byte* Program::address(const Binding& binding, const Ends& ends) const {
  switch (binding.place) {
    case Binding::Place::arena: return arena_.get() + binding.offset;
    case Binding::Place::weights: return weights_.at(binding.index)->on_device.get() + binding.offset;
    case Binding::Place::input: return ends.inputs.at(binding.index) + binding.offset;
    default: return ends.outputs.at(binding.index) + binding.offset;
  }
}

void Program::launch(const Placement& placement, std::size_t step, std::size_t lane, bool has_one_before) const {
  cudaStream_t const stream = stream_of(lane);
  const std::vector<Moved>& moved = placement.moved[step];
  Places places = placement.places[step];
  places.scratch = lanes_[lane].scratch.get();
  places.workspace = lanes_[lane].workspace.get();
  for (const Moved& one : moved) {
    std::byte* const copy = lanes_[lane].moved.get() + one.offset;
    (one.is_written ? places.written : places.read)[one.operand] = copy;
    require(cudaMemcpyAsync(copy, one.home, one.bytes, cudaMemcpyDeviceToDevice, stream), "a copy");
  }
  places.has_one_before = has_one_before && moved.empty();
  for (const auto& one : calls_[step].launches) {
    if (one->is_needless(places)) continue;
    one->launch(stream, places);
    places.has_one_before = true;
  }
  for (const Moved& one : moved)
    if (one.is_written)
      require(cudaMemcpyAsync(one.home, places.written[one.operand], one.bytes, cudaMemcpyDeviceToDevice, stream),
              "a copy");
}

void Program::choose_briefly(const std::function<Tuner&()>& tuner) {
  std::map<std::string, std::size_t> numbers;  // by the text of the call
  std::vector<cost::Call> calls;
  for (const DeviceSteps::Step& step : steps_.steps)
    if (!step.host && step.choice.empty() && numbers.emplace(cost::text_of(step.call), calls.size()).second)
      calls.push_back(step.call);
  if (calls.empty()) return;
  const std::vector<std::string> choices = tuner().brief_choices(calls);
  for (DeviceSteps::Step& step : steps_.steps)
    if (!step.host && step.choice.empty()) step.choice = choices.at(numbers.at(cost::text_of(step.call)));
}

void Program::choose(const std::function<Tuner&()>& tuner) {
  // Kernels that are needed in any case are compiled while others are tried.
  for (const DeviceSteps::Step& step : steps_.steps)
    if (!step.host && !(step.choice.empty() && steps_.chooses_briefly))
      libraries_.expect(lowerings(step.call), step.choice);
  if (steps_.chooses_briefly) choose_briefly(tuner);
  for (const DeviceSteps::Step& step : steps_.steps) {
    check(step.read.size() == step.call.read.size() && step.written.size() == step.call.written.size(),
          "a place for each operand");
    if (step.host) {
      calls_.emplace_back();
      choices_.emplace_back("host");
      continue;
    }
    Alignments alignments;
    const auto listed = [](const std::vector<Binding>& bindings, const std::vector<cost::Call::Operand>& operands) {
      std::vector<std::int64_t> list;
      for (std::size_t i = 0; i < bindings.size(); ++i)
        list.push_back(is_well_placed(bindings[i], operands[i]) ? alignment(bindings[i]) : Alignments::usual);
      return list;
    };
    alignments.read = listed(step.read, step.call.read);
    alignments.written = listed(step.written, step.call.written);
    std::optional<PreparedCall> prepared;
    // A variant measured on well aligned memory may need that: libraries do not check addresses at launch.
    const bool is_product = cost::has_products(step.call.kind);
    if (!step.choice.empty() && (!is_product || alignments.is_usual())) {
      try {
        prepared = libraries_.prepare_for_program(step.call, alignments, step.choice);
      } catch (const EnvironmentError&) {  // of another version, or for better aligned memory: choose again
      }
    }
    if (!prepared) {
      const Measurement found = tuner().measure(step.call, alignments);
      if (!found.trouble.empty())
        throw EnvironmentError(fmt::format("the GPU cannot do {}: {}", cost::text_of(step.call), found.trouble));
      prepared = libraries_.prepare_for_program(step.call, alignments, found.choice);
    }
    choices_.push_back(prepared->choice);
    calls_.push_back(std::move(*prepared));
  }
}

Program::Placement Program::placed(const Ends& ends) const {
  Placement all;
  for (const DeviceSteps::Step& step : steps_.steps) {
    Places where;
    std::vector<Moved> moved;
    std::size_t taken = 0;
    const auto addresses = [&](const std::vector<Binding>& bindings, const std::vector<cost::Call::Operand>& operands,
                               bool is_written) {
      std::vector<std::byte*> list;
      for (std::size_t i = 0; i < bindings.size(); ++i) {
        list.push_back(address(bindings[i], ends));
        if (step.host || is_well_placed(bindings[i], operands[i]) || span_bytes(operands[i]) == 0) continue;
        moved.push_back({list.back(), taken, span_bytes(operands[i]), is_written, i});
        taken += (span_bytes(operands[i]) + 255) / 256 * 256;
      }
      return list;
    };
    where.read = addresses(step.read, step.call.read, false);
    where.written = addresses(step.written, step.call.written, true);
    all.places.push_back(std::move(where));
    all.moved.push_back(std::move(moved));
  }
  return all;
}

/// False if a moved result has gaps: copying it back also overwrites the gaps, which may belong to another step.
bool Program::can_run_side_by_side() const {
  for (std::size_t step = 0; step < placement_.moved.size(); ++step)
    for (const Moved& one : placement_.moved[step]) {
      if (!one.is_written) continue;
      const cost::Call::Operand& operand = steps_.steps[step].call.written[one.operand];
      if (one.bytes != static_cast<std::size_t>(count(operand.extents)) * size_of(operand.element)) return false;
    }
  return true;
}

void Program::make_lanes() {
  if (!can_run_side_by_side()) steps_.schedules.clear();
  struct Needed {
    std::size_t scratch = 1, workspace = 1, moved = 1;
  };
  std::vector<Needed> needed(1);
  const auto need = [&](const Schedule& schedule) {
    needed.resize(std::max<std::size_t>(needed.size(), schedule.lanes));
    for (const Schedule::Step& step : schedule.steps) {
      Needed& lane = needed.at(step.lane);
      const PreparedCall& call = calls_.at(step.task);
      lane.scratch = std::max(lane.scratch, call.scratch_bytes);
      lane.workspace = std::max(lane.workspace, call.workspace_bytes());
      for (const Moved& one : placement_.moved[step.task]) lane.moved = std::max(lane.moved, one.offset + one.bytes);
    }
  };
  need(in_sequence());
  for (const Schedule& schedule : steps_.schedules) need(schedule);
  for (std::size_t i = 0; i < needed.size(); ++i)
    lanes_.push_back({i == 0 ? Stream() : make_stream(), DeviceBuffer(needed[i].scratch, steps_.memory),
                      DeviceBuffer(needed[i].workspace, steps_.memory), DeviceBuffer(needed[i].moved, steps_.memory)});
}

/// Fills inputs with random numbers, so that times are never those of zeros.
void Program::fill_inputs() {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    ElementType element = ElementType::uint8;
    for (const DeviceSteps::Step& step : steps_.steps)
      for (std::size_t j = 0; j < step.read.size(); ++j)
        if (step.read[j].place == Binding::Place::input && step.read[j].index == i) element = step.call.read[j].element;
    fill_randomly(stream_.get(), inputs_[i].get(), inputs_[i].size(), element, false, i + 1);
  }
  wait();
}

Graph Program::captured(const Placement& placement, const Schedule& schedule, std::size_t first, std::size_t end,
                        const std::vector<Event>& events) const {
  const auto record = [&](std::size_t event, cudaStream_t stream) {
    if (!events.empty())
      require(cudaEventRecordWithFlags(events[event].get(), stream, cudaEventRecordExternal), "an event");
  };
  // Events that something waits for become edges of the graph. They mark the ends of steps and of lanes.
  std::vector<Event> done(calls_.size()), ends;
  for (std::size_t at = first; at < end; ++at)
    for (const std::uint32_t other : schedule.steps[at].after)
      if (!done.at(other)) done[other] = make_mark();
  for (std::size_t at = first; at < end; ++at)
    if (const std::uint32_t task = schedule.steps[at].task; calls_[task].is_exclusive() && !done[task])
      done[task] = make_mark();
  for (std::uint32_t lane = 0; lane < schedule.lanes; ++lane) ends.push_back(make_mark());
  return capture(stream_.get(), [&] {
    // The other streams join the capture when they wait for one of its events, and must be joined back into the first.
    std::vector<bool> takes_part(schedule.lanes, false);
    takes_part[0] = true;
    std::vector<bool> has_kernel(schedule.lanes, false);  // as its last node
    const Schedule::Step* last_exclusive = nullptr;
    require(cudaEventRecord(ends[0].get(), stream_.get()), "the start of streams");
    for (std::size_t at = first; at < end; ++at) {
      const Schedule::Step& step = schedule.steps[at];
      cudaStream_t const stream = stream_of(step.lane);
      if (!takes_part.at(step.lane)) {
        require(cudaStreamWaitEvent(stream, ends[0].get(), 0), "the start of a stream");
        takes_part[step.lane] = true;
      }
      std::vector<std::uint32_t> after = step.after;
      if (calls_[step.task].is_exclusive()) {
        if (last_exclusive != nullptr && last_exclusive->lane != step.lane) after.push_back(last_exclusive->task);
        last_exclusive = &step;
      }
      for (const std::uint32_t other : after)
        require(cudaStreamWaitEvent(stream, done[other].get(), 0), "waiting for a stream");
      record(2 * step.task, stream);
      // A step that waits for other steps, or for an event, does not start early.
      launch(placement, step.task, step.lane, has_kernel[step.lane] && after.empty() && events.empty());
      has_kernel[step.lane] = placement.moved[step.task].empty();
      record(2 * step.task + 1, stream);
      if (done[step.task]) require(cudaEventRecord(done[step.task].get(), stream), "a step that others wait for");
    }
    for (std::uint32_t lane = 1; lane < schedule.lanes; ++lane) {
      if (!takes_part[lane]) continue;
      require(cudaEventRecord(ends[lane].get(), stream_of(lane)), "the end of a stream");
      require(cudaStreamWaitEvent(stream_.get(), ends[lane].get(), 0), "the end of a stream");
    }
  });
}

Program::Way Program::way(const Placement& placement, const Schedule& schedule,
                          const std::vector<Event>& events) const {
  Way list;
  const auto is_host = [&](std::size_t at) { return static_cast<bool>(steps_.steps[schedule.steps[at].task].host); };
  for (std::size_t first = 0; first < schedule.steps.size();) {
    Segment segment;
    segment.step = schedule.steps[first].task;
    segment.is_host = is_host(first);
    std::size_t end = first + 1;
    if (!segment.is_host) {
      while (end < schedule.steps.size() && !is_host(end)) ++end;
      const Graph graph = captured(placement, schedule, first, end, events);
      segment.kernels = kernels_in(graph);
      segment.graph = instantiate(graph);
      require(cudaGraphUpload(segment.graph.get(), stream_.get()), "a graph");
    }
    first = end;
    list.push_back(std::move(segment));
  }
  wait();
  return list;
}

/// Tries all schedules. Each must compute the same bits as the sequential run, several times. If the sequential results
/// vary, schedules cannot be checked and are not used. If one schedule computes something else, none is used, because
/// the cause may affect the others another time.
void Program::choose_way() {
  found_ = {};
  if (steps_.schedules.empty()) return;
  const auto compute = [&](const Way& one) {
    for (const DeviceBuffer& output : outputs_)
      require(cudaMemsetAsync(output.get(), 0xff, output.size(), stream_.get()), "an output");
    enqueue(placement_, one, stream_.get());
    return outputs();
  };
  const std::vector<std::vector<std::byte>> expected = compute(alone_);
  constexpr int often = 8;
  const auto is_right = [&](const Way& one) {
    for (int i = 0; i < often; ++i)
      if (compute(one) != expected) return false;
    return true;
  };
  const auto give_up = [&] {
    beside_.clear();
    lanes_.resize(1);
    found_.lanes = 1;
    found_.alone = found_.time = median(timed(alone_, 3));
  };
  if (!is_right(alone_)) {
    found_.others = "results vary between runs, so that streams cannot be checked";
    return give_up();
  }
  std::vector<Way> ways;
  std::vector<const Schedule*> tried;
  std::vector<std::uint32_t> lanes;
  const auto say = [&](std::uint32_t count, const std::string& what) {
    found_.others += fmt::format("{}{} streams: {}", found_.others.empty() ? "" : ", ", count, what);
  };
  for (const Schedule& schedule : steps_.schedules) {
    try {
      Way one = way(placement_, schedule, {});
      if (!is_right(one)) {
        say(schedule.lanes, "different results");
        return give_up();
      }
      ways.push_back(std::move(one));
      lanes.push_back(schedule.lanes);
      tried.push_back(&schedule);
    } catch (const EnvironmentError& error) {
      say(schedule.lanes, error.what());
    }
  }
  // Enough runs for some milliseconds. The schedules take turns, so that disturbances affect all alike.
  const double once = median(timed(alone_, 3));
  const bool is_slow = once > 20'000;
  const auto runs = static_cast<std::size_t>(std::clamp(2'000 / std::max(once, 1.0), 3.0, 30.0));
  std::vector<std::vector<double>> times(ways.size());
  std::vector<double> alone;
  for (int round = 0; round < (is_slow ? 1 : 5); ++round) {
    alone.push_back(median(timed(alone_, runs)));
    for (std::size_t i = 0; i < ways.size(); ++i) times[i].push_back(median(timed(ways[i], runs)));
  }
  found_.alone = found_.time = median(alone);
  std::size_t best = ways.size();
  for (std::size_t i = 0; i < ways.size(); ++i) {
    const double time = median(times[i]);
    say(lanes[i], fmt::format("{:.1f}", time));
    if (time > found_.alone * least_gain || (best < ways.size() && time >= found_.time)) continue;
    best = i;
    found_.time = time;
    found_.lanes = lanes[i];
  }
  if (best < ways.size() && !is_right(ways[best])) {
    say(lanes[best], "different results after a while");
    return give_up();
  }
  if (best < ways.size()) {
    beside_ = std::move(ways[best]);
    fastest_ = *tried[best];
  }
  ways.clear();
  lanes_.resize(found_.lanes);  // frees the memory of unused lanes
}

}  // namespace taso::gpu::cuda
