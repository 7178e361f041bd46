// The meaning of each operator in the normal form: an element of its result, in terms of elements of its operands.
#pragma once

#include <vector>

#include "rules/instance/instance.h"
#include "verifier/normal_form/sum.h"

namespace taso::verifier::normal {

using Index = std::vector<Polynomial>;

/// The element of a value at an index, which must lie within the value's shape where the element is used.
Sum element(const rules::Instance& instance, rules::InstanceValue value, const Index& index);

}  // namespace taso::verifier::normal
