// Matrix products through BLAS, one thread per call: the parallelism is ours, so that the cuts do not depend on the number
// of threads.
#pragma once

#include <cstdint>

namespace taso::runtime::kernels {

/// While one lives, BLAS starts no threads of its own.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

/// c += a b, all row-major with the given distances between rows; a is rows x depth, b is depth x columns.
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

/// On the calling thread.
template <class T>
void multiply_add(const Product<T>& product);

/// How a product is cut into blocks that are worth a task each.
struct Cut {
  std::int64_t rows = 1, columns = 1;  ///< of a block
};
Cut cut_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t products);

}  // namespace taso::runtime::kernels
