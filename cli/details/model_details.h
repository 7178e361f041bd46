// A model as people look at it: its nodes with shapes and attributes, and the kernels that compute them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "onnx/import/import.h"
#include "onnx/import/view.h"
#include "ops/core/array.h"
#include "runtime/pricing/pricing.h"

namespace taso::cli {

struct NodeDetails {
  std::string name, op;  ///< the operator with its domain if that is not ONNX's
  std::vector<std::string> inputs, outputs;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string bytes;                 ///< the whole node, to see whether it changed
  bool is_constant = false;          ///< a weight in the form of a node
  bool is_priced = false;            ///< part of the graph that was priced; clean-ups may have removed it
  bool is_free = false;              ///< computed ahead of time, or only another view of the same data
  std::vector<std::size_t> kernels;  ///< that compute it
};

/// A launch, or a step on the host.
struct KernelDetails {
  std::string kind;                ///< "convolution", "copy", …
  std::string text;                ///< its operators
  std::vector<std::size_t> nodes;  ///< that it computes, at least in part
  double seconds = 0;              ///< when it runs alone
  bool is_measured = false;
  std::string no_kernel;  ///< why the host runs it; empty if the GPU does
  std::uint32_t lane = 0;
  double begin = 0, end = 0;  ///< in the predicted run, seconds
  double bytes = 0, operations = 0;
};

struct ModelDetails {
  std::vector<NodeDetails> nodes;
  std::vector<KernelDetails> kernels;        ///< in the order of the plan; copies of outputs come last
  bool has_timeline = false;                 ///< false if sizes are not known: then the kernels are in a row
  std::map<std::string, std::string> types;  ///< of values: "float32[1, 3, 224, 224]"
  std::vector<std::string> inputs, outputs;  ///< of the graph
};

/// The nodes are those of `view`; prices come from `imported`, the same model or one that clean-ups made of it.
/// `shapes` gives the sizes that the inputs leave open.
ModelDetails details_of(const onnx::ModelView& view, const onnx::ImportedModel& imported,
                        const std::map<std::string, Extents>& shapes, const pricing::Pricing& pricing);

/// Adds the types of values that the model does not know yet.
void add_types(ModelDetails& model, const onnx::ImportedModel& imported);

}  // namespace taso::cli
