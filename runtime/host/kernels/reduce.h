// Sums, means and maxima along axes, and the normalisations built from them.
#pragma once

#include <cstdint>

namespace taso::runtime::kernels {

/// A tensor as [outer, length, inner]; the middle dimension is reduced.
struct Layers {
  std::int64_t outer = 1, length = 1, inner = 1;
};

enum class Reduce { sum, mean, maximum };

/// y is [outer, inner]. An empty sum is 0; a mean or maximum needs at least one element.
template <class T>
void reduce(Reduce kind, const Layers& layers, const T* x, T* y, unsigned threads);

/// Works in place too, as do all functions below.
template <class T>
void softmax(const Layers& layers, const T* x, T* y, unsigned threads);

/// Normalises `rows` rows to mean 0 and variance 1, then multiplies by gain and adds bias, each one row or null.
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
