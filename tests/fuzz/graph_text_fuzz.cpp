// Any bytes as the text of a graph: refused with InputError, or read, printed and read back the same.
#include <cstdint>

#include "ops/text/graph_text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto graphs =
        taso::parse_graphs(taso::Source("fuzz", std::string(reinterpret_cast<const char*>(data), size)));
    for (const taso::Graph& graph : graphs) {
      const std::string text = taso::text_of(graph);
      taso::check(taso::text_of(taso::parse_graph(text)) == text, "printing what was parsed gives the same text");
    }
  } catch (const taso::InputError&) {
  }
  return 0;
}
