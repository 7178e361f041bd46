#include "verifier/agreement/agreement.h"

#include <iostream>
#include <numeric>

#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/verifier/random_pair.h"
#include "verifier/agreement/expansion.h"
#include "verifier/agreement/samples.h"
#include "verifier/agreement/summation.h"
#include "verifier/proof/deadline.h"

namespace taso::test {

using namespace verifier;

namespace {

std::vector<std::string> boxes_in(const rules::Instance& instance, const verifier::Agreement& agreement) {
  std::vector<std::string> texts;
  for (const Box& box : agreement.proved) texts.push_back(text_of(box, agreement.shape, names_in(instance)));
  std::sort(texts.begin(), texts.end());
  return texts;
}

/// The proved boxes of a rule at its first ranks, sorted.
std::vector<std::string> proved(const char* text) {
  const rules::Instance instance = rules::instances(rules::parse_rule(text)).at(0);
  const verifier::Agreement agreement = agreement_of(instance);
  CHECK(agreement.disagreement == "");
  CHECK(agreement.obstacle == "");
  return boxes_in(instance, agreement);
}

using Texts = std::vector<std::string>;

Block block_of(const Box& box, const Sample& sample, const rules::Instance& instance) {
  const rules::Places places = rules::places_of(instance);
  return at(box, sample.field.extents,
            [&](std::string_view name) { return sample.assignment.unknowns[places.find(name)->second]; });
}

}  // namespace

TEST_CASE("agreement: a border of the output") {
  CHECK(proved("candidate a\n  conv[pads=[1, 1, 1, 1]](x, w)\n"
               "    => pad[before=[0, 0, 1, 1], after=[0, 0, 1, 1]](conv(x, w))\n"
               "  where spatial(w) = [3, 3], dim(x, 2) >= 3, dim(x, 3) >= 3") ==
        Texts{"1 <= i2 < dim(x, 2) - 1 and 1 <= i3 < dim(x, 3) - 1"});
  // Any kernel and padding: also where the window sees only padding
  CHECK(proved("candidate a\n  conv[pads=[p, p]](x, w) => pad[before=[0, 0, p], after=[0, 0, p]](conv(x, w))\n"
               "  where dim(x, 2) >= dim(w, 2)") ==
        Texts{"i2 < p - dim(w, 2) + 1", "p + dim(x, 2) <= i2", "p <= i2 < p - dim(w, 2) + dim(x, 2) + 1"});
  CHECK(proved("candidate a\n  max_pool[kernel=[3], pads=[1, 1]](x)\n"
               "    => pad[before=[0, 0, 1], after=[0, 0, 1]](max_pool[kernel=[3]](x))\n  where dim(x, 2) >= 3") ==
        Texts{"1 <= i2 < dim(x, 2) - 1"});
}

TEST_CASE("agreement: any stride, three dimensions") {
  CHECK(proved("candidate a\n  conv[strides=s, pads=[p, q]](x, w)\n    => conv[strides=s, pads=[p, q]]("
               "pad[before=[0, 0, 1], after=[0, 0, 0]](slice[axis=2, begin=1, end=dim(x, 2)](x)), w)\n"
               "  where dim(x, 2) >= 2") == Texts{"i2 < (p - dim(w, 2)) / s[0] + 1", "p / s[0] + 1 <= i2"});
  const rules::Instance instance =
      rules::instances(rules::parse_rule("candidate a\n  conv[pads=[1, 0, 0, 1, 0, 0]](x, w)\n"
                                         "    => pad[before=[0, 0, 1, 0, 0], after=[0, 0, 1, 0, 0]](conv(x, w))\n"
                                         "  where spatial(w) = [3, 3, 3], dim(x, 2) >= 3"))
          .at(0);
  const verifier::Agreement agreement = agreement_of(instance);
  CHECK(boxes_in(instance, agreement) == Texts{"1 <= i2 < dim(x, 2) - 1"});
  CHECK(agreement.open.size() == 2);
}

TEST_CASE("agreement: a seam in the middle") {
  CHECK(proved("candidate a\n  conv[pads=[1, 1]](concat[axis=2](x, y), w)\n"
               "    => concat[axis=2](conv[pads=[1, 1]](x, w), conv[pads=[1, 1]](y, w))\n  where dim(w, 2) = 3") ==
        Texts{"dim(x, 2) + 1 <= i2", "i2 < dim(x, 2) - 1"});
  // Two halves of an image as two images of a batch
  CHECK(proved("candidate a\n  conv[pads=[1, 1]](x, w)\n    => reshape[shape=[dim(x, 0), dim(w, 0), dim(x, 2)]]("
               "transpose[permutation=[0, 2, 1, 3]](reshape[shape=[dim(x, 0), 2, dim(w, 0), dim(x, 2) / 2]]("
               "conv[pads=[1, 1]](reshape[shape=[dim(x, 0) * 2, dim(x, 1), dim(x, 2) / 2]]("
               "transpose[permutation=[0, 2, 1, 3]](reshape[shape=[dim(x, 0), dim(x, 1), 2, dim(x, 2) / 2]](x))), "
               "w))))\n  where dim(w, 2) = 3, divides(2, dim(x, 2))") ==
        Texts{"(dim(x, 2) / 2) + 1 <= i2", "i2 < (dim(x, 2) / 2) - 1"});
}

TEST_CASE("agreement: everywhere and nowhere") {
  CHECK(proved("candidate a\n  matmul(x, add(y, z)) => add(matmul(x, y), matmul(x, z))\n"
               "  where rank(x) = 2, rank(y) = 2, shape(y) = shape(z)") == Texts{"everywhere"});
  const rules::Instance instance =
      rules::instances(rules::parse_rule("candidate a\n  sub(x, y) => sub(y, x)\n  where shape(x) = shape(y)")).at(0);
  const verifier::Agreement none = agreement_of(instance);
  CHECK(none.proved.empty());
  REQUIRE(none.open.size() == 1);
  CHECK(none.open[0].box == whole(none.shape));
  REQUIRE(none.open[0].difference);
  const Counterexample& difference = *none.open[0].difference;
  CHECK(difference.source[0].data[difference.place] != difference.target[0].data[difference.place]);
}

TEST_CASE("agreement: nothing is claimed of targets that do not fit or may be undefined") {
  const auto obstacle = [](const char* text) {
    return agreement_of(rules::instances(rules::parse_rule(text)).at(0)).obstacle;
  };
  CHECK(obstacle("candidate a\n  relu(x) => slice[axis=0, begin=0, end=3](x)") != "");
  CHECK(obstacle("candidate a\n  mul(x, y) => div(x, y)\n  where shape(x) = shape(y)") != "");
}

TEST_CASE("boxes: the rest of a box is disjoint and complete") {
  const Dim h = Dim::symbol("h"), w = Dim::symbol("w"), p = Dim::symbol("p");
  const Shape shape{h, w};
  const AtMost at_most = [](Dim low, Dim high) { return surely_at_least(high, low); };
  for (const Box& box : {Box{{{p, h - p}, {p - 1, w}}}, Box{{{0, h}, {2, w - 1}}}, Box{{{h - 1, h}, {0, 3}}}}) {
    const std::vector<Box> rest = complement(shape, {box}, at_most);
    for (std::int64_t height = 1; height < 7; ++height)
      for (std::int64_t pad = 1; pad < 4; ++pad) {
        const Extents extents{height, 5};
        const Binding binding = [&](std::string_view name) { return name == "h" ? height : name == "w" ? 5 : pad; };
        bool ordered = true;  // otherwise parts may overlap
        for (const verifier::Interval& axis : box.axes)
          ordered = ordered && axis.low.evaluate(binding) <= axis.high.evaluate(binding);
        for_each_index(extents, [&](const Extents& position) {
          std::size_t times = 0;
          for (const Box& part : rest) times += at(part, extents, binding).contains(position) ? 1 : 0;
          const bool inside = at(box, extents, binding).contains(position);
          CHECK((times == 0) == inside);
          if (ordered) CHECK(times + (inside ? 1 : 0) == 1);
        });
      }
  }
  CHECK(complement(shape, {whole(shape)}, at_most).empty());
  CHECK(complement(shape, {}, at_most) == std::vector<Box>{whole(shape)});
}

TEST_CASE("summation intervals: PET's condition is checked") {
  const auto summation = [](const char* text) {
    const rules::Instance instance = rules::instances(rules::parse_rule(text)).at(0);
    std::vector<Summation> all;
    for (const Sample& sample : samples_of(instance, {})) all.push_back(summation_of(sample.concrete));
    return all;
  };
  const auto unfit = [](const std::vector<Summation>& all) {
    std::size_t count = 0;
    for (const Summation& one : all)
      for (const SummationGroup& group : one.groups) count += group.fits() ? 0 : 1;
    return count;
  };
  const auto fits = summation(
      "candidate a\n  conv[pads=[1, 1]](x, w) => conv[pads=[1, 1]](x, w)\n"
      "  where dim(w, 2) = 3, dim(x, 2) >= 3");
  CHECK(unfit(fits) == 0);
  for (const Summation& one : fits) CHECK(one.groups.size() == 3);  // two ends and the middle
  // One element of x each, but not moved by a fixed distance: the condition fails, and all positions are examined.
  const auto wraps = summation(
      "candidate a\n  x => reshape[shape=shape(x)](transpose[permutation=[1, 0]](x))\n"
      "  where rank(x) = 2, dim(x, 0) >= 2, dim(x, 1) >= 3");
  CHECK(unfit(wraps) > 0);
  CHECK_FALSE(summation("candidate a\n  relu(x) => relu(x)\n  where rank(x) = 1").at(0).is_multilinear);
  CHECK_FALSE(summation("candidate a\n  mul(x, x) => mul(x, x)\n  where rank(x) = 1").at(0).is_multilinear);
}

namespace {

struct Campaign {
  std::size_t pairs = 0, obstructed = 0, everywhere = 0, partly = 0, nowhere = 0;
  std::size_t positions = 0, agreeing = 0, uncovered = 0;  // at sizes that had no part in finding the boxes
  std::size_t pairs_uncovered = 0;
  std::size_t groups = 0, unfit = 0, pairs_unfit = 0, not_multilinear = 0;
  std::size_t misled = 0;            // groups without PET's condition that a few positions would decide wrongly
  std::size_t boxes = 0, wrong = 0;  // proved boxes, and wrong boxes that were refused

