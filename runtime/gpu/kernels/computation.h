// What a call does element by element: which operands are read where, and which expressions make a result of them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/gpu/kernels/space.h"

namespace taso::gpu::kernels {

/// What each value of a call is, operands first, then the steps' results.
struct Values {
  explicit Values(const cost::Call& call);
  std::vector<Extents> extents;
  std::vector<ElementType> elements;
  std::vector<std::uint32_t> steps;  ///< that gives the value; none for operands: their number is the number of steps
};

/// The axis of a space that each axis of a value is; -1 where the value has a single element.
using AxisMap = std::vector<int>;
/// A value that is broadcast to the space.
AxisMap aligned(const Extents& value, const Extents& space);

/// Expressions over a space, each value made once. What is made first can be used by what is made later.
class Computation {
 public:
  Computation(const cost::Call& call, const Values& values, Extents space)
      : call_(call), values_(values), space_(std::move(space)) {}

  /// The value, seen so, is what an expression of the kernel's own says, which is asked for when it is written.
  void give(std::uint32_t value, const AxisMap& axes, std::function<std::string()> expression);
  /// Makes a value; its place among the values of this computation.
  std::size_t make(std::uint32_t value, const AxisMap& axes);
  /// The access with which an operand is gone through.
  std::size_t access(bool is_written, std::uint32_t operand, const AxisMap& axes);

  const Extents& space() const { return space_; }
  const std::vector<Access>& accesses() const { return accesses_; }
  /// Writes lines that make all values that are not written yet; `element` gives the text of an access's element.
  void write(Code& code, Arithmetic arithmetic, const std::function<std::string(std::size_t)>& element);
  /// So that everything is written once more, elsewhere.
  void restart();
  /// The text of a value that was written.
  const std::string& text(std::size_t made) const { return made_[made].text; }

 private:
  struct Made {
    std::uint32_t value = 0;
    std::size_t access = 0;  ///< if an operand
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

/// What an element-wise operator makes of its operands.
std::string expression(const Operator& op, const std::vector<std::string>& operands, Arithmetic arithmetic);

}  // namespace taso::gpu::kernels
