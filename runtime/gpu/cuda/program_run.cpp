// Runs of a program: on its own memory or on that of a caller.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

#include "ops/core/error.h"
#include "runtime/gpu/cuda/device_data.h"
#include "runtime/gpu/cuda/median.h"
#include "runtime/gpu/cuda/program.h"

namespace taso::gpu::cuda {

namespace {

constexpr std::size_t warm_up_runs = 3, profiled_runs = 21;
/// Sets of addresses: those with graphs of their own, and those that are remembered until they come again.
constexpr std::size_t most_bound = 8, most_seen = 32;

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

}  // namespace

void Program::wait() const { require(cudaStreamSynchronize(stream_.get()), "a program"); }

void Program::run_on_host(const Placement& placement, std::size_t index, cudaStream_t stream) const {
  const Places& places = placement.places[index];
  const DeviceSteps::Step& step = steps_.steps[index];
  std::vector<std::vector<std::byte>> read, written;
  const auto fetched = [&](const cost::Call::Operand& operand, const std::byte* from) {
    std::vector<std::byte> lying(span_bytes(operand));
    require(cudaMemcpyAsync(lying.data(), from, lying.size(), cudaMemcpyDeviceToHost, stream), "a copy");
    require(cudaStreamSynchronize(stream), "a step on the host");
    return lying;
  };
  for (std::size_t i = 0; i < step.call.read.size(); ++i) {
    const cost::Call::Operand& operand = step.call.read[i];
    const Binding& binding = step.read[i];
    std::vector<std::byte> lying;
    if (binding.place == Binding::Place::weights) {  // the host has a copy of the weights
      const auto begin = weights_.at(binding.index)->on_host.begin() + binding.offset;
      lying.assign(begin, begin + static_cast<std::ptrdiff_t>(span_bytes(operand)));
    } else {
      lying = fetched(operand, places.read[i]);
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
      std::vector<std::byte> lying = fetched(operand, places.written[i]);
      rearrange(operand, lying.data(), written[i].data(), true);
      written[i] = std::move(lying);
    }
    require(cudaMemcpyAsync(places.written[i], written[i].data(), written[i].size(), cudaMemcpyHostToDevice, stream),
            "a copy");
  }
  require(cudaStreamSynchronize(stream), "a step on the host");
}

void Program::enqueue(const Placement& placement, const Way& way, cudaStream_t stream) const {
  for (const Segment& segment : way) {
    if (segment.is_host) {
      run_on_host(placement, segment.step, stream);
    } else {
      require(cudaGraphLaunch(segment.graph.get(), stream), "a graph");
    }
  }
}

Program::Ends Program::usable(std::span<const CallersMemory> inputs, std::span<const CallersMemory> outputs) const {
  const auto is_usable = [](const CallersMemory& memory, ElementType element) {
    return memory.is_on_device && memory.element == element &&
           reinterpret_cast<std::uintptr_t>(memory.data) % Alignments::usual == 0;
  };
  const auto overlap = [](const std::byte* a, std::int64_t bytes, const std::byte* b, std::int64_t others) {
    return std::less<>()(a, b + others) && std::less<>()(b, a + bytes);
  };
  Ends ends = own_;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (steps_.output_bytes[i] == 0 || !is_usable(outputs[i], steps_.output_elements[i])) continue;
    ends.outputs[i] = outputs[i].data;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (steps_.input_bytes[i] == 0 || !is_usable(inputs[i], steps_.input_elements[i])) continue;
    bool is_overwritten = false;  // by a step that may run before the last one that reads it
    for (std::size_t j = 0; j < outputs.size(); ++j)
      if (inputs[i].data != ends.outputs[j] || !is_in_place(i, j))
        is_overwritten =
            is_overwritten || overlap(inputs[i].data, steps_.input_bytes[i], ends.outputs[j], steps_.output_bytes[j]);
    if (!is_overwritten) ends.inputs[i] = inputs[i].data;
  }
  return ends;
}

bool Program::is_in_place(std::size_t input, std::size_t output) const {
  const DeviceSteps::InPlace pair{static_cast<std::uint32_t>(input), static_cast<std::uint32_t>(output)};
  return std::find(steps_.in_place.begin(), steps_.in_place.end(), pair) != steps_.in_place.end();
}

