// Random testing of any length: search_random [--rules FILE] [--count N] [--seed N] [--budget N] [--missing]
//
// Plants each rule's source and applies the rule wherever it matches, then runs N random walks and N searches. Reports
// every failure with the smallest graph that shows it, and exits with 1 if there was one.
#include <chrono>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>

#include "tests/search/campaign.h"

using namespace taso;
using namespace taso::test;

namespace {

void tell(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

int run(int count, char** arguments) {
  std::vector<rules::Rule> rules = shipped_rules();
  std::uint64_t graphs = 1000, seed = 1;
  bool names_missing = false;
  CampaignOptions options = wandering(20);
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const bool has_value = i + 1 < count;
    if (name == "--missing") {
      names_missing = true;
    } else if (!has_value) {
      throw InputError("unknown option " + name);
    } else if (name == "--rules") {
      rules = rules_of_file(arguments[++i]);
    } else if (name == "--count") {
      graphs = std::stoull(arguments[++i]);
    } else if (name == "--seed") {
      seed = std::stoull(arguments[++i]);
    } else if (name == "--budget") {
      options.search.budget = std::stoull(arguments[++i]);
    } else {
      throw InputError("unknown option " + name);
    }
  }
  Campaign campaign(std::move(rules), options);
  std::size_t wrong = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto note = [&](const std::string& what) {
    if (what.empty()) return;
    ++wrong;
    tell("WRONG " + what + "\n");
  };
  const auto told = [&](const char* what) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    tell(fmt::format("--- {} s, {}\n{}", static_cast<int>(passed.count()), what, campaign.summary()));
  };
  for (std::size_t rule = 0; rule < campaign.rules(); ++rule) note(campaign.force(rule, seed));
  told("every rule where its source is planted");
  if (names_missing)
    for (const std::string& name : campaign.missing()) tell("never applied: " + name + "\n");
  for (std::uint64_t i = 0; i < graphs; ++i) note(campaign.walk(seed + i));
  told("random walks");
  for (std::uint64_t i = 0; i < graphs; ++i) note(campaign.search(seed + graphs + i));
  told("searches");
  if (names_missing)
    for (const std::string& name : campaign.missing()) tell("never applied: " + name + "\n");
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
