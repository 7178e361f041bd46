#include "runtime/onnxruntime/status.h"

#include <new>

namespace taso::onnxruntime {

void require(const OrtApi& api, OrtStatus* status) {
  if (status == nullptr) return;
  const Failure failure(api.GetErrorCode(status), api.GetErrorMessage(status));
  api.ReleaseStatus(status);
  throw failure;
}

void require(taso_status status) {
  switch (status) {
    case TASO_OK: return;
    case TASO_BAD_ARGUMENT: throw Failure(ORT_INVALID_ARGUMENT, taso_last_error());
    case TASO_BAD_MODEL: throw Failure(ORT_INVALID_GRAPH, taso_last_error());
    case TASO_CANCELLED: throw Failure(ORT_MODEL_LOAD_CANCELED, taso_last_error());
    default: throw Failure(ORT_EP_FAIL, taso_last_error());
  }
}

OrtStatus* status_of_exception(const OrtApi& api) noexcept {
  try {
    throw;
  } catch (const Failure& failure) {
    return api.CreateStatus(failure.code(), failure.what());
  } catch (const std::bad_alloc&) {
    return api.CreateStatus(ORT_EP_FAIL, "there is not enough memory");
  } catch (const std::exception& error) {
    return api.CreateStatus(ORT_FAIL, error.what());
  } catch (...) {
    return api.CreateStatus(ORT_FAIL, "an unknown error");
  }
}

}  // namespace taso::onnxruntime
