#include "generator/selection/closure.h"

#include <algorithm>

#include "ops/core/error.h"

namespace taso::generator {
namespace {

constexpr std::size_t most_forms = 24;       // results of rewriting a form, on the way
constexpr std::size_t most_matches = 24;     // of one rule at one place
constexpr std::size_t most_visits = 200;     // steps of matching: zero, for one, is computed in thousands of ways
constexpr std::ptrdiff_t most_entries = 12;  // of one value and schema
constexpr std::size_t most_nodes = 24;       // of a term
constexpr std::uint64_t any_schema = 0xff;

std::uint64_t root_key(std::uint64_t schema, std::uint64_t output, std::uint64_t first, std::uint64_t second) {
  return schema << 24 | output << 16 | first << 8 | second;
}

}  // namespace

/// Matches a rewrite and binds its inputs.
class Closure::Match {
 public:
  Match(const Closure& owner, const Rewrite& rule, const Scope& scope, std::vector<Form>& results)
      : owner_(owner), rule_(rule), scope_(scope), results_(results) {}

  void run(const Form& form) {
    values_.fill(Found::none);
    choose(rule_.from.nodes.size() - 1, form, 0);
  }

 private:
  /// Takes the form for the node, with both orders of its operands if it commutes.
  void choose(std::size_t node, const Form& form, std::size_t next) {
    operands_[node] = form.operands;
    go_on(next);
    if (form.count != 2 || form.operands[0] == form.operands[1] || !owner_.family_.schemas[form.schema].commutes)
      return;
    operands_[node] = {form.operands[1], form.operands[0]};
    go_on(next);
  }

  void go_on(std::size_t at) {
    if (found_ >= most_matches || ++visited_ > most_visits) return;
    if (at == rule_.steps.size()) return instantiate();
    const Visit& step = rule_.steps[at];
    const ValueId id = operands_[step.parent][step.position];
    if (values_[step.node] != Found::none) {
      if (values_[step.node] == id) go_on(at + 1);
      return;
    }
    const SmallTerm::Node& node = rule_.from.nodes[step.node];
    if (node.schema == SmallTerm::Node::input) {
      if (!owner_.may_stand_for(node.place, id)) return;
      values_[step.node] = id;
      go_on(at + 1);
    } else {
      // A bare input is never rewritten.
      if (owner_.values_[id].size == 0 || !owner_.schemas_[id].test(node.schema)) return;
      values_[step.node] = id;
      const auto entries = owner_.entries_of(id);
      auto entry = std::partition_point(entries.begin(), entries.end(),
                                        [&](const Entry& e) { return e.form.schema < node.schema; });
      const auto end = entry + std::min<std::ptrdiff_t>(most_entries, entries.end() - entry);
      for (; entry != end && entry->form.schema == node.schema; ++entry)
        if (entry->form.output == node.output && owner_.may_use(*entry, scope_)) choose(step.node, entry->form, at + 1);
    }
    values_[step.node] = Found::none;
  }

  void instantiate() {
    ++found_;
    const auto& nodes = rule_.to.nodes;
    std::array<ValueId, most_nodes> ids;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].schema == SmallTerm::Node::input) {
        ids[i] = values_[rule_.inputs[nodes[i].place]];
        if (i + 1 == nodes.size()) results_.push_back(owner_.values_[ids[i]].form);
        continue;
      }
      Form form{nodes[i].schema, nodes[i].output, static_cast<std::uint8_t>(nodes[i].operands.size()), {}};
      for (std::size_t k = 0; k < nodes[i].operands.size(); ++k) form.operands[k] = ids[nodes[i].operands[k]];
      form = owner_.normal(form);
      if (i + 1 == nodes.size()) {
        results_.push_back(form);
        return;
      }
      const std::uint32_t entry = owner_.entry_of_.find(form);
      if (entry == owner_.entry_of_.none || !owner_.may_use(owner_.entries_[entry], scope_)) return;
      ids[i] = owner_.entries_[entry].value;
      if (owner_.values_[ids[i]].size > scope_.operators) return;
    }
  }

  const Closure& owner_;
  const Rewrite& rule_;
  const Scope& scope_;
  std::vector<Form>& results_;
  std::array<ValueId, most_nodes> values_;  // of the pattern's nodes
  std::array<std::array<ValueId, Form::most_operands>, most_nodes> operands_;
  std::size_t found_ = 0, visited_ = 0;
};

