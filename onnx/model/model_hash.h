// A hash that identifies a model by its contents.
#pragma once

#include <filesystem>
#include <string>

namespace taso::onnx {

class Model;

/// SHA-256, as 64 hexadecimal digits, of the message in the file, without metadata whose keys begin with "taso.", and
/// of all external data, each tensor's preceded by its size. Throws InputError.
std::string hash_of_model(const std::filesystem::path& file);
/// The same for a model that was loaded from that file and at most validated since.
std::string hash_of_model(const std::filesystem::path& file, const Model& model);

}  // namespace taso::onnx
