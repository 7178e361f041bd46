// Replays taso-opt's own certificate with the code of taso-verify, before taso-opt reports success.
#pragma once

#include <string>
#include <vector>

#include "onnx/model/model.h"
#include "ops/graph/graph.h"
#include "rules/language/rewrite_certificate.h"
#include "rules/language/rule.h"

namespace taso::cli {

/// Whether this build can replay certificates; one without Z3 cannot.
bool can_replay();

/// One line on why taso-verify would reject the certificate. Empty if it would accept it, or if this build cannot
/// replay. `before` is the model before the clean-ups, `after` the model to be written. Hashes are not compared,
/// because the files need not exist yet.
std::string rejection_of(const rules::RewriteCertificate& certificate, const onnx::Model& before,
                         const onnx::Model& after, const std::vector<rules::Rule>& rules);

/// The graphs after 0, 1, 2, … steps of the certificate, from the graph after the clean-ups, whose pool they share.
/// Returns why a step cannot be taken; empty if all can.
std::string graphs_after_steps(const rules::RewriteCertificate& certificate, const Graph& first,
                               const std::vector<rules::Rule>& rules, std::vector<Graph>& graphs);

}  // namespace taso::cli
