// What the fuzzer and the mutation campaign do with bytes of any kind: everything that taso-opt does with a model.
#pragma once

#include <filesystem>
#include <string_view>

#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "onnx/model/model.h"
#include "onnx/model/model_tensors.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/array.h"
#include "ops/core/error.h"

namespace taso::test {

/// Whether the bytes are a valid model. Throws nothing but our bugs.
inline bool exercise_import(std::string_view bytes, const std::filesystem::path& folder) {
  try {
    onnx::Model model = onnx::Model::parse(bytes, folder);
    model.validate();
    onnx::for_each_tensor(model.mutable_proto(), [&](proto::TensorProto& tensor, bool) {
      // Validated tensors of the types that we model can be read, all of them.
      if (onnx::element_type_from_onnx(tensor.data_type()) != ElementType::undefined)
        onnx::read_tensor(tensor, folder).doubles();
    });
    // A valid model stays one.
    onnx::Model again = onnx::Model::parse(model.serialise(), folder);
    again.validate();
    check(again.serialise() == model.serialise(), "a second validation changes nothing");
    return true;
  } catch (const InputError&) {
    return false;
  }
}

enum class Fate {
  refused,    ///< not a model, or not one that can be checked
  untouched,  ///< valid, and nothing to clean
  cleaned,    ///< cleaned, and the check passed
};

/// Cleans a model up and checks the result, with little memory. Throws nothing but our bugs.
inline Fate exercise_cleanup(std::string_view bytes, const std::filesystem::path& folder) {
  onnx::CheckOptions checking;
  checking.largest_tensor = std::size_t{1} << 20;
  checking.threads = 1;
  onnx::CleanupOptions cleaning;
  cleaning.memory_limit = std::size_t{1} << 20;
  try {
    onnx::Model model = onnx::Model::parse(bytes, folder);
    model.validate();
    const std::string before = model.serialise();
    auto edit = std::make_unique<onnx::GraphEdit>(model);
    onnx::clean_up(*edit, cleaning);
    check(model.serialise() == before, "an edit leaves the message alone");
    if (!edit->changed()) return Fate::untouched;
    const onnx::CheckResult result = onnx::compare(onnx::view_of(model), edit->view(), checking);
    check(result.passed, "the clean-ups are right: " + result.reason);
    model = onnx::GraphEdit::commit(std::move(edit), std::move(model));
    try {
      onnx::Model again = onnx::Model::parse(model.serialise(), folder);
      again.validate();
      onnx::import_model(onnx::view_of(again));
    } catch (const InputError& error) {
      throw InternalError(std::string("the cleaned model is invalid: ") + error.what());
    }
    return Fate::cleaned;
  } catch (const InputError&) {
    return Fate::refused;
  }
}

}  // namespace taso::test
