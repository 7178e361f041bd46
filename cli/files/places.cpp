#include "cli/files/places.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "onnx/model/external_data.h"
#include "onnx/model/model_tensors.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"
#include "ops/support/atomic_file.h"

namespace taso::cli {

using std::filesystem::path;

namespace {

/// The weight files that the model names; they need not exist.
std::vector<path> weight_files_of(onnx::Model& model) {
  std::unordered_set<std::string> locations;
  onnx::for_each_tensor(model.mutable_proto(), [&](proto::TensorProto& tensor, bool) {
    if (!onnx::is_external(tensor)) return;
    for (const auto& entry : tensor.external_data())
      if (entry.key() == "location") locations.insert(entry.value());
  });
  std::vector<path> files;
  for (const auto& location : locations) files.push_back(model.folder() / location);
  return files;
}

void check_is_apart(const path& weights, const std::vector<Place>& written) {
  for (const Place& place : written)
    if (!is_standard_stream(place.file) && is_same_file(place.file, weights))
      throw UsageError(fmt::format("{} holds the weights of the input", on_one_line(place.file.string())));
}

}  // namespace

bool is_same_file(const path& a, const path& b) {
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  // Files that do not exist yet have no inode, only a name.
  const path a_name = std::filesystem::weakly_canonical(a, error);
  return !error && a_name == std::filesystem::weakly_canonical(b, error) && !error;
}

path data_file_of(const path& output) { return followed(output).string() + ".data"; }

path certificate_file_of(const path& output) { return output.string() + ".cert"; }

void check_apart(const std::vector<Place>& read, const std::vector<Place>& written) {
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto& [what, file] = written[i];
    for (std::size_t j = 0; j < i; ++j)
      if (is_standard_stream(file) && is_standard_stream(written[j].file))
        throw UsageError(fmt::format("{} and {} cannot both go to the standard output", written[j].what, what));
    if (is_standard_stream(file)) continue;
    for (const Place& other : read)
      if (!is_standard_stream(other.file) && is_same_file(file, other.file))
        throw UsageError(fmt::format("{} {} would replace {}", what, on_one_line(file.string()), other.what));
    for (std::size_t j = 0; j < i; ++j)
      if (!is_standard_stream(written[j].file) && is_same_file(file, written[j].file))
        throw UsageError(fmt::format("{} and {} are both {}", written[j].what, what, on_one_line(file.string())));
  }
}

void check_places(const OptSettings& options) {
  std::vector<Place> read, written;
  if (!options.dry_run && !is_standard_stream(options.output) && is_same_file(options.output, options.input)) {
    if (!options.force)
      throw UsageError(
          fmt::format("the output {} is the input; --force replaces it", on_one_line(options.output.string())));
  } else {
    read.push_back({"the model", options.input});
  }
  for (const auto* files : {&options.rule_files, &options.extra_rules})
    for (const std::filesystem::path& file : *files) read.push_back({"a file of rules", file});
  for (const std::string& text : options.input_data)
    if (const std::size_t colon = text.rfind(':'); colon != std::string::npos)
      read.push_back({"a file of --input-data", text.substr(colon + 1)});
  if (!options.dry_run) written.push_back({"the output", options.output});
  if (options.engine) written.push_back({"the engine file", *options.engine});
  if (options.report) written.push_back({"the report", *options.report});
  if (options.html) written.push_back({"the page", *options.html});
  if (options.console.log_file) written.push_back({"the log", *options.console.log_file});
  const bool has_name = !options.dry_run && !is_standard_stream(options.output);
  if (has_name) written.push_back({"the weights of the output", data_file_of(options.output)});
  if (has_name && options.certificate) written.push_back({"the certificate", certificate_file_of(options.output)});
  if (options.pricing.file) written.push_back({"the file of --prices", *options.pricing.file});
  check_apart(read, written);
}

void check_weights_are_kept(const OptSettings& options, onnx::Model& model) {
  std::vector<Place> written;
  if (options.engine) written.push_back({"the engine file", *options.engine});
  if (options.report) written.push_back({"the report", *options.report});
  if (options.html) written.push_back({"the page", *options.html});
  if (options.console.log_file) written.push_back({"the log", *options.console.log_file});
  if (options.pricing.file) written.push_back({"the file of --prices", *options.pricing.file});
  for (const path& file : weight_files_of(model)) {
    check_is_apart(file, written);
    if (options.dry_run || is_standard_stream(options.output)) continue;
    if (is_same_file(options.output, file))
      throw UsageError(fmt::format("the output {} holds the weights of the input", options.output.string()));
    if (options.certificate && is_same_file(certificate_file_of(options.output), file))
      throw UsageError(fmt::format("the certificate {} would replace the weights of the input",
                                   certificate_file_of(options.output).string()));
    if (!options.force && options.weights != onnx::SaveOptions::Weights::embedded &&
        is_same_file(data_file_of(options.output), file))
      throw UsageError(
          fmt::format("{} holds the weights of the input; --force replaces it", data_file_of(options.output).string()));
  }
}

void check_weights_are_kept(const std::vector<path>& models, const std::vector<Place>& written) {
  // Weights exist already, so only an existing file can be one; otherwise no model needs to be read.
  const bool may_replace = std::any_of(written.begin(), written.end(), [](const Place& place) {
    std::error_code error;
    return !is_standard_stream(place.file) && std::filesystem::exists(place.file, error);
  });
  if (!may_replace) return;
  for (const path& name : models) {
    try {
      onnx::Model model = onnx::Model::load(name);
      for (const path& file : weight_files_of(model)) check_is_apart(file, written);
    } catch (const InputError&) {
      continue;
    }
  }
}

}  // namespace taso::cli
