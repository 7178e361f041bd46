#include "tests/cost/recorded_kernel.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cost/functions/device_function.h"
#include "cost/functions/recurrence.h"
#include "cost/plan/movement.h"
#include "ops/core/error.h"
#include "ops/text/operator_text.h"

namespace taso::test {

using namespace cost;

namespace {

constexpr Kernel::Kind kinds[] = {Kernel::Kind::convolution,  Kernel::Kind::matmul,  Kernel::Kind::attention,
                                  Kernel::Kind::element_wise, Kernel::Kind::pooling, Kernel::Kind::rows,
                                  Kernel::Kind::copy};

struct Operand {
  Type type;
  Extents extents;
  bool is_weight = false, is_last = false;
  double bytes() const {
    double product = static_cast<double>(size_of(type.element));
    for (const std::int64_t extent : extents) product *= static_cast<double>(extent);
    return product;
  }
};

/// Our lexer would read "0by[1]" as one unknown word.
std::string apart(std::string text) {
  for (std::size_t at = text.find("by["); at != std::string::npos; at = text.find("by[", at + 4))
    text.insert(at, 1, ' ');
  return text;
}

class Parser {
 public:
  explicit Parser(const std::string& text) : source_("<call>", apart(text)), lexer_(source_) {}

  Kernel parse() {
    kernel_.kind = kind();
    lexer_.expect_name("a precision");
    lexer_.expect(":", "behind the precision");
    while (!lexer_.peek().is("->")) read_.push_back(operand());
    lexer_.next();
    while (!lexer_.peek().is(":")) written_.push_back(operand());
    lexer_.next();
    if (written_.empty()) lexer_.fail("a call that writes nothing");
    if (lexer_.peek().kind == Token::Kind::integer) {
      pieces();
    } else if (lexer_.accept_word("gather")) {
      gather();
    } else if (lexer_.at_name() && std::isupper(static_cast<unsigned char>(lexer_.peek().text[0])) != 0) {
      function();
    } else {
      steps();
    }
    return std::move(kernel_);
  }

 private:
  Kernel::Kind kind() {
    const Token name = lexer_.next_with_dashes();
    for (const Kernel::Kind kind : kinds)
      if (name.text == cost::name_of(kind)) return kind;
    lexer_.fail(name.range(), "no kind of kernel");
  }

  Extents numbers() {
    Extents list;
    lexer_.expect("[", "before numbers");
    while (!lexer_.accept("]")) {
      list.push_back(number());
      lexer_.accept(",");
    }
    return list;
  }
  std::int64_t number() {
    const bool is_negative = lexer_.accept("-");
    const Token token = lexer_.next();
    if (token.kind != Token::Kind::integer) lexer_.fail(token.range(), "expected a number");
    const std::int64_t size = std::stoll(std::string(token.text));
    return is_negative ? -size : size;
  }

  Operand operand() {
    Operand result;
    result.is_weight = lexer_.accept("*");
    const std::string name = lexer_.expect_name("an element type");
    const auto element = element_type_named(name);
    if (!element) lexer_.fail("no element type before this");
    result.extents = numbers();
    result.type.element = *element;
    result.type.shape.emplace();
    for (const std::int64_t extent : result.extents) result.type.shape->push_back(extent);
    if (lexer_.accept_word("last")) {
      result.is_last = true;
    } else if (lexer_.accept_word("by")) {
      const Extents strides = numbers();
      result.is_last = strides.size() == 4 && strides[1] == 1 && strides[3] != 1;
    }
    return result;
  }

  /// Counts only moved elements; what is moved twice is read once.
  void pieces() {
    kernel_.element = written_[0].type.element;
    std::vector<double> taken(read_.size());
    while (lexer_.peek().kind == Token::Kind::integer) {
      const auto from = static_cast<std::size_t>(number());
      lexer_.expect("+", "before an offset");
      number();
      double elements = 1;
      for (const std::int64_t extent : numbers()) elements *= static_cast<double>(extent);
      lexer_.expect_name("by");
      numbers();
      lexer_.expect_name("to");
      const Operand& to = written_.at(static_cast<std::size_t>(number()));
      lexer_.expect("+", "before an offset");
      number();
      if (lexer_.peek().is("[")) numbers();
      lexer_.expect_name("by");
      numbers();
      taken.at(from) += elements * static_cast<double>(size_of(read_[from].type.element));
      kernel_.bytes += elements * static_cast<double>(size_of(to.type.element));
    }
    for (std::size_t i = 0; i < read_.size(); ++i)
      (read_[i].is_weight ? kernel_.weight_bytes : kernel_.bytes) += std::min(taken[i], read_[i].bytes());
  }

