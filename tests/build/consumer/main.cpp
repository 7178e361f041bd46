#include <cstdio>

#include "cost/device.h"
#include "ops/element_type.h"
#include "ops/graph.h"

int main() {
  const taso::DeviceReport report = taso::find_devices("/nonexistent/module.so");
  std::printf("graph of %zu bytes; %s\n", sizeof(taso::Graph), taso::describe(report).c_str());
  return report.cuda ? 1 : 0;
}
