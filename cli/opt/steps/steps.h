// The steps of taso-opt, from the model that was read to the one that is written. Each takes a candidate and gives one
// back: load -> clean -> improve -> confirm -> check -> certify -> save (cli/opt/optimise.cpp puts them together).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/figures.h"
#include "cli/console/console.h"
#include "cli/files/rule_set.h"
#include "cli/opt/options.h"
#include "cli/opt/phases.h"
#include "cli/opt/search.h"
#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/export/edit.h"
#include "onnx/import/import.h"
#include "rules/language/rewrite_certificate.h"
#include "runtime/pricing/figures.h"
#include "runtime/pricing/pricing.h"

namespace taso::cli {

/// What all steps share.
struct Task {
  onnx::Model& model;  ///< as it was read, its input shapes overwritten; certify() makes it the one to be written
  const OptOptions& options;
  const onnx::CheckOptions& checking;
  std::map<std::string, Extents> shapes;  ///< of inputs, for prices
  const SearchRules& rules;
  pricing::Pricing& pricing;  ///< learns what is measured on the way
  Console& console;
  Phases& phases;
};

/// Figures of a graph, as long as no kernel was measured since.
struct KnownFigures {
  std::optional<pricing::Figures> figures;  ///< nothing if the graph is not known
  std::optional<std::size_t> measured;      ///< how many kernels were measured by then; nothing if never asked
};

/// A model that may be written in the end: an edit of the one that was read, and what is known about it.
struct Candidate {
  std::unique_ptr<onnx::GraphEdit> edit;
  bool is_untouched = false;  ///< nothing was changed, not even by clean-ups
  std::vector<onnx::CleanupCount> passes;
  std::vector<rules::CleanupStep> clean_ups;        ///< before the search
  std::vector<rules::CleanupStep> clean_ups_after;  ///< what the search left behind
  /// The graph that the search started from; null if the model cannot be imported. It needs the edit.
  std::shared_ptr<const onnx::Imported> cleaned;
  std::optional<SearchSummary> search;     ///< nothing if there was none
  std::optional<Ratio> confirmed;          ///< how many times as fast it is on the GPU
  std::optional<onnx::CheckResult> check;  ///< nothing if it was not compared
  KnownFigures before, after;

  bool is_improved() const { return search && search->changed(); }
};

/// The clean-ups that the options allow.
onnx::CleanupOptions clean_ups_of(const OptOptions& options);
/// The model with clean-ups only.
Candidate clean(const Task& task);
/// The model as it was read. `told` is what the candidate that is given up says of the search; `reason` is why.
Candidate leave_as_it_is(const Task& task, const Candidate& given_up, const std::string& reason);
/// The model with clean-ups only, because what the search found cannot be kept.
Candidate give_up(const Task& task, const Candidate& found, const std::string& reason);

/// Searches for a better graph with these rules, and writes it into the edit. Whether it is kept is decided by
/// search/preference.h; if not, the clean-ups stay, and the search says why.
Candidate improve(const Task& task, Candidate cleaned, const SearchRules& rules);

/// Runs both models on the GPU, if that is asked for. A candidate that is not faster there, or cannot run, is given up;
/// one that was interrupted before it was known is kept.
Candidate confirm(const Task& task, Candidate found);

/// Compares the outputs of both models, if that is asked for. Rules whose results do not agree, or cannot be checked,
/// are left out and the search is repeated; clean-ups that cannot be checked are taken back. If even the clean-ups fail,
/// the check of the result has not passed.
Candidate check(const Task& task, Candidate found);

/// Commits the candidate to the task's model and replays its certificate, by the code of taso-verify. What is rejected
/// is taken back, first the search, then the clean-ups: a rejection is a fault of taso. `spoil` is for tests: it changes
/// the certificate before it is replayed.
struct Certified {
  Candidate candidate;  ///< without its edit, which was committed
  rules::RewriteCertificate certificate;
  std::optional<pricing::Figures> before, after;
  pricing::AssumedSizes assumed;
};
using Spoil = std::function<void(rules::RewriteCertificate&)>;
Certified certify(const Task& task, rules::RewriteCertificate certificate, Candidate found, const Spoil& spoil);

/// Of what the candidate is compared with. Clean-ups are not credited to the search, since whoever runs a model does
/// them first.
std::optional<pricing::Figures> figures_before(const Task& task, Candidate& candidate);
/// Of the candidate, as long as it is not committed. Nothing if it cannot be imported.
std::optional<pricing::Figures> figures_after(const Task& task, Candidate& candidate);

/// Runs `work`; an error about the input that it throws names the file.
template <class Work>
auto naming(const std::filesystem::path& file, Work&& work) {
  try {
    return work();
  } catch (const onnx::Uncheckable&) {
    throw;  // not a fault of the file
  } catch (const InputError& error) {
    throw InputError(file.string() + ": " + error.what());
  }
}

}  // namespace taso::cli
