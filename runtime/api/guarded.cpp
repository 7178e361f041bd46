#include "runtime/api/guarded.h"

#include "ops/text/characters.h"

namespace taso::runtime {

std::string& last_error() {
  thread_local std::string text;
  return text;
}

taso_status failed(taso_status status, const char* text) {
  try {
    last_error() = on_one_line(text);
  } catch (...) {  // no memory for the message
  }
  return status;
}

}  // namespace taso::runtime
