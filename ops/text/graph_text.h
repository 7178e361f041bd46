// Graphs as text, for tests, for diffs and for people:
//
//   graph
//     input x: float32[N, 3, 224, 224]
//     constant w: float32[64, 3, 7, 7]
//     constant scale: float32[2] = [0.5, 2]
//     t0 = conv[strides=[2, 2], dilations=[1, 1], pads=[3, 3, 3, 3], groups=1](x, w)
//     t1, t2 = split[axis=1, at=32](t0)
//     t3 = opaque "NonZero"(t1, _) -> int64[?]
//     output t2, t3
//
// One statement per line; '#' begins a comment; indentation is free. Names with other characters are quoted. Each value
// is defined once, before it is used. Omitted fields have their defaults. The operand '_' of an opaque node is omitted.
// A constant's data is a flat list in row-major order and may be omitted.
//
// Printing writes every field: inputs in the order of the signature, then the constants, then the rest in order of
// creation. Results are named t0, t1, …; taken names are skipped. It writes the data of constants of at most
// `largest_printed_constant` elements. Parsing printed text gives an equal graph, and printing that gives the same
// text. But the text lacks the bodies of opaque nodes and the data of large constants.
#pragma once

#include <string>
#include <string_view>

#include "ops/graph/graph.h"
#include "ops/text/source.h"

namespace taso::ops {

inline constexpr std::int64_t largest_printed_constant = 8;

/// Prints a graph. Its inputs and constants must have distinct names.
std::string text_of(const Graph& graph);

/// Parses one graph, into a pool of its own. Throws InputError with location and caret.
Graph parse_graph(const Source& source);
Graph parse_graph(std::string_view text);
/// Parses all graphs of a text, each into a pool of its own.
std::vector<Graph> parse_graphs(const Source& source);

}  // namespace taso::ops
