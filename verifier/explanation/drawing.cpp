#include "verifier/explanation/drawing.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/text/operator_text.h"

namespace taso::verifier {
namespace {

constexpr std::size_t most_rows = 8, most_columns = 10, most_matrices = 8;

std::string number_text(double value) {
  if (std::isnan(value)) return "undefined";
  return value == 0 ? "0" : fmt::format("{:.6g}", value);
}

std::vector<std::int64_t> index_of(std::size_t place, const Extents& extents) {
  std::vector<std::int64_t> index;
  auto rest = static_cast<std::int64_t>(place);
  for (const std::int64_t stride : strides_of(extents)) {
    index.push_back(rest / stride);
    rest %= stride;
  }
  return index;
}

/// A matrix of the tensor that begins at `first`, with the marked element in angle brackets.
std::string matrix(const Tensor<double>& tensor, std::size_t first, std::size_t rows, std::size_t columns,
                   std::optional<std::size_t> marked, std::string_view indent) {
  std::vector<std::vector<std::string>> cells;
  for (std::size_t row = 0; row < std::min(rows, most_rows); ++row) {
    auto& line = cells.emplace_back();
    for (std::size_t column = 0; column < std::min(columns, most_columns); ++column) {
      const std::size_t place = first + row * columns + column;
      const std::string text = number_text(tensor.data[place]);
      line.push_back(marked == place ? fmt::format("‹{}›", text) : fmt::format(" {} ", text));
    }
  }
  std::vector<std::size_t> widths(std::min(columns, most_columns));
  const auto width_of = [](const std::string& cell) {  // the brackets have three bytes each
    return cell.starts_with("‹") ? cell.size() - 4 : cell.size();
  };
  for (const auto& line : cells)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  std::string text;
  for (const auto& line : cells) {
    text += fmt::format("{}│", indent);
    for (std::size_t i = 0; i < line.size(); ++i) text += std::string(widths[i] - width_of(line[i]), ' ') + line[i];
    text += columns > most_columns ? " … │\n" : "│\n";
  }
  if (rows > most_rows) text += fmt::format("{}│ … and {} more rows\n", indent, rows - most_rows);
  return text;
}

std::string picture(const Tensor<double>& tensor, std::optional<std::size_t> marked, std::string_view indent) {
  const std::size_t rank = tensor.rank();
  const auto extent = [&](std::size_t axis) { return static_cast<std::size_t>(tensor.extents[axis]); };
  const std::size_t columns = rank > 0 ? extent(rank - 1) : 1, rows = rank > 1 ? extent(rank - 2) : 1;
  if (rows * columns == 0) return fmt::format("{}(empty)\n", indent);
  const std::size_t matrices = tensor.data.size() / (rows * columns);
  std::string text;
  for (std::size_t i = 0; i < matrices; ++i) {
    const std::size_t first = i * rows * columns;
    const bool has_mark = marked && *marked >= first && *marked < first + rows * columns;
    if (i >= most_matrices && !has_mark) continue;
    if (matrices > 1) {
      std::vector<std::int64_t> index = index_of(first, tensor.extents);
      index.resize(rank - 2);
      text += fmt::format("{}at [{}, :, :]\n", indent, fmt::join(index, ", "));
    }
    text += matrix(tensor, first, rows, columns, marked, indent);
  }
  if (matrices > most_matrices) text += fmt::format("{}… {} matrices in all\n", indent, matrices);
  return text;
}

/// All values of one counterexample, with names: those of the inputs, and s1, s2, … and t1, t2, … for steps.
class Drawing {
 public:
  Drawing(const Counterexample& counterexample, const rules::Instance& instance)
      : found_(counterexample), instance_(instance) {}

