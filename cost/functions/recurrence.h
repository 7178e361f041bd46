// RNN, GRU and LSTM as functions of a device: a state that is carried along a sequence.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "cost/functions/device_function.h"

namespace taso::cost {

/// The activations of ONNX's cells, as formulas of $0 with two attributes (formula.h).
struct CellActivation {
  std::string_view name;  ///< in lower case
  std::string_view formula;
  bool takes_alpha = false, takes_beta = false;
  double alpha = 0, beta = 0;  ///< unless the node says otherwise
};
inline constexpr std::array<CellActivation, 11> cell_activations{{
    {"sigmoid", "1 / (1 + @exp(-$0))"},
    {"tanh", "@tanh($0)"},
    {"relu", "$0 < 0 ? real(0) : $0"},
    {"affine", "#0 * $0 + #1", true, true, 1, 0},
    {"leakyrelu", "$0 < 0 ? #0 * $0 : $0", true, false, 0.01, 0},
    {"thresholdedrelu", "$0 > #0 ? $0 : real(0)", true, false, 1, 0},
    {"scaledtanh", "#0 * @tanh(#1 * $0)", true, true, 1, 1},
    {"hardsigmoid", "minimum(maximum(#0 * $0 + #1, real(0)), real(1))", true, true, 0.2, 0.5},
    {"elu", "$0 < 0 ? #0 * @expm1($0) : $0", true, false, 1, 0},
    {"softsign", "$0 / (1 + @fabs($0))"},
    {"softplus", "$0 > 30 ? $0 : @log1p(@exp($0))"},
}};

/// A cell and its sizes, as the integers and numbers of a function say them.
struct Recurrence {
  enum class Cell : std::uint8_t { rnn, gru, lstm };
  struct Activation {
    std::size_t kind = 0;  ///< in `cell_activations`
    double alpha = 0, beta = 0;
  };
  Cell cell = Cell::rnn;
  std::int64_t directions = 1, steps = 0, batches = 0, inputs = 0, hidden = 0;
  bool is_reverse = false;              ///< of a single direction; of two, the second is
  bool is_batch_first = false;          ///< examples come before steps and directions
  bool is_linear_before_reset = false;  ///< of a GRU
  bool joins_input_and_forget = false;  ///< of an LSTM
  double clip = 0;                      ///< 0: none
  std::vector<Activation> activations;  ///< of the first direction, then of the second

  std::int64_t gates() const { return cell == Cell::rnn ? 1 : cell == Cell::gru ? 3 : 4; }
  std::size_t activations_of_direction() const { return cell == Cell::rnn ? 1 : cell == Cell::gru ? 2 : 3; }
};

/// Whether a function is such a cell. Its operands are those of ONNX.
bool is_recurrence(const DeviceFunction& function);
Recurrence recurrence_of(const DeviceFunction& function);
/// Operations per element of the result, and those that wait for one another.
double operations_of_recurrence(const DeviceFunction& function);
double chain_of_recurrence(const DeviceFunction& function);

}  // namespace taso::cost
