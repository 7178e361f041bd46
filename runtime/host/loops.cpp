#include "runtime/host/loops.h"

namespace taso::runtime {

void require_same_type(const HostCall& call, std::size_t first, std::size_t last) {
  for (std::size_t i = first + 1; i < std::min(last, call.inputs.size()); ++i)
    if (call.has(i))
      require(call, call.input(i).type() == call.input(first).type(), "takes operands of one element type");
}

Strides broadcast_strides(const Extents& operand, const Extents& result) {
  const Strides own = strides_of(operand);
  Strides strides(result.size(), 0);
  const std::size_t offset = result.size() - operand.size();
  for (std::size_t i = 0; i < operand.size(); ++i)
    if (operand[i] != 1) strides[offset + i] = own[i];
  return strides;
}

Extents broadcast_operands(const HostCall& call) {
  Extents extents = call.input(0).extents();
  for (std::size_t i = 1; i < call.inputs.size(); ++i) extents = broadcast(extents, call.input(i).extents());
  return extents;
}

void simplify_walk(Extents& extents, std::span<Strides*> strides) {
  std::size_t kept = 0;  // dimensions [0, kept) are the simplified ones
  for (std::size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == 1) continue;
    const bool joins = kept > 0 && std::all_of(strides.begin(), strides.end(), [&](const Strides* s) {
                         return (*s)[kept - 1] == (*s)[d] * extents[d];
                       });
    if (!joins) ++kept;
    extents[kept - 1] = joins ? extents[kept - 1] * extents[d] : extents[d];
    for (Strides* s : strides) (*s)[kept - 1] = (*s)[d];
  }
  extents.resize(kept);
  for (Strides* s : strides) s->resize(kept);
}

}  // namespace taso::runtime
