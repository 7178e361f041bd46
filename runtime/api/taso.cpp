// The C interface: translates types, and turns exceptions into numbers.
#include <taso/taso.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/console/version.h"
#include "onnx/model/external_data.h"
#include "onnx/model/mapped_file.h"
#include "ops/core/error.h"
#include "runtime/api/guarded.h"
#include "runtime/api/optimized.h"
#include "runtime/gpu/device.h"
#include "runtime/session/growing/growing_past.h"
#include "runtime/session/session.h"

using taso::ElementType;
using taso::runtime::BadArgument;
using taso::runtime::guarded;
using taso::runtime::LogLevel;
using taso::runtime::required;
using taso::runtime::RunTensor;

struct taso_options {
  taso::runtime::SessionOptions options;
};

struct taso_session {
  template <class... Arguments>
  explicit taso_session(Arguments&&... arguments) : session(std::forward<Arguments>(arguments)...) {}
  taso::runtime::Session session;
  std::string report;
};

namespace {

struct NumberedType {
  ElementType element;
  taso_type number;
};
constexpr NumberedType numbered_types[] = {
    {ElementType::float32, TASO_FLOAT32},   {ElementType::float64, TASO_FLOAT64}, {ElementType::float16, TASO_FLOAT16},
    {ElementType::bfloat16, TASO_BFLOAT16}, {ElementType::int8, TASO_INT8},       {ElementType::int16, TASO_INT16},
    {ElementType::int32, TASO_INT32},       {ElementType::int64, TASO_INT64},     {ElementType::uint8, TASO_UINT8},
    {ElementType::uint16, TASO_UINT16},     {ElementType::uint32, TASO_UINT32},   {ElementType::uint64, TASO_UINT64},
    {ElementType::boolean, TASO_BOOL},
};

std::int32_t number_of(ElementType element) {
  for (const NumberedType& one : numbered_types)
    if (one.element == element) return one.number;
  return TASO_UNDEFINED;
}

ElementType element_of(std::int32_t number) {
  for (const NumberedType& one : numbered_types)
    if (one.number == number) return one.element;
  throw BadArgument(fmt::format("{} is not the number of a tensor's type", number));
}

taso::Extents extents_of(const taso_tensor& tensor) {
  if (tensor.rank < 0 || tensor.rank > TASO_MAX_RANK)
    throw BadArgument(fmt::format("a tensor cannot have {} axes", tensor.rank));
  return {tensor.shape, tensor.shape + tensor.rank};
}

bool is_on_device(const taso_tensor& tensor) {
  if (tensor.place != TASO_HOST && tensor.place != TASO_DEVICE)
    throw BadArgument(fmt::format("{} is not the number of a place", tensor.place));
  return tensor.place == TASO_DEVICE;
}

void need_rank(std::size_t rank) {
  if (rank > TASO_MAX_RANK)
    throw taso::InputError(fmt::format("a result has {} axes, more than this interface allows", rank));
}

void set_shape(taso_tensor& tensor, const taso::Extents& extents) {
  need_rank(extents.size());
  tensor.rank = static_cast<std::int32_t>(extents.size());
  std::copy(extents.begin(), extents.end(), tensor.shape);
}

bool is_left_out(const taso_tensor& tensor) {
  return tensor.type == TASO_UNDEFINED && tensor.rank == 0 && tensor.data == nullptr;
}

/// Only shapes, and what is left out. A required input without axes may look as if it were left out.
std::vector<RunTensor> shapes_of(const taso::runtime::Session& session, const taso_tensor* inputs, std::size_t count) {
  if (count > 0) required(inputs, "the array of inputs");
  std::vector<RunTensor> list(count);
  for (std::size_t i = 0; i < count; ++i) {
    list[i].extents = extents_of(inputs[i]);
    list[i].is_left_out = session.inputs()[i].is_optional && is_left_out(inputs[i]);
  }
  return list;
}

void need_count(const char* what, std::size_t expected, std::size_t given) {
  if (expected != given) throw BadArgument(fmt::format("the model has {} {}, not {}", expected, what, given));
}

/// `name` is for messages; external weights are looked for in `folder`.
std::unique_ptr<taso_session> loaded(std::string_view bytes, const std::string& name,
                                     const std::filesystem::path& folder, const taso_options* options) {
  taso::runtime::SessionOptions chosen = options == nullptr ? taso::runtime::SessionOptions() : options->options;
  chosen.is_cancelled = [asked = std::move(chosen.is_cancelled)] {
    return taso::runtime::process_is_ending() || (asked && asked());
  };
  try {
    chosen.check_files();
  } catch (const taso::InputError& error) {
    throw BadArgument(error.what());
  }
  if (taso::runtime::is_engine(bytes) && chosen.search_seconds > 0)
    chosen.say(LogLevel::warning, "an engine file is run as it is: nothing is searched");
  if (taso::runtime::is_engine(bytes))
    return std::make_unique<taso_session>(taso::runtime::parse_engine(bytes, name), std::move(chosen));
  taso::onnx::Model model = taso::onnx::Model::parse(bytes, folder);
  if (chosen.search_seconds > 0 && chosen.past_capacity > 0) {  // the search is for the model that runs
    model = taso::runtime::growing::with_fixed_past(std::move(model), chosen.past_capacity);
    chosen.past_capacity = 0;
  }
  if (chosen.search_seconds <= 0) return std::make_unique<taso_session>(std::move(model), std::move(chosen));
  taso::onnx::Model found = taso::runtime::optimized(model, chosen);
  auto made = std::make_unique<taso_session>(std::move(found), chosen, std::move(model));
  if (!made->session.is_on_gpu())
    chosen.say(LogLevel::warning, "the search used prices of a GPU: what it found may be no faster on the CPU");
  return made;
}

taso_status describe(const taso_session* session, bool is_output, std::size_t index, taso_value* value) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    taso_value& described = required(value, "the place for the value");
    const auto& ports = is_output ? required(session, "the session").session.outputs()
                                  : required(session, "the session").session.inputs();
    if (index >= ports.size())
      throw BadArgument(fmt::format("the model has {} {}", ports.size(), is_output ? "outputs" : "inputs"));
    const taso::runtime::Port& port = ports[index];
    described = {};
    described.name = port.name.c_str();
    described.type = number_of(port.type.element);
    described.rank = -1;
    if (!port.type.shape || port.type.shape->size() > TASO_MAX_RANK) return;
    described.rank = static_cast<std::int32_t>(port.type.shape->size());
    for (std::size_t i = 0; i < port.type.shape->size(); ++i) {
      const taso::Dim& dim = (*port.type.shape)[i];
      described.shape[i] = dim.known().value_or(-1);
      if (!port.dimensions[i].empty()) described.dimensions[i] = port.dimensions[i].c_str();
    }
  });
}

