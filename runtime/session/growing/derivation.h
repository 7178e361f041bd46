// Derives a model with a cache of fixed capacity from a model whose past grows. The length of the past becomes an
// input; tensors with a row for each token get rows up to the capacity, the filled ones first.
//
// The nodes are visited in order. Facts (host/inference) say what is known of each value for all lengths from 0 on:
// shapes, and the numbers that models compute of them. Nodes that the length does not reach are copied. For the others
// there are rules (rules.h), each of which keeps the filled rows equal to those of the model. What has no rule is
// refused: nothing is guessed.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "runtime/session/growing/rows.h"
#include "runtime/session/sizes.h"

namespace taso::runtime::growing {

/// The input that says how many rows of the past are filled.
struct PastLength {
  std::string input;
  std::int64_t most = 0;
};

/// What the dimensions of inputs are; by name.
struct Lengths {
  Sizes numbers;                                ///< of those that have nothing to do with the past
  std::map<std::string, std::int64_t> by_more;  ///< the length of the past, and so many more
};

/// An extent that is a number would have to be the length of the past and `more`.
struct Mismatch : InputError {
  Mismatch(const std::string& text, std::int64_t fixed, std::int64_t rows)
      : InputError(text), extent(fixed), more(rows) {}
  std::int64_t extent, more;
};

class Derivation {
 public:
  /// The model must outlive it.
  Derivation(const onnx::Model& model, std::int64_t capacity, const Lengths& lengths);
  Derivation(const Derivation&) = delete;
  Derivation& operator=(const Derivation&) = delete;
  ~Derivation();

  /// Throws InputError with the node that does not allow it, and why.
  void run();
  /// The derived model, after run().
  onnx::Model model() const;
  const PastLength& past_length() const { return past_length_; }
  /// The inputs whose rows are written; known even if run() throws.
  const std::unordered_set<std::string>& written() const { return written_; }
  /// How many rows are written there.
  std::int64_t new_rows() const { return new_rows_; }

  // For rules.
  std::int64_t capacity() const { return capacity_; }
  const Tracked& find(const std::string& name) const;
  /// The value's name in the derived model. Writes numbers there that only facts have told so far.
  std::string data(const std::string& name);
  /// The number, if the length of the past determines it.
  std::optional<Affine> affine(const Dim& dim) const;
  Dim dim(const Affine& affine) const;
  /// The axis with a row for each token, if there is one. Throws InputError if it is anything else than that.
  std::optional<Rows> rows_in(const Shape& shape) const;
  /// The derived extents of a shape.
  Extents extents_of(const Shape& shape) const;

  /// Adds a node with one result, and returns the name of that.
  std::string add(const std::string& type, const std::vector<std::string>& operands, const std::string& base,
                  const std::function<void(proto::NodeProto&)>& change = {});
  std::string constant(const Array& array);
  std::string integers(const std::vector<std::int64_t>& numbers, const Extents& extents);
  std::string integers(const std::vector<Affine>& numbers, const Extents& extents);
  /// `count` numbers in a row, the first of them the length of the past and `first`.
  std::string places(std::int64_t first, std::int64_t count);
  /// Which rows along the axis of a tensor of this rank are filled; a tensor of the same rank.
  std::string filled(std::size_t axis, std::size_t rank, std::int64_t more);
  std::string reshaped(const std::string& name, const Extents& extents);
  /// The value with `fill` in the rows that are not filled.
  std::string with_fill(const Tracked& value, double fill);
  /// The value with minus infinity in the rows that are not filled. Kernels of attention take in a Min, but no Where.
  std::string hidden_beyond(const Tracked& value);
  /// The value, whose other rows are finite, or 0.
  std::string finite(const std::string& name);
  std::string zero_beyond(const std::string& name);
  /// The rows written behind the filled ones of a value.
  std::string written_behind(const Tracked& value, const std::string& updates, const Extents& extents);
  /// No length may be more than this.
  void limit(std::int64_t most) { past_length_.most = std::min(past_length_.most, most); }
  void set(const std::string& name, Tracked value) { values_.insert_or_assign(name, std::move(value)); }
  void append(const proto::NodeProto& node) { *derived_->add_node() = node; }

 private:
  void read_inputs();
  void read_constants();
  void derive(const proto::NodeProto& node);
  void write_outputs();
  std::string fresh(const std::string& base);
  std::string written_numbers(const Fact& fact);

  const onnx::Model& model_;
  const std::int64_t capacity_;
  const Lengths& lengths_;
  const Dim symbol_;  // the length of the past and 1: unknowns are at least 1
  PastLength past_length_;
  std::int64_t new_rows_ = 0;
  std::unique_ptr<proto::GraphProto> derived_;  // inputs, outputs and nodes
  std::unordered_map<std::string, Tracked> values_;
  std::unordered_set<std::string> names_, written_;
  std::map<std::string, std::string> made_;  // what was added already, by what it is
};

}  // namespace taso::runtime::growing
