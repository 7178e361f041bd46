#include "generator/enumerate.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ops/error.h"

namespace taso {
namespace {

using ValueId = std::uint32_t;
using NodeSet = std::vector<std::uint32_t>;  // sorted

constexpr std::size_t most_operands = 3;

/// How a value is computed, and which operators that takes.
struct Value {
  std::uint16_t schema = SmallTerm::Node::input;
  std::uint8_t output = 0, size = 0, operand_count = 0;
  std::array<ValueId, most_operands> operands{};
  NodeSet nodes;
  std::vector<std::uint8_t> uses;  ///< inputs in the order of first use
  double graphs = 1;
  Item item;
};

/// A term of the last level: nothing is built on it, so that how it is computed is all there is to keep.
struct LastTerm {
  std::uint16_t schema = 0;
  std::uint8_t output = 0, operand_count = 0;
  std::array<ValueId, most_operands> operands{};
};

std::size_t union_size(const NodeSet& a, const NodeSet& b) {
  std::size_t shared = 0;
  for (auto i = a.begin(), k = b.begin(); i != a.end() && k != b.end();) {
    if (*i == *k) ++shared;
    if (*i < *k)
      ++i;
    else
      ++k;
  }
  return a.size() + b.size() - shared;
}

class Enumerator {
 public:
  Enumerator(const Family& family, const EnumerateOptions& options)
      : family_(family), options_(options), world_(family, false, options.seed) {}

  Enumeration run() {
    add_inputs();
    for (level_ = 1; level_ <= options_.max_operators && !is_over(); ++level_) {
      is_last_ = level_ == options_.max_operators;
      by_size_.resize(level_ + 1);
      index_nodes();
      apply_constants();
      apply_unary();
      apply_pairs();
      if (options_.watch) options_.watch(level_, values_.size() + last_.size());
    }
    result_.complete = !is_over();
    result_.values = values_.size() + last_.size();
    result_.memory = memory();
    return std::move(result_);
  }

 private:
  bool is_over() const { return options_.stop.stop_requested(); }

  std::size_t memory() const {
    return values_.size() * (sizeof(Value) + 200) + item_bytes_ + last_.size() * sizeof(LastTerm) +
           table_.size() * (sizeof(Fingerprint) + sizeof(ValueId) + 24) + seen_.size() * 48;
  }

  void add_inputs() {
    by_size_.resize(1);
    for (std::size_t i = 0; i < world_.inputs(); ++i) {
      Value value;
      value.operands[0] = static_cast<ValueId>(i);
      value.uses = {static_cast<std::uint8_t>(i)};
      value.item = world_.input(i);
      table_.emplace(fingerprint(value.item), static_cast<ValueId>(values_.size()));
      by_size_[0].push_back(static_cast<ValueId>(values_.size()));
      values_.push_back(std::move(value));
    }
  }

  void index_nodes() {
    by_nodes_.clear();
    by_node_.clear();
    for (ValueId id = 0; id < values_.size(); ++id) {
      if (values_[id].size == 0) continue;
      by_nodes_[values_[id].nodes].push_back(id);
      for (const std::uint32_t node : values_[id].nodes) by_node_[node].push_back(id);
    }
  }

  // --- Which operands meet ---

  void apply_constants() {
    if (level_ != 1) return;
    for (std::size_t s = 0; s < family_.schemas.size(); ++s)
      if (family_.schemas[s].operands == 0) apply(s, {});
  }

  void apply_unary() {
    const std::vector<ValueId> operands = by_size_[level_ - 1];
    for (std::size_t s = 0; s < family_.schemas.size(); ++s) {
      if (family_.schemas[s].operands != 1) continue;
      for (const ValueId operand : operands) {
        if (is_over()) return;
        apply(s, {operand});
      }
    }
  }

