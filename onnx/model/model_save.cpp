#include <algorithm>
#include <climits>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>

#include "onnx/model/external_data.h"
#include "onnx/model/model.h"
#include "onnx/model/model_names.h"
#include "onnx/model/model_tensors.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/array.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"

namespace taso::onnx {
namespace {

/// Writes the serialiser's output to a file. Long strings, which are the weights, are written without a copy.
/// Exceptions must not pass through protobuf, whose streams write once more on destruction: finish() throws them.
class FileStream final : public google::protobuf::io::ZeroCopyOutputStream {
 public:
  explicit FileStream(AtomicFile& file) : file_(file), buffer_(1 << 20) {}

  bool Next(void** data, int* size) override {
    if (!guarded([&] { flush(); })) return false;
    *data = buffer_.data();
    *size = static_cast<int>(buffer_.size());
    used_ = buffer_.size();
    return true;
  }
  void BackUp(int count) override { used_ -= static_cast<std::size_t>(count); }
  std::int64_t ByteCount() const override { return static_cast<std::int64_t>(written_ + used_); }
  bool AllowsAliasing() const override { return true; }
  bool WriteAliasedRaw(const void* data, int size) override {
    return guarded([&] {
      flush();
      file_.write(data, static_cast<std::size_t>(size));
      written_ += static_cast<std::size_t>(size);
    });
  }
  void finish() {
    if (trouble_) std::rethrow_exception(trouble_);
    flush();
  }

 private:
  template <class Work>
  bool guarded(Work&& work) {
    if (trouble_) return false;
    try {
      work();
    } catch (...) {
      trouble_ = std::current_exception();
    }
    return trouble_ == nullptr;
  }
  void flush() {
    file_.write(buffer_.data(), used_);
    written_ += used_;
    used_ = 0;
  }

  AtomicFile& file_;
  std::vector<char> buffer_;
  std::size_t used_ = 0;
  std::size_t written_ = 0;
  std::exception_ptr trouble_;
};

/// Changes tensors of a message during its lifetime, without copying their data.
class TensorChanges {
 public:
  TensorChanges() = default;
  TensorChanges(const TensorChanges&) = delete;
  TensorChanges& operator=(const TensorChanges&) = delete;
  ~TensorChanges() {
    for (auto change = changes_.rbegin(); change != changes_.rend(); ++change) change->tensor->Swap(&change->original);
  }

  /// Removes the tensor's data from the message and returns the original tensor.
  const proto::TensorProto& strip(proto::TensorProto& tensor) {
    changes_.push_back({&tensor, {}});
    proto::TensorProto& original = changes_.back().original;
    original.Swap(&tensor);
    // Set the large data aside while the other fields, known and unknown, are copied.
    proto::TensorProto data;
    const bool raw = original.has_raw_data();
    swap_data(original, data, raw);
    tensor = original;
    swap_data(original, data, raw);
    tensor.clear_raw_data();
    return original;
  }

 private:
  static void swap_data(proto::TensorProto& a, proto::TensorProto& b, bool raw) {
    if (raw) a.mutable_raw_data()->swap(*b.mutable_raw_data());
    a.mutable_float_data()->Swap(b.mutable_float_data());
    a.mutable_double_data()->Swap(b.mutable_double_data());
    a.mutable_int32_data()->Swap(b.mutable_int32_data());
    a.mutable_int64_data()->Swap(b.mutable_int64_data());
    a.mutable_uint64_data()->Swap(b.mutable_uint64_data());
    a.mutable_string_data()->Swap(b.mutable_string_data());
  }

  struct Change {
    proto::TensorProto* tensor;
    proto::TensorProto original;
  };
  std::deque<Change> changes_;  // references stay valid when it grows
};

/// The file of weights beside the model, one region after the other.
class DataFile {
 public:
  explicit DataFile(const std::filesystem::path& path) : file_(path), location_(path.filename().string()) {}

  const std::string& location() const { return location_; }

  void add_external(proto::TensorProto& tensor, const proto::TensorProto& original,
                    const std::filesystem::path& folder) {
    const ExternalFile source = open_external(original, folder, raw_bytes_of(original));
    const auto [known, is_new] = placed_.try_emplace(source.region, 0);
    if (is_new) {
      known->second = place(source.region.length);
      file_.copy(source.file.get(), source.region.offset, source.region.length, known->second);
    }
    refer(tensor, known->second, source.region.length);
  }
  void add_array(proto::TensorProto& tensor, const void* data, std::size_t size) {
    const std::uint64_t offset = place(size);
    file_.write_at(offset, data, size);
    refer(tensor, offset, size);
  }
  AtomicFile& finish(bool sync) {
    file_.resize(end_);
    if (sync) file_.sync();
    return file_;
  }
  AtomicFile& file() { return file_; }

