#include "cli/opt/input_shape.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "onnx/import/import.h"
#include "onnx/model/model_names.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/support/npy.h"

namespace taso::cli {
namespace {

using ShapeProto = proto::TensorShapeProto;

std::string quoted(const std::vector<std::string>& names) {
  std::vector<std::string> shown;
  for (const auto& name : names) shown.push_back(onnx::in_quotes(name));
  return fmt::format("{}", fmt::join(shown, ", "));
}

/// The input that an option's entry refers to.
std::string input_named(const std::optional<std::string>& name, const std::vector<std::string>& inputs,
                        std::string_view what) {
  if (!name) {
    if (inputs.size() == 1) return inputs.front();
    throw UsageError(fmt::format("{} without a name needs a model with one input; this one has {}", what,
                                 inputs.empty() ? "none" : quoted(inputs)));
  }
  if (std::find(inputs.begin(), inputs.end(), *name) != inputs.end()) return *name;
  throw UsageError(fmt::format("the model has no input {}; it has {}", onnx::in_quotes(*name),
                               inputs.empty() ? "none" : quoted(inputs)));
}

const proto::ValueInfoProto& declaration_of(const proto::ModelProto& model, const std::string& name) {
  for (const auto& input : model.graph().input())
    if (input.name() == name) return input;
  throw InternalError("an input is declared");
}

/// Some exporters write an unknown dimension as a negative number.
bool is_number(const ShapeProto::Dimension& dim) { return dim.has_dim_value() && dim.dim_value() >= 0; }

bool fits(const Extents& extents, const ShapeProto& declared) {
  if (extents.size() != static_cast<std::size_t>(declared.dim_size())) return false;
  for (int i = 0; i < declared.dim_size(); ++i)
    if (is_number(declared.dim(i)) && declared.dim(i).dim_value() != extents[static_cast<std::size_t>(i)]) return false;
  return true;
}

std::map<std::string, Extents> shapes_by_input(const proto::ModelProto& model, std::span<const InputShape> shapes,
                                               bool batch_may_change) {
  const std::vector<std::string> inputs = real_inputs(model);
  std::map<std::string, Extents> by_input;
  for (const InputShape& shape : shapes) {
    const std::string name = input_named(shape.input, inputs, "a shape");
    if (!by_input.emplace(name, shape.extents).second)
      throw UsageError(fmt::format("the input {} is given two shapes", onnx::in_quotes(name)));
    const auto& declared = declaration_of(model, name).type();
    if (!declared.has_tensor_type())
      throw UsageError(fmt::format("the input {} is not a tensor and has no shape", onnx::in_quotes(name)));
    if (!declared.tensor_type().has_shape()) continue;
    const ShapeProto& dims = declared.tensor_type().shape();
    if (static_cast<std::size_t>(dims.dim_size()) != shape.extents.size())
      throw UsageError(fmt::format("the input {} has {} dimensions, not {}", onnx::in_quotes(name), dims.dim_size(),
                                   shape.extents.size()));
    for (int i = 0; i < dims.dim_size(); ++i) {
      const std::int64_t wanted = shape.extents[static_cast<std::size_t>(i)];
      if (!is_number(dims.dim(i)) || dims.dim(i).dim_value() == wanted || (i == 0 && batch_may_change)) continue;
      throw UsageError(fmt::format("dimension {} of the input {} is {} and cannot be {}{}", i, onnx::in_quotes(name),
                                   dims.dim(i).dim_value(), wanted,
                                   i == 0 ? " (--overwrite-input-shape changes a batch)" : ""));
    }
  }
  return by_input;
}

/// Calls `visit` for every declaration of a type, in the main graph and its subgraphs.
void for_each_declaration(proto::GraphProto& graph, const std::function<void(proto::ValueInfoProto&)>& visit) {
  for (auto& input : *graph.mutable_input()) visit(input);
  for (auto& output : *graph.mutable_output()) visit(output);
  for (auto& value : *graph.mutable_value_info()) visit(value);
  for (auto& node : *graph.mutable_node())
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) for_each_declaration(*attribute.mutable_g(), visit);
      for (auto& inner : *attribute.mutable_graphs()) for_each_declaration(inner, visit);
    }
}

