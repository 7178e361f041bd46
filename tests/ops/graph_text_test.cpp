#include "ops/text/graph_text.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ops/text/literal.h"
#include "tests/catch.h"
#include "tests/ops/random_graph.h"

namespace taso::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_in(const std::string& folder) {
  // ctest sets the source folder; by hand, run from there.
  const char* root = std::getenv("TASO_SOURCE_FOLDER");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(root ? root : ".") / "tests/ops/text" / folder))
    if (entry.path().extension() == ".graph") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  REQUIRE(!files.empty());
  return files;
}

// TASO_BLESS=1 rewrites the expectations in the files to the actual results. Read the diff.
bool blessing() {
  const char* bless = std::getenv("TASO_BLESS");
  return bless != nullptr && std::string_view(bless) == "1";
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string error_of(const std::string& text, const std::string& name = "g") {
  try {
    parse_graph(Source(name, text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

void check_round_trip(const Graph& graph) {
  const std::string text = text_of(graph);
  INFO(text);
  const Graph parsed = parse_graph(text);
  REQUIRE(equal(graph, parsed));
  REQUIRE(text_of(parsed) == text);
}

TEST_CASE("canonical files print as they are") {
  for (const fs::path& path : files_in("good")) {
    INFO(path);
    const Source source = Source::read(path.string());
    const Graph graph = parse_graph(source);
    if (blessing()) write(path, text_of(graph));
    CHECK(text_of(graph) == Source::read(path.string()).text());
    check_round_trip(graph);
  }
}

TEST_CASE("every mistake is reported at its position") {
  const std::string mark = "# expect: ";
  for (const fs::path& path : files_in("bad")) {
    INFO(path);
    std::string text(Source::read(path.string()).text());
    if (!text.starts_with(mark)) text = mark + "\n" + text;
    const std::size_t line_end = text.find('\n');
    const std::string message = error_of(text, "");
    const std::size_t message_end = message.find('\n');
    REQUIRE(message_end != std::string::npos);                        // otherwise it was accepted
    const std::string headline = message.substr(1, message_end - 1);  // after the colon of the empty name
    if (blessing())
      write(path, mark + headline + text.substr(line_end));
    else
      CHECK(text.substr(mark.size(), line_end - mark.size()) == headline);
    CHECK(std::count(message.begin(), message.end(), '\n') == 2);
    CHECK(message.find('^', message.rfind('\n')) != std::string::npos);
  }
}

TEST_CASE("the caret is under the mistake") {
  CHECK(error_of("graph\n  input x: float32[2]\n  t0 = matmull(x, x)\n  output t0\n", "model.graph") ==
        "model.graph:3:8: unknown operator 'matmull'; did you mean 'matmul'?\n"
        "  t0 = matmull(x, x)\n"
        "       ^~~~~~~");
  // A tab stays a tab, so that the caret is right at any tab width; a code point is one column.
  CHECK(error_of("graph\r\n\tinput \"\u00e9\": float23[2]\r\n") ==
        "g:2:13: unknown element type 'float23'; did you mean 'float32'?\n"
        "\tinput \"\u00e9\": float23[2]\n"
        "\t           ^~~~~~~");
  CHECK(error_of("graph\n") == "g:2:1: expected 'output' and the graph's outputs, not the end of the text\n\n^");
  CHECK(error_of("\x01\xff") ==
        "g:1:1: unexpected character; names beyond letters, digits, '_' and '.' need quotes\n??\n^");
  const std::string lengthy = error_of("graph\n  output " + std::string(100'000, 'x'));
  CHECK(lengthy.size() < 1000);
  CHECK(lengthy.find('^') != std::string::npos);
}

TEST_CASE("text need not be canonical") {
  const Graph graph = parse_graph(
      "\xef\xbb\xbf# a comment\r\n\r\n graph # of nothing much\n\tinput \"x\" :float32 [ 2*(N+1) , 4-1 ]\n"
      "a,\"b c\"=split(x) # axis and place have defaults\nunused = relu(a)\nagain = relu(a)\noutput \"b c\",again");
  CHECK(text_of(graph) ==
        "graph\n  input x: float32[2*N + 2, 3]\n  t0, t1 = split[axis=0, at=1](x)\n  t2 = relu(t0)\n  output t1, t2\n");
  CHECK(parse_graphs(Source("two", "graph\n  output\n\ngraph\n  input x: bool[]\n  output x\n")).size() == 2);
}

TEST_CASE("the data of small constants survives printing and parsing") {
  Random random(1);
  for (auto type = ElementType::float32; type <= ElementType::boolean;
       type = static_cast<ElementType>(static_cast<int>(type) + 1))
    for (const std::int64_t size : {0, 1, 8, 9}) {
      Graph graph{std::make_shared<Pool>(), {}, {}};
      const Array data = random_array(random, type, {size});
      graph.outputs = {graph.pool->constant("c", {type, Shape{size}}, std::make_shared<HeldWeight>(data))};
      const std::string text = text_of(graph);
      INFO(text);
      const Graph parsed = parse_graph(text);
      const auto& weight = parsed.outputs[0].node->as_constant()->weight;
      REQUIRE((weight != nullptr) == (size <= largest_printed_constant));
      if (weight) REQUIRE(identical(weight->load(), data));
    }
}

TEST_CASE("numbers print in the shortest form that reads back") {
  CHECK(text_of_number(0.1) == "0.1");
  CHECK(text_of_number(0.1F) == "0.1");
  CHECK(text_of_number(1e-5) == "1e-05");
  CHECK(text_of_number(-0.0) == "-0.0");
  CHECK(text_of_number(-std::numeric_limits<double>::quiet_NaN()) == "nan");
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    const auto value = std::bit_cast<double>(random.next());
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(random.next()));
    const Source source("n", text_of_number(value) + " " + text_of_number(narrow));
    Lexer lexer(source);
    const double again = parse_double(lexer);
    const float narrow_again = parse_float(lexer);
    INFO(source.text());
    REQUIRE(
        (value == value ? std::bit_cast<std::uint64_t>(again) == std::bit_cast<std::uint64_t>(value) : again != again));
    REQUIRE((narrow == narrow ? std::bit_cast<std::uint32_t>(narrow_again) == std::bit_cast<std::uint32_t>(narrow)
                              : narrow_again != narrow_again));
  }
}

Dim random_polynomial(Random& random, int depth) {
  static const std::vector<std::string> names{"N",         "T", "a.b",    "two words", "floor",
                                              "q\"\\\n\t", "",  "\u00e9", "_",         "inf"};
  try {
    switch (depth == 0 ? random.below(2) : random.below(6)) {
      case 0: return Dim::symbol(random.pick(names));
      case 1: return random.chance(0.02) ? std::numeric_limits<std::int64_t>::min() : random.between(-20, 20);
      case 2: return random_polynomial(random, depth - 1) + random_polynomial(random, depth - 1);
      case 3: return random_polynomial(random, depth - 1) - random_polynomial(random, depth - 1);
      case 4: return random_polynomial(random, depth - 1) * random_polynomial(random, depth - 1);
      default: return floor_div(random_polynomial(random, depth - 1), random_polynomial(random, depth - 1));
    }
  } catch (const ShapeError&) {
    return 1;
  }
}

TEST_CASE("dimensions read back as they print") {
  Random random(3);
  for (int i = 0; i < 5'000; ++i) {
    const Dim dim = random_polynomial(random, 4);
    INFO(dim.text());
    REQUIRE(parse_dim(dim.text()) == dim);
  }
  CHECK(parse_dim(" 2 * (N + 1) - 2*N ") == Dim(2));
  CHECK(parse_dim("-9223372036854775808") == Dim(std::numeric_limits<std::int64_t>::min()));
  CHECK_THROWS_AS(parse_dim(""), InputError);
  CHECK_THROWS_AS(parse_dim("N N"), InputError);
  CHECK_THROWS_AS(parse_dim("--1"), InputError);
}

TEST_CASE("random graphs read back as they print") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    RandomGraphOptions options;
    options.nodes = 1 + seed % 12;
    check_round_trip(random_graph(seed, options));
    options.opaque = 0.2;
    options.shapes.symbols = {"N", "T", "two words", "floor"};
    options.names = {"t1", "_", "two words", "", "\u00e9\x7f", "output"};
    check_round_trip(random_graph(seed, options));
  }
}

TEST_CASE("random graphs have every operator") {
  std::vector<std::size_t> seen(std::variant_size_v<AnyOperator>);
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph = random_graph(seed);  // named, because the nodes live as long as it does
    for (const ops::Node* node : graph.nodes())
      if (const Operator* op = node->as_operator()) ++seen[op->index()];
  }
  for (const Operator& op : all_operators()) {
    INFO(name_of(op));
    CHECK(seen[op.index()] >= 5);
  }
}

TEST_CASE("hostile text is refused without a crash") {
  // Pieces of good text, cut, doubled and shuffled.
  std::vector<std::string> texts;
  for (const fs::path& path : files_in("good")) texts.emplace_back(Source::read(path.string()).text());
  for (std::uint64_t seed = 0; seed < 5; ++seed) texts.push_back(text_of(random_graph(seed, {})));
  Random random(4);
  std::size_t accepted = 0;
  for (int i = 0; i < 5'000; ++i) {
    std::string text = random.pick(texts);
    for (std::size_t edits = 1 + random.below(3); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = random.below(text.size());
      const std::string& other = random.pick(texts);
      switch (random.below(4)) {
        case 0: text.erase(at, 1 + random.below(10)); break;
        case 1: text.insert(at, other.substr(random.below(other.size()), random.below(12))); break;
        case 2: text[at] = static_cast<char>(random.next() & 0xff); break;
        default: text[at] = "()[]=,-1_\"\n"[random.below(11)]; break;
      }
    }
    INFO(text);
    try {
      const Graph graph = parse_graph(text);
      ++accepted;
      const std::string printed = text_of(graph);
      REQUIRE(text_of(parse_graph(printed)) == printed);
    } catch (const InputError&) {
    }
  }
  CHECK(accepted > 100);
  for (const char opening : {'(', '[', '"', '-', '*'})
    CHECK_THROWS_AS(parse_graph("graph\n input x: float32[" + std::string(100'000, opening)), InputError);
}

}  // namespace
}  // namespace taso::test
