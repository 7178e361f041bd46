#include "runtime/session/session.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "onnx/model/external_data.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "ops/text/characters.h"
#include "runtime/host/overwriting.h"
#include "runtime/session/run_form.h"
#include "runtime/session/shared_gpu.h"

namespace taso::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Passes on what happens while kernels are measured.
class SessionWatcher : public pricing::Watcher {
 public:
  explicit SessionWatcher(const SessionOptions& options) : options_(options) {}
  void note(std::string_view text) override { options_.say(LogLevel::detail, std::string(text)); }
  bool goes_on() override { return !options_.is_cancelled || !options_.is_cancelled(); }

 private:
  const SessionOptions& options_;
};

std::size_t bytes_of(ElementType element, const Extents& extents) {
  std::int64_t bytes = static_cast<std::int64_t>(size_of(element));
  for (const std::int64_t extent : extents)
    if (__builtin_mul_overflow(bytes, extent, &bytes))
      throw BadTensor(fmt::format("a tensor of the shape [{}] is too large", fmt::join(extents, ", ")));
  return static_cast<std::size_t>(bytes);
}

/// The tensor as an array, without a copy if it is aligned.
Array array_of(const RunTensor& tensor) {
  const std::size_t bytes = bytes_of(tensor.element, tensor.extents);
  if (bytes > 0 && reinterpret_cast<std::uintptr_t>(tensor.data) % size_of(tensor.element) == 0)
    return Array::view(tensor.element, tensor.extents, tensor.data, nullptr);
  Array copy(tensor.element, tensor.extents);
  if (bytes > 0) std::memcpy(copy.mutable_data(), tensor.data, bytes);
  return copy;
}

bool overlap(const std::byte* a, std::size_t bytes, const std::byte* b, std::size_t others) {
  return bytes > 0 && others > 0 && std::less<>()(a, b + others) && std::less<>()(b, a + bytes);
}

bool lies_in(const Array& array, const RunTensor& memory) {
  return std::less_equal<>()(memory.data, array.data()) &&
         std::less<>()(array.data(), memory.data + bytes_of(memory.element, memory.extents));
}

Array copy_of(const Array& array) {
  Array copy(array.type(), array.extents());
  if (array.bytes() > 0) std::memcpy(copy.mutable_data(), array.data(), array.bytes());
  return copy;
}

std::string shape_text(const Extents& extents) { return fmt::format("[{}]", fmt::join(extents, ", ")); }

/// Throws unless the caller gave enough memory for this output, apart from that of the outputs before it.
void need_room(const std::vector<Port>& ports, std::span<const RunTensor> outputs, std::size_t number) {
  const RunTensor& output = outputs[number];
  const std::size_t bytes = bytes_of(output.element, output.extents);
  if (output.data == nullptr) return;
  if (output.capacity < bytes)
    throw BadTensor(fmt::format("the output '{}' has {} bytes of memory, but its shape {} needs {}",
                                on_one_line(ports[number].name), output.capacity, shape_text(output.extents), bytes));
  for (std::size_t i = 0; i < number; ++i) {
    const RunTensor& other = outputs[i];
    if (other.data != nullptr && overlap(output.data, bytes, other.data, bytes_of(other.element, other.extents)))
      throw BadTensor(fmt::format("the outputs '{}' and '{}' overlap in memory", on_one_line(ports[i].name),
                                  on_one_line(ports[number].name)));
  }
}

/// Throws if a node cannot run: told now, and not by the first run.
void check_obstacles(const Graph& graph) {
  for (const Node* node : graph.nodes())
    if (const Opaque* opaque = node->as_opaque()) {
      const std::string obstacle = opaque->body ? opaque->body->obstacle() : "unknown operator";
      if (!obstacle.empty()) throw InputError(fmt::format("cannot run {}: {}", opaque->kind, obstacle));
    }
}

/// The extents of an output of an example, open where they are declared so, unless they are the capacity: others may be
/// computed from the sizes of the example.
Shape with_open_sizes(const proto::ValueInfoProto& declared, const Shape& example, std::int64_t capacity) {
  const Shape names = onnx::declared_type(declared).shape.value_or(Shape());
  Shape shape = example;
  for (std::size_t axis = 0; axis < std::min(shape.size(), names.size()); ++axis)
    if (!names[axis].is_static() && shape[axis] != Dim(capacity)) shape[axis] = names[axis];
  return shape;
}

}  // namespace

