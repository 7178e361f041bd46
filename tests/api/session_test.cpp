// The library as other programs use it: loading, running, refusing, and going on afterwards.
#include <taso/session.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "ops/core/random.h"
#include "ops/support/sanitizer.h"
#include "ops/support/sha256.h"
#include "runtime/host/interpreter.h"
#include "tests/api/example_models.h"
#include "tests/catch.h"

#ifdef TASO_ADDRESS_SANITIZER
namespace {
bool is_child = false;
}
/// Asked by the sanitizer at the end: memory of threads that a child does not have looks lost to it.
extern "C" int __lsan_is_turned_off() { return is_child ? 1 : 0; }  // NOLINT: its name
#endif

namespace taso::test {
namespace {

/// Forks. Returns 0 in the child.
pid_t fork_child() {
  const pid_t child = ::fork();
  if (child == 0) ::alarm(60);  // an end that waits for threads of the parent
#ifdef TASO_ADDRESS_SANITIZER
  is_child = child == 0;
#endif
  return child;
}

/// The thread sanitizer does not support threads in a child.
#ifdef TASO_THREAD_SANITIZER
constexpr bool can_fork = false;
#else
constexpr bool can_fork = true;
#endif

/// The status and the message of what `work` throws.
template <class Work>
std::pair<taso_status, std::string> refusal(Work&& work) {
  try {
    work();
  } catch (const SessionError& error) {
    return {error.status(), error.what()};
  }
  return {TASO_OK, ""};
}

}  // namespace

TEST_CASE("a session tells its inputs and outputs, and computes what the model says") {
  Session session(example("small_convnet.onnx"), on_cpu());
  CHECK(session.device() == "CPU");
  CHECK_FALSE(session.is_on_device());
  REQUIRE(session.inputs().size() == 1);
  const taso_value input = session.inputs()[0];
  CHECK(input.type == TASO_FLOAT32);
  REQUIRE(input.rank == 4);
  Extents extents(input.shape, input.shape + input.rank);
  const std::vector<float> picture = random_floats(static_cast<std::size_t>(count(extents)), 1);
  TensorView given(const_cast<float*>(picture.data()), picture.size() * 4, TASO_FLOAT32, TASO_HOST, extents);
  const std::vector<HostTensor> results = session.run(std::span(&given, 1));

  const onnx::Model model = onnx::Model::load(example("small_convnet.onnx"));
  onnx::GraphEdit edit(model);
  onnx::clean_up(edit);
  const std::vector<Array> expected =
      runtime::interpret(edit.imported()->graph, std::vector{Array::of<float>(extents, picture)});
  REQUIRE(results.size() == expected.size());
  REQUIRE(results[0].count() * 4 == expected[0].bytes());
  CHECK(std::memcmp(results[0].data(), expected[0].data(), expected[0].bytes()) == 0);
  CHECK(session.report().find("\"device\"") != std::string::npos);
}

TEST_CASE("sizes may change from run to run", "[threads]") {
  Session session = load(any_product());
  const taso_value x = session.inputs()[0];
  CHECK(x.shape[0] == -1);
  CHECK(std::string(x.dimensions[0]) == "rows");
  Random random(7);
  for (int i = 0; i < 50; ++i) {
    const auto rows = static_cast<std::int64_t>(1 + random.below(20)),
               depth = static_cast<std::int64_t>(1 + random.below(20)),
               columns = static_cast<std::int64_t>(1 + random.below(20));
    std::vector<float> left = random_floats(static_cast<std::size_t>(rows * depth), 2 * random.below(1000)),
                       right = random_floats(static_cast<std::size_t>(depth * columns), 3 * random.below(1000));
    const auto results = session.run({TensorView::of(left, {rows, depth}), TensorView::of(right, {depth, columns})});
    const std::vector<float> expected = product(left, right, rows, depth, columns);
    REQUIRE(results[0].count() == expected.size());
    for (std::size_t j = 0; j < expected.size(); ++j)
      REQUIRE(results[0].values<float>()[j] == Approx(expected[j]).margin(1e-5));
    CHECK(std::equal(left.begin(), left.end(), results[1].values<float>().begin()));

    std::vector<taso_tensor> shapes{TensorView::of(left, {rows, depth}), TensorView::of(right, {depth, columns})},
        found(2);
    REQUIRE(taso_session_infer(session.get(), shapes.data(), 2, found.data(), 2) == TASO_OK);
    CHECK((found[0].rank == 2 && found[0].shape[0] == rows && found[0].shape[1] == columns));
    session.warm_up(shapes);
  }
}

TEST_CASE("sizes may be 0") {
  Session session = load(any_product());
  std::vector<float> some = random_floats(20, 1), room(20, -7);
  for (const auto& [rows, depth, columns] :
       std::vector<std::array<std::int64_t, 3>>{{0, 3, 2}, {2, 0, 3}, {2, 3, 0}, {0, 0, 0}, {2, 3, 2}, {2, 0, 3}}) {
    CAPTURE(rows, depth, columns);
    const std::vector<taso_tensor> inputs{TensorView::of(some, {rows, depth}), TensorView::of(some, {depth, columns})};
    std::vector<taso_tensor> found(2), outputs{TensorView::of(room, {}), {}};
    REQUIRE(taso_session_infer(session.get(), inputs.data(), 2, found.data(), 2) == TASO_OK);
    session.warm_up(inputs);
    session.run(inputs, outputs);
    for (std::size_t i = 0; i < 2; ++i) {
      CHECK((found[i].rank == 2 && found[i].shape[0] == rows && found[i].shape[1] == (i == 0 ? columns : depth)));
      CHECK((outputs[i].rank == 2 && std::equal(found[i].shape, found[i].shape + 2, outputs[i].shape)));
    }
    const std::vector<float> expected = product(some, some, rows, depth, columns);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(room[i] == Approx(expected[i]).margin(1e-5));
    taso_tensor_free(&outputs[1]);
  }
  // It is refused where the model says something else.
  std::vector<float> x(6, 1);
  const std::vector<taso_tensor> wrong{TensorView::of(x, {2, 0}), TensorView::of(x, {1, 2})};
  std::vector<taso_tensor> outputs(2);
  const auto [status, text] = refusal([&] { session.run(wrong, outputs); });
  CHECK(status == TASO_BAD_ARGUMENT);
  CHECK_THAT(text, Catch::Contains("depth"));
}

TEST_CASE("inputs with a default may be left out") {
  proto::ModelProto model = any_product();
  const std::vector<float> weight{1, 2, 3, 4};
  *model.mutable_graph()->add_initializer() = onnx::write_tensor(Array::of<float>({2, 2}, weight), "y");
  Session session = load(model);
  CHECK_FALSE(session.is_optional(0));
  CHECK(session.is_optional(1));
  CHECK_FALSE(session.is_optional(2));
  CHECK(taso_session_input_is_optional(nullptr, 0) == 0);
  CHECK(session.inputs().size() == 2);
  CHECK(std::string(session.inputs()[1].name) == "y");
  std::vector<float> x{1, 1, 2, 0}, other{5, 6};
  const auto kept = session.run({TensorView::of(x, {2, 2}), TensorView()});
  CHECK(std::vector<float>(kept[0].values<float>().begin(), kept[0].values<float>().end()) ==
        std::vector<float>{4, 6, 2, 4});
  const auto given = session.run({TensorView::of(x, {2, 2}), TensorView::of(other, {2, 1})});
  CHECK(std::vector<float>(given[0].values<float>().begin(), given[0].values<float>().end()) ==
        std::vector<float>{11, 10});
  const auto [status, text] = refusal([&] { session.run({TensorView(), TensorView()}); });
  CHECK(status == TASO_BAD_ARGUMENT);
  CHECK_THAT(text, Catch::Contains("'x' has no default"));
}

TEST_CASE("results go into memory of the caller, also into that of an input") {
  Session session = load(any_product());
  std::vector<float> x = random_floats(9, 1), y = random_floats(9, 2), room(20, -7);
  const std::vector<float> before = x, expected = product(x, y, 3, 3, 3);
  const std::vector<taso_tensor> inputs{TensorView::of(x, {3, 3}), TensorView::of(y, {3, 3})};
  // The product overwrites x, which is also the second result.
  std::vector<taso_tensor> outputs{TensorView::of(x, {}), TensorView::of(room, {})};
  session.run(inputs, outputs);
  CHECK((outputs[0].rank == 2 && outputs[0].shape[1] == 3));
  CHECK(std::equal(before.begin(), before.end(), room.begin()));
  CHECK(room[9] == -7);
  for (std::size_t i = 0; i < 9; ++i) CHECK(x[i] == Approx(expected[i]).margin(1e-6));
}

TEST_CASE("a tensor that does not fit is refused, and the session goes on") {
  Session session = load(any_product());
  std::vector<float> x(6, 1), y(6, 2);
  std::vector<std::int64_t> whole(6, 1);
  const auto run = [&](std::vector<taso_tensor> inputs, std::vector<taso_tensor> outputs = {{}, {}}) {
    const auto [status, text] = refusal([&] { session.run(inputs, outputs); });
    CHECK(status == TASO_BAD_ARGUMENT);
    // It still works.
    const auto good = session.run({TensorView::of(x, {2, 3}), TensorView::of(y, {3, 2})});
    CHECK(good[0].values<float>()[0] == 6);
    return text;
  };
  const taso_tensor left = TensorView::of(x, {2, 3}), right = TensorView::of(y, {3, 2});
  CHECK_THAT(run({left}), Catch::Contains("2 inputs"));
  CHECK_THAT(run({left, right}, {{}}), Catch::Contains("2 outputs"));
  CHECK_THAT(run({left, TensorView::of(y, {2, 3})}), Catch::Contains("'y'") && Catch::Contains("depth"));
  CHECK_THAT(run({left, TensorView::of(y, {6})}), Catch::Contains("2 axes"));
  CHECK_THAT(run({left, TensorView::of(whole, {3, 2})}), Catch::Contains("float32") && Catch::Contains("int64"));
  CHECK_THAT(run({left, TensorView::of(y, {3, -2})}), Catch::Contains("negative"));
  CHECK_THAT(run({left, TensorView::of(y, {3, 3})}), Catch::Contains("24 bytes") && Catch::Contains("36"));
  std::vector<float> room(12);
  CHECK_THAT(run({left, right}, {TensorView::of(room, {}), TensorView::of(room, {})}),
             Catch::Contains("'z' and 'same' overlap"));
  taso_tensor bad = right;
  bad.data = nullptr;
  CHECK_THAT(run({left, bad}), Catch::Contains("no memory"));
  bad = right;
  bad.rank = TASO_MAX_RANK + 1;
  CHECK_THAT(run({left, bad}), Catch::Contains("17 axes"));
  bad = right;
  bad.type = 99;
  CHECK_THAT(run({left, bad}), Catch::Contains("99"));
  bad = right;
  bad.place = 5;
  CHECK_THAT(run({left, bad}), Catch::Contains("5"));
  bad = right;
  bad.place = TASO_DEVICE;
  CHECK_THAT(run({left, bad}), Catch::Contains("on a device"));
  std::vector<float> little(3);
  CHECK_THAT(run({left, right}, {TensorView::of(little, {}), {}}), Catch::Contains("12 bytes"));

  CHECK(taso_session_run(nullptr, nullptr, 0, nullptr, 0, nullptr) == TASO_BAD_ARGUMENT);
  CHECK(taso_session_run(session.get(), nullptr, 2, nullptr, 2, nullptr) == TASO_BAD_ARGUMENT);
  taso_value value{};
  CHECK(taso_session_input(session.get(), 2, &value) == TASO_BAD_ARGUMENT);
  CHECK(taso_session_input(session.get(), 0, nullptr) == TASO_BAD_ARGUMENT);
  CHECK(taso_session_input_count(nullptr) == 0);
  taso_session_destroy(nullptr);
  taso_options_destroy(nullptr);
  taso_tensor_free(nullptr);
}

TEST_CASE("a model that cannot run with tensors that fit is to blame") {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "x", {4});
  declare(*graph.add_input(), "shape", {2}, proto::TensorProto::INT64);
  declare(*graph.add_output(), "y", {2, 2});
  add_node(graph, "Reshape", {"x", "shape"}, {"y"});
  Session session = load(model);
  std::vector<float> x(4, 1);
  std::vector<std::int64_t> good{2, 2}, bad{3, 2}, longer(3, 1);
  CHECK(session.run({TensorView::of(x, {4}), TensorView::of(good, {2})})[0].count() == 4);
  CHECK(refusal([&] { session.run({TensorView::of(x, {4}), TensorView::of(bad, {2})}); }).first == TASO_BAD_MODEL);
  CHECK(refusal([&] {
          session.run({TensorView::of(x, {4}), TensorView::of(longer, {3})});
        }).first == TASO_BAD_ARGUMENT);
  CHECK(session.run({TensorView::of(x, {4}), TensorView::of(good, {2})})[0].count() == 4);
}

