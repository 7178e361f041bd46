#include "cli/target/runtime_operators.h"

#include "cli/console/interrupt.h"
#include "onnx/cleanup/fused_attention.h"

namespace taso::cli {
namespace {

/// How many times as fast the second model is as the first; nothing if ONNX Runtime refuses one.
std::optional<Ratio> ratio_of_models(OnnxRuntime& runtime, const std::pair<onnx::Model, onnx::Model>& models) {
  constexpr double seconds = 0.5;
  constexpr int loads = 3;  // where memory lies makes a difference
  try {
    const std::string one = models.first.serialise_whole(), other = models.second.serialise_whole();
    std::vector<double> first, second;
    for (int i = 0; i < loads && !interrupted(); ++i) {
      const std::vector<OnnxRuntime::Loaded> loaded{runtime.load(one), runtime.load(other)};
      const auto times = runtime.time_in_turn(loaded, seconds);
      first.insert(first.end(), times[0].begin(), times[0].end());
      second.insert(second.end(), times[1].begin(), times[1].end());
      for (const OnnxRuntime::Loaded model : loaded) runtime.drop(model);
    }
    if (first.empty()) return std::nullopt;
    return ratio_in_turn(first, second);
  } catch (const RuntimeRefusal&) {
    return std::nullopt;
  }
}

}  // namespace

std::vector<std::string> RuntimeOperators::use(onnx::GraphEdit& edit, const onnx::Model& model) {
  std::vector<onnx::FusedAttention> chosen;
  for (auto& [form, one] : measured_) one.places = 0;
  for (onnx::FusedAttention& place : onnx::fused_attentions(edit)) {
    auto known = measured_.find(place.form);
    if (known == measured_.end()) {
      if (interrupted()) continue;
      const auto ratio = ratio_of_models(runtime_, onnx::attention_models(edit, model, place));
      known =
          measured_.emplace(place.form, RuntimeTimes::OwnOperator{"MultiHeadAttention", place.form, 0, ratio}).first;
    }
    ++known->second.places;
    if (known->second.is_used()) chosen.push_back(std::move(place));
  }
  std::vector<std::string> results;
  for (const onnx::FusedAttention& place : chosen) {
    if (edit.producer(place.result) == nullptr) continue;
    fuse_attention(edit, place);
    results.push_back(place.result);
  }
  return results;
}

std::vector<RuntimeTimes::OwnOperator> RuntimeOperators::found() const {
  std::vector<RuntimeTimes::OwnOperator> all;
  for (const auto& [form, one] : measured_)
    if (one.places > 0) all.push_back(one);
  return all;
}

}  // namespace taso::cli
