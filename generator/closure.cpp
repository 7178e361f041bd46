#include "generator/closure.h"

#include <algorithm>

#include "ops/error.h"

namespace taso {
namespace {

constexpr std::size_t most_forms = 48;    // that a form is rewritten to on the way
constexpr std::size_t most_matches = 24;  // of one rule at one place
constexpr std::uint64_t any_schema = 0xff;

std::uint64_t root_key(std::uint64_t schema, std::uint64_t output, std::uint64_t first, std::uint64_t second) {
  return schema << 24 | output << 16 | first << 8 | second;
}

}  // namespace

/// Finds what the inputs of a rewrite stand for.
class Closure::Match {
 public:
  Match(const Closure& owner, const Rewrite& rule, std::uint32_t limit, std::vector<Form>& results)
      : owner_(owner), rule_(rule), limit_(limit), results_(results) {
    bound_.fill(Found::none);
    inputs_.fill(Found::none);
  }

  void run(const Form& form) {
    const SmallTerm::Node& root = rule_.from.nodes.back();
    operands_of(root, form, [&] { instantiate(); });
  }

 private:
  /// Calls `then` for every way in which the node's operands match those of the form.
  template <class Then>
  void operands_of(const SmallTerm::Node& node, const Form& form, Then&& then) {
    const auto in_order = [&](const std::array<ValueId, Form::most_operands>& operands) {
      match_all(node, operands, 0, then);
    };
    in_order(form.operands);
    if (form.count == 2 && owner_.family_.schemas[form.schema].commutes && form.operands[0] != form.operands[1])
      in_order({form.operands[1], form.operands[0], 0});
  }

  void match_all(const SmallTerm::Node& node, const std::array<ValueId, Form::most_operands>& operands, std::size_t at,
                 const std::function<void()>& then) {
    if (found_ >= most_matches) return;
    if (at == node.operands.size()) return then();
    match(node.operands[at], operands[at], [&] { match_all(node, operands, at + 1, then); });
  }

  void match(std::uint8_t place, ValueId id, const std::function<void()>& then) {
    const SmallTerm::Node& node = rule_.from.nodes[place];
    ValueId& bound = node.schema == SmallTerm::Node::input ? inputs_[node.place] : bound_[place];
    if (bound != Found::none) {
      if (bound == id) then();
      return;
    }
    if (node.schema == SmallTerm::Node::input) {
      if (!owner_.may_stand_for(node.place, id)) return;
      bound = id;
      then();
      bound = Found::none;
      return;
    }
    if (!owner_.schemas_[id].test(node.schema)) return;
    bound = id;
    for (const Entry& entry : owner_.entries_of(id))
      if (entry.form.schema == node.schema && entry.form.output == node.output && owner_.may_use(entry, limit_))
        operands_of(node, entry.form, then);
    bound = Found::none;
  }

  void instantiate() {
    ++found_;
    const auto& nodes = rule_.to.nodes;
    std::array<ValueId, 32> ids{};
    check(nodes.size() <= ids.size(), "small terms");
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].schema == SmallTerm::Node::input) {
        ids[i] = inputs_[nodes[i].place];
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
      if (entry == owner_.entry_of_.none || !owner_.may_use(owner_.entries_[entry], limit_)) return;
      ids[i] = owner_.entries_[entry].value;
    }
  }

  const Closure& owner_;
  const Rewrite& rule_;
  const std::uint32_t limit_;
  std::vector<Form>& results_;
  std::array<ValueId, 64> inputs_;
  std::array<ValueId, 32> bound_;
  std::size_t found_ = 0;
};

