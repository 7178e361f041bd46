// The parts that find corrected programs: sizes, rearrangements, programs that are partly right, and corrections.
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "generator/partial/correction.h"
#include "generator/partial/mutant.h"
#include "ops/core/random.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace generator;

namespace {

using Piece = Rearrangement::Piece;
using Data = Tensor<Field>;
using Texts = std::set<std::string>;

Texts conditions_of(const Size& size) {
  Texts conditions;
  size.add_conditions(conditions);
  return conditions;
}

const generator::Source& source_named(std::string_view name) {
  static const std::vector<generator::Source> sources = all_sources();
  const auto found = std::find_if(sources.begin(), sources.end(),
                                  [&](const generator::Source& source) { return source.name == name; });
  REQUIRE(found != sources.end());
  return *found;
}

}  // namespace

// --- Sizes ---

TEST_CASE("partial: sizes as text") {
  const Size h = Size::term("dim(x, 2)", 12), n = Size::term("dim(x, 0)", 4), p = Size::term("p0", 1);
  CHECK((h + p - 1).text() == "dim(x, 2) + p0 - 1");
  CHECK((h + p - 1).value() == 12);
  CHECK((p - h).text() == "p0 - dim(x, 2)");
  CHECK((Size(0) - p).text() == "0 - p0");
  CHECK((Size(3) - p).text() == "3 - p0");
  CHECK((2 * n * h).text() == "2 * dim(x, 0) * dim(x, 2)");
  CHECK((h * h).text() == "dim(x, 2) * dim(x, 2)");
  CHECK((h + p).text(true) == "(dim(x, 2) + p0)");
  CHECK(h.text(true) == "dim(x, 2)");
  CHECK((h / 2).text(true) == "(dim(x, 2) / 2)");
  CHECK((n * h / (2 * p)).text() == "dim(x, 0) * dim(x, 2) / (2 * p0)");
  CHECK(Size(7).text() == "7");
  CHECK(Size::term("a + b", 3).text() == "(a + b)");
}

TEST_CASE("partial: sizes are polynomials") {
  const Size h = Size::term("dim(x, 2)", 12), n = Size::term("dim(x, 0)", 4), p = Size::term("p0", 1);
  CHECK(h + p == p + h);
  CHECK((h + p) * (h - p) == h * h - p * p);
  CHECK(h - h == Size(0));
  CHECK(2 * (h / 2) == h);
  CHECK(h / 2 + h / 2 == h);
  CHECK(n * h / n == h);
  CHECK((h + p) / (p + h) == Size(1));
  CHECK_FALSE(h == p);
  CHECK((h - h).is_number());
  CHECK(Size(5).is_number());
  CHECK_FALSE((h - p).is_number());
  CHECK((h - h + 5).is_number());
}

TEST_CASE("partial: quotients of sizes are exact, and say so") {
  const Size h = Size::term("dim(x, 2)", 12), p = Size::term("p0", 1), s = Size::term("s0", 2);
  CHECK((h / 2).value() == 6);
  CHECK((h / 2).is_whole());
  CHECK(conditions_of(h / 2) == Texts{"divides(2, dim(x, 2))"});
  CHECK(conditions_of(2 * (h / 2)).empty());
  CHECK(conditions_of(p + 3 * h / s) == Texts{"divides(s0, 3 * dim(x, 2))"});
  CHECK_FALSE((h / 5).is_whole());
  CHECK_FALSE((h / 5 + 1).is_whole());
  CHECK_FALSE((h / 0).is_whole());
  const Size half = (h + 2 * p) / 2;
  CHECK(half.value() == 7);
  CHECK(half.text() == "((dim(x, 2) + 2 * p0) / 2)");
  CHECK(conditions_of(half) == Texts{"divides(2, dim(x, 2) + 2 * p0)"});
  CHECK(conditions_of(half * 3 - 1) == conditions_of(half));
  CHECK_FALSE(((h + p) / 2).is_whole());
  // A divisor has conditions too.
  CHECK(conditions_of(14 * h / half).contains("divides(2, dim(x, 2) + 2 * p0)"));
  CHECK(conditions_of((14 * h + 7) / half).contains("divides(2, dim(x, 2) + 2 * p0)"));
}

