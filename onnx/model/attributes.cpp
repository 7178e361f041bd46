#include "onnx/model/attributes.h"

#include <algorithm>

#include "onnx/model/model.h"
#include "onnx/model/proto.h"

namespace taso::onnx {

runtime::Attributes read_attributes(const proto::NodeProto& node, const std::filesystem::path& folder) {
  using proto::AttributeProto;
  runtime::Attributes attributes;
  for (const AttributeProto& attribute : node.attribute()) {
    const std::string& name = attribute.name();
    switch (attribute.type()) {
      case AttributeProto::INT: attributes.set(name, attribute.i()); break;
      case AttributeProto::FLOAT: attributes.set(name, static_cast<double>(attribute.f())); break;
      case AttributeProto::STRING: attributes.set(name, attribute.s()); break;
      case AttributeProto::INTS:
        attributes.set(name, std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end()));
        break;
      case AttributeProto::FLOATS:
        attributes.set(name, std::vector<double>(attribute.floats().begin(), attribute.floats().end()));
        break;
      case AttributeProto::STRINGS:
        attributes.set(name, std::vector<std::string>(attribute.strings().begin(), attribute.strings().end()));
        break;
      case AttributeProto::TENSOR: try { attributes.set(name, read_tensor(attribute.t(), folder));
        } catch (const InputError&) {
          // A tensor that we cannot represent is missing from the attributes.
        }
        break;
      default: break;
    }
  }
  return attributes;
}

bool has_subgraph(const proto::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const proto::AttributeProto& a) { return a.has_g() || a.graphs_size() > 0; });
}

std::string attribute_bytes(const proto::NodeProto& node) {
  std::vector<std::string> parts;
  for (const proto::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_doc_string()) {
      proto::AttributeProto bare = attribute;
      bare.clear_doc_string();
      parts.push_back(bare.SerializeAsString());
    } else {
      parts.push_back(attribute.SerializeAsString());
    }
  }
  std::sort(parts.begin(), parts.end());
  std::string bytes;
  for (const std::string& part : parts) {
    bytes += std::to_string(part.size());
    bytes += ':';
    bytes += part;
  }
  return bytes;
}

}  // namespace taso::onnx
