// Decides which networks find their weights in the cache.
#include "cost/pricing/residence.h"

#include "ops/text/graph_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cost;

TEST_CASE("weights count once, as they are stored") {
  const Graph graph = parse_graph(
      "graph\n  input x: float32[8, 64]\n  constant w: float32[64, 64]\n  constant b: float32[64]\n"
      "  m = matmul(x, w)\n  n = matmul(m, w)\n  y = add(n, b)\n  output y\n");
  CHECK(weight_bytes_of(graph, {}, Precision::tf32) == 4 * (64 * 64 + 64));
  CHECK(weight_bytes_of(graph, {}, Precision::fp16) == 2 * (64 * 64 + 64));
}

TEST_CASE("small networks stay in the cache") {
  CHECK(stay_in_cache(14e6));    // MobileNet-v2
  CHECK(stay_in_cache(32e6));    // DenseNet-121
  CHECK(!stay_in_cache(102e6));  // ResNet-50
}

}  // namespace taso::test
