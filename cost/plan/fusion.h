// Which operators one kernel takes together. Every answer depends on what is near, so that after a local change only what
// is near has to be asked again.
//
// - An element-wise operator joins the convolution, matmul, reduction or element-wise operator that gives it an operand of
//   its result's shape, if it is the only one to use it. So chains form. A convolution or matmul takes at most six of them,
//   which together read at most one tensor that is computed at run time (the residual); what comes after that in the chain
//   starts a kernel of its own.
// - Where several element-wise operators use the result of such a chain of a convolution or matmul, the kernel that takes all of
//   them goes along with it, if each of its operators works on that result, in its shape: gelu, written out, needs its operand
//   twice. Both together have at most twelve such operators and one residual.
// - A chain that starts with an element-wise operator and ends where only a reduction, or an operator of another such
//   kernel, reads it goes into that kernel.
// - Concats of concats along one axis are one concat, splits of splits one split.
//
// What moves data is free where movement.h says so.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "cost/plan/kernel.h"

namespace taso::cost {

inline constexpr std::size_t longest_epilogue = 6, longest_branching_epilogue = 12;

/// The nodes that a change of a graph may give other prices, each once: see Fusion::affected.
class Affected {
 public:
  const std::vector<PlanNode>& nodes() const { return nodes_; }
  /// `changes`: at most so many nodes are taken away, and so many come; as many as there are, if that is not known.
  void clear(std::size_t changes = std::numeric_limits<std::size_t>::max());
  /// Keeps the nodes, but what is near is looked at again: the graph is another one.
  void next_graph() { ++graph_; }

 private:
  friend class Fusion;
  void add(PlanNode node);
  /// Whether it is the first time in this graph.
  bool begin(PlanNode node) { return mark(begun_nodes_, place(node), graph_); }
  bool begin(PlanValue value) { return mark(begun_values_, place(value), graph_); }
  bool begin_layout(PlanValue value) { return mark(begun_layouts_, place(value), graph_); }
  bool begin_concats(PlanNode root) { return mark(begun_concats_, place(root), graph_); }
  /// Whether products have not yet been looked for from this node as far.
  bool begin_products(PlanNode node, std::size_t furthest);
  static bool mark(std::vector<std::uint32_t>& marks, std::size_t at, std::uint32_t by);

  std::vector<PlanNode> nodes_;
  std::vector<std::uint32_t> added_, begun_nodes_, begun_values_, begun_layouts_, begun_concats_;
  struct Products {
    std::uint32_t graph = 0;
    std::size_t furthest = 0;
  };
  std::vector<Products> begun_products_;
  std::uint32_t graph_ = 1, change_ = 1;
  std::size_t changes_ = std::numeric_limits<std::size_t>::max();
};

/// It remembers what it found out, until it is told that the graph has changed.
class Fusion {
 public:
  explicit Fusion(const GraphView& view) : view_(view) { view_.forget(); }
  void forget();

  /// The node that the kernel which takes `node` is known by; `no_plan_node` if no kernel does.
  PlanNode leader(PlanNode node) const;
  /// The kernel of a node that is its own leader.
  Kernel kernel(PlanNode leader) const;
  /// What copies a value into the layout in which it does not lie.
  Kernel conversion(PlanValue value) const;
  /// What the kernel costs that is known by this node, and the conversions of its results. The cost of a graph is the sum over
  /// its nodes.
  Cost price(PlanNode node, const KernelPrices& prices) const;
  /// Adds the nodes whose price may depend on `changed` being there, or on who uses the value. What a change of the graph
  /// costs is the difference of the prices of the nodes that are added before it, for what it takes away, or after it, for
  /// what it adds; a value counts as both where it becomes, or is no longer, an output of the graph.
  void affected(PlanNode changed, Affected& nodes) const;
  void affected(PlanValue changed, Affected& nodes) const;
  /// The same for a value that lies in another layout afterwards, which everything does that is computed from it element by
  /// element. To be asked besides for each value that is in the graph before and after, if is_image() differs.
  void affected_by_layout(PlanValue changed, Affected& nodes) const;

 private:
  struct Segment {
    std::vector<PlanNode> nodes;
    PlanNode head() const { return nodes.front(); }
    PlanNode tail() const { return nodes.back(); }
    mutable std::optional<PlanNode> absorber, product;  // once they are known
    mutable const Segment* last = nullptr;              // of those that go into one another, once it is known
  };
  bool is_element_wise(PlanNode node) const;
  bool can_lead_chain(PlanNode node) const;
  /// The operand through which an element-wise operator joins its producer; operands() if there is none.
  std::size_t link(PlanNode node) const;
  /// The node that continues the chain after this one.
  PlanNode next(PlanNode node) const;
  bool takes(const Segment& segment, PlanNode node) const;
  std::vector<PlanNode> chain(PlanNode node) const;
  const Segment& segment_of(PlanNode node) const;
  /// The node into whose kernel the whole segment goes.
  PlanNode absorber(const Segment& segment) const;
  PlanNode find_absorber(const Segment& segment) const;
  /// Whether concats, or splits, that are one need no kernel: all lies where it should. Of a root.
  bool is_free_root(PlanNode root) const;
  /// The last of the segments that go into one another.
  const Segment& last_segment(PlanNode node) const;
  /// The convolution or matmul with whose kernel goes the one that this segment ends.
  PlanNode product_of(const Segment& segment) const;
  PlanNode find_product(const Segment& segment) const;
  bool goes_with(const Segment& product, const std::vector<PlanNode>& members) const;
  PlanNode leader_of_chain(PlanNode node) const;
  void collect(const Segment& segment, std::vector<PlanNode>& nodes) const;
  void add_chain(PlanNode node, Affected& nodes) const;
  /// Those with which the kernel that takes a node may go, or may have gone.
  void add_products(PlanNode node, std::size_t furthest, Affected& nodes) const;
  /// Whether so many use a value, however the graph changes, that its users are priced as they are without regard to each other.
  bool has_users_enough(PlanValue value, std::size_t changes) const;
  /// Whether what shows this value in another way has to copy it may depend on how it lies.
  void add_moved(PlanValue value, Affected& nodes) const;

  const GraphView& view_;
  mutable std::deque<Segment> segments_;
  struct Known {
    std::uint32_t time = 0, segment = 0;
  };
  mutable std::vector<Known> known_;  // by node
  struct KnownRoot {
    std::uint32_t time = 0;
    bool is_free = false;
  };
  mutable std::vector<KnownRoot> known_roots_;  // by node
  std::uint32_t time_ = 1;
};

}  // namespace taso::cost
