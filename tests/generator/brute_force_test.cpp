// Everything that a plain brute force finds is among the generator's rules or follows from them.
//
// The brute force has no representatives, symmetry or pruning: it builds every term of a few operators over a few
// inputs, evaluates each on small integers, where doubles are exact, and compares all. Rules with two results need no
// pairs of graphs here: such a rule states two equalities, and the parts of a split are terms like all others.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "generator/generate.h"
#include "ops/core/random.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/generator/derivation.h"
#include "tests/generator/proved_rules.h"

namespace taso::test {

using namespace generator;

namespace {

/// Two sizes, each with three sets of contents: where signs matter, few numbers often agree by chance.
constexpr std::size_t worlds = 6;

struct Term {
  std::string text;
  bool is_kernel = false;
  std::vector<std::string> dims;               ///< in the rule language
  std::vector<std::string> cuts;               ///< where it was joined, for each axis; empty: nowhere
  std::set<std::size_t> nodes;                 ///< its operators
  std::set<std::string> inputs;                ///< those that it reads
  std::array<ops::Tensor<double>, worlds> at;  ///< its value in each world
};

/// One way to apply an operator.
struct Way {
  std::string schema;  ///< its name in the generator
  std::size_t operands = 1;
  bool takes_kernels = false;
};

const std::vector<Way> ways{{"add", 2, true},    {"mul", 2, true},     {"matmul", 2},        {"relu", 1},
                            {"transpose", 1},    {"concat0", 2, true}, {"concat1", 2, true}, {"split0", 1, true},
                            {"split1", 1, true}, {"conv3x3", 2, true}, {"max_pool", 1}};

class BruteForce {
 public:
  BruteForce(const std::vector<std::string>& schemas, std::size_t operators) : most_(operators) {
    for (const Way& way : ways)
      if (std::find(schemas.begin(), schemas.end(), way.schema) != schemas.end()) ways_.push_back(way);
    REQUIRE(ways_.size() == schemas.size());
  }

  void add_input(const std::string& name, std::array<Extents, 2> shapes, bool is_kernel = false) {
    Term term;
    term.text = name;
    term.is_kernel = is_kernel;
    term.inputs = {name};
    for (std::size_t i = 0; i < shapes[0].size(); ++i) term.dims.push_back(fmt::format("dim({}, {})", name, i));
    term.cuts.resize(shapes[0].size());
    for (std::size_t w = 0; w < worlds; ++w) {
      term.at[w] = ops::Tensor<double>(shapes[w % 2], 0.0);
      for (double& element : term.at[w].data) element = static_cast<double>(random_.next() % 61) - 30;
    }
    terms_.push_back(std::move(term));
  }

  /// All terms with at most that many operators.
  const std::vector<Term>& run() {
    for (std::size_t level = 0; level < most_; ++level) {
      const std::size_t count = terms_.size();
      for (const Way& way : ways_)
        for (std::size_t a = 0; a < count; ++a) {
          if (way.operands == 1) apply(way, {a});
          for (std::size_t b = 0; way.operands == 2 && b < count; ++b) apply(way, {a, b});
        }
    }
    return terms_;
  }

