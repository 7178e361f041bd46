// The host functions by family, one file each. A family is a table of (ONNX operator, function).
#pragma once

#include <span>
#include <utility>

#include "runtime/host/host.h"

namespace taso::runtime {

using Family = std::span<const std::pair<std::string_view, HostFunction>>;

Family activation();         // Elu, Clip, Softmax, Dropout, …
Family arithmetic();         // Add, Pow, Mod, Max, Mean, …
Family attending();          // Attention, RotaryEmbedding, …
Family constant();           // Constant
Family convolution();        // ConvTranspose, QLinearConv, Col2Im, …
Family creation();           // Range, ConstantOfShape, EyeLike
Family detection();          // NonMaxSuppression, RoiAlign, MaxRoiPool
Family indexing();           // Gather*, Compress, NonZero, Unique, OneHot
Family linear();             // MatMul, Gemm, Det
Family logic();              // comparisons, booleans, Where, Cast
Family loss();               // NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss
Family movement();           // Shape, Expand, Transpose, Slice, …
Family normalisation();      // InstanceNormalization, LpNormalization, …
Family padding();            // Pad, CenterCropPad
Family pooling();            // MaxPool, AveragePool, LpPool, …
Family quantisation();       // QuantizeLinear, MatMulInteger, …
Family rearrangement();      // DepthToSpace, ReverseSequence, Trilu, …
Family recurrent();          // RNN, GRU, LSTM
Family reduction();          // ReduceSum, ArgMax, CumSum, …
Family resizing();           // Resize, Upsample
Family sampling();           // GridSample, AffineGrid
Family scattering();         // Scatter*, TensorScatter
Family selection();          // TopK
Family signal_processing();  // DFT, STFT, windows
Family summation();          // Einsum
Family unary();              // Abs, Exp, Sin, …

inline std::vector<Family> families() {
  return {
      activation(),         //
      arithmetic(),         //
      attending(),          //
      constant(),           //
      convolution(),        //
      creation(),           //
      detection(),          //
      indexing(),           //
      linear(),             //
      logic(),              //
      loss(),               //
      movement(),           //
      normalisation(),      //
      padding(),            //
      pooling(),            //
      quantisation(),       //
      rearrangement(),      //
      recurrent(),          //
      reduction(),          //
      resizing(),           //
      sampling(),           //
      scattering(),         //
      selection(),          //
      signal_processing(),  //
      summation(),          //
      unary(),              //
  };
}

}  // namespace taso::runtime
