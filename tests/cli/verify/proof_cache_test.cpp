#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "cli/verify/proof_cache.h"
#include "rules/language/canonical.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / fmt::format("taso-proof-cache-{}", ::getpid());
  Folder() { std::filesystem::remove_all(path); }
  ~Folder() { std::filesystem::remove_all(path); }
};

verifier::RuleVerdict proved() {
  verifier::RuleVerdict verdict;
  verdict.kind = verifier::RuleVerdict::Kind::proved;
  verdict.properties = {"one", "two"};
  verdict.instances = 4;
  verdict.by_properties = 3;
  verdict.by_normal_form = 2;
  verdict.witness = "x[2, 3]\nand \"more\"\t";
  return verdict;
}

TEST_CASE("a cache returns proofs, and nothing else") {
  const Folder folder;
  const rules::Rule rule = rules::parse_rule("candidate a\n  relu(relu(x)) => relu(x)\n");
  const rules::Rule other = rules::parse_rule("candidate b\n  relu(relu(y)) => relu(y)\n");
  const std::string hash = rules::content_hash(rule);
  REQUIRE(hash == rules::content_hash(other));
  {
    ProofCache cache(folder.path, "properties", {});
    CHECK_FALSE(cache.find(rule, hash));
    verifier::RuleVerdict unknown = proved();
    unknown.kind = verifier::RuleVerdict::Kind::unknown;
    cache.add(rule, hash, unknown);
    verifier::RuleVerdict doubted = proved();
    doubted.disagreement = "no";
    cache.add(rule, hash, doubted);
    cache.save();
    CHECK_FALSE(std::filesystem::exists(cache.file()));
    cache.add(rule, hash, proved());
    cache.save();
  }
  const ProofCache cache(folder.path, "properties", {});
  const auto found = cache.find(rule, hash);
  REQUIRE(found);
  CHECK(found->kind == verifier::RuleVerdict::Kind::proved);
  CHECK(found->properties == proved().properties);
  CHECK(found->instances == 4);
  CHECK(found->by_properties == 3);
  CHECK(found->by_normal_form == 2);
  CHECK(found->witness == proved().witness);
  CHECK_FALSE(cache.find(other, hash));  // its witness would mention an input x

  verifier::VerifyOptions options;
  options.seed = 2;
  CHECK_FALSE(ProofCache(folder.path, "properties", options).find(rule, hash));
  CHECK_FALSE(ProofCache(folder.path, "others", {}).find(rule, hash));
}

TEST_CASE("entries that another process wrote meanwhile are kept") {
  const Folder folder;
  const rules::Rule a = rules::parse_rule("candidate a\n  relu(relu(x)) => relu(x)\n");
  const rules::Rule b = rules::parse_rule("candidate b\n  add(x, y) => add(y, x)\n");
  ProofCache first(folder.path, "properties", {}), second(folder.path, "properties", {});
  first.add(a, rules::content_hash(a), proved());
  second.add(b, rules::content_hash(b), proved());
  first.save();
  second.save();
  const ProofCache both(folder.path, "properties", {});
  CHECK(both.find(a, rules::content_hash(a)));
  CHECK(both.find(b, rules::content_hash(b)));
}

TEST_CASE("damage to a cache only loses entries") {
  const Folder folder;
  const rules::Rule rule = rules::parse_rule("candidate a\n  relu(relu(x)) => relu(x)\n");
  ProofCache cache(folder.path, "properties", {});
  cache.add(rule, rules::content_hash(rule), proved());
  cache.save();
  std::string good;
  std::getline(std::ifstream(cache.file(), std::ios::binary), good, '\0');
  REQUIRE(good.size() > 100);
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    std::ofstream(cache.file(), std::ios::binary) << bad;
    CHECK_FALSE(ProofCache(folder.path, "properties", {}).find(rule, rules::content_hash(rule)));
    std::ofstream(cache.file(), std::ios::binary) << good.substr(0, i);
    // The last byte is the end of the line, which may be missing.
    CHECK(ProofCache(folder.path, "properties", {}).find(rule, rules::content_hash(rule)).has_value() ==
          (i + 1 == good.size()));
  }
}

}  // namespace
}  // namespace taso::test
