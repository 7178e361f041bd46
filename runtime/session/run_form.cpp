#include "runtime/session/run_form.h"

#include "onnx/cleanup/cleanup.h"
#include "runtime/session/axis_scatters.h"
#include "runtime/session/flat_products.h"

namespace taso::runtime {

void bring_into_run_form(onnx::GraphEdit& edit) {
  // First, for a clean-up may take away the reshapes between two flat products.
  unflatten_products(edit);
  onnx::clean_up(edit);
  if (join_axis_scatters(edit) > 0) onnx::clean_up(edit);
}

}  // namespace taso::runtime
