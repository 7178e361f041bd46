// Requests a stop after some time, or when its caller is asked to stop.
#pragma once

#include <functional>
#include <stop_token>

namespace taso::verifier {

/// Cheap: one thread watches all deadlines of the program.
class Deadline {
 public:
  /// No limit if `seconds` is not positive.
  Deadline(double seconds, const std::stop_token& outer);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  std::stop_token token() const { return source_.get_token(); }
  bool is_over() const { return source_.stop_requested(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> outer_;
  std::size_t ticket_ = 0;  ///< 0 if it is not watched
};

}  // namespace taso::verifier
