#include "rules/taso/taso_message.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "rules/taso/wire.h"

namespace taso::rules {
namespace {

// TASO itself writes three. Shared operators are written out each time that they are used: what that makes of a hostile
// file must stay in proportion to its length.
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
    std::vector<TasoRule> result;
    each({source_.text(), 0}, [&](const WireField& field) {
      if (field.number == 1) result.push_back(rule(field.message("a rule")));
    });
    return result;
  }

 private:
  [[noreturn]] void fail(std::size_t offset, const std::string& message) const {
    fail_at_byte(source_.name(), offset, message);
  }

  template <class Visit>
  void each(WireBytes message, Visit visit) const {
    WireReader reader(source_.name(), message);
    while (const auto field = reader.next()) visit(*field);
  }

  TasoRule rule(WireBytes message) const {
    TasoRule result;
    result.offset = message.offset;
    std::vector<WireBytes> results;
    each(message, [&](const WireField& field) {
      if (field.number == 1) result.source.push_back(operation(field.message("an operator"), result.source.size()));
      if (field.number == 2) result.target.push_back(operation(field.message("an operator"), result.target.size()));
      if (field.number == 3) results.push_back(field.message("a result"));
    });
    if (results.empty()) fail(message.offset, "a rule without results");
    if (results.size() > most_operators) fail(message.offset, "a rule with too many results");
    for (const WireBytes& mapped : results) result.results.push_back(this->result(mapped, result));
    check_length(result.source, message.offset);
    check_length(result.target, message.offset);
    return result;
  }

  TasoOperator operation(WireBytes message, std::size_t place) const {
    if (place >= most_operators) fail(message.offset, fmt::format("more than {} operators on a side", most_operators));
    TasoOperator result;
    result.offset = message.offset;
    bool typed = false;
    each(message, [&](const WireField& field) {
      if (field.number == 1) {
        result.type = type(field.integer("an operator's type"), field.offset);
        typed = true;
      }
      if (field.number == 2) result.inputs.push_back(operand(field.message("an operand"), place));
      if (field.number == 3) add_parameter(field.message("a parameter"), result);
    });
    if (!typed) fail(message.offset, "an operator without a type");
    const TypeRow& row = types[static_cast<std::size_t>(result.type)];
    const auto inputs = static_cast<int>(std::min<std::size_t>(result.inputs.size(), 1000));
    if (inputs < row.min_inputs || inputs > row.max_inputs)
      fail(message.offset, fmt::format("{} with {} operands", row.name, inputs));
    return result;
  }

  TasoType type(std::int32_t number, std::size_t offset) const {
    if (number < 0 || static_cast<std::size_t>(number) >= types.size())
      fail(offset, fmt::format("there is no operator type {}", number));
    const TypeRow& row = types[static_cast<std::size_t>(number)];
    if (!row.known) fail(offset, fmt::format("operator type {} ({}) has no counterpart here", number, row.name));
    return static_cast<TasoType>(number);
  }

  TasoValue operand(WireBytes message, std::size_t place) const {
    TasoValue result;
    bool given = false;
    each(message, [&](const WireField& field) {
      if (field.number == 1) {
        result.op = field.integer("an operand");
        given = true;
      }
      if (field.number == 2) result.output = field.integer("a result's number");
    });
    if (!given) fail(message.offset, "an operand that names no operator");
    if (result.op >= 0 && static_cast<std::size_t>(result.op) >= place)
      fail(message.offset, fmt::format("operand {} of operator {} does not come before it", result.op, place));
    return result;
  }

  void add_parameter(WireBytes message, TasoOperator& op) const {
    std::optional<std::int32_t> key, value;
    each(message, [&](const WireField& field) {
      if (field.number == 1) key = field.integer("a parameter's key");
      if (field.number == 2) value = field.integer("a parameter's value");
    });
    if (!key || !value) fail(message.offset, "a parameter without key or value");
    if (!op.parameters.insert({static_cast<TasoKey>(*key), *value}).second)
      fail(message.offset, fmt::format("parameter {} is given twice", *key));
  }

  std::pair<TasoValue, TasoValue> result(WireBytes message, const TasoRule& rule) const {
    std::pair<TasoValue, TasoValue> values;
    bool source_given = false, target_given = false;
    each(message, [&](const WireField& field) {
      if (field.number == 1) values.first.op = field.integer("a result of the source"), source_given = true;
      if (field.number == 2) values.second.op = field.integer("a result of the target"), target_given = true;
      if (field.number == 3) values.first.output = field.integer("a result of the source");
      if (field.number == 4) values.second.output = field.integer("a result of the target");
    });
    if (!source_given || !target_given) fail(message.offset, "a result that is not on both sides");
    for (const auto& [value, side] : {std::pair{values.first, &rule.source}, {values.second, &rule.target}})
      if (!exists(value, *side))
        fail(message.offset, fmt::format("there is no result {} of operator {}", value.output, value.op));
    return values;
  }

  static bool exists(const TasoValue& value, const std::vector<TasoOperator>& side) {
    if (value.is_input()) return value.output == 0;
    const auto place = static_cast<std::size_t>(value.op);
    return place < side.size() && value.output >= 0 && value.output <= (side[place].type == TasoType::split ? 1 : 0);
  }

  void check_length(const std::vector<TasoOperator>& side, std::size_t offset) const {
    std::vector<std::size_t> written;
    for (const TasoOperator& op : side) {
      std::size_t sum = 1;
      for (const TasoValue& input : op.inputs)
        if (!input.is_input()) sum += written[static_cast<std::size_t>(input.op)];
      if (sum > most_operators_written) fail(offset, "a rule that is too long to be written out");
      written.push_back(sum);
      for (const TasoValue& input : op.inputs)
        if (!exists(input, side))
          fail(op.offset, fmt::format("there is no result {} of operator {}", input.output, input.op));
    }
  }

  const Source& source_;
};

}  // namespace

std::vector<TasoRule> read_taso_messages(const Source& bytes) { return Reader(bytes).rules(); }

}  // namespace taso::rules
