// Grows an e-graph by properties until given terms are equal, nothing new appears, or a limit is reached.
#pragma once

#include <functional>
#include <span>
#include <stop_token>

#include "rules/egraph/property.h"

namespace taso::rules {

/// One use of a property: source and target of its instance are equal for these operands and attributes.
struct Step {
  std::size_t property = 0;
  std::size_t result = 0;  ///< index of the property's result
  const PropertyInstance* instance = nullptr;
  std::vector<TermId> inputs;        ///< what the property's inputs are bound to
  std::vector<FieldCode> variables;  ///< what its variables are bound to
  TermId source = 0, target = 0;
  bool operator==(const Step&) const = default;
};

/// A use that some requirements forbid. `failed` are indices of instance->requirements that do not hold in every model.
struct BlockedStep {
  Step step;  ///< source and target are not set
  std::vector<std::size_t> failed;
};

struct SaturationLimits {
  std::size_t rounds = 8;
  std::size_t terms = 3000;
  std::size_t matches = 20000;  ///< in total
  bool keep_blocked = false;
};

struct Saturation {
  enum class End { goal, saturated, rounds, terms, matches, stopped } end = End::saturated;
  std::vector<Step> steps;
  std::vector<BlockedStep> blocked;
};

/// The unknowns of an instance in each model: `models[k][i]` is the value of unknowns[i] in model k.
using ModelValues = std::array<std::vector<std::int64_t>, sample_count>;

/// The terms of an instance's nodes, one for each result. Nothing if a dimension has no value in a model.
std::optional<std::vector<std::vector<TermId>>> seed(EGraph& graph, const Instance& instance,
                                                     const ModelValues& models);

/// Stops as soon as `goals` are pairwise equal. `is_forbidden` tells which steps must not be used, because their
/// conditions are proved false.
Saturation saturate(EGraph& graph, const Properties& properties, std::span<const std::pair<TermId, TermId>> goals,
                    const SaturationLimits& limits = {}, const std::stop_token& stop = {},
                    const std::function<bool(const Step&)>& is_forbidden = {});

/// The polynomials, over the e-graph's unknowns, to which the unknowns of a step's instance are bound.
std::vector<Dim> meanings(const EGraph& graph, const Step& step);

}  // namespace taso::rules
