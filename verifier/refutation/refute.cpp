#include "verifier/refutation/refute.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "ops/core/field.h"
#include "ops/text/literal.h"
#include "verifier/proof/definedness.h"
#include "verifier/refutation/rounded.h"

namespace taso::verifier {
namespace {

using Contents = std::vector<std::vector<double>>;  // per input; few binary digits, so that they are exact

/// How elements are chosen. Large ones tell polynomials apart; small ones are in the range of clipping, and easy to
/// follow. Most partial functions are undefined at some of the `signs`.
enum class Fill { huge, large, medium, small, positive, quarters, signs };

double random_element(Random& random, Fill fill) {
  const auto between = [&](std::int64_t low, std::int64_t high) {
    return static_cast<double>(random.between(low, high));
  };
  switch (fill) {
    case Fill::huge: return between(-(std::int64_t{1} << 52), std::int64_t{1} << 52);
    case Fill::large: return between(-(1 << 28), 1 << 28);
    case Fill::medium: return between(-20, 20);
    case Fill::small: return between(-4, 4);
    case Fill::positive: return between(1, 5);
    case Fill::quarters: return between(-8, 8) / 4;
    case Fill::signs: return between(-1, 1);
  }
  return 0;
}

Contents random_contents(const rules::ConcreteInstance& concrete, Random& random, Fill fill) {
  Contents contents;
  for (const Extents& extents : concrete.inputs) {
    auto& data = contents.emplace_back(static_cast<std::size_t>(count(extents)));
    for (double& value : data) value = random_element(random, fill);
  }
  return contents;
}

template <class S>
std::vector<Tensor<S>> tensors(const rules::ConcreteInstance& concrete, const Contents& contents) {
  std::vector<Tensor<S>> inputs;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    std::vector<S> data;
    for (const double value : contents[i]) data.push_back(Math<S>::constant(value));
    inputs.emplace_back(concrete.inputs[i], std::move(data));
  }
  return inputs;
}

bool differ_in_field(const rules::ConcreteInstance& concrete, const Contents& contents) {
  const auto sides = rules::evaluate_sides<Field>(concrete, tensors<Field>(concrete, contents));
  for (std::size_t i = 0; i < sides.source.size(); ++i)
    if (sides.source[i].data != sides.target[i].data) return true;
  return false;
}

struct Difference {
  std::size_t result = 0, place = 0;
  rules::Sides<Rounded> sides;
};

std::optional<Difference> difference_in_reals(const rules::ConcreteInstance& concrete, const Contents& contents,
                                              bool both_ways) {
  auto sides = rules::evaluate_sides<Rounded>(concrete, tensors<Rounded>(concrete, contents));
  for (std::size_t i = 0; i < sides.source.size(); ++i)
    for (std::size_t k = 0; k < sides.source[i].data.size(); ++k)
      if (is_worse(sides.source[i].data[k], sides.target[i].data[k]) ||
          (both_ways && is_worse(sides.target[i].data[k], sides.source[i].data[k])))
        return Difference{i, k, std::move(sides)};
  return std::nullopt;
}

/// An assignment at which an instance fails, and elements for its inputs at which the results differ.
struct Finding {
  std::size_t instance = 0;
  rules::Assignment assignment;
  std::string misfit;
  Contents contents;
};

class Refuter {
 public:
  Refuter(const std::vector<rules::Instance>& instances, const RefuteOptions& options)
      : instances_(instances), options_(options), subjects_(instances.size()) {}

  Refutation run() {
    result_.witnesses.resize(instances_.size());
    search();
    if (findings_.empty()) return std::move(result_);
    if (options_.shrink) {
      search_simpler();
      for (Finding& finding : findings_) shrink(finding);
    }
    const auto best = std::min_element(findings_.begin(), findings_.end(),
                                       [&](const Finding& a, const Finding& b) { return cost_of(a) < cost_of(b); });
    result_.counterexample = report(*best);
    return std::move(result_);
  }

