// Which prices count for a network, by the size of its weights.
#include <fmt/format.h>

#include "ops/text/graph_text.h"
#include "runtime/pricing/pricing.h"
#include "tests/catch.h"
#include "tests/onnx/build_model.h"

namespace taso::test {

TEST_CASE("on a processor, the more weights a network has, the fewer stay in the cache") {
  const TemporaryFolder folder;
  write_file(folder / "prices", "taso prices 4\nmachine P, ONNX Runtime 1.31.1, CPU provider, threads 1, opset 17\n");
  pricing::PricingOptions options;
  options.measures = options.with_shipped = false;
  options.for_onnxruntime = options.on_processor = true;
  options.file = folder / "prices";
  pricing::Pricing prices(options, nullptr, {});
  const auto share = [&](int megabytes) {
    const Graph graph = parse_graph(
        fmt::format("graph\n  input x: float32[]\n  constant w: float32[{}, 250000]\n  y = scalar_mul(w, x)\n"
                    "  output y\n",
                    megabytes));
    prices.set_cache_residency(graph, {});
    return prices.times().cold_share();
  };
  CHECK(share(1) == 0);
  CHECK(share(8) == 0);
  CHECK(share(36) == 0.5);
  CHECK(share(64) == 1);
  CHECK(share(400) == 1);
}

}  // namespace taso::test
