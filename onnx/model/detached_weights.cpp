#include "onnx/model/detached_weights.h"

#include <charconv>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "onnx/model/external_data.h"
#include "onnx/model/model_tensors.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"
#include "ops/text/characters.h"

namespace taso::onnx {
namespace {

/// A location that no file can have: it is not relative.
constexpr std::string_view detached = "/detached";

void refer(proto::TensorProto& tensor, std::size_t number) {
  tensor.clear_external_data();
  const auto add = [&](std::string_view key, std::string_view value) {
    auto* const entry = tensor.add_external_data();
    entry->set_key(std::string(key));
    entry->set_value(std::string(value));
  };
  add("location", detached);
  add("offset", std::to_string(number));
  tensor.set_data_location(proto::TensorProto::EXTERNAL);
}

/// The number of a detached weight. Throws InputError.
std::size_t number_of(const proto::TensorProto& tensor, std::size_t count) {
  bool is_detached = false;
  std::size_t number = count;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") is_detached = entry.value() == detached;
    if (entry.key() == "offset") {
      const char* const end = entry.value().data() + entry.value().size();
      if (const auto read = std::from_chars(entry.value().data(), end, number);
          read.ec != std::errc() || read.ptr != end)
        number = count;
    }
  }
  if (!is_detached || number >= count)
    throw InputError(fmt::format("the weight '{}' is missing", on_one_line(tensor.name())));
  return number;
}

DetachedWeight external_weight(const proto::TensorProto& tensor, const std::filesystem::path& folder) {
  const ExternalFile source = open_external(tensor, folder, raw_bytes_of(tensor));
  MappedBytes mapped = map_external(source);
  const auto* const data = reinterpret_cast<const char*>(mapped.data);
  return {{data, static_cast<std::size_t>(source.region.length)}, std::move(mapped.owner)};
}

struct Put {
  proto::TensorProto* tensor;
  DetachedWeight weight;
};

/// Copies the bytes into their tensors, concurrently: they may be gigabytes.
void put(const std::vector<Put>& list) {
  parallel_for(thread_count(0), static_cast<std::int64_t>(list.size()), [&](std::int64_t i) {
    const auto& [tensor, weight] = list[static_cast<std::size_t>(i)];
    tensor->clear_external_data();
    tensor->clear_data_location();
    tensor->set_raw_data(weight.bytes.data(), weight.bytes.size());
  });
}

}  // namespace

std::vector<DetachedWeight> detach_weights(Model& model, std::size_t smallest) {
  std::vector<DetachedWeight> weights;
  for_each_tensor(model.mutable_proto(), [&](proto::TensorProto& tensor, bool) {
    if (is_external(tensor)) {
      weights.push_back(external_weight(tensor, model.folder()));
    } else if (tensor.has_raw_data() && tensor.raw_data().size() >= smallest) {
      const auto kept = std::make_shared<std::string>();
      kept->swap(*tensor.mutable_raw_data());
      tensor.clear_raw_data();
      weights.push_back({*kept, kept});
    } else {
      return;
    }
    refer(tensor, weights.size() - 1);
  });
  return weights;
}

void attach_weights(Model& model, std::span<const std::string_view> weights) {
  std::vector<Put> list;
  std::vector<bool> is_used(weights.size());
  for_each_tensor(model.mutable_proto(), [&](proto::TensorProto& tensor, bool) {
    if (!is_external(tensor)) return;
    const std::size_t number = number_of(tensor, weights.size());
    if (is_used[number]) throw InputError(fmt::format("the weight '{}' is another's", on_one_line(tensor.name())));
    is_used[number] = true;
    list.push_back({&tensor, {weights[number], nullptr}});
  });
  if (list.size() < weights.size()) throw InputError("there are more weights than the model has");
  put(list);
}

void take_in_weights(Model& model) {
  std::vector<Put> list;
  for_each_tensor(model.mutable_proto(), [&](proto::TensorProto& tensor, bool) {
    if (is_external(tensor)) list.push_back({&tensor, external_weight(tensor, model.folder())});
  });
  put(list);
}

}  // namespace taso::onnx