  void gather() {
    kernel_.element = written_[0].type.element;
    for (const Operand& operand : read_)
      (operand.is_weight ? kernel_.weight_bytes : kernel_.bytes) += std::min(operand.bytes(), written_[0].bytes());
    kernel_.bytes += written_[0].bytes();
  }

  void function() {
    DeviceFunction function{.name = std::string(lexer_.next().text)};
    function.family = family_of(function.name);
    if (lexer_.peek().is("[")) function.integers = numbers();
    kernel_.element = written_[0].type.element;
    double most = 0;
    for (const Operand& operand : read_) {
      const double all = operand.bytes();
      (operand.is_weight ? kernel_.weight_bytes : kernel_.bytes) +=
          only_takes_parts(function) ? std::min(all, written_[0].bytes()) : all;
      if (!counts_results(function)) most = std::max(most, all / static_cast<double>(size_of(operand.type.element)));
    }
    for (const Operand& operand : written_) {
      kernel_.bytes += operand.bytes();
      most = std::max(most, operand.bytes() / static_cast<double>(size_of(operand.type.element)));
    }
    const double each = operations_of(function, read_.size());
    kernel_.chain = is_recurrence(function) ? chain_of_recurrence(function) : chain_of(each);
    kernel_.operations = each * most;
  }

  void steps() {
    Graph graph;
    graph.pool = std::make_shared<Pool>();
    std::vector<Value> values;
    bool is_last = false;
    for (const Operand& operand : read_) {
      is_last |= operand.is_last;
      const std::string name = std::to_string(values.size());
      values.push_back(operand.is_weight ? graph.pool->constant(name, operand.type)
                                         : graph.pool->input(name, operand.type));
      if (!operand.is_weight) graph.inputs.push_back(values.back());
    }
    const ops::Node* main = nullptr;
    while (lexer_.at_name()) {
      const Operator op = parse_operator(lexer_);
      std::vector<Value> operands;
      lexer_.expect("(", "before operands");
      while (!lexer_.accept(")")) {
        operands.push_back(values.at(static_cast<std::size_t>(number())));
        lexer_.accept(",");
      }
      const ops::Node& node = graph.pool->add(op, operands);
      if (lexer_.accept_word("or")) {  // in place of NaN, by two more operations
        number();
        kernel_.operations += 2 * static_cast<double>(count(*node.outputs()[0].shape).known().value_or(0));
      }
      for (std::size_t i = 0; i < node.outputs().size(); ++i) values.push_back(node.output(i));
      if (main == nullptr || role_of(op) == role()) main = &node;
    }
    if (main == nullptr) lexer_.fail("a call that does nothing");
    if (lexer_.accept("=")) {
      while (!lexer_.at_line_end()) {
        graph.outputs.push_back(values.at(static_cast<std::size_t>(number())));
        lexer_.accept(",");
      }
    } else {
      graph.outputs.push_back(values.back());
    }
    const WholeGraph view(graph, {}, is_last ? Layout::channels_last : Layout::channels_first);
    for (std::size_t i = 0; i < view.nodes(); ++i) {
      const PlanNode node{static_cast<std::uint32_t>(i)};
      if (&view.node(node) == main) kernel_.main = node;
      if (view.op(node) != nullptr) kernel_.nodes.push_back(node);
    }
    measure_work(view, kernel_);
    kernel_.main = no_plan_node;
    kernel_.nodes.clear();
    kernel_.read.clear();
    kernel_.written.clear();
  }

  Role role() const {
    switch (kernel_.kind) {
      case Kernel::Kind::convolution: return Role::convolution;
      case Kernel::Kind::matmul:
      case Kernel::Kind::attention: return Role::matmul;
      case Kernel::Kind::pooling: return Role::pooling;
      case Kernel::Kind::rows: return Role::rows;
      default: return Role::element_wise;
    }
  }

  Source source_;
  Lexer lexer_;
  Kernel kernel_;
  std::vector<Operand> read_, written_;
};

}  // namespace

Kernel kernel_of_call(const std::string& text) {
  try {
    return Parser(text).parse();
  } catch (const std::out_of_range&) {
    throw InputError("a call that names a value that it does not have: " + text);
  }
}

}  // namespace taso::test
