// Copies equalities out of the table of values.
#include <algorithm>

#include "generator/enumeration/enumerate.h"

namespace taso::generator {
namespace {

/// Copies a term out of the table; an operator that is used twice is copied once.
class Copy {
 public:
  explicit Copy(const Values& values) : values_(values) {}
  std::uint8_t add(ValueId id) {
    for (std::size_t i = 0; i < copied_.size(); ++i)
      if (copied_[i] == id) return static_cast<std::uint8_t>(i);
    const Form& form = values_[id].form;
    return form.schema == Form::input
               ? push(id, {SmallTerm::Node::input, 0, {}, static_cast<std::uint16_t>(form.operands[0])})
               : add(form, id);
  }
  std::uint8_t add(const Form& form, ValueId id = Found::none) {
    SmallTerm::Node node{form.schema, form.output, {}, 0};
    for (const ValueId operand : form.used()) node.operands.push_back(add(operand));
    return push(id, std::move(node));
  }
  SmallTerm term() { return {std::move(nodes_)}; }

 private:
  std::uint8_t push(ValueId id, SmallTerm::Node node) {
    nodes_.push_back(std::move(node));
    copied_.push_back(id);
    return static_cast<std::uint8_t>(nodes_.size() - 1);
  }
  const Values& values_;
  std::vector<ValueId> copied_;
  std::vector<SmallTerm::Node> nodes_;
};

}  // namespace

Equality equality_of(const Found& found, const Values& values) {
  Equality equality;
  const auto add = [&](std::vector<SmallTerm>& side, const auto& what) {
    Copy copy(values);
    copy.add(what);
    side.push_back(copy.term());
  };
  add(equality.left, found.known);
  add(equality.right, found.form);
  if (found.second != Found::none) {
    Form other = found.form;
    other.output = 1;
    add(equality.left, found.second);
    add(equality.right, other);
  }
  return with_canonical_inputs(equality, values);
}

}  // namespace taso::generator
