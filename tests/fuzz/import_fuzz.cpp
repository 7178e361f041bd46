// libFuzzer's entry to the importer. Expected exceptions are caught inside; any other is a bug.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/exercise.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A folder that does not exist: no location can name a file of this machine.
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (taso::test::exercise_import(bytes, "/nonexistent/taso-fuzz"))
    taso::test::exercise_cleanup(bytes, "/nonexistent/taso-fuzz");
  return 0;
}
