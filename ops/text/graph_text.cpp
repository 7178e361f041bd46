#include "ops/text/graph_text.h"

#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "ops/text/literal.h"
#include "ops/text/operator_text.h"
#include "ops/text/spelling.h"

namespace taso::ops {
namespace {

// --- Printing ---

std::string name_text(std::string_view name) {
  return is_plain_name(name) && name != "_" ? std::string(name) : quoted(name);
}

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "true" : "false";
  else if constexpr (std::is_integral_v<T>)
    return std::to_string(value);
  else if constexpr (std::is_same_v<T, double>)
    return text_of_number(value);
  else
    return text_of_number(static_cast<float>(value));
}

// " = [1, 2]", or nothing if there is no data or too much of it.
std::string data_text(const Constant& constant) {
  if (!constant.weight || !constant.type.shape || size_of(constant.type.element) == 0) return "";
  const auto extents = static_extents(*constant.type.shape);
  if (!extents || count(*extents) > largest_printed_constant) return "";
  const Array array = constant.weight->load();
  check(array.type() == constant.type.element && array.extents() == *extents, "a constant's data has its type");
  std::string text = " = [";
  with_element_type(array.type(), [&](auto tag) {
    const auto values = array.values<decltype(tag)>();
    for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + element_text(values[i]);
  });
  return text + "]";
}

class Printer {
 public:
  explicit Printer(const Graph& graph) : graph_(graph), nodes_(graph.nodes()) {}

  std::string print() {
    for (const Value& value : graph_.inputs) {
      const Input* input = value ? value.node->as_input() : nullptr;
      check(input != nullptr, "a graph's inputs are inputs");
      declare(value, input->name);
      text_ += fmt::format("  input {}: {}\n", name_text(input->name), text_of(input->type));
    }
    for (const Node* node : nodes_)
      if (const Constant* constant = node->as_constant()) {
        declare(node->output(), constant->name);
        text_ += fmt::format("  constant {}: {}{}\n", name_text(constant->name), text_of(constant->type),
                             data_text(*constant));
      }
    for (const Node* node : nodes_)
      if (node->as_operator() || node->as_opaque()) statement(*node);
    text_ += "  output";
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      text_ += (i ? ", " : " ") + name_of_value(graph_.outputs[i]);
    return text_ + "\n";
  }

 private:
  void declare(const Value& value, const std::string& name) {
    check(taken_.insert(name).second, "inputs and constants have distinct names");
    names_.emplace(value, name_text(name));
  }

  std::string name_of_value(const Value& value) const {
    if (!value) return "_";
    const auto found = names_.find(value);
    check(found != names_.end(), "a graph lists all of its inputs");
    return found->second;
  }

  void statement(const Node& node) {
    text_ += "  ";
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      std::string name;
      do name = fmt::format("t{}", next_++);
      while (taken_.contains(name));
      text_ += (i ? ", " : "") + name;
      names_.emplace(node.output(i), std::move(name));
    }
    const Opaque* opaque = node.as_opaque();
    text_ += " = " + (opaque ? "opaque " + ops::quoted(opaque->kind) : text_of(*node.as_operator())) + "(";
    for (std::size_t i = 0; i < node.inputs().size(); ++i) text_ += (i ? ", " : "") + name_of_value(node.inputs()[i]);
    text_ += ")";
    if (opaque)
      for (std::size_t i = 0; i < node.outputs().size(); ++i) text_ += (i ? ", " : " -> ") + text_of(node.outputs()[i]);
    text_ += "\n";
  }

  const Graph& graph_;
  std::vector<const Node*> nodes_;
  std::unordered_map<Value, std::string, HashValue> names_;
  std::unordered_set<std::string> taken_;
  std::size_t next_ = 0;
  std::string text_ = "graph\n";
};

// --- Parsing ---

/// The data of a constant that is given in the text.
class LiteralWeight : public Weight {
 public:
  explicit LiteralWeight(Array array) : array_(std::move(array)) {}
  Array load() const override { return array_; }

 private:
  Array array_;
};

