#include "onnx/model/model_tensors.h"

#include <algorithm>
#include <vector>

#include "onnx/model/proto.h"

namespace taso::onnx {
namespace {

using Visit = VisitTensor;

class Walk {
 public:
  explicit Walk(const Visit& visit) : visit_(visit) {}

  void graph(proto::GraphProto& root) {
    pending_.push_back(&root);
    drain();
  }
  void node(proto::NodeProto& root) {
    attributes(root);
    drain();
  }
  void sparse(proto::SparseTensorProto& tensor) {
    if (tensor.has_values()) visit_(*tensor.mutable_values(), false);
    if (tensor.has_indices()) visit_(*tensor.mutable_indices(), false);
  }

 private:
  void drain() {
    while (!pending_.empty()) {
      proto::GraphProto& graph = *pending_.back();
      pending_.pop_back();
      for (auto& tensor : *graph.mutable_initializer()) visit_(tensor, true);
      for (auto& tensor : *graph.mutable_sparse_initializer()) sparse(tensor);
      const std::size_t first = pending_.size();
      for (auto& node : *graph.mutable_node()) attributes(node);
      std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end());
    }
  }
  void attributes(proto::NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) visit_(*attribute.mutable_t(), false);
      if (attribute.has_sparse_tensor()) sparse(*attribute.mutable_sparse_tensor());
      for (auto& tensor : *attribute.mutable_tensors()) visit_(tensor, false);
      for (auto& tensor : *attribute.mutable_sparse_tensors()) sparse(tensor);
      if (attribute.has_g()) pending_.push_back(attribute.mutable_g());
      for (auto& inner : *attribute.mutable_graphs()) pending_.push_back(&inner);
    }
  }

  const Visit& visit_;
  std::vector<proto::GraphProto*> pending_;
};

}  // namespace

void for_each_tensor(proto::ModelProto& model, const Visit& visit) {
  if (model.has_graph()) Walk(visit).graph(*model.mutable_graph());
  for (auto& training : *model.mutable_training_info()) for_each_tensor(training, visit);
  for (auto& function : *model.mutable_functions()) for_each_tensor(function, visit);
}

void for_each_tensor(proto::TrainingInfoProto& training, const Visit& visit) {
  if (training.has_initialization()) Walk(visit).graph(*training.mutable_initialization());
  if (training.has_algorithm()) Walk(visit).graph(*training.mutable_algorithm());
}

void for_each_tensor(proto::FunctionProto& function, const Visit& visit) {
  for (auto& node : *function.mutable_node()) Walk(visit).node(node);
}

void for_each_tensor(proto::NodeProto& node, const Visit& visit) { Walk(visit).node(node); }

void for_each_tensor(proto::SparseTensorProto& tensor, const Visit& visit) { Walk(visit).sparse(tensor); }

void for_each_tensor(proto::TensorProto& tensor, const Visit& visit) { visit(tensor, false); }

}  // namespace taso::onnx
