// Any bytes as an engine file: refused with InputError, or loaded on the host, written and read back the same.
// Checksums are put right first, because no mutation would pass them.
#include <cstring>

#include <nlohmann/json.hpp>

#include "ops/support/sha256.h"
#include "runtime/session/session.h"
#include "tests/fuzz/bytes.h"
#include "tests/onnx/build_model.h"

namespace taso::test {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t header = 16;
constexpr std::size_t size_at = 8;

std::string digest(std::string_view bytes) {
  Sha256 sum;
  sum.add(bytes);
  return sum.digest();
}

/// As engine files have it, for parts of less than 4 MB.
std::string checksum(std::string_view bytes) { return digest(bytes.empty() ? "" : digest(bytes)); }

/// Writes the checksums that the parts have into the contents.
void put_right(Json& contents, std::string_view parts) {
  const auto take = [&](Json& part) {
    if (!part.is_object() || !part.contains("bytes") || !part["bytes"].is_number_unsigned()) return;
    const std::string_view taken = parts.substr(0, part["bytes"].get<std::size_t>());
    part["sha256"] = checksum(taken);
    parts.remove_prefix(taken.size());
  };
  for (const char* const name : {"model", "weights", "prices", "kernels"}) {
    if (!contents.contains(name)) continue;
    if (!contents[name].is_array()) take(contents[name]);
    if (contents[name].is_array())
      for (Json& part : contents[name]) take(part);
  }
}

/// The same file with checksums that are right; as it is if its contents cannot be read.
std::string with_checksums(std::string_view bytes) {
  std::uint64_t size = 0;
  if (bytes.size() < header) return std::string(bytes);
  std::memcpy(&size, bytes.data() + size_at, sizeof size);
  if (size > bytes.size() - header) return std::string(bytes);
  Json contents = Json::parse(bytes.substr(header, size), nullptr, false);
  if (!contents.is_object()) return std::string(bytes);
  const std::string_view parts = bytes.substr(header + size);
  put_right(contents, parts);
  const std::string text = contents.dump(-1, ' ', false, Json::error_handler_t::replace);
  size = text.size();
  std::string whole(bytes.substr(0, header));
  std::memcpy(whole.data() + size_at, &size, sizeof size);
  return whole + text + std::string(parts);
}

runtime::SessionOptions on_the_host() {
  runtime::SessionOptions options;
  options.device = runtime::SessionOptions::Device::cpu;
  options.threads = 1;
  return options;
}

void exercise(const std::string& bytes) {
  runtime::Session session(runtime::parse_engine(bytes, "fuzz"), on_the_host());
  static const TemporaryFolder folder;
  const auto written = [&](runtime::Session& of) {
    runtime::write_engine(of.engine(), folder / "written");
    return read_file(folder / "written");
  };
  const std::string first = written(session);
  read_back(first, [&](const std::string& printed) {
    runtime::Session again(runtime::parse_engine(printed, "written"), on_the_host());
    check(written(again) == first, "an engine file that is loaded and written is the same");
    return true;
  });
}

}  // namespace
}  // namespace taso::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    taso::test::exercise(taso::test::with_checksums(taso::test::text_of_bytes(data, size)));
  } catch (const taso::InputError&) {
  }
  return 0;
}
