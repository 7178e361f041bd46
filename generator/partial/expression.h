// Tensor programs that are written as text for all shapes and, at the same time, evaluated at a sample.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "generator/partial/size.h"
#include "ops/core/field.h"
#include "ops/core/tensor.h"
#include "ops/graph/operator.h"

namespace taso::generator {

/// A program: its text in the rule language, the shape of its result, and its result over the prime field.
struct Expression {
  std::string text;
  std::vector<Size> shape;
  std::shared_ptr<const ops::Tensor<ops::Field>> data;  ///< nothing if the program is only written

  std::size_t rank() const { return shape.size(); }
};

/// The share of positions at which two programs of the same shape compute the same; 0 if their shapes differ.
double equal_share(const Expression& program, const Expression& right);
/// Of a program's text. What is used twice counts twice.
std::size_t operators_in(const std::string& text);
/// Of a program's shape and result.
std::uint64_t hash_of(const Expression& program);

/// Whether every size is a whole number of at least 1 at the sample.
bool has_shape(const std::vector<Size>& shape);

/// One axis of a window that slides over a tensor.
struct Slide {
  Size kernel = 1, stride = 1, dilation = 1, before = 0, after = 0;
  std::string kernel_name;  ///< how a pooling writes the kernel, if not as its size
};
/// The number of positions of the window; exact if the stride is 1.
Size places(const Size& length, const Slide& slide);
/// The number of positions that windows reach, one for each element of an operand of this length.
Size spread(const Size& length, const Slide& slide);

/// Writes programs. With `evaluates`, it also evaluates them: operands have data.
class Writer {
 public:
  explicit Writer(bool evaluates) : evaluates_(evaluates) {}

  Expression input(const std::string& name, std::vector<Size> shape, std::uint64_t seed) const;

  // Each returns its operand if it changes nothing.
  Expression reshaped(const Expression& x, const std::vector<Size>& shape) const;
  Expression transposed(const Expression& x, const std::vector<std::size_t>& permutation) const;
  Expression padded(const Expression& x, const std::vector<Size>& before, const std::vector<Size>& after) const;
  Expression padded(const Expression& x, std::size_t axis, const Size& before, const Size& after) const;
  Expression sliced(const Expression& x, std::size_t axis, const Size& begin, const Size& end) const;

  Expression joined(const Expression& x, const Expression& y, std::size_t axis) const;
  /// `slides` has one entry for each spatial axis; an empty text is no bias.
  Expression convolved(const Expression& x, const Expression& w, const std::vector<Slide>& slides, const Size& groups,
                       const std::string& bias = "") const;
  /// The transposed convolution.
  Expression convolved_back(const Expression& x, const Expression& w, const std::vector<Slide>& slides,
                            const Size& groups, const std::string& bias = "") const;
  /// `pool` is max_pool or average_pool; `more` are further attributes.
  Expression pooled(const std::string& pool, const Expression& x, const std::vector<Slide>& slides,
                    const std::string& more = "") const;
  Expression multiplied(const Expression& x, const Expression& y) const;
  Expression summed(const Expression& x, std::size_t axis) const;
  Expression rectified(const Expression& x) const;
  /// y may have fewer elements: it is repeated along axes of size 1.
  Expression added(const Expression& x, const Expression& y) const;

  /// With a bias, named, for each channel.
  Expression biased(const Expression& x, const std::string& bias) const;

  /// Assumes that a size is not negative, unless it is a number.
  void assume(const Size& size) const;
  /// What everything written so far assumes: also that quotients are exact.
  const std::set<std::string>& conditions() const { return conditions_; }

 private:
  Expression made(std::string text, std::vector<Size> shape, const ops::Operator& op,
                  const std::vector<const Expression*>& operands) const;
  /// Of a convolution with these windows, transposed or not.
  std::string text_of(const char* convolution, const Expression& x, const Expression& w,
                      const std::vector<Slide>& slides, const Size& groups, const std::string& bias) const;
  bool evaluates_;
  mutable std::set<std::string> conditions_;
};

/// "[a, b]"
std::string list_of(const std::vector<Size>& sizes);

}  // namespace taso::generator
