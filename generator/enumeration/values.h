// The values that a family computes, each with one way to compute it.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "generator/enumeration/program.h"

namespace taso::generator {

using ValueId = std::uint32_t;

/// An operator applied to values.
struct Form {
  static constexpr std::uint16_t input = 0xffff;
  static constexpr std::size_t most_operands = 3;
  std::uint16_t schema = input;
  std::uint8_t output = 0, count = 0;
  std::array<ValueId, most_operands> operands{};  ///< for an input, its place first
  auto operator<=>(const Form&) const = default;
  std::span<const ValueId> used() const { return {operands.data(), count}; }
};

struct HashForm {
  std::size_t operator()(const Form& form) const {
    std::uint64_t hash = form.schema | std::uint64_t{form.output} << 16 | std::uint64_t{form.count} << 24;
    for (const ValueId operand : form.operands) hash = (hash ^ operand) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    return hash;
  }
};

/// A short sequence with inline storage.
template <class T, std::size_t most>
struct SmallVector {
  std::array<T, most> items{};
  std::uint8_t count = 0;
  const T* begin() const { return items.data(); }
  const T* end() const { return items.data() + count; }
  void push_back(T item) {
    check(count < most, "a short sequence is not full");
    items[count++] = item;
  }
};

struct Value {
  Form form;
  std::uint8_t size = 0;                ///< number of operators
  SmallVector<std::uint8_t, 15> uses;   ///< inputs in the order of first use
  SmallVector<std::uint32_t, 7> nodes;  ///< the operators, sorted; the results of one application share its number
  LayoutId layout = 0;
  std::uint64_t contents = 0;  ///< index of the first element
  std::uint64_t shape = 0;     ///< hash of how it is computed, independent of the names of inputs
  double graphs = 1;           ///< number of graphs it stands for
};

/// A hash table without deletion, a third of the size of the standard one.
template <class Key, class Hash>
class FlatTable {
 public:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  void reserve(std::size_t count) {
    std::size_t slots = 16;
    while (slots * 5 < count * 8) slots *= 2;
    if (slots > places_.size()) rehash(slots);
  }
  std::uint32_t find(const Key& key) const {
    if (places_.empty()) return none;
    for (std::size_t i = Hash{}(key)&mask();; i = (i + 1) & mask()) {
      if (places_[i] == none) return none;
      if (keys_[i] == key) return places_[i];
    }
  }
  /// Returns false and changes nothing if the key is present.
  bool insert(const Key& key, std::uint32_t place) {
    reserve(size_ + 1);
    for (std::size_t i = Hash{}(key)&mask();; i = (i + 1) & mask()) {
      if (places_[i] == none) {
        keys_[i] = key;
        places_[i] = place;
        ++size_;
        return true;
      }
      if (keys_[i] == key) return false;
    }
  }
  std::size_t size() const { return size_; }
  std::size_t bytes() const { return places_.size() * (sizeof(Key) + sizeof(std::uint32_t)); }

 private:
  std::size_t mask() const { return places_.size() - 1; }
  void rehash(std::size_t slots) {
    FlatTable larger;
    larger.keys_.resize(slots);
    larger.places_.assign(slots, none);
    for (std::size_t i = 0; i < places_.size(); ++i)
      if (places_[i] != none) larger.insert(keys_[i], places_[i]);
    *this = std::move(larger);
  }
  std::vector<Key> keys_;
  std::vector<std::uint32_t> places_;
  std::size_t size_ = 0;
};

struct Values {
  std::vector<Value> all;
  std::vector<Field> contents;
  std::vector<Layout> layouts;      ///< by LayoutId
  std::vector<std::size_t> kinds;   ///< the kind of each input, by place
  std::vector<std::size_t> firsts;  ///< for each kind, the place of its first input

  const Value& operator[](ValueId id) const { return all[id]; }
  const Field* contents_of(ValueId id) const { return contents.data() + all[id].contents; }
  std::size_t size() const { return all.size(); }

  /// Whether inputs are first used in their order, kind by kind, when `operands` are read one after another.
  bool is_canonical(std::span<const ValueId> operands) const;
  /// The operands in the order in which they name inputs: the first of the largest operands comes first.
  std::array<ValueId, Form::most_operands> in_order_of_naming(const Form& form) const;
  /// A hash of how the form computes, independent of the names of inputs.
  std::uint64_t shape_of(const Form& form) const;
  /// A hash of an equality, independent of the names of inputs.
  std::uint64_t shape_of(ValueId known, ValueId second, const Form& form) const;
  bool is_canonical(const Form& form) const {
    const auto order = in_order_of_naming(form);
    return is_canonical(std::span(order.data(), form.count));
  }
};

}  // namespace taso::generator