TEST_CASE("a file of prices that cannot be used is the caller's mistake") {
  const TemporaryFolder folder;
  const std::string missing = (folder / "none.prices").string(), junk = (folder / "junk.prices").string();
  std::ofstream(junk) << "no prices";
  for (const char* const seconds : {"0", "1"})
    for (const std::string& file : {missing, junk}) {
      const auto [status, text] = refusal([&] {
        Session(example("small_convnet.onnx"), {{"device", "cpu"}, {"optimize", seconds}, {"prices", file}});
      });
      CHECK(status == TASO_BAD_ARGUMENT);
      CHECK_THAT(text, Catch::Contains(file) && !Catch::Contains("small_convnet"));
    }
}

TEST_CASE("what has no effect on the CPU is told, once") {
  std::vector<std::string> said;
  SessionOptions options{{"device", "cpu"}, {"precision", "tf32"}, {"streams", "2"}, {"memory", "1000"}};
  options.on_log([&](taso_log_level level, std::string_view line) {
    if (level == TASO_LOG_WARNING) said.emplace_back(line);
  });
  const auto allocate = [](void*, std::size_t) -> void* { return nullptr; };
  const auto free = [](void*, void*, std::size_t) {};
  REQUIRE(taso_options_set_allocator(const_cast<taso_options*>(options.get()), allocate, free, nullptr) == TASO_OK);
  Session session = load(any_product(), options);
  REQUIRE(said.size() == 1);
  CHECK(said[0] == "without effect on the CPU: precision, streams, memory, the allocator");

  said.clear();
  SessionOptions usual{{"device", "cpu"}, {"precision", "float32"}, {"measure", "0"}, {"streams", "16"}};
  usual.on_log([&](taso_log_level level, std::string_view line) {
    if (level == TASO_LOG_WARNING) said.emplace_back(line);
  });
  load(any_product(), usual);
  CHECK(said.empty());
  const TemporaryFolder folder;  // the precision of an engine file is not asked for here
  session.save_engine((folder / "model.taso").string());
  Session((folder / "model.taso").string(), usual.set("precision", "float32"));
  CHECK(said.empty());
  Session(example("small_convnet.onnx"), usual.set("optimize", "0.1"));
  CHECK_THAT(said.back(), Catch::Contains("prices of a GPU"));
}

