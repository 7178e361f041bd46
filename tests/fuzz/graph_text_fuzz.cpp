// Any bytes as the text of a graph: refused with InputError, or read, printed and read back the same.
#include "ops/text/graph_text.h"
#include "tests/fuzz/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace taso;
  try {
    for (const Graph& graph : parse_graphs(Source("fuzz", std::string(test::text_of_bytes(data, size))))) {
      const std::string text = text_of(graph);
      const Graph again = test::read_back(text, [](const std::string& printed) { return parse_graph(printed); });
      check(text_of(again) == text, "printing what was parsed gives the same text");
    }
  } catch (const InputError&) {
  }
  return 0;
}
