// operator_coverage [--json] FILE: what becomes of each operator in FILE (operators.txt): modelled by an operator that
// rules know, run by a kernel of ours on a GPU, or left to the host. Every example is a model of one node, for which
// the plan is asked.
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cost/plan/plan.h"
#include "cost/pricing/call.h"
#include "cost/pricing/roofline.h"
#include "onnx/export/edit.h"
#include "onnx/import/import.h"
#include "onnx/import/node_body.h"
#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"

using namespace taso;

namespace {

constexpr std::int64_t opset = 23;

struct Example {
  char type = 'f';
  std::string op_type, operands, attributes;
  int results = 1;
};

int data_type(char type) {
  using Tensor = proto::TensorProto;
  static const std::map<char, int> types{{'f', Tensor::FLOAT}, {'h', Tensor::FLOAT16}, {'d', Tensor::DOUBLE},
                                         {'i', Tensor::INT64}, {'w', Tensor::INT32},   {'c', Tensor::INT8},
                                         {'u', Tensor::UINT8}, {'b', Tensor::BOOL}};
  return types.at(type);
}

std::vector<std::string> parts_of(const std::string& text, char between) {
  std::vector<std::string> parts;
  int depth = 0;
  for (const char c : text) {
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') --depth;
    if (depth == 0 && c == between) {
      if (!parts.empty() && parts.back().empty()) parts.pop_back();
      parts.emplace_back();
    } else if (c != ' ' || !(parts.empty() || parts.back().empty())) {
      if (parts.empty()) parts.emplace_back();
      parts.back() += c;
    }
  }
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

std::vector<double> numbers_of(const std::string& list) {
  std::vector<double> numbers;
  for (const std::string& part : parts_of(list, ',')) numbers.push_back(std::stod(part));
  return numbers;
}

void add_constant(proto::GraphProto& graph, const std::string& name, int type, const std::vector<double>& numbers,
                  bool is_vector) {
  proto::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  if (is_vector) tensor.add_dims(static_cast<std::int64_t>(numbers.size()));
  for (const double number : numbers) {
    if (type == proto::TensorProto::FLOAT)
      tensor.add_float_data(static_cast<float>(number));
    else if (type == proto::TensorProto::INT64)
      tensor.add_int64_data(static_cast<std::int64_t>(number));
    else
      tensor.add_int32_data(static_cast<std::int32_t>(number));
  }
}

void add_operand(proto::GraphProto& graph, proto::NodeProto& node, std::string text, char type) {
  if (text == "-") return node.add_input("");
  if (text[0] == 't') text[0] = type;
  const std::string name = fmt::format("x{}", node.input_size()), inside = text.substr(2, text.size() - 3);
  node.add_input(name);
  if (text[1] != '[') return add_constant(graph, name, data_type(text[0]), numbers_of(inside), text[1] == '{');
  proto::ValueInfoProto& input = *graph.add_input();
  input.set_name(name);
  auto& tensor = *input.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(data_type(text[0]));
  tensor.mutable_shape();
  for (const double extent : numbers_of(inside))
    tensor.mutable_shape()->add_dim()->set_dim_value(static_cast<std::int64_t>(extent));
}

void add_attribute(proto::NodeProto& node, const std::string& text) {
  const std::size_t equal = text.find('=');
  const std::string value = text.substr(equal + 1);
  proto::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(text.substr(0, equal));
  if (value[0] == '[') {
    attribute.set_type(proto::AttributeProto::INTS);
    for (const double number : numbers_of(value.substr(1, value.size() - 2)))
      attribute.add_ints(static_cast<std::int64_t>(number));
  } else if (value.find_first_not_of("-0123456789") == std::string::npos) {
    attribute.set_type(proto::AttributeProto::INT);
    attribute.set_i(std::stoll(value));
  } else if (value.find_first_not_of("-.0123456789") == std::string::npos) {
    attribute.set_type(proto::AttributeProto::FLOAT);
    attribute.set_f(std::stof(value));
  } else {
    attribute.set_type(proto::AttributeProto::STRING);
    attribute.set_s(value);
  }
}

proto::ModelProto model_of(const Example& example) {
  proto::ModelProto model;
  model.set_ir_version(8);
  proto::OperatorSetIdProto& version = *model.add_opset_import();
  version.set_domain("");
  version.set_version(opset);
  proto::GraphProto& graph = *model.mutable_graph();
  graph.set_name("example");
  proto::NodeProto& node = *graph.add_node();
  node.set_op_type(example.op_type);
  for (const std::string& operand : parts_of(example.operands, ',')) add_operand(graph, node, operand, example.type);
  for (const std::string& attribute : parts_of(example.attributes, ' ')) add_attribute(node, attribute);
  for (int i = 0; i < example.results; ++i) {
    node.add_output(fmt::format("y{}", i));
    graph.add_output()->set_name(node.output(i));
  }
  return model;
}

/// From the best to the worst.
enum class Place { modelled, gpu, host, nowhere };
constexpr std::string_view names[] = {"modelled", "GPU", "host", "not run"};

Place place_of(const Example& example) {
  taso::onnx::Model model(model_of(example), {});
  taso::onnx::GraphEdit edit(model);
  const auto imported = edit.imported();
  const cost::WholeGraph view(imported->graph);
  Place place = Place::modelled;
  for (const cost::Kernel& kernel : cost::kernels_of(view)) {
    if (kernel.kind != cost::Kernel::Kind::opaque) continue;
    const Opaque* const opaque = view.opaque(kernel.main);
    const bool runs = opaque->body && opaque->body->obstacle().empty();
    place = std::max(place, cost::can_be_called(view, kernel) ? Place::gpu : runs ? Place::host : Place::nowhere);
  }
  return place;
}

/// An operator with the places of its examples.
using Places = std::map<std::string, std::map<Place, std::vector<std::string>>>;

Places read_examples(std::istream& file) {
  Places places;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) {
      places[line][Place::nowhere];
      continue;
    }
    Example example;
    std::string rest = line.substr(colon + 2);
    if (const std::size_t arrow = rest.find(" -> "); arrow != std::string::npos) {
      example.results = std::stoi(rest.substr(arrow + 4));
      rest.resize(arrow);
    }
    const std::size_t open = rest.find('(');
    std::size_t close = open;
    for (int depth = 0; close < rest.size(); ++close) {
      depth += rest[close] == '(' ? 1 : rest[close] == ')' ? -1 : 0;
      if (depth == 0) break;
    }
    example.op_type = rest.substr(0, open);
    example.operands = rest.substr(open + 1, close - open - 1);
    example.attributes = rest.substr(close + 1);
    for (const char type : line.substr(0, colon)) {
      if (type == ' ') continue;
      example.type = type;
      try {
        places[example.op_type][place_of(example)].emplace_back(fmt::format("{}{}", type, example.attributes));
      } catch (const InputError& error) {
        throw InputError(fmt::format("{}: {}", line, error.what()));
      }
    }
  }
  return places;
}

