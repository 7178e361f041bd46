// Damaged models end in success or an InputError, never otherwise. The sanitizer builds run this too.
#include <random>

#include "tests/catch.h"
#include "tests/fuzz/exercise.h"
#include "tests/onnx/cleanup/clean_model.h"
#include "tests/onnx/mutate_model.h"

namespace taso::test {
namespace {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }

  std::string mutate(std::string bytes, const std::string& other) {
    for (std::size_t rounds = 1 + below(3); rounds > 0; --rounds) {
      const std::size_t at = below(bytes.size());
      const std::size_t length = 1 + below(std::min<std::size_t>(16, bytes.size() - at));
      switch (below(7)) {
        case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
        case 1: bytes[at] = static_cast<char>(below(256)); break;
        case 2: bytes[at] = "\x00\x01\x7f\x80\xff"[below(5)]; break;
        case 3: bytes.insert(at, 1, static_cast<char>(below(256))); break;
        case 4: bytes.erase(at, length); break;
        case 5: bytes.insert(below(bytes.size()), bytes.substr(at, length)); break;
        default: bytes.insert(at, other.substr(below(other.size()), 1 + below(40))); break;
      }
      if (bytes.empty()) bytes = "\x08";
    }
    return bytes;
  }

 private:
  std::mt19937_64 random_;  // the same numbers everywhere, unlike the distributions of the standard library
};

std::vector<std::string> seeds() {
  return {small_model().SerializeAsString(), subgraph_model().SerializeAsString(), varied_model().SerializeAsString()};
}

/// Something to do for every clean-up, in few bytes, so that every byte counts.
proto::ModelProto busy_model() {
  auto model = plain_model({1, 2, 4, 4}, {2, 4});
  auto& graph = *model.mutable_graph();
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("N");
  add_floats(graph, "w", {2, 2, 2, 2}, some_floats(16));
  for (const std::string_view name : {"s", "b", "m", "v"}) add_floats(graph, name, {2}, {0.5F, 1.5F});
  auto& conv = add_node(graph, "Conv", {"x", "w"}, {"c"});
  set_integers(conv, "pads", {1, 1, 0, 0});
  set_integers(conv, "strides", {2, 2});
  add_node(graph, "BatchNormalization", {"c", "s", "b", "m", "v"}, {"n"});
  add_node(graph, "Identity", {"n"}, {"i"});
  add_node(graph, "Relu", {"i"}, {"r1"});
  add_node(graph, "Relu", {"n"}, {"r2"});
  add_node(graph, "Add", {"r1", "r2"}, {"a"});
  auto& pool = add_node(graph, "MaxPool", {"a"}, {"p"});
  set_integers(pool, "kernel_shape", {2, 2});
  add_integers(graph, "k", {1}, {2});
  add_node(graph, "Shape", {"a"}, {"shape"});
  add_node(graph, "Gather", {"shape", "k"}, {"height"});
  add_integers(graph, "last", {1}, {-1});
  set_integer(add_node(graph, "Concat", {"height", "last"}, {"target"}), "axis", 0);
  add_node(graph, "Reshape", {"p", "target"}, {"flat"});
  add_node(graph, "Expand", {"flat", "target2"}, {"e"});
  add_integers(graph, "target2", {2}, {1, 1});
  add_integers(graph, "pads", {4}, {0, 1, 0, 2});
  add_node(graph, "Pad", {"e", "pads"}, {"y"});
  return model;
}

/// Constants of many kinds to fold.
proto::ModelProto constant_model() {
  auto model = plain_model({2, 3}, {2, 3});
  auto& graph = *model.mutable_graph();
  add_integers(graph, "two", {}, {2});
  add_integers(graph, "zero", {}, {0});
  add_integers(graph, "one", {}, {1});
  add_integers(graph, "three", {1}, {3});
  add_floats(graph, "f", {2, 3}, some_floats(6));
  add_node(graph, "Range", {"zero", "two", "one"}, {"range"});
  add_node(graph, "ConstantOfShape", {"three"}, {"zeros"});
  add_node(graph, "Tile", {"zeros", "three"}, {"tiled"});
  set_integer(add_node(graph, "Split", {"tiled"}, {"t1", "t2", "t3"}), "axis", 0);
  set_integer(add_node(graph, "Gather", {"f", "range"}, {"g"}), "axis", 0);
  auto& gemm = add_node(graph, "Gemm", {"g", "g", "two2"}, {"square"});
  add_floats(graph, "two2", {2}, {1, 2});
  set_integer(gemm, "transB", 1);
  add_node(graph, "MatMul", {"square", "f"}, {"product"});
  set_integers(add_node(graph, "Transpose", {"product"}, {"turned"}), "perm", {1, 0});
  set_integers(add_node(graph, "Transpose", {"turned"}, {"back"}), "perm", {1, 0});
  add_node(graph, "Clip", {"back", "", "high"}, {"clipped"});
  add_floats(graph, "high", {}, {1});
  add_node(graph, "Sum", {"x", "clipped", "t2"}, {"s"});
  add_node(graph, "Slice", {"s", "three0", "three"}, {"y"});
  add_integers(graph, "three0", {1}, {0});
  return model;
}

