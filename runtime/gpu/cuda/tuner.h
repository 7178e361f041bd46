// Measures all variants of a call, and takes the one that costs the least in a network among those that agree with the
// majority.
//
// A call is measured as it runs in a network: many times in one CUDA graph, so that launches cost the same as there.
// Its weights come from memory, because a network reads many others in between; the winner is measured once more with
// weights in the cache, for small networks. Its other operands are in the cache, where another kernel has just written
// them.
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
  double seconds_to_try = 0.15;   ///< for a first, brief measurement of each variant
  std::size_t finalists = 3;      ///< variants measured carefully
  double slowest_finalist = 1.3;  ///< relative to the fastest in the brief measurement
};

class Tuner {
 public:
  explicit Tuner(Libraries& libraries, TuningLimits limits = {});

  Measurement measure(const cost::Call& call, const Alignments& alignments);
  Measurement measure_choice(const cost::Call& call, const std::string& choice);
  double time_choice(const cost::Call& call, const std::string& choice, const Surroundings& surroundings);
  /// At most `most` variants that agree with one another, most promising first; not measured.
  std::vector<std::string> ways(const cost::Call& call, std::size_t most);
  /// For each call the fastest, in a brief measurement, of a few promising variants; "" if none of them works.
  std::vector<std::string> brief_choices(std::span<const cost::Call> calls);
  /// A brief measurement of every variant, in the order of trying, however long that takes.
  std::vector<Measurement> measure_all(const cost::Call& call);

 private:
  /// A prepared variant, and what is known about it.
  struct Candidate {
    PreparedCall call;
    double microseconds = 0;  ///< in the brief measurement; 0: not measured
    std::size_t group = 0;    ///< of variants that agree with one another
    std::string trouble;
  };
  static std::vector<Candidate> candidates_of(Ways& ways);
  /// Prepares one choice for measuring.
  Candidate candidate_of(const cost::Call& call, const std::string& choice);
  void set_up(const cost::Call& call, const std::vector<Candidate>& candidates);
  void compare(Candidate& candidate, double allowed, std::size_t& groups);
  static bool tell_wrong_ones(std::vector<Candidate>& candidates);
  void try_out(const cost::Call& call, std::vector<Candidate>& candidates, double seconds);
  Measurement measure_carefully(const Candidate& candidate, const Surroundings& surroundings);
  /// The finalist that costs the least in a network, with all figures.
  Measurement measure_in_network(const cost::Call& call, const std::vector<const Candidate*>& finalists);

  Libraries& libraries_;
  TuningLimits limits_;
  Bench bench_;
};

}  // namespace taso::gpu::cuda
