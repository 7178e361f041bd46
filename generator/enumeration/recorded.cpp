#include "generator/enumeration/recorded.h"

#include "ops/core/error.h"
#include "ops/graph/evaluate.h"

namespace taso::generator {
namespace {

thread_local Recording* recording_of_this_thread = nullptr;

}  // namespace

Recorded operator+(const Recorded& a, const Recorded& b) { return Recording::current().sum(a, b); }
Recorded operator-(const Recorded& a, const Recorded& b) { return Recording::current().difference(a, b); }
Recorded operator*(const Recorded& a, const Recorded& b) { return Recording::current().product(a, b); }

Recording::Recording() {
  check(recording_of_this_thread == nullptr, "a thread has one recording at a time");
  recording_of_this_thread = this;
}
Recording::~Recording() { recording_of_this_thread = nullptr; }

Recording& Recording::current() {
  check(recording_of_this_thread != nullptr, "this thread has a recording");
  return *recording_of_this_thread;
}

Recorded Recording::push(Step step) {
  steps_.push_back(std::move(step));
  return Recorded(static_cast<std::uint32_t>(steps_.size() - 1));
}

bool Recording::is(const Recorded& number, std::int64_t value) const {
  const Step& step = steps_[number.place()];
  return step.kind == Kind::constant && step.value == Field(value);
}

Recorded Recording::operand() { return push({}); }

Recorded Recording::constant(Field value) {
  const auto [slot, fresh] = constants_.try_emplace(value.bits(), 0);
  if (fresh) {
    Step step;
    step.kind = Kind::constant;
    step.value = value;
    slot->second = push(std::move(step)).place();
  }
  return Recorded(slot->second);
}

void Recording::add_products(std::uint32_t place, std::vector<std::pair<std::uint32_t, std::uint32_t>>& to) {
  const Step& step = steps_[place];
  if (step.kind == Kind::sum)
    to.insert(to.end(), step.products.begin(), step.products.end());
  else if (step.kind == Kind::product)
    to.emplace_back(step.left, step.right);
  else
    to.emplace_back(place, constant(Field(1)).place());
}

Recorded Recording::sum(const Recorded& a, const Recorded& b) {
  if (is(a, 0)) return b;
  if (is(b, 0)) return a;
  Step step;
  step.kind = Kind::sum;
  add_products(a.place(), step.products);
  add_products(b.place(), step.products);
  return push(std::move(step));
}

Recorded Recording::difference(const Recorded& a, const Recorded& b) {
  if (is(b, 0)) return a;
  Step step;
  step.kind = Kind::difference;
  step.left = a.place();
  step.right = b.place();
  return push(std::move(step));
}

Recorded Recording::product(const Recorded& a, const Recorded& b) {
  if (is(a, 0) || is(b, 1)) return a;
  if (is(b, 0) || is(a, 1)) return b;
  Step step;
  step.kind = Kind::product;
  step.left = a.place();
  step.right = b.place();
  return push(std::move(step));
}

Recorded Recording::call(Function function, const Recorded& a, const Recorded& b) {
  Step step;
  step.kind = Kind::function;
  step.left = a.place();
  step.right = b.place();
  step.function = function;
  return push(std::move(step));
}

}  // namespace taso::generator

namespace taso::ops {

template std::vector<Tensor<generator::Recorded>> evaluate(const Operator&, Tensors<generator::Recorded>);

}  // namespace taso::ops
