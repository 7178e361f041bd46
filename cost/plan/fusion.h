// Decides which operators share one kernel. Every decision depends on nearby nodes only, so that a local change of the
// graph needs only local updates.
//
// - An element-wise operator joins the convolution, matmul, reduction or element-wise operator that produces an operand
//   of the same shape as its result, if it is the only user of that operand. Chains form this way. A convolution or
//   matmul takes at most six element-wise operators, which together read at most one tensor computed at run time (the
//   residual); the rest of the chain starts a kernel of its own.
// - An element-wise operator that has no such operand joins the reduction whose results, or what was computed from them
//   element by element, it spreads over the reduced rows again (spread.h).
// - If several element-wise operators use the result of such a convolution or matmul chain, the kernel that takes all
//   of them is merged with it, provided that each of its operators works on that result, in its shape: a decomposed
//   gelu uses its operand twice. Together they have at most twelve such operators and one residual.
// - A chain that starts with an element-wise operator and is read only by a reduction, or by one operator of another
//   such kernel, joins that kernel.
// - A product, the softmax of its rows and a product with the result are one kernel, attention, if nothing else uses
//   what lies between them. Element-wise operators before the softmax belong to it; none follow the second product.
//   Numbers by which factors of the first product are multiplied belong to it too, if nothing is fused with them.
//   Where(IsNaN(p), 0, p) after a softmax p belongs to its kernel (attention_form.h), and so does an Expand that
//   repeats heads of keys or values (repeated_heads.h).
// - Concats of concats along one axis are one concat; splits of splits are one split. Concats that correct a value
//   (cover.h) take the concats, along any axis, that correct it before.
//
// movement.h says where moving data is free.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <vector>

#include "cost/plan/kernel.h"

namespace taso::cost {

inline constexpr std::size_t longest_epilogue = 6, longest_branching_epilogue = 12;

/// The nodes whose prices may change with a change of the graph, each once: see Fusion::affected.
class Affected {
 public:
  const std::vector<PlanNode>& nodes() const { return nodes_; }
  /// `changes`: an upper bound on the nodes removed, and on the nodes added. The default means unknown.
  void clear(std::size_t changes = std::numeric_limits<std::size_t>::max());
  /// Keeps the nodes, but visits their neighbours again, because the graph has changed.
  void next_graph() { ++graph_; }

 private:
  friend class Fusion;
  void add(PlanNode node);
  /// Whether this is the first visit in this graph.
  bool begin(PlanNode node) { return mark(begun_nodes_, place(node), graph_); }
  bool begin(PlanValue value) { return mark(begun_values_, place(value), graph_); }
  bool begin_layout(PlanValue value) { return mark(begun_layouts_, place(value), graph_); }
  bool begin_concats(PlanNode root) { return mark(begun_concats_, place(root), graph_); }
  bool begin_softmax(PlanNode softmax) { return mark(begun_softmaxes_, place(softmax), graph_); }
  /// Whether add_products, or add_attention, has not been here yet with a limit of `furthest` or more.
  bool begin_products(PlanNode node, std::size_t furthest) { return begin(begun_products_, node, furthest); }
  bool begin_scores(PlanNode node, std::size_t furthest) { return begin(begun_scores_, node, furthest); }
  static bool mark(std::vector<std::uint32_t>& marks, std::size_t at, std::uint32_t by);

  std::vector<PlanNode> nodes_;
  std::vector<std::uint32_t> added_, begun_nodes_, begun_values_, begun_layouts_, begun_concats_, begun_softmaxes_;
  struct Limited {
    std::uint32_t graph = 0;
    std::size_t furthest = 0;
  };
  bool begin(std::vector<Limited>& begun, PlanNode node, std::size_t furthest) const;
  std::vector<Limited> begun_products_, begun_scores_;
  std::uint32_t graph_ = 1, change_ = 1;
  std::size_t changes_ = std::numeric_limits<std::size_t>::max();
};

/// Answers questions about fusion. Caches its answers until forget() says that the graph has changed.
class Fusion {
 public:
  explicit Fusion(const GraphView& view) : view_(view) { view_.forget(); }
  void forget();

  /// The node that represents the kernel containing `node`; `no_plan_node` if no kernel does.
  PlanNode leader(PlanNode node) const;
  /// The kernel represented by `leader`, which is its own leader.
  Kernel kernel(PlanNode leader) const;
  /// The kernel that copies a value into the other layout.
  Kernel conversion(PlanValue value) const;
  /// The price of the kernel represented by this node, plus the conversions of its results. The cost of a graph is the
  /// sum over its nodes.
  Cost price(PlanNode node, const KernelPrices& prices) const;
  /// Adds the nodes whose prices may depend on the existence of `changed`, or on the users of the value. Call it before
  /// the change for everything that is removed, and after the change for everything that is added; the cost of the
  /// change is the difference of the prices of all nodes added at either time. A value counts as removed and added if
  /// it becomes, or ceases to be, an output of the graph.
  void affected(PlanNode changed, Affected& nodes) const;
  void affected(PlanValue changed, Affected& nodes) const;
  /// The same for a value whose layout changes, and with it the layout of everything computed from it element by
  /// element. Call it in addition for each value that exists before and after the change and for which is_image()
  /// differs.
  void affected_by_layout(PlanValue changed, Affected& nodes) const;