 private:
  void apply(const Way& way, const std::vector<std::size_t>& operands) {
    std::vector<const Term*> terms;
    std::set<std::size_t> nodes;
    std::set<std::string> inputs;
    std::vector<std::string> texts;
    for (const std::size_t operand : operands) {
      terms.push_back(&terms_[operand]);
      nodes.insert(terms.back()->nodes.begin(), terms.back()->nodes.end());
      inputs.insert(terms.back()->inputs.begin(), terms.back()->inputs.end());
      texts.push_back(terms.back()->text);
    }
    if (nodes.size() + 1 > most_ || !takes(way, terms)) return;
    const std::string text = fmt::format("{}({})", operator_text(way, terms), fmt::join(texts, ", "));
    if (!seen_.insert(text).second) return;
    std::array<std::vector<ops::Tensor<double>>, worlds> results;
    for (std::size_t w = 0; w < worlds; ++w) {
      std::vector<ops::Tensor<double>> values;
      for (const Term* term : terms) values.push_back(term->at[w]);
      const auto op = concrete(way, terms, w);
      try {
        results[w] = ops::evaluate<double>(op, values);
      } catch (const ShapeError&) {
        return;
      }
    }
    nodes.insert(next_node_++);
    for (std::size_t output = 0; output < results[0].size(); ++output) {
      Term term;
      term.text = results[0].size() == 1 ? text : fmt::format("{}({})", output == 0 ? "first" : "second", text);
      term.is_kernel = terms[0]->is_kernel;
      term.nodes = nodes;
      term.inputs = inputs;
      describe_shape(term, way, terms, output);
      for (std::size_t w = 0; w < worlds; ++w) term.at[w] = std::move(results[w][output]);
      fresh_.push_back(std::move(term));
    }
    for (Term& term : fresh_) terms_.push_back(std::move(term));
    fresh_.clear();
  }

  static std::size_t axis_of(const Way& way) { return way.schema.back() == '1' ? 1 : 0; }
  static bool is(const Way& way, std::string_view name) { return way.schema.starts_with(name); }

  /// evaluate() checks shapes; beyond that, kernels and images do not mix.
  static bool takes(const Way& way, const std::vector<const Term*>& terms) {
    if (is(way, "conv")) return !terms[0]->is_kernel && terms[1]->is_kernel && channels_fit(*terms[0], *terms[1]);
    for (const Term* term : terms)
      if (term->is_kernel != terms[0]->is_kernel || (term->is_kernel && !way.takes_kernels)) return false;
    if (is(way, "add") || is(way, "mul")) return terms[0]->at[0].extents == terms[1]->at[0].extents;
    return !is(way, "split") || !terms[0]->cuts[axis_of(way)].empty();
  }
  static bool channels_fit(const Term& image, const Term& kernel) {
    return image.at[0].extents[1] == kernel.at[0].extents[1];
  }

  static std::string operator_text(const Way& way, const std::vector<const Term*>& terms) {
    if (is(way, "concat")) return fmt::format("concat[axis={}]", axis_of(way));
    if (is(way, "split")) return fmt::format("split[axis={}, at={}]", axis_of(way), terms[0]->cuts[axis_of(way)]);
    if (is(way, "transpose")) return "transpose[permutation=[1, 0]]";
    if (is(way, "conv")) return "conv[pads=1]";
    if (is(way, "max_pool")) return "max_pool[kernel=[3, 3], pads=1]";
    return way.schema;
  }

  /// A split cuts in the middle: all inputs have the same size.
  static Operator concrete(const Way& way, const std::vector<const Term*>& terms, std::size_t world) {
    const auto axis = static_cast<std::int64_t>(axis_of(way));
    if (is(way, "concat")) return op::Concat{.axis = axis};
    if (is(way, "split")) return op::Split{.axis = axis, .at = Dim(terms[0]->at[world].extents[axis_of(way)] / 2)};
    if (is(way, "transpose")) return op::Transpose{.permutation = {1, 0}};
    if (is(way, "conv")) return op::Conv{.strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 1, 1, 1}, .groups = 1};
    if (is(way, "max_pool"))
      return op::MaxPool{.kernel = {3, 3}, .strides = {1, 1}, .dilations = {1, 1}, .pads = {1, 1, 1, 1}};
    return *operator_named(way.schema);
  }

