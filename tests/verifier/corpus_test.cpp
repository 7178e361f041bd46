// The rule files beside this test: the folder is the verdict.
#include <filesystem>
#include <mutex>

#include "ops/support/threads.h"
#include "rules/language/rule_text.h"
#include "tests/catch.h"
#include "tests/source_folder.h"
#include "verifier/verify.h"

namespace taso::test {

using namespace verifier;

namespace {

const std::filesystem::path root = source_folder();

const rules::Properties& properties() {
  static const Source source = Source::read((root / "rules/properties.rules").string());
  static const rules::Properties all(rules::parse_rules(source).rules());
  return all;
}

std::vector<rules::Rule> rules_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".rules") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<rules::Rule> rules;
  for (const auto& file : files)
    for (rules::Rule& rule : rules::parse_rules(Source::read(file.string())).rules()) rules.push_back(std::move(rule));
  return rules;
}

template <class Judge>
std::vector<std::string> judge_all(const std::vector<rules::Rule>& rules, Judge&& judge) {
  std::mutex mutex;
  std::vector<std::string> complaints;
  parallel_for(thread_count(0), rules.size(), [&](std::size_t i) {
    const std::string complaint = judge(rules[i]);
    if (complaint.empty()) return;
    const std::lock_guard lock(mutex);
    complaints.push_back(rules[i].name + ": " + complaint);
  });
  return complaints;
}

}  // namespace

TEST_CASE("every sound rule is proved as it stands", "[threads]") {
  const auto rules = rules_in(root / "tests/verifier/sound");
  CHECK(rules.size() >= 150);
  const auto complaints = judge_all(rules, [](const rules::Rule& rule) -> std::string {
    const RuleVerdict verdict = verify(rule, properties(), {.time_limit = 120});
    if (!verdict.disagreement.empty()) return verdict.disagreement;
    if (verdict.witness.empty()) return "no witness";
    return verdict.kind == RuleVerdict::Kind::proved
               ? ""
               : std::string(verifier::text_of(verdict.kind)) + ", " + verdict.reason;
  });
  for (const std::string& complaint : complaints) FAIL_CHECK(complaint);
}

TEST_CASE("no unsound rule is proved as it stands, and none stays undecided") {
  const auto rules = rules_in(root / "tests/verifier/unsound");
  CHECK(rules.size() >= 150);
  const auto complaints = judge_all(rules, [](const rules::Rule& rule) -> std::string {
    const RuleVerdict verdict = verify(rule, properties(), {.time_limit = 120});
    if (!verdict.disagreement.empty()) return verdict.disagreement;
    const bool decided = verdict.kind == RuleVerdict::Kind::refuted || verdict.kind == RuleVerdict::Kind::conditional;
    if (decided && verdict.counterexample.empty()) return "no counterexample";
    if (verdict.kind == RuleVerdict::Kind::conditional && verdict.condition.empty()) return "no condition";
    return decided ? "" : std::string(verifier::text_of(verdict.kind));
  });
  for (const std::string& complaint : complaints) FAIL_CHECK(complaint);
}

TEST_CASE("every planted false property is caught") {
  const auto planted = rules_in(root / "tests/verifier/planted");
  CHECK(planted.size() >= 10);
  const auto complaints = judge_all(planted, [](const rules::Rule& property) -> std::string {
    return validate(property).is_valid() ? "passes for true" : "";
  });
  for (const std::string& complaint : complaints) FAIL_CHECK(complaint);
}

TEST_CASE("the condition found for two joined grouped convolutions is no stronger than necessary") {
  const rules::Rule rule = rules::parse_rule(
      "candidate c\n"
      "  concat[axis=1](conv[strides=s, dilations=d, pads=p, groups=dim(x, 1) / dim(w, 1)](x, w),\n"
      "      conv[strides=s, dilations=d, pads=p, groups=dim(z, 1) / dim(v, 1)](z, v))\n"
      "    => conv[strides=s, dilations=d, pads=p, groups=(dim(x, 1) + dim(z, 1)) / dim(w, 1)](\n"
      "        concat[axis=1](x, z), concat[axis=0](w, v))\n");
  const RuleVerdict verdict = verify(rule, properties());
  CHECK(verdict.kind == RuleVerdict::Kind::conditional);
  std::string text;
  for (const rules::Condition& condition : verdict.condition) text += rules::text_of(condition) + "\n";
  // Equal shapes would also do, but exclude different numbers of groups.
  CHECK(text ==
        "spatial(x) = spatial(z)\nspatial(w) = spatial(v)\ndim(w, 1) = dim(v, 1)\n"
        "dim(w, 0) * dim(z, 1) = dim(v, 0) * dim(x, 1)\n");
}

}  // namespace taso::test
