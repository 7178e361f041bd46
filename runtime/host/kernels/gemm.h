// Matrix products through BLAS, single-threaded: we parallelise ourselves, so that the blocks do not depend on the
// number of threads.
#pragma once

#include <cstdint>

namespace taso::runtime::kernels {

/// While an object of this class exists, BLAS starts no threads of its own.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

/// c += a b, all row-major with the given row strides; a is rows x depth, b is depth x columns.
template <class T>
struct Product {
  std::int64_t rows = 0, columns = 0, depth = 0;
  const T* a = nullptr;
  std::int64_t a_step = 0;
  const T* b = nullptr;
  std::int64_t b_step = 0;
  T* c = nullptr;
  std::int64_t c_step = 0;
};

/// Runs on the calling thread.
template <class T>
void multiply_add(const Product<T>& product);

/// The block size of a product, such that each block is worth a task.
struct Cut {
  std::int64_t rows = 1, columns = 1;  ///< of a block
};
Cut cut_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t products);

}  // namespace taso::runtime::kernels