template <class T>
T parse_element(Lexer& lexer) {
  if constexpr (std::is_same_v<T, bool>)
    return parse_bool(lexer);
  else if constexpr (std::is_unsigned_v<T>)
    return static_cast<T>(parse_unsigned(lexer, std::numeric_limits<T>::max()));
  else if constexpr (std::is_integral_v<T>)
    return static_cast<T>(parse_integer(lexer, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  else if constexpr (std::is_same_v<T, double>)
    return parse_double(lexer);
  else
    return T(parse_float(lexer));
}

Array parse_data(Lexer& lexer, const Type& type) {
  const Token begin = lexer.expect("[", "before the data");
  const auto extents = type.shape ? static_extents(*type.shape) : std::nullopt;
  if (!extents || size_of(type.element) == 0)
    lexer.fail(begin.range(), fmt::format("data needs a type whose dimensions are numbers, not {}", text_of(type)));
  return with_element_type(type.element, [&](auto tag) {
    using T = decltype(tag);
    std::vector<T> values;  // grows with the text; the shape may promise any size
    if (!lexer.peek().is("]")) do
        values.push_back(parse_element<T>(lexer));
      while (lexer.accept(","));
    const Token end = lexer.expect("]", "after the data");
    std::int64_t size = 0;
    try {
      size = count(*extents);
    } catch (const ShapeError& error) {
      lexer.fail(begin.range(), error.what());
    }
    if (static_cast<std::int64_t>(values.size()) != size)
      lexer.fail({begin.offset, end.range().end},
                 fmt::format("{} elements for {}, which has {}", values.size(), text_of(type), size));
    Array array(type.element, *extents);
    std::copy(values.begin(), values.end(), array.mutable_values<T>().begin());
    return array;
  });
}

class GraphParser {
 public:
  explicit GraphParser(Lexer& lexer) : lexer_(lexer) { graph_.pool = std::make_shared<Pool>(); }

  Graph parse() {
    lexer_.skip_empty_lines();
    if (!lexer_.accept_word("graph")) lexer_.fail_expected("'graph'");
    lexer_.end_line("after 'graph'");
    while (!lexer_.accept_word("output")) {
      if (lexer_.peek().kind == Token::Kind::end || lexer_.peek().is_word("graph"))
        lexer_.fail_expected("'output' and the graph's outputs");
      statement();
    }
    if (!lexer_.at_line_end()) do
        graph_.outputs.push_back(operand("an output"));
      while (lexer_.accept(","));
    lexer_.end_line("after the outputs");
    return std::move(graph_);
  }

 private:
  struct NewName {
    std::string name;
    SourceRange range;
  };

  void statement() {
    if (lexer_.accept_word("input"))
      input();
    else if (lexer_.accept_word("constant"))
      constant();
    else
      definition();
  }

  NewName new_name(std::string_view what) {
    const Token token = lexer_.peek();
    if (token.is_word("_")) lexer_.fail("'_' stands for an operand that is left out; as a name it needs quotes");
    NewName fresh{lexer_.expect_name(what), token.range()};
    if (values_.contains(fresh.name)) redefined(fresh);
    return fresh;
  }

  [[noreturn]] void redefined(const NewName& name) {
    const auto first = places_.find(name.name);
    const std::size_t line = lexer_.source().location(first->second).line;
    lexer_.fail(name.range, fmt::format("'{}' is already defined, in line {}", excerpt(name.name), line));
  }

  void define(const NewName& name, Value value) {
    if (!values_.emplace(name.name, value).second) redefined(name);
    places_.emplace(name.name, name.range.begin);
  }

  void input() {
    const NewName name = new_name("the name of the input");
    lexer_.expect(":", "and a type after the name of the input");
    const Value value = graph_.pool->input(name.name, parse_type(lexer_));
    lexer_.end_line("after the input");
    graph_.inputs.push_back(value);
    define(name, value);
  }

  void constant() {
    const NewName name = new_name("the name of the constant");
    lexer_.expect(":", "and a type after the name of the constant");
    Type type = parse_type(lexer_);
    std::shared_ptr<const Weight> weight;
    if (lexer_.accept("=")) weight = std::make_shared<LiteralWeight>(parse_data(lexer_, type));
    lexer_.end_line("after the constant");
    define(name, graph_.pool->constant(name.name, std::move(type), std::move(weight)));
  }

  void definition() {
    if (!lexer_.at_name()) lexer_.fail_expected("'input', 'constant', 'output' or the name of a new value");
    std::vector<NewName> names;
    do names.push_back(new_name("the name of a new value"));
    while (lexer_.accept(","));
    if (!lexer_.peek().is("=")) misspelt_keyword(names[0]);
    lexer_.expect("=", "after the names of the new values");
    const Node& node = lexer_.peek().is_word("opaque") ? opaque(names) : application(names);
    lexer_.end_line("after the operator");
    for (std::size_t i = 0; i < names.size(); ++i) define(names[i], node.output(i));
  }

  // Report "inptu x: …" as a mistake in the first word, not in the second.
  void misspelt_keyword(const NewName& name) {
    static const std::array<std::string, 4> keywords{"input", "constant", "output", "graph"};
    const std::string guess = did_you_mean(name.name, keywords);
    if (!guess.empty() && lexer_.at_name())
      lexer_.fail(name.range, fmt::format("unknown word '{}'{}", name.name, guess));
  }

  void check_results(const std::vector<NewName>& names, std::size_t results, std::string_view what) {
    if (names.size() != results)
      lexer_.fail({names.front().range.begin, names.back().range.end},
                  fmt::format("{} has {} result{}, not {}", what, results, results == 1 ? "" : "s", names.size()));
  }

  const Node& application(const std::vector<NewName>& names) {
    const std::size_t begin = lexer_.peek().offset;
    const Operator op = parse_operator(lexer_);
    const std::size_t operands_begin = lexer_.peek().offset;
    const std::vector<Value> inputs = operands();
    const std::size_t end = lexer_.last_end();
    for (const Value& value : inputs)
      if (!value) lexer_.fail({operands_begin, end}, "only opaque nodes leave operands out");
    if (inputs.size() < min_inputs(op) || inputs.size() > max_inputs(op)) {
      const std::string range = min_inputs(op) == max_inputs(op)
                                    ? std::to_string(min_inputs(op))
                                    : fmt::format("{} to {}", min_inputs(op), max_inputs(op));
      lexer_.fail({operands_begin, end}, fmt::format("{} takes {} operand{}, not {}", name_of(op), range,
                                                     max_inputs(op) == 1 ? "" : "s", inputs.size()));
    }
    check_results(names, outputs_of(op), name_of(op));
    try {
      return graph_.pool->add(op, inputs);
    } catch (const ShapeError& error) {
      lexer_.fail({begin, end}, error.what());
    }
  }

  const Node& opaque(const std::vector<NewName>& names) {
    lexer_.next();
    Opaque opaque;
    opaque.kind = lexer_.expect_string("the operator's name in quotes after 'opaque'");
    const std::vector<Value> inputs = operands();
    lexer_.expect("->", "and the types of the results after an opaque node");
    do opaque.outputs.push_back(parse_type(lexer_));
    while (lexer_.accept(","));
    check_results(names, opaque.outputs.size(), "this node");
    return graph_.pool->add_opaque(std::move(opaque), inputs);
  }

  std::vector<Value> operands() {
    std::vector<Value> values;
    lexer_.expect("(", "before the operands");
    if (lexer_.accept(")")) return values;
    do {
      if (lexer_.accept_word("_"))
        values.emplace_back();
      else
        values.push_back(operand("an operand"));
    } while (lexer_.accept(","));
    lexer_.expect(")", "after the operands");
    return values;
  }

  Value operand(std::string_view what) {
    const Token token = lexer_.peek();
    if (token.is_word("_")) lexer_.fail("'_' is not a value; a value of that name needs quotes");
    const std::string name = lexer_.expect_name(what);
    const auto found = values_.find(name);
    if (found == values_.end()) {
      std::vector<std::string> names;
      for (const auto& entry : values_) names.push_back(entry.first);
      lexer_.fail(token.range(), fmt::format("unknown value '{}'{}", excerpt(name), did_you_mean(name, names)));
    }
    return found->second;
  }

  Lexer& lexer_;
  Graph graph_;
  std::map<std::string, Value> values_;  // sorted, so that suggestions are the same in every run
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace

std::string text_of(const Graph& graph) { return Printer(graph).print(); }

std::vector<Graph> parse_graphs(const Source& source) {
  Lexer lexer(source);
  std::vector<Graph> graphs;
  do graphs.push_back(GraphParser(lexer).parse());
  while (lexer.peek().kind != Token::Kind::end);
  return graphs;
}

Graph parse_graph(const Source& source) {
  Lexer lexer(source);
  Graph graph = GraphParser(lexer).parse();
  if (lexer.peek().kind != Token::Kind::end) lexer.fail_expected("the end of the text after the graph");
  return graph;
}

Graph parse_graph(std::string_view text) { return parse_graph(Source("<text>", std::string(text))); }

}  // namespace taso::ops
