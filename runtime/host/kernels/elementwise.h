// Element-wise loops over operands that broadcast, in stretches that compilers can vectorise.
#pragma once

#include "ops/core/tensor.h"
#include "ops/support/threads.h"
#include "runtime/host/kernels/vectorise.h"

namespace taso::runtime::kernels {

/// Two operands and the result, with neighbouring dimensions merged where both operands allow it.
struct BroadcastPlan {
  Extents extents;                             ///< of the result; at least one dimension
  std::vector<std::int64_t> a_steps, b_steps;  ///< 0 where the operand is repeated
};
BroadcastPlan plan_broadcast(const Extents& a, const Extents& b, const Extents& result);

/// The number of elements that is worth a task.
inline constexpr std::int64_t elementwise_grain = 1 << 15;

/// out[i] = f(x[i]); `x` and `out` may be the same.
template <class T, class F>
void map(std::int64_t count, const T* x, T* out, unsigned threads, const F& f) {
  parallel_ranges(threads, count, elementwise_grain, [&](std::int64_t begin, std::int64_t end) {
    TASO_INDEPENDENT
    for (std::int64_t i = begin; i < end; ++i) out[i] = f(x[i]);
  });
}

/// out = f(a, b) along one stretch.
template <class T, class F>
void zip_stretch(std::int64_t count, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T* out,
                 const F& f) {
  if (a_step != 0 && b_step != 0) {
    TASO_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(a[i], b[i]);
  } else if (a_step != 0) {
    const T fixed = *b;
    TASO_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(a[i], fixed);
  } else if (b_step != 0) {
    const T fixed = *a;
    TASO_INDEPENDENT
    for (std::int64_t i = 0; i < count; ++i) out[i] = f(fixed, b[i]);
  } else {
    std::fill_n(out, count, f(*a, *b));
  }
}

/// out = f(a, b) with broadcasting; `out` may be an operand with the shape of the result.
template <class T, class F>
void zip(const BroadcastPlan& plan, const T* a, const T* b, T* out, unsigned threads, const F& f) {
  const std::size_t last = plan.extents.size() - 1;
  const std::int64_t width = plan.extents[last];
  parallel_ranges(threads, count(plan.extents), elementwise_grain, [&](std::int64_t begin, std::int64_t end) {
    Extents index(plan.extents.size());
    std::int64_t rest = begin;
    for (std::size_t d = last + 1; d-- > 0; rest /= plan.extents[d]) index[d] = rest % plan.extents[d];
    std::int64_t a_at = flat_index(index, plan.a_steps), b_at = flat_index(index, plan.b_steps);
    while (begin < end) {
      const std::int64_t length = std::min(width - index[last], end - begin);
      zip_stretch(length, a + a_at, plan.a_steps[last], b + b_at, plan.b_steps[last], out + begin, f);
      begin += length;
      index[last] += length;
      a_at += length * plan.a_steps[last];
      b_at += length * plan.b_steps[last];
      for (std::size_t d = last; d > 0 && index[d] == plan.extents[d]; --d) {
        a_at += plan.a_steps[d - 1] - plan.a_steps[d] * plan.extents[d];
        b_at += plan.b_steps[d - 1] - plan.b_steps[d] * plan.extents[d];
        index[d] = 0;
        ++index[d - 1];
      }
    }
  });
}

}  // namespace taso::runtime::kernels