Program::Ends Program::only_in_place(const Ends& ends) const {
  Ends some = own_;
  for (const DeviceSteps::InPlace& pair : steps_.in_place) {
    if (ends.inputs[pair.input] != ends.outputs[pair.output]) continue;
    some.inputs[pair.input] = ends.inputs[pair.input];
    some.outputs[pair.output] = ends.outputs[pair.output];
  }
  return some;
}

const Program::Bound* Program::bound(const Ends& ends) {
  for (auto one = bound_.begin(); one != bound_.end(); ++one) {
    if (one->ends != ends) continue;
    bound_.splice(bound_.begin(), bound_, one);
    return &bound_.front();
  }
  // Capturing takes a millisecond, a copy microseconds: capture for memory that comes again.
  const auto before = std::find(seen_.begin(), seen_.end(), ends);
  if (before == seen_.end()) {
    if (seen_.size() == most_seen) seen_.erase(seen_.begin());
    seen_.push_back(ends);
    return nullptr;
  }
  seen_.erase(before);
  const std::lock_guard lock(libraries_.guard());
  if (bound_.size() == most_bound) {
    require(cudaEventSynchronize(last_.get()), "the last run");  // it may use the graph that is dropped
    bound_.pop_back();
  }
  Bound made{ends, placed(ends), {}};
  made.way = way(made.placement, fastest_, {});
  bound_.push_front(std::move(made));
  return &bound_.front();
}

void Program::bring(const CallersMemory& input, std::size_t index, cudaStream_t stream) const {
  const auto bytes = static_cast<std::size_t>(steps_.input_bytes[index]);
  std::byte* const to = inputs_[index].get();
  if (input.is_on_device && input.element != steps_.input_elements[index])
    return convert(stream, input.data, input.element, to, steps_.input_elements[index],
                   bytes / size_of(steps_.input_elements[index]));
  require(cudaMemcpyAsync(to, input.data, bytes, input.is_on_device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice,
                          stream),
          "an input");
}

void Program::fetch(const CallersMemory& output, std::size_t index, cudaStream_t stream) const {
  const auto bytes = static_cast<std::size_t>(steps_.output_bytes[index]);
  const std::byte* const from = outputs_[index].get();
  if (output.is_on_device && output.element != steps_.output_elements[index])
    return convert(stream, from, steps_.output_elements[index], output.data, output.element,
                   bytes / size_of(steps_.output_elements[index]));
  require(cudaMemcpyAsync(output.data, from, bytes,
                          output.is_on_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost, stream),
          "an output");
}

void Program::enqueue(std::span<const CallersMemory> inputs, std::span<const CallersMemory> outputs, void* stream) {
  if (inputs.size() != inputs_.size() || outputs.size() != outputs_.size())
    throw InputError("wrong number of inputs or outputs");
  const std::lock_guard lock(guard_);
  const DeviceGuard device(libraries_.device());
  auto* const queue = static_cast<cudaStream_t>(stream);
  // A run that the caller captures into a graph of its own has no place among the others: the caller orders it.
  cudaStreamCaptureStatus captured = cudaStreamCaptureStatusNone;
  require(cudaStreamIsCapturing(queue, &captured), "the caller's stream");
  const bool is_captured = captured != cudaStreamCaptureStatusNone;
  // The arena belongs to one run at a time.
  if (!is_captured && has_run_ && last_stream_ != stream)
    require(cudaStreamWaitEvent(queue, last_.get(), 0), "the last run");
  Ends ends = usable(inputs, outputs);
  const Bound* here = ends == own_ ? nullptr : bound(ends);
  // Small inputs may lie elsewhere in each run; what is written in place is large, and stays.
  if (const Ends some = only_in_place(ends); here == nullptr && some != own_ && some != ends) {
    here = bound(some);
    ends = some;
  }
  if (here == nullptr) ends = own_;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (steps_.input_bytes[i] > 0 && ends.inputs[i] == own_.inputs[i]) bring(inputs[i], i, queue);
  if (here != nullptr)
    enqueue(here->placement, here->way, queue);
  else
    enqueue(placement_, best(), queue);
  bool is_awaited = false;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (steps_.output_bytes[i] == 0 || ends.outputs[i] != own_.outputs[i]) continue;
    fetch(outputs[i], i, queue);
    is_awaited = is_awaited || !outputs[i].is_on_device;
  }
  if (is_captured) return;
  require(cudaEventRecord(last_.get(), queue), "the end of a run");
  last_stream_ = stream;
  has_run_ = true;
  if (is_awaited) require(cudaStreamSynchronize(queue), "a run");
}

