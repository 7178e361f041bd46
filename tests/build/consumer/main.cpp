#include <cstdio>

#include "ops/core/element_type.h"
#include "ops/graph/graph.h"
#include "runtime/gpu/device.h"

int main() {
  const taso::gpu::DeviceReport report = taso::gpu::find_devices("/nonexistent/module.so");
  std::printf("graph of %zu bytes; %s\n", sizeof(taso::Graph), taso::gpu::describe(report).c_str());
  return report.cuda ? 1 : 0;
}
