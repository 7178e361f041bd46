// libFuzzer's entry to the importer. Expected exceptions are caught inside; any other is a bug.
#include "tests/fuzz/bytes.h"
#include "tests/fuzz/exercise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A folder that does not exist: no location can name a file of this machine.
  const std::string_view bytes = taso::test::text_of_bytes(data, size);
  if (taso::test::exercise_import(bytes, "/nonexistent/taso-fuzz"))
    taso::test::exercise_cleanup(bytes, "/nonexistent/taso-fuzz");
  return 0;
}