namespace {

std::int64_t value_of(const rules::Term& term, const std::map<std::string, std::int64_t>& values) {
  using Kind = rules::Term::Kind;
  if (term.kind == Kind::integer) return term.integer;
  if (term.kind == Kind::variable) return values.at(term.name);
  REQUIRE(term.kind == Kind::call);
  if (term.name == "dim") return values.at(rules::text_of(term));
  const std::int64_t left = value_of(*term.operands[0], values), right = value_of(*term.operands[1], values);
  if (term.name == "+") return left + right;
  if (term.name == "-") return left - right;
  if (term.name == "*") return left * right;
  REQUIRE(term.name == "/");
  REQUIRE(right != 0);
  return left / right - (left % right != 0 && (left < 0) != (right < 0) ? 1 : 0);
}

rules::Condition condition_of(const std::string& text) {
  return rules::parse_rule("candidate a\n  conv[strides=[s], pads=[p, q]](x, w) => x\n  where " + text).conditions[0];
}

}  // namespace

TEST_CASE("partial: a size's text means its value where its conditions hold") {
  const std::map<std::string, std::int64_t> values{{"dim(x, 0)", 6}, {"dim(x, 2)", 24}, {"p", 4}, {"q", 2}, {"s", 3}};
  std::size_t whole = 0, with_conditions = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    std::vector<Size> sizes;
    for (const auto& [name, value] : values) sizes.push_back(Size::term(name, value));
    for (int i = 0; i < 6; ++i) {
      const Size a = random.pick(sizes), b = random.chance(0.3) ? Size(random.between(1, 4)) : random.pick(sizes);
      switch (random.below(4)) {
        case 0: sizes.push_back(a + b); break;
        case 1: sizes.push_back(a - b); break;
        case 2: sizes.push_back(a * b); break;
        default:
          // Nothing is divided by what may be negative.
          if (b.value() > 0 && b.text().find('-') == std::string::npos) sizes.push_back(a / b);
          break;
      }
    }
    const Size& size = sizes.back();
    if (!size.is_whole() || std::abs(size.value()) > 1'000'000) continue;
    ++whole;
    INFO(seed << ": " << size.text());
    const std::int64_t value = value_of(*condition_of(size.text() + " = 0").left, values);
    CHECK(value == size.value());
    const std::int64_t tripled = value_of(*condition_of("3 * " + size.text(true) + " = 0").left, values);
    CHECK(tripled == 3 * size.value());
    for (const std::string& text : conditions_of(size)) {
      ++with_conditions;
      INFO(text);
      const rules::Condition condition = condition_of(text);
      REQUIRE(condition.relation == rules::Condition::Relation::divides);
      const std::int64_t rest = value_of(*condition.right, values) % value_of(*condition.left, values);
      CHECK(rest == 0);
    }
  }
  CHECK(whole > 500);
  CHECK(with_conditions > 100);
}

// --- Rearrangements ---

namespace {

/// A tensor of random numbers, with sizes of these values.
Expression tensor(const Writer& writer, const Extents& extents) {
  std::vector<Size> shape;
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    shape.push_back(Size::term("dim(x, " + std::to_string(axis) + ")", extents[axis]));
  return writer.input("x", shape, 5);
}

/// Whether each element of the result is the one of x that `from` names by the index in the result.
template <class From>
bool moves(const std::optional<Expression>& result, const Expression& x, const Extents& extents, const From& from) {
  REQUIRE(result);
  REQUIRE(result->data->extents == extents);
  const auto strides = strides_of(x.data->extents);
  std::size_t place = 0;
  bool equal = true;
  for_each_index(extents, [&](const Extents& index) {
    const Extents source = from(index);
    equal = equal && result->data->data[place++] == x.data->data[static_cast<std::size_t>(flat_index(source, strides))];
  });
  return equal;
}

Size sized(std::int64_t number) { return Size(number); }

}  // namespace