Session::Session(onnx::Model model, SessionOptions options, std::optional<onnx::Model> source)
    : options_(std::move(options)), model_(std::move(model)), source_(std::move(source)), process_(::getpid()) {
  const auto start = Clock::now();
  fix_past();
  read();
  if (options_.device != SessionOptions::Device::cpu) open_gpu(nullptr);
  tell_ready(seconds_since(start), options_.precision.has_value());
}

Session::Session(Engine engine, SessionOptions options)
    : options_(std::move(options)), model_(std::move(engine.model)), process_(::getpid()) {
  const auto start = Clock::now();
  const bool has_precision = options_.precision.has_value();
  if (!has_precision) options_.precision = engine.precision;
  has_source_ = !engine.is_searched;
  if (options_.past_capacity > 0) throw InputError("an engine file is run as it is: only a model gets a past_capacity");
  read();
  if (options_.device != SessionOptions::Device::cpu) open_gpu(&engine);
  tell_ready(seconds_since(start), has_precision);
}

void Session::tell_ready(double seconds, bool has_precision) const {
  if (!is_on_gpu()) {
    std::vector<std::string> unused;
    if (has_precision && precision() != cost::Precision::fp32) unused.emplace_back("precision");
    if (options_.measures) unused.emplace_back("measure");
    if (options_.lanes != gpu::usual_lanes) unused.emplace_back("streams");
    if (options_.most_device_bytes > 0) unused.emplace_back("memory");
    if (options_.memory.allocate) unused.emplace_back("the allocator");
    if (!unused.empty())
      options_.say(LogLevel::warning, fmt::format("without effect on the CPU: {}", fmt::join(unused, ", ")));
  }
  options_.say(LogLevel::info, fmt::format("ready on {} after {:.2f} s", device_, seconds));
}

void Session::fix_past() {
  if (options_.past_capacity == 0) return;
  model_.validate();
  growing::GrowingPast past(std::move(model_), options_.past_capacity);
  model_ = past.is_open() ? past.declared() : past.derived({});
  if (past.is_open()) pasts_ = std::make_unique<growing::DerivedPasts>(std::move(past), options_.most_plans);
}

void Session::read_open_past() {
  const Sizes& trial = pasts_->past().trial();
  const auto example = pasts_->find(trial);
  graph_ = {example, &example->graph};
  check_obstacles(*graph_);
  const auto& outputs = model_.proto().graph().output();
  for (std::size_t i = 0; i < graph_->outputs.size(); ++i) {
    const proto::ValueInfoProto& declared = outputs.Get(static_cast<int>(i));
    Type type = graph_->outputs[i].type();
    if (type.shape) type.shape = with_open_sizes(declared, *type.shape, options_.past_capacity);
    outputs_.push_back(port_of(declared, std::move(type)));
  }
}

void Session::read() {
  model_.validate();
  past_length_ = growing::past_length_of(model_);
  signature_ = std::make_unique<Signature>(model_);
  variants_ = std::make_unique<Variants>(*signature_, options_.most_plans);
  if (pasts_) return read_open_past();
  const auto is_sized = [](const Port& port) { return port.type.shape && static_extents(*port.type.shape); };
  if (source_ && std::all_of(inputs().begin(), inputs().end(), is_sized)) source_.reset();  // nobody will ask for it
  if (source_) source_->validate();
  edit_ = std::make_unique<onnx::GraphEdit>(model_);
  bring_into_run_form(*edit_);
  graph_ = std::make_shared<const Graph>(edit_->imported()->graph);
  check_obstacles(*graph_);
  const auto& outputs = model_.proto().graph().output();
  for (std::size_t i = 0; i < graph_->outputs.size(); ++i)
    outputs_.push_back(port_of(outputs.Get(static_cast<int>(i)), graph_->outputs[i].type()));
}

