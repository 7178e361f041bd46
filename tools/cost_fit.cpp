// cost_fit [--write cost/pricing/h200.h] --prices FILE... [--test FILE]... [MODEL...]: fits the constants of the
// roofline to recorded prices, all precisions together, and prints how far predictions are off: for the calls of the
// fit, for those of the files after --test, for each model with its own calls left out of the fit, and for the calls
// that no model has. Each call counts once. --write puts the constants into that file.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cost/plan/plan.h"
#include "cost/pricing/recorded_prices.h"
#include "cost/pricing/residence.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "ops/core/error.h"
#include "ops/text/source.h"
#include "tests/cost/recorded_kernel.h"

using namespace taso;
using namespace taso::test;

namespace {

struct Sample {
  std::string call;
  cost::Kernel kernel;
  cost::Precision precision = cost::Precision::fp32;
  double cold = 0, warm = 0;  ///< nanoseconds; `warm` is 0 without weights, or if it was not measured
};
using Samples = std::vector<Sample>;

struct Constant {
  const char* name;
  double cost::RooflineConstants::*place;
  double least, most;  ///< what hardware allows, or what is still plausible
};

using C = cost::RooflineConstants;
const std::vector<Constant> constants = {
    {"least_convolution", &C::least_convolution, 500, 1e4},
    {"least_channels_first", &C::least_channels_first, 500, 1e4},
    {"least_direct", &C::least_direct, 500, 1e4},
    {"least_matmul", &C::least_matmul, 500, 1e4},
    {"least_element_wise", &C::least_element_wise, 500, 1e4},
    {"least_pooling", &C::least_pooling, 500, 1e4},
    {"least_rows", &C::least_rows, 500, 1e4},
    {"least_copy", &C::least_copy, 500, 1e4},
    {"slab_wait", &C::slab_wait, 10, 2000},
    {"meeting", &C::meeting, 10, 2000},
    {"tile_bandwidth", &C::tile_bandwidth, 10, 300},
    {"result_bandwidth", &C::result_bandwidth, 5, 127},
    {"channels_first", &C::channels_first, 1, 5},
    {"few_channels", &C::few_channels, 1, 5},
    {"unrounded", &C::unrounded, 1, 5},
    {"direct_operations", &C::direct_operations, 1000, 33500},
    {"direct_wait", &C::direct_wait, 1, 300},
    {"weight_wait", &C::weight_wait, 1, 1000},
    {"weight_rate", &C::weight_rate, 1000, 20000},
    {"activation_rate", &C::activation_rate, 2000, 12000},
    {"operations", &C::operations, 2000, 33500},
    {"chain_wait", &C::chain_wait, 1, 100},
};

double error_of(const Sample& sample, const cost::RooflineConstants& candidate, bool is_warm = false) {
  cost::Roofline roofline(sample.precision, candidate);
  roofline.set_warm(is_warm);
  return std::log(static_cast<double>(roofline.price(sample.kernel)) * 1e-3 / (is_warm ? sample.warm : sample.cold));
}

/// Like the sum of absolute errors, which a few unusual calls do not upset, but smooth near 0.
double loss(const Samples& samples, const cost::RooflineConstants& candidate) {
  constexpr double smooth = 0.03;
  double sum = 0;
  const auto add = [&](double error, double weight) { sum += weight * std::sqrt(error * error + smooth * smooth); };
  for (const Sample& sample : samples) {
    add(error_of(sample, candidate), sample.warm > 0 ? 0.5 : 1);
    if (sample.warm > 0) add(error_of(sample, candidate, true), 0.5);
  }
  return sum;
}

/// Moves one constant after the other, and pairs of them, up and down by a factor that shrinks when nothing helps any
/// more. It starts in the middle of the plausible range, so that the result does not depend on the present numbers.
cost::RooflineConstants fitted(const Samples& samples) {
  cost::RooflineConstants now;
  for (const Constant& one : constants) now.*one.place = std::sqrt(one.least * one.most);
  double best = loss(samples, now);
  const auto moved = [](cost::RooflineConstants from, const Constant& constant, double factor) {
    double& value = from.*constant.place;
    value = std::clamp(value * factor, constant.least, constant.most);
    return from;
  };
  const auto accept = [&](const cost::RooflineConstants& other) {
    const double there = loss(samples, other);
    if (there >= best * (1 - 1e-6)) return false;
    best = there;
    now = other;
    return true;
  };
  for (double factor = 1.4; factor > 1.004; factor = 1 + (factor - 1) * 0.6) {
    for (bool helps = true; helps;) {
      helps = false;
      for (const Constant& one : constants)
        for (const double change : {factor, 1 / factor}) helps |= accept(moved(now, one, change));
      if (helps) continue;
      for (const Constant& one : constants)
        for (const Constant& two : constants)
          if (&one != &two)
            for (const double change : {factor, 1 / factor})
              helps |= accept(moved(moved(now, one, change), two, 1 / change));
    }
  }
  return now;
}

// --- output ---

double at(const std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1) + 0.5)];
}