Closure::Closure(const Family& family, const Enumeration& enumeration, const std::vector<Ranked>& order)
    : family_(family), values_(enumeration.table), order_(order), holds_(order.size(), 0) {
  check(family.schemas.size() < any_schema && family.schemas.size() <= most_schemas, "a family has few schemas");
  joins_.assign(family.schemas.size(), static_cast<std::uint8_t>(any_schema));
  for (std::size_t s = 0; s < family.schemas.size(); ++s)
    if (const auto* split = std::get_if<op::Split>(&family.schemas[s].op))
      for (std::size_t j = 0; j < family.schemas.size(); ++j)
        if (const auto* concat = std::get_if<op::Concat>(&family.schemas[j].op); concat && concat->axis == split->axis)
          joins_[s] = static_cast<std::uint8_t>(j);

  std::unordered_map<std::uint64_t, std::uint32_t> ranks;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Found& found = order[i].found;
    ranks.emplace(values_.shape_of(found.known, found.second, found.form), static_cast<std::uint32_t>(i));
  }
  begins_.assign(values_.size() + 1, 0);
  for (std::size_t id = 0; id < values_.size(); ++id) begins_[id + 1] = 1;
  for (const auto& other : enumeration.forms) ++begins_[other.value + 1];
  for (std::size_t id = 0; id < values_.size(); ++id) begins_[id + 1] += begins_[id];
  entries_.resize(begins_.back());
  std::vector<std::uint64_t> next(begins_.begin(), begins_.end() - 1);
  schemas_.resize(values_.size());
  entry_of_.reserve(entries_.size());
  const auto put = [&](ValueId id, const Form& form, std::uint32_t rank, std::uint8_t level, bool is_first) {
    if (form.schema != Form::input) schemas_[id].set(form.schema);
    entries_[next[id]++] = {form, id, rank, level, is_first};
  };
  for (ValueId id = 0; id < values_.size(); ++id) {
    const Layout& layout = values_.layouts[values_[id].layout];
    roles_.push_back(static_cast<std::uint8_t>(layout.extents.size() * 2 + (layout.is_kernel ? 1 : 0)));
    put(id, values_[id].form, 0, values_[id].size, true);
  }
  for (const auto& [id, form, level] : enumeration.forms) {
    const auto found = ranks.find(values_.shape_of(id, Found::none, form));
    put(id, form, found == ranks.end() ? no_rank : found->second, level, false);
  }
  // Sort by schema, the first form of a value before others, then by rank.
  for (std::size_t id = 0; id < values_.size(); ++id)
    std::stable_sort(entries_.begin() + static_cast<std::ptrdiff_t>(begins_[id]),
                     entries_.begin() + static_cast<std::ptrdiff_t>(begins_[id + 1]),
                     [](const Entry& a, const Entry& b) {
                       return std::tie(a.form.schema, b.is_first, a.rank) < std::tie(b.form.schema, a.is_first, b.rank);
                     });
  for (std::size_t i = 0; i < entries_.size(); ++i) entry_of_.insert(entries_[i].form, static_cast<std::uint32_t>(i));
}

Form Closure::normal(Form form) const {
  if (form.count != 2 || !family_.schemas[form.schema].commutes || form.operands[0] <= form.operands[1]) return form;
  if (values_[form.operands[0]].size > 0 || values_[form.operands[1]].size > 0)
    std::swap(form.operands[0], form.operands[1]);
  return form;
}

std::pair<ValueId, Form> Closure::as_one(const Found& found) const {
  if (found.second == Found::none) return {found.known, found.form};
  Form joined{joins_[found.form.schema], 0, 2, {found.known, found.second}};
  return {found.form.operands[0], joined};
}

Closure::Scope Closure::scope_of(std::uint32_t rank, std::uint32_t limit) const {
  const std::size_t size = order_[rank].size;
  // As if nothing larger had been enumerated: then these are the forms that are kept.
  const std::size_t level = std::max(size - 1, std::min(size, levels_of_forms));
  return {limit, static_cast<std::uint8_t>(level), static_cast<std::uint8_t>(size - 1)};
}

bool Closure::can_be_one(const Found& found) const {
  return found.second == Found::none || joins_[found.form.schema] != any_schema;
}

