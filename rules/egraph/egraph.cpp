#include "rules/egraph/egraph.h"

#include <algorithm>

namespace taso::rules {

std::size_t Numbers::Hash::operator()(const Sample& sample) const {
  std::size_t hash = 0;
  for (const std::int64_t value : sample) hash = mixed_hash(hash, static_cast<std::size_t>(value));
  return hash;
}

NumberId Numbers::intern(const Sample& sample, const Dim& meaning) {
  const auto [slot, fresh] = ids_.try_emplace(sample, static_cast<NumberId>(samples_.size()));
  if (fresh) {
    samples_.push_back(sample);
    meanings_.push_back(meaning);
  }
  return slot->second;
}

std::size_t EGraph::HashTerm::operator()(const EGraphTerm& term) const {
  std::size_t hash = mixed_hash(mixed_hash(term.kind, term.output), term.fields);
  for (const TermId operand : term.operands) hash = mixed_hash(hash, operand);
  return hash;
}

std::uint32_t EGraph::intern_real(const RealAttribute& real) {
  const auto found = static_cast<std::size_t>(std::find(reals_.begin(), reals_.end(), real) - reals_.begin());
  if (found == reals_.size()) reals_.push_back(real);
  return static_cast<std::uint32_t>(found);
}

std::uint32_t EGraph::intern_fields(FieldCodes codes) {
  std::string key;
  for (const FieldCode& code : codes) {
    const auto append = [&](std::uint32_t number) {
      key.append(reinterpret_cast<const char*>(&number), sizeof number);
    };
    append(static_cast<std::uint32_t>(code.size()));
    for (const std::uint32_t number : code) append(number);
  }
  const auto [slot, fresh] = field_ids_.try_emplace(std::move(key), static_cast<std::uint32_t>(field_codes_.size()));
  if (fresh) field_codes_.push_back(std::move(codes));
  return slot->second;
}

EGraphTerm EGraph::canonical(const EGraphTerm& term) const {
  EGraphTerm result = term;
  for (TermId& operand : result.operands) operand = find(operand);
  return result;
}

TermId EGraph::add_input(std::uint32_t place, std::vector<NumberId> shape) {
  return add({EGraphTerm::input_kind, place, 0, {}}, shape);
}

std::optional<TermId> EGraph::find_term(const EGraphTerm& term) const {
  const auto found = canonical_.find(canonical(term));
  return found == canonical_.end() ? std::nullopt : std::optional(found->second);
}

TermId EGraph::add(EGraphTerm term, const std::vector<NumberId>& shape) {
  const auto known = exact_.find(term);
  if (known != exact_.end()) return known->second;
  const auto id = static_cast<TermId>(terms_.size());
  exact_.emplace(term, id);
  parents_.push_back(id);
  because_of_.push_back(id);
  reasons_.push_back(congruence);
  members_.push_back({});
  shapes_.push_back(shape);
  if (term.kind != EGraphTerm::input_kind) {
    if (kind_counts_.size() <= term.kind) kind_counts_.resize(term.kind + 1);
    ++kind_counts_[term.kind];
  }
  const auto [slot, fresh] = canonical_.try_emplace(canonical(term), id);
  terms_.push_back(std::move(term));
  if (fresh)
    members_[id].push_back(id);
  else
    link(id, slot->second, congruence);
  return id;
}

TermId EGraph::find(TermId id) const {
  while (parents_[id] != id) {
    parents_[id] = parents_[parents_[id]];
    id = parents_[id];
  }
  return id;
}

void EGraph::link(TermId a, TermId b, Reason reason) {
  // Reverse the path from a to its root, so that a becomes the root, and attach it below b.
  TermId node = a, next = because_of_[a];
  Reason next_reason = reasons_[a];
  because_of_[a] = b;
  reasons_[a] = reason;
  while (next != node) {
    const TermId after = because_of_[next];
    const Reason after_reason = reasons_[next];
    because_of_[next] = node;
    reasons_[next] = next_reason;
    node = next;
    next = after;
    next_reason = after_reason;
  }
  TermId x = find(a), y = find(b);
  if (members_[x].size() > members_[y].size()) std::swap(x, y);
  parents_[x] = y;
  members_[y].insert(members_[y].end(), members_[x].begin(), members_[x].end());
  members_[x].clear();
  dirty_ = true;
}

bool EGraph::merge(TermId a, TermId b, Reason reason) {
  if (equal(a, b)) return false;
  link(a, b, reason);
  return true;
}

void EGraph::rebuild() {
  while (dirty_) {
    dirty_ = false;
    std::unordered_map<EGraphTerm, TermId, HashTerm> fresh;
    fresh.reserve(terms_.size());
    for (TermId id = 0; id < terms_.size(); ++id) {
      const auto [slot, is_new] = fresh.try_emplace(canonical(terms_[id]), id);
      if (!is_new) merge(id, slot->second, congruence);
    }
    canonical_ = std::move(fresh);
  }
  // One term of each form in a class is enough to match.
  for (auto& members : members_) members.clear();
  for (const auto& [term, id] : canonical_) members_[find(id)].push_back(id);
  for (auto& members : members_) std::sort(members.begin(), members.end());
}

std::vector<TermId> EGraph::classes() const {
  std::vector<TermId> result;
  for (TermId id = 0; id < terms_.size(); ++id)
    if (find(id) == id) result.push_back(id);
  return result;
}

void EGraph::explain_path(TermId a, TermId b, std::unordered_set<std::uint64_t>& seen,
                          std::vector<Reason>& reasons) const {
  if (a == b || !seen.insert(std::uint64_t{std::min(a, b)} << 32 | std::max(a, b)).second) return;
  std::unordered_set<TermId> above;
  for (TermId id = a;; id = because_of_[id]) {
    above.insert(id);
    if (because_of_[id] == id) break;
  }
  TermId meeting = b;
  while (!above.contains(meeting)) meeting = because_of_[meeting];
  const auto walk = [&](TermId from) {
    for (TermId id = from; id != meeting; id = because_of_[id]) {
      if (reasons_[id] != congruence) {
        reasons.push_back(reasons_[id]);
        continue;
      }
      const auto &left = terms_[id].operands, &right = terms_[because_of_[id]].operands;
      for (std::size_t i = 0; i < left.size(); ++i) explain_path(left[i], right[i], seen, reasons);
    }
  };
  walk(a);
  walk(b);
}

std::vector<EGraph::Reason> EGraph::explain(TermId a, TermId b) const {
  std::unordered_set<std::uint64_t> seen;
  std::vector<Reason> reasons;
  explain_path(a, b, seen, reasons);
  std::sort(reasons.begin(), reasons.end());
  reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());
  return reasons;
}

}  // namespace taso::rules
