// How one model became another, step by step, so that somebody else can check it: what `<output>.cert` holds.
//
// Values are called by numbers. Those of the graph that the steps start from are numbered as Graph::nodes() lists them,
// each result of each node; every value that a step makes gets the next number. A number is given once and for all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace taso::rules {

using ValueNumber = std::uint64_t;

/// One rewrite: the source of a rule was found at `inputs`, and the values that it gave are now those of the target.
struct RewriteStep {
  std::string rule;
  std::vector<std::pair<std::string, ValueNumber>> inputs;     ///< of the rule, and the values that they stand for
  std::vector<std::pair<std::string, std::string>> variables;  ///< attribute variables, and what they stand for
  /// The operators of the source whose operands stand the other way round, counted operands first, result by result.
  std::vector<std::uint64_t> exchanged;
  std::vector<ValueNumber> replaced;  ///< the values that get other computations
  /// A node of the target, operands first, and its results: values that it makes, values that it replaces, or values
  /// that are computed in this very way already.
  struct Made {
    std::string op;
    std::vector<ValueNumber> results;
    bool operator==(const Made&) const = default;
  };
  std::vector<Made> made;
  /// Values that have turned out to be others, as they are computed in the same way now.
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
  std::vector<std::string> disabled;  ///< clean-ups that were left out
  std::uint64_t fold_limit = 0;       ///< of clean-ups
  /// Shapes that inputs were given, before anything else; no name if the model has one input.
  struct InputShape {
    std::string input;
    std::vector<std::int64_t> extents;
    bool operator==(const InputShape&) const = default;
  };
  std::vector<InputShape> input_shapes;
  std::vector<CleanupStep> before;  ///< the search
  std::vector<RewriteStep> steps;
  std::vector<CleanupStep> after;
  /// What values are called in the model after the first clean-ups: those of which the steps speak and that have a
  /// name.
  std::vector<std::pair<ValueNumber, std::string>> names;

  bool operator==(const RewriteCertificate&) const = default;
};

/// As JSON, with a line for each step, so that two of them can be compared. Text that is not UTF-8 is written as
/// text_in_json() has it.
std::string print(const RewriteCertificate& certificate);
/// Throws InputError for anything that is not exactly a certificate.
RewriteCertificate parse_certificate(const std::string& text);
/// What text becomes that is written and read again: the same, unless it is not UTF-8.
std::string text_in_json(const std::string& text);
/// What parse_certificate() gives for what print() writes of it.
RewriteCertificate as_read(RewriteCertificate certificate);
/// Whether the first bytes of a file, a few thousand, are those of a certificate as print() writes it.
bool starts_as_certificate(std::string_view bytes);

}  // namespace taso::rules