void Session::open_gpu(Engine* engine) {
  std::string trouble;
  std::shared_ptr<gpu::Accelerator> gpu = shared_gpu(options_.device_number, trouble);
  const bool is_demanded = options_.device == SessionOptions::Device::cuda;
  if (!gpu) {
    if (is_demanded) throw EnvironmentError(fmt::format("no GPU can be used: {}", trouble));
    options_.say(LogLevel::info, fmt::format("no GPU can be used: {}", trouble));
    return;
  }
  device_ = gpu->device();
  if (gpu->capability() < 90)
    options_.say(LogLevel::warning,
                 fmt::format("{} has compute capability {}.{}: kernels of taso that need 9.0 are left out", device_,
                             gpu->capability() / 10, gpu->capability() % 10));
  pricing::PricingOptions priced{true, options_.prices, precision(), true, options_.measures, options_.lanes};
  if (engine != nullptr && (engine->device != device_ || engine->versions != gpu->versions())) {
    const std::string where =
        engine->device.empty() ? "without a GPU" : fmt::format("on {}, {}", engine->device, engine->versions);
    options_.say(LogLevel::warning,
                 fmt::format("the engine file was made {}, and this is {}, {}: kernels are chosen anew", where, device_,
                             gpu->versions()));
  } else if (engine != nullptr) {
    priced.given = &engine->prices;
    if (options_.has_trust) gpu->know(std::move(engine->kernels));
  }
  priced.with_other_versions = true;
  pricing_ = std::make_unique<pricing::Pricing>(priced, std::move(gpu), std::make_unique<SessionWatcher>(options_));
  if (const std::string& other = pricing_->other_versions(); !other.empty())
    options_.say(LogLevel::info,
                 fmt::format("using the prices of {}; this machine has {}", other, pricing_->gpu()->versions()));
  const auto is_sized = [](const Value& input) { return input.type().shape && static_extents(*input.type().shape); };
  if (pasts_ || !std::all_of(graph_->inputs.begin(), graph_->inputs.end(), is_sized))
    return;  // planned when sizes are known
  try {
    plan_for({});
  } catch (const InputError& error) {
    if (is_demanded) throw;
    options_.say(LogLevel::warning, fmt::format("the GPU is not used: {}", error.what()));
    pricing_.reset();
    device_ = "CPU";
  }
}

Session::Shaped Session::shaped(std::span<const RunTensor> given) const {
  if (given.size() != inputs().size())
    throw BadTensor(fmt::format("the model has {} inputs, not {}", inputs().size(), given.size()));
  Shaped found;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Port& port = inputs()[i];
    if (given[i].is_left_out && !port.is_optional)
      throw BadTensor(fmt::format("the input '{}' has no default: it cannot be left out", on_one_line(port.name)));
    if (given[i].is_left_out) continue;
    learn_sizes(port.name, port.type.shape, given[i].extents, found.sizes);
    if (port.is_optional) found.unusual.given.insert(port.name);
  }
  for (const auto& [name, size] : found.sizes)
    if (size == 0) found.unusual.empty.insert(name);
  return found;
}

std::shared_ptr<const growing::DerivedPast> Session::derived_past(const Shaped& shaped) const {
  if (!shaped.unusual.given.empty()) throw BadTensor("with a past_capacity, inputs with a default are left out");
  if (!shaped.unusual.empty.empty()) throw BadTensor("with a past_capacity, no size is 0");
  try {
    return pasts_->find(shaped.sizes);
  } catch (const InputError& error) {  // some sizes were fine when the model was loaded
    throw BadTensor(error.what());
  }
}

std::shared_ptr<const Graph> Session::graph_for(const Shaped& shaped) const {
  if (pasts_) {
    const auto made = derived_past(shaped);
    return {made, &made->graph};
  }
  if (shaped.unusual.is_usual()) return graph_;
  if (shaped.unusual.empty.empty()) return variants_->find(model_, shaped.unusual);
  if (!has_source_)
    throw InputError(
        "a search rewrote the model of this engine file, for sizes of 1 and more: for sizes of 0, load the "
        "model itself");
  return variants_->find(source_ ? *source_ : model_, shaped.unusual);
}

std::vector<std::optional<Extents>> Session::infer(std::span<const RunTensor> given) const {
  const Shaped found = shaped(given);
  const std::shared_ptr<const Graph> graph = graph_for(found);
  std::vector<std::optional<Extents>> all;
  for (std::size_t i = 0; i < graph->outputs.size(); ++i) all.push_back(output_extents(*graph, i, found.sizes));
  return all;
}

void Session::warm_up(std::span<const RunTensor> given) {
  const Shaped found = shaped(given);
  check_process();
  if (is_on_gpu())
    plan_for(found);
  else
    graph_for(found);
}

std::shared_ptr<Session::SizedModel> Session::plan_for(const Shaped& shaped) {
  const std::lock_guard lock(planning_);
  const auto found = std::find_if(plans_.begin(), plans_.end(), [&](const auto& one) { return one->shaped == shaped; });
  if (found != plans_.end()) {
    plans_.splice(plans_.begin(), plans_, found);
    return plans_.front();
  }
  const auto start = Clock::now();
  if (options_.is_cancelled && options_.is_cancelled()) throw Cancelled();
  plans_.push_front(make_plan(shaped));
  make_room();
  options_.say(LogLevel::info, fmt::format("planned in {:.2f} s", seconds_since(start)));
  return plans_.front();
}

