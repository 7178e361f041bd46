// Memory that is an input and an output of one run: an operator that changes a part of a tensor may do so in place.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/host/interpreter.h"

namespace taso::runtime {

/// An input of a run whose memory an output will have.
struct Overwritable {
  std::byte* data = nullptr;
  std::shared_ptr<const void> owner;  ///< of the view that is passed as the input: it counts the arrays of this memory
};

/// The same as interpret(). Inputs that are overwritable may be overwritten once nothing else needs them; a result then
/// lies in the same memory.
std::vector<Array> interpret_in_place(const Graph& graph, std::span<const Array> inputs,
                                      const InterpreterOptions& options, std::span<const Overwritable> overwritable);

/// While one is alive, the operator that this thread runs may write over an operand. The innermost counts.
class OverwritePermission {
 public:
  /// `data` is that of the operand, or null: then the operator may not overwrite anything.
  explicit OverwritePermission(std::byte* data);
  OverwritePermission(const OverwritePermission&) = delete;
  OverwritePermission& operator=(const OverwritePermission&) = delete;
  ~OverwritePermission();

  /// Where to write over this operand; null if that is not allowed.
  static std::byte* for_operand(const Array& operand);

 private:
  std::byte* outer_;
};

}  // namespace taso::runtime