const taso::gpu::DeviceReport& devices() {
  static const taso::gpu::DeviceReport report = taso::gpu::find_devices();
  return report;
}

}  // namespace

int32_t taso_api_version(void) { return TASO_API_VERSION; }

const char* taso_version(void) {
  static const std::string text(taso::cli::program_version());
  return text.c_str();
}

const char* taso_last_error(void) { return taso::runtime::last_error().c_str(); }

const char* taso_status_name(int32_t status) {
  switch (status) {
    case TASO_OK: return "TASO_OK";
    case TASO_BUG: return "TASO_BUG";
    case TASO_BAD_ARGUMENT: return "TASO_BAD_ARGUMENT";
    case TASO_BAD_MODEL: return "TASO_BAD_MODEL";
    case TASO_CHECK_FAILED: return "TASO_CHECK_FAILED";
    case TASO_UNAVAILABLE: return "TASO_UNAVAILABLE";
    case TASO_CANCELLED: return "TASO_CANCELLED";
    default: return "unknown";
  }
}

int32_t taso_device_count(void) {
  int32_t count = 0;
  guarded(TASO_BUG, [&] {
    if (devices().trouble.empty()) count = static_cast<int32_t>(devices().cuda->devices.size());
  });
  return count;
}

const char* taso_device_text(void) {
  const char* text = "";
  guarded(TASO_BUG, [&] {
    static const std::string line = taso::gpu::describe(devices());
    text = line.c_str();
  });
  return text;
}

