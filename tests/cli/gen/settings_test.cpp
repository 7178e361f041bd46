#include "cli/gen/settings.h"
#include "cli/console/exit_code.h"
#include "cli/console/option_values.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

GenCommand parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "taso-gen");
  return parse_gen_command(static_cast<int>(arguments.size()), arguments.data());
}

TEST_CASE("taso-gen takes its flags") {
  const auto command = parse({"-o", "out.rules", "--operators=taso,tanh", "--max-ops", "3", "--jobs=2", "--seed", "5",
                              "--memory-limit", "1.5G", "--time-limit=0.5", "--resume", "--rejected=r", "-vv", "-q"});
  const GenSettings& settings = command.settings;
  CHECK(command.kind == GenCommand::Kind::generate);
  CHECK(settings.output == "out.rules");
  CHECK(settings.operators == "taso,tanh");
  CHECK(settings.max_operators == 3);
  CHECK(settings.jobs == 2);
  CHECK(settings.seed == 5);
  CHECK(settings.memory_limit == std::size_t{3} << 29);
  CHECK(settings.proving.time_limit == 0.5);
  CHECK_FALSE(settings.proving.second_opinion);
  CHECK(settings.proving.abduce);
  CHECK(settings.resume);
  CHECK(settings.rejected == "r");
  CHECK(settings.checkpoint == "out.rules.checkpoint");
  CHECK(settings.console.verbosity == 1);
}

TEST_CASE("taso-gen uses all operators and programs of four by default") {
  const GenSettings settings = parse({"-o", "x", "--checkpoint", "c"}).settings;
  CHECK(settings.operators == "full");
  CHECK(settings.max_operators == 4);
  CHECK(settings.memory_limit == std::size_t{4} << 30);
  CHECK(settings.proving.time_limit == 120);
  CHECK(parse({"-o", "x", "--max-ops", "5"}).settings.proving.time_limit == 10);
  CHECK(parse({"-o", "x", "--max-ops", "5", "--time-limit", "7"}).settings.proving.time_limit == 7);
  CHECK(settings.checkpoint == "c");
  CHECK_FALSE(settings.resume);
}

TEST_CASE("taso-gen refuses invalid options") {
  const std::vector<std::vector<const char*>> bad = {
      {},
      {"--output="},
      {"-o", "x", "y"},
      {"-o", "x", "--max-ops", "0"},
      {"-o", "x", "--max-ops", "99"},
      {"-o", "x", "--max-ops", "three"},
      {"-o", "x", "--jobs", "-1"},
      {"-o", "x", "--memory-limit", "much"},
      {"-o", "x", "--time-limit", "-1"},
      {"-o", "x", "--color", "red"},
      {"-o", "x", "--operators="},
      {"-o", "-"},
      {"-o", "x", "-o", "y"},
  };
  for (const auto& arguments : bad) CHECK_THROWS_AS(parse(arguments), UsageError);
  const auto message = [](const std::vector<const char*>& arguments) -> std::string {
    try {
      parse(arguments);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing is wrong";
  };
  for (const char* number : {"0", "99"})
    CHECK(message({"-o", "x", "--max-ops", number}).starts_with("--max-ops takes a whole number from 1 to 8"));
  CHECK(message({"-o", "x", "-o", "y"}) == "--output is given more than once");
  CHECK(parse({"--list-operators"}).kind == GenCommand::Kind::list_operators);
  CHECK(parse({"--version"}).kind == GenCommand::Kind::version);
  CHECK(parse({"--help"}).kind == GenCommand::Kind::help);
}

TEST_CASE("byte counts have units") {
  const auto bytes = [](const std::string& text) { return byte_count("--x", text); };
  CHECK(bytes("0") == 0);
  CHECK(bytes("65536") == 65536);
  CHECK(bytes("7B") == 7);
  CHECK(bytes("4k") == 4096);
  CHECK(bytes("512M") == 512u << 20);
  CHECK(bytes("512MB") == 512u << 20);
  CHECK(bytes("0.5GiB") == 512u << 20);
  CHECK(bytes("2T") == std::size_t{2} << 40);
  for (const char* text : {"", "G", "4X", "4GG", "4 G", "-1", "nan", "inf", "1e3", "9999999999T", "4GiBs", "4Bi"})
    CHECK_THROWS_AS(bytes(text), UsageError);
}

}  // namespace
}  // namespace taso::test
