// All instances of a rule.
#include <algorithm>
#include <set>

#include "ops/core/random.h"
#include "rules/instance/choice_domain.h"
#include "rules/instance/instance.h"
#include "rules/instance/term_value.h"

namespace taso::rules {
namespace {

/// Enumerates all sequences of choices: each run repeats the last one up to the choice that changes.
class EveryChoice : public Chooser {
 public:
  std::size_t rank(const std::string&, std::size_t least, std::size_t greatest) override {
    return least + choose(greatest - least + 1);
  }
  std::size_t value(const std::string&, const ChoiceDomain& domain) override { return choose(domain.size()); }
  std::size_t length(const std::string&, std::size_t least, std::size_t greatest) override {
    return least + choose(greatest - least + 1);
  }
  bool is_one(const std::string&, std::size_t) override { return choose(2) == 1; }
  bool is_non_negative(const Dim&) override { return choose(2) == 0; }

  /// False if there are no more.
  bool next() {
    trail_.resize(place_);  // drop choices that were not asked for this time
    place_ = 0;
    while (!trail_.empty() && trail_.back().first + 1 == trail_.back().second) trail_.pop_back();
    if (trail_.empty()) return false;
    ++trail_.back().first;
    return true;
  }

 private:
  std::size_t choose(std::size_t count) {
    if (place_ == trail_.size()) trail_.emplace_back(0, count);
    return trail_[place_++].first;
  }
  std::vector<std::pair<std::size_t, std::size_t>> trail_;  // (chosen, number of choices)
  std::size_t place_ = 0;
};

}  // namespace

namespace {

/// A rule with more instances, because several inputs may have any rank, is not decided. The largest shipped rule has
/// 617 instances.
constexpr std::size_t most_instances = 10'000, most_choices = 200'000;

/// Answers at random; ranks and lengths are often equal.
class RandomChoice : public Chooser {
 public:
  RandomChoice(Random& random, std::size_t proved) : random_(random), proved_(proved) {}
  std::size_t rank(const std::string&, std::size_t least, std::size_t greatest) override {
    return size(least, greatest);
  }
  std::size_t value(const std::string&, const ChoiceDomain& domain) override { return random_.below(domain.size()); }
  std::size_t length(const std::string&, std::size_t least, std::size_t greatest) override {
    return size(least, greatest);
  }
  bool is_one(const std::string&, std::size_t) override { return random_.chance(0.2); }
  bool is_non_negative(const Dim&) override { return random_.chance(0.5); }
  bool is_beyond() const { return beyond_; }

 private:
  std::size_t size(std::size_t least, std::size_t greatest) {
    if (usual_ < least || usual_ > greatest || random_.chance(0.3))
      usual_ = least + random_.below(greatest - least + 1);
    beyond_ = beyond_ || usual_ > proved_;
    return usual_;
  }
  Random& random_;
  std::size_t proved_, usual_ = 0;
  bool beyond_ = false;
};

}  // namespace

std::vector<Instance> instances_beyond(const Rule& rule, const InstanceOptions& options, std::size_t count,
                                       std::uint64_t seed) {
  std::vector<Instance> result;
  Random random(seed);
  for (std::size_t attempt = 0; attempt < 10 * count && result.size() < count; ++attempt) {
    RandomChoice choice(random, greatest_rank(rule));
    try {
      auto one = instance(rule, choice, options);
      if (one && one->target_fits && choice.is_beyond()) result.push_back(std::move(*one));
    } catch (const Undecided&) {
      continue;
    }
  }
  return result;
}

InstanceList all_instances(const Rule& rule, const InstanceOptions& options) {
  InstanceList list;
  EveryChoice choice;
  InstanceOptions each_once = options;
  each_once.each_case_once = true;
  std::size_t tried = 0;
  do {
    if (++tried > most_choices || list.made.size() == most_instances) {
      list.undecided.emplace_back("it has more ranks, axes and switches than can be tried");
      break;
    }
    try {
      if (auto one = instance(rule, choice, each_once)) list.made.push_back(std::move(*one));
    } catch (const Undecided& undecided) {
      list.undecided.push_back(undecided.reason);
    }
  } while (choice.next());
  // The rule does not cover ranks at which the target fits for no axis, permutation or switch. If it fits for some of
  // these, the others are counterexamples.
  const auto ranks = [](const Instance& one) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) all.push_back(one.nodes[i].shapes[0].size());
    return all;
  };
  std::set<std::vector<std::size_t>> fitting;
  for (const Instance& one : list.made)
    if (one.target_fits) fitting.insert(ranks(one));
  if (!fitting.empty()) std::erase_if(list.made, [&](const Instance& one) { return !fitting.contains(ranks(one)); });
  return list;
}

std::vector<Instance> instances(const Rule& rule, const InstanceOptions& options) {
  return all_instances(rule, options).made;
}

}  // namespace taso::rules
