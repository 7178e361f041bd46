// A decoder's cache that is an input and an output of a session, in the same memory.
#include <taso/session.h>

#include <cstring>

#include "onnx/cleanup/cleanup.h"
#include "onnx/model/external_data.h"
#include "runtime/host/interpreter.h"
#include "runtime/session/axis_scatters.h"
#include "runtime/session/run_form.h"
#include "tests/api/device_memory.h"
#include "tests/api/example_models.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

constexpr std::int64_t heads = 3, capacity = 10, width = 4;
const std::vector<std::int64_t> cache_sizes{1, heads, capacity, width}, token_sizes{1, heads, 1, width};
constexpr std::size_t cache_count = heads * capacity * width, token_count = heads * width;

void set_permutation(proto::NodeProto& node, const std::vector<std::int64_t>& axes) {
  auto& attribute = add_attribute(node, "perm", proto::AttributeProto::INTS);
  for (const std::int64_t axis : axes) attribute.add_ints(axis);
}

/// A token is written into a cache at a position, as PyTorch exports index_copy; and the sum of the cache along it.
proto::ModelProto cached(const std::vector<std::int64_t>& to_front = {2, 0, 1, 3},
                         const std::vector<std::int64_t>& back = {1, 2, 0, 3}) {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  declare(*graph.add_input(), "cache", cache_sizes);
  declare(*graph.add_input(), "position", {1});
  graph.mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(proto::TensorProto::INT64);
  declare(*graph.add_input(), "token", token_sizes);
  declare(*graph.add_output(), "present", cache_sizes);
  declare(*graph.add_output(), "sum", {1, heads, 1, width});
  proto::TensorProto& axis = *graph.add_initializer();
  axis.set_name("axis");
  axis.set_data_type(proto::TensorProto::INT64);
  axis.add_dims(1);
  axis.add_int64_data(2);
  proto::TensorProto& last = *graph.add_initializer();
  last = axis;
  last.set_name("last");
  last.set_int64_data(0, -1);
  set_permutation(add_node(graph, "Transpose", {"cache"}, {"moved"}), to_front);
  add_node(graph, "Unsqueeze", {"position", "last"}, {"indices"});
  set_permutation(add_node(graph, "Transpose", {"token"}, {"row"}), {2, 0, 1, 3});
  add_node(graph, "ScatterND", {"moved", "indices", "row"}, {"written"});
  set_permutation(add_node(graph, "Transpose", {"written"}, {"present"}), back);
  add_node(graph, "ReduceSum", {"present", "axis"}, {"sum"});
  return model;
}

std::size_t count_of(const onnx::GraphEdit& edit, const std::string& type) {
  std::size_t count = 0;
  for (const proto::NodeProto* node : edit.view().nodes) count += node->op_type() == type ? 1 : 0;
  return count;
}

/// The place of an element of the cache.
std::size_t at(std::int64_t head, std::int64_t token, std::int64_t i) {
  return static_cast<std::size_t>((head * capacity + token) * width + i);
}

/// Writes a token into the cache, and sums up.
std::vector<float> stepped(std::vector<float>& cache, const std::vector<float>& token, std::int64_t position) {
  std::vector<float> sums;
  for (std::int64_t head = 0; head < heads; ++head)
    for (std::int64_t i = 0; i < width; ++i) {
      cache[at(head, position, i)] = token[static_cast<std::size_t>(head * width + i)];
      double sum = 0;
      for (std::int64_t k = 0; k < capacity; ++k) sum += static_cast<double>(cache[at(head, k, i)]);
      sums.push_back(static_cast<float>(sum));
    }
  return sums;
}

void check_equal(const std::vector<float>& found, const std::vector<float>& expected) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) REQUIRE(found[i] == Approx(expected[i]).margin(1e-5));
}

}  // namespace

TEST_CASE("a scatter between transposes is one along their axis") {
  onnx::Model model(cached(), onnx::no_folder);
  model.validate();
  onnx::GraphEdit edit(model), joined(model);
  onnx::clean_up(edit);
  CHECK(count_of(edit, "ScatterND") == 1);
  runtime::bring_into_run_form(joined);
  CHECK(count_of(joined, "ScatterND") == 0);
  CHECK(count_of(joined, "ScatterElements") == 1);
  CHECK(count_of(joined, "Transpose") == 0);
  const auto expected = edit.imported(), found = joined.imported();
  for (std::int64_t position = -capacity; position < capacity; ++position) {
    const std::vector<Array> inputs{Array::of<float>(cache_sizes, random_floats(cache_count, 1)),
                                    Array::of<std::int64_t>({1}, {position}),
                                    Array::of<float>(token_sizes, random_floats(token_count, 2))};
    const auto a = runtime::interpret(expected->graph, inputs), b = runtime::interpret(found->graph, inputs);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(identical(a[i], b[i]));
  }
}

TEST_CASE("other transposes around a scatter stay") {
  const auto joined = [](proto::ModelProto proto) {
    onnx::Model model(std::move(proto), onnx::no_folder);
    onnx::GraphEdit edit(model);
    return runtime::join_axis_scatters(edit);
  };
  CHECK(joined(cached()) == 1);
  CHECK(joined(cached({2, 1, 0, 3}, {1, 2, 0, 3})) == 0);  // heads and examples change places
  CHECK(joined(cached({2, 0, 1, 3}, {2, 0, 1, 3})) == 0);  // not back
  proto::ModelProto used = cached();                       // what is moved to the front is needed too
  declare(*used.mutable_graph()->add_output(), "written", {capacity, 1, heads, width});
  CHECK(joined(used) == 0);
}

