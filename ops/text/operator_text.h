// Operators with their attributes as text: "split[axis=1, at=32]".
#pragma once

#include "ops/graph/operator.h"
#include "ops/text/lexer.h"

namespace taso::ops {

std::string text_of_field(const FieldValue& value);
/// The name and every attribute, in the order of the operator's fields; no brackets if there are none.
std::string text_of(const Operator& op);

/// The kind of value that a field takes, for messages: "an integer", "a list of dimensions".
std::string_view kind_of(const FieldValue& value);
/// Parses a value of the same kind as `sample`.
FieldValue parse_field_value(Lexer& lexer, const FieldValue& sample);
/// Parses a name and attributes in brackets; omitted attributes have their defaults.
Operator parse_operator(Lexer& lexer);

}  // namespace taso::ops
