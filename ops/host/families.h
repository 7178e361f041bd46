// The host functions by family, one file each. A family is a table of (ONNX operator, function).
#pragma once

#include <span>
#include <utility>

#include "ops/host/host.h"

namespace taso::host {

using Family = std::span<const std::pair<std::string_view, HostFunction>>;

Family logic();          // comparisons, booleans, Where, Cast
Family movement();       // Shape, Expand, Transpose, Slice, …
Family padding();        // Pad, CenterCropPad
Family rearrangement();  // DepthToSpace, ReverseSequence, Trilu, …
Family creation();       // Range, ConstantOfShape, EyeLike
Family indexing();       // Gather*, Compress, NonZero, Unique, OneHot
Family scattering();     // Scatter*, TensorScatter
Family pooling();
Family normalisation();
Family resizing();           // Resize, Upsample
Family sampling();           // GridSample, AffineGrid
Family convolution();        // ConvTranspose, QLinearConv, Col2Im, …
Family recurrent();          // RNN, GRU, LSTM
Family attending();          // Attention, RotaryEmbedding, …
Family detection();          // NonMaxSuppression, RoiAlign, MaxRoiPool
Family signal_processing();  // DFT, STFT, windows

inline std::vector<Family> families() {
  return {
      logic(),      movement(),  padding(),       rearrangement(),     creation(), indexing(),
      scattering(), pooling(),   normalisation(), resizing(),          sampling(), convolution(),
      recurrent(),  attending(), detection(),     signal_processing(),
  };
}

}  // namespace taso::host