 private:
  struct Segment {
    std::vector<PlanNode> nodes;
    PlanNode head() const { return nodes.front(); }
    PlanNode tail() const { return nodes.back(); }
    mutable std::optional<PlanNode> absorber, product;  // cached
    mutable const Segment* last = nullptr;              // cached: the last of the segments that merge into one another
  };
  /// Attention that one kernel computes; the second product represents it.
  struct Attention {
    PlanNode first = no_plan_node, softmax = no_plan_node, second = no_plan_node;
    std::vector<PlanNode> scales;    ///< of the factors of the first product
    std::vector<PlanNode> repeated;  ///< which repeat heads of keys and values
    std::vector<PlanNode> nodes;     ///< all but a transpose of the result
  };
  std::optional<Attention> attention_of(PlanNode softmax) const;
  bool are_fit(const Attention& found) const;
  /// The node that multiplies this factor of a product by a number and does nothing else, or `no_plan_node`.
  PlanNode scale_before(PlanNode product, std::size_t factor) const;
  /// The nodes that repeat heads of keys or values, where the kernel needs no copies of them.
  std::vector<PlanNode> repeated_in(const Attention& found) const;
  /// The attention that reads what this node repeats without a copy: its second product, or `no_plan_node`.
  PlanNode attention_repeating(PlanNode node) const;
  /// The softmax with which a kernel could be attention, if its head is a softmax or a product; or `no_plan_node`.
  PlanNode softmax_near(PlanNode head) const;
  /// The attention that takes the kernel with this head.
  std::optional<Attention> attention_around(PlanNode head) const;
  /// Whether this product is the second of attention.
  bool is_second(PlanNode product) const;
  /// Adds what may be, or may have been, a part of attention to which this node belongs, or which reads it.
  void add_attention(PlanNode node, std::size_t furthest, Affected& nodes) const;
  void add_softmax(PlanNode softmax, Affected& nodes) const;
  void add_products_before(PlanNode node, std::size_t furthest, Affected& nodes) const;
  void add_product_after(PlanNode product, Affected& nodes) const;
  void add_factors(PlanNode product, Affected& nodes) const;
  /// Adds the nodes that may repeat what a factor consists of.
  void add_repetition(PlanValue factor, Affected& nodes) const;
  /// Adds the attention that may read what this node repeats.
  void add_attention_after(PlanNode node, std::size_t furthest, Affected& nodes) const;
  bool is_element_wise(PlanNode node) const;
  bool can_lead_chain(PlanNode node) const;
  /// The operand through which an element-wise operator joins its producer; operands() if there is none.
  std::size_t link(PlanNode node) const;
  /// The first node of the chain of this one.
  PlanNode top_of_chain(PlanNode node) const;
  /// The node that continues the chain after this one.
  PlanNode next(PlanNode node) const;
  bool takes(const Segment& segment, PlanNode node) const;
  std::vector<PlanNode> chain(PlanNode node) const;
  const Segment& segment_of(PlanNode node) const;
  /// The node whose kernel absorbs the whole segment.
  PlanNode absorber(const Segment& segment) const;
  PlanNode find_absorber(const Segment& segment) const;
  /// Whether the concats or splits of this root need no kernel because everything already lies in place.
  bool is_free_root(PlanNode root) const;
  /// The root of the concats whose kernel copies what these concats do not find in place; `no_plan_node` if nothing
  /// needs to be copied.
  PlanNode leader_of_concats(PlanNode root) const;
  /// The root of the concats that make the value that these correct, if one kernel copies for both; or `no_plan_node`.
  PlanNode concats_covered_by(PlanNode root) const;
  /// The last of the segments that merge into one another.
  const Segment& last_segment(PlanNode node) const;
  /// The convolution or matmul whose kernel absorbs the kernel that this segment ends.
  PlanNode product_of(const Segment& segment) const;
  PlanNode find_product(const Segment& segment) const;
  bool goes_with(const Segment& product, const std::vector<PlanNode>& members) const;
  PlanNode leader_of_chain(PlanNode node) const;
  void collect(const Segment& segment, std::vector<PlanNode>& nodes) const;
  void add_chain(PlanNode node, Affected& nodes) const;
  /// Adds the convolutions and matmuls whose kernels may absorb, or may have absorbed, the kernel of a node.
  void add_products(PlanNode node, std::size_t furthest, Affected& nodes) const;
  /// Whether a value keeps so many users, whatever changes, that the price of each user does not depend on the others.
  bool has_users_enough(PlanValue value, std::size_t changes) const;
  /// Adds the nodes whose need to copy may depend on where this value lies.
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