  void apply_pairs() {
    const std::size_t size = level_ - 1;  // of the union of both operands
    for (std::size_t i = 0; i <= size; ++i) {
      const std::vector<ValueId> left = by_size_[i], right = by_size_[size - i];
      for (const ValueId a : left) {
        if (is_over()) return;
        for (const ValueId b : right)
          if (i == 0 || i == size || union_size(values_[a].nodes, values_[b].nodes) == size) apply_pair(a, b);
      }
    }
    // Operands that share operators.
    const std::vector<ValueId> whole = by_size_[size];
    if (size > 0)
      for (const ValueId a : whole) {
        if (is_over()) return;
        for_each_subset(NodeSet(values_[a].nodes), [&](const NodeSet& subset) {
          const auto found = by_nodes_.find(subset);
          if (found == by_nodes_.end()) return;
          for (const ValueId b : std::vector<ValueId>(found->second)) {
            apply_pair(a, b);
            if (subset.size() < size) apply_pair(b, a);
          }
        });
      }
    for (std::size_t i = 2; i < size; ++i)
      for (const ValueId a : std::vector<ValueId>(by_size_[i])) {
        if (is_over()) return;
        for (const std::uint32_t node : NodeSet(values_[a].nodes))
          for (const ValueId b : std::vector<ValueId>(by_node_[node])) {
            const NodeSet &left = values_[a].nodes, &right = values_[b].nodes;
            if (right.size() >= size || right.size() < 2 || union_size(left, right) != size) continue;
            // Only at the first of the operators that they share.
            NodeSet shared;
            std::set_intersection(left.begin(), left.end(), right.begin(), right.end(), std::back_inserter(shared));
            if (shared.front() == node) apply_pair(a, b);
          }
      }
  }

  template <class F>
  static void for_each_subset(const NodeSet& nodes, F&& f) {
    for (std::size_t bits = 1; bits < (std::size_t{1} << nodes.size()); ++bits) {
      NodeSet subset;
      for (std::size_t i = 0; i < nodes.size(); ++i)
        if (bits >> i & 1) subset.push_back(nodes[i]);
      f(subset);
    }
  }

  void apply_pair(ValueId a, ValueId b) {
    for (std::size_t s = 0; s < family_.schemas.size(); ++s) {
      const Schema& schema = family_.schemas[s];
      if (schema.operands == 2) {
        // One order is enough, but that there are two is worth a rule.
        if (schema.commutes && a > b && (values_[a].size > 0 || values_[b].size > 0)) continue;
        apply(s, {a, b});
      } else if (schema.operands == 3) {
        for (const ValueId bias : by_size_[0])
          if (values_[bias].item.tensor.extents.size() == 1) apply(s, {a, b, bias});
      }
    }
  }

  // --- What comes of it ---

  /// In the last level, terms that differ from another by the names of inputs only are left out.
  bool has_canonical_uses(const std::vector<ValueId>& operands) const {
    std::vector<std::uint8_t> next(family_.inputs.size(), 0);
    std::uint64_t seen = 0;
    for (const ValueId operand : operands)
      for (const std::uint8_t input : values_[operand].uses) {
        if (seen >> input & 1) continue;
        seen |= std::uint64_t{1} << input;
        const std::size_t kind = world_.kind_of(input);
        if (input != first_of(kind) + next[kind]) return false;
        ++next[kind];
      }
    return true;
  }
  std::size_t first_of(std::size_t kind) const {
    std::size_t first = 0;
    for (std::size_t k = 0; k < kind; ++k) first += family_.inputs[k].count;
    return first;
  }

