// TopK: the largest or smallest elements along an axis, with their positions.
#include <numeric>

#include "runtime/host/families.h"
#include "runtime/host/loops.h"

namespace taso::runtime {
namespace {

std::vector<Array> top(const HostCall& call) {
  const bool largest = call.opset < 11 || call.attributes.integer("largest", 1) != 0;
  const std::int64_t wanted = call.opset < 10 ? call.attributes.integer("k", -1) : integer_of(call, 1);
  return through_float(call, [&](const HostCall& wide) {
    const Array& in = wide.input(0);
    const std::size_t axis = axis_in(wide, wide.attributes.integer("axis", -1), in.rank());
    const AxisView view(in.extents(), axis);
    require(wide, wanted >= 0 && wanted <= in.extents()[axis], "takes no more elements than there are along the axis");
    Extents extents = in.extents();
    extents[axis] = wanted;
    Array values(in.type(), extents), positions(ElementType::int64, extents);
    const auto at = positions.mutable_values<std::int64_t>();
    if (values.size() == 0) return std::vector<Array>{std::move(values), std::move(positions)};
    with_number(wide, in.type(), [&](auto tag) {
      using T = decltype(tag);
      const T* const from = in.values<T>().data();
      const auto to = values.mutable_values<T>();
      std::vector<std::int64_t> order(static_cast<std::size_t>(view.length));
      for (std::int64_t o = 0; o < view.outer; ++o)
        for (std::int64_t i = 0; i < view.inner; ++i) {
          const T* const line = from + o * view.length * view.inner + i;
          // NaN counts as the largest value; ties are broken by position, so this is a total order, as sorting
          // requires.
          const auto before = [&](std::int64_t left, std::int64_t right) {
            const T a = line[left * view.inner], b = line[right * view.inner];
            const bool a_is_nan = a != a, b_is_nan = b != b;
            if (a_is_nan != b_is_nan) return a_is_nan == largest;
            if (a_is_nan || a == b) return left < right;
            return largest ? a > b : a < b;
          };
          std::iota(order.begin(), order.end(), 0);
          std::partial_sort(order.begin(), order.begin() + wanted, order.end(), before);
          for (std::int64_t k = 0; k < wanted; ++k) {
            const auto target = static_cast<std::size_t>((o * wanted + k) * view.inner + i);
            at[target] = order[static_cast<std::size_t>(k)];
            to[target] = line[order[static_cast<std::size_t>(k)] * view.inner];
          }
        }
    });
    return std::vector<Array>{std::move(values), std::move(positions)};
  });
}

}  // namespace

Family selection() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {{"TopK", top}};
  return functions;
}

}  // namespace taso::runtime
