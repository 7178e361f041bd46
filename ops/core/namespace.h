// Names of ops are the words in which every other room speaks: a graph, a shape, a dimension, an error. They are
// visible in all of taso, and written with `ops::` only where a room has a name of its own that hides one. Names of
// other rooms are written with their room: `cost::Plan`, `rules::Rule`.
#pragma once

namespace taso::ops {}

namespace taso {
using namespace ops;
}