  void apply(std::size_t schema, const std::vector<ValueId>& operands) {
    if (is_last_ && level_ >= 4 && !has_canonical_uses(operands)) return;
    std::array<const Item*, most_operands> items{};
    for (std::size_t i = 0; i < operands.size(); ++i) items[i] = &values_[operands[i]].item;
    auto results = world_.apply(family_.schemas[schema], std::span(items.data(), operands.size()));
    if (!results) return;
    ++result_.evaluations;
    for (const Item& item : *results)
      if (is_zero(item.tensor.data)) return;
    double graphs = 1;
    for (const ValueId operand : operands) graphs *= values_[operand].graphs;
    result_.graphs += graphs;

    const std::uint32_t node = next_node_++;
    std::vector<std::optional<ValueId>> known;
    std::vector<Fingerprint> keys;
    for (const Item& item : *results) {
      keys.push_back(fingerprint(item));
      const auto found = table_.find(keys.back());
      known.push_back(found == table_.end() ? std::nullopt : std::optional(found->second));
    }
    const LastTerm how{static_cast<std::uint16_t>(schema), 0, static_cast<std::uint8_t>(operands.size()),
                       operand_array(operands)};
    for (std::size_t output = 0; output < results->size(); ++output) {
      LastTerm term = how;
      term.output = static_cast<std::uint8_t>(output);
      if (known[output]) {
        if (*known[output] < values_.size() && values_[*known[output]].size == level_)
          values_[*known[output]].graphs += graphs;
        note_equality({*known[output]}, {term});
      } else {
        keep(term, operands, node, std::move((*results)[output]), keys[output], graphs);
      }
    }
    if (known.size() == 2 && known[0] && known[1]) {
      LastTerm first = how, second = how;
      second.output = 1;
      note_equality({*known[0], *known[1]}, {first, second});
    }
  }

  static std::array<ValueId, most_operands> operand_array(const std::vector<ValueId>& operands) {
    std::array<ValueId, most_operands> result{};
    std::copy(operands.begin(), operands.end(), result.begin());
    return result;
  }

  void keep(const LastTerm& term, const std::vector<ValueId>& operands, std::uint32_t node, Item item,
            const Fingerprint& key, double graphs) {
    if (is_last_) {
      table_.emplace(key, last_base + static_cast<ValueId>(last_.size()));
      last_.push_back(term);
    } else {
      Value value{
          term.schema, term.output,    static_cast<std::uint8_t>(level_), term.operand_count, term.operands, {}, {},
          graphs,      std::move(item)};
      value.nodes = {node};
      for (const ValueId operand : operands) {
        NodeSet both;
        std::set_union(value.nodes.begin(), value.nodes.end(), values_[operand].nodes.begin(),
                       values_[operand].nodes.end(), std::back_inserter(both));
        value.nodes = std::move(both);
        for (const std::uint8_t input : values_[operand].uses)
          if (std::find(value.uses.begin(), value.uses.end(), input) == value.uses.end()) value.uses.push_back(input);
      }
      const auto id = static_cast<ValueId>(values_.size());
      table_.emplace(key, id);
      by_size_[level_].push_back(id);
      item_bytes_ += value.item.tensor.data.size() * sizeof(Field) + 64;
      values_.push_back(std::move(value));
    }
    if ((++kept_ & 0xffff) == 0 && memory() > options_.memory_limit)
      throw EnvironmentError("the memory limit is too small for this many operators");
  }

  // --- Equalities ---

  /// Copies terms out of the tables; operators of one side that are one are copied once.
  class Copy {
   public:
    Copy(const Enumerator& owner) : owner_(owner) {}
    std::uint8_t add(ValueId id) {
      const auto known = places_.find(id);
      if (known != places_.end()) return known->second;
      SmallTerm::Node node;
      if (id >= last_base) {
        node = of(owner_.last_[id - last_base]);
      } else {
        const Value& value = owner_.values_[id];
        if (value.schema == SmallTerm::Node::input) {
          node.place = static_cast<std::uint16_t>(value.operands[0]);
          operators_.emplace_back();
        } else {
          node = of({value.schema, value.output, value.operand_count, value.operands});
          operators_.push_back(id);
        }
      }
      return push(id, std::move(node));
    }
    std::uint8_t add(const LastTerm& term) { return push(~ValueId{0} - term.output, of(term)); }
    SmallTerm term() const { return {nodes_}; }

   private:
    SmallTerm::Node of(const LastTerm& term) {
      SmallTerm::Node node;
      node.schema = term.schema;
      node.output = term.output;
      for (std::size_t i = 0; i < term.operand_count; ++i) node.operands.push_back(add(term.operands[i]));
      return node;
    }
    std::uint8_t push(ValueId id, SmallTerm::Node node) {
      nodes_.push_back(std::move(node));
      const auto place = static_cast<std::uint8_t>(nodes_.size() - 1);
      places_.emplace(id, place);
      return place;
    }
    const Enumerator& owner_;
    std::map<ValueId, std::uint8_t> places_;
    std::vector<std::optional<ValueId>> operators_;
    std::vector<SmallTerm::Node> nodes_;
  };

