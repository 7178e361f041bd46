// The files after a crash, a kill or a power cut while a model is written.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "ops/support/atomic_file.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"
#include "tests/onnx/weights.h"

namespace taso::test {

using namespace onnx;

namespace {

using Strings = std::vector<std::string>;

TEST_CASE("a crash between two steps leaves the old model with its weights, or the new one with its own") {
  const TemporaryFolder folder;
  const auto write_pair = [&](float first) {
    proto::ModelProto proto = small_model();
    proto.mutable_graph()->clear_initializer();
    add_external(*proto.mutable_graph(), "w", {300}, "model.onnx.data");
    write_file(folder / "model.onnx", proto.SerializeAsString());
    write_file(folder / "model.onnx.data", bytes_of(weights(300, first)));
  };
  proto::ModelProto proto = small_model();
  proto.set_producer_name("new");
  proto.mutable_graph()->clear_initializer();
  add_external(*proto.mutable_graph(), "w", {300}, "new.bin");
  write_file(folder / "new.bin", bytes_of(weights(300, 7000)));
  write_file(folder / "new.onnx", proto.SerializeAsString());
  const auto first_weight = [&] {
    Model model = Model::load(folder / "model.onnx");
    model.validate();
    const float first = floats(model, 0)[0];
    CHECK((model.proto().producer_name() == "new") == (first == 7000));  // each with its own weights
    return first;
  };
  /// Ends in the middle, as in a power cut; returns 0 if there are fewer steps.
  const auto killed_after = [&](int left) {
    return in_child([&] {
      SaveOptions options;
      options.after_step = [&] {
        if (--left == 0) ::_exit(9);
      };
      Model::load(folder / "new.onnx").save(folder / "model.onnx", options);
      return 0;
    });
  };
  const Strings whole{"model.onnx", "model.onnx.data", "new.bin", "new.onnx"};
  int steps = 0;
  for (bool is_done = false; !is_done;) {
    ++steps;
    write_pair(1);
    is_done = killed_after(steps) == 0;
    INFO("after step " << steps);
    CHECK((first_weight() == 1 || first_weight() == 7000));
    if (is_done) CHECK(first_weight() == 7000);
    // The next run recovers, and leaves nothing else behind.
    CHECK(killed_after(1000) == 0);
    CHECK(first_weight() == 7000);
    CHECK(folder.names() == whole);
  }
  CHECK(steps == 5);

  // If no model refers to them, weights are replaced in one step.
  write_pair(1);
  std::filesystem::remove(folder / "model.onnx");
  CHECK(killed_after(2) == 9);
  CHECK(first_weight() == 7000);
  CHECK(folder.names() == whole);
}

TEST_CASE("temporary files of dead processes are removed, those of living ones are not") {
  const TemporaryFolder folder;
  proto::ModelProto proto = small_model();
  write_file(folder / "in.onnx", proto.SerializeAsString());
  const Model model = Model::load(folder / "in.onnx");
  write_file(folder / ".taso-0123456789abcdef.tmp.mine", "of somebody else");
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t writer = ::fork();
  REQUIRE(writer >= 0);
  if (writer == 0) {
    const AtomicFile file(folder / "unfinished");
    [[maybe_unused]] const auto said = ::write(ready[1], "x", 1);
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  ::close(ready[0]);
  ::close(ready[1]);
  const auto save = [&] {
    return in_child([&] {
      model.save(folder / "out.onnx");
      return 0;
    });
  };
  CHECK(save() == 0);
  CHECK(folder.names().size() == 4);  // including that of the living process
  ::kill(writer, SIGKILL);
  REQUIRE(::waitpid(writer, nullptr, 0) == writer);
  CHECK(folder.names().size() == 4);
  CHECK(save() == 0);
  CHECK(folder.names() == Strings{".taso-0123456789abcdef.tmp.mine", "in.onnx", "out.onnx"});
}

}  // namespace
}  // namespace taso::test
