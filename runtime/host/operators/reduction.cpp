// Reductions along axes, positions of extremes, and running sums and products.
#include <cmath>
#include <limits>

#include "runtime/host/families.h"
#include "runtime/host/loops.h"

namespace taso::runtime {
namespace {

struct Plan {
  Extents kept;    // with reduced axes at 1
  Extents result;  // as keepdims of the node requires
  std::int64_t per_result = 1;
};

// Axes moved from attributes to operands in opset 18, for ReduceSum in 13.
std::optional<std::vector<std::int64_t>> axes_of(const HostCall& call) {
  if (call.opset >= (call.op_type == "ReduceSum" ? 13 : 18))
    return call.has(1) ? std::optional(indices_of(call, 1)) : std::nullopt;
  return call.attributes.has("axes") ? std::optional(call.attributes.integers("axes")) : std::nullopt;
}

bool keeps_dimensions(const HostCall& call) {
  const std::int64_t keeps = call.attributes.integer("keepdims", 1);
  require(call, keeps == 0 || keeps == 1, "has a keepdims other than 0 and 1, on which runtimes do not agree");
  return keeps == 1;
}

Plan plan_of(const HostCall& call) {
  const Extents& extents = call.input(0).extents();
  const auto axes = axes_of(call);
  const bool none_given = !axes || axes->empty();
  const bool nothing = none_given && call.attributes.integer("noop_with_empty_axes", 0) != 0;
  std::vector<bool> reduced(extents.size(), none_given && !nothing);
  if (!none_given)
    for (const std::int64_t axis : *axes) reduced[axis_in(call, axis, extents.size())] = true;
  const bool keeps = keeps_dimensions(call);
  Plan plan;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    plan.kept.push_back(reduced[i] ? 1 : extents[i]);
    if (!reduced[i] || keeps) plan.result.push_back(plan.kept.back());
  }
  const std::int64_t results = count(plan.kept);
  plan.per_result = results == 0 ? 0 : call.input(0).size() / results;
  return plan;
}

// Combines each element with the accumulator of its result: combine(accumulator, element, index of the result).
template <class T, class Accumulator, class Combine>
std::vector<Accumulator> accumulate(const Array& in, const Plan& plan, Accumulator start, Combine combine) {
  std::vector<Accumulator> totals;
  try {
    totals.assign(static_cast<std::size_t>(count(plan.kept)), start);
  } catch (const std::exception&) {  // reducing an empty tensor may give a large one
    throw EnvironmentError("not enough memory for a reduction");
  }
  const T* const from = in.values<T>().data();
  for_each_row<2>(in.extents(), {strides_of(in.extents()), broadcast_strides(plan.kept, in.extents())},
                  [&](const auto& at, const auto& step, std::int64_t number) {
                    const T* const x = from + at[0];
                    if (step[1] == 0) {
                      const auto index = static_cast<std::size_t>(at[1]);
                      Accumulator total = totals[index];
                      for (std::int64_t i = 0; i < number; ++i) total = combine(total, x[i * step[0]], index);
                      totals[index] = total;
                    } else {
                      for (std::int64_t i = 0; i < number; ++i) {
                        const auto index = static_cast<std::size_t>(at[1] + i * step[1]);
                        totals[index] = combine(totals[index], x[i * step[0]], index);
                      }
                    }
                  });
  return totals;
}

template <class T>
T narrowed(double value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else  // saturates, and NaN becomes 0
    return Array::scalar(value).cast(element_type_of<T>).template values<T>()[0];
}

template <class T, class Accumulator, class Finish>
std::vector<Array> finished(const Plan& plan, const std::vector<Accumulator>& totals, Finish finish) {
  Array result(element_type_of<T>, plan.result);
  const auto to = result.mutable_values<T>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = finish(totals[i]);
  return {std::move(result)};
}

// Sums of integers wrap in 64 bits; floating-point sums use double precision.
template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

constexpr auto identity = [](auto x) { return x; };
constexpr auto magnitude = [](auto x) { return x < 0 ? wrapping_subtract(decltype(x){0}, x) : x; };
constexpr auto square = [](auto x) { return wrapping_multiply(x, x); };

template <auto term, bool averages>
std::vector<Array> reduce_sum(const HostCall& call) {
  return through_float(call, [](const HostCall& wide) {
    const Plan plan = plan_of(wide);
    return with_number(wide, wide.input(0).type(), [&](auto tag) {
      using T = decltype(tag);
      using W = Wide<T>;
      // Computes the term in 64 bits, because a magnitude or a square may not fit into a narrower type.
      using Exact = std::conditional_t<std::is_floating_point_v<T>, double,
                                       std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>;
      const auto totals = accumulate<T, W>(wide.input(0), plan, W{0}, [](W total, T x, std::size_t) {
        return static_cast<W>(total + static_cast<W>(term(static_cast<Exact>(x))));
      });
      return finished<T>(plan, totals, [&](W total) {
        if constexpr (!averages)
          return static_cast<T>(total);
        else if constexpr (std::is_floating_point_v<T>)
          return static_cast<T>(total / static_cast<double>(plan.per_result));
        else
          return plan.per_result == 0 ? T{0}
                                      : static_cast<T>(static_cast<Exact>(total) / static_cast<Exact>(plan.per_result));
      });
    });
  });
}

// Sums whose result is not an integer even for integer terms: computed in double precision throughout.
template <auto term, auto finish>
std::vector<Array> reduce_real(const HostCall& call) {
  return through_float(call, [](const HostCall& wide) {
    const Plan plan = plan_of(wide);
    return with_number(wide, wide.input(0).type(), [&](auto tag) {
      using T = decltype(tag);
      const auto totals = accumulate<T, double>(wide.input(0), plan, 0.0, [](double total, T x, std::size_t) {
        return total + term(static_cast<double>(x));
      });
      return finished<T>(plan, totals, [](double total) { return narrowed<T>(finish(total)); });
    });
  });
}

constexpr auto root = [](double x) { return std::sqrt(x); };
constexpr auto logarithm = [](double x) { return std::log(x); };

std::vector<Array> reduce_log_sum_exp(const HostCall& call) {
  return through_float(call, [](const HostCall& wide) {
    const Plan plan = plan_of(wide);
    const Array& in = wide.input(0);
    return with_number(wide, in.type(), [&](auto tag) {
      using T = decltype(tag);
      constexpr double infinity = std::numeric_limits<double>::infinity();
      // Subtracts the largest exponent first, so that nothing overflows.
      auto largest = accumulate<T, double>(
          in, plan, -infinity, [](double total, T x, std::size_t) { return larger(total, static_cast<double>(x)); });
      std::vector<double> shift = largest;
      for (double& s : shift)
        if (std::isinf(s)) s = 0;
      const auto sums = accumulate<T, double>(in, plan, 0.0, [&](double total, T x, std::size_t index) {
        return total + std::exp(static_cast<double>(x) - shift[index]);
      });
      for (std::size_t i = 0; i < sums.size(); ++i) largest[i] = std::log(sums[i]) + shift[i];
      return finished<T>(plan, largest, narrowed<T>);
    });
  });
}

std::vector<Array> reduce_product(const HostCall& call) {
  return through_float(call, [](const HostCall& wide) {
    const Plan plan = plan_of(wide);
    return with_number(wide, wide.input(0).type(), [&](auto tag) {
      using T = decltype(tag);
      using W = Wide<T>;
      const auto totals = accumulate<T, W>(wide.input(0), plan, W{1}, [](W total, T x, std::size_t) {
        return static_cast<W>(total * static_cast<W>(x));
      });
      return finished<T>(plan, totals, [](W total) { return static_cast<T>(total); });
    });
  });
}

template <bool maximum>
std::vector<Array> reduce_extreme(const HostCall& call) {
  if (call.input(0).type() == ElementType::boolean) {  // ordered as false < true
    HostCall bytes = call;
    bytes.inputs[0] = call.input(0).cast(ElementType::uint8);
    auto results = reduce_extreme<maximum>(bytes);
    return {results[0].cast(ElementType::boolean)};
  }
  return through_float(call, [](const HostCall& wide) {
    const Plan plan = plan_of(wide);
    return with_number(wide, wide.input(0).type(), [&](auto tag) {
      using T = decltype(tag);
      using Limits = std::numeric_limits<T>;
      const T highest = Limits::has_infinity ? Limits::infinity() : Limits::max();
      const T lowest = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
      const auto totals =
          accumulate<T, T>(wide.input(0), plan, maximum ? lowest : highest,
                           [](T total, T x, std::size_t) { return maximum ? larger(total, x) : smaller(total, x); });
      return finished<T>(plan, totals, [](T total) { return total; });
    });
  });
}

template <bool maximum>
std::vector<Array> position(const HostCall& call) {
  const bool last = call.attributes.integer("select_last_index", 0) != 0;
  return through_float(call, [&](const HostCall& wide) {
    const Array& in = wide.input(0);
    const std::size_t axis = axis_in(wide, wide.attributes.integer("axis", 0), in.rank());
    Extents extents = in.extents();
    require(wide, extents[axis] > 0, "has no element along its axis");
    const AxisView view(in.extents(), axis);
    extents[axis] = 1;
    if (!keeps_dimensions(wide)) extents.erase(extents.begin() + static_cast<std::ptrdiff_t>(axis));
    Array result(ElementType::int64, extents);
    if (in.size() == 0) return std::vector<Array>{std::move(result)};
    const auto to = result.mutable_values<std::int64_t>();
    with_number(wide, in.type(), [&](auto tag) {
      using T = decltype(tag);
      const T* const from = in.values<T>().data();
      const auto better = [&](T x, T best) {  // the first NaN is the extreme, as in numpy
        if (best != best) return last && x != x;
        return x != x || (maximum ? x > best : x < best) || (last && x == best);
      };
      for (std::int64_t o = 0; o < view.outer; ++o)
        for (std::int64_t i = 0; i < view.inner; ++i) {
          const T* const line = from + o * view.length * view.inner + i;
          std::int64_t best = 0;
          for (std::int64_t k = 1; k < view.length; ++k)
            if (better(line[k * view.inner], line[best * view.inner])) best = k;
          to[static_cast<std::size_t>(o * view.inner + i)] = best;
        }
    });
    return std::vector<Array>{std::move(result)};
  });
}

template <bool multiplies>
std::vector<Array> cumulative(const HostCall& call) {
  const bool exclusive = call.attributes.integer("exclusive", 0) != 0;
  const bool reverse = call.attributes.integer("reverse", 0) != 0;
  const std::int64_t given = integer_of(call, 1);
  return through_float(call, [&](const HostCall& wide) {
    const Array& in = wide.input(0);
    const std::size_t axis = axis_in(wide, given, in.rank());
    const AxisView view(in.extents(), axis);
    return with_number(wide, in.type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      Array result(in.type(), in.extents());
      const T* const from = in.values<T>().data();
      T* const to = result.mutable_values<T>().data();
      if (in.size() == 0) return {std::move(result)};
      for (std::int64_t o = 0; o < view.outer; ++o)
        for (std::int64_t i = 0; i < view.inner; ++i) {
          T total = multiplies ? T{1} : T{0};
          for (std::int64_t k = 0; k < view.length; ++k) {
            const std::int64_t at = (o * view.length + (reverse ? view.length - 1 - k : k)) * view.inner + i;
            const T next = multiplies ? wrapping_multiply(total, from[at]) : wrapping_add(total, from[at]);
            to[at] = exclusive ? total : next;
            total = next;
          }
        }
      return {std::move(result)};
    });
  });
}

}  // namespace

Family reduction() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"ArgMax", position<true>},
      {"ArgMin", position<false>},
      {"CumProd", cumulative<true>},
      {"CumSum", cumulative<false>},
      {"ReduceL1", reduce_sum<magnitude, false>},
      {"ReduceL2", reduce_real<square, root>},
      {"ReduceLogSum", reduce_real<identity, logarithm>},
      {"ReduceLogSumExp", reduce_log_sum_exp},
      {"ReduceMax", reduce_extreme<true>},
      {"ReduceMean", reduce_sum<identity, true>},
      {"ReduceMin", reduce_extreme<false>},
      {"ReduceProd", reduce_product},
      {"ReduceSum", reduce_sum<identity, false>},
      {"ReduceSumSquare", reduce_sum<square, false>},
  };
  return functions;
}

}  // namespace taso::runtime
