#include "cli/opt/settings.h"

#include "cli/console/exit_code.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

OptCommand parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "taso-opt");
  return parse_opt_command(static_cast<int>(arguments.size()), arguments.data());
}

TEST_CASE("flags take their value with a space or an equals sign") {
  const auto spaced = parse({"in.onnx", "-o", "out.onnx", "--check", "3", "--seed", "7", "--rtol", "0.5"}).options;
  const auto joined = parse({"--check=3", "--seed=7", "--rtol=0.5", "in.onnx", "out.onnx"}).options;
  for (const OptSettings& options : {spaced, joined}) {
    CHECK(options.input == "in.onnx");
    CHECK(options.output == "out.onnx");
    CHECK(options.samples == 3);
    CHECK(options.seed == 7);
    CHECK(options.rtol == 0.5);
    CHECK_FALSE(options.atol);
  }
  CHECK(parse({"in.onnx", "--dry-run"}).options.output.empty());
  CHECK(parse({"in.onnx", "--dry-run"}).options.samples == 1);
}

TEST_CASE("a flag that may be repeated takes one value at a time") {
  const auto options = parse({"--disable-pass", "no-op", "in.onnx", "--disable-pass", "identity", "out.onnx",
                              "--test-input-shape", "a:1x2", "--test-input-shape=b:3", "--input-data", "a:b.npy"})
                           .options;
  CHECK(options.input == "in.onnx");
  CHECK(options.output == "out.onnx");
  CHECK(options.disabled_passes == std::set<std::string, std::less<>>{"identity", "no-op"});
  CHECK(options.test_shapes == std::vector<InputShape>{{"a", {1, 2}}, {"b", {3}}});
  CHECK(options.input_data == std::vector<std::string>{"a:b.npy"});
}

TEST_CASE("verbosity counts") {
  CHECK(parse({"-vv", "a", "b"}).options.console.verbosity == 2);
  CHECK(parse({"-q", "a", "-v", "b", "-q"}).options.console.verbosity == -1);
  CHECK(parse({"--verbose", "a", "b"}).options.console.verbosity == 1);
}

TEST_CASE("commands that only print need no model") {
  CHECK(parse({"--version"}).kind == OptCommand::Kind::version);
  CHECK(parse({"--list-passes"}).kind == OptCommand::Kind::list_passes);
  const OptCommand help = parse({"--help"});
  CHECK(help.kind == OptCommand::Kind::help);
  for (const char* flag : {"--output",
                           "--budget",
                           "--rules",
                           "--disable-rule",
                           "--objective",
                           "--alpha",
                           "--time-budget",
                           "--check",
                           "--rtol",
                           "--atol",
                           "--seed",
                           "--input-data",
                           "--test-input-shape",
                           "--overwrite-input-shape",
                           "--disable-pass",
                           "--fold-limit",
                           "--external-data",
                           "--embed",
                           "--report",
                           "--log-file",
                           "--color",
                           "--jobs",
                           "--list-passes",
                           "--list-rules",
                           "--float",
                           "--version",
                           "--dry-run",
                           "--force"})
    CHECK_THAT(help.help, Catch::Contains(flag));
}

TEST_CASE("an invalid command line is refused") {
  const std::vector<std::vector<const char*>> wrong = {
      {},
      {"in.onnx"},
      {"a", "b", "c"},
      {"a", "b", "-o", "c"},
      {"a", "b", "--no-such-flag"},
      {"a", "b", "--budget", "0", "--alpha", "1.1"},
      {"a", "b", "--budget", "0", "--objective", "time"},
      {"a", "b", "--objective", "speed"},
      {"a", "b", "--budget", "0", "--rules", "r.rules"},
      {"a", "b", "--budget", "0", "--disable-rule", "r"},
      {"a", "b", "--budget", "0", "--time-budget", "1"},
      {"a", "b", "--budget", "1", "--alpha", "0.9"},
      {"a", "b", "--budget", "1", "--time-budget", "-1"},
      {"a", "b", "--budget", "-1"},
      {"a", "b", "--budget", "none"},
      {"a", "b", "--check", "-1"},
      {"a", "b", "--check", "1.5"},
      {"a", "b", "--check", ""},
      {"a", "b", "--check"},
      {"a", "b", "--check", "1", "--check", "2"},
      {"a", "b", "--rtol", "-1"},
      {"a", "b", "--rtol", "nan"},
      {"a", "b", "--atol", "inf"},
      {"a", "b", "--seed", "18446744073709551616"},
      {"a", "b", "--jobs", "many"},
      {"a", "b", "--fold-limit", "1k"},
      {"a", "b", "--color", "blue"},
      {"a", "b", "--disable-pass", "no-such-pass"},
      {"a", "b", "--test-input-shape", "x:1,,2"},
      {"a", "b", "--overwrite-input-shape", "x"},
      {"a", "b", "--external-data", "--embed"},
      {"a", "b", "--report", ""},
      {"a", "b", "--log-file", ""},
      {"", "b"},
      {"a", ""},
      {"a", "b", "-o", ""},
  };
  for (const auto& arguments : wrong) {
    std::string line;
    for (const char* argument : arguments) line += std::string(" '") + argument + "'";
    INFO(line);
    CHECK_THROWS_AS(parse(arguments), UsageError);
  }
  CHECK_THROWS_WITH(parse({"a", "b", "--disable-pass", "x"}), Catch::Contains("identity, no-op"));
  CHECK_THROWS_WITH(parse({"a", "b", "--budget=0", "--rules", "r"}), Catch::Contains("--budget"));
}

TEST_CASE("rules to list need no model") {
  const OptCommand command = parse({"--list-rules", "--rules", "r", "--disable-rule=x"});
  CHECK(command.kind == OptCommand::Kind::list_rules);
  CHECK(command.options.rule_files == std::vector<std::filesystem::path>{"r"});
  CHECK(command.options.disabled_rules == std::vector<std::string>{"x"});
}

TEST_CASE("rules are chosen by their floating-point class") {
  CHECK(parse({"a", "b"}).options.float_mode == rules::FloatMode::usual);
  CHECK(parse({"a", "b", "--float", "strict"}).options.float_mode == rules::FloatMode::strict);
  CHECK(parse({"a", "b", "--float=fast"}).options.float_mode == rules::FloatMode::fast);
  CHECK_THROWS_WITH(parse({"a", "b", "--float", "slow"}), Catch::Contains("strict, usual or fast"));
  CHECK_THROWS_WITH(parse({"a", "b", "--budget=0", "--float", "strict"}), Catch::Contains("--budget"));
}

TEST_CASE("the search ends by its budget, and a budget of 0 means no search") {
  CHECK(parse({"a", "b"}).options.budget == 1000);
  CHECK(parse({"a", "b", "--budget", "0"}).options.budget == 0);
  const OptSettings options = parse({"a", "b", "--budget", "20", "--rules", "r", "--rules=s", "--alpha", "1.2",
                                     "--time-budget", "2.5", "--disable-rule", "x", "--disable-rule", "y"})
                                  .options;
  CHECK(options.budget == 20);
  CHECK(options.alpha == 1.2);
  CHECK(options.objective == cost::Objective::time);
  CHECK(parse({"a", "b", "--objective", "memory"}).options.objective == cost::Objective::memory);
  CHECK(parse({"a", "b", "--objective=launches"}).options.objective == cost::Objective::launches);
  CHECK(options.time_budget == 2.5);
  CHECK(options.rule_files == std::vector<std::filesystem::path>{"r", "s"});
  CHECK(options.disabled_rules == std::vector<std::string>{"x", "y"});
}

}  // namespace
}  // namespace taso::test
