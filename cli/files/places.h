// Which files a run may write: never one over another, and never over its input unless that was asked for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/console/streams.h"
#include "cli/opt/options.h"
#include "onnx/model/model.h"

namespace taso::cli {

/// Where weights go that are not in the model's own file.
std::filesystem::path data_file_of(const std::filesystem::path& output);

/// Where the certificate goes.
std::filesystem::path certificate_file_of(const std::filesystem::path& output);

/// By name or by inode; neither has to exist.
bool is_same_file(const std::filesystem::path& a, const std::filesystem::path& b);

/// A file that a run reads or writes, with what it is to the user.
struct Place {
  std::string what;
  std::filesystem::path file;
};

/// Nothing that is written may replace something that is read, or something else that is written. Throws UsageError.
void check_apart(const std::vector<Place>& read, const std::vector<Place>& written);

/// Looks at names and inodes only; nothing has to be read or opened yet. Throws UsageError.
void check_places(const OptOptions& options);
/// The weights beside the model are input as well. Throws UsageError.
void check_weights_are_kept(const OptOptions& options, onnx::Model& model);
/// The same for what several models have beside them. Looks into the models, before anything is written, be it a line of the
/// log; one that cannot be read is passed over, for whoever loads it says why. Throws UsageError.
void check_weights_are_kept(const std::vector<std::filesystem::path>& models, const std::vector<Place>& written);

}  // namespace taso::cli
