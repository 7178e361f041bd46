// The messages of TASO's rule files, unchanged.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "ops/text/source.h"

namespace taso::rules {

enum class TasoType : std::int32_t {
  conv = 3,
  max_pool = 6,
  average_pool = 7,
  relu = 8,
  sigmoid = 9,
  tanh = 10,
  concat = 12,
  split = 13,
  transpose = 15,
  add = 16,
  mul = 17,
  matmul = 18,
  scalar_mul = 19,
  enlarge = 20,
  identity_matrix = 22,
  identity_kernel = 23,
  ones = 24,
  pooling_kernel = 25,
};

enum class TasoKey : std::int32_t {
  inputs = 1,
  outputs = 2,
  groups = 3,
  kernel_height = 4,
  kernel_width = 5,
  stride_height = 6,
  stride_width = 7,
  padding = 8,
  activation = 9,
  rank = 10,
  axis = 11,
  permutation = 12,
};

/// A result of an operator of the same side or, if `op` is negative, an input of the rule.
struct TasoValue {
  std::int32_t op = 0;
  std::int32_t output = 0;
  bool is_input() const { return op < 0; }
  bool operator==(const TasoValue&) const = default;
  bool operator<(const TasoValue& other) const { return op != other.op ? op < other.op : output < other.output; }
};

struct TasoOperator {
  TasoType type{};
  std::vector<TasoValue> inputs;
  std::map<TasoKey, std::int32_t> parameters;
};

struct TasoRule {
  std::vector<TasoOperator> source, target;  ///< operands come before their users
  std::vector<std::pair<TasoValue, TasoValue>> results;
};

/// Throws InputError. The result is safe to traverse: operators are known, operands exist, and the text of a side is of
/// bounded size.
std::vector<TasoRule> read_taso_messages(const Source& bytes);

}  // namespace taso::rules