TEST_CASE("unknown sizes are called what the model calls them") {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  const auto declare_dims = [](proto::ValueInfoProto& value, const char* name, std::vector<std::string> dims) {
    declare(value, name, {});
    auto& shape = *value.mutable_type()->mutable_tensor_type()->mutable_shape();
    for (const std::string& dim : dims) {
      auto& added = *shape.add_dim();
      if (!dim.empty()) added.set_dim_param(dim);
    }
  };
  const std::vector<std::string> dims{"batch", "seq len+1", "", "a#", "b#12", "c~"};
  declare_dims(*graph.add_input(), "x", dims);
  declare_dims(*graph.add_output(), "same", dims);
  declare_dims(*graph.add_output(), "twice", {"batch", "both", "t", "", "", ""});
  declare_dims(*graph.add_output(), "places", {"axes", "found"});
  graph.mutable_output(2)->mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::INT64);
  add_node(graph, "Relu", {"x"}, {"same"});
  add_attribute(add_node(graph, "Concat", {"x", "x"}, {"twice"}), "axis", proto::AttributeProto::INT).set_i(1);
  add_node(graph, "NonZero", {"x"}, {"places"});
  Session session = load(model);
  const auto names = [](const taso_value& value) {
    std::vector<std::string> list;
    for (std::int32_t i = 0; i < value.rank; ++i) {
      CHECK(value.shape[i] == -1);
      list.emplace_back(value.dimensions[i] == nullptr ? "" : value.dimensions[i]);
    }
    return list;
  };
  CHECK(names(session.inputs()[0]) == dims);
  CHECK(names(session.outputs()[0]) == dims);
  const std::vector<std::string> twice = names(session.outputs()[1]);
  REQUIRE(twice.size() == 6);
  CHECK(twice[1] == R"(2*"seq len+1")");
  CHECK(twice[2] == "t");
  CHECK(names(session.outputs()[2]) == std::vector<std::string>{"axes", "found"});
}

