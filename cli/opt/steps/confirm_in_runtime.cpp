#include <algorithm>

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "cli/console/interrupt.h"
#include "cli/opt/steps/steps.h"
#include "onnx/check/drawing.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/core/error.h"

namespace taso::cli {
namespace {

using Loaded = OnnxRuntime::Loaded;

/// The same inputs for all models: the user's data, or random numbers in the sizes that prices assume.
std::vector<std::pair<std::string, Array>> inputs_of(const OptRun& run) {
  std::vector<std::pair<std::string, Array>> inputs;
  const std::shared_ptr<const onnx::ImportedModel> imported = onnx::GraphEdit(run.model).imported();
  const Graph& graph = imported->graph;
  const cost::DimensionSizes sizes = pricing::sizes_from(graph, run.shapes);
  for (const Value& input : graph.inputs) {
    const std::string& name = input.node->as_input()->name;
    if (const auto given = run.checking.data.find(name); given != run.checking.data.end()) {
      inputs.emplace_back(name, given->second);
      continue;
    }
    const Type& type = input.type();
    if (!type.shape || type.element == ElementType::undefined) continue;
    Extents extents;
    for (const Dim& dim : *type.shape)
      extents.push_back(dim.evaluate([&](std::string_view symbol) { return sizes ? sizes(symbol) : std::int64_t{1}; }));
    inputs.emplace_back(name, onnx::draw_array(type, extents, onnx::index_range(graph, input),
                                               run.options.seed + onnx::hash_name(name), onnx::Draw::normal));
  }
  return inputs;
}

/// The models to compare, in their order, and the inputs that they all get.
class Runs {
 public:
  explicit Runs(const OptRun& run) : run_(run) {
    try {
      inputs_ = inputs_of(run);
    } catch (const InputError&) {
      // A model that cannot be imported gets inputs that the measuring process draws.
    }
  }

  void add(const onnx::Model& model) { models_.push_back(model.serialise_whole()); }

  /// Times by model and round. The models are loaded several times: where memory lies makes a difference, and is the
  /// same for all runs of a loaded model. Empty if interrupted. Throws RuntimeRefusal.
  std::vector<std::vector<std::vector<double>>> time(std::size_t loads, double seconds) {
    std::vector<std::vector<std::vector<double>>> all;
    for (std::size_t i = 0; i < loads && !interrupted(); ++i) {
      std::vector<Loaded> loaded(models_.size());
      std::vector<std::size_t> order(models_.size());
      for (std::size_t j = 0; j < order.size(); ++j) order[j] = i % 2 == 0 ? j : order.size() - 1 - j;
      for (const std::size_t j : order) {
        loaded[j] = run_.runtime->load(models_[j]);
        for (const auto& [name, data] : inputs_) run_.runtime->set_input(loaded[j], name, data);
      }
      all.push_back(run_.runtime->time_in_turn(loaded, seconds));
      for (const Loaded model : loaded) run_.runtime->drop(model);
    }
    return all;
  }

