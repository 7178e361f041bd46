#include "runtime/gpu/hazards.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

namespace taso::gpu {
namespace {

void add(std::vector<MemoryAccess>& list, const Binding& binding, const cost::Call::Operand& operand, bool is_write) {
  const auto size = static_cast<std::int64_t>(size_of(operand.element));
  list.push_back({binding.place, binding.index, {binding.offset, size, operand.extents, operand.strides}, is_write});
}

/// The bytes of a memory that steps touched, sorted by offset within classes of similar length. Searches only nearby
/// entries, because thousands of steps may touch parts of one buffer.
class Touched {
 public:
  void add(std::uint32_t step, const Footprint& what) {
    const std::int64_t length = length_of(what);
    if (length > 0)
      by_length_[static_cast<int>(std::bit_width(static_cast<std::uint64_t>(length)))].emplace(what.offset,
                                                                                               Entry{step, what});
  }

  /// Appends the steps that may have touched any of these bytes.
  void find(const Footprint& what, std::vector<std::uint32_t>& steps) const {
    const std::int64_t end = what.offset + length_of(what);
    for (const auto& [width, entries] : by_length_) {
      const std::int64_t longest = std::int64_t{1} << std::min(width, 62);
      for (auto one = entries.lower_bound(what.offset - longest); one != entries.end() && one->first < end; ++one)
        if ((steps.empty() || steps.back() != one->second.step) && may_overlap(what, one->second.what))
          steps.push_back(one->second.step);
    }
  }

 private:
  struct Entry {
    std::uint32_t step = 0;
    Footprint what;
  };
  std::map<int, std::multimap<std::int64_t, Entry>> by_length_;
};

struct Memory {
  Touched read, written;
};

/// The input over which a step writes some elements to make an output, if it only does that.
std::optional<DeviceSteps::InPlace> written_over(const DeviceSteps::Step& step) {
  const std::optional<cost::Call::Function>& function = step.call.function;
  if (step.host || !function || function->what.family != cost::DeviceFunction::Family::scatter) return std::nullopt;
  const Binding &from = step.read.at(function->operands.at(0)), &to = step.written.at(0);
  if (from.place != Binding::Place::input || to.place != Binding::Place::output) return std::nullopt;
  if (from.offset != 0 || to.offset != 0) return std::nullopt;
  // Indices and updates are read while elements are written.
  const auto is_read = [&](const Binding& other) { return other.place == from.place && other.index == from.index; };
  const auto& all = function->operands;
  if (std::count_if(step.read.begin(), step.read.end(), is_read) != 1 ||
      std::count(all.begin(), all.end(), all[0]) != 1)
    return std::nullopt;
  return DeviceSteps::InPlace{from.index, to.index};
}

}  // namespace

std::vector<MemoryAccess> accesses_of(const DeviceSteps::Step& step) {
  std::vector<MemoryAccess> list;
  for (const cost::Call::Piece& piece : step.call.pieces) {
    const auto add_piece = [&](const Binding& binding, const cost::Call::Operand& operand, std::int64_t offset,
                               const Extents& extents, const cost::Strides& strides, bool is_write) {
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

std::vector<DeviceSteps::InPlace> in_place_of(const DeviceSteps& steps) {
  // The last step that reads each input, and how many steps write each output.
  std::vector<std::size_t> last_reader(steps.input_bytes.size(), 0), writers(steps.output_bytes.size(), 0);
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    for (const Binding& binding : steps.steps[i].read)
      if (binding.place == Binding::Place::input) last_reader[binding.index] = i;
    for (const Binding& binding : steps.steps[i].written)
      if (binding.place == Binding::Place::output) ++writers[binding.index];
  }
  std::vector<DeviceSteps::InPlace> list;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const std::optional<DeviceSteps::InPlace> pair = written_over(steps.steps[i]);
    if (!pair || last_reader[pair->input] != i || writers[pair->output] != 1) continue;
    const bool is_alike = steps.input_bytes[pair->input] == steps.output_bytes[pair->output] &&
                          steps.input_elements[pair->input] == steps.output_elements[pair->output];
    if (is_alike) list.push_back(*pair);
  }
  return list;
}

std::vector<std::vector<std::uint32_t>> needs_of(const std::vector<DeviceSteps::Step>& steps,
                                                 const std::vector<DeviceSteps::InPlace>& in_place) {
  std::map<std::uint32_t, std::uint32_t> output_of;  // by input
  for (const DeviceSteps::InPlace& pair : in_place) output_of[pair.input] = pair.output;
  std::map<std::pair<Binding::Place, std::uint32_t>, Memory> memories;
  std::vector<std::vector<std::uint32_t>> needs(steps.size());
  for (std::uint32_t i = 0; i < steps.size(); ++i) {
    std::vector<std::uint32_t>& list = needs[i];
    std::vector<MemoryAccess> accesses = accesses_of(steps[i]);
    for (MemoryAccess& access : accesses)
      if (const auto output = output_of.find(access.index);
          access.place == Binding::Place::input && output != output_of.end()) {
        access.place = Binding::Place::output;
        access.index = output->second;
      }
    const auto is_watched = [](const MemoryAccess& access) {
      return access.place == Binding::Place::arena || access.place == Binding::Place::output;
    };
    for (const MemoryAccess& access : accesses) {
      if (!is_watched(access)) continue;
      const Memory& memory = memories[{access.place, access.index}];
      memory.written.find(access.what, list);
      if (access.is_write) memory.read.find(access.what, list);
    }
    for (const MemoryAccess& access : accesses) {
      if (!is_watched(access)) continue;
      Memory& memory = memories[{access.place, access.index}];
      (access.is_write ? memory.written : memory.read).add(i, access.what);
    }
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return needs;
}

}  // namespace taso::gpu