std::vector<std::vector<std::byte>> Program::run(std::span<const std::span<const std::byte>> inputs) {
  if (inputs.size() != inputs_.size()) throw InputError("wrong number of inputs");
  const std::lock_guard lock(guard_);
  const DeviceGuard device(libraries_.device());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (static_cast<std::int64_t>(inputs[i].size()) != steps_.input_bytes[i])
      throw InputError("an input has the wrong size");
    if (inputs[i].empty()) continue;
    require(
        cudaMemcpyAsync(inputs_[i].get(), inputs[i].data(), inputs[i].size(), cudaMemcpyHostToDevice, stream_.get()),
        "an input");
  }
  enqueue(placement_, best(), stream_.get());
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

std::vector<double> Program::time(std::size_t runs) {
  const std::lock_guard lock(guard_);
  const DeviceGuard device(libraries_.device());
  return timed(best(), runs);
}

std::vector<double> Program::timed(const Way& way, std::size_t runs) const {
  for (std::size_t i = 0; i < warm_up_runs; ++i) enqueue(placement_, way, stream_.get());
  std::vector<Event> begins, ends;
  for (std::size_t i = 0; i < runs; ++i) {
    begins.push_back(make_event());
    ends.push_back(make_event());
  }
  for (std::size_t i = 0; i < runs; ++i) {
    require(cudaEventRecord(begins[i].get(), stream_.get()), "an event");
    enqueue(placement_, way, stream_.get());
    require(cudaEventRecord(ends[i].get(), stream_.get()), "an event");
  }
  wait();
  std::vector<double> times;
  for (std::size_t i = 0; i < runs; ++i) times.push_back(microseconds(begins[i], ends[i]));
  return times;
}

std::vector<double> Program::profile() {
  const std::scoped_lock lock(guard_, libraries_.guard());
  const DeviceGuard device(libraries_.device());
  // Events in the graphs take time themselves. Their overhead is spread evenly, so that the steps add up to a whole
  // run.
  std::vector<Event> events;
  for (std::size_t i = 0; i < 2 * calls_.size(); ++i) events.push_back(make_event());
  const Way with_events = way(placement_, in_sequence(), events);
  std::vector<std::vector<double>> samples(calls_.size());
  for (std::size_t run = 0; run < profiled_runs; ++run) {
    for (const Segment& segment : with_events) {
      if (!segment.is_host) {
        require(cudaGraphLaunch(segment.graph.get(), stream_.get()), "a graph");
        continue;
      }
      wait();
      const auto begin = std::chrono::steady_clock::now();
      run_on_host(placement_, segment.step, stream_.get());
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

std::vector<KernelBinary> Program::binaries() const {
  std::map<std::string, const KernelBinary*> all;
  for (const PreparedCall& call : calls_)
    for (const auto& launch : call.launches)
      if (const KernelBinary* const binary = launch->binary()) all.emplace(binary->key, binary);
  std::vector<KernelBinary> list;
  for (const auto& [key, binary] : all) list.push_back(*binary);
  return list;
}

std::int64_t Program::device_bytes() const {
  // What several programs share counts in part for each.
  std::size_t bytes = arena_.size();
  for (const auto& block : weights_) bytes += block->on_device.size() / static_cast<std::size_t>(block.use_count());
  for (const Lane& lane : lanes_) bytes += lane.scratch.size() + lane.workspace.size() + lane.moved.size();
  for (const auto* list : {&inputs_, &outputs_})
    for (const DeviceBuffer& buffer : *list) bytes += buffer.size();
  return static_cast<std::int64_t>(bytes);
}

}  // namespace taso::gpu::cuda
