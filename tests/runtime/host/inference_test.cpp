// What is inferred before a run: chains of shape arithmetic with unknowns, and nothing where nothing is certain.
#include "runtime/host/inference/inference.h"
#include "ops/core/minimum.h"
#include "tests/catch.h"

namespace taso::test {

using namespace runtime;

namespace {

const Dim n = Dim::symbol("N");
const Dim t = Dim::symbol("T");

Fact tensor(Shape shape, ElementType element = ElementType::float32) {
  return {{element, std::move(shape)}, std::nullopt, std::nullopt};
}

Fact integers(std::vector<std::int64_t> values) {
  const auto length = static_cast<std::int64_t>(values.size());
  return {{ElementType::int64, Shape{length}}, std::nullopt, Array::of<std::int64_t>({length}, values)};
}

Fact integer(std::int64_t value) { return {{ElementType::int64, Shape{}}, std::nullopt, Array::scalar(value)}; }

std::vector<Fact> infer_all(std::string_view op_type, const std::vector<Fact>& inputs,
                            const Attributes& attributes = {}, std::size_t outputs = 1, std::int64_t opset = 20) {
  InferenceCall call{"", op_type, opset, attributes, {}, outputs};
  for (const Fact& fact : inputs) call.inputs.push_back(&fact);
  return infer_facts(call);
}

Fact infer(std::string_view op_type, const std::vector<Fact>& inputs, const Attributes& attributes = {},
           std::int64_t opset = 20) {
  return infer_all(op_type, inputs, attributes, 1, opset).front();
}

Attributes with(std::string name, Attributes::Attribute value) {
  Attributes attributes;
  attributes.set(std::move(name), std::move(value));
  return attributes;
}

std::string text(const Fact& fact) { return text_of(fact.type); }

std::string content(const Fact& fact) { return fact.content ? text_of(Shape(*fact.content)) : "?"; }

TEST_CASE("a reshape by computed dimensions is known") {
  const Fact x = tensor({n, t, 768});
  const Fact shape = infer("Shape", {x});
  CHECK(content(shape) == "[N, T, 768]");
  const Fact batch = infer("Gather", {shape, integer(0)});
  const Fact time = infer("Gather", {shape, integer(1)});
  CHECK(content(batch) == "[N]");
  CHECK(text(batch) == "int64[]");
  const Fact axes = integers({0});
  const Fact target = infer(
      "Concat", {infer("Unsqueeze", {batch, axes}), infer("Unsqueeze", {time, axes}), integers({12}), integers({-1})},
      with("axis", std::int64_t{0}));
  CHECK(content(target) == "[N, T, 12, -1]");
  const Fact heads = infer("Reshape", {x, target});
  CHECK(text(heads) == "float32[N, T, 12, 64]");
  CHECK(text(infer("Transpose", {heads}, with("perm", std::vector<std::int64_t>{0, 2, 1, 3}))) ==
        "float32[N, 12, T, 64]");
}

TEST_CASE("arithmetic on dimensions") {
  const Fact shape = infer("Shape", {tensor({n, t})});
  CHECK(content(infer("Mul", {shape, integers({2, 3})})) == "[2*N, 3*T]");
  CHECK(content(infer("Sub", {shape, integer(1)})) == "[N - 1, T - 1]");
  CHECK(content(infer("Div", {shape, integer(2)})) == "[floor(N/2), floor(T/2)]");
  CHECK(content(infer("Div", {infer("Sub", {shape, integer(3)}), integer(2)})) == "?");  // may be negative
  CHECK(content(infer("Max", {shape, integer(1)})) == "[N, T]");
  CHECK(content(infer("Min", {shape, integer(4)})) == "?");
  CHECK(content(infer("ReduceProd", {shape})) == "[N*T]");
  CHECK(content(infer("Slice", {shape, integers({-1}), integers({9})})) == "[T]");
  CHECK(content(infer("Cast", {shape}, with("to", std::int64_t{6}))) == "[N, T]");
  CHECK(content(infer("Cast", {shape}, with("to", std::int64_t{1}))) == "?");
  CHECK(content(infer("Size", {tensor({n, 4})})) == "[4*N]");
}

TEST_CASE("comparisons with a certain result select a branch") {
  const Fact shape = infer("Shape", {tensor({n, t})});
  const Fact is_open = infer("Equal", {shape, integers({-1, -1})});
  REQUIRE(is_open.constant);
  CHECK(content(infer("Where", {is_open, integers({7, 8}), shape})) == "[N, T]");
  CHECK_FALSE(infer("Equal", {shape, integers({1, 1})}).constant);
}

TEST_CASE("small results of constants are computed") {
  const Fact range = infer("Range", {integer(1), integer(8), integer(3)});
  CHECK(content(range) == "[1, 4, 7]");
  CHECK(text(infer("Range", {integer(0), infer("Size", {tensor({n})}), integer(1)})) == "int64[N]");
  CHECK(content(infer("Mod", {range, integers({2, 2, 2})})) == "[1, 0, 1]");
  const Fact wide = infer("ConstantOfShape", {integers({1'000'000, 1'000'000})});
  CHECK(text(wide) == "float32[1000000, 1000000]");
  CHECK_FALSE(wide.constant);
}

TEST_CASE("broadcasting with unknowns") {
  CHECK(text(infer("Add", {tensor({n, 1}), tensor({5})})) == "float32[N, 5]");
  CHECK(text(infer("Add", {tensor({n}), tensor({5})})) == "float32[5]");
  CHECK(text(infer("Add", {tensor({n}), tensor({t})})) == "float32[?]");
  CHECK(text(infer("Less", {tensor({n}), tensor({1})})) == "bool[N]");
}

TEST_CASE("reshapes that might mean something else stay unknown") {
  const Fact x = tensor({n, 6});
  CHECK(text(infer("Reshape", {x, integers({0, 3, -1})})) == "float32[N, 3, 2]");
  CHECK(text(infer("Reshape", {x, integers({-1})})) == "float32[6*N]");
  CHECK(text(infer("Reshape", {x, integers({-1, 4})})) == "float32[N + floor(2*N/4), 4]");
  CHECK(text(infer("Reshape", {x, integers({-1, -1})})) == "float32[?]");
  Fact target = tensor({2}, ElementType::int64);
  target.content = Shape{n - 2, Dim(3)};  // may be -1
  CHECK(text(infer("Reshape", {x, target})) == "float32[?]");
}

TEST_CASE("slices with unknown extents") {
  const Fact x = tensor({n + 4, 10});
  const auto slice = [&](std::int64_t start, std::int64_t end, std::int64_t axis, std::int64_t step = 1) {
    return text(infer("Slice", {x, integers({start}), integers({end}), integers({axis}), integers({step})}));
  };
  constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
  CHECK(slice(0, far, 0) == "float32[N + 4, 10]");
  CHECK(slice(2, far, 0) == "float32[N + 2, 10]");
  CHECK(slice(0, 5, 0) == "float32[5, 10]");
  CHECK(slice(0, 6, 0) == "float32[min(6, N + 4), 10]");
  CHECK(slice(0, -1, 0) == "float32[N + 3, 10]");
  CHECK(slice(-1, std::numeric_limits<std::int64_t>::min(), 1, -2) == "float32[N + 4, 5]");
  CHECK(slice(8, 2, 1) == "float32[N + 4, 0]");
  CHECK(slice(0, 1, 2) == "float32[?]");
}

TEST_CASE("windows, products and cells") {
  Attributes conv = with("strides", std::vector<std::int64_t>{2, 2});
  conv.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
  CHECK(text(infer("Conv", {tensor({n, 3, 224, t}), tensor({64, 3, 3, 3})}, conv)) ==
        "float32[N, 64, 112, floor((T + 1)/2)]");
  CHECK(text(infer("MatMul", {tensor({n, 12, t, 64}), tensor({n, 12, 64, t})})) == "float32[N, 12, T, T]");
  CHECK(text(infer("Gemm", {tensor({4, n}), tensor({5, 4})}, with("transA", std::int64_t{1}))) == "float32[N, 4]");
  const auto lstm = infer_all("LSTM", {tensor({t, n, 8}), tensor({1, 64, 8}), tensor({1, 64, 16})},
                              with("hidden_size", std::int64_t{16}), 3);
  CHECK(text(lstm[0]) == "float32[T, 1, N, 16]");
  CHECK(text(lstm[2]) == "float32[1, N, 16]");
  const auto top = infer_all("TopK", {tensor({n, 100}), integers({5})}, {}, 2);
  CHECK(text(top[1]) == "int64[N, 5]");
}

/// Infers with names for unknown extents.
std::vector<Fact> infer_naming(std::string_view op_type, const std::vector<Fact>& inputs,
                               const Attributes& attributes = {}, std::size_t outputs = 1, std::int64_t opset = 20) {
  InferenceCall call{"", op_type, opset, attributes, {}, outputs};
  for (const Fact& fact : inputs) call.inputs.push_back(&fact);
  call.unknown = [](std::size_t output, std::size_t axis) {
    return Dim::symbol("u" + std::to_string(output) + std::to_string(axis));
  };
  return infer_facts(call);
}

std::string naming(std::string_view op_type, const std::vector<Fact>& inputs, const Attributes& attributes = {},
                   std::int64_t opset = 20) {
  return text(infer_naming(op_type, inputs, attributes, 1, opset).front());
}

Fact list_of(std::int64_t length) { return tensor({length}, ElementType::int64); }

TEST_CASE("computed bounds keep the rank and the known axes") {
  const Fact x = tensor({n, t, 768}), one = list_of(1), two = list_of(2), three = list_of(3);
  const Fact scalar = tensor({}, ElementType::int64);
  CHECK(naming("Slice", {x, integers({0}), one, integers({1})}) == "float32[N, u01, 768]");
  CHECK(naming("Slice", {x, one, integers({5}), integers({-1})}) == "float32[N, T, u02]");
  CHECK(naming("Slice", {x, one, one, one}) == "float32[u00, u01, u02]");
  CHECK(naming("Slice", {x, integers({0}), integers({9}), integers({1}), one}) == "float32[N, u01, 768]");
  CHECK(naming("Expand", {tensor({1, 1, t, 7}), list_of(4)}) == "float32[u00, u01, u02, 7]");
  CHECK(naming("Reshape", {x, three}) == "float32[u00, u01, u02]");
  CHECK(naming("Tile", {x, three}) == "float32[u00, u01, u02]");
  CHECK(naming("Pad", {x, two, Fact{}, integers({1})}) == "float32[N, u01, 768]");
  CHECK(naming("Pad", {x, list_of(6)}) == "float32[u00, u01, u02]");
  CHECK(naming("Range", {scalar, scalar, scalar}) == "int64[u00]");
  CHECK(naming("ConstantOfShape", {two}) == "float32[u00, u01]");
  CHECK(naming("Concat", {x, Fact{}}, with("axis", std::int64_t{1})) == "float32[N, u01, 768]");
  CHECK(naming("Where", {tensor({t, 1}, ElementType::boolean), tensor({n, 1}), tensor({1, 5})}) == "float32[u00, 5]");
  CHECK(naming("MatMul", {tensor({n, 2, 3}), tensor({t, 3, 4})}) == "float32[u00, 2, 4]");
  CHECK(naming("TopK", {x, one}) == "float32[N, T, u02]");
  CHECK(naming("ReduceSum", {x, one}) == "float32[u00, u01, u02]");
  CHECK(naming("ReduceSum", {x, one}, with("keepdims", std::int64_t{0})) == "float32[?]");
  CHECK(naming("OneHot", {tensor({n}), scalar, tensor({2})}) == "float32[N, u01]");
  CHECK(naming("Resize", {tensor({n, 3, 4, 4}), Fact{}, Fact{}, list_of(4)}) == "float32[u00, u01, u02, u03]");
  CHECK(text(infer_naming("Split", {x, two}, with("axis", std::int64_t{1}), 2)[1]) == "float32[N, u11, 768]");
  CHECK(text(infer_naming("Split", {x}, with("axis", std::int64_t{1}), 2)[0]) == "float32[N, u01, 768]");
  CHECK(naming("AveragePool", {tensor({n, 3, t, 4})}, with("kernel_shape", std::vector<std::int64_t>{5, 5})) ==
        "float32[N, 3, T - 4, u03]");
}

TEST_CASE("the known part of a computed shape is kept") {
  const Fact x = tensor({n, t, 768});
  const Fact shape = infer("Shape", {x});
  const Fact batch = infer("Unsqueeze", {infer("Gather", {shape, integer(0)}), integers({0})});
  const Fact target = infer("Concat", {batch, list_of(1), integers({12, -1})}, with("axis", std::int64_t{0}));
  CHECK(naming("Reshape", {x, target}) == "float32[N, u01, 12, u03]");
  CHECK(naming("Expand", {tensor({1, 12, 1}), target}) == "float32[N, u01, 12, u03]");
  CHECK(naming("ConstantOfShape", {target}) == "float32[N, u01, 12, u03]");
  CHECK(content(target) == "?");
}

TEST_CASE("a slice of a table to a computed end fits its use") {
  const Dim s = Dim::symbol("S"), p = Dim::symbol("P");
  const auto dims = [](std::vector<Dim> values) {
    Fact fact = list_of(static_cast<std::int64_t>(values.size()));
    fact.content = std::move(values);
    return fact;
  };
  // BERT: positions [1, 512][:, :S], then combined with [N, S, 768].
  const Fact positions = infer("Slice", {tensor({1, 512}), integers({0}), dims({s}), integers({1})});
  CHECK(text(positions) == "float32[1, min(512, S)]");
  CHECK(text(infer("Add", {tensor({n, s}), positions})) == "float32[N, S]");
  CHECK(text(infer("Expand", {positions, dims({n, s})})) == "float32[N, S]");
  // GPT-2: mask [1, 1, 1024, 1024][:, :, P:P+S, :P+S], combined with [N, 12, S, P + S].
  const Fact rows = infer("Slice", {tensor({1, 1, 1024, 1024}), dims({p}), dims({p + s}), integers({2})});
  const Fact mask = infer("Slice", {rows, integers({0}), dims({p + s}), integers({3})});
  CHECK(text(infer("Where", {mask, tensor({n, 12, s, p + s}), tensor({})})) == "float32[N, 12, S, P + S]");
  // Of two such extents, it is unknown which is larger.
  CHECK(naming("Add", {positions, tensor({1, t})}) == "float32[1, u01]");
}

TEST_CASE("nothing is folded if an empty extent would change it") {
  const Fact cut = tensor({Dim::symbol("cut#0~"), t});
  CHECK(content(infer("Shape", {cut})) == "?");
  CHECK_FALSE(infer("Equal", {infer("Gather", {infer("Shape", {cut}), integer(0)}), integer(0)}).constant);
  CHECK(content(infer("Shape", {cut}, with("start", std::int64_t{1}))) == "[T]");
  CHECK(content(infer("Size", {cut})) == "?");
  CHECK(naming("Reshape", {cut, infer("Shape", {cut})}) == "float32[u00, T]");
  const Fact vanishing = tensor({minimum(n, Dim(512) - minimum(t, 512))});
  CHECK(content(infer("Shape", {vanishing})) == "?");
  CHECK(content(infer("Shape", {tensor({minimum(n, 512)})})) == "[min(512, N)]");
}

TEST_CASE("nothing is inferred where runtimes disagree") {
  const Attributes window = with("kernel_shape", std::vector<std::int64_t>{5, 5});
  CHECK(text(infer("MaxPool", {tensor({1, 1, 3, 8})}, window)) == "float32[?]");
  CHECK(text(infer("MaxPool", {tensor({1, 1, 5, 8})}, window)) == "float32[1, 1, 1, 4]");
  CHECK(text(infer("ReduceSum", {tensor({2, 3}), integers({1})}, with("keepdims", std::int64_t{2}))) == "float32[?]");
  CHECK(text(infer("ArgMax", {tensor({2, 3})}, with("keepdims", std::int64_t{-1}))) == "int64[?]");
}

TEST_CASE("nothing is inferred from nonsense") {
  const Attributes wrong = with("axis", std::string("x"));
  CHECK(text(infer("Concat", {tensor({n}), tensor({n})}, wrong)) == "float32[?]");
  CHECK(text(infer("Gather", {tensor({}), integer(0)})) == "float32[?]");
  CHECK(text(infer("Tile", {tensor({Dim(std::int64_t{1} << 40)}), integers({std::int64_t{1} << 40})})) == "float32[?]");
  CHECK(text(infer("NoSuchOperator", {tensor({n})})) == "undefined[?]");
  CHECK(infer_all("Relu", {}, {}, 3).size() == 3);
  CHECK(text(infer("Relu", {Fact{}})) == "undefined[?]");
  CHECK(text(infer("NonZero", {tensor({n})})) == "int64[?]");
}

}  // namespace
}  // namespace taso::test
