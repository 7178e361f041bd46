// Weights of test models as numbers and as bytes, and processes that end early.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "ops/core/array.h"
#include "tests/catch.h"

namespace taso::test {

inline std::vector<float> weights(std::size_t count, float first) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

inline std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

inline std::vector<float> floats(const onnx::Model& model, int initializer) {
  const Array array = onnx::read_tensor(model.proto().graph().initializer(initializer), model.folder());
  const auto values = array.values<float>();
  return {values.begin(), values.end()};
}

/// Runs in a separate process, which may be given limits; returns its status.
inline int in_child(const std::function<int()>& work) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    int status = 254;
    try {
      status = work();
    } catch (...) {
    }
    ::_exit(status);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace taso::test
