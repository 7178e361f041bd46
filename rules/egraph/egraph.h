// An e-graph of tensor terms: classes of terms known to be equal, each with its shape.
//
// In a rule, dimensions and attributes are unknown integers. Here each is represented by its values in a few sampled
// models of the rule's hypotheses, which makes it cheap to compare and compute them. So what the e-graph finds is a
// conjecture with a reason for each step; the user must check the reasons with the unknowns in them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rules/instance/symbolic_operator.h"

namespace taso::rules {

inline constexpr std::size_t sample_count = 6;
/// The values of an integer in the models.
using Sample = std::array<std::int64_t, sample_count>;

using NumberId = std::uint32_t;

inline std::size_t mixed_hash(std::size_t seed, std::size_t value) {
  const std::size_t mixed = (seed ^ value) * 0x9e3779b97f4a7c15u;
  return mixed ^ (mixed >> 29);
}

/// Interns integers by their values in the models, each with the first polynomial that had these values.
class Numbers {
 public:
  NumberId intern(const Sample& sample, const Dim& meaning);
  /// As above, but the meaning is computed only if the number is new.
  template <class Meaning>
  NumberId intern_lazily(const Sample& sample, Meaning&& meaning) {
    const auto found = ids_.find(sample);
    return found != ids_.end() ? found->second : intern(sample, meaning());
  }
  const Sample& sample(NumberId id) const { return samples_[id]; }
  const Dim& meaning(NumberId id) const { return meanings_[id]; }

 private:
  struct Hash {
    std::size_t operator()(const Sample& sample) const;
  };
  std::vector<Sample> samples_;
  std::vector<Dim> meanings_;
  std::unordered_map<Sample, NumberId, Hash> ids_;
};

/// One attribute: numbers (NumberId) or known integers, a single one or a list; a truth value; or the index of a real
/// in the e-graph.
using FieldCode = std::vector<std::uint32_t>;
using FieldCodes = std::vector<FieldCode>;

using TermId = std::uint32_t;

/// A term as it was built. An input has no operator: `kind` is `input_kind`, and `output` is its index.
struct EGraphTerm {
  static constexpr std::uint32_t input_kind = ~std::uint32_t{0};
  std::uint32_t kind = input_kind;
  std::uint32_t output = 0;
  std::uint32_t fields = 0;  ///< see EGraph::fields
  std::vector<TermId> operands;
  bool operator==(const EGraphTerm&) const = default;
};

class EGraph {
 public:
  /// Why two terms are equal: a step of the caller, or the equality of their operands.
  using Reason = std::int32_t;
  static constexpr Reason congruence = -1;

  Numbers numbers;

  std::uint32_t intern_real(const RealAttribute& real);
  const RealAttribute& real(std::uint32_t id) const { return reals_[id]; }
  std::uint32_t intern_fields(FieldCodes codes);
  const FieldCodes& fields(std::uint32_t id) const { return field_codes_[id]; }

  TermId add_input(std::uint32_t place, std::vector<NumberId> shape);
  /// The term, new or not. `shape` must be right for its operands' shapes.
  TermId add(EGraphTerm term, const std::vector<NumberId>& shape);
  /// The term, if it exists.
  std::optional<TermId> find_term(const EGraphTerm& term) const;

  TermId find(TermId id) const;
  bool equal(TermId a, TermId b) const { return find(a) == find(b); }
  /// False if they were equal already.
  bool merge(TermId a, TermId b, Reason reason);
  /// Merges terms that became equal because their operands did; must be called before the classes are read again.
  void rebuild();

  const EGraphTerm& term(TermId id) const { return terms_[id]; }
  std::size_t size() const { return terms_.size(); }
  /// The representatives of all classes.
  std::vector<TermId> classes() const;
  /// The terms of a class, one of each form.
  const std::vector<TermId>& members(TermId id) const { return members_[find(id)]; }
  const std::vector<NumberId>& shape(TermId id) const { return shapes_[find(id)]; }
  /// Whether the e-graph contains a term of that operator.
  bool has_kind(std::uint32_t kind) const { return kind_counts_.size() > kind && kind_counts_[kind] > 0; }

  /// The caller's steps from which a = b follows.
  std::vector<Reason> explain(TermId a, TermId b) const;

 private:
  struct HashTerm {
    std::size_t operator()(const EGraphTerm& term) const;
  };
  EGraphTerm canonical(const EGraphTerm& term) const;
  void link(TermId a, TermId b, Reason reason);
  void explain_path(TermId a, TermId b, std::unordered_set<std::uint64_t>& seen, std::vector<Reason>& reasons) const;

  std::vector<RealAttribute> reals_;
  std::vector<FieldCodes> field_codes_;
  std::unordered_map<std::string, std::uint32_t> field_ids_;
  std::vector<EGraphTerm> terms_;
  std::vector<std::uint32_t> kind_counts_;
  std::unordered_map<EGraphTerm, TermId, HashTerm> exact_;      // terms as built
  std::unordered_map<EGraphTerm, TermId, HashTerm> canonical_;  // operands replaced by their representatives
  mutable std::vector<TermId> parents_;                         // union-find
  std::vector<std::vector<TermId>> members_;
  std::vector<std::vector<NumberId>> shapes_;
  // The forest of reasons: each term points to one that it was merged with.
  std::vector<TermId> because_of_;
  std::vector<Reason> reasons_;
  bool dirty_ = false;
};

}  // namespace taso::rules