TEST_CASE("a transpose between two scatters belongs to one of them") {
  proto::ModelProto proto = empty_model();
  proto::GraphProto& graph = *proto.mutable_graph();
  declare(*graph.add_input(), "x", {4, 4});
  declare(*graph.add_input(), "row", {1, 4});
  declare(*graph.add_output(), "y", {4, 4});
  proto::TensorProto& place = *graph.add_initializer();
  place.set_name("place");
  place.set_data_type(proto::TensorProto::INT64);
  place.add_dims(1);
  place.add_dims(1);
  place.add_int64_data(2);
  set_permutation(add_node(graph, "Transpose", {"x"}, {"a"}), {1, 0});
  add_node(graph, "ScatterND", {"a", "place", "row"}, {"b"});
  set_permutation(add_node(graph, "Transpose", {"b"}, {"c"}), {1, 0});
  add_node(graph, "ScatterND", {"c", "place", "row"}, {"d"});
  set_permutation(add_node(graph, "Transpose", {"d"}, {"y"}), {1, 0});
  onnx::Model model(std::move(proto), onnx::no_folder);
  onnx::GraphEdit edit(model), joined(model);
  CHECK(runtime::join_axis_scatters(joined) == 1);
  const std::vector<Array> inputs{Array::of<float>({4, 4}, random_floats(16, 1)),
                                  Array::of<float>({1, 4}, random_floats(4, 2))};
  const auto expected = runtime::interpret(edit.imported()->graph, inputs),
             found = runtime::interpret(joined.imported()->graph, inputs);
  CHECK(identical(found[0], expected[0]));
}

TEST_CASE("a cache is written in place, or elsewhere") {
  Session session = load(cached());
  std::vector<float> cache = random_floats(cache_count, 1), model = cache, room(cache_count), sum(token_count);
  for (std::int64_t step = 0; step < 20; ++step) {
    std::vector<std::int64_t> position{step * 7 % capacity};
    std::vector<float> token = random_floats(token_count, static_cast<std::uint64_t>(step));
    const bool is_in_place = step % 3 != 2;
    std::vector<float>& to = is_in_place ? cache : room;
    const std::vector<float> before = cache;
    const std::vector<taso_tensor> inputs{TensorView::of(cache, {1, heads, capacity, width}),
                                          TensorView::of(position, {1}), TensorView::of(token, {1, heads, 1, width})};
    std::vector<taso_tensor> outputs{TensorView::of(to, {}), TensorView::of(sum, {})};
    session.run(inputs, outputs);
    const std::vector<float> sums = stepped(model, token, position[0]);
    check_equal(to, model);
    check_equal(sum, sums);
    if (!is_in_place) CHECK(cache == before);
    cache = model;
  }
  // The updates lie in the memory that is overwritten.
  std::vector<std::int64_t> position{2};
  const std::vector<taso_tensor> inputs{
      TensorView::of(cache, {1, heads, capacity, width}), TensorView::of(position, {1}),
      TensorView(cache.data() + 3, token_count * 4, TASO_FLOAT32, TASO_HOST, token_sizes)};
  std::vector<taso_tensor> outputs{TensorView::of(cache, {}), TensorView::of(sum, {})};
  const std::vector<float> token(cache.begin() + 3, cache.begin() + 3 + token_count);
  session.run(inputs, outputs);
  stepped(model, token, 2);
  check_equal(cache, model);
  // A position that does not exist is refused, and nothing is written.
  position[0] = capacity;
  CHECK_THROWS_AS(session.run(inputs, outputs), SessionError);
  check_equal(cache, model);
}

TEST_CASE("a cache on a GPU is written in place, or elsewhere", "[gpu]") {
  if (taso_device_count() == 0) {
    WARN("SKIPPED: " << taso_device_text());
    return;
  }
  Session session = load(cached(), {{"device", "cuda"}});
  const auto view = [](const DeviceBytes& memory, const std::vector<std::int64_t>& sizes, taso_type type) {
    return TensorView::on_device(memory.data(), memory.size(), type, sizes);
  };
  DeviceBytes cache(cache_count * 4), room(cache_count * 4), sum(token_count * 4), token(token_count * 4), position(8);
  std::vector<float> model = random_floats(cache_count, 1);
  for (std::int64_t step = 0; step < 40; ++step) {
    const std::int64_t place = step * 7 % capacity;
    const std::vector<float> given = random_floats(token_count, static_cast<std::uint64_t>(step));
    const bool is_in_place = step % 3 != 2;
    DeviceBytes fresh(token_count * 4);  // small inputs may lie elsewhere each time
    DeviceBytes& small = step % 2 == 0 ? token : fresh;
    small.fill(given.data());
    position.fill(&place);
    cache.fill(model.data());
    const std::vector<float> before = model;
    const std::vector<taso_tensor> inputs{view(cache, cache_sizes, TASO_FLOAT32), view(position, {1}, TASO_INT64),
                                          view(small, token_sizes, TASO_FLOAT32)};
    std::vector<taso_tensor> outputs{view(is_in_place ? cache : room, {}, TASO_FLOAT32), view(sum, {}, TASO_FLOAT32)};
    session.run(inputs, outputs);
    Driver::instance().call("cuCtxSynchronize");
    const std::vector<float> sums = stepped(model, given, place);
    check_equal((is_in_place ? cache : room).read<float>(cache_count), model);
    check_equal(sum.read<float>(token_count), sums);
    if (!is_in_place) check_equal(cache.read<float>(cache_count), before);
  }
}

}  // namespace taso::test
