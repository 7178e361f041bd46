// The certificate that taso-opt writes beside a model: see rules/language/rewrite_certificate.h.
#pragma once

#include "cli/opt/options.h"
#include "cli/opt/steps/steps.h"
#include "onnx/cleanup/cleanup.h"
#include "rules/language/rewrite_certificate.h"

namespace taso::cli {

/// What can be told of the options.
rules::RewriteCertificate begin_certificate(const OptOptions& options);

/// A file under the name that the certificate will have may be somebody else's. Throws UsageError.
void check_certificate_place(const std::filesystem::path& output);
/// That of an earlier output is not true of the next. What is no certificate stays. Throws EnvironmentError.
void remove_certificate(const std::filesystem::path& output);

std::vector<rules::CleanupStep> steps_of(const std::vector<onnx::CleanupAction>& actions);
/// After the search, clean-ups do only what changes no number, so that the result is what the steps lead to.
onnx::CleanupOptions exact(onnx::CleanupOptions options);

/// Says what was done to the model.
void complete(rules::RewriteCertificate& certificate, const Candidate& candidate);
/// Once the output is there. Says where it is. Throws EnvironmentError.
std::filesystem::path write_certificate(rules::RewriteCertificate certificate, const OptOptions& options);

}  // namespace taso::cli
