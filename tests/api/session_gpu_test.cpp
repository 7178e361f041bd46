// Sessions on a GPU: memory and streams of the caller, sizes that change, threads, limits.
#include <taso/session.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include "ops/core/random.h"
#include "ops/core/shape.h"
#include "tests/api/device_memory.h"
#include "tests/api/example_models.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

bool has_gpu() {
  if (taso_device_count() > 0) return true;
  WARN("SKIPPED: " << taso_device_text());
  return false;
}

struct OnDevice {
  DeviceBytes memory;
  std::vector<std::int64_t> sizes;
  taso_tensor view() const { return TensorView::on_device(memory.data(), memory.size(), TASO_FLOAT32, sizes); }
};

OnDevice on_device(const std::vector<float>& values, std::vector<std::int64_t> sizes) {
  OnDevice tensor{DeviceBytes(values.size() * 4), std::move(sizes)};
  tensor.memory.fill(values.data());
  return tensor;
}

std::vector<std::int64_t> sizes_of(const taso_value& value) {
  std::vector<std::int64_t> sizes(value.shape, value.shape + value.rank);
  for (std::int64_t& size : sizes)
    if (size < 0) size = 3;
  return sizes;
}

std::size_t count_of(const std::vector<std::int64_t>& sizes) { return static_cast<std::size_t>(count(Extents(sizes))); }

void check_close(std::span<const float> one, std::span<const float> other, double margin) {
  REQUIRE(one.size() == other.size());
  for (std::size_t i = 0; i < one.size(); ++i)
    REQUIRE(static_cast<double>(one[i]) == Approx(static_cast<double>(other[i])).margin(margin));
}

}  // namespace

TEST_CASE("a session on a GPU computes what the host computes, from any memory", "[gpu]") {
  if (!has_gpu()) return;
  for (const char* const name : {"small_convnet.onnx", "small_transformer.onnx"}) {
    Session host(example(name), {{"device", "cpu"}});
    const std::vector<std::int64_t> sizes = sizes_of(host.inputs()[0]);
    const std::vector<float> x = random_floats(count_of(sizes), 1);
    const TensorView given(const_cast<float*>(x.data()), x.size() * 4, TASO_FLOAT32, TASO_HOST, sizes);
    const auto expected = host.run(std::span(&given, 1));
    for (const auto& [precision, margin] :
         std::vector<std::pair<std::string, double>>{{"float32", 1e-4}, {"tf32", 2e-2}, {"float16", 5e-2}}) {
      Session session(example(name), {{"device", "cuda"}, {"precision", precision}});
      CHECK(session.is_on_device());
      const auto from_host = session.run(std::span(&given, 1));
      check_close(from_host[0].values<float>(), expected[0].values<float>(), margin);
      const DeviceStream stream;
      std::vector<OnDevice> inputs, outputs;
      for (int i = 0; i < 3; ++i) {  // pairs of addresses, in turn: copied first, then used in place
        inputs.push_back(on_device(x, sizes));
        outputs.push_back(on_device(std::vector<float>(expected[0].count()), {}));
      }
      for (int run = 0; run < 9; ++run) {
        const taso_tensor input = inputs[static_cast<std::size_t>(run % 3)].view();
        taso_tensor output = outputs[static_cast<std::size_t>(run % 3)].view();
        outputs[static_cast<std::size_t>(run % 3)].memory.fill(std::vector<float>(expected[0].count(), -1).data());
        session.run(std::span(&input, 1), std::span(&output, 1), stream.get());
        stream.wait();
        const std::vector<float> result =
            outputs[static_cast<std::size_t>(run % 3)].memory.read<float>(expected[0].count());
        check_close(result, from_host[0].values<float>(), precision == "float16" ? 1e-2 : 1e-6);
      }
    }
  }
}

TEST_CASE("sizes may change from run to run on a GPU, and outputs may lie in inputs", "[gpu]") {
  if (!has_gpu()) return;
  Session session = load(any_product(), {{"device", "cuda"}, {"plans", "3"}});
  Random random(5);
  for (int i = 0; i < 12; ++i) {
    const auto rows = static_cast<std::int64_t>(1 + random.below(3)) * 8, depth = rows, columns = depth;
    std::vector<float> left = random_floats(static_cast<std::size_t>(rows * depth), 2 * random.below(1000)),
                       right = random_floats(static_cast<std::size_t>(depth * columns), 3 * random.below(1000));
    const std::vector<float> expected = product(left, right, rows, depth, columns);
    const auto results = session.run({TensorView::of(left, {rows, depth}), TensorView::of(right, {depth, columns})});
    check_close(results[0].values<float>(), expected, 1e-4);
    const OnDevice x = on_device(left, {rows, depth}), y = on_device(right, {depth, columns});
    const OnDevice same = on_device(left, {});
    for (int again = 0; again < 3; ++again) {
      const_cast<DeviceBytes&>(x.memory).fill(left.data());
      const std::vector<taso_tensor> inputs{x.view(), y.view()};
      std::vector<taso_tensor> outputs{x.view(), same.view()};  // z overwrites x
      session.run(inputs, outputs);
      Driver::instance().call("cuCtxSynchronize");
      check_close(x.memory.read<float>(expected.size()), expected, 1e-4);
      check_close(same.memory.read<float>(left.size()), left, 0);
    }
  }
}

