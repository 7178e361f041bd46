// A family's inputs with concrete shapes and random contents in the prime field, and the evaluation of its schemas.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "generator/enumeration/family.h"
#include "ops/core/error.h"
#include "ops/core/field.h"
#include "ops/core/tensor.h"

namespace taso::generator {

/// Where a tensor was joined, for each axis: the size of the first part, or 0 for "not joined". With `rows_bit`, the
/// axis was made of two by a reshape, and the outer one had this size.
using Cuts = std::array<std::uint8_t, 4>;
constexpr std::uint8_t rows_bit = 0x80;

/// Everything about an item except its contents.
struct Layout {
  Extents extents;
  bool is_kernel = false;
  Cuts cuts{};
  bool operator==(const Layout&) const = default;
  std::size_t size() const { return static_cast<std::size_t>(count(extents)); }
};

/// What a term computes in a world, over any scalar type.
template <class S>
struct ItemOf {
  Tensor<S> tensor;
  bool is_kernel = false;
  Cuts cuts{};
  Layout layout() const { return {tensor.extents, is_kernel, cuts}; }
};
using Item = ItemOf<Field>;

/// Two independent projections of a tensor's contents, combined with its shape. Equal tensors have equal keys;
/// different ones have equal keys with a probability below 2^-100.
struct Fingerprint {
  std::uint64_t high = 0, low = 0;
  bool operator==(const Fingerprint&) const = default;
};
struct HashFingerprint {
  std::size_t operator()(const Fingerprint& key) const { return key.high ^ (key.low * 0x9e3779b97f4a7c15u); }
};
Fingerprint fingerprint(const Item& item);

/// The contents of inputs. Arbitrary elements of the field tell polynomials apart best, but have no order once they are
/// multiplied. Small integers keep their order through two products, sums and means, so they show what relu and maxima
/// do.
enum class Contents { field, integers };

/// Whether a family has operators that need an order.
bool needs_order(const Family& family);

class SampleInputs {
 public:
  /// With `larger`, uses the shapes at which equalities are confirmed.
  SampleInputs(const Family& family, bool larger, std::uint64_t seed, Contents contents = Contents::field);

  const Family& family() const { return family_; }
  std::size_t inputs() const { return inputs_.size(); }
  const Item& input(std::size_t place) const { return inputs_[place]; }
  std::span<const Item> all_inputs() const { return inputs_; }
  std::size_t kind_of(std::size_t input) const { return kinds_[input]; }

  /// The results; nothing if the schema does not take these operands. For scalars that the interpreter does not have,
  /// evaluate() must be instantiated.
  template <class S = Field>
  std::optional<std::vector<ItemOf<S>>> apply(const Schema& schema,
                                              const std::vector<const ItemOf<S>*>& operands) const;
  /// The operator with the attributes that follow from the operands, or nothing.
  std::optional<Operator> concrete(const Schema& schema, std::span<const Layout> operands) const;
  /// Whether there are tensors with one number per channel.
  bool has_channels() const { return has_channels_; }

 private:
  Operator constant(const Schema& schema) const;
  std::optional<Operator> convolution(const Schema& schema, std::span<const Layout> operands) const;
  std::optional<Operator> part(const Schema& schema, const Layout& whole) const;
  bool is_channels(const Layout& layout) const;
  /// Whether it is higher or wider than the family's images: one border is enough.
  bool has_grown(const Extents& extents) const;

  const Family& family_;
  bool larger_;
  bool has_channels_ = false;
  std::vector<Item> inputs_;
  std::vector<std::size_t> kinds_;
};

/// Where a schema's result is joined, given where its operands are.
Cuts cuts_of(const Schema& schema, std::span<const Layout> operands, const Extents& result);
/// Whether all elements are zero. Such values are left out of the enumeration: their equalities would only say that
/// they are zero, and nobody writes x - x.
bool is_zero(std::span<const Field> contents);
/// Whether a schema's result is a kernel.
bool gives_kernel(const Schema& schema, std::span<const Layout> operands);

template <class S>
std::optional<std::vector<ItemOf<S>>> SampleInputs::apply(const Schema& schema,
                                                          const std::vector<const ItemOf<S>*>& operands) const {
  std::vector<Layout> layouts;
  std::vector<Tensor<S>> tensors;
  for (const ItemOf<S>* operand : operands) layouts.push_back(operand->layout());
  const auto op = concrete(schema, layouts);
  if (!op) return std::nullopt;
  for (const ItemOf<S>* operand : operands) tensors.push_back(operand->tensor);
  std::vector<ItemOf<S>> items;
  try {
    for (Tensor<S>& tensor : ops::evaluate<S>(*op, tensors)) {
      ItemOf<S>& item = items.emplace_back(ItemOf<S>{std::move(tensor), gives_kernel(schema, layouts), {}});
      item.cuts = cuts_of(schema, layouts, item.tensor.extents);
    }
  } catch (const ShapeError&) {
    return std::nullopt;
  }
  return items;
}

}  // namespace taso::generator
