// The launches that do a call on a GPU. Each is a library's product, or a kernel of our own with generated source. A
// call often has several variants; measurements decide which is fastest.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cost/pricing/call.h"

namespace taso::gpu {

/// The memory of a launch: an operand of the call, or a part of the scratch memory of the lowering.
struct Argument {
  enum class Place : std::uint8_t { read, written, scratch };
  Place place = Place::read;
  std::uint32_t index = 0;  ///< of an operand
  std::int64_t offset = 0;  ///< in bytes
  bool operator==(const Argument&) const = default;
};

/// A tensor as passed to a library.
struct LaunchTensor {
  Argument memory;
  ElementType element = ElementType::undefined;
  Extents extents;
  cost::Strides strides;
};

/// An operation applied to each element of a product before it is written. Each takes the current value and, if it is
/// binary, an operand.
struct Pointwise {
  enum class Mode : std::uint8_t {
    add,
    sub,
    mul,
    div,
    max,
    min,  ///< binary, up to here
    relu,
    clip,
    leaky_relu,
    sigmoid,
    tanh,
    gelu,
    gelu_tanh,
    exp,
    erf,
    sqrt,
    scale  ///< unary, from relu on
  };
  Mode mode = Mode::relu;
  std::optional<LaunchTensor> operand;  ///< broadcasts to the product's result: same rank, extents equal or 1
  bool is_operand_first = false;        ///< for `sub` and `div`
  double low = 0, high = 0;  ///< the bounds of clip; `low` is also the slope of leaky_relu and the factor of scale
};

/// x [N, C, spatial...] with w [O, C / groups, kernel...]; computed in float32 or TF32.
struct ConvolutionLaunch {
  LaunchTensor x, w, y;
  std::vector<std::int64_t> strides, dilations, pads_before, pads_after;
  std::int64_t groups = 1;
  bool is_tf32 = false;
  std::vector<Pointwise> epilogue;
};

/// a [batch..., rows, depth] times b [batch..., depth, columns]. A batch dimension of a factor may be broadcast with
/// stride 0. All three tensors have the same rank, at least 2.
struct MatmulLaunch {
  LaunchTensor a, b, y;
  bool is_tf32 = false;
  std::vector<Pointwise> epilogue;
};

/// A kernel of our own. Its parameters are pointers, in the order of the arguments.
struct SourceLaunch {
  std::string source;  ///< CUDA C++ without headers, with an `extern "C" __global__ void` function of this name
  std::string name;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::uint32_t block = 1;
  std::uint32_t shared_bytes = 0;  ///< dynamic
  std::uint32_t cluster = 1;       ///< blocks per cluster; the source declares it too
  /// Uses programmatic dependent launch: starts early and calls griddepcontrol.wait itself.
  bool begins_early = false;
  /// Copies the first argument to the last: not needed if both are the same memory. Another launch follows it.
  bool only_copies = false;
  std::vector<Argument> arguments;
};

using Launch = std::variant<ConvolutionLaunch, MatmulLaunch, SourceLaunch>;

struct Lowering {
  std::string name;  ///< the variant, for people and records: "fused", "apart", "direct"
  std::vector<Launch> launches;
  std::int64_t scratch_bytes = 0;  ///< without the workspaces of libraries
  bool is_makeshift = false;       ///< only worth trying if no single kernel of ours does the call
};

/// Whether all of its launches are kernels of our own.
bool is_own(const Lowering& lowering);

/// All known variants, most promising first; at least one.
std::vector<Lowering> lowerings(const cost::Call& call);

}  // namespace taso::gpu