TEST_CASE("an engine file has the kernels of a GPU", "[gpu]") {
  if (!has_gpu()) return;
  const TemporaryFolder folder;
  const std::string file = (folder / "model.taso").string();
  Session session(example("small_convnet.onnx"), {{"device", "cuda"}, {"precision", "tf32"}});
  const std::vector<std::int64_t> sizes = sizes_of(session.inputs()[0]);
  const std::vector<float> x = random_floats(count_of(sizes), 1);
  const TensorView given(const_cast<float*>(x.data()), x.size() * 4, TASO_FLOAT32, TASO_HOST, sizes);
  const auto expected = session.run(std::span(&given, 1));
  session.save_engine(file);
  CHECK_THAT(read_file(file), Catch::Contains("\"key\""));
  for (const char* const trust : {"1", "0"}) {
    Session again(file, {{"device", "cuda"}, {"trust", trust}});
    CHECK_THAT(again.report(), Catch::Contains("tf32"));
    const auto results = again.run(std::span(&given, 1));
    const auto one = results[0].values<float>(), other = expected[0].values<float>();
    CHECK(std::equal(one.begin(), one.end(), other.begin()));
  }
}

TEST_CASE("threads share sessions on a GPU, and get equal bits", "[gpu]") {
  if (!has_gpu()) return;
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 4; ++i)
    sessions.push_back(std::make_unique<Session>(example("small_convnet.onnx"), SessionOptions{{"device", "cuda"}}));
  const std::vector<std::int64_t> sizes = sizes_of(sessions[0]->inputs()[0]);
  const std::vector<float> x = random_floats(count_of(sizes), 1);
  const TensorView given(const_cast<float*>(x.data()), x.size() * 4, TASO_FLOAT32, TASO_HOST, sizes);
  const auto expected = sessions[0]->run(std::span(&given, 1));
  std::atomic<int> different = 0;
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const DeviceStream stream;
      for (std::size_t run = 0; run < 1000; ++run) {
        const auto result = sessions[(t + run) % 4]->run(std::span(&given, 1), stream.get());
        const auto one = result[0].values<float>(), other = expected[0].values<float>();
        if (!std::equal(one.begin(), one.end(), other.begin())) ++different;
      }
    });
  threads.clear();
  CHECK(different == 0);
}

TEST_CASE("what a GPU cannot do is an error, and the session goes on", "[gpu]") {
  if (!has_gpu()) return;
  const auto status_of = [](auto&& work) {
    try {
      work();
    } catch (const SessionError& error) {
      return error.status();
    }
    return TASO_OK;
  };
  CHECK(status_of([] { load(any_product(), {{"device", "cuda:99"}}); }) == TASO_UNAVAILABLE);
  Session session = load(any_product(), {{"device", "cuda"}, {"memory", "100000"}});
  std::vector<float> x(64, 1), y(64, 1), large(512 * 512, 1);
  const auto works = [&] {
    return session.run({TensorView::of(x, {8, 8}), TensorView::of(y, {8, 8})})[0].values<float>()[0] == 8;
  };
  CHECK(works());
  CHECK(status_of([&] {
          session.run({TensorView::of(large, {512, 512}), TensorView::of(large, {512, 512})});
        }) == TASO_UNAVAILABLE);
  CHECK(works());
  const OnDevice place = on_device(x, {8, 8});
  const std::vector<taso_tensor> inputs{place.view(), place.view()};
  std::vector<taso_tensor> outputs{place.view(), place.view()};
  CHECK(status_of([&] { session.run(inputs, outputs); }) == TASO_BAD_ARGUMENT);  // they overlap
  CHECK(works());
  // A caller's allocator that has nothing left.
  SessionOptions options{{"device", "cuda"}};
  const auto none = [](void*, std::size_t) -> void* { return nullptr; };
  const auto nothing = [](void*, void*, std::size_t) {};
  REQUIRE(taso_options_set_allocator(const_cast<taso_options*>(options.get()), none, nothing, nullptr) == TASO_OK);
  CHECK(status_of([&] { Session(example("small_convnet.onnx"), options); }) == TASO_UNAVAILABLE);
  // A child process.
  const pid_t child = ::fork();
  if (child == 0) ::_exit(status_of([&] { works(); }) == TASO_UNAVAILABLE ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(works());
}

TEST_CASE("sessions of one model share its weights", "[gpu]") {
  if (!has_gpu()) return;
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  constexpr std::int64_t size = 2048;  // 16 MiB
  declare(*graph.add_input(), "x", {1, size});
  declare(*graph.add_output(), "y", {1, size});
  add_floats(graph, "w", {size, size}, random_floats(size * size, 1));
  add_node(graph, "MatMul", {"x", "w"}, {"y"});
  std::vector<std::unique_ptr<Session>> sessions;
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    Driver::instance().call("cuMemGetInfo_v2", &free, &total);
    return static_cast<std::int64_t>(free);
  };
  const auto add = [&] { sessions.push_back(std::make_unique<Session>(load(model, {{"device", "cuda"}}))); };
  add();
  const std::int64_t before = free_bytes();
  for (int i = 0; i < 4; ++i) add();
  CHECK(before - free_bytes() < 16 << 20);
}

