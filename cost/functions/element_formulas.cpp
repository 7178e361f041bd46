#include <algorithm>

#include "cost/functions/formula.h"

namespace taso::cost {
namespace {

using enum Signature;

/// Sorted by name. A name with an underscore is a variant of an operator.
constexpr ElementFormula formulas[] = {
    {"Abs", number, 1, "@fabs($0)", "$0 < 0 ? minus(0, $0) : $0", 1},
    {"Acos", floating, 1, "@acos($0)", "", 20},
    {"Acosh", floating, 1, "@acosh($0)", "", 30},
    {"Add", number, 2, "$0 + $1", "plus($0, $1)", 1},
    {"And", logical, 2, "%0 && %1", "", 1},
    {"Asin", floating, 1, "@asin($0)", "", 20},
    {"Asinh", floating, 1, "@asinh($0)", "", 30},
    {"Atan", floating, 1, "@atan($0)", "", 20},
    {"Atanh", floating, 1, "@atanh($0)", "", 30},
    {"BitShift_left", whole, 2, "",
     "static_cast<unsigned long long>($1) < 8 * sizeof(%0) ? "
     "static_cast<real>(static_cast<unsigned long long>($0) << $1) : real(0)",
     2},
    {"BitShift_right", whole, 2, "",
     "static_cast<unsigned long long>($1) < 8 * sizeof(%0) ? $0 >> $1 : $0 >> (8 * sizeof(%0) - 1) >> 1", 2},
    {"BitwiseAnd", whole, 2, "", "$0 & $1", 1},
    {"BitwiseNot", whole, 1, "", "~$0", 1},
    {"BitwiseOr", whole, 2, "", "$0 | $1", 1},
    {"BitwiseXor", whole, 2, "", "$0 ^ $1", 1},
    {"Ceil", floating, 1, "@ceil($0)", "", 1},
    {"Celu", floating, 1, "maximum(real(0), $0) + minimum(real(0), #0 * @expm1($0 / #0))", "", 20},
    {"Clip", number, 3, "minimum(maximum($0, $1), $2)", "", 2},
    {"Clip_above", number, 2, "minimum($0, $1)", "", 1},
    {"Clip_below", number, 2, "maximum($0, $1)", "", 1},
    {"Cos", floating, 1, "@cos($0)", "", 20},
    {"Cosh", floating, 1, "@cosh($0)", "", 20},
    {"DequantizeLinear", quantise, 2, "moved(%0, %2) * get(%1)", "", 2},
    {"Div", number, 2, "$0 / $1", "divide($0, $1)", 8},
    {"Elu", floating, 1, "$0 < 0 ? #0 * @expm1($0) : $0", "", 16},
    {"Equal", compare, 2, "$0 == $1", "", 1},
    {"Erf", floating, 1, "@erf($0)", "", 20},
    {"Exp", floating, 1, "@exp($0)", "", 8},
    {"Floor", floating, 1, "@floor($0)", "", 1},
    {"Gelu", floating, 1, "$0 * (1 + @erf($0 / real(1.4142135623730951))) / 2", "", 25},
    {"Gelu_tanh", floating, 1, "$0 * (1 + @tanh(real(0.7978845608028654) * ($0 + real(0.044715) * $0 * $0 * $0))) / 2",
     "", 25},
    {"Greater", compare, 2, "$0 > $1", "", 1},
    {"GreaterOrEqual", compare, 2, "$0 >= $1", "", 1},
    {"HardSigmoid", floating, 1, "maximum(real(0), minimum(real(1), #0 * $0 + #1))", "", 3},
    {"HardSwish", floating, 1, "$0 * maximum(real(0), minimum(real(1), $0 / 6 + real(0.5)))", "", 8},
    {"IsInf", test, 1, "($0 == infinity() && #1 != 0) || ($0 == -infinity() && #0 != 0)", "", 2},
    {"IsNaN", test, 1, "$0 != $0", "", 1},
    {"LeakyRelu", floating, 1, "$0 < 0 ? #0 * $0 : $0", "", 2},
    {"Less", compare, 2, "$0 < $1", "", 1},
    {"LessOrEqual", compare, 2, "$0 <= $1", "", 1},
    {"Log", floating, 1, "@log($0)", "", 12},
    {"Max", number, 0, "maximum($0, $1)", "", 1},
    {"Mean", floating, 0, "$0 + $1", "", 1},
    {"Min", number, 0, "minimum($0, $1)", "", 1},
    {"Mish", floating, 1, "$0 * @tanh(maximum($0, real(0)) + @log1p(@exp(-@fabs($0))))", "", 40},
    {"Mod", number, 2, "floored_remainder($0, $1)", "", 20},
    {"Mod_fmod", number, 2, "@fmod($0, $1)", "truncated_remainder($0, $1)", 20},
    {"Mul", number, 2, "$0 * $1", "times($0, $1)", 1},
    {"Neg", number, 1, "-$0", "minus(0, $0)", 1},
    {"Not", logical, 1, "!%0", "", 1},
    {"Or", logical, 2, "%0 || %1", "", 1},
    {"PRelu", number, 2, "$0 < 0 ? $1 * $0 : $0", "$0 < 0 ? times($1, $0) : $0", 2},
    {"Pow", power, 2, "@pow($0, $1)", "whole_power($0, $1)", 40},
    {"Pow_mixed", power, 2, "pow(static_cast<double>($0), static_cast<double>($1))", "", 60},
    {"Pow_whole", power, 2, "pow(static_cast<double>($0), static_cast<double>(%1))", "", 60},
    {"QuantizeLinear", quantise, 2, "", "", 4},
    {"Reciprocal", floating, 1, "1 / $0", "", 6},
    {"Relu", number, 1, "maximum($0, real(0))", "", 1},
    {"Round", floating, 1, "@rint($0)", "", 1},
    {"Selu", floating, 1, "#1 * ($0 <= 0 ? #0 * @expm1($0) : $0)", "", 16},
    {"Shrink", floating, 1, "$0 < -#1 ? $0 + #0 : $0 > #1 ? $0 - #0 : $0 != $0 ? $0 : real(0)", "", 3},
    {"Sigmoid", floating, 1, "$0 >= 0 ? 1 / (1 + @exp(-$0)) : @exp($0) / (1 + @exp($0))", "", 16},
    {"Sign", number, 1, "$0 != $0 ? $0 : static_cast<real>(($0 > 0) - ($0 < 0))",
     "static_cast<real>(($0 > 0) - ($0 < 0))", 2},
    {"Sin", floating, 1, "@sin($0)", "", 20},
    {"Sinh", floating, 1, "@sinh($0)", "", 20},
    {"Softplus", floating, 1, "maximum($0, real(0)) + @log1p(@exp(-@fabs($0)))", "", 25},
    {"Softsign", floating, 1, "$0 / (1 + @fabs($0))", "", 8},
    {"Sqrt", floating, 1, "@sqrt($0)", "", 6},
    {"Sub", number, 2, "$0 - $1", "minus($0, $1)", 1},
    {"Sum", number, 0, "$0 + $1", "plus($0, $1)", 1},
    {"Swish", floating, 1, "$0 / (1 + @exp(-#0 * $0))", "", 16},
    {"Tan", floating, 1, "@tan($0)", "", 25},
    {"Tanh", floating, 1, "@tanh($0)", "", 16},
    {"ThresholdedRelu", floating, 1, "$0 > #0 || $0 != $0 ? $0 : real(0)", "", 2},
    {"Where", choose, 3, "%0 ? %1 : %2", "", 1},
    {"Xor", logical, 2, "%0 != %1", "", 1},
};

}  // namespace

const ElementFormula* find_element_formula(std::string_view name) {
  const auto* const found =
      std::lower_bound(std::begin(formulas), std::end(formulas), name,
                       [](const ElementFormula& formula, std::string_view wanted) { return formula.name < wanted; });
  return found != std::end(formulas) && found->name == name ? found : nullptr;
}

}  // namespace taso::cost