TEST_CASE("options are checked") {
  SessionOptions options;
  for (const auto& option : std::vector<std::pair<std::string, std::string>>{{"device", "gpu"},
                                                                             {"device", "cuda:x"},
                                                                             {"precision", "fp8"},
                                                                             {"threads", "-1"},
                                                                             {"threads", "2x"},
                                                                             {"optimize", "nan"},
                                                                             {"measure", "yes"},
                                                                             {"colour", "red"}}) {
    const auto [status, text] = refusal([&] { options.set(option.first, option.second); });
    CHECK(status == TASO_BAD_ARGUMENT);
    CHECK_THAT(text, Catch::Contains(option.first));
  }
  options.set("threads", "1").set("device", "cpu").set("optimize", "0.5");
  CHECK(taso_options_set(const_cast<taso_options*>(options.get()), nullptr, "1") == TASO_BAD_ARGUMENT);
  CHECK(std::string(taso_status_name(TASO_BAD_MODEL)) == "TASO_BAD_MODEL");
  CHECK(taso_api_version() == TASO_API_VERSION);
  CHECK(taso_device_count() >= 0);
  CHECK(std::strlen(taso_device_text()) > 0);
}

TEST_CASE("files that are no models give an error") {
  const TemporaryFolder folder;
  CHECK(refusal([&] { Session(folder / "nothing.onnx", on_cpu()); }).first == TASO_BAD_MODEL);
  CHECK_THAT(refusal([&] { Session(folder / "nothing.onnx", on_cpu()); }).second, Catch::Contains("nothing.onnx"));
  CHECK(refusal([&] { Session("-", on_cpu()); }).first == TASO_BAD_MODEL);  // not the standard input
  proto::ModelProto apart = small_model();
  apart.mutable_graph()->clear_initializer();
  add_external(*apart.mutable_graph(), "w", {2}, "w.bin");
  CHECK_THAT(refusal([&] { load(apart); }).second, Catch::Contains("no folder"));
  const std::string whole = read_file(example("small_convnet.onnx"));
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    std::string text = whole;
    if (i % 2 == 0)
      text.resize(random.below(text.size()));
    else
      for (int j = 0; j < 4; ++j)
        text[random.below(std::min<std::size_t>(text.size(), 3000))] ^= static_cast<char>(1 + random.below(255));
    const taso_status status = refusal([&] { Session(bytes_of(text), on_cpu()); }).first;
    CHECK((status == TASO_OK || status == TASO_BAD_MODEL));
  }
}