TEST_CASE("nothing leaks on a GPU", "[gpu]") {
  if (!has_gpu()) return;
  Session kept = load(any_product(), {{"device", "cuda"}});  // keeps the libraries open
  std::vector<float> x(64, 1), y(64, 1);
  const auto free_bytes = [] {
    std::size_t free = 0, total = 0;
    Driver::instance().call("cuMemGetInfo_v2", &free, &total);
    return static_cast<std::int64_t>(free);
  };
  const auto round = [&] {
    for (int i = 0; i < 100; ++i) {
      Session session = load(any_product(), {{"device", "cuda"}});
      session.run({TensorView::of(x, {8, 8}), TensorView::of(y, {8, 8})});
    }
    return free_bytes();
  };
  const std::int64_t first = round();
  CHECK(first - round() < 4 << 20);
}

TEST_CASE("sizes may be 0 on a GPU: the host computes such a run", "[gpu]") {
  if (!has_gpu()) return;
  std::vector<std::string> said;
  SessionOptions options{{"device", "cuda"}};
  options.on_log([&](taso_log_level, std::string_view line) { said.emplace_back(line); });
  Session session = load(any_product(), options);
  const std::vector<float> some = random_floats(20, 1);
  const DeviceStream stream;
  for (const auto& [rows, depth, columns] :
       std::vector<std::array<std::int64_t, 3>>{{0, 3, 2}, {2, 0, 3}, {2, 3, 0}, {0, 0, 0}, {2, 3, 2}, {2, 0, 3}}) {
    CAPTURE(rows, depth, columns);
    const std::vector<float> expected = product(some, some, rows, depth, columns);
    const std::vector<taso_tensor> on_host{TensorView::of(some, {rows, depth}), TensorView::of(some, {depth, columns})};
    const OnDevice x = on_device(some, {rows, depth}), y = on_device(some, {depth, columns});
    const std::vector<taso_tensor> inputs[] = {on_host, {x.view(), y.view()}};
    for (const std::vector<taso_tensor>& given : inputs) {
      session.warm_up(given);
      const OnDevice z = on_device(std::vector<float>(20, -7), {20});
      std::vector<taso_tensor> outputs{z.view(), {}};
      session.run(given, outputs, stream.get());
      stream.wait();
      CHECK((outputs[0].rank == 2 && outputs[0].shape[0] == rows && outputs[0].shape[1] == columns));
      CHECK((outputs[1].rank == 2 && outputs[1].shape[0] == rows && outputs[1].shape[1] == depth));
      check_close(z.memory.read<float>(expected.size()), expected, 1e-4);
      taso_tensor_free(&outputs[1]);
    }
  }
  CHECK(std::any_of(said.begin(), said.end(), [](const std::string& line) {
    return line.find("the host computes the model") != std::string::npos;
  }));
}

TEST_CASE("what a model computes of its sizes is no work for the host of a GPU", "[gpu]") {
  if (!has_gpu()) return;
  Session session = load(counting(), {{"device", "cuda"}});
  for (const std::size_t size : {5U, 1U, 1000U}) {
    const std::vector<float> x = random_floats(size, size);
    std::vector<float> expected(size);
    for (std::size_t i = 0; i < size; ++i) expected[i] = x[i] + static_cast<float>(i);
    const auto results = session.run({TensorView::of(x, {static_cast<std::int64_t>(size)})});
    check_close(results[0].values<float>(), expected, 1e-4);
  }
  CHECK(session.report().find("\"on_host\": []") != std::string::npos);
}

}  // namespace taso::test
