#include "ops/onnx/validate.h"

#include "ops/error.h"
#include "ops/onnx/proto.h"

namespace taso {

void validate(onnx::ModelProto& model, const std::filesystem::path&) {
  if (!model.has_ir_version() || model.ir_version() < 1) throw InputError("no IR version");
  if (model.opset_import_size() == 0) throw InputError("no opset_import");
  if (!model.has_graph()) throw InputError("no graph");
}

}  // namespace taso
