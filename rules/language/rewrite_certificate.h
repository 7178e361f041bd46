// How one model became another, step by step, so that others can check it: the content of `<output>.cert`.
//
// Values have numbers. Those of the graph before the steps are numbered as Graph::nodes() lists them, each result of
// each node; every value that a step makes gets the next number. A number never changes its meaning.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace taso::rules {

using ValueNumber = std::uint64_t;

/// One rewrite: the source of a rule matches at `inputs`, and its results are now computed by the target.
struct RewriteStep {
  std::string rule;
  std::vector<std::pair<std::string, ValueNumber>> inputs;     ///< of the rule, and the values bound to them
  std::vector<std::pair<std::string, std::string>> variables;  ///< attribute variables, and their values
  /// The operators of the source whose operands are exchanged, counted operands first, result by result.
  std::vector<std::uint64_t> exchanged;
  std::vector<ValueNumber> replaced;  ///< the values that get new computations
  /// A node of the target, operands first, and its results: values that it makes, values that it replaces, or values
  /// that are already computed in this way.
  struct Made {
    std::string op;
    std::vector<ValueNumber> results;
    bool operator==(const Made&) const = default;
  };
  std::vector<Made> made;
  /// Pairs of values that are the same, because they are computed in the same way now.
  std::vector<std::pair<ValueNumber, ValueNumber>> merged;
  std::vector<std::string> conditions;           ///< what had to hold, in the rule's terms and in the model's
  std::int64_t cost_before = 0, cost_after = 0;  ///< of the graph

  bool operator==(const RewriteStep&) const = default;
};

/// A clean-up: the pass, and the first result of the node that it removed, merged or computed, or the weight.
struct CleanupStep {
  std::string pass, at;
  bool operator==(const CleanupStep&) const = default;
};

struct RewriteCertificate {
  std::string version;                ///< of the program that wrote it
  std::string input, output;          ///< hashes of the models, see hash_of_model()
  std::string rules;                  ///< hash of the rule set; empty if there was no search
  std::vector<std::string> disabled;  ///< disabled clean-ups
  std::uint64_t fold_limit = 0;       ///< for clean-ups
  /// Input shapes that were overwritten, before anything else; without a name if the model has one input.
  struct InputShape {
    std::string input;
    std::vector<std::int64_t> extents;
    bool operator==(const InputShape&) const = default;
  };
  std::vector<InputShape> input_shapes;
  std::vector<CleanupStep> before;  ///< before the search
  std::vector<RewriteStep> steps;
  std::vector<CleanupStep> after;
  /// The names of values in the model after the first clean-ups: those that the steps mention and that have a name.
  std::vector<std::pair<ValueNumber, std::string>> names;

  bool operator==(const RewriteCertificate&) const = default;
};

/// The certificate as JSON, with one line per step, so that two can be compared. Text that is not UTF-8 is written as
/// text_in_json() says.
std::string print(const RewriteCertificate& certificate);
/// Throws InputError for anything that is not exactly a certificate.
RewriteCertificate parse_certificate(const std::string& text);
/// Text after writing and reading: the same, unless it is not UTF-8.
std::string text_in_json(const std::string& text);
/// The certificate after print() and parse_certificate().
RewriteCertificate as_read(RewriteCertificate certificate);
/// Whether the first few thousand bytes of a file are those of a certificate that print() wrote.
bool starts_as_certificate(std::string_view bytes);

}  // namespace taso::rules
