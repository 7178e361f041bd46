// A fake GPU, for tests of what is measured and how it is used.
#pragma once

#include <string>
#include <vector>

#include "ops/core/error.h"
#include "runtime/gpu/accelerator.h"

namespace taso::test {

/// Every call takes the same time, by default a microsecond.
class NoGpu : public gpu::Accelerator {
 public:
  explicit NoGpu(std::vector<std::string>& measured, double nanoseconds = 1000)
      : measured_(measured), nanoseconds_(nanoseconds) {}
  /// After `others` calls, each further call takes `factor` times as long.
  void make_later_ones_dear(std::size_t others, double factor) {
    others_ = others;
    factor_ = factor;
  }
  std::string device() const override { return "None"; }
  std::string versions() const override { return "driver 0"; }
  gpu::Measurement measure(const cost::Call& call) override {
    measured_.push_back(cost::text_of(call));
    const double taken = nanoseconds_ * (measured_.size() > others_ ? factor_ : 1);
    gpu::Measurement found;
    found.nanoseconds = taken;
    found.warm_nanoseconds = 0.7 * taken;
    found.again_nanoseconds = 0.8 * taken;
    found.stranger_nanoseconds = 1.2 * taken;
    found.choice = "guess";
    return found;
  }
  gpu::Measurement measure_choice(const cost::Call& call, const std::string& choice) override {
    if (choice == "forgotten") throw EnvironmentError("no such way");
    gpu::Measurement found = measure(call);
    found.choice = choice;
    return found;
  }
  double time_choice(const cost::Call&, const std::string&, const gpu::Surroundings&) override { return nanoseconds_; }
  std::vector<std::string> ways(const cost::Call&, std::size_t) override { return {"guess"}; }
  std::unique_ptr<gpu::DeviceProgram> load(gpu::DeviceSteps) override { throw EnvironmentError("there is none"); }
  gpu::DeviceState state() const override { return {}; }

 private:
  std::vector<std::string>& measured_;
  double nanoseconds_;
  std::size_t others_ = 0;
  double factor_ = 1;
};

}  // namespace taso::test