ShapeProto* shape_in(proto::ValueInfoProto& value) {
  auto* type = value.mutable_type();
  if (!type->has_tensor_type() || !type->tensor_type().has_shape()) return nullptr;
  return type->mutable_tensor_type()->mutable_shape();
}

/// Computed shapes that the model declares may be wrong now; a wrong one is worse than none.
void forget_computed_shapes(proto::GraphProto& graph) {
  std::unordered_set<const proto::ValueInfoProto*> kept;
  for (const auto& input : graph.input()) kept.insert(&input);
  for (const auto& output : graph.output()) kept.insert(&output);
  for_each_declaration(graph, [&](proto::ValueInfoProto& value) {
    if (!kept.contains(&value) && value.type().has_tensor_type())
      value.mutable_type()->mutable_tensor_type()->clear_shape();
  });
  // Outputs keep their rank, which the batch does not change.
  for (auto& output : *graph.mutable_output())
    if (ShapeProto* shape = shape_in(output))
      for (auto& dim : *shape->mutable_dim()) dim.clear_dim_value();
}

void infer_outputs(onnx::Model& model) {
  const onnx::ImportedModel imported = onnx::import_model(onnx::view_of(model));
  require_matching_reshapes(imported.graph);
  for (auto& output : *model.mutable_proto().mutable_graph()->mutable_output()) {
    ShapeProto* shape = shape_in(output);
    const auto value = imported.values.find(output.name());
    if (shape == nullptr || value == imported.values.end() || !value->second.type().shape) continue;
    const Shape& inferred = value->second.shape();
    if (inferred.size() != static_cast<std::size_t>(shape->dim_size())) continue;
    for (int i = 0; i < shape->dim_size(); ++i) {
      auto& dim = *shape->mutable_dim(i);
      const auto known = inferred[static_cast<std::size_t>(i)].known();
      if (known && !dim.has_dim_param()) dim.set_dim_value(*known);
    }
  }
}

}  // namespace

InputShape parse_input_shape(const std::string& text) {
  InputShape shape;
  const std::size_t colon = text.rfind(':');
  std::string_view numbers = text;
  if (colon != std::string::npos) {
    shape.input = text.substr(0, colon);
    numbers.remove_prefix(colon + 1);
  }
  const char separator = numbers.find('x') != std::string_view::npos ? 'x' : ',';
  const auto fail = [&]() -> UsageError {
    return UsageError(
        fmt::format("'{}' is not a shape: write name:1,3,224,224 or name:1x3x224x224, all dimensions 1 or more", text));
  };
  if (shape.input && shape.input->empty()) throw fail();
  const char* at = numbers.data();
  const char* end = at + numbers.size();
  while (true) {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || value < 1) throw fail();
    shape.extents.push_back(value);
    if (stop == end) break;
    if (*stop != separator) throw fail();
    at = stop + 1;
  }
  try {
    count(shape.extents);
  } catch (const ShapeError&) {
    throw UsageError(fmt::format("'{}' has too many elements", text));
  }
  return shape;
}

std::vector<std::string> real_inputs(const proto::ModelProto& model) {
  std::unordered_set<std::string> given;
  for (const auto& tensor : model.graph().initializer()) given.insert(tensor.name());
  for (const auto& tensor : model.graph().sparse_initializer()) given.insert(tensor.values().name());
  std::vector<std::string> inputs;
  for (const auto& input : model.graph().input())
    if (!given.contains(input.name())) inputs.push_back(input.name());
  return inputs;
}

std::map<std::string, Extents> test_shapes(const proto::ModelProto& model, std::span<const InputShape> shapes) {
  return shapes_by_input(model, shapes, false);
}

