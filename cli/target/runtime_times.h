// What a run in the target runtime showed: how fast the original, the cleaned-up and the optimised model are there.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench/figures.h"

namespace taso::cli {

struct RuntimeTimes {
  enum class Written { original, cleaned, found };
  std::string machine;                    ///< what ran them
  Written written = Written::original;    ///< what is kept
  double original_seconds = 0;            ///< of a run, median; 0 if nothing ran
  std::optional<Ratio> cleaned, found;    ///< how many times as fast as the original
  std::optional<Ratio> found_to_cleaned;  ///< how many times as fast as the cleaned-up model
  double cleaned_seconds = 0;             ///< of a run of the cleaned-up model; 0 if nothing ran
  double found_seconds = 0;               ///< of a run of what the search found; 0 if it did not run
  double predicted_seconds = 0;           ///< the same as predicted: the sum of its kernels; 0 if it has no plan
  std::optional<double> predicted;        ///< how many times as fast as the cleaned-up model it should have been
  std::string uncertain;                  ///< why the runs did not decide; else empty
  /// An operator that only ONNX Runtime has.
  struct OwnOperator {
    std::string op, form;        ///< what it computes, with its sizes
    std::size_t places = 0;      ///< of the model
    std::optional<Ratio> ratio;  ///< how many times as fast it is as what it replaces; missing if it was refused
    bool is_used() const { return ratio && ratio->is_faster(); }
  };
  std::vector<OwnOperator> own_operators;  ///< with --allow-onnxruntime-operators

  /// By how much the predicted gain of the search was too high, relative to what was measured.
  std::optional<double> error() const;
  /// The same for the time of the cleaned-up model.
  std::optional<double> error_of_time() const;
};

std::string_view name_of(RuntimeTimes::Written written);
/// Several lines, for people.
std::string text_of(const RuntimeTimes& times);

}  // namespace taso::cli