  static void describe_shape(Term& term, const Way& way, const std::vector<const Term*>& terms, std::size_t output) {
    const Term &left = *terms[0], &right = *terms.back();
    const std::size_t axis = axis_of(way);
    term.dims = left.dims;
    term.cuts = left.cuts;
    if (is(way, "concat")) {
      term.dims[axis] = fmt::format("{} + {}", left.dims[axis], right.dims[axis]);
      const bool in_the_middle = left.at[0].extents[axis] == right.at[0].extents[axis];
      term.cuts[axis] = in_the_middle ? left.dims[axis] : std::string();
    } else if (is(way, "split")) {
      term.dims[axis] = output == 0 ? left.cuts[axis] : fmt::format("{} - ({})", left.dims[axis], left.cuts[axis]);
      term.cuts[axis].clear();
    } else if (is(way, "matmul")) {
      term.dims[1] = right.dims[1];
      term.cuts[1] = right.cuts[1];
    } else if (is(way, "transpose")) {
      std::swap(term.dims[0], term.dims[1]);
      std::swap(term.cuts[0], term.cuts[1]);
    } else if (is(way, "conv")) {
      term.dims[1] = right.dims[0];
      term.cuts[1] = right.cuts[0];
    }
  }

  const std::size_t most_;
  std::vector<Way> ways_;
  std::vector<Term> terms_, fresh_;
  std::set<std::string> seen_;
  std::size_t next_node_ = 0;
  Random random_{5};
};

/// Source and target, exchanged if necessary; nothing if each side has inputs that the other lacks.
std::optional<rules::Rule> rule_of(const Term& source, const Term& target, const std::set<std::string>& kernels) {
  if (source.inputs != target.inputs) return std::nullopt;
  std::string text = fmt::format("candidate c\n  {} => {}\n", source.text, target.text);
  std::vector<std::string> conditions;
  for (const std::string& input : source.inputs)
    if (kernels.contains(input)) conditions.push_back(fmt::format("spatial({}) = [3, 3]", input));
  if (!conditions.empty()) text += fmt::format("  where {}\n", fmt::join(conditions, ", "));
  return rules::parse_rule(text);
}

struct Result {
  std::size_t terms = 0, equalities = 0, among = 0, derived = 0, untrue = 0, open = 0;
  std::vector<std::string> missing;
};

Result compare(const std::vector<std::string>& schemas, std::size_t operators, bool images = false) {
  const verifier::VerifyOptions verify_options{.second_opinion = false};
  const GenerateReport& report = proved_with(schemas, operators);
  std::set<std::string> known;
  for (const rules::Rule& rule : report.rules) known.insert(rules::content_hash(rule));
  const rules::Properties equations = equations_of(report.rules);

  BruteForce brute_force(schemas, operators);
  std::set<std::string> kernels;
  if (images) {
    for (const char* name : {"x", "y"}) brute_force.add_input(name, {Extents{1, 2, 3, 3}, Extents{2, 3, 4, 3}});
    for (const char* name : {"v", "w"}) {
      brute_force.add_input(name, {Extents{2, 2, 3, 3}, Extents{3, 3, 3, 3}}, true);
      kernels.insert(name);
    }
  } else {
    for (const char* name : {"x", "y", "z"}) brute_force.add_input(name, {Extents{2, 2}, Extents{3, 3}});
  }
  const std::vector<Term>& terms = brute_force.run();
  Result result;
  result.terms = terms.size();

  // By value; the smallest term of each value comes first.
  std::map<std::vector<double>, std::vector<const Term*>> buckets;
  for (const Term& term : terms) {
    std::vector<double> key;
    for (const ops::Tensor<double>& tensor : term.at) {
      for (const std::int64_t extent : tensor.extents) key.push_back(static_cast<double>(extent));
      key.insert(key.end(), tensor.data.begin(), tensor.data.end());
    }
    key.push_back(term.is_kernel ? 1 : 0);
    buckets[std::move(key)].push_back(&term);
  }
  std::set<std::string> seen;
  for (auto& [key, bucket] : buckets) {
    std::stable_sort(bucket.begin(), bucket.end(),
                     [](const Term* a, const Term* b) { return a->nodes.size() < b->nodes.size(); });
    for (std::size_t i = 1; i < bucket.size(); ++i) {
      auto rule = rule_of(*bucket[i], *bucket[0], kernels);
      if (!rule || !seen.insert(rules::canonical_text(*rule)).second) continue;
      ++result.equalities;
      if (known.contains(rules::content_hash(*rule))) {
        ++result.among;
        continue;
      }
      const rules::SaturationLimits limits{.rounds = 6, .terms = 3000, .matches = 30000};
      if (obstacle_to_deriving(*rule, equations, limits).empty()) {
        ++result.derived;
        continue;
      }
      // Laws that are true only if all sizes are equal need not be found.
      const verifier::RuleVerdict verdict = verdict_on(*rule, verify_options);
      if (verdict.kind == verifier::RuleVerdict::Kind::refuted) {
        ++result.untrue;
        continue;
      }
      if (verdict.kind == verifier::RuleVerdict::Kind::unknown) ++result.open;
      rule->conditions.insert(rule->conditions.end(), verdict.condition.begin(), verdict.condition.end());
      if (known.contains(rules::content_hash(*rule)) || obstacle_to_deriving(*rule, equations, limits).empty()) {
        ++result.derived;
        continue;
      }
      result.missing.push_back(rules::print(*rule));
    }
  }
  return result;
}

void check_nothing_is_missing(const std::vector<std::string>& schemas, std::size_t operators, bool images = false) {
  const Result result = compare(schemas, operators, images);
  const std::string figures =
      fmt::format("{} with {} operators: {} terms, {} equalities: {} among ours, {} derived, {} false, {} open",
                  fmt::join(schemas, " "), operators, result.terms, result.equalities, result.among, result.derived,
                  result.untrue, result.open);
  INFO(figures);
  if (std::getenv("TASO_FIGURES") != nullptr) fmt::print(stderr, "{}, {} missing\n", figures, result.missing.size());
  CHECK(result.terms > 50);
  CHECK(result.among + result.derived > 5);
  CHECK(result.open == 0);
  for (std::size_t i = 0; i < std::min<std::size_t>(result.missing.size(), 20); ++i) UNSCOPED_INFO(result.missing[i]);
  CHECK(result.missing.empty());
}

}  // namespace

