// Collects requests into batches and keeps the slow ones within a bound:
//   batcher MODEL.onnx [REQUESTS_PER_SECOND] [MILLISECONDS] [REQUESTS]
// The first axis of the model's input and output is the batch, of any size. Requests arrive at random times. A batch
// starts when it is full, or when its oldest request could not wait longer: the bound minus the time of such a batch,
// which was measured before, with a tenth in reserve. Exit 1 if one in a hundred requests took longer than the bound.
#include <taso/session.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <mutex>
#include <random>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;
constexpr std::size_t largest_batch = 16;

class Model {
 public:
  explicit Model(const std::string& path) : session_(path), input_(session_.inputs().at(0)) {
    for (std::int32_t i = 1; i < input_.rank; ++i)
      size_ *= static_cast<std::size_t>(std::max<std::int64_t>(shape(i), 1));
    for (std::size_t batch = 1; batch <= largest_batch; ++batch) {  // plans and times in advance
      const std::vector<float> zeros(batch * size_, 0.5F);
      run(batch, zeros);
      const auto start = Clock::now();
      run(batch, zeros);
      times_[batch] = 2 * Milliseconds(Clock::now() - start);  // with some reserve
    }
  }
  std::size_t request_size() const { return size_; }
  Milliseconds time(std::size_t batch) const { return times_[batch]; }
  void run(std::size_t batch, const std::vector<float>& requests) {
    std::vector<std::int64_t> sizes{static_cast<std::int64_t>(batch)};
    for (std::int32_t i = 1; i < input_.rank; ++i) sizes.push_back(std::max<std::int64_t>(shape(i), 1));
    const taso::TensorView view(const_cast<float*>(requests.data()), requests.size() * sizeof(float), TASO_FLOAT32,
                                TASO_HOST, sizes);
    session_.run(std::span(&view, 1));
  }

 private:
  std::int64_t shape(std::int32_t axis) const { return input_.shape[axis]; }
  taso::Session session_;
  taso_value input_;
  std::size_t size_ = 1;
  Milliseconds times_[largest_batch + 1] = {};
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) throw std::runtime_error("usage: batcher MODEL.onnx [REQUESTS_PER_SECOND] [MILLISECONDS] [REQUESTS]");
  const double rate = argc > 2 ? std::atof(argv[2]) : 500;
  const Milliseconds bound(argc > 3 ? std::atof(argv[3]) : 20);
  const std::size_t requests = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1000;
  Model model(argv[1]);
  std::mutex guard;
  std::condition_variable changed;
  std::deque<Clock::time_point> waiting;  // when each request came
  bool is_over = false;
  std::jthread client([&] {
    std::mt19937 random(1);
    std::exponential_distribution<double> pause(rate);
    for (std::size_t i = 0; i < requests; ++i) {
      std::this_thread::sleep_for(std::chrono::duration<double>(pause(random)));
      const std::lock_guard lock(guard);
      waiting.push_back(Clock::now());
      changed.notify_one();
    }
    const std::lock_guard lock(guard);
    is_over = true;
    changed.notify_one();
  });
  std::vector<double> took;
  std::size_t batches = 0;
  for (std::unique_lock lock(guard);;) {
    changed.wait(lock, [&] { return !waiting.empty() || is_over; });
    if (waiting.empty()) break;
    const auto can_wait = [&] {
      const std::size_t next = std::min(waiting.size() + 1, largest_batch);
      return waiting.front() + std::chrono::duration_cast<Clock::duration>(0.9 * bound - model.time(next));
    };
    while (waiting.size() < largest_batch && !is_over && Clock::now() < can_wait())
      changed.wait_until(lock, can_wait());
    const std::size_t batch = std::min(waiting.size(), largest_batch);
    const std::vector<Clock::time_point> taken(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(batch));
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(batch));
    lock.unlock();
    model.run(batch, std::vector<float>(batch * model.request_size(), 0.5F));
    for (const Clock::time_point came : taken) took.push_back(Milliseconds(Clock::now() - came).count());
    ++batches;
    lock.lock();
  }
  std::sort(took.begin(), took.end());
  const double slow = took.at(took.size() * 99 / 100);
  std::printf("%zu requests in %zu batches: median %.2f ms, 99 of 100 within %.2f ms, bound %.2f ms: %s\n", took.size(),
              batches, took[took.size() / 2], slow, bound.count(), slow <= bound.count() ? "kept" : "missed");
  return slow <= bound.count() ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "batcher: " << error.what() << '\n';
  return 2;
}
