#include "verifier/agreement/agreement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "verifier/agreement/bounds.h"
#include "verifier/agreement/guesses.h"
#include "verifier/agreement/summation.h"
#include "verifier/agreement/typical.h"
#include "verifier/proof/definedness.h"
#include "verifier/proof/entailment.h"

namespace taso::verifier {
namespace {

constexpr double most_expanded = 3e4;       // operations, above which an output is not multiplied out
constexpr std::size_t most_expansions = 4;  // sizes

void mark(std::vector<bool>& marked, const Extents& extents, const Block& block) {
  std::size_t place = 0;
  for_each_index(extents, [&](const Extents& position) {
    if (block.contains(position)) marked[place] = true;
    ++place;
  });
}

/// Finds and proves boxes for one instance.
class BoxFinder {
 public:
  BoxFinder(const rules::Instance& instance, const AgreementOptions& options, const std::stop_token& stop)
      : instance_(instance), options_(options), stop_(stop) {
    options_.limits.stop = stop;
    result_.shape = instance.shape(instance.source[0]);
    result_.choice = instance.choice;
  }

  Agreement run() {
    result_.obstacle = obstacle();
    if (!result_.obstacle.empty()) return std::move(result_);
    take_samples();
    if (samples_.empty()) {
      result_.obstacle =
          stop_.stop_requested() ? "there was no time" : "no sizes were found that satisfy its conditions";
      return std::move(result_);
    }
    for (const Sample& sample : samples_) covered_.emplace_back(sample.field.equal.size(), false);
    prove_boxes();
    find_differences();
    summarise();
    cross_check();
    result_.typical = typical_share(instance_, result_.proved);
    return std::move(result_);
  }

 private:
  /// Why nothing can be claimed about the values.
  std::string obstacle() const {
    if (!instance_.target_fits) return "the two sides have different ranks";
    Entailment entailment(instance_.unknowns, instance_.hypotheses);
    for (const rules::Requirement& obligation : instance_.obligations)
      if (entailment.entails(obligation) != Entailment::Answer::yes)
        return "its conditions are not shown to entail " + rules::text_of(obligation);
    if (target_may_be_undefined(instance_)) {
      const NormalFormResult defined = prove_definedness(instance_, options_.limits);
      if (defined.kind != NormalFormResult::proved) return "the target may be undefined: " + defined.reason;
    }
    return "";
  }

  void take_samples() {
    SampleOptions wanted{options_.seed, options_.sizes, options_.inputs, options_.most_work};
    samples_ = samples_of(instance_, wanted, stop_);
    // A maximum agrees by chance as soon as its first operand is the larger one: that takes more inputs.
    if (samples_.empty() || samples_.back().concrete.work > most_expanded ||
        summation_of(samples_.back().concrete).is_multilinear)
      return;
    wanted.inputs = options_.inputs *= 8;
    samples_ = samples_of(instance_, wanted, stop_);
  }

  /// The box that covers most of what is not covered yet comes first.
  void prove_boxes() {
    std::vector<Guess> guesses = guesses_of(instance_, bounds_of(instance_, options_.limits), samples_);
    for (std::size_t failures = 0; failures < options_.failures && !stop_.stop_requested();) {
      std::vector<BlockCounter> open;
      for (std::size_t i = 0; i < samples_.size(); ++i) {
        std::vector<bool> uncovered = covered_[i];
        uncovered.flip();
        open.emplace_back(samples_[i].field.extents, uncovered);
      }
      double most = 0;
      auto best = guesses.end();
      for (auto guess = guesses.begin(); guess != guesses.end(); ++guess) {
        double gain = 0;  // every sample counts the same
        for (std::size_t i = 0; i < samples_.size(); ++i)
          gain += static_cast<double>(open[i].count(guess->blocks[i])) / static_cast<double>(covered_[i].size());
        if (gain > most * (1 + 1e-9)) most = gain, best = guess;
      }
      if (best == guesses.end()) return;
      if (is_proved(instance_, best->box, options_.limits)) {
        for (std::size_t i = 0; i < samples_.size(); ++i) mark(covered_[i], samples_[i].field.extents, best->blocks[i]);
        result_.proved.push_back(best->box);
      } else {
        ++failures;
      }
      guesses.erase(best);
    }
  }

  void find_differences() {
    Entailment entailment(instance_.unknowns, instance_.hypotheses);
    const AtMost at_most = [&](Dim low, Dim high) {
      return surely_at_least(high, low) ||
             entailment.entails({rules::Requirement::Kind::at_least, high, low}) == Entailment::Answer::yes;
    };
    for (Box& box : complement(result_.shape, result_.proved, at_most)) {
      std::optional<Counterexample> difference = difference_in(box);
      result_.open.push_back({std::move(box), std::move(difference)});
    }
  }

  Block block_of(const Box& box, const Sample& sample) const {
    const rules::Places places = rules::places_of(instance_);
    return at(box, sample.field.extents,
              [&](std::string_view name) { return sample.assignment.unknowns[places.find(name)->second]; });
  }