  void print() const {
    std::cout << pairs << " pairs: " << everywhere << " equal everywhere, " << partly << " partly, " << nowhere
              << " nowhere, " << obstructed << " with an obstacle; " << boxes << " proved boxes, " << wrong
              << " wrong boxes refused; of " << positions << " positions at other sizes " << agreeing << " agree, "
              << uncovered << " of them in no proved box (" << pairs_uncovered << " pairs); " << groups
              << " summation groups, " << unfit << " without PET's condition (" << pairs_unfit << " pairs), " << misled
              << " of them at other sizes decided wrongly without that check, " << not_multilinear
              << " pairs not multilinear\n";
  }
};

/// Wrong by one at a bound, at the opposite corner, with bounds of other axes, or elsewhere altogether.
std::vector<Box> mutated(const verifier::Agreement& agreement) {
  std::vector<Box> boxes;
  for (const Box& box : agreement.proved) {
    for (std::size_t axis = 0; axis < box.axes.size(); ++axis) {
      for (const Dim step : {Dim(-1), Dim(1)}) {
        for (const bool low : {true, false}) {
          Box other = box;
          (low ? other.axes[axis].low : other.axes[axis].high) =
              (low ? other.axes[axis].low : other.axes[axis].high) + step;
          boxes.push_back(other);
        }
        Box moved = box;
        moved.axes[axis] = {box.axes[axis].low + step, box.axes[axis].high + step};
        boxes.push_back(moved);
      }
      Box corner = box;
      corner.axes[axis] = {agreement.shape[axis] - box.axes[axis].high, agreement.shape[axis] - box.axes[axis].low};
      boxes.push_back(corner);
      Box strided = box;
      strided.axes[axis].low = floor_div(box.axes[axis].low, 2);
      boxes.push_back(strided);
      Box open = box;
      open.axes[axis] = {0, agreement.shape[axis]};
      boxes.push_back(open);
    }
  }
  for (const OpenBox& open : agreement.open) boxes.push_back(open.box);
  return boxes;
}

/// The number of groups without PET's condition in which the first position and its neighbours agree, but not all do.
std::size_t misled_groups(const Sample& sample) {
  std::size_t misled = 0;
  const auto strides = strides_of(sample.field.extents);
  for (const SummationGroup& group : summation_of(sample.concrete).groups) {
    if (group.fits()) continue;
    const auto agrees = [&](std::size_t place) { return sample.field.equal[place]; };
    bool few = agrees(group.positions[0]);
    for (const std::int64_t stride : strides) {
      const std::size_t next = group.positions[0] + static_cast<std::size_t>(stride);
      if (std::find(group.positions.begin(), group.positions.end(), next) != group.positions.end())
        few = few && agrees(next);
    }
    if (few && !std::all_of(group.positions.begin(), group.positions.end(), agrees)) ++misled;
  }
  return misled;
}

/// Compares the two ways on one pair, at sizes that had no part in finding the boxes.
void compare(const rules::Instance& instance, std::uint64_t seed, std::size_t mutations, Campaign& campaign) {
  AgreementOptions options;
  options.seed = seed;
  const Deadline deadline(20, {});  // a few are slow, and stay unknown
  const verifier::Agreement agreement = agreement_of(instance, options, deadline.token());
  ++campaign.pairs;
  CHECK(agreement.disagreement == "");
  if (!agreement.obstacle.empty()) {
    ++campaign.obstructed;
    return;
  }
  ++(agreement.is_everywhere() ? campaign.everywhere : agreement.proved.empty() ? campaign.nowhere : campaign.partly);
  campaign.boxes += agreement.proved.size();
  campaign.groups += agreement.field.groups;
  campaign.unfit += agreement.field.unfit;
  campaign.pairs_unfit += agreement.field.unfit > 0 ? 1 : 0;
  campaign.not_multilinear += agreement.field.error ? 0 : 1;

  const std::vector<Sample> samples = samples_of(instance, {seed + 1'000'003, 8, 2, 3e5});
  std::size_t uncovered = 0;
  for (const Sample& sample : samples) {
    std::vector<Block> proved, open;
    for (const Box& box : agreement.proved) {
      proved.push_back(block_of(box, sample, instance));
      if (sample.different.count(proved.back()) > 0)
        FAIL("they differ in a proved box: " << text_of(box, agreement.shape, names_in(instance)));
    }
    for (const OpenBox& box : agreement.open) open.push_back(block_of(box.box, sample, instance));
    std::size_t place = 0;
    for_each_index(sample.field.extents, [&](const Extents& position) {
      const auto holds = [&](const Block& block) { return block.contains(position); };
      const bool covered = std::any_of(proved.begin(), proved.end(), holds);
      if (!covered && std::none_of(open.begin(), open.end(), holds)) FAIL("a position is in no box");
      const bool equal = sample.field.equal[place++];
      campaign.positions += 1;
      campaign.agreeing += equal ? 1 : 0;
      uncovered += equal && !covered ? 1 : 0;
    });
  }
  if (agreement.field.unfit > 0)
    for (const Sample& sample : samples)
      if (sample.concrete.work < 3e4) campaign.misled += misled_groups(sample);
  campaign.uncovered += uncovered;
  campaign.pairs_uncovered += uncovered > 0 ? 1 : 0;

  std::size_t tried = 0;
  for (const Box& box : mutated(agreement)) {
    if (tried == mutations) break;
    const bool is_wrong = std::any_of(samples.begin(), samples.end(), [&](const Sample& sample) {
      return sample.different.count(block_of(box, sample, instance)) > 0;
    });
    if (!is_wrong) continue;
    ++tried;
    ++campaign.wrong;
    if (is_proved(instance, box, options.limits))
      FAIL("a wrong box is proved: " << text_of(box, agreement.shape, names_in(instance)));
  }
}

Campaign campaign(std::uint64_t first, std::size_t pairs, std::size_t mutations) {
  Campaign result;
  for (std::uint64_t seed = first; result.pairs < pairs; ++seed) {
    const std::string text = RandomPair(seed).rule();
    INFO(seed << ": " << text);
    const std::vector<rules::Instance> instances = rules::instances(rules::parse_rule(text));
    REQUIRE(!instances.empty());
    compare(instances[0], seed, mutations, result);
  }
  result.print();
  return result;
}

}  // namespace

TEST_CASE("agreement: the field and the proofs agree on random pairs") {
  const Campaign result = campaign(1, 100, 3);
  CHECK(result.obstructed < 20);
  CHECK(result.partly > 20);
  CHECK(result.pairs_uncovered < 10);
  CHECK(result.wrong > 50);
}

TEST_CASE("agreement: the field and the proofs agree on thousands of random pairs", "[.][full]") {
  const Campaign result = campaign(10'000, 2'500, 6);
  CHECK(result.obstructed * 10 < result.pairs);
  CHECK(result.pairs_uncovered * 20 < result.pairs);
  CHECK(result.uncovered * 10 < result.agreeing);
  CHECK(result.wrong >= 3'000);
}

TEST_CASE("agreement: the field finds the same positions as polynomials that are multiplied out") {
  std::size_t compared = 0;
  for (std::uint64_t seed = 500; seed < 560; ++seed) {
    const std::string text = RandomPair(seed).rule();
    INFO(seed << ": " << text);
    const std::vector<rules::Instance> instances = rules::instances(rules::parse_rule(text));
    REQUIRE(!instances.empty());
    if (!agreement_of(instances[0]).obstacle.empty()) continue;
    for (const Sample& sample : samples_of(instances[0], {seed, 2, 1, 2e4})) {
      std::vector<Tensor<Expansion>> inputs;
      for (std::size_t input = 0; input < sample.concrete.inputs.size(); ++input) {
        std::vector<Expansion> data;
        for (std::int64_t place = 0; place < count(sample.concrete.inputs[input]); ++place)
          data.push_back(Expansion::of_element(Expansion::element(input, static_cast<std::uint64_t>(place))));
        inputs.emplace_back(sample.concrete.inputs[input], std::move(data));
      }
      const auto sides = rules::evaluate_sides<Expansion>(sample.concrete, inputs);
      for (std::size_t place = 0; place < sample.field.equal.size(); ++place) {
        const Expansion difference = sides.source[0].data[place] - sides.target[0].data[place];
        if (!difference.is_polynomial()) break;
        ++compared;
        if (difference.terms().empty() != sample.field.equal[place]) FAIL("they differ at place " << place);
      }
    }
  }
  CHECK(compared > 1'000);
}

}  // namespace taso::test
