// The part of a graph that pricing sees: operators, sizes and uses. A finished graph has such a view (WholeGraph
// below), and so has the graph that a search changes in place: the same code prices both.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ops/graph/graph.h"

namespace taso::cost {

/// Numbers of the nodes and values of a view.
enum class PlanNode : std::uint32_t {};
enum class PlanValue : std::uint32_t {};
inline constexpr PlanNode no_plan_node{std::numeric_limits<std::uint32_t>::max()};
inline constexpr PlanValue no_plan_value{std::numeric_limits<std::uint32_t>::max()};

constexpr std::size_t place(PlanNode node) { return static_cast<std::size_t>(node); }
constexpr std::size_t place(PlanValue value) { return static_cast<std::size_t>(value); }

/// Image layout of a whole plan: NCHW (channels_first) or NHWC (channels_last). The third is no plan of ours, but what
/// ONNX Runtime would run: NCHW, every value dense in row-major order, and movement a copy, except for reshapes. Its
/// kernels are groups of operators that are measured together; ONNX Runtime fuses in them what it likes.
enum class Layout : std::uint8_t { channels_first, channels_last, onnxruntime };
/// The layouts of our own plans. Of two with the same cost, the first is chosen.
inline constexpr std::array layouts{Layout::channels_first, Layout::channels_last};

class GraphView {
 public:
  explicit GraphView(Layout layout = Layout::channels_first) : layout_(layout) {}
  virtual ~GraphView() = default;
  Layout layout() const { return layout_; }
  /// For a plan in NHWC: whether a leaf is stored in NHWC, and whether an output may have either layout. Both hold for
  /// the border values of a part of a graph that is viewed by itself.
  virtual bool is_image_on_border(PlanValue) const { return false; }
  virtual bool is_output_on_border(PlanValue) const { return false; }
  /// Null for inputs, constants and opaque nodes.
  virtual const Operator* op(PlanNode node) const = 0;
  /// Null for all other nodes. A view without opaque nodes need not override it.
  virtual const Opaque* opaque(PlanNode) const { return nullptr; }
  /// Whether the node needs no work at run time: a leaf of the graph, or something that depends on constants only.
  virtual bool is_free(PlanNode node) const = 0;
  virtual std::size_t operands(PlanNode node) const = 0;
  /// `no_plan_value` where an opaque node omits an operand.
  virtual PlanValue operand(PlanNode node, std::size_t index) const = 0;
  virtual std::size_t results(PlanNode node) const = 0;
  /// May be `no_plan_value` if the result is unused.
  virtual PlanValue result(PlanNode node, std::size_t index) const = 0;

  virtual PlanNode producer(PlanValue value) const = 0;
  /// The nodes that use a value, each once.
  virtual std::size_t users(PlanValue value) const = 0;
  virtual PlanNode user(PlanValue value, std::size_t index) const = 0;
  virtual bool is_output(PlanValue value) const = 0;
  virtual bool is_weight(PlanValue value) const = 0;  ///< depends on constants only
  /// The content of a constant with a single element, if the view knows it.
  virtual std::optional<double> number(PlanValue) const { return std::nullopt; }
  virtual ElementType element(PlanValue value) const = 0;
  /// Null if the rank is unknown. Unknown dimensions have the sizes assumed for pricing.
  virtual const Extents* extents(PlanValue value) const = 0;

  /// Whether kernels end at this value (see cuts.h).
  bool is_cut(PlanValue value) const { return place(value) < cuts_.size() && cuts_[place(value)]; }
  const std::vector<bool>& cuts() const { return cuts_; }
  void set_cuts(std::vector<bool> cuts) { cuts_ = std::move(cuts); }

  /// Must be called after every change of the graph.
  void forget() const { ++time_; }

