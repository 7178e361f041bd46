#include "cli/opt/certificate.h"

#include <fstream>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "cli/console/version.h"
#include "cli/files/places.h"
#include "cli/files/rule_input.h"
#include "onnx/model/model_hash.h"
#include "ops/support/atomic_file.h"

namespace taso::cli {
namespace {

/// Whether the file exists and is a certificate. The first bytes of one that taso wrote are enough; a file that was
/// reformatted is parsed.
bool is_certificate(const std::filesystem::path& file) {
  std::string start(4096, '\0');
  std::ifstream stream(file, std::ios::binary);
  stream.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(stream.gcount()));
  if (rules::starts_as_certificate(start)) return true;
  try {
    rules::parse_certificate(std::string(read_source(file).text()));
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

void check_certificate_place(const std::filesystem::path& output) {
  const std::filesystem::path file = certificate_file_of(output);
  std::error_code error;
  if (std::filesystem::exists(file, error) && !is_certificate(file))
    throw UsageError(
        fmt::format("{} is not a certificate; --force replaces it, --no-certificate leaves it alone", file.string()));
}

void remove_certificate(const std::filesystem::path& output) {
  const std::filesystem::path file = certificate_file_of(output);
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error) || !is_certificate(file)) return;
  std::filesystem::remove(followed(file), error);
  if (error) throw EnvironmentError(fmt::format("cannot remove {}: {}", file.string(), error.message()));
}

rules::RewriteCertificate begin_certificate(const OptSettings& options) {
  rules::RewriteCertificate certificate;
  certificate.version = program_version();
  certificate.disabled.assign(options.disabled_passes.begin(), options.disabled_passes.end());
  certificate.fold_limit = options.fold_limit;
  for (const InputShape& shape : options.new_shapes)
    certificate.input_shapes.push_back({shape.input.value_or(""), shape.extents});
  return certificate;
}

std::vector<rules::CleanupStep> steps_of(const std::vector<onnx::CleanupAction>& actions) {
  std::vector<rules::CleanupStep> steps;
  for (const onnx::CleanupAction& action : actions) steps.push_back({std::string(action.pass), action.at});
  return steps;
}

onnx::CleanupOptions exact_passes_only(onnx::CleanupOptions options) {
  options.disabled.insert({"batch-norm", "dead-branches", "initial-state", "neutral-operand", "round-trips",
                           "sequences", "shape-arithmetic"});
  return options;
}

void complete(rules::RewriteCertificate& certificate, const Candidate& candidate) {
  certificate.before = candidate.clean_ups;
  certificate.after = candidate.clean_ups_after;
  if (candidate.is_untouched) {
    certificate.disabled.clear();
    for (const onnx::CleanupPass& pass : onnx::cleanup_passes()) certificate.disabled.emplace_back(pass.name);
  }
  const SearchSummary none, &search = candidate.search ? *candidate.search : none;
  certificate.rules = search.rules_hash;
  certificate.steps = search.steps;
  certificate.names = search.names;
}

std::filesystem::path write_certificate(rules::RewriteCertificate certificate, const OptSettings& options) {
  certificate.output = onnx::hash_of_model(options.output);
  return write_file(certificate_file_of(options.output), rules::print(certificate));
}

}  // namespace taso::cli
