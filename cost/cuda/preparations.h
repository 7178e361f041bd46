// Ways to do calls, made ready on other threads while the GPU measures those before them: libraries may compile for seconds.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "cost/cuda/candidates.h"
#include "cost/cuda/libraries.h"

namespace taso::cuda {

class Preparations {
 public:
  struct Ready {
    std::shared_ptr<Libraries> libraries;  ///< whose handles the ways use: of no other thread, as long as this lives
    Ways ways;
  };

  explicit Preparations(Libraries& libraries);
  ~Preparations();

  /// Begins with calls that will be taken, in this order; what was expected before and is not among them is given up.
  void expect(std::span<const Call> calls);
  /// As the call is aligned usually; made ready here and now if nobody has begun with it.
  Ready take(const Call& call);

 private:
  struct Job {
    enum class State : std::uint8_t { waiting, begun, done };
    Call call;
    State state = State::waiting;
    bool is_given_up = false;
    Ready ready;
  };
  void work_on(const std::stop_token& stop);
  std::shared_ptr<Libraries> free_libraries();  ///< with the lock held
  bool can_begin() const;

  Libraries& libraries_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<std::string, std::shared_ptr<Job>> jobs_;  ///< by the text of the call
  std::deque<std::shared_ptr<Job>> waiting_;
  std::size_t begun_ = 0;  ///< and not taken
  std::vector<std::shared_ptr<Libraries>> all_libraries_;
  std::vector<std::jthread> threads_;  // last: they end before what they use goes
};

}  // namespace taso::cuda