TEST_CASE("a brute force over two operators finds nothing more") {
  check_nothing_is_missing({"matmul", "add", "transpose"}, 2);
  check_nothing_is_missing({"add", "mul", "concat0", "split0"}, 2);
  check_nothing_is_missing({"relu", "matmul", "concat0", "concat1", "split0", "split1"}, 2);
  check_nothing_is_missing({"conv3x3", "add", "concat0", "concat1", "split1"}, 2, true);
}

TEST_CASE("a brute force over three operators finds nothing more") {
  check_nothing_is_missing({"matmul", "transpose"}, 3);
  check_nothing_is_missing({"add", "concat0"}, 3);
  check_nothing_is_missing({"matmul", "concat1", "split1"}, 3);
  check_nothing_is_missing({"relu", "transpose", "concat0", "split0"}, 3);
  check_nothing_is_missing({"conv3x3", "concat0", "split1"}, 3, true);
}

// Sums and products of positive numbers: this is why programs are enumerated on small integers.
TEST_CASE("a brute force finds nothing more where signs matter") {
  check_nothing_is_missing({"add", "mul", "relu"}, 2);
  check_nothing_is_missing({"add", "relu", "concat0"}, 3);
}

TEST_CASE("a brute force over three operators of more kinds finds nothing more", "[.][full]") {
  check_nothing_is_missing({"matmul", "add", "transpose"}, 3);
  check_nothing_is_missing({"add", "mul", "concat0", "split0"}, 3);
  check_nothing_is_missing({"matmul", "add", "concat0", "concat1"}, 3);
  check_nothing_is_missing({"matmul", "transpose", "concat0", "concat1", "split1"}, 3);
  check_nothing_is_missing({"conv3x3", "add", "concat0", "concat1"}, 3, true);
  check_nothing_is_missing({"conv3x3", "relu", "max_pool", "concat1", "split1"}, 3, true);
}

}  // namespace taso::test
