// Sums, means and maxima along axes, and the normalisations that are made of them.
#pragma once

#include <cstdint>

namespace taso::runtime::kernels {

/// A tensor seen as [outer, length, inner], where the middle is what is gone through.
struct Layers {
  std::int64_t outer = 1, length = 1, inner = 1;
};

enum class Reduce { sum, mean, maximum };

/// y is [outer, inner]. The sum of nothing is 0; there is always something to take a mean or a maximum of.
template <class T>
void reduce(Reduce kind, const Layers& layers, const T* x, T* y, unsigned threads);

/// May work in place, as may all that follow.
template <class T>
void softmax(const Layers& layers, const T* x, T* y, unsigned threads);

/// Rows of mean 0 and variance 1, `rows` of them, then times gain and plus bias, which are a row each or null.
template <class T>
void layer_norm(std::int64_t rows, std::int64_t length, T epsilon, const T* x, const T* gain, const T* bias, T* y,
                unsigned threads);

template <class T>
struct BatchNormOperands {
  const T *scale, *bias, *mean, *variance;
};
/// x is [batch, channels, size].
template <class T>
void batch_norm(std::int64_t batch, std::int64_t channels, std::int64_t size, T epsilon, const T* x,
                const BatchNormOperands<T>& operands, T* y, unsigned threads);

}  // namespace taso::runtime::kernels
