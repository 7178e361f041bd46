#include "cli/target/onnxruntime.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/target/processor.h"
#include "ops/core/error.h"
#include "ops/text/characters.h"

namespace taso::cli {

extern const char* const measure_py;  // the text of cli/target/measure.py

namespace {

constexpr int protocol = 2;
/// Importing onnxruntime from a cold disk takes seconds.
constexpr double patience_at_start = 120;

[[noreturn]] void misunderstood(const std::string& answer) {
  throw EnvironmentError(
      fmt::format("the measuring process gave an answer that is not understood: {}", on_one_line(answer)));
}

template <class Number>
Number number_in(const std::string& word, const std::string& answer) {
  std::istringstream stream(word);
  stream.imbue(std::locale::classic());
  Number number{};
  if (!(stream >> number) || !stream.eof()) misunderstood(answer);
  return number;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::string numpy_name(ElementType element) {
  switch (element) {
    case ElementType::float32: return "float32";
    case ElementType::float64: return "float64";
    case ElementType::float16: return "float16";
    case ElementType::int8: return "int8";
    case ElementType::int16: return "int16";
    case ElementType::int32: return "int32";
    case ElementType::int64: return "int64";
    case ElementType::uint8: return "uint8";
    case ElementType::uint16: return "uint16";
    case ElementType::uint32: return "uint32";
    case ElementType::uint64: return "uint64";
    case ElementType::boolean: return "bool";
    default: return "";
  }
}

std::string_view name_of(OnnxRuntime::Provider provider) {
  return provider == OnnxRuntime::Provider::cuda ? "CUDA" : "CPU";
}

std::string python_of(const std::string& given) {
  if (!given.empty()) return given;
  const char* const from_environment = std::getenv("TASO_PYTHON");
  return from_environment != nullptr && *from_environment != '\0' ? from_environment : "python3";
}

OnnxRuntime::OnnxRuntime(const Options& options) : options_(options) {
  const std::string script = options.script.empty() ? measure_py : options.script;
  std::string hello;
  try {
    process_ = std::make_unique<MeasuringProcess>(std::vector<std::string>{
        options.python, "-c", script, std::to_string(options.threads), std::string(name_of(options.provider))});
    hello = process_->answer(std::min(patience_at_start, options.patience));
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(
        fmt::format("ONNX Runtime cannot be used: {}; name a Python that can import onnxruntime with --python or "
                    "TASO_PYTHON",
                    error.what()));
  }
  const std::vector<std::string> words = words_of(hello);
  if (words.size() != 3 || words[0] != "ok" || words[1] != std::to_string(protocol)) misunderstood(hello);
  version_ = words[2];
  processor_ = options.provider == Provider::cuda ? processor_with_gpu() : processor_name();
}

std::string OnnxRuntime::machine() const { return fmt::format("{}, {}", processor_, versions()); }

std::string OnnxRuntime::versions() const {
  return fmt::format("ONNX Runtime {}, {} provider, threads {}", version_, name_of(options_.provider), threads());
}

std::string OnnxRuntime::ask(std::initializer_list<std::string_view> parts, double seconds) {
  process_->send(parts, options_.patience);
  const std::string answer = process_->answer(seconds + options_.patience);
  if (answer.starts_with("broken "))
    throw EnvironmentError(fmt::format("the measuring process cannot work: {}", on_one_line(answer.substr(7))));
  if (answer.starts_with("error ")) throw RuntimeRefusal{answer.substr(6)};
  if (answer == "ok") return "";
  if (!answer.starts_with("ok ")) misunderstood(answer);
  return answer.substr(3);
}

OnnxRuntime::Loaded OnnxRuntime::loaded(const std::string& answer) const {
  return Loaded{number_in<std::uint32_t>(answer, answer)};
}

OnnxRuntime::Loaded OnnxRuntime::load(std::string_view model) {
  return loaded(ask({fmt::format("load {}\n", model.size()), model}));
}

void OnnxRuntime::set_input(Loaded model, const std::string& name, const Array& data) {
  const std::string type = numpy_name(data.type());
  if (type.empty())
    throw RuntimeRefusal{fmt::format("inputs of type {} cannot be passed to it", ops::name_of(data.type()))};
  ask({fmt::format("input {} {} {} {} {}\n", static_cast<std::uint32_t>(model), name.size(), data.bytes(), type,
                   fmt::join(data.extents(), " ")),
       name, std::string_view(reinterpret_cast<const char*>(data.data()), data.bytes())});
}

void OnnxRuntime::drop(Loaded model) { ask({fmt::format("drop {}\n", static_cast<std::uint32_t>(model))}); }

std::vector<std::vector<double>> OnnxRuntime::time_in_turn(const std::vector<Loaded>& models, double seconds) {
  std::vector<std::uint32_t> numbers;
  for (const Loaded model : models) numbers.push_back(static_cast<std::uint32_t>(model));
  const std::string answer = ask({fmt::format("turns {} {}\n", seconds, fmt::join(numbers, " "))}, seconds);
  const std::vector<std::string> words = words_of(answer);
  if (words.empty() || words.size() % models.size() != 0) misunderstood(answer);
  std::vector<std::vector<double>> times(models.size());
  for (std::size_t i = 0; i < words.size(); ++i)
    times[i % models.size()].push_back(number_in<double>(words[i], answer));
  return times;
}

OnnxRuntime::Price OnnxRuntime::price(Loaded model, double seconds) {
  const std::string answer =
      ask({fmt::format("price {} {}\n", static_cast<std::uint32_t>(model), seconds)}, 20 * seconds);
  const std::vector<std::string> words = words_of(answer);
  if (words.size() != 4) misunderstood(answer);
  return {number_in<double>(words[0], answer), number_in<double>(words[1], answer), number_in<double>(words[2], answer),
          words[3]};
}

}  // namespace taso::cli
