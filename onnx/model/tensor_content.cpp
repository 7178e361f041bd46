#include "onnx/model/tensor_content.h"

#include <string_view>

#include <fmt/format.h>

#include "onnx/model/external_data.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/support/sha256.h"

namespace taso::onnx {
namespace {

std::string name_of(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return fmt::format("{} bytes, {}", bytes.size(), hash.digest());
}

}  // namespace

void name_data_by_hash(proto::TensorProto& tensor, const std::filesystem::path& folder) {
  if (is_external(tensor)) {
    const ExternalFile file = open_external(tensor, folder, raw_bytes_of(tensor));
    const MappedBytes bytes = map_external(file);
    tensor.clear_external_data();
    tensor.clear_data_location();
    tensor.set_raw_data(name_of({reinterpret_cast<const char*>(bytes.data), file.region.length}));
  } else if (tensor.has_raw_data()) {
    tensor.set_raw_data(name_of(tensor.raw_data()));
  }
}

}  // namespace taso::onnx
