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
// One statement a line; '#' begins a comment; indentation is free. Names that are not plain stand in quotes. A value is
// defined, once, before it is used. Fields left out have their defaults. An operand '_' of an opaque node is left out.
// The data of a constant is a flat list in row-major order; a constant without has none.
//
// Printing writes every field, inputs in the order of the signature, then the constants, then the rest in order of
// creation, results named t0, t1, … past names that are taken. It writes the data of constants of at most
// `largest_printed_constant` elements. Parsing what was printed gives an equal graph, and printing that the same text;
// but an opaque node's body and the data of large constants are not in the text.
#pragma once

#include <string>
#include <string_view>

#include "ops/graph/graph.h"
#include "ops/text/source.h"

namespace taso::ops {

inline constexpr std::int64_t largest_printed_constant = 8;

/// Inputs and constants of the graph must have names of their own.
std::string text_of(const Graph& graph);

/// The graph in a text, in a pool of its own. Throws InputError with place and caret.
Graph parse_graph(const Source& source);
Graph parse_graph(std::string_view text);
/// Every graph of a text, one after the other, each in a pool of its own.
std::vector<Graph> parse_graphs(const Source& source);

}  // namespace taso::ops
