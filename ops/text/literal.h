// Numbers, dimensions and types as text. Printing gives the shortest form that parses to the same value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ops/core/shape.h"
#include "ops/text/lexer.h"

namespace taso::ops {

/// "0.1", "1e-05", "inf", "-inf", "nan", "-0.0": the shortest decimal that reads back as the same number.
std::string text_of_number(double value);
std::string text_of_number(float value);

/// Parses an integer with an optional '-', within the given range.
std::int64_t parse_integer(Lexer& lexer, std::int64_t low = INT64_MIN, std::int64_t high = INT64_MAX);
std::uint64_t parse_unsigned(Lexer& lexer, std::uint64_t high = UINT64_MAX);
/// Parses a number of any form; overflow and underflow are errors.
double parse_double(Lexer& lexer);
float parse_float(Lexer& lexer);
bool parse_bool(Lexer& lexer);

/// Parses what Dim::text() prints, and any sum and product with parentheses:
///   sum = ['-'] product {('+' | '-') product};  product = primary {'*' primary}
///   primary = integer | name | '(' sum ')' | 'floor' '(' ['-'] product '/' primary ')' | 'min' '(' sum ',' sum ')'
Dim parse_dim(Lexer& lexer);
/// Parses a whole text.
Dim parse_dim(std::string_view text);

ElementType parse_element_type(Lexer& lexer);
/// "float32[N, 3]", or "float32[?]" for an unknown rank.
Type parse_type(Lexer& lexer);

}  // namespace taso::ops
