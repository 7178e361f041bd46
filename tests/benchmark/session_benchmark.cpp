// What a session adds to the time of a plan: benchmark_session [--precision tf32] [--runs 200] MODEL…
// Prints, in microseconds: runs that are queued on one stream, with inputs and outputs on the device; a single run and
// the wait for it; the same with inputs and outputs on the host. taso-bench prints the time of the plan itself.
#include <taso/session.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "tests/api/device_memory.h"

namespace {

using namespace taso;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

std::vector<std::int64_t> sizes_of(const taso_value& value) {
  std::vector<std::int64_t> sizes(value.shape, value.shape + std::max(value.rank, 0));
  for (std::int64_t& size : sizes) size = std::max<std::int64_t>(size, 1);
  return sizes;
}

std::size_t bytes_of(const taso_value& value) {
  std::size_t bytes = value.type == TASO_INT64 || value.type == TASO_FLOAT64 ? 8 : 4;
  for (const std::int64_t size : sizes_of(value)) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

template <class Work>
double median_of(std::size_t runs, const Work& work) {
  std::vector<double> times;
  for (std::size_t i = 0; i < runs; ++i) {
    const auto start = Clock::now();
    work();
    times.push_back(microseconds_since(start));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void measure(const std::string& path, const std::string& precision, std::size_t runs) {
  const auto start = Clock::now();
  Session session(path, {{"device", "cuda"}, {"precision", precision}});
  const double load = microseconds_since(start) * 1e-6;
  const test::DeviceStream stream;
  std::vector<test::DeviceBytes> memory;
  std::vector<std::vector<char>> on_host;
  std::vector<taso_tensor> inputs, outputs, host_inputs, host_outputs;
  const auto add = [&](const taso_value& value, std::vector<taso_tensor>& device, std::vector<taso_tensor>& host) {
    const auto type = static_cast<taso_type>(value.type);
    on_host.emplace_back(bytes_of(value));
    float* const numbers = reinterpret_cast<float*>(on_host.back().data());
    if (type == TASO_FLOAT32)  // never zeros
      for (std::size_t i = 0; i < on_host.back().size() / 4; ++i) numbers[i] = static_cast<float>(i % 251) / 251 - 0.5F;
    memory.emplace_back(bytes_of(value));
    memory.back().fill(on_host.back().data());
    device.push_back(TensorView::on_device(memory.back().data(), memory.back().size(), type, sizes_of(value)));
    host.push_back(TensorView(on_host.back().data(), on_host.back().size(), type, TASO_HOST, sizes_of(value)));
  };
  for (const taso_value& value : session.inputs()) add(value, inputs, host_inputs);
  for (const taso_value& value : session.outputs()) add(value, outputs, host_outputs);
  const auto run = [&] { session.run(inputs, outputs, stream.get()); };
  for (int i = 0; i < 5; ++i) run();
  stream.wait();
  const double queued = median_of(9,
                                  [&] {
                                    for (std::size_t i = 0; i < runs; ++i) run();
                                    stream.wait();
                                  }) /
                        static_cast<double>(runs);
  const double enqueue = median_of(runs, run);
  stream.wait();
  const double single = median_of(runs, [&] {
    run();
    stream.wait();
  });
  const double from_host = median_of(runs, [&] { session.run(host_inputs, host_outputs, stream.get()); });
  fmt::print("{:<40} {:>8.2f} {:>8.1f} {:>8.1f} {:>8.1f} {:>8.1f}\n", path.substr(path.rfind('/') + 1), load, queued,
             enqueue, single, from_host);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::string precision = "tf32";
  std::size_t runs = 200;
  std::vector<std::string> models;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--precision") == 0 && i + 1 < argc)
      precision = argv[++i];
    else if (std::strcmp(argv[i], "--runs") == 0 && i + 1 < argc)
      runs = std::max<std::size_t>(1, std::strtoull(argv[++i], nullptr, 10));
    else
      models.emplace_back(argv[i]);
  }
  if (taso_device_count() == 0) {
    fmt::print("SKIPPED: {}\n", taso_device_text());
    return 0;
  }
  fmt::print("{:<40} {:>8} {:>8} {:>8} {:>8} {:>8}\n", "model", "load, s", "queued", "enqueue", "single", "host");
  for (const std::string& model : models) {
    try {
      measure(model, precision, runs);
    } catch (const std::exception& error) {
      fmt::print("{}: {}\n", model, error.what());
    }
  }
}
