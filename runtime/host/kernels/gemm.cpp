#include "runtime/host/kernels/gemm.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <thread>

#include <sys/mman.h>
#include <sys/resource.h>

#include "ops/core/error.h"

// The Fortran interface: every BLAS has it, and it needs no header.
extern "C" {
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void sgemv_(const char*, const int*, const int*, const float*, const float*, const int*, const float*, const int*,
            const float*, float*, const int*);
void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*);
// OpenBLAS only: missing in other libraries.
[[gnu::weak]] void openblas_set_num_threads(int);
[[gnu::weak]] int openblas_get_num_threads();
}

namespace taso::runtime::kernels {
namespace {

std::mutex blas_guard;
int blas_users = 0;
int blas_threads = 1;

int narrow(std::int64_t value) {
  check(value >= 0 && value <= std::numeric_limits<int>::max(), "a matrix is small enough for BLAS");
  return static_cast<int>(value);
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

/// If memory is limited, OpenBLAS retries forever to allocate a buffer per thread: check beforehand that there is room.
void require_room_for_buffers() {
  constexpr std::size_t buffer = std::size_t{48} << 20;
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const std::size_t wanted = buffer * (std::max(std::thread::hardware_concurrency(), 1U) + 1);
  void* room = ::mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw EnvironmentError("the memory limit leaves no room for the buffers of BLAS");
  ::munmap(room, wanted);
}

}  // namespace

SingleThreadedBlas::SingleThreadedBlas() {
  static std::once_flag once;
  std::call_once(once, require_room_for_buffers);
  const std::lock_guard lock(blas_guard);
  if (blas_users++ > 0 || !openblas_set_num_threads || !openblas_get_num_threads) return;
  blas_threads = openblas_get_num_threads();
  if (blas_threads != 1) openblas_set_num_threads(1);
}

SingleThreadedBlas::~SingleThreadedBlas() {
  const std::lock_guard lock(blas_guard);
  if (--blas_users > 0 || !openblas_set_num_threads || !openblas_get_num_threads) return;
  if (blas_threads != 1) openblas_set_num_threads(blas_threads);
}

template <class T>
void multiply_add(const Product<T>& p) {
  if (p.rows == 0 || p.columns == 0 || p.depth == 0) return;
  constexpr bool is_float = std::is_same_v<T, float>;
  const T one = 1;
  const int rows = narrow(p.rows), columns = narrow(p.columns), depth = narrow(p.depth);
  // BLAS is column-major: our row-major matrix is a transpose for it, and (a b)' = b' a'.
  const int a_step = narrow(std::max<std::int64_t>(p.a_step, 1)), b_step = narrow(std::max<std::int64_t>(p.b_step, 1)),
            c_step = narrow(std::max<std::int64_t>(p.c_step, 1));
  const int unit = 1;
  if (p.rows == 1) {
    if constexpr (is_float)
      sgemv_("N", &columns, &depth, &one, p.b, &b_step, p.a, &unit, &one, p.c, &unit);
    else
      dgemv_("N", &columns, &depth, &one, p.b, &b_step, p.a, &unit, &one, p.c, &unit);
  } else if (p.columns == 1) {
    if constexpr (is_float)
      sgemv_("T", &depth, &rows, &one, p.a, &a_step, p.b, &b_step, &one, p.c, &c_step);
    else
      dgemv_("T", &depth, &rows, &one, p.a, &a_step, p.b, &b_step, &one, p.c, &c_step);
  } else {
    if constexpr (is_float)
      sgemm_("N", "N", &columns, &rows, &depth, &one, p.b, &b_step, p.a, &a_step, &one, p.c, &c_step);
    else
      dgemm_("N", "N", &columns, &rows, &depth, &one, p.b, &b_step, p.a, &a_step, &one, p.c, &c_step);
  }
}

template void multiply_add(const Product<float>&);
template void multiply_add(const Product<double>&);

Cut cut_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, std::int64_t products) {
  // Blocks of a few million multiplications keep threads evenly busy. Each block packs its operands again, so both of
  // its sides should be long: the longer one is cut first. Products with a vector are limited by memory, and worth
  // sharing much earlier.
  const double worth = rows == 1 || columns == 1 ? 2.5e5 : 4e6;
  constexpr std::int64_t shortest = 96, unit = 16;
  const double total = static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(depth);
  Cut cut{std::max<std::int64_t>(rows, 1), std::max<std::int64_t>(columns, 1)};
  std::int64_t blocks = products;
  while (blocks < 16 && total / (static_cast<double>(blocks) / static_cast<double>(products)) > 2 * worth) {
    std::int64_t& longer = cut.columns >= cut.rows ? cut.columns : cut.rows;
    if (longer < 2 * shortest) break;
    longer = round_up((longer + 1) / 2, unit);
    blocks *= 2;
  }
  return cut;
}

}  // namespace taso::runtime::kernels
