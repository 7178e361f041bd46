#include "onnx/import/foreign_text.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/import/view.h"
#include "onnx/model/attributes.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_content.h"
#include "ops/support/sha256.h"
#include "ops/text/characters.h"

namespace taso::onnx {
namespace {

/// Longer lists are told by a hash.
constexpr int longest_list = 16;

std::string hash_of_bytes(const std::string& bytes) {
  Sha256 hash;
  hash.add(bytes);
  return "#" + hash.digest().substr(0, 16);
}

std::string text_of(const proto::AttributeProto& attribute, const std::filesystem::path& folder) {
  using Attribute = proto::AttributeProto;
  switch (attribute.type()) {
    case Attribute::INT: return fmt::format("{}", attribute.i());
    case Attribute::FLOAT: return fmt::format("{}", attribute.f());
    case Attribute::STRING:
      if (attribute.s().size() <= 32) return fmt::format("\"{}\"", on_one_line(attribute.s()));
      break;
    case Attribute::INTS:
      if (attribute.ints_size() <= longest_list) return fmt::format("[{}]", fmt::join(attribute.ints(), ","));
      break;
    case Attribute::FLOATS:
      if (attribute.floats_size() <= longest_list) return fmt::format("[{}]", fmt::join(attribute.floats(), ","));
      break;
    default: break;
  }
  proto::NodeProto alone;
  *alone.add_attribute() = attribute;
  return hash_of_bytes(attribute_bytes(content_of(alone, folder)));
}

std::string text_of(const Array& constant) {
  const std::vector<std::int64_t> numbers = constant.integers();
  if (numbers.size() <= longest_list) return fmt::format("[{}]", fmt::join(numbers, ","));
  return hash_of_bytes(fmt::format("{}", fmt::join(numbers, ",")));
}

}  // namespace

std::string text_of_foreign(const proto::NodeProto& node, std::int64_t opset, const std::filesystem::path& folder,
                            const Constants& constants) {
  if (opset == 0 || has_subgraph(node)) return "";
  const std::string domain = is_default_domain(node.domain()) ? "" : on_one_line(node.domain()) + ".";
  std::vector<std::string> parts;
  for (const auto& attribute : node.attribute())
    parts.push_back(fmt::format("{}={}", on_one_line(attribute.name()), text_of(attribute, folder)));
  std::sort(parts.begin(), parts.end());
  for (std::size_t i = 0; i < constants.size(); ++i)
    if (constants[i] && (constants[i]->type() == ElementType::int64 || constants[i]->type() == ElementType::int32))
      parts.push_back(fmt::format("{}:{}", i, text_of(*constants[i])));
  const std::string list = parts.empty() ? "" : fmt::format("{{{}}}", fmt::join(parts, ", "));
  return fmt::format("{}{} opset {}{}", domain, on_one_line(node.op_type()), opset, list);
}

}  // namespace taso::onnx
