#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "cli/gen/checkpoint.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

struct File {
  std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("taso-checkpoint-{}", ::getpid());
  File() { std::filesystem::remove_all(path); }
  ~File() { std::filesystem::remove_all(path); }
  std::string read() const {
    std::stringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
};

const std::string context = R"({"operators":["add"],"max-ops":3})";

generator::Decision derived() {
  generator::Decision decision;
  decision.derived = true;
  return decision;
}
generator::Decision refuted(const std::string& reason) {
  generator::Decision decision;
  decision.last = {generator::ProofOutcome::Kind::refuted, {}, {}, reason};
  return decision;
}
generator::Decision proved() {
  generator::Decision decision;
  for (const char* text : {"candidate c\n  add(x, y) => add(y, x)\n  by add-commutes\n",
                           "candidate c\n  split[axis=1, at=dim(x, 1)](concat[axis=1](x, y)) => x, y\n"
                           "  where dim(x, 0) = 2, rank(x) != 3\n  by one, two\n"}) {
    decision.proved.push_back(rules::parse_rule(text));
    decision.proved.back().name.clear();
  }
  return decision;
}

/// Writes three decisions and leaves them.
void fill(const File& file) {
  Checkpoint checkpoint(file.path, context, false);
  checkpoint.begin("all");
  checkpoint.remember("a", derived());
  checkpoint.remember("b", proved());
  checkpoint.remember("c", refuted("tab\t, line\n, \"quotes\" and \xff"));
}

TEST_CASE("a checkpoint returns the decisions") {
  const File file;
  fill(file);
  Checkpoint checkpoint(file.path, context, true);
  CHECK(checkpoint.known() == 3);
  CHECK_FALSE(checkpoint.is_damaged());
  checkpoint.begin("all");
  CHECK(checkpoint.recall("a").value().derived);
  const generator::Decision b = checkpoint.recall("b").value(), expected = proved();
  REQUIRE(b.proved.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(b.proved[i].same_statement(expected.proved[i]));
    CHECK(b.proved[i].by == expected.proved[i].by);
    CHECK(b.proved[i].kind == expected.proved[i].kind);
    CHECK(b.proved[i].name.empty());
  }
  CHECK(checkpoint.recall("c").value().last.kind == generator::ProofOutcome::Kind::refuted);
  CHECK(checkpoint.recall("c").value().last.reason.starts_with("tab\t, line\n, \"quotes\" and "));
  CHECK_FALSE(checkpoint.recall("d"));
  checkpoint.remember("d", derived());
}

TEST_CASE("a checkpoint without decisions leaves no file") {
  const File file;
  { Checkpoint checkpoint(file.path, context, false); }
  CHECK_FALSE(std::filesystem::exists(file.path));
  fill(file);
  CHECK(std::filesystem::exists(file.path));
  {
    Checkpoint checkpoint(file.path, context, true);
    checkpoint.remove();
  }
  CHECK_FALSE(std::filesystem::exists(file.path));
}

TEST_CASE("a truncated checkpoint is read up to the last complete line") {
  const File file;
  fill(file);
  const std::string whole = file.read();
  std::size_t least = 3;
  for (std::size_t size = whole.size() + 1; size-- > 0;) {
    file.write(whole.substr(0, size));
    {
      Checkpoint checkpoint(file.path, context, true);
      REQUIRE(checkpoint.known() <= least);
      REQUIRE(checkpoint.is_damaged() == (size > 0 && whole[size - 1] != '\n'));
      least = checkpoint.known();
      checkpoint.begin("all");
      REQUIRE(checkpoint.known() == least);
      if (!checkpoint.recall("c")) checkpoint.remember("c", refuted("again"));
    }
    // What is appended after an incomplete line is read again.
    Checkpoint again(file.path, context, true);
    again.begin("all");
    REQUIRE(again.recall("c"));
    REQUIRE(again.recall("a").has_value() == (least >= 1));
  }
  CHECK(least == 0);
}

TEST_CASE("a checkpoint with a changed byte is read up to it") {
  const File file;
  fill(file);
  const std::string whole = file.read();
  std::size_t lines = 0;
  for (std::size_t i = 0; i < whole.size(); i += 7) {
    std::string bad = whole;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    file.write(bad);
    try {
      Checkpoint checkpoint(file.path, context, true);
      CHECK(checkpoint.known() < 3);
      CHECK(checkpoint.is_damaged());
      ++lines;
    } catch (const UsageError&) {
      CHECK(i < 20);  // the first line
    }
  }
  CHECK(lines > 10);
}

TEST_CASE("a checkpoint counts only for the same run") {
  const File file;
  fill(file);
  const std::string before = file.read();
  try {
    Checkpoint checkpoint(file.path, R"({"operators":["add"],"max-ops":4})", true);
    FAIL("it was taken");
  } catch (const UsageError& error) {
    CHECK(std::string(error.what()).find("max-ops") != std::string::npos);
  }
  CHECK(file.read() == before);
  {
    Checkpoint checkpoint(file.path, context, true);
    checkpoint.begin("other candidates");
    CHECK(checkpoint.known() == 0);
    CHECK_FALSE(checkpoint.recall("a"));
  }
  CHECK_FALSE(std::filesystem::exists(file.path));
  fill(file);
  Checkpoint checkpoint(file.path, context, false);
  CHECK(checkpoint.replaced());
  CHECK_FALSE(checkpoint.recall("a"));
  CHECK_THROWS_AS(Checkpoint(file.path, context, true), EnvironmentError);
}

TEST_CASE("a file that is not a checkpoint is left alone") {
  const File file;
  for (const std::string text : {"precious\n", "taso checkpoint 2\n", "taso rules 1\n"}) {
    file.write(text);
    for (const bool resume : {false, true}) CHECK_THROWS_AS(Checkpoint(file.path, context, resume), UsageError);
    CHECK(file.read() == text);
  }
  std::filesystem::remove(file.path);
  std::filesystem::create_directory(file.path);
  CHECK_THROWS_AS(Checkpoint(file.path, context, false), EnvironmentError);
  CHECK_THROWS_AS(Checkpoint("/dev/null", context, false), EnvironmentError);
}

}  // namespace
}  // namespace taso::test