void overwrite_input_shapes(onnx::Model& model, std::span<const InputShape> shapes) {
  const auto by_input = shapes_by_input(model.proto(), shapes, true);
  if (by_input.empty()) return;
  auto& graph = *model.mutable_proto().mutable_graph();

  // New sizes of named dimensions; and whether a number changes, in which case names do not show what else changes.
  std::map<std::string, std::int64_t> names;
  bool number_changes = false;
  for (const auto& [name, extents] : by_input) {
    const auto& type = declaration_of(model.proto(), name).type().tensor_type();
    for (int i = 0; i < type.shape().dim_size(); ++i) {
      const auto& dim = type.shape().dim(i);
      const std::int64_t wanted = extents[static_cast<std::size_t>(i)];
      if (is_number(dim)) number_changes |= dim.dim_value() != wanted;
      if (dim.dim_param().empty()) continue;
      const auto [known, is_new] = names.emplace(dim.dim_param(), wanted);
      if (known->second != wanted)
        throw UsageError(fmt::format("the dimension {} would be both {} and {}", onnx::in_quotes(dim.dim_param()),
                                     known->second, wanted));
    }
  }

  for (auto& input : *graph.mutable_input()) {
    const auto wanted = by_input.find(input.name());
    if (wanted == by_input.end()) continue;
    ShapeProto& shape = *input.mutable_type()->mutable_tensor_type()->mutable_shape();
    while (static_cast<std::size_t>(shape.dim_size()) < wanted->second.size()) shape.add_dim();
    for (int i = 0; i < shape.dim_size(); ++i)
      shape.mutable_dim(i)->set_dim_value(wanted->second[static_cast<std::size_t>(i)]);
  }
  for_each_declaration(graph, [&](proto::ValueInfoProto& value) {
    if (ShapeProto* shape = shape_in(value))
      for (auto& dim : *shape->mutable_dim())
        if (const auto known = names.find(dim.dim_param()); dim.has_dim_param() && known != names.end())
          dim.set_dim_value(known->second);
  });
  if (number_changes) forget_computed_shapes(graph);
  infer_outputs(model);
}

void require_matching_reshapes(const Graph& graph) {
  for (const Node* node : graph.nodes()) {
    const Opaque* const opaque = node->as_opaque();
    if (opaque == nullptr || opaque->kind != "Reshape" || node->inputs().empty()) continue;
    const Type &from = node->inputs()[0].type(), &to = node->outputs()[0];
    const auto before = from.shape ? static_extents(*from.shape) : std::nullopt;
    const auto after = to.shape ? static_extents(*to.shape) : std::nullopt;
    if (before && after && count(*before) != count(*after))
      throw InputError(
          fmt::format("Reshape: {} does not have as many elements as {}", ops::text_of(*after), ops::text_of(*before)));
  }
}

std::map<std::string, Array> read_input_data(const proto::ModelProto& model, std::span<const std::string> texts) {
  const std::vector<std::string> inputs = real_inputs(model);
  std::map<std::string, Array> data;
  for (const std::string& text : texts) {
    // Names and files may both contain colons: the longest input name that the text begins with is meant.
    std::optional<std::string> name;
    for (const auto& input : inputs)
      if (text.size() > input.size() && text[input.size()] == ':' && text.compare(0, input.size(), input) == 0 &&
          (!name || name->size() < input.size()))
        name = input;
    const std::string file = name ? text.substr(name->size() + 1) : text;
    if (const std::size_t colon = text.rfind(':');
        !name && colon != std::string::npos && !std::filesystem::exists(text))
      name = text.substr(0, colon);  // not an input; input_named() reports it
    const std::string input = input_named(name, inputs, "input data");
    Array array = read_npy(file);
    const auto& declared = declaration_of(model, input).type().tensor_type();
    const ElementType type = onnx::element_type_from_onnx(declared.elem_type());
    if (array.type() != type)
      throw InputError(fmt::format("{}: holds {}, but the input {} is {}", file, ops::name_of(array.type()),
                                   onnx::in_quotes(input), onnx::data_type_name(declared.elem_type())));
    if (declared.has_shape() && !fits(array.extents(), declared.shape()))
      throw InputError(fmt::format("{}: holds {}, which does not fit the shape of the input {}", file,
                                   ops::text_of(array.extents()), onnx::in_quotes(input)));
    if (!data.emplace(input, std::move(array)).second)
      throw UsageError(fmt::format("the input {} is given two files", onnx::in_quotes(input)));
  }
  return data;
}

}  // namespace taso::cli
