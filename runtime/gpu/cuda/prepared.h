// A launch that is ready to run: what a library or the compiler made of it, for addresses given at each launch. One
// launch often has several such alternatives; measurements decide which is fastest.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/launch.h"

namespace taso::gpu::cuda {

/// The addresses of the operands of a call.
struct Places {
  std::vector<std::byte*> read, written;
  std::byte* scratch = nullptr;    ///< of the lowering
  std::byte* workspace = nullptr;  ///< of one launch at a time
  /// Whether the launch waits only for its predecessor in its stream: then it may start before that one has ended.
  bool has_one_before = true;

  std::byte* of(const Argument& argument) const {
    switch (argument.place) {
      case Argument::Place::read: return read.at(argument.index) + argument.offset;
      case Argument::Place::written: return written.at(argument.index) + argument.offset;
      default: return scratch + argument.offset;
    }
  }
};

/// The least alignment of addresses. Measurements use 16; a program may have less.
struct Alignments {
  static constexpr std::int64_t usual = 16;
  std::vector<std::int64_t> read, written;  ///< those not listed have the usual one

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
  /// Whether other launches of its library must not run concurrently, because they share a handle.
  virtual bool is_exclusive() const { return false; }
  /// What a compiler made for it, if that is worth keeping.
  virtual const KernelBinary* binary() const { return nullptr; }
  /// Whether it has nothing to do at these addresses.
  virtual bool is_needless(const Places&) const { return false; }
  /// Throws EnvironmentError if the library refuses.
  virtual void launch(cudaStream_t stream, const Places& places) = 0;
};

/// One alternative for a launch. It is not prepared yet, because that can take long.
struct Alternative {
  std::string identity;  ///< identifies it in records: "engine 35 knobs 2=1,5=0"
  /// Throws EnvironmentError with the reason if this is not possible.
  std::function<std::unique_ptr<Prepared>()> prepare;
};

}  // namespace taso::gpu::cuda
