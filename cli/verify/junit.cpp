#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "cli/verify/results.h"
#include "ops/text/characters.h"

namespace taso::cli {
namespace {

using Outcome = RuleResult::Outcome;

constexpr std::string_view replacement = "\xef\xbf\xbd";  // U+FFFD

std::string message_of(const RuleResult& result) {
  if (!result.disagreement().empty()) return "two provers disagree";
  if (!result.unknown_names.empty()) return fmt::format("no such property: {}", result.unknown_names.front());
  switch (result.outcome()) {
    case Outcome::conditional: {
      std::string text = "true only where ";
      for (std::size_t i = 0; i < result.verdict.condition.size(); ++i)
        text += (i > 0 ? ", " : "") + rules::text_of(result.verdict.condition[i]);
      return text;
    }
    case Outcome::refuted: return result.property ? "false" : result.verdict.reason;
    case Outcome::unstated: return "cannot be stated: " + result.verdict.reason;
    case Outcome::unknown: return result.property ? "not validated" : result.verdict.reason;
    default: return "";
  }
}

std::string test_case(const VerifyResults& results, std::size_t index) {
  const GivenRule& given = results.rules[index];
  const RuleResult& result = results.results[index];
  const std::string& file = results.files[given.file].source.name();
  std::string head = fmt::format("    <testcase classname=\"{}\" name=\"{}\" file=\"{}\"", xml_text(file),
                                 xml_text(given.rule.name), xml_text(file));
  if (given.line > 0) head += fmt::format(" line=\"{}\"", given.line);
  if (result.passed()) return head + "/>\n";
  if (!result.decided) return head + "><skipped message=\"interrupted\"/></testcase>\n";
  const bool disagrees = !result.disagreement().empty();
  const std::string_view element = disagrees ? "error" : "failure";
  return fmt::format("{}><{} type=\"{}\" message=\"{}\">{}</{}></testcase>\n", head, element,
                     disagrees                       ? "disagreement"
                     : !result.unknown_names.empty() ? "unknown-property"
                                                     : text_of(result.outcome()),
                     xml_text(message_of(result)),
                     xml_text(disagrees ? result.disagreement() : result.counterexample()), element);
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string xml;
  while (!text.empty()) {
    const std::size_t size = character_size(text);
    const char c = text.front();
    if (size == 0) {
      if (static_cast<unsigned char>(c) >= 0x80) xml += replacement;
    } else if (c == '&') {
      xml += "&amp;";
    } else if (c == '<') {
      xml += "&lt;";
    } else if (c == '>') {
      xml += "&gt;";
    } else if (c == '"') {
      xml += "&quot;";
    } else if (c == '\'') {
      xml += "&apos;";
    } else if (c == '\n' || c == '\t') {
      xml += fmt::format("&#{};", static_cast<int>(c));  // kept in attributes too
    } else {
      xml += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return xml;
}

std::string junit_of(const VerifyResults& results) {
  struct Suite {
    std::string cases;
    std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;
  };
  std::vector<Suite> suites(results.files.size());
  Suite all;
  for (std::size_t i = 0; i < results.results.size(); ++i) {
    const RuleResult& result = results.results[i];
    Suite& suite = suites[results.rules[i].file];
    suite.cases += test_case(results, i);
    for (Suite* counts : {&suite, &all}) {
      ++counts->tests;
      if (result.passed()) continue;
      ++(!result.decided ? counts->skipped : !result.disagreement().empty() ? counts->errors : counts->failures);
    }
  }
  const auto counts = [](const Suite& suite) {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"", suite.tests, suite.failures,
                       suite.errors, suite.skipped);
  };
  std::string text =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"taso-verify\" {}>\n", counts(all));
  for (std::size_t i = 0; i < suites.size(); ++i)
    text += fmt::format("  <testsuite name=\"{}\" {}>\n{}  </testsuite>\n", xml_text(results.files[i].source.name()),
                        counts(suites[i]), suites[i].cases);
  return text + "</testsuites>\n";
}

}  // namespace taso::cli
