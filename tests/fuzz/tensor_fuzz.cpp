// Any bytes as a tensor message, as ONNX's test data has them (.pb): refused with InputError, or read, written and read
// back the same.
#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/array.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  taso::proto::TensorProto tensor;
  if (!tensor.ParseFromArray(data, static_cast<int>(size))) return 0;
  // A folder that does not exist: no location can name a file of this machine.
  const std::filesystem::path folder = "/nonexistent/taso-fuzz";
  try {
    taso::onnx::check_tensor(tensor, folder);
    const taso::Array array = taso::onnx::read_tensor(tensor, folder);
    taso::check(std::ssize(array.doubles()) == array.size(), "every element is read");
    const taso::proto::TensorProto written = taso::onnx::write_tensor(array, "written");
    taso::check(identical(taso::onnx::read_tensor(written, folder), array), "what is written is read back");
  } catch (const taso::InputError&) {
  }
  return 0;
}
