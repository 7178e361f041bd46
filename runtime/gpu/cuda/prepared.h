// A launch that is ready to go: what a library or the compiler has made of it, for addresses that are given each time. There
// are often several such for one launch; which is fastest is measured.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/gpu/launch.h"

namespace taso::gpu::cuda {

/// Where the operands of a call are, this time.
struct Places {
  std::vector<std::byte*> read, written;
  std::byte* scratch = nullptr;    ///< of the lowering
  std::byte* workspace = nullptr;  ///< of one launch at a time
  /// Whether a launch waits for the one ahead of it in its stream alone: then it may begin before that one has ended.
  bool has_one_before = true;

  std::byte* of(const Argument& argument) const {
    switch (argument.place) {
      case Argument::Place::read: return read.at(argument.index) + argument.offset;
      case Argument::Place::written: return written.at(argument.index) + argument.offset;
      default: return scratch + argument.offset;
    }
  }
};

/// What addresses are multiples of, at least. Measured with 16; a program may have less.
struct Alignments {
  static constexpr std::int64_t usual = 16;
  std::vector<std::int64_t> read, written;  ///< the usual one for what is not listed

  std::int64_t of(const Argument& argument) const {
    std::int64_t base = usual;
    const std::vector<std::int64_t>& list = argument.place == Argument::Place::read ? read : written;
    if (argument.place != Argument::Place::scratch && argument.index < list.size()) base = list[argument.index];
    return std::gcd(base, argument.offset);
  }
  bool is_usual() const {
    for (const auto* list : {&read, &written})
      for (const std::int64_t alignment : *list)
        if (alignment < usual) return false;
    return true;
  }
};

class Prepared {
 public:
  virtual ~Prepared() = default;
  virtual std::size_t workspace_bytes() const = 0;
  /// Whether others of its library may not run beside it: what belongs to a handle of the library is there once.
  virtual bool is_exclusive() const { return false; }
  /// Throws EnvironmentError if the library refuses.
  virtual void launch(cudaStream_t stream, const Places& places) = 0;
};

/// One way to do a launch, not prepared yet, for that can take long.
struct Alternative {
  std::string identity;  ///< by which it can be found again: "engine 35 knobs 2=1,5=0"
  /// Throws EnvironmentError with the reason if it cannot be done.
  std::function<std::unique_ptr<Prepared>()> prepare;
};

}  // namespace taso::gpu::cuda
