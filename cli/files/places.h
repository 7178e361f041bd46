// Checks the files that a run may write: no two the same, and none of its inputs unless --force is given.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/console/streams.h"
#include "cli/opt/settings.h"
#include "onnx/model/model.h"

namespace taso::cli {

/// The file for weights outside the model file.
std::filesystem::path data_file_of(const std::filesystem::path& output);

/// The file for the certificate.
std::filesystem::path certificate_file_of(const std::filesystem::path& output);

/// Compares by name or by inode; neither file has to exist.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// A file that a run reads or writes, and its description for messages.
struct Place {
  std::string what;
  std::filesystem::path file;
};

/// Throws UsageError if a written file would replace a file that is read or another written file.
void check_apart(const std::vector<Place>& read, const std::vector<Place>& written);

/// Looks at names and inodes only; reads and opens nothing. Throws UsageError.
void check_places(const OptSettings& options);
/// The model's weight files are inputs as well. Throws UsageError.
void check_weights_are_kept(const OptSettings& options, onnx::Model& model);
/// The same for the weight files of several models. Reads the models before anything is written, even a log line. Skips
/// a model that cannot be read, because loading it later reports why. Throws UsageError.
void check_weights_are_kept(const std::vector<std::filesystem::path>& models, const std::vector<Place>& written);

}  // namespace taso::cli
