// Compares two graphs of one pool: exactly over the prime field, and in float64 with the interpreter.
#pragma once

#include <cmath>
#include <map>
#include <string>

#include "ops/core/field.h"
#include "ops/core/random.h"
#include "ops/graph/graph.h"

namespace taso::test {

/// An opaque operator whose results depend on every element of every operand. The first has the type of the first
/// operand; the second, if any, is an integer.
class Mixture : public OpaqueBody {
 public:
  explicit Mixture(std::uint64_t key, std::size_t results) : key_(key), results_(results) {}
  std::string obstacle() const override { return {}; }
  std::vector<Array> run(const std::vector<std::optional<Array>>& inputs) const override;
  std::vector<ops::Tensor<Field>> run(const std::vector<std::optional<ops::Tensor<Field>>>& inputs) const;
  bool same(const OpaqueBody& other) const override;

 private:
  std::uint64_t key_;
  std::size_t results_;
};

/// The sizes of the unknown dimensions of random graphs when they run.
std::int64_t size_of_unknown(std::string_view name);
Operator at_sizes(Operator op);

/// The values of the outputs over the field, for random inputs; for small integers if `whole`.
std::vector<ops::Tensor<Field>> evaluate_field(const Graph& graph, std::uint64_t seed, bool whole);

struct Agreement {
  enum class Kind {
    agrees,
    differs,
    no_number,  ///< an intermediate result is infinite or NaN: rules concern real numbers only
  };
  Kind field = Kind::agrees, real = Kind::agrees;
  std::string difference;  ///< the first one found

  /// Some laws of the order, like relu(x / 3) = relu(x) / 3, and of functions, like tanh(0) = 0, hold for real numbers
  /// only: outputs that depend on such operators need real numbers. This is set if an output without them differs over
  /// the field.
  bool differs_exactly = false;

  bool wrong() const { return real == Kind::differs || differs_exactly; }
};

/// `after` has the inputs of `before`, and the same number of outputs.
Agreement compare(const Graph& before, const Graph& after, std::uint64_t seed);

}  // namespace taso::test
