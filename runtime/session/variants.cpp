#include "runtime/session/variants.h"

#include <algorithm>
#include <deque>
#include <unordered_set>

#include "onnx/import/import.h"
#include "onnx/model/proto.h"
#include "runtime/session/run_form.h"

namespace taso::runtime {

Port port_of(const proto::ValueInfoProto& declared, Type type) {
  Port port{declared.name(), std::move(type)};
  const auto& dims = declared.type().tensor_type().shape().dim();
  const Shape shape = port.type.shape.value_or(Shape());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    port.dimensions.push_back(onnx::dimension_text(shape[i]));
    // Of an output: what inference found tells more than the name that it is declared with.
    if (!shape[i].is_static() && port.dimensions.back().empty() && static_cast<int>(i) < dims.size())
      port.dimensions.back() = dims.Get(static_cast<int>(i)).dim_param();
  }
  return port;
}

Signature::Signature(onnx::Model& model) : inputs_(std::make_unique<proto::GraphProto>()) {
  const proto::GraphProto& graph = model.proto().graph();
  const bool are_constants = model.proto().ir_version() < 4;
  std::unordered_set<std::string> initialized;
  for (const auto& tensor : graph.initializer()) initialized.insert(tensor.name());
  proto::GraphProto required;
  for (const auto& input : graph.input()) {
    const bool is_initialized = initialized.contains(input.name());
    if (!is_initialized) *required.add_input() = input;
    if (is_initialized && are_constants) continue;
    ports_.push_back(port_of(input, onnx::declared_type(input)));
    ports_.back().is_optional = is_initialized;
    *inputs_->add_input() = input;
  }
  if (has_defaults()) model.mutable_proto().mutable_graph()->mutable_input()->Swap(required.mutable_input());
}

Signature::~Signature() = default;

const proto::ValueInfoProto& Signature::declaration(std::size_t port) const {
  return inputs_->input(static_cast<int>(port));
}

bool Signature::has_defaults() const {
  return std::any_of(ports_.begin(), ports_.end(), [](const Port& port) { return port.is_optional; });
}

onnx::Model Signature::whole(const onnx::Model& model) const {
  onnx::Model copy = model.copy();
  if (has_defaults()) *copy.mutable_proto().mutable_graph()->mutable_input() = inputs_->input();
  return copy;
}

std::shared_ptr<const Graph> Variants::find(const onnx::Model& model, const Unusual& unusual) {
  return made_.find(unusual, [&] { return std::make_shared<const Graph>(make(model, unusual)); });
}

namespace {

/// A model that was changed for some sizes, and its graph, which refers to its weights.
struct SizedCopy {
  explicit SizedCopy(onnx::Model copy) : model(std::move(copy)) {}
  onnx::Model model;
  std::unique_ptr<onnx::GraphEdit> edit;
  Graph graph;
};

}  // namespace

std::shared_ptr<const Graph> Variants::with_sizes(const onnx::Model& model, const Sizes& sizes) const {
  const auto made = std::make_shared<SizedCopy>(model.copy());
  for (auto& input : *made->model.mutable_proto().mutable_graph()->mutable_input()) {
    const auto port = std::find_if(signature_.ports().begin(), signature_.ports().end(),
                                   [&](const Port& one) { return one.name == input.name(); });
    if (port == signature_.ports().end() || !port->type.shape) continue;
    auto& dims = *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
    for (std::size_t axis = 0; axis < port->type.shape->size(); ++axis) {
      const Dim& dim = (*port->type.shape)[axis];
      if (dim.is_static()) continue;
      if (const auto size = sizes.find(dim.symbols().front()); size != sizes.end())
        dims.Mutable(static_cast<int>(axis))->set_dim_value(size->second);
    }
  }
  made->edit = std::make_unique<onnx::GraphEdit>(made->model);
  bring_into_run_form(*made->edit);
  made->graph = made->edit->imported()->graph;
  return {made, &made->graph};
}

Graph Variants::make(const onnx::Model& model, const Unusual& unusual) const {
  onnx::ModelView view = onnx::view_of(model);
  view.inputs.clear();
  std::deque<proto::ValueInfoProto> changed;
  for (std::size_t i = 0; i < signature_.ports().size(); ++i) {
    const Port& port = signature_.ports()[i];
    if (port.is_optional && !unusual.given.contains(port.name)) continue;
    changed.push_back(signature_.declaration(i));
    auto& dims = *changed.back().mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim();
    const Shape shape = port.type.shape.value_or(Shape());
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (!shape[axis].is_static() && unusual.empty.contains(shape[axis].symbols().front()))
        dims.Mutable(static_cast<int>(axis))->set_dim_value(0);
    view.inputs.push_back(&changed.back());
  }
  return std::move(onnx::import_model(view).graph);
}

}  // namespace taso::runtime
