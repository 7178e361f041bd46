#include "cost/plan/role.h"

namespace taso::cost {

double operations_per_element(const Operator& op) {
  return std::visit(
      [&]<class Op>(const Op&) -> double {
        if constexpr (requires { Op::kernel_flops; }) return Op::kernel_flops;
        if constexpr (requires { Op::flops; }) return Op::flops;
        const Role role = role_of(op);
        if (role == Role::pooling) return 8;  // mostly locating and reading one element of a window
        return role == Role::rows ? 1 : 0;
      },
      op);
}

}  // namespace taso::cost