TEST_CASE("an engine file computes the same, and damage is noticed") {
  const TemporaryFolder folder;
  const std::string file = (folder / "model.taso").string();
  std::vector<float> x = random_floats(12, 1), y = random_floats(12, 2);
  const auto compute = [&](Session& session) {
    const auto results = session.run({TensorView::of(x, {3, 4}), TensorView::of(y, {4, 3})});
    return std::vector<float>(results[0].values<float>().begin(), results[0].values<float>().end());
  };
  Session session = load(any_product());
  session.save_engine(file);
  CHECK(folder.names() == std::vector<std::string>{"model.taso"});
  Session again(file, on_cpu());
  CHECK(compute(again) == compute(session));
  CHECK(again.inputs().size() == 2);
  CHECK(refusal([&] { session.save_engine((folder / "no/such/folder.taso").string()); }).first == TASO_UNAVAILABLE);

  const std::string whole = read_file(file);
  Random random(9);
  for (int i = 0; i < 500; ++i) {
    std::string text = whole;
    switch (i % 3) {
      case 0: text.resize(random.below(text.size())); break;
      case 1: text[random.below(text.size())] ^= static_cast<char>(1 << random.below(8)); break;
      default: text += "more"; text[8 + random.below(8)] = static_cast<char>(random.below(256));
    }
    const auto [status, why] = refusal([&] { Session(bytes_of(text), on_cpu()); });
    CAPTURE(i, why);
    // A change in what is only shown, such as the name of a device, does no harm.
    CHECK((status == TASO_BAD_MODEL || i % 3 == 1));
  }
  std::string newer = whole;
  newer[7] = '3';
  CHECK_THAT(refusal([&] { Session(bytes_of(newer), on_cpu()); }).second, Catch::Contains("newer"));
}

