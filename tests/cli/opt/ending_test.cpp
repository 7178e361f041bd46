#include "cli/console/ending.h"

#include <filesystem>
#include <new>

#include "ops/core/error.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

template <class Exception>
Trouble trouble_with(const Exception& exception) {
  return trouble_of(std::make_exception_ptr(exception));
}

TEST_CASE("every exception has its exit code") {
  CHECK(trouble_with(UsageError("u")).ending == Ending::usage);
  CHECK(trouble_with(InputError("i")).ending == Ending::input);
  CHECK(trouble_with(ShapeError("s")).ending == Ending::input);
  CHECK(trouble_with(EnvironmentError("e")).ending == Ending::environment);
  CHECK(trouble_with(std::bad_alloc()).ending == Ending::environment);
  CHECK(trouble_with(std::filesystem::filesystem_error("f", std::error_code())).ending == Ending::environment);
  CHECK(trouble_with(InternalError("b")).ending == Ending::bug);
  CHECK(trouble_with(std::out_of_range("o")).ending == Ending::bug);
  CHECK(trouble_with(42).ending == Ending::bug);
  CHECK(trouble_with(InputError("i")).text == "i");
  CHECK(trouble_with(InternalError("b")).text == "this is a bug in taso: b");
  CHECK(static_cast<int>(Ending::check_failed) == 4);
  CHECK(static_cast<int>(Ending::unverified) == 5);
  CHECK(static_cast<int>(Ending::interrupted) == 130);
}

TEST_CASE("a message is one line, whatever the names in it") {
  CHECK(on_one_line("a\nb\tc\x1b[31m\x7f") == "a b c\\x1b[31m\\x7f");
  CHECK(on_one_line("größer") == "größer");
  CHECK(on_one_line("a\xff\xc3(\xed\xa0\x80z") == "a\\xff\\xc3(\\xed\\xa0\\x80z");
}

}  // namespace
}  // namespace taso::test
