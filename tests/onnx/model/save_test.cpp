// Writing models: external weights, atomic replacement, and failures.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>

#include "onnx/export/edit.h"
#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "ops/core/array.h"
#include "ops/core/error.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"
#include "tests/onnx/weights.h"

namespace taso::test {

using namespace onnx;

using Strings = std::vector<std::string>;

namespace {

std::string field(const proto::TensorProto& tensor, std::string_view key) {
  for (const auto& entry : tensor.external_data())
    if (entry.key() == key) return entry.value();
  return "";
}

/// Weights `a` (large), `b` (small), `again` (the bytes of `a`), and one in a subgraph.
Model external_model(const TemporaryFolder& folder) {
  write_file(folder / "weights.bin", "head" + bytes_of(weights(3000, 1)) + bytes_of(weights(5, 2)));
  proto::ModelProto proto = subgraph_model();
  auto& graph = *proto.mutable_graph();
  auto& a = add_external(graph, "a", {3000}, "weights.bin", "4", "12000");
  for (const char* key : {"checksum", "note"}) {
    auto& entry = *a.add_external_data();
    entry.set_key(key);
    entry.set_value("kept?");
  }
  add_external(graph, "b", {5}, "weights.bin", "12004");
  add_external(graph, "again", {3000}, "weights.bin", "4");
  auto& inner = *graph.mutable_node(2)->mutable_attribute(0)->mutable_g();
  inner.clear_initializer();
  add_external(inner, "inner_weight", {2}, "weights.bin", "4");
  write_file(folder / "in.onnx", proto.SerializeAsString());
  Model model = Model::load(folder / "in.onnx");
  model.validate();
  return model;
}

long peak_kilobytes() {
  std::ifstream lines("/proc/self/status");
  for (std::string word; lines >> word;) {
    long kilobytes = 0;
    if (word == "VmHWM:" && lines >> kilobytes) return kilobytes;
  }
  throw std::runtime_error("no VmHWM");
}

}  // namespace

TEST_CASE("external weights move into one aligned file beside the output") {
  const TemporaryFolder folder;
  const Model model = external_model(folder);
  const std::string before = model.serialise();
  model.save(folder / "out.onnx");
  CHECK(folder.names() == Strings{"in.onnx", "out.onnx", "out.onnx.data", "weights.bin"});
  CHECK(model.serialise() == before);

  Model out = Model::load(folder / "out.onnx");
  out.validate();
  const auto& graph = out.proto().graph();
  CHECK(floats(out, 1) == weights(3000, 1));
  CHECK(floats(out, 2) == weights(5, 2));
  CHECK(floats(out, 3) == weights(3000, 1));
  const auto& a = graph.initializer(1);
  CHECK(field(a, "location") == "out.onnx.data");
  CHECK(field(a, "offset") == "0");
  CHECK(field(a, "length") == "12000");
  CHECK(field(a, "checksum").empty());
  CHECK(field(a, "note") == "kept?");
  CHECK(std::stoi(field(graph.initializer(2), "offset")) % 64 == 0);
  CHECK(field(graph.initializer(3), "offset") == field(a, "offset"));  // one region, written once
  CHECK(std::filesystem::file_size(folder / "out.onnx.data") < 13'000);
  const auto& inner = graph.node(2).attribute(0).g().initializer(0);
  CHECK(read_tensor(inner, folder.path()).values<float>()[1] == 2.0F);
  // The embedded weight is still embedded.
  CHECK(graph.initializer(0).has_raw_data());

  // Saving again gives the same bytes, also over itself.
  const std::string message = read_file(folder / "out.onnx");
  const std::string data = read_file(folder / "out.onnx.data");
  model.save(folder / "other.onnx");
  CHECK(read_file(folder / "other.onnx.data") == data);
  out.save(folder / "out.onnx");
  CHECK(read_file(folder / "out.onnx") == message);
  CHECK(read_file(folder / "out.onnx.data") == data);
}

TEST_CASE("the file of the weights can be replaced") {
  const TemporaryFolder folder;
  proto::ModelProto proto = small_model();
  proto.mutable_graph()->clear_initializer();
  add_external(*proto.mutable_graph(), "w", {2}, "model.onnx.data", "8");
  write_file(folder / "model.onnx", proto.SerializeAsString());
  write_file(folder / "model.onnx.data", "xxxxxxxx" + bytes_of({3, 4}));
  Model::load(folder / "model.onnx").save(folder / "model.onnx");
  CHECK(folder.names() == Strings{"model.onnx", "model.onnx.data"});
  CHECK(std::filesystem::file_size(folder / "model.onnx.data") == 8);
  CHECK(floats(Model::load(folder / "model.onnx"), 0) == std::vector<float>{3, 4});
}

TEST_CASE("new weights are stored where the others are") {
  const TemporaryFolder folder;
  write_file(folder / "weights.bin", bytes_of(weights(3000, 1)));
  proto::ModelProto proto = small_model();
  add_external(*proto.mutable_graph(), "old", {3000}, "weights.bin");
  *proto.mutable_graph()->add_initializer() = write_tensor(Array::of<float>({3000}, weights(3000, 2)), "embedded");
  write_file(folder / "in.onnx", proto.SerializeAsString());
  const auto save = [&](const char* name, SaveOptions::Weights where) {
    Model model = Model::load(folder / "in.onnx");
    auto edit = std::make_unique<GraphEdit>(model);
    edit->add_constant("new", Array::of<float>({3000}, weights(3000, 3)));
    edit->add_constant("small", Array::of<float>({2}, weights(2, 4)));
    model = GraphEdit::commit(std::move(edit), std::move(model));
    SaveOptions options;
    options.weights = where;
    model.save(folder / name, options);
    return Model::load(folder / name);
  };
  const Model out = save("out.onnx", SaveOptions::Weights::automatic);
  std::map<std::string, bool> external;
  for (const auto& tensor : out.proto().graph().initializer())
    external[tensor.name()] = tensor.data_location() == proto::TensorProto::EXTERNAL;
  CHECK(external["old"]);
  CHECK(external["new"]);
  CHECK(!external["embedded"]);  // as in the input
  CHECK(!external["small"]);
  CHECK(save("one.onnx", SaveOptions::Weights::embedded).proto().ByteSizeLong() > 36'000);
  CHECK(!std::filesystem::exists(folder / "one.onnx.data"));
}

TEST_CASE("weights can be embedded or moved out") {
  const TemporaryFolder folder;
  const Model model = external_model(folder);
  SaveOptions options;
  options.weights = SaveOptions::Weights::embedded;
  model.save(folder / "one.onnx", options);
  CHECK(!std::filesystem::exists(folder / "one.onnx.data"));
  const Model embedded = Model::load(folder / "one.onnx");
  CHECK(embedded.proto().graph().initializer(1).raw_data() == bytes_of(weights(3000, 1)));
  CHECK(embedded.proto().graph().initializer(1).external_data_size() == 0);
  CHECK(!embedded.proto().graph().initializer(1).has_data_location());

  options.weights = SaveOptions::Weights::external;
  embedded.save(folder / "two.onnx", options);
  const Model two = Model::load(folder / "two.onnx");
  CHECK(floats(two, 1) == weights(3000, 1));
  CHECK(field(two.proto().graph().initializer(1), "location") == "two.onnx.data");
  CHECK(two.proto().graph().initializer(2).has_raw_data());  // too small
  options.smallest_external = 1;
  embedded.save(folder / "three.onnx", options);
  CHECK(!Model::load(folder / "three.onnx").proto().graph().initializer(2).has_raw_data());
}

TEST_CASE("a model beyond the message limit gets external initializers automatically") {
  const TemporaryFolder folder;
  proto::ModelProto proto = small_model();
  auto& graph = *proto.mutable_graph();
  add_floats(graph, "raw", {3000}, weights(3000, 0));
  auto& listed = *graph.add_initializer();
  listed.set_name("listed");
  listed.set_data_type(proto::TensorProto::FLOAT16);
  listed.add_dims(3000);
  for (int i = 0; i < 3000; ++i) listed.add_int32_data(0x3c00);
  const Model model(proto, folder.path());
  const std::string before = model.serialise();
  SaveOptions options;
  options.largest_file = before.size();
  model.save(folder / "fits.onnx", options);
  CHECK(!std::filesystem::exists(folder / "fits.onnx.data"));
  options.largest_file = 2000;
  model.save(folder / "large.onnx", options);
  CHECK(model.serialise() == before);
  Model large = Model::load(folder / "large.onnx");
  large.validate();
  CHECK(floats(large, 1) == weights(3000, 0));
  CHECK(read_tensor(large.proto().graph().initializer(2), folder.path()).doubles() == std::vector<double>(3000, 1.0));
  CHECK(large.proto().graph().initializer(2).int32_data_size() == 0);
  options.weights = SaveOptions::Weights::embedded;
  CHECK_THROWS_AS(model.save(folder / "never.onnx", options), InputError);
  CHECK(folder.names() == Strings{"fits.onnx", "large.onnx", "large.onnx.data"});
}

TEST_CASE("a failed write is an error of the environment, and leaves nothing behind") {
  const TemporaryFolder folder;
  const Model model = external_model(folder);
  const Strings before = folder.names();
  CHECK_THROWS_AS(model.save(folder / "no/such/folder.onnx"), EnvironmentError);
  CHECK_THROWS_AS(model.save(folder.path()), EnvironmentError);
  CHECK_THROWS_AS(model.save(folder.path() / ""), EnvironmentError);
  CHECK_THROWS_AS(model.save("/dev/null"), EnvironmentError);
  CHECK_THROWS_AS(model.save(folder / std::string(300, 'n')), EnvironmentError);
  CHECK(folder.names() == before);

  std::filesystem::create_directory(folder / "taken.onnx.data");
  CHECK_THROWS_AS(model.save(folder / "taken.onnx"), EnvironmentError);
  std::filesystem::remove(folder / "taken.onnx.data");
  CHECK(folder.names() == before);

  // An old output stays unchanged.
  write_file(folder / "out.onnx", "old");
  const auto limited = [&](rlim_t bytes) {
    return in_child([&] {
      ::signal(SIGXFSZ, SIG_IGN);  // like a full disk for write()
      const rlimit limit{bytes, bytes};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      try {
        model.save(folder / "out.onnx");
      } catch (const EnvironmentError&) {
        return 7;
      }
      return 0;
    });
  };
  CHECK(limited(100) == 7);    // neither file fits
  CHECK(limited(6'000) == 7);  // the model fits, its weights do not
  CHECK(read_file(folder / "out.onnx") == "old");
  CHECK(folder.names() == Strings{"in.onnx", "out.onnx", "weights.bin"});
  CHECK(limited(100'000) == 0);
  CHECK(folder.names() == Strings{"in.onnx", "out.onnx", "out.onnx.data", "weights.bin"});
}

TEST_CASE("an unwritable folder is an error of the environment") {
  if (::geteuid() == 0) {
    WARN("skipped: this user may write everywhere");
    return;
  }
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "closed");
  ::chmod((folder / "closed").c_str(), 0500);
  CHECK_THROWS_AS(Model(small_model(), {}).save(folder / "closed/out.onnx"), EnvironmentError);
}

TEST_CASE("a new file has the mode of the user's mask") {
  const TemporaryFolder folder;
  const mode_t old = ::umask(027);
  Model(small_model(), {}).save(folder / "out.onnx");
  ::umask(old);
  struct stat status {};
  REQUIRE(::stat((folder / "out.onnx").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("a replaced file keeps its permissions") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "out.onnx";
  for (const mode_t mode : {0600, 0664, 0444}) {
    write_file(path, "old");
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    Model(small_model(), {}).save(path);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == mode);
  }
}

TEST_CASE("a model of 3 GB is processed in little memory") {
  constexpr std::uint64_t count = 12;
  constexpr std::uint64_t bytes = std::uint64_t{256} << 20;
  const TemporaryFolder folder;
  const int file = ::open((folder / "weights.bin").c_str(), O_RDWR | O_CREAT, 0600);
  REQUIRE(file >= 0);
  REQUIRE(::ftruncate(file, static_cast<off_t>(count * bytes)) == 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    const float mark = static_cast<float>(i) + 0.5F;
    REQUIRE(::pwrite(file, &mark, sizeof mark, static_cast<off_t>(i * bytes + bytes / 2)) == sizeof mark);
  }
  struct stat status {};
  REQUIRE(::fstat(file, &status) == 0);
  ::close(file);
  if (static_cast<std::uint64_t>(status.st_blocks) * 512 > bytes) {
    WARN("skipped: the file system of " << folder.path() << " has no holes");
    return;
  }
  proto::ModelProto proto = small_model();
  for (std::uint64_t i = 0; i < count; ++i)
    add_external(*proto.mutable_graph(), "large" + std::to_string(i), {static_cast<std::int64_t>(bytes / 4)},
                 "weights.bin", std::to_string(i * bytes));
  write_file(folder / "in.onnx", proto.SerializeAsString());

  // Do not count earlier memory use: sanitizers keep much.
  const int megabytes = in_child([&] {
    std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak
    const long before = peak_kilobytes();
    Model model = Model::load(folder / "in.onnx");
    model.validate();
    model.save(folder / "out.onnx");
    return static_cast<int>(std::min((peak_kilobytes() - before) / 1024, 100L));
  });
  INFO("the peak grew by " << megabytes << " MB (100: or more; 254: it failed)");
  CHECK(megabytes < 100);

  REQUIRE(::stat((folder / "out.onnx.data").c_str(), &status) == 0);
  CHECK(static_cast<std::uint64_t>(status.st_size) == count * bytes);
  CHECK(static_cast<std::uint64_t>(status.st_blocks) * 512 < bytes);
  Model out = Model::load(folder / "out.onnx");
  out.validate();
  const Array last = read_tensor(out.proto().graph().initializer(static_cast<int>(count)), folder.path());
  CHECK(last.values<float>()[bytes / 8] == 11.5F);
  CHECK(last.values<float>()[0] == 0.0F);
}

}  // namespace taso::test