  void note_equality(const std::vector<ValueId>& known, const std::vector<LastTerm>& terms) {
    ++result_.equalities;
    Equality equality;
    for (const ValueId id : known) {
      Copy copy(*this);
      copy.add(id);
      equality.left.push_back(copy.term());
    }
    for (const LastTerm& term : terms) {
      Copy copy(*this);
      copy.add(term);
      equality.right.push_back(copy.term());
    }
    if (equality.left == equality.right) return;
    equality = with_canonical_inputs(equality, world_);
    std::string key;
    const auto append = [&](const std::vector<SmallTerm>& side) {
      for (const SmallTerm& term : side)
        for (const SmallTerm::Node& node : term.nodes) {
          key.push_back(static_cast<char>(node.schema & 0xff));
          key.push_back(static_cast<char>(node.output));
          key.push_back(static_cast<char>(node.place));
          key.append(node.operands.begin(), node.operands.end());
          key.push_back('\xff');
        }
      key.push_back('\xfe');
    };
    append(equality.left);
    append(equality.right);
    if (seen_.insert(std::hash<std::string>{}(key)).second) result_.candidates.push_back(std::move(equality));
  }

  static constexpr ValueId last_base = ValueId{1} << 31;

  const Family& family_;
  const EnumerateOptions& options_;
  World world_;
  Enumeration result_;
  std::vector<Value> values_;
  std::vector<LastTerm> last_;
  std::unordered_map<Fingerprint, ValueId, HashFingerprint> table_;
  std::vector<std::vector<ValueId>> by_size_;
  std::map<NodeSet, std::vector<ValueId>> by_nodes_;
  std::unordered_map<std::uint32_t, std::vector<ValueId>> by_node_;
  std::unordered_set<std::size_t> seen_;
  std::size_t level_ = 0, item_bytes_ = 0, kept_ = 0;
  std::uint32_t next_node_ = 0;
  bool is_last_ = false;
};

}  // namespace

std::size_t SmallTerm::operators() const {
  std::set<std::pair<std::uint16_t, std::vector<std::uint8_t>>> all;  // the results of a split are of one operator
  for (const Node& node : nodes)
    if (node.schema != Node::input) all.emplace(node.schema, node.operands);
  return all.size();
}

std::size_t Equality::operators() const {
  std::size_t count = 0;
  for (const auto* side : {&left, &right})
    for (const SmallTerm& term : *side) count += term.operators();
  return count;
}

Enumeration enumerate(const Family& family, const EnumerateOptions& options) {
  return Enumerator(family, options).run();
}

std::optional<Item> evaluate(const SmallTerm& term, const World& world) {
  std::vector<Item> items;
  for (const SmallTerm::Node& node : term.nodes) {
    if (node.schema == SmallTerm::Node::input) {
      items.push_back(world.input(node.place));
      continue;
    }
    std::vector<const Item*> operands;
    for (const std::uint8_t operand : node.operands) operands.push_back(&items[operand]);
    auto results = world.apply(world.family().schemas[node.schema], operands);
    if (!results) return std::nullopt;
    items.push_back(std::move((*results)[node.output]));
  }
  return std::move(items.back());
}

Equality with_canonical_inputs(const Equality& equality, const World& world) {
  Equality result = equality;
  std::map<std::uint16_t, std::uint16_t> renamed;
  std::vector<std::uint16_t> next;
  std::size_t first = 0;
  for (const InputKind& kind : world.family().inputs) {
    next.push_back(static_cast<std::uint16_t>(first));
    first += kind.count;
  }
  for (auto* side : {&result.left, &result.right})
    for (SmallTerm& term : *side)
      for (SmallTerm::Node& node : term.nodes) {
        if (node.schema != SmallTerm::Node::input) continue;
        const auto [slot, fresh] = renamed.try_emplace(node.place, 0);
        if (fresh) slot->second = next[world.kind_of(node.place)]++;
        node.place = slot->second;
      }
  return result;
}

}  // namespace taso
