// Ways to do calls, made ready on other threads while the GPU measures the calls before them: libraries compile for up to
// seconds, and one thread of them keeps a GPU waiting most of the time.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "cost/cuda/candidates.h"
#include "cost/cuda/libraries.h"
#include "cost/cuda/work_ahead.h"

namespace taso::cuda {

class Preparations {
  struct GiveBack {
    Preparations* to;
    bool was_taken = false;
    void operator()(Libraries* libraries) const { to->give_back(std::unique_ptr<Libraries>(libraries), was_taken); }
  };

 public:
  /// Of the libraries, whose handles serve one thread at a time, until this goes.
  struct Ready {
    Call call;
    std::unique_ptr<Libraries, GiveBack> libraries;  ///< null: those of the thread that takes
    Ways ways;                                       // behind them: goes before they are given back
  };

  explicit Preparations(Libraries& libraries);
  ~Preparations();

  /// Begins with calls that will be taken, in this order; what was expected before and is not among them is given up.
  void expect(std::span<const Call> calls);
  /// As the call is aligned usually; made ready here and now if nobody has begun with it.
  std::unique_ptr<Ready> take(const Call& call);
  /// Gives up what is expected, and waits until nobody works any more.
  void rest();

 private:
  struct Wanted {
    Call call;
    std::vector<Lowering> lowerings;
  };
  std::unique_ptr<Ready> make(const Wanted& wanted, const std::stop_token& given_up);
  void make_handles();
  std::unique_ptr<Libraries> borrow();
  void give_back(std::unique_ptr<Libraries> libraries, bool was_taken);

  Libraries& libraries_;  ///< of the thread that takes
  std::mutex mutex_;
  std::vector<std::unique_ptr<Libraries>> free_;
  std::size_t handles_ = 0;         ///< all that were made, whether free or not
  WorkAhead<Wanted, Ready> ahead_;  // last: what it holds gives back libraries
};

}  // namespace taso::cuda
