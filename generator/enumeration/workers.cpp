#include "generator/enumeration/workers.h"

#include <utility>

namespace taso::generator {

Workers::Workers(unsigned jobs) {
  for (unsigned i = 1; i < jobs; ++i) threads_.emplace_back([this](const std::stop_token& end) { wait_for_work(end); });
}

void Workers::wait_for_work(const std::stop_token& end) {
  std::unique_lock lock(mutex_);
  while (begun_.wait(lock, end, [this] { return task_ && next_ < count_; })) work(lock);
}

void Workers::work(std::unique_lock<std::mutex>& lock) {
  ++running_;
  while (next_ < count_ && !stop_.stop_requested()) {
    const std::size_t i = next_++;
    const auto& task = *task_;
    lock.unlock();
    std::exception_ptr error;
    try {
      task(i);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      if (!error_) error_ = error;
      next_ = count_;
    }
  }
  if (stop_.stop_requested()) next_ = count_;
  if (--running_ == 0) done_.notify_all();
}

void Workers::for_each(std::size_t count, const std::stop_token& stop, const std::function<void(std::size_t)>& f) {
  std::unique_lock lock(mutex_);
  task_ = &f;
  stop_ = stop;
  next_ = 0;
  count_ = count;
  begun_.notify_all();
  work(lock);
  done_.wait(lock, [this] { return running_ == 0; });
  task_ = nullptr;
  count_ = 0;
  if (const std::exception_ptr error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

}  // namespace taso::generator