void show_line(std::string_view name, std::vector<double> errors) {
  if (errors.empty()) return;
  std::sort(errors.begin(), errors.end());
  const double bias = at(errors, 0.5);
  for (double& error : errors) error = std::abs(error);
  std::sort(errors.begin(), errors.end());
  fmt::print("  {:30} {:4} calls: median {:5.1f} %, 90 of 100 within {:5.1f} %, typically {:+.1f} %\n", name,
             errors.size(), 100 * at(errors, 0.5), 100 * at(errors, 0.9), 100 * bias);
}

void show(const char* name, const Samples& samples, const cost::RooflineConstants& candidate) {
  fmt::print("{}: |log(predicted / measured)|\n", name);
  std::map<cost::Kernel::Kind, std::vector<double>> errors;
  std::map<std::string, std::vector<double>> products;
  std::vector<double> all;
  for (const Sample& sample : samples) {
    all.push_back(error_of(sample, candidate));
    errors[sample.kernel.kind].push_back(all.back());
    if (sample.kernel.depth > 0)
      products[fmt::format("products of {} in {}", name_of(sample.kernel.element), cost::name_of(sample.precision))]
          .push_back(all.back());
  }
  for (auto& [kind, list] : errors) show_line(cost::name_of(kind), std::move(list));
  for (auto& [what, list] : products) show_line(what, std::move(list));
  show_line("all", std::move(all));
}

// --- samples ---

Samples samples_of(const cost::PriceDatabase& database) {
  Samples samples;
  for (const std::string& machine : database.machines())
    for (const std::string& call : database.calls(machine)) {
      const cost::RecordedPrice& price = *database.find(machine, call);
      if (price.nanoseconds <= 0) continue;
      const auto nanoseconds = [&](bool is_warm) { return static_cast<double>(cost::cost_of(price, is_warm)) * 1e-3; };
      Sample sample{call, kernel_of_call(call), cost::Precision::fp32, nanoseconds(false),
                    price.warm_nanoseconds > 0 ? nanoseconds(true) : 0};
      const std::size_t begin = call.find(' ') + 1;
      sample.precision =
          cost::precision_named(call.substr(begin, call.find(':') - begin)).value_or(cost::Precision::fp32);
      if (sample.kernel.weight_bytes == 0) sample.warm = 0;
      samples.push_back(std::move(sample));
    }
  return samples;
}

struct Network {
  std::string name;
  std::set<std::string> calls;              ///< of all its plans
  std::map<std::string, std::size_t> best;  ///< calls of the best plan, and how many times each
  bool is_warm = false, is_known = true;    ///< whether all calls of the best plan have a price
};

Network network_of(const std::string& path, const std::shared_ptr<cost::PriceDatabase>& database,
                   cost::Precision precision) {
  taso::onnx::Model model = taso::onnx::Model::load(path);
  model.validate();
  taso::onnx::GraphEdit edit(model);
  taso::onnx::clean_up(edit);
  const Graph graph = edit.imported()->graph;
  Network network;
  const std::size_t begin = path.rfind('/') + 1;
  network.name = path.substr(begin, path.rfind('.') - begin);
  network.is_warm = cost::stay_in_cache(cost::weight_bytes_of(graph, {}, precision));
  cost::RecordedPrices prices(database, database->machines().at(0), precision);
  prices.set_warm(network.is_warm);
  cost::Cost least = 0;
  for (const cost::Layout layout : {cost::Layout::channels_last, cost::Layout::channels_first}) {
    const cost::WholeGraph view(graph, {}, layout);
    const cost::Plan laid = cost::plan(view, prices);
    std::map<std::string, std::size_t> calls;
    bool is_known = true;
    for (const cost::Plan::Step& step : laid.steps) {
      is_known = is_known && prices.measured(view, step.kernel);
      if (prices.measured(view, step.kernel)) ++calls[cost::text_of(cost::call_of(view, step.kernel, precision).call)];
    }
    for (const auto& [call, count] : calls) network.calls.insert(call);
    if (least > 0 && laid.cost >= least) continue;
    least = laid.cost;
    network.best = std::move(calls);
    network.is_known = is_known;
  }
  return network;
}

