#include "rules/taso/taso_message.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/taso/taso_rules.pb.h"

namespace taso::rules {
namespace {

// TASO itself writes three. Shared operators are written at each use: the size of the text must stay in proportion to
// the length of a hostile file.
constexpr std::size_t most_operators = 16;
constexpr std::size_t most_operators_written = 100;

struct TypeRow {
  std::string_view name;
  int min_inputs = 0, max_inputs = 0;
  bool known = false;
};
// By number.
constexpr std::array<TypeRow, 26> types{{
    {"input"},
    {"weight"},
    {"any"},
    {"convolution", 2, 2, true},
    {"dropout"},
    {"linear"},
    {"max pooling", 1, 1, true},
    {"average pooling", 1, 1, true},
    {"relu", 1, 1, true},
    {"sigmoid", 1, 1, true},
    {"tanh", 1, 1, true},
    {"batch norm"},
    {"concat", 2, 8, true},
    {"split", 1, 1, true},
    {"reshape"},
    {"transpose", 1, 1, true},
    {"add", 2, 2, true},
    {"mul", 2, 2, true},
    {"matmul", 2, 2, true},
    {"scalar mul", 2, 2, true},
    {"enlarge", 1, 2, true},
    {"merge grouped convolution"},
    {"identity matrix", 0, 0, true},
    {"identity kernel", 0, 0, true},
    {"ones", 0, 0, true},
    {"pooling kernel", 0, 0, true},
}};

class Reader {
 public:
  explicit Reader(const Source& source) : source_(source) {}

  std::vector<TasoRule> rules() {
    message::RuleFile file;
    const std::string_view bytes = source_.text();
    if (bytes.size() > std::numeric_limits<int>::max() ||
        !file.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      throw InputError(fmt::format("{}: this is not a rule file of TASO: protobuf cannot read it", source_.name()));
    std::vector<TasoRule> result;
    for (const message::Rule& one : file.rules()) {
      where_ = fmt::format("rule {}", result.size());
      result.push_back(rule(one));
    }
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(fmt::format("{}: {}: {}", source_.name(), where_, message));
  }

  TasoRule rule(const message::Rule& message) const {
    TasoRule result;
    for (const message::Operator& op : message.source()) result.source.push_back(operation(op, result.source.size()));
    for (const message::Operator& op : message.target()) result.target.push_back(operation(op, result.target.size()));
    if (message.results().empty()) fail("it has no results");
    if (static_cast<std::size_t>(message.results_size()) > most_operators) fail("it has too many results");
    for (const message::Result& mapped : message.results()) result.results.push_back(this->result(mapped, result));
    check_length(result.source);
    check_length(result.target);
    return result;
  }

  TasoOperator operation(const message::Operator& message, std::size_t place) const {
    if (place >= most_operators) fail(fmt::format("more than {} operators on a side", most_operators));
    if (!message.has_type()) fail("an operator has no type");
    TasoOperator result;
    result.type = type(message.type());
    for (const message::Operand& one : message.operands()) result.inputs.push_back(operand(one, place));
    for (const message::Parameter& one : message.parameters()) {
      if (!one.has_key() || !one.has_value()) fail("a parameter has no key or no value");
      if (!result.parameters.insert({static_cast<TasoKey>(one.key()), one.value()}).second)
        fail(fmt::format("parameter {} is given twice", one.key()));
    }
    const TypeRow& row = types[static_cast<std::size_t>(result.type)];
    const auto inputs = static_cast<int>(std::min<std::size_t>(result.inputs.size(), 1000));
    if (inputs < row.min_inputs || inputs > row.max_inputs) fail(fmt::format("{} with {} operands", row.name, inputs));
    return result;
  }

  TasoType type(std::int32_t number) const {
    if (number < 0 || static_cast<std::size_t>(number) >= types.size())
      fail(fmt::format("there is no operator type {}", number));
    const TypeRow& row = types[static_cast<std::size_t>(number)];
    if (!row.known) fail(fmt::format("operator type {} ({}) has no counterpart here", number, row.name));
    return static_cast<TasoType>(number);
  }

  TasoValue operand(const message::Operand& message, std::size_t place) const {
    if (!message.has_operator_number()) fail("an operand does not name an operator");
    const TasoValue result{message.operator_number(), message.result()};
    if (result.op >= 0 && static_cast<std::size_t>(result.op) >= place)
      fail(fmt::format("operand {} of operator {} does not come before it", result.op, place));
    return result;
  }

  std::pair<TasoValue, TasoValue> result(const message::Result& message, const TasoRule& rule) const {
    if (!message.has_source_operator() || !message.has_target_operator()) fail("a result is not on both sides");
    const std::pair values{TasoValue{message.source_operator(), message.source_result()},
                           TasoValue{message.target_operator(), message.target_result()}};
    for (const auto& [value, side] : {std::pair{values.first, &rule.source}, {values.second, &rule.target}})
      if (!exists(value, *side)) fail(fmt::format("there is no result {} of operator {}", value.output, value.op));
    return values;
  }

  static bool exists(const TasoValue& value, const std::vector<TasoOperator>& side) {
    if (value.is_input()) return value.output == 0;
    const auto place = static_cast<std::size_t>(value.op);
    return place < side.size() && value.output >= 0 && value.output <= (side[place].type == TasoType::split ? 1 : 0);
  }

  void check_length(const std::vector<TasoOperator>& side) const {
    std::vector<std::size_t> written;
    for (const TasoOperator& op : side) {
      std::size_t sum = 1;
      for (const TasoValue& input : op.inputs)
        if (!input.is_input()) sum += written[static_cast<std::size_t>(input.op)];
      if (sum > most_operators_written) fail("its text is too long");
      written.push_back(sum);
      for (const TasoValue& input : op.inputs)
        if (!exists(input, side)) fail(fmt::format("there is no result {} of operator {}", input.output, input.op));
    }
  }

  const Source& source_;
  std::string where_;
};

}  // namespace

std::vector<TasoRule> read_taso_messages(const Source& bytes) { return Reader(bytes).rules(); }

}  // namespace taso::rules
