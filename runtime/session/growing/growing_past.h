// A model whose past grows, run with a cache of fixed capacity: finds the past, and derives a model for each set of
// other sizes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/session/growing/derivation.h"

namespace taso::runtime::growing {

class GrowingPast {
 public:
  /// Throws InputError if the model has no past that grows, or depends on its length in a way that is not understood.
  GrowingPast(onnx::Model model, std::int64_t capacity);

  /// Whether the model has other sizes that it leaves open.
  bool is_open() const { return !trial_.empty(); }
  /// Some numbers for these, for which the model can be derived.
  const Sizes& trial() const { return trial_; }
  /// The model with numbers in place of all sizes. It says what it is: see past_length_of(). Throws InputError.
  onnx::Model derived(const Sizes& sizes) const;
  /// The model with the inputs of the derived ones, but with its own nodes.
  onnx::Model declared() const;

 private:
  /// A size that follows from the length: that of the past, and so many more, or as many as another size says.
  struct Bound {
    std::int64_t more = 0;
    std::string size = {};
    bool operator==(const Bound&) const = default;
  };

  using Bounds = std::map<std::string, Bound>;  // by the name of the dimension

  Lengths lengths(const Sizes& numbers) const;
  void find_past();
  void find_bound();
  /// What another size might be.
  std::vector<Bounds> guesses() const;
  /// Whether rows are written if these sizes follow from the length.
  bool writes_rows(const Bounds& assumed);
  void bind(const Bounds& bounds);
  bool bind(const Mismatch& mismatch);
  /// Derives the model, and binds sizes where it has to. Whether all are lengths of the past or of the present.
  bool settle();
  static bool is_length_of_present(const Derivation& derivation, const Lengths& all);
  /// Throws InputError if this has been done too often.
  void count_derivation();

  onnx::Model model_;
  const std::int64_t capacity_;
  Sizes trial_;
  Bounds bound_;
  std::int64_t visited_ = 0;  // nodes, in all derivations so far
};

/// A derived model. Throws InputError if the model leaves other sizes open.
onnx::Model with_fixed_past(onnx::Model model, std::int64_t capacity);

/// What a derived model says about its past; nothing for other models.
std::optional<PastLength> past_length_of(const onnx::Model& model);

}  // namespace taso::runtime::growing
