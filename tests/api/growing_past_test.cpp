// A decoder whose past grows, run with caches of fixed capacity.
#include <taso/session.h>

#include <algorithm>

#include "cost/plan/plan.h"
#include "cost/pricing/roofline.h"
#include "onnx/model/external_data.h"
#include "runtime/gpu/execution.h"
#include "runtime/host/interpreter.h"
#include "runtime/session/growing/derived_pasts.h"
#include "tests/api/example_models.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

constexpr std::int64_t heads = 3, width = 16, capacity = 32;
const std::vector<std::int64_t> token_sizes{1, heads, 1, width}, cache_sizes{1, heads, capacity, width};
constexpr std::size_t token_count = heads * width, cache_count = heads * capacity * width;

/// Attention of one query, with keys and values of any number of tokens before.
proto::ModelProto decoder() {
  proto::ModelProto model = empty_model();
  proto::GraphProto& graph = *model.mutable_graph();
  for (const char* name : {"query", "key", "value"}) declare(*graph.add_input(), name, token_sizes);
  for (const char* name : {"past_key", "past_value"}) {
    declare(*graph.add_input(), name, cache_sizes);
    auto& type = *graph.mutable_input(graph.input_size() - 1)->mutable_type()->mutable_tensor_type();
    type.mutable_shape()->mutable_dim(2)->set_dim_param("tokens");
  }
  declare(*graph.add_output(), "context", token_sizes);
  for (const char* name : {"present_key", "present_value"}) {
    declare(*graph.add_output(), name, cache_sizes);
    auto& type = *graph.mutable_output(graph.output_size() - 1)->mutable_type()->mutable_tensor_type();
    type.mutable_shape()->mutable_dim(2)->set_dim_param("tokens with the new one");
  }
  const auto concat = [&](const char* past, const char* key, const char* present) {
    add_attribute(add_node(graph, "Concat", {past, key}, {present}), "axis", proto::AttributeProto::INT).set_i(2);
  };
  concat("past_key", "key", "present_key");
  concat("past_value", "value", "present_value");
  auto& order =
      add_attribute(add_node(graph, "Transpose", {"present_key"}, {"turned"}), "perm", proto::AttributeProto::INTS);
  for (const int axis : {0, 1, 3, 2}) order.add_ints(axis);
  add_node(graph, "MatMul", {"query", "turned"}, {"scores"});
  add_attribute(add_node(graph, "Softmax", {"scores"}, {"shares"}), "axis", proto::AttributeProto::INT).set_i(-1);
  add_node(graph, "MatMul", {"shares", "present_value"}, {"context"});
  return model;
}

Session with_capacity(const proto::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  return Session(bytes_of(bytes), {{"device", "cpu"}, {"past_capacity", std::to_string(capacity)}});
}

/// The first tokens of a cache.
Array front_of(const std::vector<float>& cache, std::int64_t tokens) {
  std::vector<float> rows;
  for (std::int64_t head = 0; head < heads; ++head) {
    const auto first = cache.begin() + head * capacity * width;
    rows.insert(rows.end(), first, first + tokens * width);
  }
  return Array::of<float>({1, heads, tokens, width}, rows);
}

void check_close(const Array& found, const Array& expected) {
  REQUIRE(found.extents() == expected.extents());
  const std::vector<double> one = found.doubles(), other = expected.doubles();
  for (std::size_t i = 0; i < one.size(); ++i) REQUIRE(one[i] == Approx(other[i]).margin(1e-5));
}

}  // namespace

TEST_CASE("tokens are written into caches of fixed capacity, and give what a growing past gives") {
  const proto::ModelProto model = decoder();
  const onnx::Model own(model, onnx::no_folder);
  const Graph graph = onnx::import_model(onnx::view_of(own)).graph;
  Session session = with_capacity(model);
  REQUIRE(session.inputs().size() == 6);
  CHECK(std::string(session.inputs()[5].name) == "past_length");
  std::vector<float> keys(cache_count), values(cache_count), context(token_count);
  for (std::int64_t length = 0; length < capacity; ++length) {
    const auto seed = static_cast<std::uint64_t>(3 * length);
    const std::vector<float> query = random_floats(token_count, seed), key = random_floats(token_count, seed + 1),
                             value = random_floats(token_count, seed + 2);
    const std::vector<Array> expected = runtime::interpret(
        graph, std::vector{Array::of<float>(token_sizes, query), Array::of<float>(token_sizes, key),
                           Array::of<float>(token_sizes, value), front_of(keys, length), front_of(values, length)});
    std::vector<std::int64_t> count{length};
    const auto token = [&](const std::vector<float>& of) { return TensorView::of(of, {1, heads, 1, width}); };
    const auto cache = [&](std::vector<float>& of) { return TensorView::of(of, {1, heads, capacity, width}); };
    const std::vector<taso_tensor> inputs{token(query), token(key),    token(value),
                                          cache(keys),  cache(values), TensorView::of(count, {})};
    std::vector<taso_tensor> outputs{token(context), cache(keys), cache(values)};
    session.run(inputs, outputs);
    check_close(Array::of<float>(token_sizes, context), expected[0]);
    check_close(front_of(keys, length + 1), expected[1]);
    check_close(front_of(values, length + 1), expected[2]);
    if (length + 1 < capacity) continue;
    count[0] = capacity;
    CHECK_THROWS_WITH(session.run(inputs, outputs), Catch::Contains("room for a past of 0 to 31"));
    check_close(front_of(keys, capacity), expected[1]);
  }
}

TEST_CASE("on a GPU a past of fixed capacity is attention in one kernel, and written in place") {
  const runtime::growing::DerivedPast derived(
      runtime::growing::with_fixed_past(onnx::Model(decoder(), onnx::no_folder), capacity));
  const cost::WholeGraph view(derived.graph);
  const cost::Plan plan = cost::plan(view, cost::Roofline());
  const auto is_attention = [](const auto& step) { return step.kernel.kind == cost::Kernel::Kind::attention; };
  CHECK(std::count_if(plan.steps.begin(), plan.steps.end(), is_attention) == 1);
  const gpu::Execution execution = gpu::make_execution(view, derived.graph, plan, cost::Precision::fp32);
  CHECK(execution.on_host.empty());
  CHECK(execution.steps.in_place.size() == 2);
}

TEST_CASE("an engine file keeps the capacity of a past") {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "decoder.taso").string();
  Session session = with_capacity(decoder());
  session.save_engine(path);
  Session loaded(path, {{"device", "cpu"}});
  REQUIRE(loaded.inputs().size() == 6);
  std::vector<float> token(token_count), keys(cache_count), values(cache_count);
  std::vector<std::int64_t> length{capacity};
  const auto token_view = TensorView::of(token, {1, heads, 1, width});
  const auto run = [&] {
    loaded.run({token_view, token_view, token_view, TensorView::of(keys, {1, heads, capacity, width}),
                TensorView::of(values, {1, heads, capacity, width}), TensorView::of(length, {})});
  };
  CHECK_THROWS_WITH(run(), Catch::Contains("room for a past of 0 to 31"));
  length[0] = 7;
  run();
  CHECK_THROWS_WITH(SessionOptions({{"past_capacity", "many"}}), Catch::Contains("past_capacity"));
}

}  // namespace taso::test
