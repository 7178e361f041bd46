#include "cost/pricing/onnxruntime_work.h"

namespace taso::cost {
namespace {

constexpr double least_nanoseconds = 500;            // to call an operator and allocate its result
constexpr double multiplications_a_nanosecond = 25;  // of products, with the additions
constexpr double operations_a_nanosecond = 2;
constexpr double bytes_a_nanosecond = 20;

}  // namespace

double onnxruntime_nanoseconds(const Kernel& kernel) {
  const double products = kernel.batches * kernel.rows * (kernel.columns + kernel.first_depth) * kernel.depth;
  return least_nanoseconds + products / multiplications_a_nanosecond + kernel.operations / operations_a_nanosecond +
         (kernel.bytes + kernel.weight_bytes) / bytes_a_nanosecond;
}

}  // namespace taso::cost
