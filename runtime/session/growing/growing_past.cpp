#include "runtime/session/growing/growing_past.h"

#include <algorithm>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "onnx/import/import.h"
#include "ops/text/characters.h"

namespace taso::runtime::growing {
namespace {

constexpr const char* property = "taso.past_length";  // "2047 past_length"

/// The unknown dimensions of inputs, each once, in their order.
std::vector<std::string> open_sizes(const onnx::Model& model) {
  std::vector<std::string> names;
  for (const auto& input : model.proto().graph().input())
    for (const Dim& dim : onnx::declared_type(input).shape.value_or(Shape()))
      if (!dim.is_static() && std::find(names.begin(), names.end(), dim.symbols().front()) == names.end())
        names.push_back(dim.symbols().front());
  return names;
}

/// Extents and other numbers that a model states.
std::set<std::int64_t> stated_numbers(const onnx::Model& model) {
  std::set<std::int64_t> numbers;
  const auto& graph = model.proto().graph();
  for (const auto& input : graph.input())
    for (const Dim& dim : onnx::declared_type(input).shape.value_or(Shape()))
      if (dim.is_static()) numbers.insert(dim.value());
  for (const auto& weight : graph.initializer()) numbers.insert(weight.dims().begin(), weight.dims().end());
  for (const auto& node : graph.node())
    for (const auto& attribute : node.attribute()) {
      numbers.insert(attribute.i());
      numbers.insert(attribute.ints().begin(), attribute.ints().end());
      numbers.insert(attribute.t().dims().begin(), attribute.t().dims().end());
    }
  return numbers;
}

/// Numbers that nothing else in a model is likely to be, so that an extent tells which size it is. Most of the rows of
/// a small cache must be left.
std::int64_t next_trial(std::int64_t last, std::int64_t capacity, const std::set<std::int64_t>& stated) {
  const auto is_prime = [](std::int64_t number) {
    for (std::int64_t by = 2; by * by <= number; ++by)
      if (number % by == 0) return false;
    return true;
  };
  std::int64_t next = std::max<std::int64_t>(last + 1, capacity < 64 ? 2 : 5);
  while (!is_prime(next) || stated.count(next) != 0) ++next;
  return next;
}

}  // namespace

GrowingPast::GrowingPast(onnx::Model model, std::int64_t capacity) : model_(std::move(model)), capacity_(capacity) {
  const std::set<std::int64_t> stated = stated_numbers(model_);
  std::int64_t last = 0;
  const auto find_with_others = [&] {
    bound_.clear();
    trial_.clear();
    for (const std::string& name : open_sizes(model_)) trial_.emplace(name, last = next_trial(last, capacity, stated));
    find_past();
    find_bound();
  };
  find_with_others();
  const Bounds bound = bound_;
  const Sizes trial = trial_;
  bool is_same = true;
  try {
    find_with_others();
    is_same = bound_ == bound;
  } catch (const InputError&) {  // a small cache has no room for larger numbers
  }
  if (!is_same) throw InputError("it cannot be told which sizes of the model are the length of its past");
  bound_ = bound;
  trial_ = trial;
}

Lengths GrowingPast::lengths(const Sizes& numbers) const {
  Lengths all{numbers, {}};
  for (const auto& [name, bound] : bound_) {
    std::int64_t more = bound.more;
    if (!bound.size.empty()) {
      const auto number = numbers.find(bound.size);
      if (number == numbers.end())  // a guess that contradicts itself
        throw InputError(fmt::format("the size '{}' is bound to another that is bound itself", on_one_line(name)));
      more = number->second;
    }
    all.by_more.emplace(name, more);
  }
  return all;
}

bool GrowingPast::writes_rows(const Bounds& assumed) {
  count_derivation();
  bound_ = assumed;
  const Lengths all = lengths(trial_);
  Derivation derivation(model_, capacity_, all);
  try {
    derivation.run();
  } catch (const InputError&) {  // told when the past is known
  }
  bound_.clear();
  return !derivation.written().empty() && is_length_of_present(derivation, all);
}

std::vector<GrowingPast::Bounds> GrowingPast::guesses() const {
  std::vector<Bounds> all;
  for (const auto& [name, number] : trial_) {
    all.push_back({{name, {1, {}}}});
    for (const auto& [other, its_number] : trial_)
      if (other != name) all.push_back({{name, {0, other}}});
  }
  return all;
}

bool GrowingPast::is_length_of_present(const Derivation& derivation, const Lengths& all) {
  return std::all_of(all.by_more.begin(), all.by_more.end(),
                     [&](const auto& one) { return one.second == 0 || one.second == derivation.new_rows(); });
}

void GrowingPast::count_derivation() {
  constexpr std::int64_t most = 1'000'000;
  visited_ += model_.proto().graph().node_size();
  if (visited_ > most)
    throw InputError(
        fmt::format("the model leaves {} sizes open: too many to find out which are the length of its past; sizes that "
                    "are the same need one name",
                    open_sizes(model_).size()));
}

/// The sizes of inputs that get new rows behind their own.
void GrowingPast::find_past() {
  Bounds found;
  for (const auto& [name, number] : trial_)
    if (writes_rows({{name, {}}})) found.emplace(name, Bound{});
  const std::vector<Bounds> others = guesses();
  for (auto past = trial_.begin(); found.empty() && past != trial_.end(); ++past)
    for (const Bounds& other : others) {
      const auto& [name, bound] = *other.begin();
      if (!found.empty() || name == past->first || bound.size == past->first) continue;
      const Bounds both{{past->first, {}}, {name, bound}};
      if (writes_rows(both)) found = both;
    }
  if (found.empty())
    throw InputError(
        "the model has no past that grows: no input of unknown length gets new rows behind its own by Concat");
  bind(found);
}

/// Other sizes that must be the length of the past and some more, such as that of an attention mask. Where operands do
/// not tell it, the length with the new rows is tried.
void GrowingPast::find_bound() {
  std::string trouble;
  try {
    settle();
    return;
  } catch (const InputError& error) {
    trouble = error.what();
  }
  const Bounds bounds = bound_;  // with those that the first attempt bound
  const Sizes sizes = trial_;
  for (const Bounds& guess : guesses()) {
    bound_ = bounds;
    trial_ = sizes;
    bind(guess);
    try {
      if (settle()) return;
    } catch (const InputError&) {  // the first trouble is told
    }
  }
  throw InputError(trouble);
}

bool GrowingPast::settle() {
  for (;;) {
    count_derivation();
    const Lengths assumed = lengths(trial_);
    Derivation derivation(model_, capacity_, assumed);
    try {
      derivation.run();
      return is_length_of_present(derivation, assumed);
    } catch (const Mismatch& mismatch) {
      if (!bind(mismatch)) throw;
    }
  }
}

void GrowingPast::bind(const Bounds& bounds) {
  for (const auto& [name, bound] : bounds) {
    bound_.insert_or_assign(name, bound);
    trial_.erase(name);
  }
}

bool GrowingPast::bind(const Mismatch& mismatch) {
  const auto with = [&](std::int64_t number) {
    return std::find_if(trial_.begin(), trial_.end(), [&](const auto& one) { return one.second == number; });
  };
  const auto bound = with(mismatch.extent), more = with(mismatch.more);
  if (bound == trial_.end() || bound == more || mismatch.more < 0) return false;
  bind({{bound->first, more == trial_.end() ? Bound{mismatch.more, {}} : Bound{0, more->first}}});
  return true;
}

onnx::Model GrowingPast::derived(const Sizes& sizes) const {
  const Lengths assumed = lengths(sizes);
  Derivation derivation(model_, capacity_, assumed);
  derivation.run();
  onnx::Model made = derivation.model();
  auto& said = *made.mutable_proto().add_metadata_props();
  said.set_key(property);
  said.set_value(fmt::format("{} {}", derivation.past_length().most, derivation.past_length().input));
  return made;
}

onnx::Model GrowingPast::declared() const {
  onnx::Model made = model_.copy();
  const onnx::Model example = derived(trial_);
  auto& inputs = *made.mutable_proto().mutable_graph()->mutable_input();
  for (auto& input : inputs) {
    const Shape shape = onnx::declared_type(input).shape.value_or(Shape());
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      if (!shape[axis].is_static() && bound_.contains(shape[axis].symbols().front()))
        input.mutable_type()
            ->mutable_tensor_type()
            ->mutable_shape()
            ->mutable_dim(static_cast<int>(axis))
            ->set_dim_value(capacity_);
  }
  *inputs.Add() = example.proto().graph().input().Get(example.proto().graph().input_size() - 1);
  return made;
}

onnx::Model with_fixed_past(onnx::Model model, std::int64_t capacity) {
  model.validate();
  const GrowingPast past(std::move(model), capacity);
  if (past.is_open())
    throw InputError(fmt::format("with a past_capacity, a search needs a model that leaves no other sizes open: '{}'",
                                 on_one_line(past.trial().begin()->first)));
  return past.derived({});
}

std::optional<PastLength> past_length_of(const onnx::Model& model) {
  for (const auto& said : model.proto().metadata_props()) {
    if (said.key() != property) continue;
    PastLength found;
    const char* const end = said.value().data() + said.value().size();
    const auto [rest, error] = std::from_chars(said.value().data(), end, found.most);
    if (error != std::errc() || rest == end || *rest != ' ' || found.most < 0)
      throw InputError(fmt::format("the model says '{}' of its past", on_one_line(said.value())));
    found.input.assign(rest + 1, end);
    return found;
  }
  return std::nullopt;
}

}  // namespace taso::runtime::growing
