// A schema compiled for given shapes, as straight-line code over the prime field.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "generator/enumeration/recorded.h"
#include "generator/enumeration/sample_inputs.h"

namespace taso::generator {

using LayoutId = std::uint32_t;

class Program {
 public:
  /// Null if the schema does not take such operands.
  static std::unique_ptr<Program> compile(const SampleInputs& world, const Schema& schema,
                                          std::span<const Layout* const> operands);

  const std::vector<Layout>& results() const { return results_; }
  /// The contents of the results, one after another.
  std::span<const Field> run(std::span<const Field* const> operands, std::vector<Field>& cells) const;
  std::size_t steps() const { return steps_.size(); }

  /// The ids of the results' layouts.
  std::vector<LayoutId> result_layouts;
  std::vector<Field> seeds;        ///< of the results
  std::vector<std::size_t> sizes;  ///< of the results

 private:
  struct Step {
    Recording::Kind kind;
    std::uint32_t to = 0, left = 0, right = 0;  ///< for a sum: where its products begin, and how many there are
    Recording::Function function = nullptr;
  };
  void emit(const Recording& recording, const std::vector<std::uint32_t>& wanted);

  std::vector<Layout> results_;
  std::vector<std::size_t> operand_sizes_;
  std::vector<Field> constants_;  ///< they follow the operands
  std::vector<Step> steps_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> products_;
  std::vector<std::uint32_t> results_from_;  ///< cells
  std::size_t cells_ = 0;
};

/// Interns layouts and compiles each program once. Thread-safe.
class Programs {
 public:
  explicit Programs(const SampleInputs& world) : world_(world) {}
  LayoutId layout(const Layout& layout);
  Layout layout(LayoutId id) const;
  std::size_t layouts() const;
  /// Null if the schema does not take such operands.
  const Program* find(std::size_t schema, std::span<const LayoutId> operands);

 private:
  LayoutId intern(const Layout& layout);
  const SampleInputs& world_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<const Layout>> layouts_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Program>> programs_;
};

/// What shape and role contribute to a fingerprint; cuts do not count.
Field seed_of(const Layout& layout);
/// Two independent projections of contents: see Fingerprint.
Fingerprint fingerprint(Field seed, std::span<const Field> contents);

}  // namespace taso::generator