taso_status taso_options_create(taso_options** options) {
  return guarded(TASO_BUG, [&] { required(options, "the place for the options") = new taso_options(); });
}

void taso_options_destroy(taso_options* options) { delete options; }

taso_status taso_options_set(taso_options* options, const char* name, const char* value) {
  return guarded(TASO_BAD_ARGUMENT, [&] {
    required(options, "the options").options.set(&required(name, "the name"), &required(value, "the value"));
  });
}

taso_status taso_options_set_log(taso_options* options, taso_log_function log, void* user) {
  return guarded(TASO_BUG, [&] {
    auto& chosen = required(options, "the options").options;
    chosen.log = nullptr;
    if (log != nullptr)
      chosen.log = [=](LogLevel level, const std::string& text) { log(user, static_cast<int>(level), text.c_str()); };
  });
}

taso_status taso_options_set_cancel(taso_options* options, taso_cancel_function cancel, void* user) {
  return guarded(TASO_BUG, [&] {
    auto& chosen = required(options, "the options").options;
    chosen.is_cancelled = nullptr;
    if (cancel != nullptr) chosen.is_cancelled = [=] { return cancel(user) != 0; };
  });
}

taso_status taso_options_set_allocator(taso_options* options, taso_allocate_function allocate, taso_free_function free,
                                       void* user) {
  return guarded(TASO_BUG, [&] {
    auto& chosen = required(options, "the options").options;
    if ((allocate == nullptr) != (free == nullptr)) throw BadArgument("an allocator has two functions");
    chosen.memory = {};
    if (allocate == nullptr) return;
    chosen.memory.allocate = [=](std::size_t bytes) { return allocate(user, bytes); };
    chosen.memory.free = [=](void* memory, std::size_t bytes) { free(user, memory, bytes); };
  });
}

taso_status taso_session_load(const char* path, const taso_options* options, taso_session** session) {
  return guarded(TASO_BAD_MODEL, [&] {
    required(session, "the place for the session") = nullptr;
    std::filesystem::path file = &required(path, "the path");
    if (file == "-") file = "./-";  // the standard input belongs to the program
    const std::string name = file.string();
    try {
      const taso::onnx::MappedFile mapped(file, std::numeric_limits<std::size_t>::max());  // engine files may be larger
      *session = loaded(mapped.bytes(), name, file.parent_path(), options).release();
    } catch (const taso::InputError& error) {
      if (std::string_view(error.what()).starts_with(name)) throw;
      throw taso::InputError(fmt::format("{}: {}", name, error.what()));
    }
  });
}

taso_status taso_session_load_bytes(const void* bytes, size_t size, const char* folder, const taso_options* options,
                                    taso_session** session) {
  return guarded(TASO_BAD_MODEL, [&] {
    required(session, "the place for the session") = nullptr;
    if (bytes == nullptr) throw BadArgument("the model is null");
    const std::filesystem::path place = folder == nullptr ? taso::onnx::no_folder : std::filesystem::path(folder);
    *session = loaded({static_cast<const char*>(bytes), size}, "the model in memory", place, options).release();
  });
}

taso_status taso_session_save_engine(taso_session* session, const char* path) {
  return guarded(TASO_BAD_MODEL, [&] {
    taso::runtime::Engine engine = required(session, "the session").session.engine();
    taso::runtime::write_engine(std::move(engine), &required(path, "the path"));
  });
}

void taso_session_destroy(taso_session* session) {
  // Threads that go on while the process ends may use it: then it stays.
  guarded(TASO_BUG, [&] { delete session; });
}

size_t taso_session_input_count(const taso_session* session) {
  return session == nullptr ? 0 : session->session.inputs().size();
}

size_t taso_session_output_count(const taso_session* session) {
  return session == nullptr ? 0 : session->session.outputs().size();
}

taso_status taso_session_input(const taso_session* session, size_t index, taso_value* value) {
  return describe(session, false, index, value);
}

taso_status taso_session_output(const taso_session* session, size_t index, taso_value* value) {
  return describe(session, true, index, value);
}

int32_t taso_session_input_is_optional(const taso_session* session, size_t index) {
  if (session == nullptr || index >= session->session.inputs().size()) return 0;
  return session->session.inputs()[index].is_optional ? 1 : 0;
}

