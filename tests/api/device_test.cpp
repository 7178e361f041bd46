// Memory, streams and events of GPUs through the C interface.
#include <taso/session.h>

#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "tests/api/example_models.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

bool has_device() {
  if (taso_device_count() > 0) return true;
  WARN("SKIPPED: " << taso_device_text());
  return false;
}

/// Every function, with good arguments for a GPU of this number, as far as that is possible without one.
std::vector<std::function<taso_status()>> calls(std::int32_t device, char* some) {
  return {
      [=] { return taso_device_describe(device, nullptr, nullptr); },
      [=] {
        void* memory = some;
        const taso_status status = taso_device_allocate(device, TASO_DEVICE, 16, &memory);
        CHECK((memory == nullptr || status == TASO_OK));
        if (status == TASO_OK) taso_device_free(device, TASO_DEVICE, memory);
        return status;
      },
      [=] { return taso_device_free(device, TASO_HOST, some); },
      [=] { return taso_device_copy(device, some, some + 8, 8, nullptr); },
      [=] { return taso_device_wait(device); },
      [=] {
        void* stream = some;
        return taso_stream_create(device, &stream);
      },
      [=] { return taso_stream_destroy(device, some); },
      [=] { return taso_stream_wait(device, nullptr); },
      [=] {
        void* event = some;
        return taso_event_create(device, &event);
      },
      [=] { return taso_event_destroy(device, some); },
      [=] { return taso_event_record(device, some, nullptr); },
      [=] { return taso_event_wait(device, some); },
      [=] { return taso_stream_wait_event(device, nullptr, some); },
  };
}

}  // namespace

TEST_CASE("device functions refuse a GPU that does not exist") {
  char some[16] = {};
  for (const auto& [device, expected] :
       std::vector<std::pair<std::int32_t, taso_status>>{{-1, TASO_BAD_ARGUMENT}, {1000, TASO_UNAVAILABLE}})
    for (const auto& call : calls(device, some)) {
      CHECK(call() == expected);
      CHECK(std::string(taso_last_error()) != "");
    }
  if (taso_device_count() > 0) return;
  for (const auto& call : calls(0, some)) {
    CHECK(call() == TASO_UNAVAILABLE);
    CHECK(std::string(taso_last_error()).find("no GPU can be used") == 0);
  }
}

TEST_CASE("device functions refuse null pointers and unknown places") {
  char some[16] = {};
  CHECK(taso_device_allocate(0, TASO_DEVICE, 16, nullptr) == TASO_BAD_ARGUMENT);
  void* memory = some;
  CHECK(taso_device_allocate(0, 7, 16, &memory) == TASO_BAD_ARGUMENT);
  CHECK(memory == nullptr);
  CHECK(taso_device_free(0, 7, some) == TASO_BAD_ARGUMENT);
  CHECK(taso_device_copy(0, nullptr, some, 8, nullptr) == TASO_BAD_ARGUMENT);
  CHECK(taso_device_copy(0, some, nullptr, 8, nullptr) == TASO_BAD_ARGUMENT);
  CHECK(taso_stream_create(0, nullptr) == TASO_BAD_ARGUMENT);
  CHECK(taso_event_create(0, nullptr) == TASO_BAD_ARGUMENT);
  CHECK(taso_event_record(0, nullptr, nullptr) == TASO_BAD_ARGUMENT);
  CHECK(taso_event_wait(0, nullptr) == TASO_BAD_ARGUMENT);
  CHECK(taso_stream_wait_event(0, nullptr, nullptr) == TASO_BAD_ARGUMENT);
  // Nothing to do is no mistake.
  CHECK(taso_device_free(0, TASO_DEVICE, nullptr) == TASO_OK);
  CHECK(taso_device_copy(0, nullptr, nullptr, 0, nullptr) == TASO_OK);
  CHECK(taso_stream_destroy(0, nullptr) == TASO_OK);
  CHECK(taso_event_destroy(0, nullptr) == TASO_OK);
}

TEST_CASE("bytes travel between the host and a GPU in the order of streams", "[gpu]") {
  if (!has_device()) return;
  const char* name = "";
  std::size_t memory = 0;
  REQUIRE(taso_device_describe(0, &name, &memory) == TASO_OK);
  CHECK(std::string(name) != "");
  CHECK(memory > 1'000'000'000);
  for (const std::size_t count : {1, 1000, 3'000'000}) {
    const std::vector<float> given = random_floats(count, 1);
    const std::size_t bytes = 4 * count;
    DeviceMemory first(bytes), second(bytes), pinned(bytes, 0, TASO_HOST);
    CHECK(reinterpret_cast<std::uintptr_t>(first.data()) % 256 == 0);
    const DeviceStream one, other;
    void* event = nullptr;
    REQUIRE(taso_event_create(0, &event) == TASO_OK);
    first.copy_from(given.data(), one.get());
    REQUIRE(taso_event_record(0, event, one.get()) == TASO_OK);
    REQUIRE(taso_stream_wait_event(0, other.get(), event) == TASO_OK);
    second.copy_from(first.data(), other.get());
    pinned.copy_from(second.data(), other.get());
    REQUIRE(taso_event_record(0, event, other.get()) == TASO_OK);
    REQUIRE(taso_event_wait(0, event) == TASO_OK);
    CHECK(std::memcmp(pinned.data(), given.data(), bytes) == 0);
    std::vector<float> back(count);
    second.copy_to(back.data(), other.get());
    other.wait();
    CHECK(back == given);
    std::memset(pinned.data(), 0, bytes);
    pinned.copy_from(first.data(), one.get());
    CHECK(taso_device_wait(0) == TASO_OK);  // for both streams
    CHECK(std::memcmp(pinned.data(), given.data(), bytes) == 0);
    CHECK(taso_event_destroy(0, event) == TASO_OK);
  }
  CHECK_THROWS_AS(DeviceMemory(std::size_t{1} << 50), SessionError);
}

TEST_CASE("a session runs on memory and a stream of these functions", "[gpu]") {
  if (!has_device()) return;
  Session host(example("small_convnet.onnx"), {{"device", "cpu"}});
  Session session(example("small_convnet.onnx"), {{"device", "cuda"}});
  const taso_value declared = host.inputs()[0];
  std::vector<std::int64_t> sizes(declared.shape, declared.shape + declared.rank);
  std::size_t count = 1;
  for (std::int64_t& size : sizes) count *= static_cast<std::size_t>(size = size < 0 ? 1 : size);
  const std::vector<float> picture = random_floats(count, 1);
  const TensorView view(const_cast<float*>(picture.data()), 4 * count, TASO_FLOAT32, TASO_HOST, sizes);
  const auto expected = host.run(std::span(&view, 1));
  const DeviceStream stream;
  DeviceMemory input(4 * count), output(4 * expected[0].count());
  const taso_tensor given = TensorView::on_device(input.data(), input.size(), TASO_FLOAT32, sizes);
  for (int run = 0; run < 4; ++run) {
    input.copy_from(picture.data(), stream.get());
    taso_tensor result = TensorView::on_device(output.data(), output.size(), TASO_FLOAT32, expected[0].sizes());
    session.run(std::span(&given, 1), std::span(&result, 1), stream.get());
    std::vector<float> values(expected[0].count());
    output.copy_to(values.data(), stream.get());
    stream.wait();
    for (std::size_t i = 0; i < values.size(); ++i)
      REQUIRE(static_cast<double>(values[i]) ==
              Approx(static_cast<double>(expected[0].values<float>()[i])).margin(1e-4));
  }
}

}  // namespace taso::test
