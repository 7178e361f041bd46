#include "runtime/session/run_form.h"

#include "onnx/cleanup/cleanup.h"
#include "runtime/session/axis_scatters.h"
#include "runtime/session/flat_products.h"

namespace taso::runtime {

void bring_into_run_form(onnx::GraphEdit& edit) {
  onnx::clean_up(edit);
  const std::size_t joined = join_axis_scatters(edit);
  if (unflatten_products(edit) + joined > 0) onnx::clean_up(edit);
}

}  // namespace taso::runtime
