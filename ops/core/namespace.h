// Every other layer uses the names of ops: graph, shape, dimension, error. So they are visible in all of taso, and
// `ops::` is written only where a layer has a name of its own that hides one. Names of other layers are qualified:
// `cost::Plan`, `rules::Rule`.
#pragma once

namespace taso::ops {}

namespace taso {
using namespace ops;
}