 private:
  friend bool is_image(const GraphView& view, PlanValue value);  // see movement.h
  friend std::vector<std::int64_t> strides_in_memory(const GraphView& view, PlanValue value);
  friend PlanNode root_of_concats(const GraphView& view, PlanNode concat);
  friend PlanNode root_of_splits(const GraphView& view, PlanNode split);
  friend PlanValue corrected_value(const GraphView& view, PlanNode root);  // see cover.h
  friend PlanValue covered_value(const GraphView& view, PlanNode root);
  friend bool is_overwritten(const GraphView& view, PlanValue value);
  struct Known {
    std::uint32_t time = 0;
    bool is_image = false;
  };
  struct KnownStrides {
    std::uint32_t time = 0;
    std::vector<std::int64_t> strides;
  };
  struct KnownRoot {
    std::uint32_t time = 0;
    PlanNode root = no_plan_node;
  };
  struct KnownCover {
    enum class State : std::uint8_t { corrected, asked, covered };
    std::uint32_t time = 0;
    State state = State::corrected;
    PlanValue corrected = no_plan_value, covered = no_plan_value;
  };
  struct KnownOverwritten {
    std::uint32_t time = 0;
    bool is_overwritten = false;
  };
  /// Follows `next` until it returns `no_plan_node`, and returns the last node. Caches the result for every node on the
  /// way: in a long chain, every node asks for its end.
  template <class Next>
  PlanNode end_of_row(PlanNode node, const Next& next) const;
  Layout layout_;
  std::vector<bool> cuts_;  // by value; missing values at the end are not cut
  mutable std::uint32_t time_ = 1;
  mutable std::vector<Known> known_images_;  // by value
  mutable std::vector<KnownStrides> known_strides_;
  mutable std::vector<KnownRoot> known_roots_;    // of concats and splits, by node
  mutable std::vector<KnownCover> known_covers_;  // of concats, by root
  mutable std::vector<KnownOverwritten> known_overwritten_;
};

/// The sizes of unknown dimensions for pricing. If empty, they are 1.
using DimensionSizes = std::function<std::int64_t(std::string_view)>;

struct PlanOptions {
  DimensionSizes sizes;  ///< of unknown dimensions; 1 if empty
  Layout layout = Layout::channels_first;
};

/// The extents of values, each computed once.
class ExtentsTable {
 public:
  explicit ExtentsTable(DimensionSizes sizes = {}) : sizes_(std::move(sizes)) {}
  const Extents* of(std::size_t place, const Type& type) const;
  std::int64_t size(const Dim& dim) const;

 private:
  DimensionSizes sizes_;
  mutable std::vector<const Extents*> known_;
  mutable std::deque<Extents> extents_;
};

/// Whether an opaque operator gives a weight if all of its operands are weights. It is computed once, when a plan is
/// prepared; the model still contains the node.
bool gives_weights(const Opaque& opaque);

/// The content of a node that is a constant with a single element.
std::optional<double> number_of(const Node& node);

/// A finished graph.
class WholeGraph : public GraphView {
 public:
  explicit WholeGraph(const Graph& graph, DimensionSizes sizes = {}, Layout layout = Layout::channels_first);

  /// Nodes are sorted: operands come first.
  std::size_t nodes() const { return nodes_.size(); }
  const Node& node(PlanNode node) const { return *nodes_[place(node)].node; }
  Value value(PlanValue value) const { return values_[place(value)].value; }
  /// `no_plan_value` if no output needs it.
  PlanValue find(const Value& value) const;
  std::size_t values() const { return values_.size(); }
  /// The size assumed for a dimension.
  std::int64_t size(const Dim& dim) const { return extents_.size(dim); }

  const Operator* op(PlanNode node) const override { return this->node(node).as_operator(); }
  const Opaque* opaque(PlanNode node) const override { return this->node(node).as_opaque(); }
  bool is_free(PlanNode node) const override { return nodes_[place(node)].is_free; }
  std::size_t operands(PlanNode node) const override { return this->node(node).inputs().size(); }
  PlanValue operand(PlanNode node, std::size_t index) const override { return nodes_[place(node)].operands[index]; }
  std::size_t results(PlanNode node) const override { return this->node(node).outputs().size(); }
  PlanValue result(PlanNode node, std::size_t index) const override {
    return PlanValue{nodes_[place(node)].first_result + static_cast<std::uint32_t>(index)};
  }
  PlanNode producer(PlanValue value) const override { return values_[place(value)].producer; }
  std::size_t users(PlanValue value) const override { return values_[place(value)].users.size(); }
  PlanNode user(PlanValue value, std::size_t index) const override { return values_[place(value)].users[index]; }
  bool is_output(PlanValue value) const override { return values_[place(value)].is_output; }
  bool is_weight(PlanValue value) const override { return nodes_[place(producer(value))].is_weight; }
  std::optional<double> number(PlanValue value) const override { return number_of(node(producer(value))); }
  ElementType element(PlanValue value) const override { return this->value(value).type().element; }
  const Extents* extents(PlanValue value) const override {
    return extents_.of(place(value), this->value(value).type());
  }

 private:
  struct NodeEntry {
    const Node* node = nullptr;
    bool is_free = false, is_weight = false;
    std::uint32_t first_result = 0;
    std::vector<PlanValue> operands;
  };
  struct ValueEntry {
    Value value;
    PlanNode producer{};
    bool is_output = false;
    std::vector<PlanNode> users;
  };
  std::shared_ptr<Pool> pool_;
  std::vector<NodeEntry> nodes_;
  std::vector<ValueEntry> values_;
  std::unordered_map<const Node*, PlanNode> places_;
  ExtentsTable extents_;
};

/// The extent of a value along an axis.
inline std::int64_t extent(const GraphView& view, PlanValue value, std::int64_t axis) {
  return (*view.extents(value))[static_cast<std::size_t>(axis)];
}

}  // namespace taso::cost
