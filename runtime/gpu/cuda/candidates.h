// The ways to do a call: which lowering, and which alternative for each of its launches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/gpu/cuda/libraries/libraries.h"

namespace taso::gpu::cuda {

/// Prepares one way after the other, the most promising first, until it is told to stop. In a lowering of several launches
/// one of them is varied at a time, with the first that works for the others.
class Candidates {
 public:
  Candidates(Libraries& libraries, std::vector<Lowering> lowerings, const Alignments& alignments);

  /// The next one that works; nothing when there are no more.
  std::optional<PreparedCall> next();
  /// Why ways did not work, in one line.
  const std::string& reason() const { return reason_; }
  /// Whether a kernel of ours does the call, without libraries.
  bool has_own() const { return has_own_; }
  /// From now on nothing but kernels of ours.
  void leave_out_libraries() { only_own_ = true; }

 private:
  struct Option {
    Alternative alternative;
    std::shared_ptr<Prepared> prepared;
    bool is_refused = false;
  };
  struct Way {
    Lowering lowering;
    std::vector<std::vector<Option>> options;  ///< of each launch
  };
  bool prepare(Option& option);
  std::optional<std::size_t> first_that_works(std::vector<Option>& options);
  std::optional<PreparedCall> made(Way& way, std::size_t launch, std::size_t rank);

  std::vector<Way> ways_;
  std::string reason_;
  bool has_own_ = false, only_own_ = false;
  std::size_t rank_ = 0, way_ = 0, launch_ = 0, most_ = 0;
};

/// Ways that are ready, the most promising first, and why others are not.
struct Ways {
  std::vector<PreparedCall> calls;
  std::string reason;
};
/// Libraries, which compile some engines for seconds, may take so long; one is made ready in any case, and kernels of ours are,
/// beside which libraries get a third of the time: there they are seldom the fastest.
Ways ways_of(Libraries& libraries, std::vector<Lowering> lowerings, const Alignments& alignments, double seconds = 3);

}  // namespace taso::gpu::cuda
