// Reads a model with the branches that its Ifs always take in their place. The check and the verifier compare this with
// what the clean-up `dead-branches` wrote.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "onnx/import/import.h"

namespace taso::onnx {

/// The conditions of Ifs that are the same for all inputs, by node: a result of an inner If may also be one of the
/// outer.
using Decisions = std::unordered_map<const proto::NodeProto*, bool>;

/// Decides the conditions of those Ifs for whose first results `is_wanted` holds, also inside of taken branches.
/// Conditions that may depend on the inputs, or on whether a size is 0, are left out.
Decisions decided_branches(const ModelView& view, const std::function<bool(const std::string& result)>& is_wanted);

/// Imports a model like import_model(), with the branches of the decided nodes in their place. A value `t` of such a
/// branch has the name `r/t`, where r is the first result of the If, unless it is a result of the If itself.
ImportedModel import_with_branches(const ModelView& view, const Decisions& decisions, SharedImport* shared = nullptr);

}  // namespace taso::onnx