/// An operator counts where its worst example is.
Place worst_of(const std::map<Place, std::vector<std::string>>& places) { return places.rbegin()->first; }

void print_table(const Places& places) {
  for (const auto& [name, found] : places) {
    fmt::print("{:28} {:9}", name, names[static_cast<std::size_t>(worst_of(found))]);
    if (found.size() > 1)
      for (const auto& [place, examples] : found)
        fmt::print("  {}: {}", names[static_cast<std::size_t>(place)], fmt::join(examples, ", "));
    fmt::print("\n");
  }
}

void print_json(const Places& places, const std::map<Place, std::size_t>& totals) {
  fmt::print("{{\"opset\": {}, \"totals\": {{", opset);
  for (std::size_t i = 0; i < std::size(names); ++i)
    fmt::print("{}\"{}\": {}", i == 0 ? "" : ", ", names[i],
               totals.contains(Place{static_cast<int>(i)}) ? totals.at(Place{static_cast<int>(i)}) : 0);
  fmt::print("}}, \"operators\": {{");
  bool is_first = true;
  for (const auto& [name, found] : places) {
    fmt::print("{}\"{}\": \"{}\"", is_first ? "" : ", ", name, names[static_cast<std::size_t>(worst_of(found))]);
    is_first = false;
  }
  fmt::print("}}}}\n");
}

}  // namespace

int main(int argc, char** argv) {
  const bool json = argc > 1 && std::string_view(argv[1]) == "--json";
  if (argc != (json ? 3 : 2)) {
    fmt::print(stderr, "operator_coverage [--json] FILE\n");
    return 2;
  }
  std::ifstream file(argv[argc - 1]);
  if (!file) {
    fmt::print(stderr, "operator_coverage: cannot read {}\n", argv[argc - 1]);
    return 3;
  }
  try {
    const Places places = read_examples(file);
    std::map<Place, std::size_t> totals;
    for (const auto& [name, found] : places) ++totals[worst_of(found)];
    if (json) {
      print_json(places, totals);
      return 0;
    }
    print_table(places);
    fmt::print("{} operators:", places.size());
    for (const auto& [place, count] : totals) fmt::print("  {} {}", count, names[static_cast<std::size_t>(place)]);
    fmt::print("\n");
  } catch (const InputError& error) {
    fmt::print(stderr, "operator_coverage: {}\n", error.what());
    return 3;
  }
  return 0;
}
