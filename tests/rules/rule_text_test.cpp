#include "rules/rule_text.h"

#include "ops/error.h"
#include "tests/catch.h"

namespace taso {
namespace {

constexpr const char* sample = R"(taso rules 1

# --- Distributivity ---
# of everything

# x(y + z) = xy + xz
axiom matmul-distributes-over-add
  matmul(x, add(y, z)) = add(matmul(x, y), matmul(x, z))

# Two products with a common left factor: one product, then cut.
rule shared-left-factor-1x1
  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))
  where rank(x) = 2, dim(y, 1) < 2 * dim(z, 1), divides(4, dim(x, 0)), parity(rank(x)) = even, broadcast(x, y, z)
  by split-of-concat, matmul-of-concat-columns

# Filters of two convolutions over one input, side by side
axiom conv-of-concat-filters
  concat[axis=1](conv[strides=s, dilations=d, pads=p](x, w), conv[strides=s, dilations=d, pads=p](x, v))
    = conv[strides=s, dilations=d, pads=p](x, concat[axis=0](w, v))
  where spatial(w) = spatial(v)

candidate odd-numbers
  clip[low=-0.5, high=inf](pad[before=[0, 1], after=b, value=1e-05](first(split[axis=a, at=k](x))))
    => leaky_relu[alpha=0](reduce_sum[axes=[a], keep=true](mul(x, ones[shape=shape(x)])))
  where k - (1 - a) <= -1 * a / 2 % 3, (b ++ [1])[a + 1] != b[0], b = repeat(0, rank(x)) ++ begins(b)

# The end
)";

TEST_CASE("a canonical file prints as it is") {
  const RuleFile file = parse_rules(Source("sample", sample));
  CHECK(print(file) == sample);
  CHECK(file.rules().size() == 4);
  CHECK(file.items.size() == 6);
}

}  // namespace
}  // namespace taso
