#include "cli/verify/settings.h"
#include "cli/console/exit_code.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

VerifyCommand parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "taso-verify");
  return parse_verify_command(static_cast<int>(arguments.size()), arguments.data());
}

TEST_CASE("taso-verify takes files and flags in any order") {
  const auto command =
      parse({"a.rules", "--jobs=3", "b.pb", "--time-limit", "0.5", "--seed", "7", "-", "--dump-smt=out", "-vv", "-q"});
  const VerifySettings& settings = command.settings;
  CHECK(command.kind == VerifyCommand::Kind::verify);
  CHECK(settings.files == std::vector<std::filesystem::path>{"a.rules", "b.pb", "-"});
  CHECK(settings.jobs == 3);
  CHECK(settings.proving.time_limit == 0.5);
  CHECK(settings.proving.seed == 7);
  CHECK(settings.proving.keep_certificates);
  CHECK(settings.certificates == "out");
  CHECK(settings.console.verbosity == 1);
  CHECK(settings.use_cache);
}

TEST_CASE("taso-verify keeps certificates only on request") {
  CHECK_FALSE(parse({"a.rules"}).settings.proving.keep_certificates);
  CHECK(parse({"a.rules", "--second-prover", "cvc5"}).settings.proving.keep_certificates);
  CHECK_FALSE(parse({"a.rules", "--no-cache"}).settings.use_cache);
}

TEST_CASE("taso-verify refuses invalid combinations of options") {
  const std::vector<std::vector<const char*>> bad = {
      {},
      {"--properties-only", "a.rules"},
      {"a.rules", "--redundant"},
      {"a.rules", "--cache=x", "--no-cache"},
      {"a.rules", "--time-limit=nan"},
      {"a.rules", "--time-limit=-1"},
      {"a.rules", "--jobs=-1"},
      {"a.rules", "--jobs="},
      {"-", "-"},
      {"--properties-only", "--second-prover=cvc5"},
      {"--agreement"},
      {"a.rules", "--agreement", "--print"},
      {"a.rules", "--agreement", "--junit=out.xml"},
      {"a.rules", "--agreement", "--no-cache"},
  };
  for (const auto& arguments : bad) CHECK_THROWS_AS(parse(arguments), UsageError);
  CHECK(parse({"--properties-only"}).settings.properties_only);
  CHECK(parse({"--version", "--redundant"}).kind == VerifyCommand::Kind::version);
  CHECK(parse({"a.rules", "--print"}).kind == VerifyCommand::Kind::print);
  CHECK(parse({"a.rules", "--agreement", "--seed=3", "--report=-"}).kind == VerifyCommand::Kind::agreement);
}

}  // namespace
}  // namespace taso::test
