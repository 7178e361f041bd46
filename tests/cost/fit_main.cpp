// cost_fit [--precision tf32] --prices FILE... MODEL...: fits the constants of the roofline (cost/h200.h) to prices that were
// recorded for kernels of models, by least squares of the logarithm, and prints how far predictions are off before and after. Each
// call counts once.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cost/h200.h"
#include "cost/plan.h"
#include "cost/recorded_prices.h"
#include "ops/error.h"
#include "ops/onnx/cleanup.h"
#include "ops/onnx/import.h"
#include "ops/source.h"

using namespace taso;

namespace {

struct Sample {
  Kernel kernel;
  double measured = 0;  ///< nanoseconds
};

enum Place : std::size_t {
  convolution,
  convolution_first,
  matmul,
  element_wise,
  pooling,
  rows,
  copy,
  weight_bandwidth,
  activation_bandwidth,
  stream_bandwidth,
  step,
  tile_fill,
  channels_first,
  operations,
  direct_operations,
  places
};
using Constants = std::array<double, places>;
constexpr std::array<const char*, places> names{"least_convolution",
                                                "least_convolution_channels_first",
                                                "least_matmul",
                                                "least_element_wise",
                                                "least_pooling",
                                                "least_rows",
                                                "least_copy",
                                                "weight_bandwidth",
                                                "activation_bandwidth",
                                                "stream_bandwidth",
                                                "step of the precision",
                                                "tile_fill",
                                                "channels_first",
                                                "operations",
                                                "direct_operations"};

Constants present(Precision precision) {
  const double of_step = precision == Precision::tf32   ? h200::step_tf32
                         : precision == Precision::fp32 ? h200::step_float32
                                                        : h200::step_half;
  return {h200::least_convolution,
          h200::least_convolution_channels_first,
          h200::least_matmul,
          h200::least_element_wise,
          h200::least_pooling,
          h200::least_rows,
          h200::least_copy,
          h200::weight_bandwidth,
          h200::activation_bandwidth,
          h200::stream_bandwidth,
          of_step,
          h200::tile_fill,
          h200::channels_first,
          h200::operations,
          h200::direct_operations};
}

/// What cost/roofline.cpp computes, with other constants; main() compares the two.
double predicted(const Kernel& kernel, const Constants& c, Precision precision) {
  const bool is_convolution = kernel.kind == Kernel::Kind::convolution;
  const bool gathers = is_convolution && kernel.layout == Layout::channels_first && kernel.columns > 1;
  double least = h200::least_opaque;
  switch (kernel.kind) {
    case Kernel::Kind::convolution: least = gathers ? c[convolution_first] : c[convolution]; break;
    case Kernel::Kind::matmul: least = c[matmul]; break;
    case Kernel::Kind::element_wise: least = c[element_wise]; break;
    case Kernel::Kind::pooling: least = c[pooling]; break;
    case Kernel::Kind::rows: least = c[rows]; break;
    case Kernel::Kind::copy: least = c[copy]; break;
    case Kernel::Kind::opaque: break;
  }
  double product = 0;
  if (kernel.depth > 0) {
    const double tiles =
        kernel.batches * std::ceil(kernel.rows / h200::tile_rows) * std::ceil(kernel.columns / h200::tile_columns);
    product = std::ceil(tiles / h200::multiprocessors) * (kernel.depth + c[tile_fill]) * c[step] *
              (gathers ? c[channels_first] : 1.0);
    const double direct = 2 * kernel.batches * kernel.rows * kernel.columns * kernel.depth / c[direct_operations];
    if (is_convolution && kernel.batches > 1) product = std::min(product, direct);
  }
  const double share = stored(kernel.element, precision) == kernel.element ? 1.0 : 0.5;
  const double weights = kernel.weight_bytes * share, activations = kernel.bytes * share;
  const double moving = std::max(weights / c[weight_bandwidth] + activations / c[activation_bandwidth],
                                 std::min(weights + activations, h200::stream_share) / c[stream_bandwidth]);
  return least + std::max({product, kernel.operations / c[operations], moving});
}

double loss(const std::vector<Sample>& samples, const Constants& constants, Precision precision) {
  double sum = 0;
  for (const Sample& sample : samples) {
    const double error = std::log(predicted(sample.kernel, constants, precision) / sample.measured);
    sum += error * error;
  }
  return sum;
}

/// One constant after the other, up and down by a factor that shrinks when nothing helps any more.
Constants fitted(const std::vector<Sample>& samples, Constants constants, Precision precision) {
  double best = loss(samples, constants, precision);
  for (double factor = 1.5; factor > 1.002; factor = 1 + (factor - 1) * 0.7) {
    for (bool helps = true; helps;) {
      helps = false;
      for (std::size_t i = 0; i < places; ++i) {
        for (const double change : {factor, 1 / factor}) {
          Constants other = constants;
          other[i] *= change;
          const double now = loss(samples, other, precision);
          if (now >= best * (1 - 1e-9)) continue;
          best = now;
          constants = other;
          helps = true;
        }
      }
    }
  }
  return constants;
}

void show(const char* name, const std::vector<Sample>& samples, const Constants& constants, Precision precision) {
  fmt::print("{}: predicted / measured, by kind\n", name);
  for (const auto kind : {Kernel::Kind::convolution, Kernel::Kind::matmul, Kernel::Kind::element_wise,
                          Kernel::Kind::pooling, Kernel::Kind::rows, Kernel::Kind::copy}) {
    std::vector<double> ratios;
    double squares = 0;
    for (const Sample& sample : samples) {
      if (sample.kernel.kind != kind) continue;
      ratios.push_back(predicted(sample.kernel, constants, precision) / sample.measured);
      squares += std::log(ratios.back()) * std::log(ratios.back());
    }
    if (ratios.empty()) continue;
    std::sort(ratios.begin(), ratios.end());
    const auto at = [&](double part) {
      return ratios[static_cast<std::size_t>(part * static_cast<double>(ratios.size() - 1))];
    };
    fmt::print("  {:14} {:5} calls: 5 % {:.2f}, quartiles {:.2f} {:.2f} {:.2f}, 95 % {:.2f}; typically {:.0f} % off\n",
               name_of(kind), ratios.size(), at(0.05), at(0.25), at(0.5), at(0.75), at(0.95),
               100 * (std::exp(std::sqrt(squares / static_cast<double>(ratios.size()))) - 1));
  }
}

void add_samples(const std::string& path, const RecordedPrices& prices, std::set<std::string>& known,
                 std::vector<Sample>& samples) {
  Model model = Model::load(path);
  model.validate();
  GraphEdit edit(model);
  clean_up(edit);
  const Graph graph = import_model(edit.view()).graph;
  for (const Layout layout : {Layout::channels_first, Layout::channels_last}) {
    const WholeGraph view(graph, {}, layout);
    for (const Plan::Step& one : plan(view, prices).steps) {
      const auto measured = prices.measured(view, one.kernel);
      if (!measured || *measured <= 0 || one.kernel.kind == Kernel::Kind::opaque) continue;
      if (!known.insert(text_of(call_of(view, one.kernel, prices.precision()).call)).second) continue;
      samples.push_back({one.kernel, static_cast<double>(*measured) * 1e-3});
    }
  }
}

int run(const std::vector<std::string>& arguments) {
  Precision precision = Precision::tf32;
  auto database = std::make_shared<PriceDatabase>();
  std::vector<std::string> models;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool has_next = i + 1 < arguments.size();
    if (arguments[i] == "--precision" && has_next) {
      precision = precision_named(arguments[++i]).value_or(Precision::tf32);
    } else if (arguments[i] == "--prices" && has_next) {
      const Source source = Source::read(arguments[++i]);
      database->merge(PriceDatabase::parse(source.text(), source.name()));
    } else {
      models.push_back(arguments[i]);
    }
  }
  std::vector<Sample> samples;
  std::set<std::string> known;
  for (const std::string& machine : database->machines()) {
    const RecordedPrices prices(database, machine, precision);
    for (const std::string& model : models) add_samples(model, prices, known, samples);
  }
  if (samples.empty()) throw InputError("no kernel of the models has a recorded price");
  const Constants before = present(precision);
  for (const Sample& sample : samples) {
    const double theirs = static_cast<double>(Roofline(precision).price(sample.kernel)) * 1e-3;
    check(std::abs(predicted(sample.kernel, before, precision) - theirs) < 0.01, "the same formula as the roofline's");
  }
  show("as it is", samples, before, precision);
  const Constants after = fitted(samples, before, precision);
  show("fitted", samples, after, precision);
  for (std::size_t i = 0; i < places; ++i) fmt::print("  {:34} {:10.1f} -> {:10.1f}\n", names[i], before[i], after[i]);
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