TEST_CASE("engine files hold weights beside the model; those of the first format held them within") {
  const TemporaryFolder folder;
  const std::string file = (folder / "model.taso").string();
  Session session(example("small_transformer.onnx"), on_cpu());
  session.save_engine(file);
  const std::string whole = read_file(file);
  std::uint64_t size = 0;
  std::memcpy(&size, whole.data() + 8, sizeof size);
  auto contents = nlohmann::ordered_json::parse(whole.substr(16, size));
  CHECK(contents["weights"].size() > 4);
  CHECK(contents["model"]["bytes"].get<std::size_t>() < whole.size() / 2);

  const std::string model = onnx::Model::load(example("small_transformer.onnx")).serialise(),
                    prices = whole.substr(whole.size() - contents["prices"]["bytes"].get<std::size_t>());
  const auto sum_of = [](const std::string& text) {
    Sha256 sum;
    sum.add(text);
    return sum.digest();
  };
  contents.erase("weights");
  contents["model"] = {{"bytes", model.size()}, {"sha256", sum_of(sum_of(model))}};
  const std::string text = contents.dump();
  size = text.size();
  std::string first = "TASOENG1";
  first.append(reinterpret_cast<const char*>(&size), sizeof size);
  first += text + model + prices;

  Session again(file, on_cpu()), earlier(bytes_of(first), on_cpu());
  const taso_value input = session.inputs()[0];
  Extents extents(input.shape, input.shape + input.rank);
  std::replace(extents.begin(), extents.end(), std::int64_t{-1}, std::int64_t{2});
  std::vector<float> x = random_floats(static_cast<std::size_t>(count(extents)), 6);
  const TensorView given(x.data(), x.size() * 4, TASO_FLOAT32, TASO_HOST, extents);
  const auto compute = [&](Session& one) {
    const auto results = one.run(std::span(&given, 1));
    return std::vector<float>(results[0].values<float>().begin(), results[0].values<float>().end());
  };
  CHECK(compute(again) == compute(session));
  CHECK(compute(earlier) == compute(session));
}

TEST_CASE("a demanded GPU that is not there is an error; else the host runs the model") {
  if (taso_device_count() > 0) {
    CHECK(refusal([&] { load(any_product(), {{"device", "cuda:999"}}); }).first == TASO_UNAVAILABLE);
    return;
  }
  const auto [status, text] = refusal([&] { load(any_product(), {{"device", "cuda"}}); });
  CHECK(status == TASO_UNAVAILABLE);
  CHECK_THAT(text, Catch::Contains("no GPU"));
  std::vector<std::string> said;
  SessionOptions options;
  options.on_log([&](taso_log_level, std::string_view line) { said.emplace_back(line); });
  CHECK(load(any_product(), options).device() == "CPU");
  CHECK(said.size() >= 2);
}

TEST_CASE("a session searches if it is asked to, and can be cancelled", "[threads]") {
  Session plain(example("small_transformer.onnx"), on_cpu());
  std::atomic<int> asked = 0;
  SessionOptions options{{"device", "cpu"}, {"optimize", "20"}};
  Session faster(example("small_transformer.onnx"), options);
  const taso_value input = plain.inputs()[0];
  Extents extents(input.shape, input.shape + input.rank);
  std::replace(extents.begin(), extents.end(), std::int64_t{-1}, std::int64_t{3});
  std::vector<float> x = random_floats(static_cast<std::size_t>(count(extents)), 4);
  const TensorView given(x.data(), x.size() * 4, TASO_FLOAT32, TASO_HOST, extents);
  const auto one = plain.run(std::span(&given, 1)), two = faster.run(std::span(&given, 1));
  REQUIRE(one[0].count() == two[0].count());
  for (std::size_t i = 0; i < one[0].count(); ++i)
    REQUIRE(one[0].values<float>()[i] == Approx(two[0].values<float>()[i]).margin(1e-4));

  options.on_cancel([&] { return ++asked > 3; });
  CHECK(refusal([&] { Session(example("small_transformer.onnx"), options); }).first == TASO_CANCELLED);
}

