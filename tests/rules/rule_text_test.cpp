#include "rules/language/rule_text.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ops/core/error.h"
#include "rules/language/well_formed.h"
#include "tests/catch.h"
#include "tests/rules/random_rule.h"

namespace taso::test {

using namespace rules;

namespace {

namespace fs = std::filesystem;

constexpr const char* sample = R"(taso rules 1

# --- Distributivity ---
# of everything

# x(y + z) = xy + xz
axiom matmul-distributes-over-add
  matmul(x, add(y, z)) = add(matmul(x, y), matmul(x, z))

# Two products with a common left factor: one product, then cut.
rule shared-left-factor-1x1
  matmul(x, y), matmul(x, z) => split[axis=1, at=dim(y, 1)](matmul(x, concat[axis=1](y, z)))
  where rank(x) = 2, dim(y, 1) < 2 * dim(z, 1), divides(4, dim(x, 0)), parity(rank(x)) = even, broadcast(x, y, z)
  by split-of-concat, matmul-of-concat-columns

# Filters of two convolutions over one input, side by side
axiom conv-of-concat-filters
  concat[axis=1](conv[strides=s, dilations=d, pads=p](x, w), conv[strides=s, dilations=d, pads=p](x, v))
    = conv[strides=s, dilations=d, pads=p](x, concat[axis=0](w, v))
  where spatial(w) = spatial(v)

candidate odd-numbers
  clip[low=-0.5, high=inf](pad[before=[0, 1], after=b, value=1e-05](first(split[axis=a, at=k](x))))
    => leaky_relu[alpha=0](reduce_sum[axes=[a], keep=true](mul(x, ones[shape=shape(x)])))
  where k - (1 - a) <= -1 * a / 2 % 3, (b ++ [1])[a + 1] != b[0], b = repeat(0, rank(x)) ++ begins(b), a >= 1

# The end
)";

std::string error_of(const std::string& text) {
  try {
    parse_rules(Source("", text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST_CASE("a canonical rule file prints unchanged") {
  const RuleFile file = parse_rules(Source("sample", sample));
  CHECK(print(file) == sample);
  CHECK(file.rules().size() == 4);
  CHECK(file.items.size() == 6);
}

TEST_CASE("layout does not matter, and comments inside a rule move above it") {
  const RuleFile file = parse_rules(Source("sample",
                                           "\xef\xbb\xbftaso rules 1.0 # new\r\n"
                                           "axiom a # one\n"
                                           "\trelu(\n"
                                           "   # two\n"
                                           "\n"
                                           " x)\n"
                                           " = x where rank(x)>=2 # three\n"
                                           "# four\n"
                                           "#\n"
                                           "#five\n"
                                           "\n"
                                           "# six\n"
                                           "rule b relu(x)=>x by a,c"));
  CHECK(print(file) == R"(taso rules 1.0

# new
# one
# two
# three
axiom a
  relu(x) = x
  where rank(x) >= 2

# four
#
# five

# six
rule b
  relu(x) => x
  by a, c
)");
}

TEST_CASE("all results of an operator in a row are written as the operator") {
  const Rule bare = parse_rule("axiom a\n  split[axis=0, at=k](x), y = first(split[axis=0, at=k](x)), y, x");
  CHECK(bare.source.size() == 3);
  CHECK(bare.source[1]->output == 1);
  const Rule picked =
      parse_rule("axiom a\n  first(split[axis=0, at=k](x)), second(split[axis=0, at=k](x)), y = x, x, x");
  CHECK(rules::text_of(picked.source) == "split[axis=0, at=k](x), y");
  const Rule turned = parse_rule("axiom a\n  second(split[axis=0, at=k](x)), first(split[axis=0, at=k](x)) = x, x");
  CHECK(rules::text_of(turned.source) == "second(split[axis=0, at=k](x)), first(split[axis=0, at=k](x))");
}

TEST_CASE("a rule in both directions is two rules") {
  const std::string text =
      "# Both\nrule concat-of-relu\n  concat[axis=a](relu(x), relu(y)) <=> relu(concat[axis=a](x, y))\n"
      "  where rank(x) = 2\n  by relu-of-concat\n";
  const Rule rule = parse_rule(text);
  CHECK(rule.both_ways);
  CHECK(print(rule) == text);
  const std::vector<Rule> both = expanded(rule);
  REQUIRE(both.size() == 2);
  CHECK(print(both[0]) ==
        "# Both\nrule concat-of-relu\n  concat[axis=a](relu(x), relu(y)) => relu(concat[axis=a](x, y))\n"
        "  where rank(x) = 2\n  by relu-of-concat\n");
  CHECK(print(both[1]) ==
        "# Both\nrule concat-of-relu-back\n  relu(concat[axis=a](x, y)) => concat[axis=a](relu(x), relu(y))\n"
        "  where rank(x) = 2\n  by relu-of-concat\n");
  const RuleFile file = parse_rules(Source("", "taso rules 1\n\n" + text));
  CHECK(file.items.size() == 1);
  CHECK(file.rules().size() == 2);
}

TEST_CASE("a law for a class is a rule for each of its members") {
  const std::string text =
      "# It keeps the order.\naxiom f-of-reduce-max for f in rising\n"
      "  f(reduce_max[axes=r, keep=k](x)) = reduce_max[axes=r, keep=k](f(x))\n";
  const Rule law = parse_rule(text);
  CHECK(print(law) == text);
  std::vector<std::string> names;
  for (const Rule& rule : expanded(law)) {
    names.push_back(rule.name);
    INFO(print(rule));
    CHECK(parse_rule(print(rule)).same_statement(rule));
    CHECK(!flaw_of(rule));
  }
  CHECK(names == std::vector<std::string>{"exp-of-reduce-max", "erf-of-reduce-max", "relu-of-reduce-max",
                                          "sigmoid-of-reduce-max", "tanh-of-reduce-max", "clip-of-reduce-max"});
  // The function has its own attributes, under names that nothing else has.
  CHECK(print(expanded(law).back()) ==
        "# It keeps the order.\naxiom clip-of-reduce-max\n"
        "  clip[low=f_low, high=f_high](reduce_max[axes=r, keep=k](x))\n"
        "    = reduce_max[axes=r, keep=k](clip[low=f_low, high=f_high](x))\n");
  const Rule taken = parse_rule(
      "axiom f-of-slice for f in unary\n"
      "  f(slice[axis=f_low, begin=f_high, end=e](x)) = slice[axis=f_low, begin=f_high, end=e](f(x))\n");
  for (const Rule& rule : expanded(taken)) CHECK(!flaw_of(rule));
}

TEST_CASE("a law has the members that take as many operands as it gives, and attributes where it gives them") {
  const auto names_of = [](const char* text) {
    std::string names;
    for (const Rule& rule : expanded(parse_rule(text))) names += rule.name + " ";
    return names;
  };
  CHECK(names_of("axiom f-a for f in keeps_zero\n  f(x, y) = f(y, x)") == "add-a sub-a mul-a max-a min-a ");
  CHECK(names_of("axiom f-a for f in keeps_zero\n  f(x) = x") ==
        "sqrt-a erf-a relu-a leaky-relu-a tanh-a gelu-a hard-swish-a neg-a silu-a ");
  CHECK(names_of("axiom f-of-g for f in linear, g in associates\n  f(g(x, y), z) = g(f(x, z), y)") ==
        "add-of-add add-of-mul add-of-max add-of-min sub-of-add sub-of-mul sub-of-max sub-of-min ");
  CHECK(names_of("rule r-of-r for r in reduction\n  r[axes=a](r[axes=b](x)) <=> r[axes=b](r[axes=a](x))") ==
        "reduce-sum-of-reduce-sum reduce-sum-of-reduce-sum-back reduce-mean-of-reduce-mean "
        "reduce-mean-of-reduce-mean-back reduce-max-of-reduce-max reduce-max-of-reduce-max-back ");
  const Rule sum = expanded(parse_rule("axiom r-a for r in reduction\n  r[axes=c](x) = x"))[0];
  CHECK(rules::text_of(sum.source) == "reduce_sum[axes=c](x)");
}

TEST_CASE("a number beside a tensor is a tensor of that shape") {
  const std::string text = "rule a\n  batch_norm[epsilon=e](x, s, b, m, v) => div(add(v, e), sub(-0.5, mul(v, 2)))\n";
  const Rule rule = parse_rule(text);
  CHECK(rules::text_of(rule.target) ==
        "div(add(v, clip[low=e, high=e](v)), sub(clip[low=-0.5, high=-0.5](mul(v, clip[low=2, high=2](v))), "
        "mul(v, clip[low=2, high=2](v))))");
  CHECK(print(rule) == text);
  CHECK(parse_rule(print(rule)).same_statement(rule));
  // If a variable is only such a number, its name would be an input's.
  const std::string alone = "rule a\n  add(v, clip[low=e, high=e](v)) => add(clip[low=e, high=e](v), v)\n";
  CHECK(print(parse_rule(alone)) == alone);
  const std::string law = "axiom g-a for g in binary\n  g(x, 0) = x\n";
  CHECK(print(parse_rule(law)) == law);
}

TEST_CASE("the version of a file with definitions is one that has them") {
  const RuleFile read = parse_rules(Source("", "taso rules 1.1\n\ndefinition twice(x)\n  = add(x, x)\n"));
  RuleFile made;
  CHECK(print(made) == "taso rules 1\n");
  made.items = read.items;
  CHECK(print(made) == print(read));
}

TEST_CASE("a definition is replaced by what it stands for") {
  const std::string definitions = R"(taso rules 1.1

# u written over x
definition updated[before=b, after=c](x, u)
  = add(pad[before=b, after=c](u), mul(x, pad[before=b, after=c, value=1](sub(u, u))))

definition shifted[by=v](x)
  = add(relu(x), v)

definition flat(x)
  = reshape[shape=[product(shape(x))]](x)

definition half(x)
  = first(split[axis=0, at=dim(x, 0) / 2](x))

definition turned[places=n](x)
  = sub(1, slice[axis=0, begin=n, end=n + 1](shifted[by=0.5](x)))

definition unit
  = ones[shape=[1]]

)";
  const auto means = [&](const std::string& short_form, const std::string& long_form) {
    INFO(short_form);
    const RuleFile file = parse_rules(Source("", definitions + "candidate c\n  " + short_form + "\n"));
    CHECK(file.items.size() == 7);
    REQUIRE(file.rules().size() == 1);
    CHECK(file.rules()[0].same_statement(parse_rule("candidate c\n  " + long_form)));
    // What others define is replaced in rules and definitions.
    std::string printed = definitions;
    printed.replace(printed.find("shifted[by=0.5](x)"), std::string_view("shifted[by=0.5](x)").size(),
                    "add(relu(x), 0.5)");
    const std::string text = print(file);
    CHECK(text.starts_with(printed));
    const RuleFile again = parse_rules(Source("", text));
    CHECK(print(again) == text);
    CHECK(again.rules()[0].same_statement(file.rules()[0]));
    for (std::size_t i = 0; i + 1 < file.items.size(); ++i)
      CHECK(std::get<Definition>(again.items[i]) == std::get<Definition>(file.items[i]));
  };
  means("updated[before=[b, 1], after=p](exp(x), y) => x",
        "add(pad[before=[b, 1], after=p](y), mul(exp(x), pad[before=[b, 1], after=p, value=1](sub(y, y)))) => x");
  means("shifted[by=2](x) => x", "add(relu(x), 2) => x");
  means("pad[before=b, after=c, value=v](shifted[by=v](x)) => x",
        "pad[before=b, after=c, value=v](add(relu(x), v)) => x");
  means("flat(y) => y", "reshape[shape=[product(shape(y))]](y) => y");
  means("half(x) => x", "first(split[axis=0, at=dim(x, 0) / 2](x)) => x");
  means("turned[places=k](shifted[by=1](x)) => x",
        "sub(1, slice[axis=0, begin=k, end=k + 1](add(relu(add(relu(x), 1)), 0.5))) => x");
  means("add(x, unit) => x", "add(x, ones[shape=[1]]) => x");
}

TEST_CASE("terms print with the fewest parentheses") {
  const auto round = [](const std::string& text) {
    return rules::text_of(
        *parse_rule("axiom a\n  conv[strides=a, pads=b](x, y) = x\n  where 0 = " + text).conditions[0].right);
  };
  for (const char* text : {"a - b - 1", "a - (b - 1)", "a * (b + 1)", "a * b + 1", "a / b * 2", "a / (b * 2)",
                           "a ++ b + 1", "(a ++ b) + 1", "(a + b)[0]", "-1 * a", "a - -1", "a[-1]", "[]",
                           "[1, -2, a[0]]", "same(spatial(x), 3, a)", "a ++ (b ++ a)", "0 - a"})
    CHECK(round(text) == text);
  CHECK(round("((a)) - (b)") == "a - b");
  CHECK(round("-a") == "0 - a");
  CHECK(round("-(1)") == "0 - 1");
}

TEST_CASE("random rules are unchanged by printing and parsing") {
  test::RandomRule rules(1);
  for (int i = 0; i < 5000; ++i) {
    const Rule rule = rules.make();
    const std::string text = print(rule);
    INFO(text);
    REQUIRE(!flaw_of(rule));
    const Rule again = parse_rule(text);
    REQUIRE(again.same_statement(rule));
    REQUIRE(again.kind == rule.kind);
    REQUIRE(again.name == rule.name);
    REQUIRE(again.by == rule.by);
    REQUIRE(again.comments == rule.comments);
    REQUIRE(print(again) == text);
    REQUIRE(text.substr(again.place.begin, again.place.end - again.place.begin) == rule.name);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = text.find('\n', begin);
      if (text[begin] != '#') REQUIRE(end - begin <= 120);
      begin = end + 1;
    }
  }
}

TEST_CASE("random rule files are unchanged by printing and parsing") {
  test::RandomRule rules(2);
  for (int i = 0; i < 200; ++i) {
    RuleFile file;
    for (std::size_t items = rules.random().below(6); items > 0; --items) {
      if (rules.random().chance(0.3)) {
        file.items.emplace_back(CommentBlock{{rules.comment(), rules.comment()}});
        continue;
      }
      Rule rule = rules.make();
      rule.name += std::to_string(items);  // otherwise a name might occur twice
      file.items.emplace_back(std::move(rule));
    }
    const std::string text = print(file);
    INFO(text);
    const RuleFile again = parse_rules(Source("random", text));
    REQUIRE(again.items.size() == file.items.size());
    for (std::size_t k = 0; k < file.items.size(); ++k) {
      REQUIRE(again.items[k].index() == file.items[k].index());
      if (const auto* block = std::get_if<CommentBlock>(&file.items[k]))
        REQUIRE(std::get<CommentBlock>(again.items[k]) == *block);
    }
    REQUIRE(print(again) == text);
  }
}

fs::path source_folder() {
  const char* root = std::getenv("TASO_SOURCE_FOLDER");  // from ctest; by hand, run from there
  return root ? root : ".";
}

// The code blocks without a language, without the indentation of a list.
std::vector<std::string> plain_blocks(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> blocks;
  std::string line;
  bool inside = false, wanted = false;
  while (std::getline(file, line)) {
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent != std::string::npos && line.compare(indent, 3, "```") == 0) {
      inside = !inside;
      if (inside) wanted = line.size() == indent + 3;
      if (inside && wanted) blocks.emplace_back();
    } else if (inside && wanted) {
      blocks.back() += (line.starts_with("   ") && indent != 2 ? line.substr(3) : line) + '\n';
    }
  }
  return blocks;
}

TEST_CASE("the examples in the README of the rules are rules") {
  std::size_t items = 0;
  for (std::string block : plain_blocks(source_folder() / "rules/README.md")) {
    const bool defines = block.find("\ndefinition ") != std::string::npos;
    if (!block.starts_with("taso rules")) block = (defines ? "taso rules 1.1\n\n" : "taso rules 1\n\n") + block;
    INFO(block);
    const RuleFile file = parse_rules(Source("README.md", block));
    CHECK(print(file) == block);
    items += file.laws().size();
  }
  CHECK(items == 8);
}

TEST_CASE("the shipped properties are unchanged by printing and parsing") {
  for (const auto& entry : fs::directory_iterator(source_folder() / "rules")) {
    if (entry.path().extension() != ".rules") continue;
    INFO(entry.path());
    const RuleFile file = parse_rules(Source::read(entry.path().string()));
    const std::string text = print(file);
    const RuleFile again = parse_rules(Source("printed", text));
    CHECK(print(again) == text);
    const std::vector<Rule> before = file.rules(), after = again.rules();
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(before[i].same_statement(after[i]));
      CHECK(before[i].comments == after[i].comments);
    }
  }
}

// TASO_BLESS=1 replaces what the files expect by what the program prints. Read the diff.
TEST_CASE("every mistake in a rule file is reported at its place") {
  const char* bless = std::getenv("TASO_BLESS");
  const std::string mark = "# expect: ";
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(source_folder() / "tests/rules/bad")) paths.push_back(entry.path());
  REQUIRE(paths.size() > 60);
  for (const fs::path& path : paths) {
    INFO(path);
    const std::string text(Source::read(path.string()).text());
    const std::size_t place = text.rfind(mark);
    REQUIRE(place != std::string::npos);
    const std::string message = error_of(text);
    const std::size_t message_end = message.find('\n');
    REQUIRE(message_end != std::string::npos);  // otherwise it was accepted
    const std::string headline = message.substr(1, message_end - 1);
    if (bless && std::string_view(bless) == "1")
      std::ofstream(path, std::ios::binary) << text.substr(0, place) << mark << headline << '\n';
    else
      CHECK(text.substr(place + mark.size()) == headline + '\n');
    CHECK(message.find('^', message.rfind('\n')) != std::string::npos);
  }
}

