// Prices the current graph of the search and the change by a rewrite, with the kernels and prices of cost/. Only
// kernels near the rewrite are priced again.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "cost/plan/fusion.h"
#include "search/preference.h"
#include "search/program/program.h"

namespace taso::search {

/// For a part of a graph: the border values that are images, and the outputs that are used outside.
struct Border {
  std::unordered_set<ValueId> images, outputs;
};

/// A program as pricing sees it. Computations are its nodes, with the same numbers.
class ProgramView : public cost::GraphView {
 public:
  explicit ProgramView(const Program& program, const cost::PlanOptions& options = {})
      : cost::GraphView(options.layout), program_(program), store_(program.store()), extents_(options.sizes) {}

  const Operator* op(cost::PlanNode node) const override;
  const Opaque* opaque(cost::PlanNode node) const override;
  bool is_free(cost::PlanNode node) const override;
  std::size_t operands(cost::PlanNode node) const override { return computation(node).operands.size(); }
  cost::PlanValue operand(cost::PlanNode node, std::size_t index) const override;
  std::size_t results(cost::PlanNode node) const override { return computation(node).results; }
  cost::PlanValue result(cost::PlanNode node, std::size_t index) const override;
  cost::PlanNode producer(cost::PlanValue value) const override;
  std::size_t users(cost::PlanValue value) const override { return program_.users(id(value)).size(); }
  cost::PlanNode user(cost::PlanValue value, std::size_t index) const override;
  bool is_output(cost::PlanValue value) const override { return program_.is_output(id(value)); }
  bool is_weight(cost::PlanValue value) const override { return store_.weight_only(id(value)); }
  std::optional<double> number(cost::PlanValue value) const override;
  ElementType element(cost::PlanValue value) const override { return store_.type(id(value)).element; }
  const Extents* extents(cost::PlanValue value) const override {
    return extents_.of(cost::place(value), store_.type(id(value)));
  }
  void set_border(const Border& border) { border_ = border; }
  bool is_image_on_border(cost::PlanValue value) const override { return border_.images.contains(id(value)); }
  bool is_output_on_border(cost::PlanValue value) const override { return border_.outputs.contains(id(value)); }

 private:
  static ValueId id(cost::PlanValue value) { return static_cast<ValueId>(value); }
  const Computation& computation(cost::PlanNode node) const { return store_[static_cast<ComputationId>(node)]; }

  const Program& program_;
  const Store& store_;
  cost::ExtentsTable extents_;
  Border border_;
};

/// The cost of larger weights. A weight that is computed ahead from smaller ones (a product with a narrow middle, an
/// enlarged kernel) is read from memory in every run, at any batch size, and stored in the file.
struct WeightGrowth {
  cost::Cost price_of_byte = 0;      ///< for each additional byte
  std::optional<std::int64_t> most;  ///< the most bytes that weights may grow by; missing means no limit
  bool is_counted() const { return price_of_byte != 0 || most; }
};
/// In picoseconds: the time of a memory of 500 GB/s, a tenth of an H200's. The prices of kernels include the H200's own
/// time, or less if weights stay in its cache; the model may run elsewhere.
inline constexpr cost::Cost price_of_weight_byte = 2;

class Prices {
 public:
  Prices(const Program& program, const cost::KernelPrices& kernels, const cost::PlanOptions& options = {},
         const WeightGrowth& growth = {})
      : program_(program),
        here_view_(program, options),
        there_view_(program, options),
        here_(here_view_),
        there_(there_view_),
        kernels_(kernels),
        growth_(growth) {
    if (growth_.is_counted()) set_given_weights();
  }
  Prices(const Prices&) = delete;
  Prices& operator=(const Prices&) = delete;

  /// For a program that is a part of a graph.
  void set_border(const Border& border);
  /// For a program whose chains of operators are cut into several kernels; by value.
  void set_cuts(const std::vector<bool>& cuts);
  bool is_image(ValueId id) const;
  /// Call it when the program has changed for good. Between two differences it is assumed unchanged.
  void moved();
  /// Call it instead if the change is the one that the last difference() priced. Then all prices stay known.
  void accept();
  const cost::KernelPrices& kernels() const { return kernels_; }
  cost::Cost noise() const { return kernels_.noise(); }
  /// From now on weights count as the file stores them: data in several joined weights counts several times. Before, it
  /// counts once, because the first step that joins the weights of several products does not make the others larger.
  void count_as_stored();
  /// Makes the change, and tells how many bytes of weights more there are.
  GraphCost redo_and_weigh(Program& program, const Program::Log& log) const;
  /// Whether the growth of the weights is within the limit.
  bool allows(const GraphCost& cost) const { return excess(cost) <= 0; }
  /// The bytes by which it exceeds the limit.
  std::int64_t excess(const GraphCost& cost) const { return growth_.most ? cost.growth - *growth_.most : 0; }
  /// Whether an operation that is not computed ahead uses a value.
  bool is_stored(ValueId id) const;
  /// Bytes of the stored weights, after everything is computed ahead that can be.
  std::int64_t weights() const;
  /// The price of the kernel represented by this computation; 0 if there is none.
  cost::Cost price(ComputationId id);
  /// The cost of the whole program: the sum over its computations, which is the cost of its plan.
  GraphCost total();
  /// The additional cost of the program after the log, which was just applied. The program must be the one given to the
  /// constructor; it is left unchanged.
  GraphCost difference(Program& program, const Program::Log& log);

 private:
  struct Known {
    std::uint32_t time = 0;
    cost::Cost price = 0;
  };
  Known& known(ComputationId id);
  /// Adds the computations of the current program whose prices these changes may affect.
  void add_affected(const Program::Log& log, const cost::Fusion& fusion);
  std::vector<std::pair<ValueId, bool>> images_among(const Program::Log& log, const ProgramView& view) const;
  void set_given_weights();
  bool is_made_of_parts(ValueId id) const;
  bool is_kept(ValueId id) const;
  void add_what_parts_are_of(std::vector<ValueId>& weights) const;
  /// The bytes that a weight adds to the model; 0 if it only goes into other weights or consists of parts of others.
  std::int64_t stored_bytes(ValueId id) const;
  std::int64_t stored_bytes(std::span<const ValueId> weights) const;

  const Program& program_;
  // For the current program, and for the program after a rewrite that is tried.
  ProgramView here_view_, there_view_;
  cost::Fusion here_, there_;
  const cost::KernelPrices& kernels_;
  cost::Affected affected_;
  std::vector<Known> known_;  // by computation, in the current program
  std::uint32_t time_ = 1;
  std::vector<std::pair<ComputationId, cost::Cost>> changed_;  // the prices after the last difference
  WeightGrowth growth_;
  bool counts_as_stored_ = false;
  std::int64_t given_weights_ = 0, given_weights_as_stored_ = 0;  // in the input graph
};

}  // namespace taso::search