TEST_CASE("partial: space to batch, along one axis") {
  const Writer writer(true);
  const Expression x = tensor(writer, {2, 3, 8});
  const Lift lift{1, {0}};
  // Runs: the halves of an image are neighbours in the batch.
  const Rearrangement runs{
      2, false, {{{0, Piece::whole}, {2, Piece::factor}}, {{1, Piece::whole}}, {{2, Piece::rest}}}};
  const auto halves = rearranged(writer, x, runs, lift, {sized(2)});
  CHECK(moves(halves, x, {4, 3, 4}, [](const Extents& i) { return Extents{i[0] / 2, i[1], i[0] % 2 * 4 + i[2]}; }));
  CHECK(halves->text ==
        "reshape[shape=[2 * dim(x, 0), dim(x, 1), dim(x, 2) / 2]](transpose[permutation=[0, 2, 1, 3]](reshape[shape="
        "[dim(x, 0), dim(x, 1), 2, dim(x, 2) / 2]](x)))");
  // Neighbours: even and odd columns are the two halves of the batch.
  const Rearrangement apart{
      2, true, {{{2, Piece::factor}, {0, Piece::whole}}, {{1, Piece::whole}}, {{2, Piece::rest}}}};
  CHECK(moves(rearranged(writer, x, apart, lift, {sized(2)}), x, {4, 3, 4}, [](const Extents& i) {
    return Extents{i[0] % 2, i[1], i[2] * 2 + i[0] / 2};
  }));
  CHECK_FALSE(rearranged(writer, tensor(writer, {2, 3, 7}), runs, lift, {sized(2)}));
  CHECK_FALSE(rearranged(writer, x, runs, lift, {sized(3)}));
}

TEST_CASE("partial: space to batch or channels, along some of several axes") {
  const Writer writer(true);
  const Rearrangement to_batch{
      2, false, {{{0, Piece::whole}, {2, Piece::factor}}, {{1, Piece::whole}}, {{2, Piece::rest}}}};
  const Rearrangement to_channels{
      2, true, {{{0, Piece::whole}}, {{1, Piece::whole}, {2, Piece::factor}}, {{2, Piece::rest}}}};
  const Expression image = tensor(writer, {2, 3, 4, 6});
  CHECK(moves(rearranged(writer, image, to_batch, {2, {0}}, {sized(2)}), image, {4, 3, 2, 6}, [](const Extents& i) {
    return Extents{i[0] / 2, i[1], i[0] % 2 * 2 + i[2], i[3]};
  }));
  CHECK(moves(rearranged(writer, image, to_batch, {2, {1}}, {sized(3)}), image, {6, 3, 4, 2}, [](const Extents& i) {
    return Extents{i[0] / 3, i[1], i[2], i[0] % 3 * 2 + i[3]};
  }));
  CHECK(moves(rearranged(writer, image, to_batch, {2, {0, 1}}, {sized(2), sized(3)}), image, {12, 3, 2, 2},
              [](const Extents& i) {
                return Extents{i[0] / 6, i[1], i[0] / 3 % 2 * 2 + i[2], i[0] % 3 * 2 + i[3]};
              }));
  const Expression video = tensor(writer, {2, 1, 2, 4, 6});
  CHECK(moves(rearranged(writer, video, to_channels, {3, {0, 1, 2}}, {sized(2), sized(2), sized(3)}), video,
              {2, 12, 1, 2, 2}, [](const Extents& i) {
                return Extents{i[0], 0, i[2] * 2 + i[1] / 6, i[3] * 2 + i[1] / 3 % 2, i[4] * 3 + i[1] % 3};
              }));
  CHECK(
      moves(rearranged(writer, video, to_channels, {3, {1}}, {sized(2)}), video, {2, 2, 2, 2, 6}, [](const Extents& i) {
        return Extents{i[0], i[1] / 2, i[2], i[3] * 2 + i[1] % 2, i[4]};
      }));
}