bool Closure::follows(std::uint32_t rank, std::uint32_t limit) const {
  if (!can_be_one(order_[rank].found)) return false;
  const auto [value, start] = as_one(order_[rank].found);
  const Scope scope = scope_of(rank, limit);
  std::vector<Form> forms{normal(start)}, next;
  const std::uint32_t own = entry_of_.find(forms[0]);
  if (own != entry_of_.none && entries_[own].value == value && may_use(entries_[own], scope)) return true;
  for (std::size_t i = 0; i < forms.size() && i < most_forms; ++i) {
    next.clear();
    rewrite(Form(forms[i]), scope, next);
    for (const Form& form : next) {
      if (std::find(forms.begin(), forms.end(), form) != forms.end()) continue;
      const std::uint32_t place = entry_of_.find(form);
      if (place == entry_of_.none) {
        forms.push_back(form);
        continue;
      }
      const Entry& entry = entries_[place];
      if (entry.value != value) continue;  // the rule does not hold at these shapes
      if (entry.is_first || may_use(entry, scope)) return true;
      forms.push_back(form);
    }
  }
  return false;
}

void Closure::rewrite(const Form& form, const Scope& scope, std::vector<Form>& to) const {
  const auto try_key = [&](std::uint64_t first, std::uint64_t second) {
    const auto found = by_root_.find(root_key(form.schema, form.output, first, second));
    if (found == by_root_.end()) return;
    for (const std::uint32_t rule : found->second) Match(*this, rules_[rule], scope, to).run(form);
  };
  const auto for_each_schema = [&](std::size_t at, const auto& f) {
    f(any_schema);
    if (at >= form.count) return;
    const Schemas& schemas = schemas_[form.operands[at]];
    for (std::size_t s = 0; s < family_.schemas.size(); ++s)
      if (schemas.test(s)) f(s);
  };
  const bool commutes = family_.schemas[form.schema].commutes;
  for_each_schema(0, [&](std::uint64_t first) {
    for_each_schema(1, [&](std::uint64_t second) {
      try_key(first, second);
      if (commutes && first != second) try_key(second, first);
    });
  });
}

void Closure::add(std::uint32_t rank) {
  accept(rank);
  if (!can_be_one(order_[rank].found)) return;
  Found one = order_[rank].found;
  std::tie(one.known, one.form) = as_one(one);
  one.second = Found::none;
  const Equality equality = equality_of(one, values_);
  add(equality.left[0], equality.right[0]);
  add(equality.right[0], equality.left[0]);
}

void Closure::add(const SmallTerm& from, const SmallTerm& to) {
  const SmallTerm::Node& root = from.nodes.back();
  if (root.schema == SmallTerm::Node::input) return;
  std::uint64_t bound = 0;
  for (const SmallTerm::Node& node : from.nodes)
    if (node.schema == SmallTerm::Node::input) bound |= std::uint64_t{1} << node.place;
  for (const SmallTerm::Node& node : to.nodes)
    if (node.schema == SmallTerm::Node::input && !(bound >> node.place & 1)) return;
  std::array<std::uint64_t, 2> schemas{any_schema, any_schema};
  for (std::size_t i = 0; i < std::min<std::size_t>(root.operands.size(), 2); ++i) {
    const SmallTerm::Node& operand = from.nodes[root.operands[i]];
    if (operand.schema != SmallTerm::Node::input) schemas[i] = operand.schema;
  }
  check(from.nodes.size() <= most_nodes && to.nodes.size() <= most_nodes, "terms are small");
  Rewrite rule{from, to, {}, {}};
  // Operands follow their users, so that inputs are bound as early as possible.
  for (std::size_t node = from.nodes.size(); node-- > 0;)
    for (std::size_t position = 0; position < from.nodes[node].operands.size(); ++position)
      rule.steps.push_back(
          {static_cast<std::uint8_t>(node), static_cast<std::uint8_t>(position), from.nodes[node].operands[position]});
  for (std::size_t node = 0; node < from.nodes.size(); ++node)
    if (from.nodes[node].schema == SmallTerm::Node::input)
      rule.inputs[from.nodes[node].place] = static_cast<std::uint8_t>(node);
  by_root_[root_key(root.schema, root.output, schemas[0], schemas[1])].push_back(
      static_cast<std::uint32_t>(rules_.size()));
  rules_.push_back(std::move(rule));
}

}  // namespace taso::generator
