// Operators with their attributes as text: "split[axis=1, at=32]".
#pragma once

#include "ops/graph/operator.h"
#include "ops/text/lexer.h"

namespace taso::ops {

std::string text_of_field(const FieldValue& value);
/// The name and every attribute, in the order of the operator's list; no brackets if it has none.
std::string text_of(const Operator& op);

/// What kind of value a field takes, for messages: "an integer", "a list of dimensions".
std::string_view kind_of(const FieldValue& value);
/// A value of the same kind as `sample`.
FieldValue parse_field_value(Lexer& lexer, const FieldValue& sample);
/// The name, then the attributes in brackets; those left out have their defaults.
Operator parse_operator(Lexer& lexer);

}  // namespace taso::ops