  std::string text() {
    const auto built = rules::Concretizer(instance_).at(found_.assignment);
    const auto* concrete = std::get_if<rules::ConcreteInstance>(&built);
    if (concrete == nullptr) return text_of(found_, instance_);
    evaluate(*concrete);
    std::string text = "inputs:\n";
    for (std::size_t i = 0; i < instance_.inputs.size(); ++i)
      text += fmt::format("  {} {}\n{}", instance_.inputs[i], ops::text_of(found_.shapes[i]),
                          picture(found_.inputs[i], std::nullopt, "    "));
    text += side(*concrete, false) + side(*concrete, true);
    const std::string which = found_.source.size() > 1 ? fmt::format(" of result {}", found_.result + 1) : "";
    const Extents& extents = found_.source[found_.result].extents;
    const auto value = [&](const std::vector<Tensor<double>>& results) {
      return number_text(results[found_.result].data[found_.place]);
    };
    text += fmt::format("the first element that differs is [{}]{}: {} by the source, {} by the target\n",
                        fmt::join(index_of(found_.place, extents), ", "), which, value(found_.source),
                        value(found_.target));
    return text;
  }

 private:
  void evaluate(const rules::ConcreteInstance& concrete) {
    values_.resize(concrete.nodes.size());
    names_.resize(concrete.nodes.size());
    for (std::size_t i = 0; i < concrete.nodes.size(); ++i) {
      const auto& node = concrete.nodes[i];
      if (node.input) {
        values_[i] = {found_.inputs[*node.input]};
        names_[i] = instance_.inputs[*node.input];
        continue;
      }
      if (node.shapes.empty()) continue;
      std::vector<Tensor<double>> operands;
      for (const auto& [operand, output] : node.operands) operands.push_back(values_[operand][output]);
      values_[i] = ops::evaluate<double>(node.op, operands);
    }
  }

  void collect(const rules::ConcreteInstance& concrete, std::size_t node, std::vector<std::size_t>& order) const {
    if (std::find(order.begin(), order.end(), node) != order.end()) return;
    for (const auto& operand : concrete.nodes[node].operands) collect(concrete, operand.first, order);
    order.push_back(node);
  }

  std::string name_of_value(const rules::ConcreteInstance& concrete, rules::InstanceValue value) const {
    const auto& [node, output] = value;
    const bool is_one_of_several = concrete.nodes[node].shapes.size() > 1;
    return is_one_of_several ? fmt::format("{}.{}", names_[node], output + 1) : names_[node];
  }

  std::string side(const rules::ConcreteInstance& concrete, bool is_target) {
    const auto& results = is_target ? concrete.target : concrete.source;
    std::vector<std::size_t> order;
    for (const auto& result : results) collect(concrete, result.first, order);
    std::string text = is_target ? "target:\n" : "source:\n";
    std::size_t count = 0;
    for (const std::size_t node : order) {
      const auto& one = concrete.nodes[node];
      if (one.input || !names_[node].empty()) continue;  // an input, or a step of the source
      names_[node] = fmt::format("{}{}", is_target ? "t" : "s", ++count);
      std::vector<std::string> operands;
      for (const auto& operand : one.operands) operands.push_back(name_of_value(concrete, operand));
      text += fmt::format("  {} = {}({})\n", names_[node], ops::text_of(one.op), fmt::join(operands, ", "));
      for (std::size_t output = 0; output < values_[node].size(); ++output) {
        const rules::InstanceValue value{node, output};
        const Tensor<double>& tensor = values_[node][output];
        const bool is_the_result = results[found_.result] == value;
        text += fmt::format("    {} {}{}\n", name_of_value(concrete, value), ops::text_of(tensor.extents),
                            std::find(results.begin(), results.end(), value) == results.end() ? "" : ", the result");
        text += picture(tensor, is_the_result ? std::optional(found_.place) : std::nullopt, "    ");
      }
    }
    if (count == 0) {
      std::vector<std::string> names;
      for (const auto& result : results) names.push_back(name_of_value(concrete, result));
      text += fmt::format("  {}\n", fmt::join(names, ", "));
    }
    return text;
  }

  const Counterexample& found_;
  const rules::Instance& instance_;
  std::vector<std::vector<Tensor<double>>> values_;
  std::vector<std::string> names_;
};

}  // namespace

std::string drawing_of(const Counterexample& counterexample, const rules::Instance& instance) {
  if (!counterexample.misfit.empty()) return text_of(counterexample, instance) + "\n";
  std::string first = text_of(counterexample, instance);
  const bool has_choice = first.starts_with("at ");
  first.resize(std::min(first.find('\n'), first.size()));
  return (has_choice ? first + "\n" : "") + Drawing(counterexample, instance).text();
}

}  // namespace taso::verifier
