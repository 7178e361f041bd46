// Formulas of element functions and passes over rows, one line for each operator.
//
// In a formula, $0 is the first operand as a number, %0 the same as it is stored, #0 the first attribute, `real` the
// type of the arithmetic, and @exp the function for that type (expf or exp).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace taso::cost {

/// The types of an element function.
enum class Signature : std::uint8_t {
  floating,  ///< floating-point operands of one type, and a result of that type
  number,    ///< also integers
  whole,     ///< integers only
  logical,   ///< all boolean
  test,      ///< floating-point operands, boolean result
  compare,   ///< operands of any one type, boolean result
  choose,    ///< a boolean, and two operands of the type of the result
  power,     ///< operands of different types; the result has the type of the first
  quantise,  ///< see device_function.cpp
};

struct ElementFormula {
  std::string_view name;
  Signature signature = Signature::floating;
  std::size_t operands = 1;  ///< 0: any number, combined from left to right
  std::string_view formula;
  std::string_view integers = {};  ///< the formula for integers, where it differs
  double operations = 4;           ///< how long it takes, in simple operations
};

const ElementFormula* find_element_formula(std::string_view name);

/// A pass over a row: combines a term of each element x (at index j of n), then computes `after` from the total t.
struct RowPass {
  std::string_view name;   ///< of the result, for later passes
  std::string_view term;   ///< of x, j, n and earlier results
  std::string_view after;  ///< of t, n and earlier results
  enum class Combine : std::uint8_t { sum, product, maximum, minimum } combine = Combine::sum;
};

struct RowFormula {
  std::string_view name;
  bool is_map = false;    ///< whether there is a result for each element of the row, not for the row
  bool has_whole = true;  ///< also for integers
  std::vector<RowPass> passes;
  std::string_view result;  ///< of the results of the passes; of a map also of x, j, scale and bias
};

const RowFormula* find_row_formula(std::string_view name);

}  // namespace taso::cost
