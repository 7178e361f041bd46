#include "onnx/export/value_type.h"

#include "onnx/import/import.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"

namespace taso::onnx {

void write_type(const Type& type, proto::ValueInfoProto& info) {
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(onnx_data_type(type.element));
  if (!type.shape) return;
  auto& shape = *tensor.mutable_shape();
  for (const Dim& dim : *type.shape) {
    auto& written = *shape.add_dim();
    if (const auto number = dim.known())
      written.set_dim_value(*number);
    else if (const std::string text = dimension_text(dim); !text.empty())
      written.set_dim_param(text);
  }
}

}  // namespace taso::onnx
