// Observes the measuring of kernels and may stop it.
#pragma once

#include <cstddef>
#include <string_view>

namespace taso::pricing {

class Watcher {
 public:
  virtual ~Watcher() = default;
  /// A detail for the log.
  virtual void note(std::string_view /*text*/) {}
  virtual void begin() {}
  virtual void progress(std::size_t /*done*/, std::size_t /*all*/) {}
  virtual void end() {}
  /// Called between two kernels.
  virtual bool goes_on() { return true; }
};

}  // namespace taso::pricing
