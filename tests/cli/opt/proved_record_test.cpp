#include "cli/files/proved_record.h"

#include "cli/files/property_file.h"
#include "cli/files/rule_input.h"
#include "cli/files/rule_set.h"
#include "ops/core/error.h"
#include "ops/text/source.h"
#include "rules/instance/float_class.h"
#include "rules/language/canonical.h"
#include "tests/catch.h"
#include "tests/source_folder.h"
#include "verifier/version.h"

namespace taso::test {

using namespace cli;

namespace {

TEST_CASE("a record survives printing and parsing") {
  const ProvedRecord record{7,
                            "abc",
                            {{"a \"file\".rules", 12, rules::hash_of_text("bytes"), "def"},
                             {"b.rules", 0, rules::hash_of_text(""), "ghi", "1e"}}};
  CHECK(parse_record(cli::text_of(record)) == record);
  REQUIRE(record.find("bytes") != nullptr);
  CHECK(record.find("bytes")->rules_hash == "def");
  CHECK(record.find("")->name == "b.rules");
  CHECK(record.find("byte") == nullptr);
  CHECK(record.find(std::string_view("bytes\0", 6)) == nullptr);
}

TEST_CASE("a file that is not a record is refused") {
  const std::string good = cli::text_of(ProvedRecord{1, "abc", {{"a", 1, "b", "c"}}});
  for (std::size_t i = 0; i + 2 < good.size(); ++i) CHECK_THROWS_AS(parse_record(good.substr(0, i)), InputError);
  for (const char* text : {"{}", "[]", "null", "{\"schema_version\": 2}", "{\"schema_version\": \"1\"}",
                           "{\"schema_version\": 1, \"verifier\": 1, \"properties\": \"\", \"files\": [1]}"})
    CHECK_THROWS_AS(parse_record(text), InputError);
}

// After a change of the rules, the properties or the verifier, scripts/regenerate-rules makes a new record.
TEST_CASE("the shipped record is for the shipped rules") {
  const auto folder = source_folder() / "rules";
  const ProvedRecord record = parse_record(Source::read((folder / "proved.json").string()).text());
  INFO("scripts/regenerate-rules is due");
  CHECK(record.verifier == verifier::verifier_revision);
  CHECK(record.properties == hash_of_properties(read_properties(folder / "properties.rules").rules.rules()));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".rules" || entry.path().filename() == "properties.rules") continue;
    INFO(entry.path().filename().string());
    ++files;
    const GivenFile file = read_rules(entry.path());
    const ProvedFile* proved = record.find(file.source.text());
    REQUIRE(proved != nullptr);
    CHECK(proved->name == entry.path().filename().string());
    CHECK(proved->rules == file.rules.rules().size());
    CHECK(proved->rules_hash == hash_of_rules(file.rules.rules()));
    std::string classes;
    for (const rules::Rule& rule : file.rules.rules()) classes += rules::digit_of(rules::float_class(rule));
    CHECK(proved->float_classes == classes);
  }
  CHECK(files == record.files.size());
}

}  // namespace
}  // namespace taso::test
