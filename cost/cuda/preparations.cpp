#include "cost/cuda/preparations.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "ops/error.h"

namespace taso::cuda {

namespace {

/// What is ready and not taken yet holds memory and a handle of cuDNN.
constexpr std::size_t most_ahead = 12;

/// None, unless $TASO_PREPARATION_THREADS says otherwise: libraries that work beside one another get through fewer of their ways
/// in the time that they have, and the best may be among the others (see cost/README.md).
std::size_t number_of_threads() {
  if (const char* const named = std::getenv("TASO_PREPARATION_THREADS"); named != nullptr && *named != '\0') {
    const std::string_view text = named;
    std::size_t threads = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (error != std::errc() || end != text.data() + text.size() || threads > most_ahead)
      throw EnvironmentError("TASO_PREPARATION_THREADS is no number up to " + std::to_string(most_ahead));
    return threads;
  }
  return 0;
}

}  // namespace

Preparations::Preparations(Libraries& libraries)
    : libraries_(libraries),
      ahead_(number_of_threads(), most_ahead,
             [this](const Wanted& wanted, const std::stop_token& given_up) { return make(wanted, given_up); }) {}

Preparations::~Preparations() { rest(); }

void Preparations::expect(std::span<const Call> calls) {
  std::vector<std::string> names;
  for (const Call& call : calls) names.push_back(text_of(call));
  // Kernels of all of them are compiled from now on, beside one another.
  const auto wanted = [&](std::size_t i) {
    Wanted one{calls[i], lowerings(calls[i])};
    libraries_.expect(one.lowerings);
    return one;
  };
  if (ahead_.is_used()) return ahead_.expect(names, wanted);
  for (std::size_t i = 0; i < calls.size(); ++i) wanted(i);
}

std::unique_ptr<Preparations::Ready> Preparations::take(const Call& call) {
  make_handles();
  // What has the same text need not have its operands in the same places.
  if (std::unique_ptr<Ready> ready = ahead_.take(text_of(call)); ready && ready->call == call) {
    ready->libraries.get_deleter().was_taken = true;
    return ready;
  }
  return std::make_unique<Ready>(Ready{call, {nullptr, {this, false}}, ways_of(libraries_, lowerings(call), {}, {})});
}

void Preparations::rest() {
  ahead_.give_up();
  libraries_.expect_nothing();  // those who wait for a compiler need not
  ahead_.wait();
}

std::unique_ptr<Preparations::Ready> Preparations::make(const Wanted& wanted, const std::stop_token& given_up) {
  // Threads wait for one another in libraries and for processors, which says nothing about a way.
  constexpr double patience_with_others = 4;
  auto ready = std::make_unique<Ready>(Ready{wanted.call, {borrow().release(), {this, false}}, {}});
  ready->libraries->use_device();
  ready->ways =
      ways_of(*ready->libraries, wanted.lowerings, {}, Patience{Patience().seconds, patience_with_others}, given_up);
  return ready;
}

/// Here, where nothing is captured or timed, and not where they are needed first: others wait for that.
void Preparations::make_handles() {
  if (!ahead_.is_used() || ahead_.expected() < 2) return;
  const std::size_t needed = std::min(ahead_.expected() - 1, most_ahead + 1);
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (handles_ >= needed) return;
      ++handles_;
    }
    std::unique_ptr<Libraries> one = libraries_.another();
    try {
      one->make_handles();
    } catch (const EnvironmentError&) {  // it will be said of calls that need them
    }
    give_back(std::move(one), false);
  }
}

std::unique_ptr<Libraries> Preparations::borrow() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    ++handles_;
    return libraries_.another();
  }
  std::unique_ptr<Libraries> one = std::move(free_.back());
  free_.pop_back();
  return one;
}

void Preparations::give_back(std::unique_ptr<Libraries> libraries, bool was_taken) {
  if (was_taken) libraries->forget_stream();
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(libraries));
}

}  // namespace taso::cuda
