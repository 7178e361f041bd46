// Errors at the C interface: inside they are exceptions, outside a number and a text.
#pragma once

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <taso/taso.h>

#include "ops/core/error.h"
#include "runtime/api/optimized.h"
#include "runtime/api/process_end.h"
#include "runtime/session/session_options.h"
#include "runtime/session/sizes.h"

namespace taso::runtime {

/// A mistake of the caller, not of the model.
struct BadArgument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Of this thread.
std::string& last_error();

/// Keeps the text as the last error.
taso_status failed(taso_status status, const char* text);

/// Runs `work`; nothing that it throws gets out. `input` is what an invalid input means here.
template <class Work>
taso_status guarded(taso_status input, const Work& work) {
  try {
    last_error().clear();
    const CallUnderWay call;
    work();
    return TASO_OK;
  } catch (const BadArgument& error) {
    return failed(TASO_BAD_ARGUMENT, error.what());
  } catch (const Cancelled& error) {
    return failed(TASO_CANCELLED, error.what());
  } catch (const CheckFailed& error) {
    return failed(TASO_CHECK_FAILED, error.what());
  } catch (const BadTensor& error) {
    return failed(TASO_BAD_ARGUMENT, error.what());
  } catch (const InputError& error) {
    return failed(input, error.what());
  } catch (const EnvironmentError& error) {
    return failed(TASO_UNAVAILABLE, error.what());
  } catch (const std::bad_alloc&) {
    return failed(TASO_UNAVAILABLE, "there is not enough memory");
  } catch (const std::filesystem::filesystem_error& error) {
    return failed(TASO_UNAVAILABLE, error.what());
  } catch (const std::exception& error) {
    return failed(TASO_BUG, error.what());
  } catch (...) {
    return failed(TASO_BUG, "an unknown error");
  }
}

template <class T>
T& required(T* pointer, const char* what) {
  if (pointer == nullptr) throw BadArgument(fmt::format("{} is null", what));
  return *pointer;
}

}  // namespace taso::runtime
