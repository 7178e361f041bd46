#include "cli/console/exit_code.h"

#include <filesystem>
#include <new>

#include "ops/core/error.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

template <class Exception>
Failure trouble_with(const Exception& exception) {
  return failure_of(std::make_exception_ptr(exception));
}

TEST_CASE("every exception has its exit code") {
  CHECK(trouble_with(UsageError("u")).ending == ExitCode::usage);
  CHECK(trouble_with(InputError("i")).ending == ExitCode::input);
  CHECK(trouble_with(ShapeError("s")).ending == ExitCode::input);
  CHECK(trouble_with(EnvironmentError("e")).ending == ExitCode::environment);
  CHECK(trouble_with(std::bad_alloc()).ending == ExitCode::environment);
  CHECK(trouble_with(std::filesystem::filesystem_error("f", std::error_code())).ending == ExitCode::environment);
  CHECK(trouble_with(InternalError("b")).ending == ExitCode::bug);
  CHECK(trouble_with(std::out_of_range("o")).ending == ExitCode::bug);
  CHECK(trouble_with(42).ending == ExitCode::bug);
  CHECK(trouble_with(InputError("i")).text == "i");
  CHECK(trouble_with(InternalError("b")).text == "this is a bug in taso: b");
  CHECK(static_cast<int>(ExitCode::check_failed) == 4);
  CHECK(static_cast<int>(ExitCode::unverified) == 5);
  CHECK(static_cast<int>(ExitCode::interrupted) == 130);
}

TEST_CASE("a message is one line, whatever the names in it") {
  CHECK(on_one_line("a\nb\tc\x1b[31m\x7f") == "a b c\\x1b[31m\\x7f");
  CHECK(on_one_line("größer") == "größer");
  CHECK(on_one_line("a\xff\xc3(\xed\xa0\x80z") == "a\\xff\\xc3(\\xed\\xa0\\x80z");
}

}  // namespace
}  // namespace taso::test
