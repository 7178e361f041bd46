#include "runtime/host/kernels/matmul.h"

#include <algorithm>

#include "ops/core/tensor.h"
#include "ops/support/threads.h"
#include "runtime/host/kernels/gemm.h"

namespace taso::runtime::kernels {

using std::int64_t;

template <class T>
void matmul(const Extents& a_extents, const Extents& b_extents, const Extents& result, const T* a, const T* b, T* c,
            unsigned threads) {
  const auto stack_of = [](const Extents& extents) { return Extents(extents.begin(), extents.end() - 2); };
  if (count(result) == 0) return;
  Extents stack = stack_of(result);
  int64_t rows = a_extents[a_extents.size() - 2];
  const int64_t depth = a_extents.back(), columns = b_extents.back();
  if (count(stack_of(b_extents)) == 1 && count(stack_of(a_extents)) == count(stack)) {
    // One right factor for all batches: stack the left ones into one tall matrix.
    rows *= count(stack);
    stack.clear();
  }
  std::vector<std::pair<const T*, const T*>> factors;
  if (stack.empty()) {
    factors.emplace_back(a, b);
  } else {
    const auto a_strides = ops::broadcast_strides(stack_of(a_extents), stack);
    const auto b_strides = ops::broadcast_strides(stack_of(b_extents), stack);
    for_each_index(stack, [&](const Extents& index) {
      factors.emplace_back(a + flat_index(index, a_strides) * rows * depth,
                           b + flat_index(index, b_strides) * depth * columns);
    });
  }
  const Cut cut = cut_product(rows, columns, depth, static_cast<int64_t>(factors.size()));
  const int64_t row_blocks = (rows + cut.rows - 1) / cut.rows,
                column_blocks = (columns + cut.columns - 1) / cut.columns;
  parallel_for(threads, static_cast<int64_t>(factors.size()) * row_blocks * column_blocks, [&](int64_t task) {
    const int64_t column = task % column_blocks * cut.columns, rest = task / column_blocks;
    const int64_t row = rest % row_blocks * cut.rows, which = rest / row_blocks;
    const auto [left, right] = factors[static_cast<std::size_t>(which)];
    Product<T> product{std::min(cut.rows, rows - row),
                       std::min(cut.columns, columns - column),
                       depth,
                       left + row * depth,
                       depth,
                       right + column,
                       columns,
                       c + (which * rows + row) * columns + column,
                       columns};
    for (int64_t i = 0; i < product.rows; ++i) std::fill_n(product.c + i * columns, product.columns, T(0));
    multiply_add(product);
  });
}

template void matmul(const Extents&, const Extents&, const Extents&, const float*, const float*, float*, unsigned);
template void matmul(const Extents&, const Extents&, const Extents&, const double*, const double*, double*, unsigned);

}  // namespace taso::runtime::kernels
