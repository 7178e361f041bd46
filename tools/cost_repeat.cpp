// cost_repeat [--precision tf32] [--seconds 15] --out FILE MODEL...: measures a fixed selection of the models' calls
// from scratch and writes their prices. cost_repeat --compare FILE FILE...: prints how far such runs, each a process of
// its own, are apart.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>

#include "cost/plan/plan.h"
#include "cost/pricing/price_database.h"
#include "cost/pricing/roofline.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "ops/core/error.h"
#include "ops/core/random.h"
#include "ops/support/atomic_file.h"
#include "ops/text/source.h"
#include "runtime/gpu/accelerator.h"

using namespace taso;

namespace {

void add_calls(const std::string& path, cost::Precision precision, std::set<std::string>& known,
               std::vector<cost::Call>& calls) {
  taso::onnx::Model model = taso::onnx::Model::load(path);
  model.validate();
  taso::onnx::GraphEdit edit(model);
  taso::onnx::clean_up(edit);
  const Graph graph = edit.imported()->graph;
  for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::channels_last}) {
    const cost::WholeGraph view(graph, {}, layout);
    for (const cost::Plan::Step& step : cost::plan(view, cost::Roofline(precision)).steps) {
      if (!cost::can_be_called(view, step.kernel)) continue;
      cost::Call call = cost::call_of(view, step.kernel, precision).call;
      if (known.insert(cost::text_of(call)).second) calls.push_back(std::move(call));
    }
  }
}

void measure(gpu::Accelerator& device, std::vector<cost::Call> calls, double seconds, const std::string& file) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string machine = fmt::format("{}, {}", device.device(), device.versions());
  cost::PriceDatabase prices;
  Random random(1);
  for (std::size_t i = calls.size(); i > 1; --i) std::swap(calls[i - 1], calls[random.below(i)]);
  constexpr std::size_t ahead = 32, each = 16;  // prepared while others are measured
  std::size_t done = 0;
  for (const cost::Call& call : calls) {
    if (done % each == 0) device.expect(std::span(calls).subspan(done, std::min(ahead, calls.size() - done)));
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() > seconds) break;
    const gpu::Measurement found = device.measure(call);
    ++done;
    if (!found.trouble.empty()) continue;
    prices.set(machine, cost::text_of(call), found);
  }
  AtomicFile out(file);
  const std::string text = prices.text();
  out.write(text.data(), text.size());
  out.rename();
  fmt::print("{} of {} calls measured in {:.1f} s\n", done, calls.size(),
             std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

struct Apart {
  double difference = 0;  ///< largest / smallest - 1
  std::string call;
  std::vector<cost::RecordedPrice> prices;
};

void compare(const std::vector<std::string>& files) {
  std::vector<cost::PriceDatabase> runs;
  for (const std::string& file : files) {
    const Source source = Source::read(file);
    runs.push_back(cost::PriceDatabase::parse(source.text(), source.name()));
  }
  std::vector<Apart> all;
  std::size_t same_choice = 0, unsettled = 0;
  for (const std::string& machine : runs.at(0).machines()) {
    for (const std::string& call : runs[0].calls(machine)) {
      Apart one{0, call, {}};
      for (const cost::PriceDatabase& run : runs)
        if (const cost::RecordedPrice* price = run.find(machine, call)) one.prices.push_back(*price);
      if (one.prices.size() < runs.size()) continue;
      const auto [least, most] = std::minmax_element(
          one.prices.begin(), one.prices.end(),
          [](const cost::RecordedPrice& a, const cost::RecordedPrice& b) { return a.nanoseconds < b.nanoseconds; });
      one.difference = most->nanoseconds / std::max(least->nanoseconds, 1e-9) - 1;
      bool same = true, settled = true;
      for (const cost::RecordedPrice& price : one.prices) {
        same = same && price.choice == one.prices[0].choice;
        settled = settled && price.is_settled;
      }
      same_choice += same;
      unsettled += !settled;
      all.push_back(std::move(one));
    }
  }
  if (all.empty()) throw InputError("no call was measured in all of the runs");
  std::sort(all.begin(), all.end(), [](const Apart& a, const Apart& b) { return a.difference < b.difference; });
  const auto at = [&](double part) {
    return 100 * all[static_cast<std::size_t>(part * static_cast<double>(all.size() - 1))].difference;
  };
  fmt::print(
      "{} calls in {} runs; largest from smallest: median {:.2f} %, 75 of 100 within {:.2f} %, 90 {:.2f} %, 95 "
      "{:.2f} %, 99 {:.2f} %, all {:.2f} %\n",
      all.size(), runs.size(), at(0.5), at(0.75), at(0.9), at(0.95), at(0.99), at(1));
  fmt::print("{} of them with the same choice in all runs, {} not settled in some run; the farthest apart:\n",
             same_choice, unsettled);
  for (std::size_t i = 0; i < 8 && i < all.size(); ++i) {
    const Apart& one = all[all.size() - 1 - i];
    fmt::print("  {:.1f} %:", 100 * one.difference);
    for (const cost::RecordedPrice& price : one.prices) fmt::print(" {:.2f}", price.nanoseconds * 1e-3);
    fmt::print(" us  {} | {}\n", one.prices[0].choice, one.call);
  }
}

int run(const std::vector<std::string>& arguments) {
  cost::Precision precision = cost::Precision::tf32;
  double seconds = 15;
  std::string file;
  std::set<std::string> known;
  std::vector<std::string> models;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_next = i + 1 < arguments.size();
    if (arguments[i] == "--compare") {
      compare({arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end()});
      return 0;
    }
    if (arguments[i] == "--precision" && has_next) {
      precision = cost::precision_named(arguments[++i]).value_or(cost::Precision::tf32);
    } else if (arguments[i] == "--seconds" && has_next) {
      seconds = std::stod(arguments[++i]);
    } else if (arguments[i] == "--out" && has_next) {
      file = arguments[++i];
    } else {
      models.push_back(arguments[i]);
    }
  }
  std::string trouble;
  const std::unique_ptr<gpu::Accelerator> device = gpu::open_accelerator(trouble);
  if (!device) {
    fmt::print("no GPU can be used: {}\n", trouble);
    return 0;
  }
  std::vector<cost::Call> calls;
  for (const std::string& model : models) add_calls(model, precision, known, calls);
  measure(*device, std::move(calls), seconds, file);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    fmt::print("{}\n", error.what());
    return 1;
  }
}