void show_network(const Network& network, const Samples& samples, const cost::RooflineConstants& after,
                  const cost::RooflineConstants& without) {
  double measured = 0, fitted_sum = 0, unseen_sum = 0;
  std::vector<double> errors;
  for (const Sample& sample : samples) {
    if (network.calls.count(sample.call) > 0) errors.push_back(error_of(sample, without));
    const auto found = network.best.find(sample.call);
    if (found == network.best.end()) continue;
    const bool is_warm = network.is_warm && sample.warm > 0;
    const double time = static_cast<double>(found->second) * (is_warm ? sample.warm : sample.cold);
    measured += time;
    fitted_sum += time * std::exp(error_of(sample, after, is_warm));
    unseen_sum += time * std::exp(error_of(sample, without, is_warm));
  }
  show_line(network.name, std::move(errors));
  fmt::print("  {:24}   plan{}: recorded {:.1f} us, predicted {:.1f} ({:+.1f} %), left out {:.1f} ({:+.1f} %)\n", "",
             network.is_known ? "" : " (measured part)", measured * 1e-3, fitted_sum * 1e-3,
             100 * (fitted_sum / measured - 1), unseen_sum * 1e-3, 100 * (unseen_sum / measured - 1));
}

void leave_out(const std::vector<Network>& networks, const Samples& samples, const cost::RooflineConstants& after) {
  Samples known, variants;
  for (const Sample& sample : samples) {
    const bool is_known = std::any_of(networks.begin(), networks.end(),
                                      [&](const Network& network) { return network.calls.count(sample.call) > 0; });
    (is_known ? known : variants).push_back(sample);
  }
  fmt::print("Each model left out of the fit, and the calls in no plan of these models:\n");
  for (const Network& network : networks) {
    Samples others;
    std::copy_if(known.begin(), known.end(), std::back_inserter(others),
                 [&](const Sample& sample) { return network.calls.count(sample.call) == 0; });
    if (others.size() == known.size() || others.empty()) continue;
    show_network(network, samples, after, fitted(others));
  }
  std::vector<double> errors;
  if (!known.empty() && !variants.empty()) {
    const cost::RooflineConstants without = fitted(known);
    for (const Sample& sample : variants) errors.push_back(error_of(sample, without));
  }
  show_line("in no plan of these models", std::move(errors));
}

// --- writing ---

std::string rounded(double value) {
  return value < 10    ? fmt::format("{:.2f}", value)
         : value < 100 ? fmt::format("{:.1f}", value)
                       : fmt::format("{:.0f}", value);
}

/// Replaces the value after each name, and the line that says where the values come from.
void write(const std::string& path, const cost::RooflineConstants& values, const std::string& origin) {
  std::string text(Source::read(path).text());
  const auto replace = [&](const std::string& begin, char end, const std::string& by) {
    const std::size_t from = text.find(begin);
    if (from == std::string::npos) throw InputError(fmt::format("{}: no line with \"{}\"", path, begin));
    const std::size_t first = from + begin.size();
    text.replace(first, text.find(end, first) - first, by);
  };
  for (const Constant& constant : constants)
    replace(fmt::format("double {} = ", constant.name), ';', rounded(values.*constant.place));
  replace("// Fitted on ", '\n', origin);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  if (!out.flush()) throw EnvironmentError(fmt::format("{} cannot be written", path));
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16] = {};
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

int run(const std::vector<std::string>& arguments) {
  auto database = std::make_shared<cost::PriceDatabase>();
  std::vector<std::string> models, tests;
  std::string written, files;
  const auto merge = [](cost::PriceDatabase& into, const std::string& path) {
    const Source source = Source::read(path);
    into.merge(cost::PriceDatabase::parse(source.text(), source.name()));
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_next = i + 1 < arguments.size();
    if (arguments[i] == "--prices" && has_next) {
      merge(*database, arguments[++i]);
      files += " " + arguments[i].substr(arguments[i].rfind('/') + 1);
    } else if (arguments[i] == "--test" && has_next) {
      tests.push_back(arguments[++i]);
    } else if (arguments[i] == "--write" && has_next) {
      written = arguments[++i];
    } else {
      models.push_back(arguments[i]);
    }
  }
  const Samples samples = samples_of(*database);
  if (samples.empty()) throw InputError("no prices to fit to: cost_fit --prices FILE");
  const cost::RooflineConstants before;
  show("as it is", samples, before);
  const cost::RooflineConstants after = fitted(samples);
  show("fitted", samples, after);
  for (const Constant& constant : constants)
    fmt::print("  {:24} {:>8} -> {:>8}\n", constant.name, rounded(before.*constant.place),
               rounded(after.*constant.place));
  for (const std::string& path : tests) {
    cost::PriceDatabase other;
    merge(other, path);
    show(fmt::format("{}, not fitted to", path).c_str(), samples_of(other), after);
  }
  std::vector<Network> networks;
  for (const std::string& model : models) networks.push_back(network_of(model, database, cost::Precision::tf32));
  if (!networks.empty()) leave_out(networks, samples, after);
  if (!written.empty()) write(written, after, fmt::format("{}, to {} calls of{}.", today(), samples.size(), files));
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
