#include "runtime/gpu/footprint.h"

#include <algorithm>

namespace taso::gpu {
namespace {

bool is_empty(const Footprint& one) {
  return std::find(one.extents.begin(), one.extents.end(), 0) != one.extents.end();
}

/// The bytes from the start of the first element to the end of the last, counting only axes whose stride is not a
/// multiple of `period`; all axes if the period is 0.
std::int64_t reach(const Footprint& one, std::int64_t period) {
  std::int64_t bytes = one.size;
  for (std::size_t axis = 0; axis < one.extents.size(); ++axis) {
    const std::int64_t distance = one.strides[axis] * one.size;
    if (period == 0 || distance % period != 0) bytes += (one.extents[axis] - 1) * distance;
  }
  return bytes;
}

/// Whether the two lie in disjoint ranges modulo the period.
bool are_apart(const Footprint& a, const Footprint& b, std::int64_t period) {
  const std::int64_t of_a = reach(a, period), of_b = reach(b, period);
  if (of_a > period || of_b > period) return false;
  const std::int64_t distance = ((b.offset - a.offset) % period + period) % period;
  return distance >= of_a && distance + of_b <= period;
}

}  // namespace

std::int64_t length_of(const Footprint& one) { return is_empty(one) ? 0 : reach(one, 0); }

bool may_overlap(const Footprint& a, const Footprint& b) {
  if (is_empty(a) || is_empty(b)) return false;
  if (a.offset + reach(a, 0) <= b.offset || b.offset + reach(b, 0) <= a.offset) return false;
  for (const Footprint* one : {&a, &b})
    for (std::size_t axis = 0; axis < one->extents.size(); ++axis) {
      const std::int64_t period = one->strides[axis] * one->size;
      if (one->extents[axis] > 1 && period > 0 && are_apart(a, b, period)) return false;
    }
  return true;
}

}  // namespace taso::gpu
