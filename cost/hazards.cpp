#include "cost/hazards.h"

#include <algorithm>
#include <map>

namespace taso {
namespace {

void add(std::vector<Access>& list, const Binding& binding, const Call::Operand& operand, bool is_write) {
  const auto size = static_cast<std::int64_t>(size_of(operand.element));
  list.push_back({binding.place, binding.index, {binding.offset, size, operand.extents, operand.strides}, is_write});
}

}  // namespace

std::vector<Access> accesses_of(const DeviceSteps::Step& step) {
  std::vector<Access> list;
  for (const Call::Piece& piece : step.call.pieces) {
    const auto add_piece = [&](const Binding& binding, const Call::Operand& operand, std::int64_t offset,
                               const Extents& extents, const Strides& strides, bool is_write) {
      add(list, binding, {operand.element, extents, strides, operand.is_weight}, is_write);
      list.back().what.offset += offset * list.back().what.size;
    };
    add_piece(step.read[piece.read], step.call.read[piece.read], piece.from_offset, piece.from_extents,
              piece.from_strides, false);
    add_piece(step.written[piece.written], step.call.written[piece.written], piece.to_offset, piece.to_extents,
              piece.to_strides, true);
  }
  if (!step.call.pieces.empty() && !step.host) return list;
  for (std::size_t i = 0; i < step.read.size(); ++i) add(list, step.read[i], step.call.read[i], false);
  for (std::size_t i = 0; i < step.written.size(); ++i) add(list, step.written[i], step.call.written[i], true);
  return list;
}

std::vector<std::vector<std::uint32_t>> needs_of(const std::vector<DeviceSteps::Step>& steps) {
  struct Earlier {
    std::uint32_t step = 0;
    Access access;
  };
  std::map<std::pair<Binding::Place, std::uint32_t>, std::vector<Earlier>> memories;
  std::vector<std::vector<std::uint32_t>> needs(steps.size());
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    std::vector<std::uint32_t>& list = needs[i];
    const std::vector<Access> accesses = accesses_of(steps[i]);
    for (const Access& access : accesses) {
      if (access.place == Binding::Place::weights || access.place == Binding::Place::input) continue;
      for (const Earlier& earlier : memories[{access.place, access.index}]) {
        if (!access.is_write && !earlier.access.is_write) continue;
        if (!list.empty() && list.back() == earlier.step) continue;
        if (may_overlap(access.what, earlier.access.what)) list.push_back(earlier.step);
      }
    }
    for (const Access& access : accesses)
      if (access.place == Binding::Place::arena || access.place == Binding::Place::output)
        memories[{access.place, access.index}].push_back({i, access});
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return needs;
}

}  // namespace taso
