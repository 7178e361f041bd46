// The element-wise part of a call: where operands are read, and which expressions compute the results.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/gpu/kernels/space.h"

namespace taso::gpu::kernels {

/// All values of a call: operands first, then the results of the steps.
struct Values {
  explicit Values(const cost::Call& call);
  std::vector<Extents> extents;
  std::vector<ElementType> elements;
  std::vector<std::uint32_t> steps;  ///< the step that computes the value; for operands, the number of steps
};

/// For each axis of a value, the axis of the space; -1 where the value has a single element.
using AxisMap = std::vector<int>;
/// The axes of a value that is broadcast to the space.
AxisMap aligned(const Extents& value, const Extents& space);

/// Expressions over a space. Each value is computed once and can be used by later ones.
class Computation {
 public:
  Computation(const cost::Call& call, const Values& values, Extents space)
      : call_(call), values_(values), space_(std::move(space)) {}

  /// Sets the expression of a value (with these axes). `expression` is called when the text is written.
  void give(std::uint32_t value, const AxisMap& axes, std::function<std::string()> expression);
  /// Adds a value and everything it needs; returns its index in this computation.
  std::size_t make(std::uint32_t value, const AxisMap& axes);
  /// The index of the access to an operand.
  std::size_t access(bool is_written, std::uint32_t operand, const AxisMap& axes);

  /// The indices of the call's only result and of the access that stores it. The space is that of a product; a
  /// transpose at the end of the call decides in which order the result is stored.
  struct Stored {
    std::size_t result = 0, access = 0;
  };
  Stored store_result();

  /// Gives the main step of the call, a convolution over this space, its expression without a bias. Adds the bias and
  /// everything up to the results, which have its shape.
  std::vector<Stored> finish_convolution(const std::string& sum);

  const Extents& space() const { return space_; }
  const std::vector<Access>& accesses() const { return accesses_; }
  /// Writes lines that compute all values not written yet; `element` gives the text of the element of an access.
  void write(Code& code, Arithmetic arithmetic, const std::function<std::string(std::size_t)>& element);
  /// Forgets what was written, so that everything can be written again elsewhere.
  void restart();
  /// The text of a value after write().
  const std::string& text(std::size_t made) const { return made_[made].text; }

 private:
  struct Made {
    std::uint32_t value = 0;
    std::size_t access = 0;  ///< for operands
    const cost::Call::Step* step = nullptr;
    std::vector<std::size_t> operands;
    std::function<std::string()> given;
    std::string text;
  };
  const cost::Call& call_;
  const Values& values_;
  Extents space_;
  std::vector<Access> accesses_;
  std::vector<Made> made_;
  std::map<std::pair<std::uint32_t, AxisMap>, std::size_t> known_;
};

/// The expression of an element-wise operator applied to its operands.
std::string expression(const Operator& op, const std::vector<std::string>& operands, Arithmetic arithmetic);

}  // namespace taso::gpu::kernels
