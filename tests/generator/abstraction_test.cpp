// Laws found at some axes, ranks and paddings, generalised to all of them.
#include "generator/selection/abstraction.h"

#include <algorithm>

#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {
namespace {

rules::Rule rule(const std::string& text) { return rules::parse_rule("candidate r\n  " + text + "\n"); }

bool becomes(const std::string& found, const std::string& general) {
  const auto forms = generator::abstractions(rule(found));
  return std::any_of(forms.begin(), forms.end(), [&](const rules::Rule& form) {
    return rules::canonical_text(form) == rules::canonical_text(rule(general));
  });
}

}  // namespace

TEST_CASE("axes, permutations, paddings, slices and shapes become variables") {
  CHECK(
      becomes("concat[axis=1](concat(x, y), concat(z, w)) => concat(concat[axis=1](x, z), concat[axis=1](y, w))\n"
              "  where dim(x, 0) = dim(z, 0)",
              "concat[axis=b](concat[axis=a](x, y), concat[axis=a](z, w)) "
              "=> concat[axis=a](concat[axis=b](x, z), concat[axis=b](y, w))\n"
              "  where dim(x, a) = dim(z, a), a != b"));
  CHECK(
      becomes("transpose[permutation=[1, 0]](concat(x, y)) "
              "=> concat[axis=1](transpose[permutation=[1, 0]](x), transpose[permutation=[1, 0]](y))",
              "transpose[permutation=p](concat[axis=a](x, y)) "
              "=> concat[axis=position(p, a)](transpose[permutation=p](x), transpose[permutation=p](y))"));
  CHECK(
      becomes("pad[before=[0, 0, 1, 1], after=[0, 0, 1, 1]](relu(x)) "
              "=> relu(pad[before=[0, 0, 1, 1], after=[0, 0, 1, 1]](x))",
              "pad[before=b, after=c](relu(x)) => relu(pad[before=b, after=c](x))"));
  CHECK(becomes(
      "relu(slice[axis=a, begin=1, end=dim(x, a) - 1](x)) => slice[axis=a, begin=1, end=dim(x, a) - 1](relu(x))",
      "relu(slice[axis=a, begin=b, end=c](x)) => slice[axis=a, begin=b, end=c](relu(x))"));
  CHECK(
      becomes("relu(reshape[shape=[dim(x, 0) * dim(x, 1), dim(x, 2)]](x)) "
              "=> reshape[shape=[dim(x, 0) * dim(x, 1), dim(x, 2)]](relu(x))\n  where rank(x) = 3",
              "relu(reshape[shape=s](x)) => reshape[shape=s](relu(x))"));
}

TEST_CASE("operands of sums and products may broadcast") {
  CHECK(becomes("mul(x, mul(y, z)) => mul(y, mul(x, z))\n  where shape(y) = [1, dim(y, 1), 1, 1]",
                "mul(x, mul(y, z)) => mul(y, mul(x, z))\n  where broadcast(x, y, z)"));
}

TEST_CASE("rows and columns of factors are counted from the end") {
  CHECK(becomes("concat[axis=1](matmul(x, y), matmul(x, z)) => matmul(x, concat[axis=1](y, z))",
                "concat[axis=rank(x) - 1](matmul(x, y), matmul(x, z)) => matmul(x, concat[axis=rank(y) - 1](y, z))"));
  CHECK(becomes("concat[axis=1](matmul(x, y), matmul(z, y)) => matmul(concat[axis=1](x, z), y)",
                "concat[axis=rank(x) - 2](matmul(x, y), matmul(z, y)) => matmul(concat[axis=rank(x) - 2](x, z), y)"));
}

TEST_CASE("a rule that cannot be generalised stays the same") {
  CHECK(generator::abstractions(rule("relu(relu(x)) => relu(x)")).empty());
}

}  // namespace taso::test
