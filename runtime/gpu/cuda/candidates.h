// The variants of a call: a lowering, and an alternative for each of its launches.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/gpu/cuda/libraries/libraries.h"

namespace taso::gpu::cuda {

/// Prepares variants one at a time, most promising first. In a lowering of several launches it varies one launch at a
/// time, and uses the first alternative that works for the others.
class Candidates {
 public:
  Candidates(Libraries& libraries, std::vector<Lowering> lowerings, const Alignments& alignments,
             Libraries::Effort effort = Libraries::Effort::full);

  /// The next variant that works; nothing if there are no more.
  std::optional<PreparedCall> next();
  /// Why variants did not work, in one line.
  const std::string& reason() const { return reason_; }
  /// Whether a kernel of our own does the call, without libraries.
  bool has_own() const { return has_own_; }
  /// Skips libraries from now on.
  void leave_out_libraries() { only_own_ = true; }

 private:
  struct Option {
    Alternative alternative;
    std::shared_ptr<Prepared> prepared;
    bool is_refused = false;
  };
  struct Way {
    Lowering lowering;
    std::vector<std::vector<Option>> options;  ///< by launch
  };
  bool prepare(Option& option);
  std::optional<std::size_t> first_that_works(std::vector<Option>& options);
  std::optional<PreparedCall> made(Way& way, std::size_t launch, std::size_t rank);

  std::vector<Way> ways_;
  std::string reason_;
  bool has_own_ = false, only_own_ = false;
  std::size_t rank_ = 0, way_ = 0, launch_ = 0, most_ = 0;
};

/// The prepared variants, most promising first, and why others failed.
struct Ways {
  std::vector<PreparedCall> calls;
  std::string reason;
};
/// Libraries compile some engines for seconds, so they get at most `seconds`. At least one variant is prepared in any
/// case, and all of our own kernels are. If there are such, libraries get a third of the time, because they are then
/// seldom the fastest.
Ways ways_of(Libraries& libraries, std::vector<Lowering> lowerings, const Alignments& alignments, double seconds = 3);

}  // namespace taso::gpu::cuda
