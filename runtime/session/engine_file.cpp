#include "runtime/session/engine_file.h"

#include <bit>
#include <cstring>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "onnx/model/detached_weights.h"
#include "onnx/model/external_data.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"
#include "ops/support/sha256.h"
#include "ops/support/threads.h"
#include "ops/text/characters.h"

namespace taso::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view family = "TASOENG";
constexpr char first_format = '1', format = '2';
constexpr std::size_t header = 16;
static_assert(std::endian::native == std::endian::little, "the size is written as it is in memory");

/// The SHA-256 of the SHA-256 of pieces, which are computed concurrently: weights may be gigabytes.
std::string checksum(std::string_view bytes) {
  constexpr std::size_t piece = 4 << 20;
  std::vector<std::string> sums((bytes.size() + piece - 1) / piece);
  parallel_for(thread_count(0), static_cast<std::int64_t>(sums.size()), [&](std::int64_t i) {
    Sha256 sum;
    sum.add(bytes.substr(static_cast<std::size_t>(i) * piece, piece));
    sums[static_cast<std::size_t>(i)] = sum.digest();
  });
  Sha256 whole;
  for (const std::string& sum : sums) whole.add(sum);
  return whole.digest();
}

}  // namespace

bool is_engine(std::string_view bytes) { return bytes.starts_with(family); }

Engine parse_engine(std::string_view bytes, const std::string& name) {
  const auto damaged = [&](const std::string& why) {
    return InputError(fmt::format("{}: the engine file is damaged: {}", name, why));
  };
  const auto refuse = [&](const std::string& why) { throw damaged(why); };
  if (bytes.size() < header) refuse("it is too short");
  const char written = bytes[family.size()];
  if (written < first_format) refuse("its format is unknown");
  if (written > format)
    throw InputError(fmt::format("{}: an engine file of another format, written by a newer taso", name));
  std::uint64_t size = 0;
  std::memcpy(&size, bytes.data() + family.size() + 1, sizeof size);
  if (size > bytes.size() - header) refuse("it is cut off");
  try {
    const Json contents = Json::parse(bytes.substr(header, size));
    std::string_view rest = bytes.substr(header + size);
    const auto take = [&](const Json& part) {
      const auto length = part.at("bytes").get<std::uint64_t>();
      if (length > rest.size()) refuse("it is cut off");
      const std::string_view taken = rest.substr(0, length);
      if (checksum(taken) != part.at("sha256").get<std::string>()) refuse("a checksum differs");
      rest.remove_prefix(length);
      return taken;
    };
    Engine engine(onnx::Model::parse(take(contents.at("model")), onnx::no_folder));
    if (written > first_format) {
      std::vector<std::string_view> weights;
      for (const Json& weight : contents.at("weights")) weights.push_back(take(weight));
      onnx::attach_weights(engine.model, weights);
    }
    engine.device = contents.at("device").get<std::string>();
    engine.versions = contents.at("versions").get<std::string>();
    const std::optional<cost::Precision> precision = cost::precision_named(contents.at("precision").get<std::string>());
    if (!precision) refuse("its precision is unknown");
    engine.precision = *precision;
    engine.is_searched = contents.value("searched", false);
    engine.prices = cost::PriceDatabase::parse(take(contents.at("prices")), name);
    for (const Json& kernel : contents.at("kernels")) {
      const std::string_view code = take(kernel);
      engine.kernels.push_back({kernel.at("key").get<std::string>(), {code.begin(), code.end()}});
    }
    if (!rest.empty()) refuse("something follows its end");
    return engine;
  } catch (const Json::exception& error) {
    throw damaged(on_one_line(error.what()));
  }
}

void write_engine(Engine engine, const std::filesystem::path& path) {
  const std::string prices = engine.prices.text();
  const std::vector<onnx::DetachedWeight> weights = onnx::detach_weights(engine.model);
  const std::string model = engine.model.serialise();
  const auto part = [](std::string_view bytes) { return Json{{"bytes", bytes.size()}, {"sha256", checksum(bytes)}}; };
  const auto text_of = [](const gpu::KernelBinary& kernel) {
    return std::string_view(kernel.code.data(), kernel.code.size());
  };
  Json contents{
      {"device", engine.device}, {"versions", engine.versions}, {"precision", cost::name_of(engine.precision)},
      {"model", part(model)},    {"weights", Json::array()},    {"prices", part(prices)},
      {"kernels", Json::array()}};
  for (const onnx::DetachedWeight& weight : weights) contents["weights"].push_back(part(weight.bytes));
  if (engine.is_searched) contents["searched"] = true;
  for (const gpu::KernelBinary& kernel : engine.kernels) {
    Json entry = part(text_of(kernel));
    entry["key"] = kernel.key;
    contents["kernels"].push_back(std::move(entry));
  }
  const std::string text = contents.dump(1);
  const std::uint64_t size = text.size();
  AtomicFile file(path);
  file.write(family.data(), family.size());
  file.write(&format, 1);
  file.write(&size, sizeof size);
  file.write(text.data(), text.size());
  file.write(model.data(), model.size());
  for (const onnx::DetachedWeight& weight : weights) file.write(weight.bytes.data(), weight.bytes.size());
  file.write(prices.data(), prices.size());
  for (const gpu::KernelBinary& kernel : engine.kernels) file.write(kernel.code.data(), kernel.code.size());
  file.sync();
  file.rename();
}

}  // namespace taso::runtime
