// The steps of taso-opt between loading and saving (cli/opt/optimise.cpp). clean() makes a candidate; improve() (phase
// "search"), confirm() and check() each replace it by one that may be kept; certify() (phase "replay") commits it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/figures.h"
#include "cli/console/console.h"
#include "cli/details/changes.h"
#include "cli/files/rule_set.h"
#include "cli/opt/coverage.h"
#include "cli/opt/phases.h"
#include "cli/opt/search.h"
#include "cli/opt/settings.h"
#include "cli/target/onnxruntime.h"
#include "cli/target/runtime_operators.h"
#include "cli/target/runtime_times.h"
#include "onnx/check/compare.h"
#include "onnx/cleanup/cleanup.h"
#include "onnx/export/edit.h"
#include "onnx/import/import.h"
#include "rules/language/rewrite_certificate.h"
#include "runtime/pricing/figures.h"
#include "runtime/pricing/pricing.h"

namespace taso::cli {

/// For tests: changes a certificate before it is replayed.
using Spoil = std::function<void(rules::RewriteCertificate&)>;

/// What all steps share.
struct OptRun {
  onnx::Model& model;  ///< as read, with new input shapes; certify() replaces it by the model to write
  const OptSettings& options;
  const onnx::CheckOptions& checking;
  std::map<std::string, Extents> shapes;  ///< of the inputs, for prices
  const SearchRules& rules;
  pricing::Pricing& pricing;  ///< learns from measurements during the run
  Console& console;
  Phases& phases;
  const rules::RewriteCertificate& certificate;  ///< without what the steps find
  const Spoil& spoil;
  OnnxRuntime* runtime = nullptr;             ///< where the model will run; null for our own plan
  RuntimeOperators* own_operators = nullptr;  ///< that it has beyond ONNX's; null if they are not allowed
};

/// A candidate as a model, with a certificate that was replayed.
struct Draft {
  std::optional<onnx::Model> model;  ///< until certify() takes it
  rules::RewriteCertificate certificate;
  std::optional<pricing::Figures> before, after;
  pricing::AssumedSizes assumed;
  std::optional<Details> details;  ///< if a page is to be written
  std::string rejection;           ///< of the certificate; empty if it was accepted, or not replayed
};

/// Cached figures of a graph, valid until another kernel is measured.
struct KnownFigures {
  std::optional<pricing::Figures> figures;  ///< missing if the graph cannot be priced
  std::optional<std::size_t> measured;      ///< number of measured kernels at that time; missing before the first use
};

/// A model that may be written in the end: an edit of the one that was read, and its results so far.
struct Candidate {
  std::unique_ptr<onnx::GraphEdit> edit;
  bool is_untouched = false;  ///< no change, not even by clean-ups
  std::vector<onnx::CleanupCount> passes;
  std::size_t cleaned_nodes = 0;                    ///< nodes before the search, with those of subgraphs
  std::vector<rules::CleanupStep> clean_ups;        ///< before the search
  std::vector<rules::CleanupStep> clean_ups_after;  ///< after the search
  /// The graph that the search started from; null if the model cannot be imported. Valid as long as the edit.
  std::shared_ptr<const onnx::ImportedModel> cleaned;
  std::optional<Coverage> coverage;        ///< of that graph
  std::optional<SearchSummary> search;     ///< missing if there was no search
  std::optional<Ratio> confirmed;          ///< how many times as fast it is on the GPU
  std::optional<RuntimeTimes> in_runtime;  ///< with --target onnxruntime
  std::optional<onnx::CheckResult> check;  ///< missing if the models were not compared
  KnownFigures before, after;
  std::optional<Draft> draft;  ///< if it was made ahead

  bool is_improved() const { return search && search->changed(); }
};

/// The clean-ups that the options allow.
onnx::CleanupOptions clean_ups_of(const OptSettings& options);
/// The model with clean-ups only.
Candidate clean(const OptRun& run);
/// With --allow-onnxruntime-operators, uses these where they are faster.
void use_own_operators(const OptRun& run, Candidate& candidate);
/// The model as it was read. `given_up` is the candidate it replaces, `reason` says why.
Candidate leave_as_it_is(const OptRun& run, const Candidate& given_up, const std::string& reason);
/// Clean-ups only, with what the run of `found` told.
Candidate clean_again(const OptRun& run, const Candidate& found);
/// The model with clean-ups only, because the result of the search cannot be kept.
Candidate give_up(const OptRun& run, const Candidate& found, const std::string& reason);

/// Searches for a better graph with these rules and writes it into the edit. search/preference.h decides whether it is
/// kept; if not, the clean-ups stay and the summary says why.
Candidate improve(const OptRun& run, Candidate cleaned, const SearchRules& rules);

/// With --confirm, runs both models on the GPU. Gives up a candidate that is not faster there or cannot run; keeps one
/// that was interrupted before the result was certain.
Candidate confirm(const OptRun& run, Candidate found);

/// Throws InputError if ONNX Runtime cannot run the model as it was read.
void require_runs(const OptRun& run);
/// Runs the candidate, the cleaned-up model and the original in turn in ONNX Runtime. Gives up what is not faster than
/// the cleaned-up model, and clean-ups that are slower than the original. Keeps a candidate if it is interrupted before
/// the result is certain.
Candidate confirm_in_runtime(const OptRun& run, Candidate found);
/// Tells what is kept in the end: what the runs chose may have failed the check or the replay.
void correct_what_is_kept(Candidate& candidate);

/// Compares the outputs of both models, unless the check is off, and makes the draft meanwhile. Leaves out rules whose
/// results do not agree or cannot be checked, and repeats the search; undoes clean-ups that cannot be checked. If the
/// clean-ups alone fail, the result's check has failed.
Candidate check(const OptRun& run, Candidate found);

/// Replays the certificate of the candidate with the code of taso-verify, unless its check has failed. Frees the graphs
/// of the candidate.
Draft draft_of(const OptRun& run, Candidate& candidate);

/// Replaces the model by the draft of the candidate if its certificate is accepted. Undoes what is rejected, first the
/// search, then the clean-ups; a rejection is a bug of taso. Returns the candidate without its edit.
Candidate certify(const OptRun& run, Candidate found);

/// Figures of the cleaned-up model. Clean-ups are not credited to the search, because every runtime does them first.
std::optional<pricing::Figures> figures_before(const OptRun& run, Candidate& candidate);
/// Figures of the candidate, before it is committed. Missing if it cannot be imported.
std::optional<pricing::Figures> figures_after(const OptRun& run, Candidate& candidate);

/// Runs `work`; adds the file name to an InputError that it throws.
template <class Work>
auto with_file_name(const std::filesystem::path& file, Work&& work) {
  try {
    return work();
  } catch (const onnx::Uncheckable&) {
    throw;  // not an error of the file
  } catch (const InputError& error) {
    throw InputError(file.string() + ": " + error.what());
  }
}

}  // namespace taso::cli