/// Models of ONNX's own tests, if they are installed.
void add_backend_models(std::vector<std::string>& models) {
  const std::filesystem::path node = "/usr/share/libonnx-testdata/data/node";
  for (const char* test : {"test_averagepool_2d_ceil",
                           "test_basic_conv_with_padding",
                           "test_clip",
                           "test_convtranspose_pads",
                           "test_cumsum_1d",
                           "test_einsum_batch_matmul",
                           "test_expand_dim_changed",
                           "test_gather_elements_0",
                           "test_gemm_all_attributes",
                           "test_layer_normalization_2d_axis0",
                           "test_lstm_defaults",
                           "test_maxpool_2d_same_upper",
                           "test_nonmaxsuppression_two_batches",
                           "test_onehot_with_axis",
                           "test_qlinearconv",
                           "test_range_int32_type_negative_delta_expanded",
                           "test_reduce_sum_keepdims_random",
                           "test_reshape_allowzero_reordered",
                           "test_resize_upsample_scales_linear",
                           "test_scatternd_add",
                           "test_slice_neg_steps",
                           "test_split_variable_parts_2d",
                           "test_softmax_axis_1",
                           "test_top_k",
                           "test_trilu_square",
                           "test_unsqueeze_three_axes",
                           "test_if",
                           "test_loop11"})
    if (std::filesystem::exists(node / test / "model.onnx")) models.push_back(read_file(node / test / "model.onnx"));
}

/// One in four as arbitrary bytes, the others as messages with nonsensical contents.
void exercise_mutations(std::uint64_t first, std::uint64_t end) {
  const TemporaryFolder folder;
  std::vector<std::string> models = seeds();
  for (int i = 0; i < 6; ++i) {
    models.push_back(busy_model().SerializeAsString());
    models.push_back(constant_model().SerializeAsString());
  }
  for (const std::string& model : models) REQUIRE(exercise_cleanup(model, folder.path()) != Fate::refused);
  add_backend_models(models);
  std::map<Fate, int> fates;
  for (std::uint64_t seed = first; seed < end; ++seed) {
    Mutator mutator(seed);
    std::string bytes = models[seed % models.size()];
    if (mutator.below(4) == 0) {
      bytes = mutator.mutate(bytes, models[mutator.below(models.size())]);
    } else {
      proto::ModelProto model;
      REQUIRE(model.ParseFromString(bytes));
      ModelMutator(seed).mutate(model);
      bytes = model.SerializeAsString();
    }
    INFO("seed " << seed);
    Fate fate = Fate::refused;
    CHECK_NOTHROW(fate = exercise_cleanup(bytes, folder.path()));
    ++fates[fate];
  }
  // All three outcomes must occur, or the campaign tests nothing.
  for (const Fate fate : {Fate::refused, Fate::untouched, Fate::cleaned})
    CHECK(fates[fate] > static_cast<int>(end - first) / 20);
}

}  // namespace

TEST_CASE("cleaning up models with random mutations") { exercise_mutations(0, 2'000); }
TEST_CASE("cleaning up models with many random mutations", "[.][full]") { exercise_mutations(2'000, 20'000); }

TEST_CASE("models cut at random lengths") {
  const TemporaryFolder folder;
  const std::string bytes = varied_model().SerializeAsString();
  REQUIRE(exercise_import(bytes, folder.path()));
  Mutator random(1);
  for (int i = 0; i < 200; ++i) {
    const std::size_t length = random.below(bytes.size());
    INFO("length " << length);
    CHECK_NOTHROW(exercise_import(std::string_view(bytes).substr(0, length), folder.path()));
    if (length < 5) CHECK(!exercise_import(std::string_view(bytes).substr(0, length), folder.path()));
  }
}

TEST_CASE("models with ten thousand random mutations") {
  const TemporaryFolder folder;
  const auto models = seeds();
  int valid = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Mutator mutator(seed);
    const std::string bytes = mutator.mutate(models[seed % models.size()], models[mutator.below(models.size())]);
    INFO("seed " << seed);
    bool survived = false;
    REQUIRE_NOTHROW(survived = exercise_import(bytes, folder.path()));
    valid += survived;
  }
  // Both outcomes must occur, or the campaign tests nothing.
  CHECK(valid > 500);
  CHECK(valid < 9'500);
}

}  // namespace taso::test