  /// The smallest sample that shows a difference.
  std::optional<Counterexample> difference_in(const Box& box) const {
    for (auto sample = samples_.rbegin(); sample != samples_.rend(); ++sample) {
      const Block block = block_of(box, *sample);
      if (sample->different.count(block) == 0) continue;
      std::size_t place = 0, found = sample->field.equal.size();
      for_each_index(sample->field.extents, [&](const Extents& position) {
        if (found == sample->field.equal.size() && !sample->field.equal[place] && block.contains(position))
          found = place;
        ++place;
      });
      if (auto difference = difference_at(*sample, found)) return difference;
    }
    return std::nullopt;
  }

  /// Small whole numbers for which the two sides differ at that place.
  std::optional<Counterexample> difference_at(const Sample& sample, std::size_t place) const {
    Random random(options_.seed);
    for (const std::int64_t greatest : {1, 3, 3, 9, 9, 99, 999, 9999}) {
      Counterexample difference;
      difference.assignment = sample.assignment;
      difference.shapes = sample.concrete.inputs;
      for (const Extents& extents : sample.concrete.inputs) {
        std::vector<double> data(static_cast<std::size_t>(count(extents)));
        for (double& value : data) value = static_cast<double>(random.between(-greatest, greatest));
        difference.inputs.emplace_back(extents, std::move(data));
      }
      auto sides = rules::evaluate_sides<double>(sample.concrete, difference.inputs);
      const double source = sides.source[0].data[place], target = sides.target[0].data[place];
      if (!(std::abs(source - target) > 1e-6 * (1 + std::abs(source) + std::abs(target)))) continue;
      difference.source = std::move(sides.source);
      difference.target = std::move(sides.target);
      difference.place = place;
      return difference;
    }
    return std::nullopt;
  }

  void summarise() {
    FieldSummary& field = result_.field;
    field.sizes = samples_.size();
    field.inputs = options_.inputs;
    std::size_t degree = 0, expansions = 0;
    bool is_multilinear = true;
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      const Sample& sample = samples_[i];
      const std::vector<bool>& equal = sample.field.equal;
      field.positions += equal.size();
      for (std::size_t place = 0; place < equal.size(); ++place) {
        field.agreeing += equal[place] ? 1 : 0;
        field.covered += equal[place] && covered_[i][place] ? 1 : 0;
      }
      if (sample.concrete.work > most_expanded || expansions == most_expansions || !is_multilinear) continue;
      ++expansions;
      const Summation summation = summation_of(sample.concrete);
      is_multilinear = summation.is_multilinear;
      degree = std::max(degree, summation.degree);
      field.groups += summation.groups.size();
      for (const SummationGroup& group : summation.groups) field.unfit += group.fits() ? 0 : 1;
      if (decide_by_few(sample.field, summation).equal != equal)
        result_.disagreement = "a few positions of a box do not stand for all of it";
    }
    if (is_multilinear && expansions > 0) field.error = error_bound(degree, options_.inputs);
  }

  /// Proved boxes contain only equal positions at sizes that had no part in finding them.
  void cross_check() {
    if (result_.proved.empty()) return;
    const SampleOptions other{~options_.seed, options_.sizes / 2, 1, options_.most_work / 4};
    for (const Sample& sample : samples_of(instance_, other, stop_))
      for (const Box& box : result_.proved)
        if (sample.different.count(block_of(box, sample)) > 0)
          result_.disagreement = "the field shows a difference in a proved box";
  }

  const rules::Instance& instance_;
  AgreementOptions options_;
  std::stop_token stop_;
  std::vector<Sample> samples_;
  std::vector<std::vector<bool>> covered_;  // positions of each sample in proved boxes
  Agreement result_;
};

}  // namespace

Agreement agreement_of(const rules::Instance& instance, const AgreementOptions& options, const std::stop_token& stop) {
  check(instance.source.size() == 1 && instance.target.size() == 1, "each side has one result");
  return BoxFinder(instance, options, stop).run();
}

bool is_proved(const rules::Instance& instance, const Box& box, const NormalFormLimits& limits) {
  return prove_within(instance, box.axes, limits).kind == NormalFormResult::proved;
}

NameOf names_in(const rules::Instance& instance) {
  return [&instance](std::string_view unknown) -> std::string {
    if (const auto meaning = instance.made_up.find(std::string(unknown)); meaning != instance.made_up.end())
      return fmt::format("({})", text_of(meaning->second, names_in(instance)));
    const std::size_t dot = unknown.rfind('.');
    if (dot == std::string_view::npos) return std::string(unknown);
    const std::string name(unknown.substr(0, dot)), place(unknown.substr(dot + 1));
    const bool is_input = std::find(instance.inputs.begin(), instance.inputs.end(), name) != instance.inputs.end();
    return is_input ? fmt::format("dim({}, {})", name, place) : fmt::format("{}[{}]", name, place);
  };
}

}  // namespace taso::verifier
