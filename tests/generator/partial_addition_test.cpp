// Programs that add up parts: which are found, and that they compute the same with any number of axes.
#include <algorithm>
#include <map>

#include "generator/partial/addition.h"
#include "generator/partial/mutant.h"
#include "tests/catch.h"
#include "tests/generator/partial_rules.h"

namespace taso::test {

using namespace generator;

namespace {

std::map<std::string, FoundAddition> additions_for(const generator::Source& source, double least_share = 0.5) {
  MutantCounts counts;
  std::map<std::string, FoundAddition> found;
  for (const FoundAddition& one : additions_of(source, lifts_of(source, false).front(), least_share, counts, {})) {
    const bool is_new = found.emplace(name_of(one.addition, source), one).second;
    CHECK(is_new);
  }
  CHECK(counts.distinct == found.size());
  CHECK(counts.tried >= counts.agreeing);
  CHECK(counts.agreeing >= counts.distinct);
  return found;
}

generator::Source source_named(const std::string& name) {
  for (const generator::Source& source : all_sources())
    if (source.name == name) return source;
  FAIL("no source " << name);
  return {};
}

}  // namespace

TEST_CASE("partial: sums of operators") {
  using Names = std::vector<std::string>;
  const Names taps{"taps-before-the-middle-added", "taps-to-the-middle-added"};
  const std::map<std::string, Names> expected{
      {"conv", {"channels-added", taps[0], taps[1]}},
      {"pointwise-conv", {"channels-added"}},
      // One tap is before nothing.
      {"conv-of-2", {"channels-added", "taps-to-filters-added", taps[1]}},
      {"conv-of-3", {"channels-added", taps[0], "taps-to-filters-added", taps[1]}},
      {"grouped-conv", taps},
      {"matmul", {"depth-added"}},
      {"max-pool", {}},
      {"strided-conv", {}}};
  for (const auto& [name, names] : expected) {
    INFO(name);
    const generator::Source source = source_named(name);
    Names found;
    for (const auto& [of_addition, one] : additions_for(source)) {
      found.push_back(of_addition);
      CHECK(one.share == 1);
    }
    CHECK(found == names);
  }
}

TEST_CASE("partial: sums are right along any of the axes") {
  const Writer writer(true);
  std::size_t compared = 0;
  for (const generator::Source& source : all_sources())
    for (const auto& [name, one] : additions_for(source))
      for (const Lift& lift : lifts_of(source, false)) {
        INFO(source.name << " " << name << " " << lift.axes);
        const WrittenSource operands = written(source, lift, writer, false);
        const auto sum = written(one.addition, source, operands, lift, writer);
        // What is cut along channels is cut once, whatever the number of axes.
        const bool is_lifted = lift.changed.size() <= 1 || name != "channels-added";
        REQUIRE(sum.has_value() == is_lifted);
        if (!sum) continue;
        CHECK(equal_share(*sum, operands.result) == 1);
        CHECK(sum->shape == operands.result.shape);
        ++compared;
      }
  CHECK(compared >= 40);
}

TEST_CASE("partial: a bias is added once") {
  const Writer writer(false);
  const generator::Source source = source_named("conv-of-3");
  for (const auto& [name, one] : additions_for(source))
    for (const Lift& lift : {Lift{1, {0}}, Lift{2, {0, 1}}}) {
      const auto sum = written(one.addition, source, written(source, lift, writer, true), lift, writer);
      if (!sum) continue;
      INFO(sum->text);
      std::size_t biases = 0;
      for (const char* text : {", b)", "(b)"})
        for (std::size_t at = sum->text.find(text); at != std::string::npos; at = sum->text.find(text, at + 1))
          ++biases;
      CHECK(biases == 1);
    }
}

TEST_CASE("partial: sums are proved") {
  const std::vector<std::string> kinds{"conv-of-3-taps-to-filters-added", "conv-taps-to-the-middle-added",
                                       "matmul-depth-added"};
  const PartialReport report = partial_report(kinds, 1);
  CHECK(report.refuted.empty());
  CHECK(report.unknown.empty());
  CHECK(report.rules.size() == 8 + 12 + 1);
  for (const PartialRule& one : report.rules) CHECK_FALSE(one.is_corrected);
}

}  // namespace taso::test
