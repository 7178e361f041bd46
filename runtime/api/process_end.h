// What happens to calls that are under way, in other threads, when the process ends.
//
// exit() destroys static objects while other threads go on. The library's own are never destroyed (the linker replaces
// __cxa_atexit in it, see cmake/TasoRuntime.cmake). Those of other libraries, OpenBLAS and protobuf, are not ours to
// keep: exit() waits a moment for calls that use them, and refuses new ones.
#pragma once

namespace taso::runtime {

/// Whether exit() waits: long calls should end.
bool process_is_ending();

/// A call that uses other libraries, from its beginning to its end. Throws EnvironmentError if the process is ending.
class CallUnderWay {
 public:
  CallUnderWay();
  ~CallUnderWay();
  CallUnderWay(const CallUnderWay&) = delete;
  CallUnderWay& operator=(const CallUnderWay&) = delete;
};

}  // namespace taso::runtime
