// Weights taken out of a message and put back leave the model as it was.
#include "onnx/model/detached_weights.h"

#include "ops/core/error.h"
#include "tests/onnx/build_model.h"
#include "tests/onnx/weights.h"
#include "tests/source_folder.h"

namespace taso::test {
namespace {

std::vector<std::string_view> views_of(const std::vector<onnx::DetachedWeight>& weights) {
  std::vector<std::string_view> views;
  for (const onnx::DetachedWeight& weight : weights) views.push_back(weight.bytes);
  return views;
}

}  // namespace

TEST_CASE("weights that are taken out and put back leave the same model") {
  for (const char* name : {"small_transformer.onnx", "small_convnet.onnx"})
    for (const std::size_t smallest : {std::size_t{1}, std::size_t{1024}, std::size_t{1} << 40}) {
      onnx::Model model = onnx::Model::load(source_folder() / "examples" / name);
      const std::string whole = model.serialise();
      const std::vector<onnx::DetachedWeight> weights = onnx::detach_weights(model, smallest);
      CAPTURE(name, smallest, weights.size());
      CHECK(weights.empty() == (smallest > 1024));
      std::size_t bytes = model.serialise().size();
      for (const onnx::DetachedWeight& weight : weights) bytes += weight.bytes.size();
      CHECK(bytes >= whole.size());
      CHECK((weights.empty() || model.serialise().size() < whole.size()));
      onnx::attach_weights(model, views_of(weights));
      CHECK(model.serialise() == whole);
    }
}

TEST_CASE("external weights are read into the message, or taken out of their file") {
  const TemporaryFolder folder;
  const onnx::Model embedded = onnx::Model::load(source_folder() / "examples/small_transformer.onnx");
  embedded.save(folder / "model.onnx", {.weights = onnx::SaveOptions::Weights::external, .sync = false});
  onnx::Model read = onnx::Model::load(folder / "model.onnx"), taken = onnx::Model::load(folder / "model.onnx");
  onnx::take_in_weights(read);
  const std::vector<onnx::DetachedWeight> weights = onnx::detach_weights(taken, std::size_t{1} << 40);
  CHECK_FALSE(weights.empty());
  std::filesystem::remove(folder / "model.onnx.data");  // a mapped file stays
  onnx::attach_weights(taken, views_of(weights));
  CHECK(read.serialise() == embedded.serialise());
  CHECK(taken.serialise() == embedded.serialise());
}

TEST_CASE("a message that refers to other weights is refused") {
  onnx::Model model = onnx::Model::load(source_folder() / "examples/small_transformer.onnx");
  const std::vector<onnx::DetachedWeight> weights = onnx::detach_weights(model);
  std::vector<std::string_view> views = views_of(weights);
  const auto with = [&](const std::string& key, const std::string& value) {
    onnx::Model changed = model.copy();
    for (proto::TensorProto& tensor : *changed.mutable_proto().mutable_graph()->mutable_initializer())
      for (auto& entry : *tensor.mutable_external_data())
        if (entry.key() == key) entry.set_value(value);
    return changed;
  };
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"location", "model.onnx.data"},
                                                                                   {"location", ""},
                                                                                   {"offset", "-1"},
                                                                                   {"offset", "99999"},
                                                                                   {"offset", "1x"},
                                                                                   {"offset", "0"}}) {
    onnx::Model changed = with(key, value);
    CHECK_THROWS_AS(onnx::attach_weights(changed, views), InputError);
  }
  views.emplace_back("surplus");
  CHECK_THROWS_AS(onnx::attach_weights(model, views), InputError);
  views.resize(weights.size() - 1);
  CHECK_THROWS_AS(onnx::attach_weights(model, views), InputError);
}

}  // namespace taso::test