void Session::plan_on_gpu(SizedModel& sized) {
  const cost::DimensionSizes of = [kept = &sized.shaped.sizes](std::string_view name) {
    const auto size = kept->find(name);
    return size == kept->end() ? 1 : size->second;
  };
  pricing_->set_cache_residency(*sized.graph, of);
  auto model = std::make_unique<GpuModel>(*sized.graph, *pricing_, of);
  if (options_.is_cancelled && options_.is_cancelled()) throw Cancelled();
  model->prepare(options_.lanes, options_.memory, &weights_);
  sized.model = std::move(model);
}

void Session::plan_for_numbers(SizedModel& sized) {
  SizedModel other;
  other.shaped = sized.shaped;
  try {
    other.graph = variants_->with_sizes(model_, sized.shaped.sizes);
    plan_on_gpu(other);
  } catch (const InputError&) {
    if (!sized.model) throw;
    return;
  }
  if (sized.model && sized.model->on_host().size() <= other.model->on_host().size()) return;
  std::swap(sized.graph, other.graph);
  std::swap(sized.model, other.model);
}

std::shared_ptr<Session::SizedModel> Session::make_plan(const Shaped& shaped) {
  auto made = std::make_shared<SizedModel>();
  made->shaped = shaped;
  made->graph = graph_for(shaped);
  const auto plan_on_host = [&](const std::string& why) {
    made->model.reset();
    made->on_host =
        host_program(*made->graph, shaped.sizes, *pricing_->gpu(), precision(), options_.threads, options_.memory);
    options_.say(LogLevel::warning, fmt::format("the host computes the model for these sizes: {}", why));
    return made;
  };
  if (!shaped.unusual.empty.empty()) return plan_on_host("a size is 0");
  try {
    plan_on_gpu(*made);
  } catch (const InputError& error) {
    if (!shaped.unusual.is_usual()) return plan_on_host(error.what());
    if (shaped.sizes.empty() || pasts_) throw;
  }
  // What the model computes of unknown sizes is left to the host, or makes a plan impossible; with numbers it is known.
  const bool is_usual = shaped.unusual.is_usual() && !shaped.sizes.empty() && !pasts_;
  if (is_usual && (!made->model || !made->model->on_host().empty())) plan_for_numbers(*made);
  if (const auto& on_host = made->model->on_host(); !on_host.empty())
    options_.say(LogLevel::warning,
                 fmt::format("without a kernel, and computed by the host: {}", fmt::join(on_host, ", ")));
  if (const double share = made->model->measured_share(); share < 0.9 && !options_.measures)
    options_.say(
        LogLevel::warning,
        fmt::format("{:.0f} % of the time is predicted, not measured here: the plan may be slower than it could be",
                    100 * (1 - share)));
  return made;
}

void Session::make_room() {
  const auto bytes = [&] {
    std::size_t sum = 0;
    for (const auto& one : plans_) sum += static_cast<std::size_t>(one->program().device_bytes());
    return sum;
  };
  const std::size_t most = options_.most_device_bytes;
  while (plans_.size() > options_.most_plans || (plans_.size() > 1 && most > 0 && bytes() > most)) plans_.pop_back();
  if (most == 0 || bytes() <= most) return;
  const std::size_t needed = bytes();
  plans_.clear();
  throw EnvironmentError(
      fmt::format("the model needs {} bytes of device memory, more than the limit of {}", needed, most));
}

void Session::check_process() const {
  // CUDA does not survive a fork. On the host nothing is lost: loops go on without the threads of the parent.
  if (is_on_gpu() && ::getpid() != process_)
    throw EnvironmentError("the process was forked after the model was loaded: load it in the child");
}

void Session::run(std::span<const RunTensor> given, std::span<RunTensor> outputs, void* stream) {
  check_process();
  if (outputs.size() != outputs_.size())
    throw BadTensor(fmt::format("the model has {} outputs, not {}", outputs_.size(), outputs.size()));
  check_inputs(given);
  const Shaped found = shaped(given);
  check_past(found, given);
  std::vector<RunTensor> used;
  for (const RunTensor& input : given)
    if (!input.is_left_out) used.push_back(input);
  if (is_on_gpu()) return run_on_gpu(found, used, outputs, stream);
  const auto on_host = [](const auto& list, const std::vector<Port>& ports) {
    for (std::size_t i = 0; i < list.size(); ++i)
      if (list[i].is_on_device)
        throw BadTensor(fmt::format("'{}' is on a device, but the model runs on the host", on_one_line(ports[i].name)));
  };
  on_host(given, inputs());
  on_host(outputs, outputs_);
  run_on_host(found, used, outputs);
}

