// How a call is done on a GPU: a few launches, each a library's product or a kernel of our own whose source is written for it.
// A call can often be done in several ways; which one is fastest is measured, not guessed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cost/pricing/call.h"

namespace taso::gpu {

/// Memory that a launch works on: one of the call's operands, or a part of the memory that the lowering asks for.
struct Argument {
  enum class Place : std::uint8_t { read, written, scratch };
  Place place = Place::read;
  std::uint32_t index = 0;  ///< of an operand
  std::int64_t offset = 0;  ///< in bytes
  bool operator==(const Argument&) const = default;
};

/// A tensor that a library is told about.
struct LaunchTensor {
  Argument memory;
  ElementType element = ElementType::undefined;
  Extents extents;
  cost::Strides strides;
};

/// What is done to each element of a product before it is written, one after the other; each takes the value so far, and
/// an operand, if it has two.
struct Pointwise {
  enum class Mode : std::uint8_t {
    add,
    sub,
    mul,
    div,
    max,
    min,  ///< with the operand
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
    scale  ///< of the value alone
  };
  Mode mode = Mode::relu;
  std::optional<LaunchTensor>
      operand;                    ///< broadcasts to the product's result: of its rank, with extents that are its or 1
  bool is_operand_first = false;  ///< for `sub` and `div`
  double low = 0, high = 0;       ///< clip's bounds; leaky_relu's slope and scale's factor are `low`
};

/// x [N, C, spatial...] with w [O, C / groups, kernel...]; computed in float32, or TF32.
struct ConvolutionLaunch {
  LaunchTensor x, w, y;
  std::vector<std::int64_t> strides, dilations, pads_before, pads_after;
  std::int64_t groups = 1;
  bool is_tf32 = false;
  std::vector<Pointwise> epilogue;
};

/// a [batch..., rows, depth] times b [batch..., depth, columns]. A batch dimension of a factor may be stretched by a
/// stride of 0. All three have the same rank, at least 2.
struct MatmulLaunch {
  LaunchTensor a, b, y;
  bool is_tf32 = false;
  std::vector<Pointwise> epilogue;
};

/// A kernel of our own. Its parameters are pointers, in the order of the arguments.
struct SourceLaunch {
  std::string source;  ///< CUDA C++ that needs no header, with `extern "C" __global__ void` and this name
  std::string name;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::uint32_t block = 1;
  std::uint32_t shared_bytes = 0;  ///< dynamic
  std::uint32_t cluster = 1;       ///< blocks that work together; the text says so too
  /// It may begin before the launch ahead of it has ended, and says itself what it does not wait with.
  bool begins_early = false;
  std::vector<Argument> arguments;
};

using Launch = std::variant<ConvolutionLaunch, MatmulLaunch, SourceLaunch>;

struct Lowering {
  std::string name;  ///< which way it is, for people and records: "fused", "apart", "direct"
  std::vector<Launch> launches;
  std::int64_t scratch_bytes = 0;  ///< besides what libraries want
};

/// All ways that we know, the most promising first; at least one.
std::vector<Lowering> lowerings(const cost::Call& call);

}  // namespace taso::gpu