TEST_CASE("a file that is not text is refused") {
  const std::string head = "taso rules 1\n";
  CHECK(error_of(head + "# \xff\n").starts_with(":2:3: a rule file must be UTF-8: invalid byte 0xff"));
  CHECK(error_of(head + "# \xc3").starts_with(":2:3: a rule file must be UTF-8"));
  CHECK(error_of(head + "# \xed\xa0\x80\n").starts_with(":2:3: a rule file must be UTF-8"));
  CHECK(error_of(head + "# \xf4\x90\x80\x80\n").starts_with(":2:3: a rule file must be UTF-8"));
  CHECK(error_of(head + "# \xe0\x80\x80\n").starts_with(":2:3: a rule file must be UTF-8"));
  CHECK(error_of(head + std::string("# \0\n", 4)).starts_with(":2:3: control character 0x00"));
  CHECK(error_of("").starts_with(":1:1: expected 'taso rules 1' as the first line"));
  CHECK(error_of("t\0a\0s\0o\0").starts_with(":1:1: expected 'taso rules 1'"));
  CHECK(error_of(std::string("\xff\xfet\0a\0", 6)).starts_with(":1:1: a rule file must be UTF-8"));
  CHECK(error_of(head + "# \xf0\x9f\x98\x80 \xc3\xa9\n") == "no error");
}

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

