#include "rules/taso/taso_file.h"

#include "ops/core/error.h"
#include "ops/core/random.h"
#include "tests/catch.h"
#include "tests/rules/taso_bytes.h"

namespace taso::test {

using namespace rules;

namespace {

using namespace test;

RuleFile read(const std::string& bytes) { return parse_taso_rules(Source("old.pb", bytes)); }

std::string error_of(const std::string& bytes) {
  try {
    read(bytes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

// The rule without its comment and name, on as many lines as it takes.
std::string translated(const std::string& bytes) {
  const std::vector<Rule> rules = read(bytes).rules();
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].name == "taso-000");
  CHECK(rules[0].comments == std::vector<std::string>{"TASO's rule 0"});
  CHECK(rules[0].kind == Rule::Kind::candidate);
  const std::string text = print(rules[0]);
  CHECK(print(parse_rule(text)) == text);
  return text.substr(text.find('\n', text.find("candidate")) + 1);
}

const Tensor x{-1, 0}, y{-2, 0}, z{-3, 0}, w{-4, 0};
const std::vector<std::pair<Tensor, Tensor>> first_to_first{{{0, 0}, {0, 0}}};

TEST_CASE("a TASO file is read as rules") {
  const RuleFile file = read(taso_sample());
  CHECK(print(file) == R"(taso rules 1

# TASO's rule 0
candidate taso-000
  matmul(matmul(x, y), z) => matmul(x, matmul(y, z))

# TASO's rule 1
candidate taso-001
  relu(conv[pads=same(spatial(x), [3, 3], 1), groups=g](x, w)),
      relu(conv[pads=same(spatial(x), [3, 3], 1), groups=h](x, v))
    => split[axis=1, at=dim(w, 0)](relu(conv[pads=same(spatial(x), [3, 3], 1), groups=g](x, concat[axis=0](w, v))))
  where spatial(w) = [3, 3], spatial(v) = [3, 3]

# TASO's rule 2
candidate taso-002
  average_pool[kernel=[3, 3], strides=2, pads=same(spatial(x), [3, 3], 2), count_padding=true](x)
    => conv[strides=2, pads=same(spatial(x), [3, 3], 2)](x, pooling_kernel[channels=dim(x, 1), kernel=[3, 3]])

# TASO's rule 3
candidate taso-003
  mul(transpose[permutation=[1, 0]](x), y)
    => mul(mul(transpose[permutation=[1, 0]](x), ones[shape=[dim(x, 1), dim(x, 0)]]), y)
  where rank(x) = 2, rank(y) = 2

# TASO's rule 4
candidate taso-004
  scalar_mul(conv[pads=same(spatial(x), [1, 1], 1), groups=g](x, w), y)
    => conv[pads=same(spatial(x), [3, 3], 1), groups=g](x, enlarge[kernel=[3, 3]](scalar_mul(w, y)))
  where spatial(w) = [1, 1]
)");
  CHECK(print(parse_rules(Source("again", print(file)))) == print(file));
}

TEST_CASE("groups of TASO's convolutions follow from the channels") {
  // Two joined inputs: the groups of neither side.
  CHECK(translated(
            taso_rule({{conv, {x, y}, window(3, 1, 1)}, {conv, {z, w}, window(3, 1, 1)}, {add, {{0, 0}, {1, 0}}, {}}},
                      {{concat, {x, z}, {{key_axis, 1}}},
                       {concat, {y, w}, {{key_axis, 1}}},
                       {conv, {{0, 0}, {1, 0}}, window(3, 1, 1)}},
                      {{{2, 0}, {2, 0}}})) ==
        R"(  add(conv[groups=g](x, w), conv[groups=h](y, v))
    => conv[groups=(dim(x, 1) + dim(y, 1)) / (dim(w, 1) + dim(v, 1))](concat[axis=1](x, y), concat[axis=1](w, v))
  where spatial(w) = [3, 3], spatial(v) = [3, 3]
)");
  // Summands have the same shape, so the groups are the same.
  CHECK(translated(
            taso_rule({{add, {y, z}, {}}, {conv, {x, {0, 0}}, window(3, 1, 1)}},
                      {{conv, {x, y}, window(3, 1, 1)}, {conv, {x, z}, window(3, 1, 1)}, {add, {{0, 0}, {1, 0}}, {}}},
                      {{{1, 0}, {2, 0}}})) ==
        R"(  conv[groups=g](x, add(w, v)) => add(conv[groups=g](x, w), conv[groups=g](x, v))
  where spatial(w) = [3, 3]
)");
  CHECK(
      translated(taso_rule({{conv, {x, y}, {{key_groups, 4}, {key_padding, 1}, {key_stride_h, 1}, {key_stride_w, 1}}}},
                           {{conv, {x, y}, {{key_groups, 1}, {key_padding, 1}, {key_stride_h, 1}, {key_stride_w, 1}}}},
                           first_to_first)) == R"(  conv[groups=4](x, w) => conv(x, w)
  where rank(x) = 4
)");
}

TEST_CASE("sizes after operators follow from the inputs") {
  // A convolution of stride 2, then same padding of its result.
  const std::vector<Node> chain{{conv, {x, y}, window(3, 2)},
                                {relu, {{0, 0}}, {}},
                                {max_pool, {{1, 0}}, window(2, 3)},
                                {average_pool, {{2, 0}}, window(2, 1, 1)},
                                {conv, {{3, 0}, z}, window(5, 1)}};
  const Rule rule = read(taso_rule(chain, chain, {{{4, 0}, {4, 0}}})).rules()[0];
  CHECK(rules::text_of(*rule.source[0]->attributes[0].second) ==
        "same(((spatial(x) + 1) / 2 + 2) / 3 - [2, 2] + 1, [5, 5], 1)");
  CHECK(rules::text_of(*rule.source[0]->operands[0]->operands[0]->attributes[2].second) ==
        "same((spatial(x) + 1) / 2, [2, 2], 3)");
  // Omitted strides, pads and kernels are variables, the same on both sides.
  CHECK(translated(taso_rule({{max_pool, {x}, {}}, {relu, {{0, 0}}, {}}}, {{relu, {x}, {}}, {max_pool, {{0, 0}}, {}}},
                             {{{1, 0}, {1, 0}}})) ==
        R"(  relu(max_pool[kernel=k, strides=s, pads=p](x)) => max_pool[kernel=k, strides=s, pads=p](relu(x))
  where rank(x) = 4
)");
  CHECK(translated(
            taso_rule({{conv, {x, y}, {{key_padding, 0}}}}, {{conv, {x, y}, {{key_padding, 0}}}}, first_to_first)) ==
        R"(  conv[strides=s, pads=same(spatial(x), spatial(w), s), groups=g](x, w)
    => conv[strides=s, pads=same(spatial(x), spatial(w), s), groups=g](x, w)
  where rank(x) = 4
)");
}

TEST_CASE("a split cuts where the concat joined") {
  const std::vector<std::pair<int, int>> cut{{key_axis, 0}};
  CHECK(translated(taso_rule({{relu, {x}, {}}, {relu, {y}, {}}},
                             {{concat, {x, y}, {{key_axis, 1}, {key_rank, 2}}},
                              {transpose, {{0, 0}}, {{key_rank, 2}, {key_permutation, 2}}},
                              {relu, {{1, 0}}, {}},
                              {split, {{2, 0}}, cut}},
                             {{{0, 0}, {3, 0}}, {{1, 0}, {3, 1}}})) ==
        R"(  relu(x), relu(y) => split[axis=0, at=dim(x, 1)](relu(transpose[permutation=[1, 0]](concat[axis=1](x, y))))
  where rank(x) = 2, rank(y) = 2
)");
  // Three joined, cut after the first.
  CHECK(translated(taso_rule(
            {{relu, {x}, {}}, {relu, {y}, {}}},
            {{concat, {x, y, x}, {{key_axis, 0}}}, {split, {{0, 0}}, cut}, {relu, {{1, 0}}, {}}, {relu, {{1, 1}}, {}}},
            {{{0, 0}, {2, 0}}, {{1, 0}, {3, 0}}})) ==
        R"(  relu(x), relu(y)
    => relu(first(split[axis=0, at=dim(x, 0)](concat[axis=0](concat[axis=0](x, y), x)))),
        relu(second(split[axis=0, at=dim(x, 0)](concat[axis=0](concat[axis=0](x, y), x))))
)");
  // On the left side it may cut anywhere, and the right side cuts there too.
  CHECK(translated(taso_rule({{split, {x}, cut}, {relu, {{0, 1}}, {}}}, {{relu, {x}, {}}, {split, {{0, 0}}, cut}},
                             {{{1, 0}, {1, 1}}})) ==
        "  relu(second(split[axis=0, at=c0](x))) => second(split[axis=0, at=c0](relu(x)))\n");
  CHECK(error_of(taso_rule({{relu, {x}, {}}}, {{split, {x}, cut}}, first_to_first))
            .find("rule 0: no concat determines where the split cuts") != std::string::npos);
}

TEST_CASE("constants have the size of the other operand") {
  CHECK(translated(taso_rule({{matmul, {x, y}, {}}},
                             {{identity_matrix, {}, {}}, {matmul, {x, {0, 0}}, {}}, {matmul, {{1, 0}, y}, {}}},
                             {{{0, 0}, {2, 0}}})) ==
        "  matmul(x, y) => matmul(matmul(x, identity_matrix[size=dim(x, rank(x) - 1)]), y)\n");
  CHECK(translated(taso_rule({{concat, {x, y}, {{key_axis, 0}, {key_rank, 2}}}, {relu, {{0, 0}}, {}}},
                             {{concat, {x, y}, {{key_axis, 0}, {key_rank, 2}}},
                              {relu, {{0, 0}}, {}},
                              {identity_matrix, {}, {}},
                              {transpose, {{2, 0}}, {{key_rank, 2}, {key_permutation, 2}}},
                              {matmul, {{3, 0}, {1, 0}}, {}}},
                             {{{1, 0}, {4, 0}}})) ==
        R"(  relu(concat[axis=0](x, y))
    => matmul(transpose[permutation=[1, 0]](identity_matrix[size=dim(x, 0) + dim(y, 0)]), relu(concat[axis=0](x, y)))
  where rank(x) = 2
)");
  CHECK(translated(taso_rule({{relu, {x}, {}}}, {{ones, {}, {}}, {relu, {x}, {}}, {mul, {{0, 0}, {1, 0}}, {}}},
                             {{{0, 0}, {2, 0}}})) == "  relu(x) => mul(ones[shape=shape(x)], relu(x))\n");
  CHECK(translated(taso_rule({{conv, {x, y}, window(3, 1)}},
                             {{identity_kernel, {}, {{key_kernel_h, 3}, {key_kernel_w, 5}}},
                              {conv, {x, {0, 0}}, {{key_stride_h, 1}, {key_stride_w, 2}, {key_padding, 1}}},
                              {conv, {{1, 0}, y}, window(3, 1)}},
                             {{{0, 0}, {2, 0}}}))
            .find("identity_kernel[channels=dim(x, 1), kernel=[3, 5]]") != std::string::npos);
  CHECK(error_of(taso_rule({{relu, {x}, {}}}, {{ones, {}, {}}, {relu, {{0, 0}}, {}}}, {{{0, 0}, {1, 0}}}))
            .find("nothing determines the size of the constant") != std::string::npos);
  CHECK(error_of(taso_rule({{relu, {x}, {}}}, {{ones, {}, {}}, {mul, {{0, 0}, {0, 0}}, {}}}, {{{0, 0}, {1, 0}}}))
            .find("nothing determines the size of the constant") != std::string::npos);
}

TEST_CASE("inputs may be results") {
  CHECK(translated(taso_rule({{transpose, {x}, {}}, {transpose, {{0, 0}}, {}}}, {}, {{{1, 0}, {-1, 0}}})) ==
        "  transpose[permutation=r](transpose[permutation=r](x)) => x\n");
}

TEST_CASE("a hostile TASO file is an error that names the rule") {
  const auto refused = [](const std::string& bytes, const std::string& message) {
    const std::string error = error_of(bytes);
    INFO(error);
    CHECK(error.starts_with("old.pb: "));
    CHECK(error.find(message) != std::string::npos);
  };
  const std::string good = taso_rule({{relu, {x}, {}}}, {{relu, {x}, {}}}, first_to_first);
  CHECK(error_of(good) == "no error");
  refused("", "it has no rules");
  refused("taso rules 1\n", "protobuf cannot read it");
  refused("\x0a\xff\xff\xff\xff\x0f", "protobuf cannot read it");
  refused("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "protobuf cannot read it");
  refused(std::string(20, '\xff'), "protobuf cannot read it");
  refused(std::string(5, '\xff'), "protobuf cannot read it");
  refused(std::string("\x00\x01", 2), "protobuf cannot read it");
  refused("\x08\x01", "it has no rules");
  refused("\x0b", "protobuf cannot read it");
  refused(message_field(1, ""), "rule 0: it has no results");
  refused(message_field(1, number_field(1, 3)), "rule 0: it has no results");
  refused(message_field(1, message_field(1, "")), "rule 0: an operator has no type");
  refused(taso_rule({{21, {x}, {}}}, {}, {}), "operator type 21 (merge grouped convolution) has no counterpart here");
  refused(taso_rule({{14, {x}, {}}}, {}, {}), "operator type 14 (reshape) has no counterpart here");
  refused(taso_rule({{26, {x}, {}}}, {}, {}), "there is no operator type 26");
  refused(taso_rule({{-1, {x}, {}}}, {}, {}), "there is no operator type -1");
  refused(message_field(1, message_field(1, number_field(1, std::int64_t{1} << 40))),
          "operator type 0 (input) has no counterpart here");
  refused(taso_rule({{relu, {}, {}}}, {}, {}), "relu with 0 operands");
  refused(taso_rule({{relu, {{0, 0}}, {}}}, {}, {}), "operand 0 of operator 0 does not come before it");
  refused(taso_rule({{relu, {x}, {}}, {relu, {{7, 0}}, {}}}, {}, {}),
          "operand 7 of operator 1 does not come before it");
  refused(taso_rule({{relu, {x}, {}}, {relu, {{0, 1}}, {}}}, {}, {{{0, 0}, {-1, 0}}}), "no result 1 of operator 0");
  refused(taso_rule({{relu, {x}, {}}, {relu, {{0, -1}}, {}}}, {}, {{{0, 0}, {-1, 0}}}), "no result -1 of operator 0");
  refused(taso_rule({{relu, {x}, {}}}, {}, first_to_first), "there is no result 0 of operator 0");
  refused(taso_rule({{relu, {x}, {{9, 0}, {9, 0}}}}, {}, {}), "parameter 9 is given twice");
  refused(taso_rule({{concat, {x, y}, {}}}, {{relu, {x}, {}}}, first_to_first),
          "rule 0: the axis is missing or out of range");
  refused(taso_rule({{concat, {x, y}, {{key_axis, 2}, {key_rank, 2}}}}, {{relu, {x}, {}}}, first_to_first),
          "out of range");
  refused(taso_rule({{concat, {x, y}, {{key_axis, 2}, {key_rank, 1000000000}}}}, {{relu, {x}, {}}}, first_to_first),
          "1000000000 dimensions");
  refused(taso_rule({{transpose, {x}, {{key_permutation, 3}, {key_rank, 2}}}}, {{relu, {x}, {}}}, first_to_first),
          "3 is not a permutation of 2 axes");
  refused(taso_rule({{conv, {x, y}, window(3, 1, 2)}}, {{relu, {x}, {}}}, first_to_first),
          "an unknown kind of padding");
  refused(taso_rule({{conv, {x, y}, window(3, 1, 0, 9)}}, {{relu, {x}, {}}}, first_to_first), "an unknown activation");
  refused(taso_rule({{conv, {x, y}, window(0, 1)}}, {{relu, {x}, {}}}, first_to_first), "two positive numbers");
  refused(taso_rule({{relu, {x}, {}}}, {{relu, {y}, {}}}, first_to_first), "input 'y' does not occur on the left side");
  refused(taso_rule({{relu, {x}, {}}}, {{max_pool, {x}, {}}}, first_to_first), "variable 'k' is not bound");
  refused(taso_rule({{conv, {x, y}, window(3, 1)}, {concat, {x, y}, {{key_axis, 0}, {key_rank, 2}}}}, {},
                    {{{0, 0}, {-1, 0}}}),
          "rank 4 and rank 2");
  // Each operator uses the one before it twice: exponential, once written as text.
  std::vector<Node> doubled{{add, {x, y}, {}}};
  for (int i = 0; i < 15; ++i) doubled.push_back({add, {{i, 0}, {i, 0}}, {}});
  refused(taso_rule(doubled, {}, {{{15, 0}, {-1, 0}}}), "its text is too long");
  refused(taso_rule(std::vector<Node>(1000, Node{relu, {x}, {}}), {}, {}), "more than 16 operators on a side");
}

TEST_CASE("unknown fields of the format are skipped") {
  const std::string rule = taso_rule({{relu, {x}, {}}}, {{relu, {x}, {}}}, first_to_first);
  CHECK(read(message_field(9, "anything") + number_field(7, 5) +
             "\x11"
             "12345678"
             "\x15"
             "1234" +
             rule + rule)
            .items.size() == 2);
}

TEST_CASE("every truncation of a TASO file is an error or a shorter file") {
  const std::string bytes = taso_sample();
  std::size_t read_well = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length)
    if (error_of(bytes.substr(0, length)) == "no error") ++read_well;
  CHECK(read_well == 4);  // between two rules
}

TEST_CASE("damaged TASO files are refused or read as rules that print and parse") {
  const std::string bytes = taso_sample();
  Random random(1);
  std::size_t read_well = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    for (std::size_t changes = 1 + random.below(4); changes > 0; --changes) {
      const std::size_t place = random.below(damaged.size());
      if (random.chance(0.1))
        damaged.erase(place, 1 + random.below(8));
      else
        damaged[place] = static_cast<char>(random.chance(0.5) ? random.below(32) : random.below(256));
      if (damaged.empty()) damaged = bytes;
    }
    try {
      const std::string text = print(read(damaged));
      INFO(text);
      REQUIRE(print(parse_rules(Source("again", text))) == text);
      ++read_well;
    } catch (const InputError& error) {
      REQUIRE(std::string(error.what()).starts_with("old.pb: "));
    }
  }
  CHECK(read_well > 100);
}

}  // namespace
}  // namespace taso::test