 private:
  struct Subject {
    Subject(const rules::Instance& instance, std::uint64_t seed, bool both_ways)
        : sampler(instance),
          concretizer(instance),
          random(seed),
          is_partial(instance.target_fits &&
                     (target_may_be_undefined(instance) || (both_ways && source_may_be_undefined(instance)))) {}
    rules::AssignmentSampler sampler;
    rules::Concretizer concretizer;
    Random random;
    bool is_partial = false;  // a side may be undefined where the other is not
    bool hopeless = false;    // no assignment could be found
  };

  Subject& subject(std::size_t instance) {
    auto& slot = subjects_[instance];
    if (!slot) slot.emplace(instances_[instance], options_.seed * 0x9e3779b97f4a7c15u + instance, options_.both_ways);
    return *slot;
  }

  // A round tries every instance once. A round with a finding is finished, to find a smaller one.
  void search() {
    constexpr std::size_t most_findings = 6;
    for (std::size_t round = 0; round < options_.tries_each; ++round) {
      if (round >= 2 && result_.tried >= options_.tries) return;
      bool alive = false;
      for (std::size_t i = 0; i < instances_.size(); ++i) {
        if (options_.stop.stop_requested() || findings_.size() >= most_findings) return;
        if (subject(i).hopeless) continue;
        alive = true;
        if (auto finding = attempt(i, round)) findings_.push_back(std::move(*finding));
      }
      if (!alive || !findings_.empty()) return;
    }
  }