TEST_CASE("partial: batch to space") {
  const Writer writer(true);
  const Rearrangement to_space{
      0, false, {{{0, Piece::rest}}, {{1, Piece::whole}}, {{0, Piece::factor}, {2, Piece::whole}}}};
  const Expression line = tensor(writer, {6, 2, 5});
  CHECK(moves(rearranged(writer, line, to_space, {1, {0}}, {sized(3)}), line, {2, 2, 15}, [](const Extents& i) {
    return Extents{i[2] / 5 * 2 + i[0], i[1], i[2] % 5};
  }));
  const Expression image = tensor(writer, {12, 2, 3, 5});
  CHECK(moves(rearranged(writer, image, to_space, {2, {0, 1}}, {sized(2), sized(3)}), image, {2, 2, 6, 15},
              [](const Extents& i) {
                return Extents{(i[2] / 3 * 3 + i[3] / 5) * 2 + i[0], i[1], i[2] % 3, i[3] % 5};
              }));
  CHECK_FALSE(rearranged(writer, tensor(writer, {5, 2, 5}), to_space, {1, {0}}, {sized(3)}));
  // One batch cannot become each of two axes.
  const Rearrangement exchanged{std::nullopt, false, {{{2, Piece::whole}}, {{1, Piece::whole}}, {{0, Piece::whole}}}};
  CHECK_FALSE(rearranged(writer, image, exchanged, {2, {0, 1}}, {sized(2), sized(2)}));
  CHECK(moves(rearranged(writer, image, exchanged, {2, {1}}, {sized(2)}), image, {5, 2, 3, 12}, [](const Extents& i) {
    return Extents{i[3], i[1], i[2], i[0]};
  }));
}