 private:
  std::uint64_t place(std::uint64_t length) {
    const std::uint64_t alignment = length >= 4096 ? 4096 : 64;
    const std::uint64_t offset = (end_ + alignment - 1) / alignment * alignment;
    end_ = offset + length;
    return offset;
  }
  void refer(proto::TensorProto& tensor, std::uint64_t offset, std::uint64_t length) {
    set(tensor, "location", location_);
    set(tensor, "offset", std::to_string(offset));
    set(tensor, "length", std::to_string(length));
    // The checksum belongs to the old file.
    auto* entries = tensor.mutable_external_data();
    for (int i = entries->size(); i-- > 0;)
      if (entries->Get(i).key() == "checksum") entries->DeleteSubrange(i, 1);
    tensor.set_data_location(proto::TensorProto::EXTERNAL);
  }
  static void set(proto::TensorProto& tensor, std::string_view key, const std::string& value) {
    auto& entries = *tensor.mutable_external_data();
    auto entry = std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.key() == key; });
    auto& target = entry == entries.end() ? *entries.Add() : *entry;
    target.set_key(std::string(key));
    target.set_value(value);
  }

  AtomicFile file_;
  std::string location_;
  std::uint64_t end_ = 0;
  std::map<ExternalRegion, std::uint64_t> placed_;
};

/// Puts the data of an external tensor into the message.
void take_in(proto::TensorProto& tensor, const proto::TensorProto& original, const std::filesystem::path& folder) {
  const ExternalFile source = open_external(original, folder, raw_bytes_of(original));
  const MappedBytes bytes = map_external(source);
  tensor.clear_external_data();
  tensor.clear_data_location();
  tensor.set_raw_data(bytes.data, static_cast<std::size_t>(source.region.length));
}

bool has_external(proto::ModelProto& model) {
  bool found = false;
  for_each_tensor(model, [&](const proto::TensorProto& tensor, bool) { found = found || is_external(tensor); });
  return found;
}

void move(proto::ModelProto& model, const std::string& location, const std::string& to) {
  for_each_tensor(model, [&](proto::TensorProto& tensor, bool) {
    if (!is_external(tensor)) return;
    for (auto& entry : *tensor.mutable_external_data())
      if (entry.key() == "location" && entry.value() == location) entry.set_value(to);
  });
}

/// The external files that a model refers to; empty if the file is not a model.
std::unordered_set<std::string> files_of(const std::filesystem::path& path) {
  std::unordered_set<std::string> files;
  try {
    Model model = Model::load(path);
    for_each_tensor(model.mutable_proto(), [&](const proto::TensorProto& tensor, bool) {
      if (!is_external(tensor)) return;
      for (const auto& entry : tensor.external_data())
        if (entry.key() == "location") files.insert(std::filesystem::path(entry.value()).lexically_normal().string());
    });
  } catch (const InputError&) {
    return {};
  }
  return files;
}

/// Where the weights of a model are written. Two files cannot be renamed at once. If the replaced model refers to the
/// file of weights that would be replaced, the new weights first get another name, to which the new model refers. Then
/// nothing needs the old weights.
class DataPlace {
 public:
  explicit DataPlace(const std::filesystem::path& model) : usual_(model.string() + ".data") {
    const std::filesystem::path aside = usual_.string() + ".taso";
    std::error_code error;
    const bool has_aside = std::filesystem::exists(aside, error);
    if (!has_aside && !std::filesystem::exists(usual_, error)) return;
    used_ = files_of(model);
    if (has_aside && used_.contains(aside.filename().string())) left_ = aside;
    if (has_aside && !left_) remove_abandoned(aside);
    for (int i = 1; used_.contains(first().filename().string()); ++i)
      aside_ = i == 1 ? aside : std::filesystem::path(fmt::format("{}{}", aside.string(), i));
  }

