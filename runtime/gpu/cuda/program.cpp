#include "runtime/gpu/cuda/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "ops/core/error.h"
#include "runtime/gpu/cuda/device_data.h"
#include "runtime/gpu/kernels/space.h"

namespace taso::gpu::cuda {

namespace {

constexpr std::size_t warm_up_runs = 3, profiled_runs = 21;
/// Concurrent streams must take less than this share of the sequential time to be used.
constexpr double least_gain = 0.99;

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

std::size_t element_count(const cost::Call::Operand& operand) {
  return static_cast<std::size_t>(count(operand.extents));
}

/// Copies the elements of an operand from its strided place to a dense copy, or back.
void rearrange(const cost::Call::Operand& operand, std::byte* lying, std::byte* dense, bool is_back) {
  const std::size_t size = size_of(operand.element), elements = element_count(operand);
  std::vector<std::int64_t> index(operand.extents.size(), 0);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    std::byte* const place = lying + static_cast<std::size_t>(at) * size;
    std::memcpy(is_back ? place : dense + i * size, is_back ? dense + i * size : place, size);
    for (std::size_t axis = index.size(); axis-- > 0;) {
      at += operand.strides[axis];
      if (++index[axis] < operand.extents[axis]) break;
      at -= operand.strides[axis] * operand.extents[axis];
      index[axis] = 0;
    }
  }
}

/// The alignment of an address, as far as it matters. Buffers themselves are aligned better.
std::int64_t alignment(const Binding& binding) { return std::gcd(binding.offset, Alignments::usual); }

/// Whether an operand is aligned as kernels expect.
bool is_well_placed(const Binding& binding, const cost::Call::Operand& operand) {
  return alignment(binding) % kernels::alignment_of(operand) == 0;
}

/// All steps in order, in one lane.
Schedule in_sequence(std::size_t steps) {
  Schedule schedule;
  for (std::size_t i = 0; i < steps; ++i) schedule.steps.push_back({static_cast<std::uint32_t>(i), 0, {}});
  return schedule;
}

/// An event without timing.
Event make_mark() {
  cudaEvent_t event = nullptr;
  require(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "an event");
  return Event(event);
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
  place_steps();
  make_lanes();
  fill_inputs();
  // Launch once without a graph: some libraries load their kernels at the first launch, which a capture forbids.
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (!steps_.steps[i].host) launch(i, 0, false);
  wait();
  alone_ = way(in_sequence(calls_.size()), {});
  for (const Segment& segment : alone_) launches_ += segment.kernels;
  choose_way();
}

void Program::allocate() {
  const auto bytes = [](std::int64_t size) { return static_cast<std::size_t>(std::max<std::int64_t>(size, 1)); };
  arena_ = DeviceBuffer(bytes(steps_.arena_bytes));
  require(cudaMemsetAsync(arena_.get(), 0, arena_.size(), stream_.get()), "the arena");
  weights_ = DeviceBuffer(std::max<std::size_t>(steps_.weights.size(), 1));
  if (!steps_.weights.empty())
    require(cudaMemcpyAsync(weights_.get(), steps_.weights.data(), steps_.weights.size(), cudaMemcpyHostToDevice,
                            stream_.get()),
            "the weights");
  for (const std::int64_t size : steps_.input_bytes) inputs_.emplace_back(bytes(size));
  for (const std::int64_t size : steps_.output_bytes) outputs_.emplace_back(bytes(size));
  wait();
}

std::byte* Program::address(const Binding& binding) const {
  switch (binding.place) {
    case Binding::Place::arena: return arena_.get() + binding.offset;
    case Binding::Place::weights: return weights_.get() + binding.offset;
    case Binding::Place::input: return inputs_.at(binding.index).get() + binding.offset;
    default: return outputs_.at(binding.index).get() + binding.offset;
  }
}

void Program::launch(std::size_t step, std::size_t lane, bool has_one_before) const {
  cudaStream_t const stream = stream_of(lane);
  Places places = places_[step];
  places.scratch = lanes_[lane].scratch.get();
  places.workspace = lanes_[lane].workspace.get();
  for (const Moved& one : moved_[step]) {
    std::byte* const copy = lanes_[lane].moved.get() + one.offset;
    (one.is_written ? places.written : places.read)[one.operand] = copy;
    require(cudaMemcpyAsync(copy, one.home, one.bytes, cudaMemcpyDeviceToDevice, stream), "a copy");
  }
  places.has_one_before = has_one_before && moved_[step].empty();
  for (const auto& one : calls_[step].launches) {
    one->launch(stream, places);
    places.has_one_before = true;
  }
  for (const Moved& one : moved_[step])
    if (one.is_written)
      require(cudaMemcpyAsync(one.home, places.written[one.operand], one.bytes, cudaMemcpyDeviceToDevice, stream),
              "a copy");
}

void Program::choose(const std::function<Tuner&()>& tuner) {
  for (const DeviceSteps::Step& step : steps_.steps)
    if (!step.host) libraries_.expect(lowerings(step.call), step.choice);
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
    const bool is_product =
        step.call.kind == cost::Kernel::Kind::convolution || step.call.kind == cost::Kernel::Kind::matmul;
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

void Program::place_steps() {
  for (const DeviceSteps::Step& step : steps_.steps) {
    Places where;
    std::vector<Moved> moved;
    std::size_t taken = 0;
    const auto placed = [&](const std::vector<Binding>& bindings, const std::vector<cost::Call::Operand>& operands,
                            bool is_written) {
      std::vector<std::byte*> list;
      for (std::size_t i = 0; i < bindings.size(); ++i) {
        list.push_back(address(bindings[i]));
        if (step.host || is_well_placed(bindings[i], operands[i]) || span_bytes(operands[i]) == 0) continue;
        moved.push_back({list.back(), taken, span_bytes(operands[i]), is_written, i});
        taken += (span_bytes(operands[i]) + 255) / 256 * 256;
      }
      return list;
    };
    where.read = placed(step.read, step.call.read, false);
    where.written = placed(step.written, step.call.written, true);
    places_.push_back(std::move(where));
    moved_.push_back(std::move(moved));
  }
}

/// False if a moved result has gaps: copying it back also overwrites the gaps, which may belong to another step.
bool Program::can_run_side_by_side() const {
  for (std::size_t step = 0; step < moved_.size(); ++step)
    for (const Moved& one : moved_[step]) {
      if (!one.is_written) continue;
      const cost::Call::Operand& operand = steps_.steps[step].call.written[one.operand];
      if (one.bytes != element_count(operand) * size_of(operand.element)) return false;
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
      for (const Moved& one : moved_[step.task]) lane.moved = std::max(lane.moved, one.offset + one.bytes);
    }
  };
  need(in_sequence(calls_.size()));
  for (const Schedule& schedule : steps_.schedules) need(schedule);
  for (std::size_t i = 0; i < needed.size(); ++i)
    lanes_.push_back({i == 0 ? Stream() : make_stream(), DeviceBuffer(needed[i].scratch),
                      DeviceBuffer(needed[i].workspace), DeviceBuffer(needed[i].moved)});
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

Graph Program::captured(const Schedule& schedule, std::size_t first, std::size_t end,
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
      launch(step.task, step.lane, has_kernel[step.lane] && after.empty() && events.empty());
      has_kernel[step.lane] = moved_[step.task].empty();
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

Program::Way Program::way(const Schedule& schedule, const std::vector<Event>& events) const {
  Way list;
  const auto is_host = [&](std::size_t at) { return static_cast<bool>(steps_.steps[schedule.steps[at].task].host); };
  for (std::size_t first = 0; first < schedule.steps.size();) {
    Segment segment;
    segment.step = schedule.steps[first].task;
    segment.is_host = is_host(first);
    std::size_t end = first + 1;
    if (!segment.is_host) {
      while (end < schedule.steps.size() && !is_host(end)) ++end;
      const Graph graph = captured(schedule, first, end, events);
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
    enqueue(one);
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
  std::vector<std::uint32_t> lanes;
  const auto say = [&](std::uint32_t count, const std::string& what) {
    found_.others += fmt::format("{}{} streams: {}", found_.others.empty() ? "" : ", ", count, what);
  };
  for (const Schedule& schedule : steps_.schedules) {
    try {
      Way one = way(schedule, {});
      if (!is_right(one)) {
        say(schedule.lanes, "different results");
        return give_up();
      }
      ways.push_back(std::move(one));
      lanes.push_back(schedule.lanes);
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
  if (best < ways.size()) beside_ = std::move(ways[best]);
  ways.clear();
  lanes_.resize(found_.lanes);  // frees the memory of unused lanes
}

void Program::wait() const { require(cudaStreamSynchronize(stream_.get()), "a program"); }

void Program::run_on_host(std::size_t index) const {
  const DeviceSteps::Step& step = steps_.steps[index];
  std::vector<std::vector<std::byte>> read, written;
  const auto fetched = [&](const cost::Call::Operand& operand, const std::byte* from) {
    std::vector<std::byte> lying(span_bytes(operand));
    require(cudaMemcpyAsync(lying.data(), from, lying.size(), cudaMemcpyDeviceToHost, stream_.get()), "a copy");
    wait();
    return lying;
  };
  for (std::size_t i = 0; i < step.call.read.size(); ++i) {
    const cost::Call::Operand& operand = step.call.read[i];
    const Binding& binding = step.read[i];
    std::vector<std::byte> lying;
    if (binding.place == Binding::Place::weights) {  // the host has a copy of the weights
      const auto begin = steps_.weights.begin() + binding.offset;
      lying.assign(begin, begin + static_cast<std::ptrdiff_t>(span_bytes(operand)));
    } else {
      lying = fetched(operand, places_[index].read[i]);
    }
    if (!cost::is_dense(operand.extents, operand.strides)) {
      std::vector<std::byte> dense(element_count(operand) * size_of(operand.element));
      rearrange(operand, lying.data(), dense.data(), false);
      lying = std::move(dense);
    }
    read.push_back(std::move(lying));
  }
  for (const cost::Call::Operand& operand : step.call.written)
    written.emplace_back(element_count(operand) * size_of(operand.element));
  const std::vector<std::span<const std::byte>> from(read.begin(), read.end());
  const std::vector<std::span<std::byte>> to(written.begin(), written.end());
  step.host(from, to);
  for (std::size_t i = 0; i < step.call.written.size(); ++i) {
    const cost::Call::Operand& operand = step.call.written[i];
    if (!cost::is_dense(operand.extents, operand.strides)) {  // gaps belong to other tensors
      std::vector<std::byte> lying = fetched(operand, places_[index].written[i]);
      rearrange(operand, lying.data(), written[i].data(), true);
      written[i] = std::move(lying);
    }
    require(cudaMemcpyAsync(places_[index].written[i], written[i].data(), written[i].size(), cudaMemcpyHostToDevice,
                            stream_.get()),
            "a copy");
  }
  wait();
}

void Program::enqueue(const Way& way) const {
  for (const Segment& segment : way) {
    if (segment.is_host) {
      run_on_host(segment.step);
    } else {
      require(cudaGraphLaunch(segment.graph.get(), stream_.get()), "a graph");
    }
  }
}

std::vector<std::vector<std::byte>> Program::run(std::span<const std::span<const std::byte>> inputs) {
  if (inputs.size() != inputs_.size()) throw InputError("wrong number of inputs");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (static_cast<std::int64_t>(inputs[i].size()) != steps_.input_bytes[i])
      throw InputError("an input has the wrong size");
    if (inputs[i].empty()) continue;
    require(
        cudaMemcpyAsync(inputs_[i].get(), inputs[i].data(), inputs[i].size(), cudaMemcpyHostToDevice, stream_.get()),
        "an input");
  }
  enqueue(beside_.empty() ? alone_ : beside_);
  return outputs();
}

std::vector<std::vector<std::byte>> Program::outputs() const {
  std::vector<std::vector<std::byte>> results;
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    std::vector<std::byte> result(static_cast<std::size_t>(steps_.output_bytes[i]));
    if (!result.empty())
      require(cudaMemcpyAsync(result.data(), outputs_[i].get(), result.size(), cudaMemcpyDeviceToHost, stream_.get()),
              "an output");
    results.push_back(std::move(result));
  }
  wait();
  return results;
}

std::vector<double> Program::time(std::size_t runs) { return timed(beside_.empty() ? alone_ : beside_, runs); }

std::vector<double> Program::timed(const Way& way, std::size_t runs) const {
  for (std::size_t i = 0; i < warm_up_runs; ++i) enqueue(way);
  std::vector<Event> begins, ends;
  for (std::size_t i = 0; i < runs; ++i) {
    begins.push_back(make_event());
    ends.push_back(make_event());
  }
  for (std::size_t i = 0; i < runs; ++i) {
    require(cudaEventRecord(begins[i].get(), stream_.get()), "an event");
    enqueue(way);
    require(cudaEventRecord(ends[i].get(), stream_.get()), "an event");
  }
  wait();
  std::vector<double> times;
  for (std::size_t i = 0; i < runs; ++i) times.push_back(microseconds(begins[i], ends[i]));
  return times;
}

std::vector<double> Program::profile() {
  // Events in the graphs take time themselves. Their overhead is spread evenly, so that the steps add up to a whole
  // run.
  std::vector<Event> events;
  for (std::size_t i = 0; i < 2 * calls_.size(); ++i) events.push_back(make_event());
  const Way with_events = way(in_sequence(calls_.size()), events);
  std::vector<std::vector<double>> samples(calls_.size());
  for (std::size_t run = 0; run < profiled_runs; ++run) {
    for (const Segment& segment : with_events) {
      if (!segment.is_host) {
        require(cudaGraphLaunch(segment.graph.get(), stream_.get()), "a graph");
        continue;
      }
      wait();
      const auto begin = std::chrono::steady_clock::now();
      run_on_host(segment.step);
      const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
      samples[segment.step].push_back(spent.count());
    }
    wait();
    if (run == 0) continue;  // warm-up
    for (std::size_t i = 0; i < calls_.size(); ++i)
      if (!steps_.steps[i].host) samples[i].push_back(microseconds(events[2 * i], events[2 * i + 1]));
  }
  std::vector<double> medians;
  double on_device = 0, on_host = 0;
  std::size_t device_steps = 0;
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    medians.push_back(median(samples[i]));
    const bool is_host = static_cast<bool>(steps_.steps[i].host);
    (is_host ? on_host : on_device) += medians.back();
    if (!is_host) ++device_steps;
  }
  if (device_steps == 0) return medians;
  const double whole = median(timed(alone_, profiled_runs)) - on_host;
  const double extra = (on_device - whole) / static_cast<double>(device_steps);
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (!steps_.steps[i].host) medians[i] = std::max(medians[i] - extra, 0.0);
  return medians;
}

std::int64_t Program::device_bytes() const {
  std::size_t bytes = arena_.size() + weights_.size();
  for (const Lane& lane : lanes_) bytes += lane.scratch.size() + lane.workspace.size() + lane.moved.size();
  for (const auto* list : {&inputs_, &outputs_})
    for (const DeviceBuffer& buffer : *list) bytes += buffer.size();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace taso::gpu::cuda
