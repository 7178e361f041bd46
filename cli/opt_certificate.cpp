#include "cli/opt_certificate.h"

#include "cli/places.h"
#include "cli/version.h"
#include "ops/onnx/atomic_file.h"
#include "ops/onnx/model_hash.h"

namespace taso {

RewriteCertificate begin_certificate(const OptOptions& options, const Model& model) {
  RewriteCertificate certificate;
  certificate.version = program_version();
  certificate.input = hash_of_model(options.input, model);
  certificate.disabled.assign(options.disabled_passes.begin(), options.disabled_passes.end());
  certificate.fold_limit = options.fold_limit;
  for (const InputShape& shape : options.new_shapes)
    certificate.input_shapes.push_back({shape.input.value_or(""), shape.extents});
  return certificate;
}

std::vector<CleanupStep> steps_of(const std::vector<CleanupAction>& actions) {
  std::vector<CleanupStep> steps;
  for (const CleanupAction& action : actions) steps.push_back({std::string(action.pass), action.at});
  return steps;
}

CleanupOptions exact(CleanupOptions options) {
  options.disabled.insert({"batch-norm", "shape-arithmetic"});
  return options;
}

void take_back(RewriteCertificate& certificate) {
  certificate.disabled.clear();
  for (const CleanupPass& pass : cleanup_passes()) certificate.disabled.emplace_back(pass.name);
  certificate.before.clear();
  certificate.after.clear();
}

std::filesystem::path write_certificate(RewriteCertificate certificate, const SearchSummary* search,
                                        const OptOptions& options) {
  certificate.output = hash_of_model(options.output);
  if (search != nullptr) {
    certificate.steps = search->steps;
    certificate.names = search->names;
  }
  const std::string text = print(certificate);
  AtomicFile file(certificate_file_of(options.output));
  file.write(text.data(), text.size());
  file.sync();
  file.rename();
  return file.path();
}

}  // namespace taso
