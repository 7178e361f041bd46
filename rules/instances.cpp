// All instances of a rule.
#include <algorithm>
#include <set>

#include "rules/choice_domain.h"
#include "rules/instance.h"

namespace taso {
namespace {

/// Goes through all sequences of choices: each run repeats the last one up to the choice that changes.
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

  /// False when there are no more.
  bool next() {
    trail_.resize(place_);  // what was not asked for this time
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
  std::vector<std::pair<std::size_t, std::size_t>> trail_;  // (chosen, of how many)
  std::size_t place_ = 0;
};

}  // namespace

std::vector<Instance> instances(const Rule& rule, const InstanceOptions& options) {
  std::vector<Instance> result;
  EveryChoice choice;
  InstanceOptions each_once = options;
  each_once.each_case_once = true;
  do {
    if (auto one = instance(rule, choice, each_once)) result.push_back(std::move(*one));
  } while (choice.next());
  // Ranks at which the target fits for no axis, permutation or switch are not those that the rule speaks of. Where it
  // fits for some of these, the others are counterexamples.
  const auto ranks = [](const Instance& one) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) all.push_back(one.nodes[i].shapes[0].size());
    return all;
  };
  std::set<std::vector<std::size_t>> fitting;
  for (const Instance& one : result)
    if (one.target_fits) fitting.insert(ranks(one));
  if (!fitting.empty()) std::erase_if(result, [&](const Instance& one) { return !fitting.contains(ranks(one)); });
  return result;
}

}  // namespace taso
