// cost_measure [--precision tf32] [--rows N] [--calls[=KIND]] [--network NAME]... [MODEL]...: runs typical calls on the
// GPU in every available way, and models: prints predicted and measured time, step by step, and whether results are
// correct.

#include <fmt/format.h>

#include "cost/pricing/roofline.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/import/import.h"
#include "ops/text/graph_text.h"
#include "runtime/gpu/execution.h"
#include "runtime/host/interpreter.h"
#include "tests/ops/random_graph.h"

using namespace taso;
using namespace taso::test;

namespace {

struct Settings {
  cost::Precision precision = cost::Precision::tf32;
  std::size_t rows = 12;
  bool is_checked = true;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

std::string convolution(int batch, int channels, int size, int outputs, int kernel, int stride, int groups,
                        bool with_residual = false, const std::string& activation = "relu") {
  std::string text = fmt::format("graph\n  input x: float32[{}, {}, {}, {}]\n", batch, channels, size, size);
  const int places = (size - 1) / stride + 1;
  if (with_residual) text += fmt::format("  input r: float32[{}, {}, {}, {}]\n", batch, outputs, places, places);
  text += fmt::format("  constant w: float32[{}, {}, {}, {}]\n  constant b: float32[{}]\n", outputs, channels / groups,
                      kernel, kernel, outputs);
  text +=
      fmt::format("  c = conv[strides=[{0}, {0}], dilations=[1, 1], pads=[{1}, {1}, {1}, {1}], groups={2}](x, w, b)\n",
                  stride, kernel / 2, groups);
  std::string last = "c";
  if (with_residual) {
    text += "  a = add(c, r)\n";
    last = "a";
  }
  if (!activation.empty()) {
    text += fmt::format("  y = {}({})\n", activation, last);
    last = "y";
  }
  return text + fmt::format("  output {}\n", last);
}

std::string product(int rows, int depth, int columns, const std::string& after) {
  std::string text =
      fmt::format("graph\n  input x: float32[{}, {}]\n  constant w: float32[{}, {}]\n  constant b: float32[{}]\n", rows,
                  depth, depth, columns, columns);
  if (after == "residual") text += fmt::format("  input r: float32[{}, {}]\n", rows, columns);
  text += "  m = matmul(x, w)\n  c = add(m, b)\n";
  if (after == "residual") return text + "  y = add(c, r)\n  output y\n";
  if (!after.empty()) return text + fmt::format("  y = {}(c)\n  output y\n", after);
  return text + "  output c\n";
}

std::string attention(int batch, int heads, int tokens, int width) {
  std::string text = "graph\n";
  for (const char* const name : {"q", "k", "v"})
    text += fmt::format("  input {}: float32[{}, {}, {}, {}]\n", name, batch, tokens, heads, width);
  return text + R"(  a = transpose[permutation=[0, 2, 1, 3]](q)
  b = transpose[permutation=[0, 2, 3, 1]](k)
  c = transpose[permutation=[0, 2, 1, 3]](v)
  s = matmul(a, b)
  p = softmax[axis=3](s)
  m = matmul(p, c)
  y = transpose[permutation=[0, 2, 1, 3]](m)
  output y
)";
}

struct Example {
  std::string name, text;
};
std::vector<Example> examples() {
  return {
      {"conv 64, 56x56, 64, 1x1", convolution(1, 64, 56, 64, 1, 1, 1)},
      {"conv 192, 35x35, 64, 1x1", convolution(1, 192, 35, 64, 1, 1, 1)},
      {"conv 768, 17x17, 192, 1x1", convolution(1, 768, 17, 192, 1, 1, 1)},
      {"conv 64, 56x56, 64, 3x3", convolution(1, 64, 56, 64, 3, 1, 1)},
      {"conv 256, 14x14, 256, 3x3", convolution(1, 256, 14, 256, 3, 1, 1)},
      {"conv 64, 56x56, 256, 1x1, residual", convolution(1, 64, 56, 256, 1, 1, 1, true)},
      {"conv 3, 224x224, 64, 7x7 / 2", convolution(1, 3, 224, 64, 7, 2, 1)},
      {"conv 128, 56x56, 128, 3x3, 32 groups", convolution(1, 128, 56, 128, 3, 1, 32)},
      {"conv 96, 56x56, depthwise 3x3", convolution(1, 96, 56, 96, 3, 1, 96)},
      {"conv 384, 14x14, depthwise 3x3", convolution(1, 384, 14, 384, 3, 1, 384)},
      {"conv 16 of 64, 56x56, 64, 3x3", convolution(16, 64, 56, 64, 3, 1, 1)},
      {"conv 64, 56x56, 64, 3x3, nothing after", convolution(1, 64, 56, 64, 3, 1, 1, false, "")},
      {"matmul 128x768x768", product(128, 768, 768, "")},
      {"matmul 128x768x768, residual", product(128, 768, 768, "residual")},
      {"matmul 128x768x3072, gelu", product(128, 768, 3072, "gelu[tanh=false]")},
      {"matmul 128x768x3072, gelu by tanh", product(128, 768, 3072, "gelu[tanh=true]")},
      {"matmul 128x3072x768", product(128, 3072, 768, "")},
      {"attention 12 of 128x64", attention(1, 12, 128, 64)},
      {"attention 12 of 197x64", attention(1, 12, 197, 64)},
      {"attention 6 of 1500x64", attention(1, 6, 1500, 64)},
      {"attention 16 of 12 of 128x64", attention(16, 12, 128, 64)},
      {"attention 16 of 12 of 197x64", attention(16, 12, 197, 64)},
  };
}

void show_call(gpu::Accelerator& device, const std::string& name, const cost::Call& call, const Settings& settings) {
  fmt::print("\n== {}\n   {}\n", name, cost::text_of(call));
  auto begin = std::chrono::steady_clock::now();
  std::vector<gpu::Measurement> all = device.measure_all(call);
  const double all_seconds = seconds_since(begin);
  std::map<std::string, std::size_t> troubles;
  std::erase_if(all, [&](const gpu::Measurement& one) {
    if (!one.trouble.empty()) ++troubles[one.trouble + (one.choice.ends_with(" own") ? ": " + one.choice : "")];
    return !one.trouble.empty();
  });
  std::sort(all.begin(), all.end(),
            [](const gpu::Measurement& a, const gpu::Measurement& b) { return a.nanoseconds < b.nanoseconds; });
  for (std::size_t i = 0; i < all.size() && i < settings.rows; ++i)
    fmt::print("   {:9.2f} us  {}\n", all[i].nanoseconds * 1e-3, all[i].choice);
  if (all.size() > settings.rows) fmt::print("   and {} more ways\n", all.size() - settings.rows);
  for (const auto& [trouble, count] : troubles) fmt::print("   {} times: {}\n", count, trouble);
  fmt::print("   all ways: {:.2f} s\n", all_seconds);
  for (int round = 0; round < 3; ++round) {
    begin = std::chrono::steady_clock::now();
    const gpu::Measurement best = device.measure(call);
    fmt::print("   -> {:9.2f} us, spread {:.1f} %, {}, {:.2f} s  {}{}\n", best.nanoseconds * 1e-3, best.spread * 100,
               best.is_settled ? "settled" : "NOT SETTLED", seconds_since(begin), best.choice, best.trouble);
  }
  std::fflush(stdout);
}

void show_calls(gpu::Accelerator& device, const Settings& settings, const std::string& kind) {
  for (const Example& example : examples()) {
    if (!example.name.starts_with(kind)) continue;
    const Graph graph = parse_graph(example.text);
    const bool has_layouts = example.name.starts_with("conv");
    for (const cost::Layout layout : {cost::Layout::channels_first, cost::Layout::channels_last}) {
      if (layout == cost::Layout::channels_last && !has_layouts) continue;
      const cost::WholeGraph view(graph, {}, layout);
      for (const cost::Plan::Step& step : cost::plan(view, cost::Roofline(settings.precision)).steps) {
        if (!cost::has_products(step.kernel.kind)) continue;
        show_call(device, example.name + (layout == cost::Layout::channels_last ? ", channels last" : ""),
                  cost::call_of(view, step.kernel, settings.precision).call, settings);
      }
    }
  }
}

double quantile(std::vector<double> numbers, double part) {
  std::sort(numbers.begin(), numbers.end());
  return numbers[static_cast<std::size_t>(part * static_cast<double>(numbers.size() - 1))];
}

void show_model(gpu::Accelerator& device, const std::string& path, const Settings& settings) {
  taso::onnx::Model model = taso::onnx::Model::load(path);
  model.validate();
  taso::onnx::GraphEdit edit(model);
  taso::onnx::clean_up(edit);
  const auto imported = edit.imported();
  const cost::Roofline prices(settings.precision);
  for (const cost::Layout layout : {cost::Layout::channels_last, cost::Layout::channels_first}) {
    const cost::WholeGraph view(imported->graph, {}, layout);
    const cost::Plan laid = cost::plan(view, prices);
    gpu::Execution execution = gpu::make_execution(view, imported->graph, laid, settings.precision);
    fmt::print("\n== {}, channels {}, {} steps\n", path, layout == cost::Layout::channels_last ? "last" : "first",
               execution.steps.steps.size());
    auto begin = std::chrono::steady_clock::now();
    std::map<std::string, gpu::Measurement> known;
    double predicted = 0;
    std::vector<double> prices_of_steps;
    for (gpu::DeviceSteps::Step& step : execution.steps.steps) {
      prices_of_steps.push_back(0);
      if (step.host) continue;
      const std::string text = cost::text_of(step.call);
      if (!known.contains(text)) known[text] = device.measure(step.call);
      step.choice = known[text].choice;
      prices_of_steps.back() = known[text].nanoseconds * 1e-3;
      predicted += known[text].nanoseconds * 1e-3;
      if (!known[text].trouble.empty()) fmt::print("   trouble: {}\n     {}\n", known[text].trouble, text);
    }
    std::size_t unsettled = 0;
    for (const auto& [text, measured] : known) unsettled += measured.is_settled ? 0 : 1;
    fmt::print("   {} calls measured in {:.1f} s, {} not settled\n", known.size(), seconds_since(begin), unsettled);
    std::vector<std::string> texts;
    for (const gpu::DeviceSteps::Step& step : execution.steps.steps) texts.push_back(cost::text_of(step.call));
    const std::vector<std::int64_t> output_bytes = execution.steps.output_bytes;
    begin = std::chrono::steady_clock::now();
    const std::unique_ptr<gpu::DeviceProgram> program = device.load(std::move(execution.steps));
    fmt::print("   loaded in {:.1f} s: {} kernels, {:.1f} MB, {} on the host\n", seconds_since(begin),
               program->launches(), static_cast<double>(program->device_bytes()) * 1e-6, execution.on_host.size());

    Random random(1);
    std::vector<Array> inputs;
    for (const Value& input : imported->graph.inputs)
      inputs.push_back(random_array(random, input.type().element, *static_extents(input.shape())));
    std::vector<std::vector<std::byte>> bytes;
    for (const Array& input : inputs) bytes.push_back(gpu::to_device(input, settings.precision));
    const std::vector<std::span<const std::byte>> spans(bytes.begin(), bytes.end());
    const auto outputs = program->run(spans);
    if (settings.is_checked) {
      const std::vector<Array> expected = runtime::interpret(imported->graph, inputs);
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Array found = gpu::from_device(outputs[i], expected[i].type(), expected[i].extents(), settings.precision);
        double error = 0, norm = 0;
        const auto a = found.doubles(), b = expected[i].doubles();
        for (std::size_t j = 0; j < a.size(); ++j) {
          error += (a[j] - b[j]) * (a[j] - b[j]);
          norm += b[j] * b[j];
        }
        fmt::print("   output {}: relative error {:.2e}\n", i, std::sqrt(error / norm));
      }
    }
    const std::vector<double> times = program->time(200), again = program->time(200);
    fmt::print("   predicted {:.1f} us, measured {:.1f} us (5 % {:.1f}, 95 % {:.1f}), again {:.1f} us\n", predicted,
               quantile(times, 0.5), quantile(times, 0.05), quantile(times, 0.95), quantile(again, 0.5));
    const std::vector<double> profile = program->profile();
    double sum = 0;
    for (const double one : profile) sum += one;
    fmt::print("   the profile's steps add up to {:.1f} us\n", sum);
    std::vector<std::size_t> order(profile.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return profile[a] > profile[b]; });
    for (std::size_t i = 0; i < order.size() && i < settings.rows; ++i)
      fmt::print("   {:8.2f} us in place, {:8.2f} alone  {}\n     {}\n", profile[order[i]], prices_of_steps[order[i]],
                 program->choices()[order[i]], texts[order[i]]);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::string trouble;
  const std::unique_ptr<gpu::Accelerator> device = gpu::open_accelerator(trouble);
  if (!device) {
    fmt::print("{}\n", trouble);
    return 0;
  }
  const gpu::DeviceState state = device->state();
  fmt::print("{}; {}; {} W, {} C, {} MHz\n", device->device(), device->versions(), state.watts, state.celsius,
             state.megahertz);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--precision" && i + 1 < argc) {
      settings.precision = cost::precision_named(argv[++i]).value_or(cost::Precision::tf32);
    } else if (argument == "--rows" && i + 1 < argc) {
      settings.rows = static_cast<std::size_t>(std::stoul(argv[++i]));
    } else if (argument == "--unchecked") {
      settings.is_checked = false;
    } else if (argument == "--calls") {
      show_calls(*device, settings, "");
    } else if (argument.starts_with("--calls=")) {
      show_calls(*device, settings, argument.substr(argument.find('=') + 1));
    } else {
      show_model(*device, argument, settings);
    }
  }
  return 0;
}
