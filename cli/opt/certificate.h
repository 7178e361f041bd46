// The certificate that taso-opt writes beside a model; see rules/language/rewrite_certificate.h.
#pragma once

#include "cli/opt/settings.h"
#include "cli/opt/steps/steps.h"
#include "onnx/cleanup/cleanup.h"
#include "rules/language/rewrite_certificate.h"

namespace taso::cli {

/// Fills in what the options determine.
rules::RewriteCertificate begin_certificate(const OptSettings& options);

/// Throws UsageError if another kind of file has the certificate's name.
void check_certificate_place(const std::filesystem::path& output);
/// Removes the certificate of an earlier output, which does not hold for the new one. Other files stay. Throws
/// EnvironmentError.
void remove_certificate(const std::filesystem::path& output);

std::vector<rules::CleanupStep> steps_of(const std::vector<onnx::CleanupAction>& actions);
/// Only the passes that change no number, for use after the search: the result is then exactly what the steps lead to.
onnx::CleanupOptions exact_passes_only(onnx::CleanupOptions options);

/// Fills in what was done to the model.
void complete(rules::RewriteCertificate& certificate, const Candidate& candidate);
/// Call it after the output is written. Returns the certificate's path. Throws EnvironmentError.
std::filesystem::path write_certificate(rules::RewriteCertificate certificate, const OptSettings& options);

}  // namespace taso::cli