TEST_CASE("partial: axes are dropped and come back") {
  const Writer writer(true);
  const Rearrangement drop{std::nullopt, false, {{{0, Piece::whole}, {2, Piece::whole}}, {{1, Piece::whole}}}};
  const Rearrangement back{0, true, {{{0, Piece::rest}}, {{1, Piece::whole}}, {{0, Piece::factor}}}};
  for (const std::size_t axes : {std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    Extents extents{2, 3, 4, 5, 6};
    extents.resize(2 + axes);
    const Expression x = tensor(writer, extents);
    const Lift lift{axes, {0}};
    Extents dropped = extents;
    dropped.erase(dropped.begin() + 2);
    dropped[0] *= 4;
    const auto without = rearranged(writer, x, drop, lift, {sized(2)});
    CHECK(moves(without, x, dropped, [](const Extents& i) {
      Extents from = i;
      from[0] = i[0] / 4;
      from.insert(from.begin() + 2, i[0] % 4);
      return from;
    }));
    const auto again = rearranged(writer, *without, back, lift, {x.shape[2]});
    REQUIRE(again);
    CHECK(again->data->extents == extents);
    CHECK(again->data->data == x.data->data);
    CHECK(again->shape == x.shape);
  }
}

TEST_CASE("partial: every rearrangement keeps all elements") {
  const Writer writer(true), text(false);
  std::size_t made = 0;
  for (const Lift& lift : {Lift{1, {0}}, Lift{2, {1}}, Lift{2, {0, 1}}}) {
    Extents extents{4, 4, 4, 4};
    extents.resize(2 + lift.axes);
    const Expression x = tensor(writer, extents);
    const std::vector<Size> factors(lift.changed.size(), Size(2));
    const auto sorted = [](const Expression& value) {
      std::vector<std::uint64_t> bits;
      for (const Field& one : value.data->data) bits.push_back(one.bits());
      std::sort(bits.begin(), bits.end());
      return bits;
    };
    for (const std::size_t to : {std::size_t{2}, std::size_t{3}})
      for (const Rearrangement& how : all_rearrangements(3, to)) {
        const auto result = rearranged(writer, x, how, lift, factors);
        if (!result) continue;
        ++made;
        CHECK(result->rank() == 2 + lift.axes - (to == 2 ? lift.changed.size() : 0));
        CHECK(sorted(*result) == sorted(x));
        CHECK(rearranged(text, x, how, lift, factors)->text == result->text);
        if (how.changes_nothing()) CHECK(result->text == "x");
      }
  }
  CHECK(made > 300);
}

// --- Programs that are partly right ---

namespace {

std::map<std::string, double> shares_of(const std::string& source_name, double least_share, MutantCounts& counts) {
  const generator::Source& source = source_named(source_name);
  std::map<std::string, double> shares;
  for (const Mutant& mutant : mutants_of(source, lifts_of(source, false).front(), false, least_share, counts)) {
    double& share = shares[name_of(mutant.recipe, source)];
    share = std::max(share, mutant.share);
  }
  return shares;
}

}  // namespace

TEST_CASE("partial: programs for pooling") {
  MutantCounts counts;
  const auto shares = shares_of("max-pool", 0.5, counts);
  const Texts expected{"batch-to-space", "channels-to-space", "space-to-batch", "space-to-channels"};
  REQUIRE(shares.size() == expected.size());
  for (const auto& [name, share] : shares) {
    INFO(name << " " << share);
    CHECK(expected.contains(name));
    CHECK(share >= 0.75);
    CHECK(share < 1);
  }
  CHECK(counts.distinct == 4);
  CHECK(counts.tried >= counts.promising);
  MutantCounts none;
  CHECK(shares_of("max-pool", 1, none).empty());
  CHECK(none.distinct == 0);
}

TEST_CASE("partial: programs for convolutions") {
  MutantCounts counts;
  const auto shares = shares_of("conv", 0.5, counts);
  // Cut in the middle, 3 of 12 positions see the other half. Laid side by side, one image is wrong at its end and the
  // other at its start: 3 of 24.
  const std::map<std::string, double> expected{{"batch-to-space", 0.875},
                                               {"channels-added", 1},
                                               {"space-to-batch", 0.75},
                                               {"taps-before-the-middle-added", 1},
                                               {"taps-to-the-middle-added", 1}};
  CHECK(shares == expected);
  CHECK(counts.tried > counts.promising);
  CHECK(counts.promising > counts.distinct);
  CHECK(counts.distinct == 5);
}

TEST_CASE("partial: programs for transposed convolutions") {
  MutantCounts counts;
  // At the cut, 3 of 36 positions see the other half.
  const std::map<std::string, double> expected{{"batch-to-space", 1 - 1.5 / 36}, {"space-to-batch", 1 - 3.0 / 36}};
  const auto shares = shares_of("transposed-conv", 0.5, counts);
  REQUIRE(shares.size() == expected.size());
  for (const auto& [name, share] : expected) CHECK(shares.at(name) == Approx(share));
}

TEST_CASE("partial: programs for chains of convolutions") {
  for (const char* name : {"conv-conv", "conv-relu-conv"}) {
    MutantCounts counts;
    // At the cut, the halo of both convolutions: 5 of 12 positions see the other half.
    const std::map<std::string, double> expected{{"batch-to-space", 1 - 2.5 / 12}, {"space-to-batch", 1 - 5.0 / 12}};
    const auto shares = shares_of(name, 0.5, counts);
    REQUIRE(shares.size() == expected.size());
    for (const auto& [kind, share] : expected) CHECK(shares.at(kind) == Approx(share));
  }
}

TEST_CASE("partial: programs that are right by chance fit no other sizes") {
  MutantCounts counts;
  const auto shares = shares_of("matmul", 0, counts);
  CHECK(shares.size() >= 3);
  CHECK(counts.by_chance > 0);
}

TEST_CASE("partial: a search for programs can be stopped") {
  std::stop_source stop;
  stop.request_stop();
  MutantCounts counts;
  const generator::Source& source = source_named("conv");
  CHECK(mutants_of(source, lifts_of(source, false).front(), false, 0.5, counts, stop.get_token()).empty());
  CHECK(counts.tried == 0);
}

// --- Corrections ---

namespace {

ops::Dim symbol(const char* name) { return ops::Dim::symbol(name); }

struct Correction {
  std::string text;
  Texts conditions;
};
/// The correction of a program `y`.
Correction correction_of(const std::string& source_name, const Lift& lift, const std::vector<Span>& right) {
  const Writer writer(false);
  const generator::Source& source = source_named(source_name);
  const WrittenSource operands = written(source, lift, writer, false);
  Correction correction;
  const Expression program{"y", operands.result.shape, nullptr};
  correction.text = corrected(source, operands, program, right, lift, writer, correction.conditions).text;
  return correction;
}

}  // namespace

TEST_CASE("partial: a correction of both borders") {
  const Span inner{symbol("p0"), symbol("dim(x, 2)") - symbol("q0"), false, false};
  const Correction pool = correction_of("max-pool", {1, {0}}, {inner});
  CHECK(pool.text ==
        "concat[axis=2](concat[axis=2](max_pool[kernel=[p0 + q0 + 1], pads=[p0, 0]](slice[axis=2, begin=0, "
        "end=p0 + q0](x)), slice[axis=2, begin=p0, end=dim(x, 2) - q0](y)), max_pool[kernel=[p0 + q0 + 1], "
        "pads=[0, q0]](slice[axis=2, begin=dim(x, 2) - p0 - q0, end=dim(x, 2)](x)))");
  CHECK(pool.conditions ==
        Texts{"dim(x, 2) - p0 - q0 - 1 >= 0", "dim(x, 2) - p0 - q0 >= 0", "p0 - 1 >= 0", "q0 - 1 >= 0"});
  // Along the width, with everything else as it is
  const Correction wide = correction_of("max-pool", {2, {1}}, {inner});
  CHECK(wide.text ==
        "concat[axis=3](concat[axis=3](max_pool[kernel=[k0, p1 + q1 + 1], strides=[s0, 1], dilations=[d0, 1], "
        "pads=[p0, p1, q0, 0]](slice[axis=3, begin=0, end=p1 + q1](x)), slice[axis=3, begin=p1, end=dim(x, 3) - q1]"
        "(y)), max_pool[kernel=[k0, p1 + q1 + 1], strides=[s0, 1], dilations=[d0, 1], pads=[p0, 0, q0, q1]]"
        "(slice[axis=3, begin=dim(x, 3) - p1 - q1, end=dim(x, 3)](x)))");
}

TEST_CASE("partial: a correction of a seam") {
  const ops::Dim half = ops::floor_div(symbol("dim(x, 2)"), 2);
  const std::vector<Span> right{{0, half - 1, true, false}, {half + 1, symbol("dim(x, 2)"), false, true}};
  const Correction seam = correction_of("conv-of-3", {1, {0}}, right);
  CHECK(seam.text ==
        "concat[axis=2](concat[axis=2](slice[axis=2, begin=0, end=dim(x, 2) / 2 - 1](y), conv(slice[axis=2, "
        "begin=dim(x, 2) / 2 - 2, end=dim(x, 2) / 2 + 2](x), w)), slice[axis=2, begin=dim(x, 2) / 2 + 1, "
        "end=dim(x, 2)](y))");
  CHECK(seam.conditions == Texts{"dim(x, 2) / 2 - 2 >= 0"});
  // Both axes: one after the other
  const Correction both = correction_of("conv-of-3", {2, {0, 1}}, right);
  CHECK_THAT(both.text, Catch::StartsWith("concat[axis=2](concat[axis=2](slice[axis=2, begin=0, end=dim(x, 2) / 2 - 1]"
                                          "(concat[axis=3](concat[axis=3](slice[axis=3, begin=0, end=dim(x, 3) / 2"));
  CHECK(text_of(right, {1, {0}}) == "i2 < dim(x, 2) / 2 - 1 or dim(x, 2) / 2 + 1 <= i2");
  CHECK(text_of(right, {2, {1}}) == "i3 < dim(x, 3) / 2 - 1 or dim(x, 3) / 2 + 1 <= i3");
  CHECK(ordinary_share(right, source_named("conv-of-3")) == Approx(54.0 / 56));
}

TEST_CASE("partial: a correction of a transposed convolution") {
  const ops::Dim middle = ops::floor_div(symbol("dim(x, 2)"), 2) * symbol("s0");
  const std::vector<Span> right{{0, middle - symbol("p0"), true, false},
                                {middle + symbol("q0"), symbol("dim(x, 2)") * symbol("s0"), false, true}};
  const Correction seam = correction_of("transposed-conv", {1, {0}}, right);
  // One element on each side of the seam, without what they add elsewhere
  CHECK(seam.text ==
        "concat[axis=2](concat[axis=2](slice[axis=2, begin=0, end=dim(x, 2) * s0 / 2 - p0](y), "
        "conv_transpose[strides=[s0], pads=[s0, s0]](slice[axis=2, begin=dim(x, 2) / 2 - 1, end=dim(x, 2) / 2 + 1](x), "
        "w)), slice[axis=2, begin=dim(x, 2) * s0 / 2 + q0, end=dim(x, 2) * s0](y))");
  CHECK(seam.conditions.contains("s0 - p0 - q0 >= 0"));
  CHECK(seam.conditions.contains("p0 + q0 - 1 >= 0"));
  CHECK(ordinary_share(right, source_named("transposed-conv")) == Approx(110.0 / 112));
}

TEST_CASE("partial: a correction of a chain has the halo of both convolutions") {
  const ops::Dim before = symbol("p0") + symbol("u0"), after = symbol("q0") + symbol("v0");
  const Correction both =
      correction_of("conv-relu-conv", {1, {0}}, {{before, symbol("dim(x, 2)") - after, false, false}});
  CHECK(both.text ==
        "concat[axis=2](concat[axis=2](conv[pads=[u0, 0]](relu(conv[pads=[p0, 0]](slice[axis=2, begin=0, "
        "end=p0 + q0 + u0 + v0](x), w)), z), slice[axis=2, begin=p0 + u0, end=dim(x, 2) - q0 - v0](y)), "
        "conv[pads=[0, v0]](relu(conv[pads=[0, q0]](slice[axis=2, begin=dim(x, 2) - p0 - q0 - u0 - v0, "
        "end=dim(x, 2)](x), w)), z))");
  // Both convolutions have the elements that they read.
  CHECK(both.conditions.contains("dim(x, 2) - p0 - q0 - u0 - v0 >= 0"));
  CHECK(both.conditions.contains("dim(x, 2) - p0 - u0 - v0 >= 0"));
}

TEST_CASE("partial: where a program is right along one axis") {
  const Span whole{0, symbol("n"), true, true};
  const Span inner{1, symbol("h") - 1, false, false}, start{0, symbol("h") - 2, true, false};
  const Span end{symbol("h") - 1, symbol("h"), false, true};
  using Spans = std::optional<std::vector<Span>>;
  CHECK(right_along({{{whole, inner}}, ""}, 1) == Spans({inner}));
  CHECK(right_along({{{whole, end}, {whole, start}}, ""}, 1) == Spans({start, end}));
  CHECK(right_along({{{whole, start}, {whole, start}}, ""}, 1) == Spans({start}));
  // One box for each half of the batch: what they have in common
  const Span first{0, 1, true, false}, second{1, symbol("n"), false, true};
  CHECK(right_along({{{first, start}, {second, start}}, ""}, 1) == Spans({start}));
  CHECK_FALSE(right_along({{{first, start}, {second, inner}}, ""}, 1));  // in no evident order
  CHECK_FALSE(right_along({{{whole, inner}, {whole, start}}, ""}, 1));
  CHECK_FALSE(right_along({{{whole, whole}}, ""}, 1));
  CHECK_FALSE(right_along({{}, ""}, 1));
}

}  // namespace taso::test