Closure::Closure(const Family& family, const Enumeration& enumeration, const std::vector<Found>& order)
    : family_(family), values_(enumeration.table), order_(order), holds_(order.size(), 0) {
  check(family.schemas.size() < any_schema && family.schemas.size() <= most_schemas, "few schemas");
  joins_.assign(family.schemas.size(), static_cast<std::uint8_t>(any_schema));
  for (std::size_t s = 0; s < family.schemas.size(); ++s)
    if (const auto* split = std::get_if<op::Split>(&family.schemas[s].op))
      for (std::size_t j = 0; j < family.schemas.size(); ++j)
        if (const auto* concat = std::get_if<op::Concat>(&family.schemas[j].op); concat && concat->axis == split->axis)
          joins_[s] = static_cast<std::uint8_t>(j);

  std::unordered_map<std::uint64_t, std::uint32_t> ranks;
  for (std::size_t i = 0; i < order.size(); ++i)
    ranks.emplace(values_.shape_of(order[i].known, order[i].second, order[i].form), static_cast<std::uint32_t>(i));
  begins_.assign(values_.size() + 1, 0);
  for (std::size_t id = 0; id < values_.size(); ++id) begins_[id + 1] = 1;
  for (const auto& [id, form] : enumeration.forms) ++begins_[id + 1];
  for (std::size_t id = 0; id < values_.size(); ++id) begins_[id + 1] += begins_[id];
  entries_.resize(begins_.back());
  std::vector<std::uint64_t> next(begins_.begin(), begins_.end() - 1);
  schemas_.resize(values_.size());
  entry_of_.reserve(entries_.size());
  const auto put = [&](ValueId id, const Form& form, std::uint32_t rank, bool is_first) {
    if (form.schema != Form::input) schemas_[id].set(form.schema);
    entry_of_.insert(form, static_cast<std::uint32_t>(next[id]));
    entries_[next[id]++] = {form, id, rank, is_first};
  };
  for (ValueId id = 0; id < values_.size(); ++id) put(id, values_[id].form, 0, true);
  for (const auto& [id, form] : enumeration.forms) {
    const auto found = ranks.find(values_.shape_of(id, Found::none, form));
    put(id, form, found == ranks.end() ? no_rank : found->second, false);
  }
}

bool Closure::may_stand_for(std::size_t input, ValueId id) const {
  const Layout &of_input = layout(static_cast<ValueId>(input)), &of_value = layout(id);
  return of_input.is_kernel == of_value.is_kernel && of_input.extents.size() == of_value.extents.size();
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

bool Closure::follows(std::uint32_t rank, std::uint32_t limit) const {
  const auto [value, start] = as_one(order_[rank]);
  std::vector<Form> forms{normal(start)}, next;
  const std::uint32_t own = entry_of_.find(forms[0]);
  if (own != entry_of_.none && entries_[own].value == value && may_use(entries_[own], limit)) return true;
  for (std::size_t i = 0; i < forms.size() && i < most_forms; ++i) {
    next.clear();
    rewrite(Form(forms[i]), limit, next);
    for (const Form& form : next) {
      if (std::find(forms.begin(), forms.end(), form) != forms.end()) continue;
      const std::uint32_t place = entry_of_.find(form);
      if (place == entry_of_.none) {
        forms.push_back(form);
        continue;
      }
      const Entry& entry = entries_[place];
      if (entry.value != value) continue;  // the rule does not hold at these shapes
      if (may_use(entry, limit)) return true;
      forms.push_back(form);
    }
  }
  return false;
}

void Closure::rewrite(const Form& form, std::uint32_t limit, std::vector<Form>& to) const {
  const auto try_key = [&](std::uint64_t first, std::uint64_t second) {
    const auto found = by_root_.find(root_key(form.schema, form.output, first, second));
    if (found == by_root_.end()) return;
    for (const std::uint32_t rule : found->second) Match(*this, rules_[rule], limit, to).run(form);
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
  Found one = order_[rank];
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
  by_root_[root_key(root.schema, root.output, schemas[0], schemas[1])].push_back(
      static_cast<std::uint32_t>(rules_.size()));
  rules_.push_back({from, to});
}

}  // namespace taso
