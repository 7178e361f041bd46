#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "verifier/refutation/refute.h"

namespace taso::verifier {
namespace {

std::string number(double value) {
  if (std::isnan(value)) return "undefined";
  if (value == 0) return "0";  // also negative zero
  return fmt::format("{:.8g}", value);
}

/// Nested brackets as in numpy, on one line; long dimensions show their two ends.
void append_elements(std::string& text, const Tensor<double>& tensor, std::size_t axis, std::int64_t offset,
                     const std::vector<std::int64_t>& strides) {
  if (axis == tensor.rank()) {
    text += number(tensor[offset]);
    return;
  }
  constexpr std::int64_t all = 8, end = 3;
  const std::int64_t size = tensor.extents[axis];
  text += '[';
  for (std::int64_t i = 0; i < size; ++i) {
    if (i > 0) text += ", ";
    if (size > all && i == end) {
      text += "..., ";
      i = size - end;
    }
    append_elements(text, tensor, axis + 1, offset + i * strides[axis], strides);
  }
  text += ']';
}

std::string elements(const Tensor<double>& tensor) {
  std::string text;
  append_elements(text, tensor, 0, 0, strides_of(tensor.extents));
  return text;
}

std::string index_text(std::size_t place, const Extents& extents) {
  Extents index;
  auto rest = static_cast<std::int64_t>(place);
  for (const std::int64_t stride : strides_of(extents)) {
    index.push_back(rest / stride);
    rest %= stride;
  }
  return ops::text_of(index);
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
}

/// "g = 2, s = [1, 1], alpha = 0.5": what the inputs' shapes do not show.
std::string attributes(const Counterexample& counterexample, const rules::Instance& instance) {
  std::map<std::string, std::map<std::size_t, std::string>> values;  // by name and index in a list; npos: not a list
  const auto add = [&](const std::string& name, const std::string& value) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos || !is_number(std::string_view(name).substr(dot + 1))) {
      values[name][std::string::npos] = value;
      return;
    }
    const std::string list = name.substr(0, dot);
    if (std::find(instance.inputs.begin(), instance.inputs.end(), list) == instance.inputs.end())
      values[list][std::stoul(name.substr(dot + 1))] = value;
  };
  const rules::Places places = rules::places_of(instance);
  for (const rules::Unknown& unknown : instance.unknowns)
    if (!rules::is_made_up(unknown.name))
      add(unknown.name, std::to_string(counterexample.assignment.unknowns[places.at(unknown.name)]));
  for (const auto& [name, dim] : instance.determined)
    if (const auto value = rules::CompiledDim(dim, places).evaluate(counterexample.assignment.unknowns))
      add(name, std::to_string(*value));
  for (std::size_t i = 0; i < instance.real_variables.size(); ++i)
    add(instance.real_variables[i], number(counterexample.assignment.reals[i]));

  std::string text;
  for (const auto& [name, parts] : values) {
    std::string value;
    for (const auto& [place, part] : parts) value += (value.empty() ? "" : ", ") + part;
    const bool is_list = parts.begin()->first != std::string::npos;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, is_list ? "[" + value + "]" : value);
  }
  return text;
}

}  // namespace

std::string text_of(const Counterexample& counterexample, const rules::Instance& instance) {
  std::string text;
  const auto line = [&](const std::string& content) { text += (text.empty() ? "" : "\n") + content; };
  std::string where = instance.choice;
  const std::string given = attributes(counterexample, instance);
  if (!given.empty()) where += (where.empty() ? "" : ", ") + given;
  if (!where.empty()) line("at " + where);
  for (std::size_t i = 0; i < instance.inputs.size(); ++i)
    line(fmt::format("  {} {}{}", instance.inputs[i], ops::text_of(counterexample.shapes[i]),
                     counterexample.misfit.empty() ? " = " + elements(counterexample.inputs[i]) : ""));
  if (!counterexample.misfit.empty()) {
    line("  " + counterexample.misfit);
    return text;
  }
  const bool several = counterexample.source.size() > 1;
  const auto side = [&](std::string_view name, const std::vector<Tensor<double>>& results) {
    for (std::size_t i = 0; i < results.size(); ++i)
      line(fmt::format("  {}{} {} = {}", name, several ? fmt::format(", result {}", i + 1) : "",
                       ops::text_of(results[i].extents), elements(results[i])));
  };
  side("source", counterexample.source);
  side("target", counterexample.target);
  const Tensor<double>& source = counterexample.source[counterexample.result];
  const Tensor<double>& target = counterexample.target[counterexample.result];
  if (counterexample.is_undefined) {
    const bool in_target = std::isnan(target.data[counterexample.place]);
    line(fmt::format("  the {} is undefined{} at {}, where the {} is {}", in_target ? "target" : "source",
                     several ? fmt::format(" in result {}", counterexample.result + 1) : "",
                     index_text(counterexample.place, source.extents), in_target ? "source" : "target",
                     number((in_target ? source : target).data[counterexample.place])));
    return text;
  }
  line(fmt::format("  they differ{} at {}: {} and {}",
                   several ? fmt::format(" in result {}", counterexample.result + 1) : "",
                   index_text(counterexample.place, source.extents), number(source.data[counterexample.place]),
                   number(target.data[counterexample.place])));
  return text;
}

}  // namespace taso::verifier