  /// Where the weights are first; in the end they are at usual().
  const std::filesystem::path& first() const { return aside_ ? *aside_ : usual_; }
  const std::filesystem::path& usual() const { return usual_; }
  bool is_aside() const { return aside_.has_value(); }
  /// Removes what an earlier crash left behind and the weights' first name, once nothing refers to them.
  void remove_rest() const noexcept {
    std::error_code error;
    if (left_ && *left_ != first()) std::filesystem::remove(*left_, error);
    if (aside_) std::filesystem::remove(*aside_, error);
  }

 private:
  std::filesystem::path usual_;
  std::optional<std::filesystem::path> aside_, left_;
  std::unordered_set<std::string> used_;  // by the model that is replaced
};

void write(const proto::ModelProto& proto, AtomicFile& file, bool sync) {
  proto.ByteSizeLong();  // caches the sizes for writing
  {
    FileStream stream(file);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.EnableAliasing(true);
    coded.SetSerializationDeterministic(true);
    proto.SerializeWithCachedSizes(&coded);
    coded.Trim();
    stream.finish();
  }
  if (sync) file.sync();
}

bool can_move(const proto::TensorProto& tensor, std::size_t smallest) {
  if (is_external(tensor) || tensor.dims_size() == 0) return false;
  if (!tensor.has_raw_data() && element_type_from_onnx(tensor.data_type()) == ElementType::undefined) return false;
  const auto bytes = tensor.has_raw_data() ? tensor.raw_data().size() : raw_bytes_of(tensor);
  return bytes && *bytes >= smallest;
}

}  // namespace

std::string Model::serialise_whole() const {
  TensorChanges changes;
  for_each_tensor(*proto_, [&](proto::TensorProto& tensor, bool) {
    if (is_external(tensor)) take_in(tensor, changes.strip(tensor), folder_);
  });
  return serialise();
}

void Model::save(const std::filesystem::path& path, const SaveOptions& options) const {
  using Weights = SaveOptions::Weights;
  const bool embed = options.weights == Weights::embedded;
  const bool move_out =
      options.weights == Weights::external || (!embed && proto_->ByteSizeLong() > options.largest_file);
  const bool move_new = !embed && !new_weights_.empty() && has_external(*proto_);
  TensorChanges changes;
  std::optional<DataPlace> place;
  std::unique_ptr<DataFile> data;
  AtomicFile file(path);
  const auto data_file = [&]() -> DataFile& {
    if (!place) place.emplace(file.path());  // beside the file itself, not beside a link to it
    if (!data) data = std::make_unique<DataFile>(place->first());
    return *data;
  };
  for_each_tensor(*proto_, [&](proto::TensorProto& tensor, bool initializer) {
    if (is_external(tensor)) {
      const proto::TensorProto& original = changes.strip(tensor);
      if (!embed) {
        data_file().add_external(tensor, original, folder_);
        return;
      }
      take_in(tensor, original, folder_);
    } else if (initializer && (move_out || (move_new && new_weights_.contains(tensor.name()))) &&
               can_move(tensor, options.smallest_external)) {
      const proto::TensorProto& original = changes.strip(tensor);
      if (original.has_raw_data()) {
        data_file().add_array(tensor, original.raw_data().data(), original.raw_data().size());
      } else {
        const Array array = read_tensor(original, folder_);
        data_file().add_array(tensor, array.data(), array.bytes());
      }
    }
  });

  const std::size_t size = proto_->ByteSizeLong();
  if (size > std::min<std::size_t>(options.largest_file, INT_MAX))
    throw InputError(fmt::format("{}: the model would have {} bytes, but a protobuf message ends at 2 GB{}",
                                 path.string(), size, embed ? "; keep the weights external" : ""));
  write(*proto_, file, options.sync);
  if (data) data->finish(options.sync);
  const auto stepped = [&] {
    if (options.after_step) options.after_step();
  };
  const Commit commit;
  try {
    if (data) {
      data->file().rename();
      stepped();
    }
    file.rename();
  } catch (...) {
    if (data) data->file().undo();
    throw;
  }
  stepped();
  if (!data) return;
  if (place->is_aside()) {
    // The output is already complete. If this fails, the weights keep their other name.
    if (!data->file().link_as(place->usual())) return;
    stepped();
    try {
      AtomicFile again(file.path());
      move(*proto_, data->location(), place->usual().filename().string());
      write(*proto_, again, options.sync);
      again.rename();
    } catch (const EnvironmentError&) {
      return;
    }
    stepped();
  }
  place->remove_rest();
}

}  // namespace taso::onnx