int32_t taso_session_place(const taso_session* session) {
  return session != nullptr && session->session.is_on_gpu() ? TASO_DEVICE : TASO_HOST;
}

const char* taso_session_device(const taso_session* session) {
  return session == nullptr ? "" : session->session.device().c_str();
}

const char* taso_session_report(taso_session* session) {
  if (session == nullptr) return "";
  guarded(TASO_BUG, [&] { session->report = session->session.report(); });
  return session->report.c_str();
}

taso_status taso_session_infer(const taso_session* session, const taso_tensor* inputs, size_t input_count,
                               taso_tensor* outputs, size_t output_count) {
  return guarded(TASO_BAD_MODEL, [&] {
    const taso::runtime::Session& loaded = required(session, "the session").session;
    need_count("inputs", loaded.inputs().size(), input_count);
    need_count("outputs", loaded.outputs().size(), output_count);
    if (output_count > 0) required(outputs, "the array of outputs");
    const auto shapes = loaded.infer(shapes_of(loaded, inputs, input_count));
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      outputs[i].type = number_of(loaded.outputs()[i].type.element);
      outputs[i].rank = -1;
      if (shapes[i]) set_shape(outputs[i], *shapes[i]);
    }
  });
}

taso_status taso_session_warm_up(taso_session* session, const taso_tensor* inputs, size_t input_count) {
  return guarded(TASO_BAD_MODEL, [&] {
    taso::runtime::Session& loaded = required(session, "the session").session;
    need_count("inputs", loaded.inputs().size(), input_count);
    loaded.warm_up(shapes_of(loaded, inputs, input_count));
  });
}

taso_status taso_session_run(taso_session* session, const taso_tensor* inputs, size_t input_count, taso_tensor* outputs,
                             size_t output_count, void* stream) {
  return guarded(TASO_BAD_MODEL, [&] {
    taso::runtime::Session& loaded = required(session, "the session").session;
    need_count("inputs", loaded.inputs().size(), input_count);
    need_count("outputs", loaded.outputs().size(), output_count);
    if (output_count > 0) required(outputs, "the array of outputs");
    std::vector<RunTensor> given = shapes_of(loaded, inputs, input_count), taken(output_count);
    for (std::size_t i = 0; i < input_count; ++i) {
      given[i].is_left_out = is_left_out(inputs[i]);
      if (given[i].is_left_out) continue;
      given[i].data = static_cast<std::byte*>(inputs[i].data);
      given[i].capacity = inputs[i].capacity;
      given[i].element = element_of(inputs[i].type);
      given[i].is_on_device = is_on_device(inputs[i]);
    }
    for (std::size_t i = 0; i < output_count; ++i) {
      taken[i].data = static_cast<std::byte*>(outputs[i].data);
      taken[i].capacity = outputs[i].capacity;
      taken[i].is_on_device = is_on_device(outputs[i]);
    }
    loaded.run(given, taken, stream);
    for (const RunTensor& output : taken) need_rank(output.extents.size());
    // Memory for all results first: if there is none, nothing is lost.
    std::vector<std::unique_ptr<char[]>> made(output_count);
    for (std::size_t i = 0; i < output_count; ++i)
      if (taken[i].data == nullptr && !taken[i].is_on_device)
        made[i] = std::make_unique_for_overwrite<char[]>(std::max<std::size_t>(taken[i].made.bytes(), 1));
    for (std::size_t i = 0; i < output_count; ++i) {
      outputs[i].type = number_of(taken[i].element);
      set_shape(outputs[i], taken[i].extents);
      if (!made[i]) continue;
      if (taken[i].made.bytes() > 0) std::memcpy(made[i].get(), taken[i].made.data(), taken[i].made.bytes());
      outputs[i].capacity = std::max<std::size_t>(taken[i].made.bytes(), 1);
      outputs[i].data = made[i].release();
    }
  });
}

void taso_tensor_free(taso_tensor* tensor) {
  if (tensor == nullptr) return;
  delete[] static_cast<char*>(tensor->data);
  tensor->data = nullptr;
  tensor->capacity = 0;
}
