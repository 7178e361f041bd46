// Results that other threads make before somebody takes them, where making one takes longer than what is done with it.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace taso::cuda {

/// Tasks that have names, begun in the order in which they are expected. One thread expects and takes; the others start when it
/// takes something first, for what is expected is not always taken. None of them: nothing is made ahead.
template <class Task, class Result>
class WorkAhead {
 public:
  /// Called by several threads at once. The token says that nobody wants the result any more.
  using Make = std::function<std::unique_ptr<Result>(const Task&, const std::stop_token&)>;

  /// `most_ahead`: so many are begun and not taken, for what is ready holds memory.
  WorkAhead(std::size_t threads, std::size_t most_ahead, Make make)
      : most_threads_(threads), most_ahead_(most_ahead), make_(std::move(make)) {}
  ~WorkAhead() {
    give_up();
    for (std::jthread& thread : threads_) thread.request_stop();
  }
  WorkAhead(const WorkAhead&) = delete;
  WorkAhead& operator=(const WorkAhead&) = delete;

  bool is_used() const { return most_threads_ > 0; }
  std::size_t expected() const { return jobs_.size(); }  ///< and not taken

  /// In this order from now on. What was expected before and is not among these is given up; `task_of` makes those that were
  /// not expected before, by their place in the list.
  void expect(const std::vector<std::string>& names, const std::function<Task(std::size_t)>& task_of) {
    if (!is_used()) return;
    Jobs jobs;
    std::vector<std::shared_ptr<Job>> in_order;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto [place, is_new] = jobs.try_emplace(names[i]);
      if (!is_new) continue;
      if (const auto known = jobs_.find(names[i]); known != jobs_.end())
        place->second = known->second;
      else
        place->second = std::make_shared<Job>(task_of(i));
      in_order.push_back(place->second);
    }
    jobs.swap(jobs_);
    // From here on `jobs` has what was before. Results that nobody wants go when the lock is free.
    std::vector<std::unique_ptr<Result>> unwanted;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [name, job] : jobs) {
        if (jobs_.contains(name)) continue;
        job->given_up.request_stop();
        if (job->state == State::done) {
          --ahead_;
          unwanted.push_back(std::move(job->result));
        }
      }
      waiting_.clear();
      for (const std::shared_ptr<Job>& job : in_order)
        if (job->state == State::waiting) waiting_.push_back(job);
    }
    changed_.notify_all();
  }

  void give_up() { expect({}, nullptr); }
  /// Until no thread makes anything or has something to make.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return busy_ == 0 && (threads_.empty() || !can_begin()); });
  }

  /// Waits if somebody has begun with it. Null if nobody has, or has failed: then it is for the caller to make it, who sees
  /// what is wrong.
  std::unique_ptr<Result> take(const std::string& name) {
    std::unique_ptr<Result> result;
    if (const auto found = jobs_.find(name); found != jobs_.end()) {
      const std::shared_ptr<Job> job = found->second;
      jobs_.erase(found);
      std::unique_lock lock(mutex_);
      if (job->state == State::waiting) {
        std::erase(waiting_, job);
      } else {
        changed_.wait(lock, [&] { return job->state == State::done; });
        --ahead_;
        result = std::move(job->result);
      }
    }
    start();
    changed_.notify_all();
    return result;
  }

 private:
  enum class State : std::uint8_t { waiting, begun, done };
  struct Job {
    explicit Job(Task one) : task(std::move(one)) {}
    const Task task;
    std::stop_source given_up;
    State state = State::waiting;
    std::unique_ptr<Result> result;
  };
  using Jobs = std::map<std::string, std::shared_ptr<Job>>;

  void start() {
    if (!threads_.empty() || jobs_.empty()) return;
    try {
      while (threads_.size() < most_threads_) threads_.emplace_back([this](const std::stop_token& end) { work(end); });
    } catch (const std::system_error&) {  // as many as there can be
    }
  }

  bool can_begin() const { return !waiting_.empty() && ahead_ < most_ahead_; }

  void work(const std::stop_token& end) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, end, [this] { return can_begin(); }) && !end.stop_requested()) {
      const std::shared_ptr<Job> job = std::move(waiting_.front());
      waiting_.pop_front();
      job->state = State::begun;
      ++ahead_;
      ++busy_;
      lock.unlock();
      std::unique_ptr<Result> result;
      try {
        result = make_(job->task, job->given_up.get_token());
      } catch (...) {  // who takes it makes it once more, and sees the same
      }
      lock.lock();
      job->state = State::done;
      if (job->given_up.stop_requested()) {
        --ahead_;
        lock.unlock();
        result.reset();
        lock.lock();
      } else {
        job->result = std::move(result);
      }
      --busy_;
      changed_.notify_all();
    }
  }

  const std::size_t most_threads_, most_ahead_;
  const Make make_;
  Jobs jobs_;  ///< expected and not taken; of the one thread
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Job>> waiting_;
  std::size_t ahead_ = 0;  ///< begun, and neither taken nor given up
  std::size_t busy_ = 0;
  std::vector<std::jthread> threads_;  // last: they end before what they use goes
};

}  // namespace taso::cuda