 private:
  const OptRun& run_;
  std::vector<std::pair<std::string, Array>> inputs_;
  std::vector<std::string> models_;
};

/// How many times as fast the second model is as the first. All loads must agree on which is faster, else the interval
/// contains 1.
Ratio ratio_of_runs(const std::vector<std::vector<std::vector<double>>>& loads, std::size_t first, std::size_t second) {
  std::vector<double> ones, others;
  double low = 1e9, high = 0;
  for (const auto& times : loads) {
    ones.insert(ones.end(), times[first].begin(), times[first].end());
    others.insert(others.end(), times[second].begin(), times[second].end());
    const double value = ratio_in_turn(times[first], times[second]).value;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  Ratio ratio = ratio_in_turn(ones, others);
  ratio.low = std::min(ratio.low, low);
  ratio.high = std::max(ratio.high, high);
  return ratio;
}

std::string text_of_ratio(const Ratio& ratio) {
  return fmt::format("{:.3f} times as fast ({:.3f} to {:.3f})", ratio.value, ratio.low, ratio.high);
}

bool has_clean_ups(const Candidate& candidate) {
  return std::any_of(candidate.passes.begin(), candidate.passes.end(),
                     [](const onnx::CleanupCount& pass) { return pass.count > 0; });
}

RuntimeTimes::Written what_is_kept(const Candidate& candidate) {
  using Written = RuntimeTimes::Written;
  return candidate.is_improved() ? Written::found : has_clean_ups(candidate) ? Written::cleaned : Written::original;
}

/// The predicted gain of the search.
std::optional<double> predicted_ratio(const OptRun& run, Candidate& found) {
  const auto before = figures_before(run, found), after = figures_after(run, found);
  if (!before || !after || after->seconds <= 0) return std::nullopt;
  return before->seconds / after->seconds;
}

/// The inputs of the model that have to be given.
std::vector<const proto::ValueInfoProto*> given_inputs(const OptRun& run) {
  std::vector<const proto::ValueInfoProto*> inputs;
  const proto::GraphProto& graph = run.model.proto().graph();
  for (const auto& input : graph.input()) {
    const auto is_default = [&](const proto::TensorProto& tensor) { return tensor.name() == input.name(); };
    if (std::none_of(graph.initializer().begin(), graph.initializer().end(), is_default)) inputs.push_back(&input);
  }
  return inputs;
}

bool has_open_sizes(const OptRun& run) {
  for (const proto::ValueInfoProto* input : given_inputs(run)) {
    if (run.shapes.contains(input->name())) continue;
    const auto& tensor = input->type().tensor_type();
    if (!tensor.has_shape()) return true;
    for (const auto& dim : tensor.shape().dim())
      if (!dim.has_dim_value()) return true;
  }
  return false;
}

/// Throws InputError for an input of which no array can be passed to ONNX Runtime.
void require_arrays(const OptRun& run) {
  for (const proto::ValueInfoProto* input : given_inputs(run)) {
    const std::string name = on_one_line(input->name());
    if (!input->type().has_tensor_type())
      throw InputError(fmt::format(
          "the input '{}' is a sequence, map or optional; --target onnxruntime can run models with tensors only",
          name));
    const int type = input->type().tensor_type().elem_type();
    if (numpy_name(onnx::element_type_from_onnx(type)).empty())
      throw InputError(fmt::format(
          "the input '{}' is of type {}, of which --target onnxruntime cannot make random values, nor pass given ones",
          name, onnx::data_type_name(type)));
  }
}

}  // namespace

void require_runs(const OptRun& run) {
  require_arrays(run);
  try {
    Runs runs(run);
    runs.add(run.model);
    runs.time(1, 0);
  } catch (const RuntimeRefusal& refusal) {
    throw InputError(fmt::format("the model cannot be run in ONNX Runtime: {}{}", on_one_line(refusal.reason),
                                 has_open_sizes(run) ? "; --test-input-shape sets open sizes" : ""));
  }
}

Candidate confirm_in_runtime(const OptRun& run, Candidate found) {
  constexpr std::size_t loads = 4;
  constexpr double seconds = 1;  // for each of them
  using Written = RuntimeTimes::Written;
  RuntimeTimes times;
  const bool is_improved = found.is_improved();
  if (run.runtime == nullptr) {
    times.machine = "ONNX Runtime";
    times.uncertain = "nothing was run (--no-measuring)";
    times.written = what_is_kept(found);
    if (is_improved) times.predicted = predicted_ratio(run, found);
    found.in_runtime = std::move(times);
    return found;
  }
  times.machine = run.runtime->machine();
  if (run.own_operators != nullptr) {
    run.phases.begin("operators", "measuring operators of ONNX Runtime's own");
    use_own_operators(run, found);
    times.own_operators = run.own_operators->found();
  }
  const bool is_changed = is_improved || has_clean_ups(found);
  run.phases.begin("confirm", "running the models in ONNX Runtime");
  if (!found.search && found.cleaned)  // else the search has measured them
    run.pricing.measure_kernels(found.cleaned->graph, pricing::sizes_from(found.cleaned->graph, run.shapes));
  if (const auto before = figures_before(run, found)) times.predicted_seconds = before->seconds;
  if (is_improved) times.predicted = predicted_ratio(run, found);
  const auto give_up_search = [&](const std::string& reason) {
    found.in_runtime = times;
    found = give_up(run, found, reason);
  };
  std::vector<std::vector<std::vector<double>>> all;
  try {
    Runs runs(run);
    runs.add(run.model);
    if (is_changed) {
      onnx::GraphEdit cleaned(run.model);
      onnx::clean_up(cleaned, clean_ups_of(run.options));
      if (run.own_operators != nullptr) run.own_operators->use(cleaned, run.model);
      runs.add(cleaned.edited_copy(run.model));
    }
    if (is_improved) runs.add(found.edit->edited_copy(run.model));
    all = runs.time(is_changed ? loads : 1, seconds);
  } catch (const RuntimeRefusal& refusal) {
    times.uncertain = fmt::format("it cannot run the changed model: {}", on_one_line(refusal.reason));
    if (is_improved) give_up_search(times.uncertain);
    found.in_runtime = times;
    return leave_as_it_is(run, found, times.uncertain);
  }
  if (all.size() < (is_changed ? loads : 1)) {
    times.uncertain = "interrupted before the runs decided";
    times.written = what_is_kept(found);
    if (is_improved) found.search->unconfirmed = "interrupted";
    found.in_runtime = std::move(times);
    return found;
  }
  const auto median_of = [&](std::size_t model) {
    std::vector<double> runs;
    for (const auto& one : all) runs.insert(runs.end(), one[model].begin(), one[model].end());
    return quantile(runs, 0.5) / 1e9;
  };
  times.original_seconds = median_of(0);
  times.cleaned_seconds = median_of(is_changed ? 1 : 0);
  if (!is_changed) {
    found.in_runtime = std::move(times);
    return found;
  }
  times.cleaned = ratio_of_runs(all, 0, 1);
  times.written = Written::cleaned;
  if (is_improved) {
    times.found_seconds = median_of(2);
    times.found = ratio_of_runs(all, 0, 2);
    times.found_to_cleaned = ratio_of_runs(all, 1, 2);
    if (times.found_to_cleaned->is_faster() && !times.found->is_slower()) {
      times.written = Written::found;
      found.in_runtime = std::move(times);
      return found;
    }
    give_up_search(fmt::format("in ONNX Runtime it is {} as the cleaned-up model, so not faster",
                               text_of_ratio(*times.found_to_cleaned)));
  }
  if (times.cleaned->is_slower()) {
    times.written = Written::original;
    found.in_runtime = times;
    return leave_as_it_is(
        run, found,
        fmt::format("in ONNX Runtime the clean-ups are {} as the model as read", text_of_ratio(*times.cleaned)));
  }
  if (!has_clean_ups(found)) times.written = Written::original;
  found.in_runtime = std::move(times);
  return found;
}

void correct_what_is_kept(Candidate& candidate) {
  if (!candidate.in_runtime || candidate.in_runtime->written == what_is_kept(candidate)) return;
  candidate.in_runtime->written = what_is_kept(candidate);
  candidate.in_runtime->uncertain = "what the runs chose failed a check after them";
}

}  // namespace taso::cli
