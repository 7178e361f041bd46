// What tells one model from all others, by its contents.
#pragma once

#include <filesystem>
#include <string>

namespace taso::onnx {

class Model;

/// SHA-256, as 64 hexadecimal digits, of the message as it is in the file, without the entries of its metadata whose keys
/// begin with "taso.", and of all external data, each tensor's after its size. Throws InputError.
std::string hash_of_model(const std::filesystem::path& file);
/// The same of a model that was loaded from that file, and at most validated since.
std::string hash_of_model(const std::filesystem::path& file, const Model& model);

}  // namespace taso::onnx