TEST_CASE("eight threads run four sessions and get equal bits", "[threads]") {
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 4; ++i) sessions.push_back(std::make_unique<Session>(load(any_product())));
  std::vector<float> x = random_floats(64 * 48, 1), y = random_floats(48 * 32, 2);
  const std::vector<taso_tensor> inputs{TensorView::of(x, {64, 48}), TensorView::of(y, {48, 32})};
  const auto compute = [&](Session& session) {
    std::vector<float> z(64 * 32), same(64 * 48);
    std::vector<taso_tensor> outputs{TensorView::of(z, {}), TensorView::of(same, {})};
    session.run(inputs, outputs);
    return z;
  };
  const std::vector<float> expected = compute(*sessions[0]);
  std::atomic<int> different = 0;
  std::vector<std::jthread> threads;
  for (std::size_t t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int run = 0; run < 1000; ++run)
        if (compute(*sessions[(t + static_cast<std::size_t>(run)) % 4]) != expected) ++different;
    });
  threads.clear();
  CHECK(different == 0);
}

TEST_CASE("a child process runs and loads sessions") {
  Session session = load(any_product());
  std::vector<float> x = random_floats(64 * 64, 1), y = random_floats(64 * 64, 2);
  const auto works = [&](Session& one) {
    return one.run({TensorView::of(x, {64, 64}), TensorView::of(y, {64, 64})})[0].count() == 64 * 64;
  };
  REQUIRE(works(session));
  if (!can_fork) return;
  const pid_t child = fork_child();
  if (child == 0) {
    bool good = false;
    try {
      Session another = load(any_product());
      good = works(session) && works(another);
    } catch (...) {
    }
    std::exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  CHECK(works(session));
}

TEST_CASE("a process may end while other threads load and run", "[threads]") {
  if (!can_fork) return;
  const std::string text = any_product().SerializeAsString();
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork_child();
    if (child == 0) {
      // Nothing here is destroyed, as exit() would do with static objects.
      const SessionOptions& options = *new SessionOptions{{"device", "cpu"}};
      Session& session = *new Session(bytes_of(text), options);
      auto& x = *new std::vector<float>(64 * 64, 1);
      for (int t = 0; t < 4; ++t)
        std::thread([&, t] {
          for (;;) try {
              if (t == 0) Session(bytes_of(text), options);
              session.run({TensorView::of(x, {64, 64}), TensorView::of(x, {64, 64})});
              if (t == 1) session.run({TensorView::of(x, {64, 64}), TensorView::of(x, {32, 64})});
            } catch (const SessionError&) {
            }
        }).detach();
      std::this_thread::sleep_for(std::chrono::milliseconds(3 + round));
      std::exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CAPTURE(round, status);
    CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  }
}

namespace {

std::int64_t resident_pages() {
  std::ifstream file("/proc/self/statm");
  std::int64_t all = 0, resident = 0;
  file >> all >> resident;
  return resident;
}

/// How much more memory is in use after the second of two equal rounds than after the first, in bytes.
std::int64_t growth(int loads) {
  const std::string text = any_product().SerializeAsString();
  std::vector<float> x(12, 1), y(12, 1);
  const auto round = [&] {
    for (int i = 0; i < loads; ++i) {
      Session session(bytes_of(text), on_cpu());
      session.run({TensorView::of(x, {3, 4}), TensorView::of(y, {4, 3})});
      session.run({TensorView::of(x, {0, 4}), TensorView::of(y, {4, 3})});
      refusal([&] { session.run({TensorView::of(x, {3, 4}), TensorView::of(y, {3, 4})}); });
    }
    return resident_pages();
  };
  round();
  const std::int64_t first = round();
  return (round() - first) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

TEST_CASE("nothing leaks over fifteen thousand loads and thirty thousand runs") {
#if defined(TASO_ADDRESS_SANITIZER) || defined(TASO_THREAD_SANITIZER)
  return;  // freed memory stays with the sanitizer, which finds leaks itself
#endif
  CHECK(growth(5000) < 1 << 20);
}

}  // namespace taso::test
