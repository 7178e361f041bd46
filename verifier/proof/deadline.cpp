#include "verifier/proof/deadline.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

namespace taso::verifier {
namespace {

using Clock = std::chrono::steady_clock;

class Watchdog {
 public:
  static Watchdog& instance() {
    static Watchdog one;
    return one;
  }

  std::size_t watch(Clock::time_point when, const std::stop_source& source) {
    const std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
    const std::size_t ticket = ++tickets_;
    times_.emplace(ticket, when);
    due_.emplace(std::pair(when, ticket), source);
    if (due_.begin()->first.second == ticket) condition_.notify_one();
    return ticket;
  }

  void forget(std::size_t ticket) {
    const std::lock_guard lock(mutex_);
    const auto time = times_.find(ticket);
    if (time == times_.end()) return;
    due_.erase({time->second, ticket});
    times_.erase(time);
  }

 private:
  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      if (due_.empty()) {
        condition_.wait(lock, stop, [this] { return !due_.empty(); });
        continue;
      }
      const auto [when, ticket] = due_.begin()->first;
      if (Clock::now() < when) {
        condition_.wait_until(lock, stop, when,
                              [&, next = ticket] { return due_.empty() || due_.begin()->first.second != next; });
        continue;
      }
      std::stop_source source = due_.begin()->second;
      times_.erase(ticket);
      due_.erase(due_.begin());
      lock.unlock();  // stop callbacks may take long
      source.request_stop();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any condition_;
  std::size_t tickets_ = 0;
  std::map<std::size_t, Clock::time_point> times_;
  std::map<std::pair<Clock::time_point, std::size_t>, std::stop_source> due_;
  std::jthread thread_;  // last: it must end before the members it uses
};

}  // namespace

Deadline::Deadline(double seconds, const std::stop_token& outer)
    : outer_(outer, [source = source_]() mutable { source.request_stop(); }) {
  if (seconds <= 0) return;
  constexpr double longest = 1e9;
  ticket_ = Watchdog::instance().watch(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                          std::chrono::duration<double>(std::min(seconds, longest))),
                                       source_);
}

Deadline::~Deadline() {
  if (ticket_ != 0) Watchdog::instance().forget(ticket_);
}

}  // namespace taso::verifier