  std::size_t total_rank(std::size_t instance) const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < instances_[instance].inputs.size(); ++i)
      sum += instances_[instance].nodes[i].shapes[0].size();
    return sum;
  }

  /// Tries instances of lower rank than the findings, which may have passed by chance so far.
  void search_simpler() {
    std::size_t lowest = total_rank(findings_[0].instance);
    for (const Finding& finding : findings_) lowest = std::min(lowest, total_rank(finding.instance));
    std::vector<std::size_t> simpler;
    for (std::size_t i = 0; i < instances_.size(); ++i)
      if (total_rank(i) < lowest) simpler.push_back(i);
    std::stable_sort(simpler.begin(), simpler.end(),
                     [&](std::size_t a, std::size_t b) { return total_rank(a) < total_rank(b); });
    simpler.resize(std::min<std::size_t>(simpler.size(), 8));
    for (const std::size_t i : simpler)
      for (std::size_t round = 0; round < 12 && !subject(i).hopeless; ++round)
        if (auto finding = attempt(i, round)) {
          findings_.push_back(std::move(*finding));
          return;
        }
  }

  std::optional<Finding> attempt(std::size_t instance, std::size_t round) {
    Subject& s = subject(instance);
    // Small numbers are cheap; larger ones agree by chance less often.
    const auto assignment = s.sampler.sample(s.random, round % 4 == 3 ? 3 : 5);
    if (!assignment) {
      s.hopeless = true;
      return std::nullopt;
    }
    if (!result_.witnesses[instance]) result_.witnesses[instance] = assignment;
    ++result_.tried;
    const auto built = s.concretizer.at(*assignment);
    if (const auto* misfit = std::get_if<rules::Misfit>(&built)) {
      if (!misfit->in_target) return std::nullopt;  // the numbers are too large
      return Finding{instance, *assignment, misfit->reason, {}};
    }
    const auto& concrete = std::get<rules::ConcreteInstance>(built);
    if (concrete.work > options_.most_work) return std::nullopt;
    if (s.is_partial)
      for (const Fill fill : {Fill::signs, Fill::small}) {
        Contents contents = random_contents(concrete, s.random, fill);
        if (fails(concrete, contents)) return Finding{instance, *assignment, {}, std::move(contents)};
      }
    constexpr Fill fills[] = {Fill::large, Fill::huge, Fill::small, Fill::quarters};
    Contents contents = random_contents(concrete, s.random, fills[round % 4]);
    if (fills[round % 4] == Fill::quarters) {  // where order matters, the field has no fractions
      if (fails(concrete, contents)) return Finding{instance, *assignment, {}, std::move(contents)};
      return std::nullopt;
    }
    if (!differ_in_field(concrete, contents)) return std::nullopt;
    if (auto confirmed = confirm(concrete, s, 8)) return Finding{instance, *assignment, {}, std::move(*confirmed)};
    ++result_.only_in_field;
    return std::nullopt;
  }

  bool fails(const rules::ConcreteInstance& concrete, const Contents& contents) const {
    return difference_in_reals(concrete, contents, options_.both_ways).has_value();
  }

  std::optional<Contents> confirm(const rules::ConcreteInstance& concrete, Subject& s, int tries) const {
    for (int i = 0; i < tries; ++i) {
      constexpr Fill fills[] = {Fill::small, Fill::positive, Fill::medium, Fill::quarters};
      Contents contents = random_contents(concrete, s.random, s.is_partial && i % 2 == 1 ? Fill::signs : fills[i % 4]);
      if (fails(concrete, contents)) return contents;
    }
    return std::nullopt;
  }

  // --- Shrinking ---

  using Cost = std::tuple<std::int64_t, std::int64_t, std::size_t, bool, double>;

  /// Fewer elements of the inputs, then smaller numbers, are simpler; then lower ranks, and results that differ.
  Cost cost_of(const Finding& finding) const {
    std::int64_t elements = 0;
    for (std::size_t i = 0; i < instances_[finding.instance].inputs.size(); ++i) {
      const auto extents = subjects_[finding.instance]->concretizer.input_at(i, finding.assignment);
      elements += extents ? count(*extents) : 0;
    }
    const auto& unknowns = finding.assignment.unknowns;
    double magnitude = 0;
    for (const auto& values : finding.contents)
      for (const double value : values) magnitude += value < 0 ? 1 - 2 * value : 2 * value;
    return {elements, std::accumulate(unknowns.begin(), unknowns.end(), std::int64_t{0}), total_rank(finding.instance),
            !finding.misfit.empty(), magnitude};
  }

  /// The finding, if the instance fails there in the same way.
  std::optional<Finding> fails_at(const Finding& like, const rules::Assignment& assignment) {
    Subject& s = subject(like.instance);
    if (!s.sampler.admits(assignment.unknowns)) return std::nullopt;
    const auto built = s.concretizer.at(assignment);
    if (const auto* misfit = std::get_if<rules::Misfit>(&built)) {
      if (!misfit->in_target || like.misfit.empty()) return std::nullopt;
      return Finding{like.instance, assignment, misfit->reason, {}};
    }
    const auto& concrete = std::get<rules::ConcreteInstance>(built);
    if (!like.misfit.empty() || concrete.work > options_.most_work) return std::nullopt;
    auto contents = confirm(concrete, s, 6);
    if (!contents) return std::nullopt;
    return Finding{like.instance, assignment, {}, std::move(*contents)};
  }

  bool improve(Finding& finding, const rules::Assignment& assignment) {
    if (assignment == finding.assignment || options_.stop.stop_requested()) return false;
    Finding smaller{finding.instance, assignment, finding.misfit, {}};
    const auto size = [](const Cost& cost) { return std::pair(std::get<0>(cost), std::get<1>(cost)); };
    if (size(cost_of(smaller)) > size(cost_of(finding))) return false;
    auto found = fails_at(finding, assignment);
    if (!found || size(cost_of(*found)) >= size(cost_of(finding))) return false;
    finding = std::move(*found);
    return true;
  }

  void shrink(Finding& finding) {
    Subject& s = subject(finding.instance);
    for (int i = 0; i < 60; ++i)
      if (const auto assignment = s.sampler.sample(s.random, i % 2 == 0 ? 1 : 2)) improve(finding, *assignment);
    for (int pass = 0; pass < 8 && shrink_unknowns(finding); ++pass) {
    }
    if (finding.misfit.empty()) {
      shrink_reals(finding);
      shrink_contents(finding);
    }
  }

  /// Makes one unknown, or two at a time, a little smaller or as small as possible.
  bool shrink_unknowns(Finding& finding) {
    const std::vector<std::int64_t>& least = subject(finding.instance).sampler.least();
    bool any = false;
    for (std::size_t i = 0; i < least.size(); ++i)
      for (std::int64_t value = least[i]; value < finding.assignment.unknowns[i]; ++value) {
        rules::Assignment smaller = finding.assignment;
        smaller.unknowns[i] = value;
        if (!improve(finding, smaller)) continue;
        any = true;
        break;
      }
    for (std::size_t i = 0; i < least.size(); ++i)
      for (std::size_t k = 0; k < least.size(); ++k)
        for (const std::int64_t change : {-1, 1}) {
          rules::Assignment smaller = finding.assignment;
          --smaller.unknowns[i];
          smaller.unknowns[k] += change;
          if (i != k && improve(finding, smaller)) any = true;
        }
    return any;
  }

  void shrink_reals(Finding& finding) {
    for (std::size_t i = 0; i < finding.assignment.reals.size(); ++i)
      for (const double value : {1.0, 2.0, 0.5}) {
        Finding plainer = finding;
        plainer.assignment.reals[i] = value;
        if (!still_differs(plainer)) continue;
        finding = std::move(plainer);
        break;
      }
  }

  bool still_differs(const Finding& finding) {
    const auto built = subject(finding.instance).concretizer.at(finding.assignment);
    const auto* concrete = std::get_if<rules::ConcreteInstance>(&built);
    return concrete && fails(*concrete, finding.contents);
  }

  void shrink_contents(Finding& finding) {
    const auto built = subject(finding.instance).concretizer.at(finding.assignment);
    const auto& concrete = std::get<rules::ConcreteInstance>(built);
    int evaluations = 0;
    const auto accept = [&](Contents contents) {
      if (++evaluations > 1000 || options_.stop.stop_requested() || !fails(concrete, contents)) return false;
      finding.contents = std::move(contents);
      return true;
    };
    for (std::size_t i = 0; i < finding.contents.size(); ++i)
      for (const double value : {0, 1}) {
        Contents plainer = finding.contents;
        plainer[i].assign(plainer[i].size(), value);
        if (plainer == finding.contents || accept(std::move(plainer))) break;
      }
    for (std::size_t i = 0; i < finding.contents.size(); ++i)
      for (std::size_t k = 0; k < finding.contents[i].size(); ++k)
        for (const double value : {0.0, 1.0, -1.0, 2.0, -2.0, 3.0, 4.0, 8.0, 0.5, -0.5}) {
          if (finding.contents[i][k] == value) break;
          Contents plainer = finding.contents;
          plainer[i][k] = value;
          if (accept(std::move(plainer))) break;
        }
  }

  Counterexample report(const Finding& finding) {
    Counterexample result;
    result.instance = finding.instance;
    result.assignment = finding.assignment;
    result.misfit = finding.misfit;
    const Subject& s = subject(finding.instance);
    for (std::size_t i = 0; i < instances_[finding.instance].inputs.size(); ++i)
      result.shapes.push_back(s.concretizer.input_at(i, finding.assignment).value_or(Extents{}));
    if (!finding.misfit.empty()) return result;
    const auto built = s.concretizer.at(finding.assignment);
    const auto& concrete = std::get<rules::ConcreteInstance>(built);
    const auto difference = difference_in_reals(concrete, finding.contents, options_.both_ways);
    check(difference.has_value(), "a counterexample stays one");
    result.inputs = tensors<double>(concrete, finding.contents);
    const auto values = [](const std::vector<Tensor<Rounded>>& side) {
      std::vector<Tensor<double>> numbers;
      for (const Tensor<Rounded>& tensor : side) {
        std::vector<double> data;
        for (const Rounded& element : tensor.data) data.push_back(element.value);
        numbers.emplace_back(tensor.extents, std::move(data));
      }
      return numbers;
    };
    result.source = values(difference->sides.source);
    result.target = values(difference->sides.target);
    result.result = difference->result;
    result.place = difference->place;
    const auto at = [&](const std::vector<Tensor<Rounded>>& side) { return side[result.result].data[result.place]; };
    result.is_undefined = !differ(at(difference->sides.source), at(difference->sides.target));
    return result;
  }

  const std::vector<rules::Instance>& instances_;
  const RefuteOptions& options_;
  std::vector<std::optional<Subject>> subjects_;
  std::vector<Finding> findings_;
  Refutation result_;
};

}  // namespace

Refutation refute(const std::vector<rules::Instance>& instances, const RefuteOptions& options) {
  return Refuter(instances, options).run();
}

}  // namespace taso::verifier
