#include "cost/cuda/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>

#include "cost/cuda/device_data.h"
#include "cost/source/space.h"
#include "ops/error.h"

namespace taso::cuda {

namespace {

constexpr std::size_t warm_up_runs = 3, profiled_runs = 21;

double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

std::size_t element_count(const Call::Operand& operand) { return static_cast<std::size_t>(count(operand.extents)); }

/// Moves the elements of an operand from where they lie to a dense copy, or back.
void rearrange(const Call::Operand& operand, std::byte* lying, std::byte* dense, bool is_back) {
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

/// What an address is a multiple of, as far as it matters. Buffers themselves begin at multiples of more.
std::int64_t alignment(const Binding& binding) { return std::gcd(binding.offset, Alignments::usual); }

/// Whether an operand begins where kernels take it for granted that it does.
bool is_well_placed(const Binding& binding, const Call::Operand& operand) {
  return alignment(binding) % source::alignment_of(operand) == 0;
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
  place_steps();
  fill_inputs();
  // Once without a graph: some libraries load their kernels when they are launched first, which a capture forbids.
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (!steps_.steps[i].host) launch(i);
  wait();
  segments_ = segments({});
  for (std::size_t first = 0; first < calls_.size();) {
    std::size_t end = first;
    while (end < calls_.size() && !steps_.steps[end].host) ++end;
    if (end > first) {
      launches_ += kernels_in(capture(stream_.get(), [&] {
        for (std::size_t i = first; i < end; ++i) launch(i);
      }));
    }
    first = end + 1;
  }
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

void Program::launch(std::size_t step) const {
  for (const Moved& one : moved_[step])
    require(cudaMemcpyAsync(one.copy, one.home, one.bytes, cudaMemcpyDeviceToDevice, stream_.get()), "a copy");
  calls_[step].launch(stream_.get(), places_[step]);
  for (const Moved& one : moved_[step])
    if (one.is_written)
      require(cudaMemcpyAsync(one.home, one.copy, one.bytes, cudaMemcpyDeviceToDevice, stream_.get()), "a copy");
}

void Program::choose(const std::function<Tuner&()>& tuner) {
  for (const DeviceSteps::Step& step : steps_.steps)
    if (!step.host) libraries_.expect(step.call, step.choice);
  for (const DeviceSteps::Step& step : steps_.steps) {
    check(step.read.size() == step.call.read.size() && step.written.size() == step.call.written.size(),
          "a place for each operand");
    if (step.host) {
      calls_.emplace_back();
      choices_.emplace_back("host");
      continue;
    }
    Alignments alignments;
    const auto listed = [](const std::vector<Binding>& bindings, const std::vector<Call::Operand>& operands) {
      std::vector<std::int64_t> list;
      for (std::size_t i = 0; i < bindings.size(); ++i)
        list.push_back(is_well_placed(bindings[i], operands[i]) ? alignment(bindings[i]) : Alignments::usual);
      return list;
    };
    alignments.read = listed(step.read, step.call.read);
    alignments.written = listed(step.written, step.call.written);
    std::optional<PreparedCall> prepared;
    if (!step.choice.empty()) {
      try {
        prepared = prepare_choice(libraries_, step.call, alignments, step.choice);
      } catch (const EnvironmentError&) {  // of another version, or for better aligned memory: it is chosen anew
      }
    }
    if (!prepared) {
      const Measurement found = tuner().measure(step.call, alignments);
      if (!found.trouble.empty())
        throw EnvironmentError(fmt::format("the GPU cannot do {}: {}", text_of(step.call), found.trouble));
      prepared = prepare_choice(libraries_, step.call, alignments, found.choice);
    }
    choices_.push_back(prepared->choice);
    calls_.push_back(std::move(*prepared));
  }
}

void Program::place_steps() {
  std::size_t scratch = 1, workspace = 1;
  for (const PreparedCall& call : calls_) {
    scratch = std::max(scratch, call.scratch_bytes);
    workspace = std::max(workspace, call.workspace_bytes());
  }
  scratch_ = DeviceBuffer(scratch);
  workspace_ = DeviceBuffer(workspace);
  std::size_t most_moved = 1;
  for (const DeviceSteps::Step& step : steps_.steps) {
    Places where;
    std::vector<Moved> moved;
    std::size_t taken = 0;
    const auto placed = [&](const std::vector<Binding>& bindings, const std::vector<Call::Operand>& operands,
                            bool is_written) {
      std::vector<std::byte*> list;
      for (std::size_t i = 0; i < bindings.size(); ++i) {
        list.push_back(address(bindings[i]));
        if (step.host || is_well_placed(bindings[i], operands[i]) || span_bytes(operands[i]) == 0) continue;
        // Where the copies begin is not known yet: offsets first.
        moved.push_back({list.back(), reinterpret_cast<std::byte*>(taken), span_bytes(operands[i]), is_written, i});
        taken += (span_bytes(operands[i]) + 255) / 256 * 256;
      }
      return list;
    };
    where.read = placed(step.read, step.call.read, false);
    where.written = placed(step.written, step.call.written, true);
    where.scratch = scratch_.get();
    where.workspace = workspace_.get();
    most_moved = std::max(most_moved, taken);
    places_.push_back(std::move(where));
    moved_.push_back(std::move(moved));
  }
  moved_memory_ = DeviceBuffer(most_moved);
  for (std::size_t step = 0; step < moved_.size(); ++step) {
    for (Moved& one : moved_[step]) {
      one.copy = moved_memory_.get() + reinterpret_cast<std::size_t>(one.copy);
      (one.is_written ? places_[step].written : places_[step].read)[one.operand] = one.copy;
    }
  }
}

/// So that times are never those of zeros.
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

std::vector<Program::Segment> Program::segments(const std::vector<Event>& events) const {
  std::vector<Segment> list;
  const auto record = [&](std::size_t event) {
    if (!events.empty())
      require(cudaEventRecordWithFlags(events[event].get(), stream_.get(), cudaEventRecordExternal), "an event");
  };
  for (std::size_t first = 0; first < calls_.size();) {
    Segment segment;
    segment.first = first;
    segment.end = first + 1;
    segment.is_host = static_cast<bool>(steps_.steps[first].host);
    if (!segment.is_host) {
      while (segment.end < calls_.size() && !steps_.steps[segment.end].host) ++segment.end;
      const Graph graph = capture(stream_.get(), [&] {
        for (std::size_t i = segment.first; i < segment.end; ++i) {
          record(2 * i);
          launch(i);
          record(2 * i + 1);
        }
      });
      segment.graph = instantiate(graph);
      require(cudaGraphUpload(segment.graph.get(), stream_.get()), "a graph");
    }
    first = segment.end;
    list.push_back(std::move(segment));
  }
  wait();
  return list;
}

void Program::wait() const { require(cudaStreamSynchronize(stream_.get()), "a program"); }

void Program::run_on_host(std::size_t index) const {
  const DeviceSteps::Step& step = steps_.steps[index];
  std::vector<std::vector<std::byte>> read, written;
  const auto fetched = [&](const Call::Operand& operand, const std::byte* from) {
    std::vector<std::byte> lying(span_bytes(operand));
    require(cudaMemcpyAsync(lying.data(), from, lying.size(), cudaMemcpyDeviceToHost, stream_.get()), "a copy");
    wait();
    return lying;
  };
  for (std::size_t i = 0; i < step.call.read.size(); ++i) {
    const Call::Operand& operand = step.call.read[i];
    std::vector<std::byte> lying = fetched(operand, places_[index].read[i]);
    if (!is_dense(operand.extents, operand.strides)) {
      std::vector<std::byte> dense(element_count(operand) * size_of(operand.element));
      rearrange(operand, lying.data(), dense.data(), false);
      lying = std::move(dense);
    }
    read.push_back(std::move(lying));
  }
  for (const Call::Operand& operand : step.call.written)
    written.emplace_back(element_count(operand) * size_of(operand.element));
  const std::vector<std::span<const std::byte>> from(read.begin(), read.end());
  const std::vector<std::span<std::byte>> to(written.begin(), written.end());
  step.host(from, to);
  for (std::size_t i = 0; i < step.call.written.size(); ++i) {
    const Call::Operand& operand = step.call.written[i];
    if (!is_dense(operand.extents, operand.strides)) {  // what lies in between belongs to others
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

void Program::enqueue(const std::vector<Segment>& segments) const {
  for (const Segment& segment : segments) {
    if (segment.is_host) {
      run_on_host(segment.first);
    } else {
      require(cudaGraphLaunch(segment.graph.get(), stream_.get()), "a graph");
    }
  }
}

std::vector<std::vector<std::byte>> Program::run(std::span<const std::span<const std::byte>> inputs) {
  if (inputs.size() != inputs_.size()) throw InputError("another number of inputs than the program has");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (static_cast<std::int64_t>(inputs[i].size()) != steps_.input_bytes[i])
      throw InputError("an input of another size than the program has");
    if (inputs[i].empty()) continue;
    require(
        cudaMemcpyAsync(inputs_[i].get(), inputs[i].data(), inputs[i].size(), cudaMemcpyHostToDevice, stream_.get()),
        "an input");
  }
  enqueue(segments_);
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

std::vector<double> Program::time(std::size_t runs) {
  for (std::size_t i = 0; i < warm_up_runs; ++i) enqueue(segments_);
  std::vector<Event> begins, ends;
  for (std::size_t i = 0; i < runs; ++i) {
    begins.push_back(make_event());
    ends.push_back(make_event());
  }
  for (std::size_t i = 0; i < runs; ++i) {
    require(cudaEventRecord(begins[i].get(), stream_.get()), "an event");
    enqueue(segments_);
    require(cudaEventRecord(ends[i].get(), stream_.get()), "an event");
  }
  wait();
  std::vector<double> times;
  for (std::size_t i = 0; i < runs; ++i) times.push_back(microseconds(begins[i], ends[i]));
  return times;
}

std::vector<double> Program::profile() {
  // Events in the graphs take time of their own. What they add is spread evenly, so that the steps add up to a whole run.
  std::vector<Event> events;
  for (std::size_t i = 0; i < 2 * calls_.size(); ++i) events.push_back(make_event());
  const std::vector<Segment> with_events = segments(events);
  std::vector<std::vector<double>> samples(calls_.size());
  for (std::size_t run = 0; run < profiled_runs; ++run) {
    for (const Segment& segment : with_events) {
      if (!segment.is_host) {
        require(cudaGraphLaunch(segment.graph.get(), stream_.get()), "a graph");
        continue;
      }
      wait();
      const auto begin = std::chrono::steady_clock::now();
      run_on_host(segment.first);
      const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
      samples[segment.first].push_back(spent.count());
    }
    wait();
    if (run == 0) continue;  // warms up
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
  const double whole = median(time(profiled_runs)) - on_host;
  const double extra = (on_device - whole) / static_cast<double>(device_steps);
  for (std::size_t i = 0; i < calls_.size(); ++i)
    if (!steps_.steps[i].host) medians[i] = std::max(medians[i] - extra, 0.0);
  return medians;
}

std::int64_t Program::device_bytes() const {
  std::size_t bytes = arena_.size() + weights_.size() + scratch_.size() + workspace_.size() + moved_memory_.size();
  for (const auto* list : {&inputs_, &outputs_})
    for (const DeviceBuffer& buffer : *list) bytes += buffer.size();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace taso::cuda
