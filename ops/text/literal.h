// Numbers, dimensions and types as text: print gives the shortest form that parses to the same thing.
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

/// An integer with an optional '-', in the range given.
std::int64_t parse_integer(Lexer& lexer, std::int64_t low = INT64_MIN, std::int64_t high = INT64_MAX);
std::uint64_t parse_unsigned(Lexer& lexer, std::uint64_t high = UINT64_MAX);
/// A number of any form; one that overflows or vanishes is an error.
double parse_double(Lexer& lexer);
float parse_float(Lexer& lexer);
bool parse_bool(Lexer& lexer);

/// What Dim::text() prints, and any sum and product with parentheses:
///   sum = ['-'] product {('+' | '-') product};  product = primary {'*' primary}
///   primary = integer | name | '(' sum ')' | 'floor' '(' ['-'] product '/' primary ')'
Dim parse_dim(Lexer& lexer);
/// The whole of a text.
Dim parse_dim(std::string_view text);

ElementType parse_element_type(Lexer& lexer);
/// "float32[N, 3]", or "float32[?]" for an unknown rank.
Type parse_type(Lexer& lexer);

}  // namespace taso::ops