TEST_CASE("enormous nesting is an error, not an overflow") {
  const std::string head = "taso rules 1\naxiom a\n  ";
  for (const std::size_t depth : {std::size_t{250}, std::size_t{300000}}) {
    const auto wrapped = [&](std::string_view open, std::string_view inside, std::string_view close) {
      return repeated(open, depth) + std::string(inside) + repeated(close, depth);
    };
    const auto refused = [&](const std::string& text) {
      const std::string error = error_of(head + text);
      INFO(error.substr(0, 200));
      CHECK(error.find("nested too deeply") != std::string::npos);
      CHECK(error.size() < 2000);
    };
    refused(wrapped("relu(", "x", ")") + " = x");
    refused(wrapped("first(", "x", ")") + " = x");
    refused("concat[axis=" + wrapped("(", "1", ")") + "](x, y) = x");
    refused("concat[axis=" + wrapped("[", "1", "]") + "](x, y) = x");
    refused("concat[axis=" + wrapped("sum(", "1", ")") + "](x, y) = x");
    refused("concat[axis=" + wrapped("-", "a", "") + "](x, y) = x");
    refused("concat[axis=" + wrapped("", "1", " + 1") + "](x, y) = x");
    refused("concat[axis=" + wrapped("", "a", "[0]") + "](x, y) = x");
    refused("relu(x) = x where 1 = " + wrapped("", "1", " * 2"));
  }
  CHECK(error_of(head + repeated("relu(", 150) + "x" + repeated(")", 150) + " = x") == "no error");
}

TEST_CASE("the time to read a rule file is proportional to its length") {
  std::string text = "taso rules 1\n";
  for (int i = 0; i < 20000; ++i) text += "\naxiom r" + std::to_string(i) + "\n  relu(relu(x)) = relu(x)\n";
  const RuleFile file = parse_rules(Source("many", text));
  CHECK(file.items.size() == 20000);
  CHECK(print(file) == text);
}

TEST_CASE("an error in a very long line is shown in part") {
  const std::string error = error_of("taso rules 1\nrule a\n  " + repeated("relu(x), ", 50000) + "$ => x\n");
  CHECK(error.starts_with(":3:450003: unexpected character '$'"));
  CHECK(error.size() < 1000);
}

}  // namespace
}  // namespace taso::test