void Session::check_inputs(std::span<const RunTensor> given) const {
  for (std::size_t i = 0; i < std::min(given.size(), inputs().size()); ++i) {
    const RunTensor& input = given[i];
    const ElementType element = inputs()[i].type.element;
    const std::string name = on_one_line(inputs()[i].name);
    if (input.is_left_out) continue;  // refused with the shape if it must not be
    if (element == ElementType::undefined)
      throw BadTensor(fmt::format("the input '{}' has a type that cannot be run", name));
    if (input.element != element)
      throw BadTensor(
          fmt::format("the input '{}' has the type {}, not {}", name, name_of(element), name_of(input.element)));
    const bool has_negative = std::any_of(input.extents.begin(), input.extents.end(), [](auto one) { return one < 0; });
    if (has_negative) continue;  // refused with the shape
    if (input.data == nullptr && bytes_of(input.element, input.extents) > 0)
      throw BadTensor(fmt::format("the input '{}' has no memory", name));
    if (input.capacity < bytes_of(input.element, input.extents))
      throw BadTensor(fmt::format("the input '{}' has {} bytes of memory, but its shape {} needs {}", name,
                                  input.capacity, shape_text(input.extents), bytes_of(input.element, input.extents)));
  }
}

void Session::check_past(const Shaped& shaped, std::span<const RunTensor> given) const {
  if (!pasts_ && !past_length_) return;
  const growing::PastLength length = pasts_ ? derived_past(shaped)->length : *past_length_;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (inputs()[i].name != length.input || given[i].element != ElementType::int64) continue;
    const std::string name = on_one_line(length.input);
    if (given[i].is_on_device) throw BadTensor(fmt::format("'{}' must be in memory of the host", name));
    const std::vector<std::int64_t> told = array_of(given[i]).integers();
    const std::int64_t rows = told.size() == 1 ? told[0] : -1;
    if (rows < 0 || rows > length.most)
      throw BadTensor(
          fmt::format("'{}' is {}: with the new rows, there is room for a past of 0 to {}", name, rows, length.most));
  }
}

std::optional<Extents> Session::output_extents(const Graph& graph, std::size_t output, const Sizes& sizes) {
  const Type& type = graph.outputs[output].type();
  if (!type.shape) return std::nullopt;
  Extents extents;
  for (const Dim& dim : *type.shape) extents.push_back(size_of(dim, sizes).value_or(-1));
  return extents;
}

bool Session::may_overwrite(const Graph& graph, const Sizes& sizes, std::span<const RunTensor> used, std::size_t input,
                            std::span<const RunTensor> outputs) {
  const RunTensor& one = used[input];
  const std::size_t bytes = bytes_of(one.element, one.extents);
  for (std::size_t i = 0; i < used.size(); ++i)
    if (i != input && overlap(used[i].data, bytes_of(used[i].element, used[i].extents), one.data, bytes)) return false;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].data == one.data && outputs[i].capacity >= bytes)
      return graph.outputs[i].type().element == one.element && output_extents(graph, i, sizes) == one.extents;
  return false;
}

void Session::run_on_host(const Shaped& shaped, std::span<const RunTensor> used, std::span<RunTensor> outputs) const {
  const std::shared_ptr<const Graph> graph = graph_for(shaped);
  std::vector<Array> arrays;
  std::vector<Overwritable> overwritable;
  for (std::size_t i = 0; i < used.size(); ++i) {
    arrays.push_back(array_of(used[i]));
    if (arrays[i].data() != used[i].data || !may_overwrite(*graph, shaped.sizes, used, i, outputs)) continue;
    overwritable.push_back({used[i].data, std::make_shared<const char>()});
    arrays[i] = Array::view(used[i].element, used[i].extents, used[i].data, overwritable.back().owner);
  }
  std::vector<Array> results = interpret_in_place(*graph, arrays, {options_.threads}, overwritable);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].element = results[i].type();
    outputs[i].extents = results[i].extents();
    need_room(outputs_, outputs, i);
    // A result may be an input, which the next results overwrite or the caller changes; or be in its place already.
    if (results[i].data() != outputs[i].data &&
        std::any_of(used.begin(), used.end(), [&](const RunTensor& input) { return lies_in(results[i], input); }))
      results[i] = copy_of(results[i]);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].data == nullptr)
      outputs[i].made = std::move(results[i]);
    else if (results[i].bytes() > 0 && results[i].data() != outputs[i].data)
      std::memcpy(outputs[i].data, results[i].data(), results[i].bytes());
  }
}

