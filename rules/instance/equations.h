// Solves a rule's assumptions about its unknowns by replacing them, so that equal dimensions become equal polynomials.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "rules/instance/symbolic_operator.h"

namespace taso::rules {

/// An unknown integer: a dimension of an input ("x.0"), an attribute ("g", or "s.0" for an element of a list), or one
/// made up to solve a divisibility ("q..1": no name in a rule looks like that).
struct Unknown {
  std::string name;
  std::int64_t least = 1;  ///< 0 for pads, beginnings of slices and the like
  bool operator==(const Unknown&) const = default;
};

bool is_made_up(std::string_view unknown);

class Equations {
 public:
  /// Without `solve`, only unknowns that equal a number are replaced, and every assumption is kept.
  explicit Equations(bool solve) : solve_(solve) {}

  Dim add_unknown(const std::string& name, std::int64_t least);
  /// Assumes it; false if that is evidently a contradiction.
  bool assume(Requirement requirement);
  /// The same in free unknowns only.
  Dim reduce(Dim dim) const;
  Requirement reduce(const Requirement& requirement) const;
  /// Whether the signs of its terms alone show it.
  bool is_obvious(const Requirement& requirement) const;

  std::vector<Unknown> free_unknowns() const;
  const std::map<std::string, Dim, std::less<>>& determined() const { return determined_; }
  /// The meaning of made-up unknowns: quotients of earlier unknowns.
  const std::map<std::string, Dim, std::less<>>& made_up() const { return made_up_; }
  /// The unsolved assumptions, reduced, without obvious and repeated ones.
  std::vector<Requirement> rest() const;

 private:
  std::optional<std::int64_t> least_of(const Dim& dim) const;
  std::optional<std::int64_t> least_of(std::string_view name) const;
  bool replace(const std::string& name, Dim by);
  bool solve_equal(Dim left, Dim right);
  bool solve_divides(Dim divisor, Dim dividend);
  bool keep(const Requirement& requirement);

  bool solve_;
  std::vector<Unknown> unknowns_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::map<std::string, Dim, std::less<>> determined_;
  std::vector<Requirement> kept_;
  std::map<std::string, Dim, std::less<>> made_up_;
};

}  // namespace taso::rules
