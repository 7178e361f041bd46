#include <algorithm>

#include "cost/functions/formula.h"

namespace taso::cost {
namespace {

const std::vector<RowFormula>& row_formulas() {
  using enum RowPass::Combine;
  static const RowPass largest{"largest", "x", "t", maximum}, smallest{"smallest", "x", "t", minimum};
  static const RowPass mean{"mean", "x", "t / n"};
  static const RowPass powers{"powers", "@exp(x - largest)", "t"};
  static const std::vector<RowFormula> all{
      // The first or the last of the extremes; NaN is one.
      {"ArgMax",
       false,
       true,
       {largest, {"place", "x == largest || (largest != largest && x != x) ? j : n", "t", minimum}},
       "place"},
      {"ArgMax_last",
       false,
       true,
       {largest, {"place", "x == largest || (largest != largest && x != x) ? j : real(0)", "t", maximum}},
       "place"},
      {"ArgMin",
       false,
       true,
       {smallest, {"place", "x == smallest || (smallest != smallest && x != x) ? j : n", "t", minimum}},
       "place"},
      {"ArgMin_last",
       false,
       true,
       {smallest, {"place", "x == smallest || (smallest != smallest && x != x) ? j : real(0)", "t", maximum}},
       "place"},
      // The first of the largest; NaN is none of them, but if it comes first it stays.
      {"Hardmax",
       true,
       false,
       {{"top", "x != x ? -infinity() : x", "t", maximum},
        {"place", "x == top || (j == 0 && x != x) ? j : n", "t", minimum}},
       "j == place ? real(1) : real(0)"},
      {"LogSoftmax", true, false, {largest, {"logarithm", "@exp(x - largest)", "@log(t)"}}, "x - largest - logarithm"},
      {"LpNormalization_1", true, false, {{"norm", "@fabs(x)", "t"}}, "norm == 0 ? real(0) : x / norm"},
      {"LpNormalization_2", true, false, {{"norm", "x * x", "@sqrt(t)"}}, "norm == 0 ? real(0) : x / norm"},
      {"MeanVarianceNormalization",
       true,
       false,
       {mean, {"deviation", "(x - mean) * (x - mean)", "@sqrt(t / n) + real(1e-9)"}},
       "(x - mean) / deviation"},
      {"Normalization",
       true,
       false,
       {mean, {"factor", "(x - mean) * (x - mean)", "1 / @sqrt(t / n + #0)"}},
       "(x - mean) * factor * scale + bias"},
      {"RMSNormalization", true, false, {{"factor", "x * x", "1 / @sqrt(t / n + #0)"}}, "x * factor * scale"},
      {"ReduceL1", false, true, {{"sum", "magnitude(x)", "t"}}, "sum"},
      {"ReduceL2", false, false, {{"sum", "x * x", "t"}}, "@sqrt(sum)"},
      {"ReduceLogSum", false, false, {{"sum", "x", "t"}}, "@log(sum)"},
      {"ReduceLogSumExp",
       false,
       false,
       {{"shift", "x", "t == infinity() || t == -infinity() ? real(0) : t", maximum}, {"sum", "@exp(x - shift)", "t"}},
       "@log(sum) + shift"},
      {"ReduceLp", false, false, {{"sum", "@pow(@fabs(x), #0)", "t"}}, "@pow(sum, 1 / #0)"},
      {"ReduceMax", false, true, {largest}, "largest"},
      {"ReduceMean", false, true, {{"sum", "x", "t"}}, "sum / n"},
      {"ReduceMin", false, true, {smallest}, "smallest"},
      {"ReduceProd", false, true, {{"product", "x", "t", product}}, "product"},
      {"ReduceSum", false, true, {{"sum", "x", "t"}}, "sum"},
      {"ReduceSumSquare", false, true, {{"sum", "multiplied(x, x)", "t"}}, "sum"},
      {"Softmax", true, false, {largest, powers}, "@exp(x - largest) / powers"},
  };
  return all;
}

}  // namespace

const RowFormula* find_row_formula(std::string_view name) {
  const auto found = std::find_if(row_formulas().begin(), row_formulas().end(),
                                  [&](const RowFormula& row) { return row.name == name; });
  return found == row_formulas().end() ? nullptr : &*found;
}

}  // namespace taso::cost
