// Who is told how the measuring of kernels goes, and may end it.
#pragma once

#include <cstddef>
#include <string_view>

namespace taso::pricing {

class Watcher {
 public:
  virtual ~Watcher() = default;
  /// A detail for whoever wants to know everything.
  virtual void note(std::string_view /*text*/) {}
  virtual void begin() {}
  virtual void progress(std::size_t /*done*/, std::size_t /*all*/) {}
  virtual void end() {}
  /// Asked between two kernels.
  virtual bool goes_on() { return true; }
};

}  // namespace taso::pricing
