// Follows the arithmetic that models do on shapes, with dimensions instead of numbers. Every inferred result holds for
// all values of the unknowns.
#include <algorithm>

#include "runtime/host/inference/rules.h"
#include "runtime/host/slice_end.h"

namespace taso::runtime::inference {
namespace {

using Content = std::vector<Dim>;

std::optional<bool> equal(Dim a, Dim b) {
  if (a == b) return true;
  if (surely_at_least(a, b + 1) || surely_at_least(b, a + 1)) return false;
  return std::nullopt;
}
std::optional<bool> less(Dim a, Dim b) {
  if (surely_at_least(b, a + 1)) return true;
  if (surely_at_least(a, b)) return false;
  return std::nullopt;
}

std::optional<Dim> combined(std::string_view op_type, Dim a, Dim b) {
  if (op_type == "Add" || op_type == "Sum") return a + b;
  if (op_type == "Sub") return a - b;
  if (op_type == "Mul") return a * b;
  if (op_type == "Min") return smaller_of(a, b);
  if (op_type == "Max") {
    const auto smaller = smaller_of(a, b);
    return smaller ? std::optional(a + b - *smaller) : std::nullopt;
  }
  if (op_type == "Div" && surely_non_negative(a) && surely_at_least(b, 1)) return floor_div(a, b);
  return std::nullopt;
}

// Element i of a content of rank 0 or 1, with broadcasting.
Dim at(const Content& content, std::size_t i) { return content[content.size() == 1 ? 0 : i]; }

std::optional<std::size_t> common_length(std::initializer_list<const Content*> contents) {
  std::size_t length = 1;
  for (const Content* content : contents)
    if (content->size() != 1) length = content->size();
  for (const Content* content : contents)
    if (content->size() != 1 && content->size() != length) return std::nullopt;
  return length;
}

void arithmetic(Inference& node) {
  auto total = node.content(0);
  for (std::size_t k = 1; total && k < node.call.inputs.size(); ++k) {
    const auto next = node.content(k);
    const auto length = next ? common_length({&*total, &*next}) : std::nullopt;
    if (!length) return;
    Content result;
    for (std::size_t i = 0; i < *length; ++i) {
      const auto element = combined(node.call.op_type, at(*total, i), at(*next, i));
      if (!element) return;
      result.push_back(*element);
    }
    total = std::move(result);
  }
  if (total) node.set_content(0, *std::move(total));
}

// A comparison with the same result for all values of the unknowns is a constant.
void comparison(Inference& node) {
  const auto a = node.content(0), b = node.content(1);
  const auto length = a && b ? common_length({&*a, &*b}) : std::nullopt;
  Fact* const fact = node.result(0);
  if (!length || fact == nullptr || !fact->type.shape || fact->type.shape->size() > 1) return;
  const auto extents = static_extents(*fact->type.shape);
  if (!extents || count(*extents) != static_cast<std::int64_t>(*length)) return;
  Array result(ElementType::boolean, *extents);
  const auto values = result.mutable_values<bool>();
  const std::string_view op = node.call.op_type;
  for (std::size_t i = 0; i < *length; ++i) {
    const Dim x = at(*a, i), y = at(*b, i);
    std::optional<bool> verdict;
    if (op == "Equal") verdict = equal(x, y);
    if (op == "Less") verdict = less(x, y);
    if (op == "Greater") verdict = less(y, x);
    if (op == "LessOrEqual") verdict = less(y, x);
    if (op == "GreaterOrEqual") verdict = less(x, y);
    if (!verdict) return;
    values[i] = op.ends_with("OrEqual") ? !*verdict : *verdict;
  }
  fact->constant = result;
}

void where(Inference& node) {
  const auto condition = node.constant(0);
  const auto yes = node.content(1), no = node.content(2);
  if (!condition || condition->type() != ElementType::boolean || condition->rank() > 1 || !yes || !no ||
      condition->size() > static_cast<std::int64_t>(longest_content))
    return;
  const auto choices = condition->integers();
  const Content picked(choices.begin(), choices.end());
  const auto length = common_length({&picked, &*yes, &*no});
  if (!length) return;
  Content result;
  for (std::size_t i = 0; i < *length; ++i) result.push_back(at(picked, i) != Dim(0) ? at(*yes, i) : at(*no, i));
  node.set_content(0, result);
}

// Views keep the elements, if the result has rank 0 or 1 (checked afterwards).
void same(Inference& node) {
  if (auto content = node.content(0)) node.set_content(0, *std::move(content));
}

void absolute(Inference& node) {
  const auto content = node.content(0);
  if (content && std::all_of(content->begin(), content->end(), surely_non_negative)) node.set_content(0, *content);
}

void negative(Inference& node) {
  auto content = node.content(0);
  if (!content) return;
  for (Dim& dim : *content) dim = Dim(0) - dim;
  node.set_content(0, *std::move(content));
}

void gather(Inference& node) {
  const auto data = node.content(0);
  const auto indices = node.integers(1);
  const Shape* const shape = node.shape(0);
  if (!data || !indices || shape == nullptr || shape->size() != 1) return;
  Content result;
  for (const std::int64_t index : *indices) {
    const auto position = axis_of(index, data->size());
    if (!position) return;
    result.push_back((*data)[*position]);
  }
  node.set_content(0, result);
}

void slice(Inference& node) {
  const auto data = node.content(0);
  const bool attributes = node.call.opset < 10;
  const auto starts = attributes ? std::optional(node.call.attributes.integers("starts")) : node.integers(1);
  const auto ends = attributes ? std::optional(node.call.attributes.integers("ends")) : node.integers(2);
  const auto steps = !attributes && node.has(4) ? node.integers(4) : std::optional(std::vector<std::int64_t>{1});
  const Shape* const shape = node.shape(0);
  if (!data || !starts || !ends || !steps || shape == nullptr || shape->size() != 1) return;
  if (starts->size() != 1 || ends->size() != 1 || steps->size() != 1 || steps->front() == 0) return;
  if (is_ambiguous_slice(ends->front(), steps->front())) return;
  const auto length = static_cast<std::int64_t>(data->size());
  const std::int64_t step = steps->front();
  const auto clamped = [&](std::int64_t bound) {
    if (bound < 0) bound = bound < -length ? -1 : bound + length;
    return step > 0 ? std::clamp<std::int64_t>(bound, 0, length) : std::clamp<std::int64_t>(bound, -1, length - 1);
  };
  Content result;
  const std::int64_t end = clamped(ends->front());
  std::int64_t i = clamped(starts->front());
  while (step > 0 ? i < end : i > end) {
    result.push_back((*data)[static_cast<std::size_t>(i)]);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  node.set_content(0, result);
}

void concat(Inference& node) {
  PartialShape parts;
  for (std::size_t i = 0; i < node.call.inputs.size(); ++i) {
    const auto part = node.elements(i);
    if (!part || parts.size() + part->size() > longest_content) return;
    parts.insert(parts.end(), part->begin(), part->end());
  }
  Content result;
  for (const auto& element : parts)
    if (element) result.push_back(*element);
  if (result.size() == parts.size())
    node.set_content(0, result);
  else if (Fact* const fact = node.result(0); fact != nullptr && !result.empty())
    fact->known_part = std::move(parts);
}

void split(Inference& node) {
  const auto data = node.content(0);
  if (!data) return;
  auto next = data->begin();
  for (std::size_t i = 0; i < node.call.outputs; ++i) {
    const Fact* const part = node.result(i);
    if (!part->type.shape || part->type.shape->size() != 1 || !part->type.shape->front().is_static()) return;
    const std::int64_t length = part->type.shape->front().value();
    if (length < 0 || length > data->end() - next) return;
    node.set_content(i, Content(next, next + length));
    next += length;
  }
}

// Reduces everything to one number.
void reduce(Inference& node) {
  const auto data = node.content(0);
  const Fact* const result = node.result(0);
  if (!data || result == nullptr || !result->type.shape || count(*result->type.shape) != Dim(1)) return;
  const bool multiplies = node.call.op_type == "ReduceProd";
  Dim total = multiplies ? 1 : 0;
  for (const Dim& dim : *data) total = multiplies ? total * dim : total + dim;
  node.set_content(0, {total});
}

constexpr std::pair<std::string_view, Rule> rules[] = {
    {"Abs", absolute},
    {"Add", arithmetic},
    {"Cast", same},
    {"CastLike", same},
    {"Concat", concat},
    {"Div", arithmetic},
    {"Equal", comparison},
    {"Flatten", same},
    {"Gather", gather},
    {"Greater", comparison},
    {"Less", comparison},
    {"GreaterOrEqual", comparison},
    {"LessOrEqual", comparison},
    {"Max", arithmetic},
    {"Min", arithmetic},
    {"Mul", arithmetic},
    {"Neg", negative},
    {"ReduceProd", reduce},
    {"ReduceSum", reduce},
    {"Reshape", same},
    {"Slice", slice},
    {"Split", split},
    {"Squeeze", same},
    {"Sub", arithmetic},
    {"Sum", arithmetic},
    {"Unsqueeze", same},
    {"Where", where},
};

}  // namespace

void infer_content(Inference& node) {
  for (const auto& [name, rule] : rules)
    if (name == node.call.op_type) return rule(node);
}

}  // namespace taso::runtime::inference
