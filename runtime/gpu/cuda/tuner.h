// Measures all ways to do a call and takes the one that costs the least in a network and computes what the others do.
//
// A call is measured as it runs in a network: many times in one CUDA graph, so that launches cost what they cost there; its
// weights from memory, for so many others were read since the last time, and the winner once more with weights that are in the
// cache, for small networks; what it reads and writes else in the cache, where another kernel has just written it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/gpu/accelerator.h"
#include "runtime/gpu/cuda/bench.h"
#include "runtime/gpu/cuda/candidates.h"
#include "runtime/gpu/cuda/libraries/libraries.h"

namespace taso::gpu::cuda {

struct TuningLimits {
  double seconds_to_try = 0.15;   ///< a first look at each way
  std::size_t finalists = 3;      ///< measured carefully
  double slowest_finalist = 1.3;  ///< beside the fastest, at the first look
};

class Tuner {
 public:
  explicit Tuner(Libraries& libraries, TuningLimits limits = {});

  Measurement measure(const cost::Call& call, const Alignments& alignments);
  Measurement measure_choice(const cost::Call& call, const std::string& choice);
  double time_choice(const cost::Call& call, const std::string& choice, const Surroundings& surroundings);
  /// Ways that compute the same, the most promising first, at most so many; not measured.
  std::vector<std::string> ways(const cost::Call& call, std::size_t most);
  /// Every way that was tried, in the order in which it was: first looks, at all of them, however long that takes.
  std::vector<Measurement> measure_all(const cost::Call& call);

 private:
  /// A way that is ready, and what is known about it.
  struct Candidate {
    PreparedCall call;
    double microseconds = 0;  ///< at the first look; 0: there was none
    std::size_t group = 0;    ///< of those that compute the same
    std::string trouble;
  };
  static std::vector<Candidate> candidates_of(Ways& ways);
  /// Ready to be measured.
  Candidate candidate_of(const cost::Call& call, const std::string& choice);
  void set_up(const cost::Call& call, const std::vector<Candidate>& candidates);
  void compare(Candidate& candidate, double allowed, std::size_t& groups);
  static bool tell_wrong_ones(std::vector<Candidate>& candidates);
  void try_out(const cost::Call& call, std::vector<Candidate>& candidates, double seconds);
  Measurement measure_carefully(const Candidate& candidate, const Surroundings& surroundings);
  /// The one that costs the least in a network, with all figures.
  Measurement measure_in_network(const cost::Call& call, const std::vector<const Candidate*>& finalists);

  Libraries& libraries_;
  TuningLimits limits_;
  Bench bench_;
};

}  // namespace taso::gpu::cuda
