// ONNX Runtime on this machine, with its CPU or CUDA provider, run by a Python process (cli/target/measure.py).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/target/measuring_process.h"
#include "ops/core/array.h"

namespace taso::cli {

/// ONNX Runtime refuses a model.
struct RuntimeRefusal {
  std::string reason;
};

class OnnxRuntime {
 public:
  /// Numbers of loaded models.
  enum class Loaded : std::uint32_t {};

  enum class Provider : std::uint8_t { cpu, cuda };

  struct Options {
    std::string python;  ///< a program that can import onnxruntime
    Provider provider = Provider::cpu;
    unsigned threads = 1;     ///< of an operator
    double patience = 300;    ///< seconds that an answer may take beyond the time that was asked for
    std::string script = {};  ///< for tests, instead of cli/target/measure.py
  };
  /// Throws EnvironmentError, also from all other functions; load() does if the provider cannot be used here.
  explicit OnnxRuntime(const Options& options);

  const std::string& processor() const { return processor_; }
  unsigned threads() const { return options_.threads; }
  /// Names everything that prices depend on: "aarch64 Neoverse-V1, ONNX Runtime 1.31.1, CPU provider, threads 2".
  std::string machine() const;
  /// The same without the processor.
  std::string versions() const;

  /// Throws RuntimeRefusal.
  Loaded load(std::string_view model);
  void set_input(Loaded model, const std::string& name, const Array& data);
  void drop(Loaded model);

  /// Runs the models in turn, forwards and backwards, for about this time. Returns the nanoseconds of a run, for each
  /// model by round. Throws RuntimeRefusal.
  std::vector<std::vector<double>> time_in_turn(const std::vector<Loaded>& models, double seconds);

  struct Price {
    double nanoseconds = 0;  ///< of a run, median
    double spread = 0;       ///< half of the interquartile range, relative to the median
    double reordering = 0;   ///< share of the kernels that only convert to ONNX Runtime's own layout and back
    std::string kernels;     ///< the kernels that ran, by its own profile, with their shares in percent
  };
  /// Throws RuntimeRefusal.
  Price price(Loaded model, double seconds);

 private:
  /// What follows "ok". Throws RuntimeRefusal.
  std::string ask(std::initializer_list<std::string_view> parts, double seconds = 0);
  Loaded loaded(const std::string& answer) const;

  Options options_;
  std::unique_ptr<MeasuringProcess> process_;
  std::string version_, processor_;
};

/// The name of a type in numpy; empty if numpy lacks it.
std::string numpy_name(ElementType element);
/// "CPU", "CUDA"
std::string_view name_of(OnnxRuntime::Provider provider);

/// The Python to use: the given one, else the environment's TASO_PYTHON, else python3.
std::string python_of(const std::string& given);

}  // namespace taso::cli