void Session::run_on_gpu(const Shaped& shaped, std::span<const RunTensor> used, std::span<RunTensor> outputs,
                         void* stream) {
  const std::shared_ptr<SizedModel> plan = plan_for(shaped);
  std::vector<gpu::CallersMemory> given, taken;
  std::vector<Array> kept;  // what is copied from and to the host
  for (const RunTensor& input : used) {
    given.push_back({input.data, input.is_on_device, input.element});
    const ElementType stored = cost::stored(input.element, precision());
    if (input.is_on_device || stored == input.element || input.data == nullptr) continue;
    kept.push_back(array_of(input).cast(stored));
    given.back().data = const_cast<std::byte*>(kept.back().data());  // an input is not written
  }
  std::vector<Array> made(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    RunTensor& output = outputs[i];
    output.element = outputs_[i].type.element;
    output.extents = plan->output_extents(i);
    need_room(outputs_, outputs, i);
    if (output.is_on_device && output.data == nullptr && bytes_of(output.element, output.extents) > 0)
      throw BadTensor(fmt::format("the output '{}' has no memory on the device", on_one_line(outputs_[i].name)));
    taken.push_back({output.data, output.is_on_device, output.element});
    const ElementType stored = cost::stored(output.element, precision());
    if (output.is_on_device || (output.data != nullptr && stored == output.element)) continue;
    made[i] = Array(stored, output.extents);
    taken.back().data = made[i].mutable_data();
  }
  plan->program().enqueue(given, taken, stream);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (made[i].type() == ElementType::undefined) continue;
    if (made[i].type() != outputs[i].element) made[i] = made[i].cast(outputs[i].element);
    if (outputs[i].data == nullptr)
      outputs[i].made = std::move(made[i]);
    else if (made[i].bytes() > 0)
      std::memcpy(outputs[i].data, made[i].data(), made[i].bytes());
  }
}

Engine Session::engine() {
  if (pasts_)
    throw InputError("with a past_capacity, an engine file is made of a model that leaves no other sizes open");
  Engine made(signature_->has_defaults() ? signature_->whole(model_) : model_.copy());
  made.is_searched = source_.has_value() || !has_source_;
  made.precision = precision();
  if (!is_on_gpu()) return made;
  check_process();
  made.device = device_;
  made.versions = pricing_->gpu()->versions();
  const std::string machine = fmt::format("{}, {}", made.device, made.versions);
  const std::lock_guard lock(planning_);
  for (const std::string& call : pricing_->store().all().calls(machine))
    made.prices.set(machine, call, *pricing_->store().all().find(machine, call));
  std::map<std::string, gpu::KernelBinary> kernels;
  for (const auto& one : plans_)
    for (gpu::KernelBinary& kernel : one->program().binaries()) {
      const std::string key = kernel.key;
      kernels.emplace(key, std::move(kernel));
    }
  for (auto& [key, kernel] : kernels) made.kernels.push_back(std::move(kernel));
  return made;
}

std::string Session::report() {
  nlohmann::ordered_json all{{"device", device_}, {"operators", graph_->nodes().size()}};
  if (is_on_gpu()) {
    all["precision"] = cost::name_of(precision());
    all["prices"] = pricing_->source();
    all["plans"] = nlohmann::ordered_json::array();
    const std::lock_guard lock(planning_);
    for (const auto& one : plans_) {
      nlohmann::ordered_json plan{{"sizes", one->shaped.sizes},
                                  {"kernels", one->program().launches()},
                                  {"streams", one->program().lanes().lanes},
                                  {"device_bytes", one->program().device_bytes()}};
      if (const GpuModel* model = one->model.get()) {
        plan["layout"] = model->plan().layout == cost::Layout::channels_last ? "NHWC" : "NCHW";
        plan["on_host"] = model->on_host();
        plan["measured_share"] = model->measured_share();
      } else {
        plan["on_host"] = {"everything"};
      }
      all["plans"].push_back(std::move(plan));
    }
  }
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace taso::runtime
