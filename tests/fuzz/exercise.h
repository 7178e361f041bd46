// What the fuzzer and the mutation campaign do with bytes of any kind: everything that reading a model does.
#pragma once

#include <filesystem>
#include <string_view>

#include "ops/array.h"
#include "ops/error.h"
#include "ops/onnx/model.h"
#include "ops/onnx/model_tensors.h"
#include "ops/onnx/proto.h"
#include "ops/onnx/tensor_data.h"

namespace taso::test {

/// Whether the bytes are a valid model. Throws nothing but our bugs.
inline bool exercise_import(std::string_view bytes, const std::filesystem::path& folder) {
  try {
    Model model = Model::parse(bytes, folder);
    model.validate();
    for_each_tensor(model.mutable_proto(), [&](onnx::TensorProto& tensor, bool) {
      // Validated tensors of the types that we model can be read, all of them.
      if (element_type_from_onnx(tensor.data_type()) != ElementType::undefined) read_tensor(tensor, folder).doubles();
    });
    // A valid model stays one.
    Model again = Model::parse(model.serialise(), folder);
    again.validate();
    check(again.serialise() == model.serialise(), "a second validation changes nothing");
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace taso::test
