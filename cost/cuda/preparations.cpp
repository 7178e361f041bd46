#include "cost/cuda/preparations.h"

#include <algorithm>
#include <set>
#include <utility>

namespace taso::cuda {

namespace {

constexpr unsigned most_threads = 8;
/// What is ready and not taken yet holds memory and handles.
constexpr std::size_t most_ahead = 12;

}  // namespace

Preparations::Preparations(Libraries& libraries) : libraries_(libraries) {
  const unsigned threads = std::clamp(std::thread::hardware_concurrency() / 2, 1u, most_threads);
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this](const std::stop_token& stop) { work_on(stop); });
}

Preparations::~Preparations() {
  const std::lock_guard lock(mutex_);
  waiting_.clear();
}

void Preparations::expect(std::span<const Call> calls) {
  std::set<std::string> wanted;
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  for (const Call& call : calls) {
    const std::string text = text_of(call);
    if (!wanted.insert(text).second) continue;
    std::shared_ptr<Job>& job = jobs_[text];
    if (!job) job = std::make_shared<Job>(Job{call, Job::State::waiting, false, {}});
    if (job->state == Job::State::waiting) waiting_.push_back(job);
  }
  for (auto one = jobs_.begin(); one != jobs_.end();) {
    Job& job = *one->second;
    if (wanted.contains(one->first)) {
      ++one;
      continue;
    }
    if (job.state == Job::State::done) --begun_;
    job.is_given_up = true;
    one = jobs_.erase(one);
  }
  changed_.notify_all();
}

Preparations::Ready Preparations::take(const Call& call) {
  std::unique_lock lock(mutex_);
  if (const auto found = jobs_.find(text_of(call)); found != jobs_.end()) {
    const std::shared_ptr<Job> job = found->second;
    if (job->state == Job::State::waiting) {
      std::erase(waiting_, job);
      jobs_.erase(found);
    } else {
      changed_.wait(lock, [&] { return job->state == Job::State::done; });
      jobs_.erase(text_of(call));
      --begun_;
      Ready ready = std::move(job->ready);
      lock.unlock();
      changed_.notify_all();
      return ready;
    }
  }
  const std::shared_ptr<Libraries> libraries = free_libraries();
  lock.unlock();
  return {libraries, ways_of(*libraries, call, {})};
}

bool Preparations::can_begin() const { return !waiting_.empty() && begun_ < most_ahead; }

std::shared_ptr<Libraries> Preparations::free_libraries() {
  for (const std::shared_ptr<Libraries>& one : all_libraries_)
    if (one.use_count() == 1) return one;
  return all_libraries_.emplace_back(libraries_.another());
}

void Preparations::work_on(const std::stop_token& stop) {
  for (;;) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait(lock, stop, [this] { return can_begin(); }) || stop.stop_requested()) return;
    const std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    job->state = Job::State::begun;
    ++begun_;
    Ready ready{free_libraries(), {}};
    lock.unlock();
    try {
      ready.libraries->use_device();
      ready.ways = ways_of(*ready.libraries, job->call, {});
    } catch (const std::exception& error) {
      ready.ways = {{}, error.what()};
    }
    lock.lock();
    if (job->is_given_up) {
      --begun_;
      lock.unlock();
      ready.ways = {};  // before its libraries, which others may use then
      ready.libraries.reset();
      lock.lock();
    }
    job->ready = std::move(ready);
    job->state = Job::State::done;
    lock.unlock();
    changed_.notify_all();
  }
}

}  // namespace taso::cuda
