#include "verifier/explanation/chain.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

namespace taso::verifier {
namespace {

/// Congruence closure of few terms, with the reasons kept in a forest as in rules::EGraph. The terms here are those of
/// the certificate, with unknowns in them, so what is read off is about all sizes.
class Closure {
 public:
  explicit Closure(const Certificate& certificate) : terms_(certificate.terms), equations_(certificate.equations) {
    edges_.resize(terms_.size());
    for (std::size_t i = 0; i < equations_.size(); ++i) merge(equations_[i].left, equations_[i].right, i);
    while (merge_congruent()) {
    }
  }

  Chain::Result chain(std::size_t source, std::size_t target) {
    Chain::Result result{source, {}, false};
    if (root(source) != root(target)) return result;
    rewrite(
        source, target, [](std::size_t term) { return term; }, result.steps);
    cut_detours(result);
    result.is_complete = (result.steps.empty() ? source : result.steps.back().result) == target ||
                         same(result.steps.empty() ? source : result.steps.back().result, target);
    return result;
  }

  std::vector<ProofTerm> terms() && { return std::move(terms_); }

  /// For each term, the shortest that equals it.
  std::vector<std::size_t> shortest() const {
    std::vector<double> sizes;  // of terms as trees
    for (const ProofTerm& term : terms_) {
      double size = 1;
      for (const std::size_t operand : term.operands) size += sizes[operand];
      sizes.push_back(size);
    }
    std::map<std::size_t, std::size_t> best;  // by root
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      std::size_t& one = best.try_emplace(root(i), i).first->second;
      if (sizes[i] < sizes[one]) one = i;
    }
    std::vector<std::size_t> result;
    for (std::size_t i = 0; i < terms_.size(); ++i) result.push_back(best.at(root(i)));
    return result;
  }

 private:
  struct Edge {
    std::size_t to = 0;
    std::optional<std::size_t> equation;  // nothing: the operands are equal
  };
  using Context = std::function<std::size_t(std::size_t)>;

  std::size_t root(std::size_t term) const {
    while (edges_[term]) term = edges_[term]->to;
    return term;
  }

  void merge(std::size_t a, std::size_t b, std::optional<std::size_t> equation) {
    if (root(a) == root(b)) return;
    // Turn the edges from `a` to its root around, so that `a` becomes the root.
    std::optional<Edge> next = Edge{b, equation};
    for (std::size_t term = a; next;) {
      std::swap(edges_[term], next);
      if (!next) break;
      const std::size_t above = next->to;
      next->to = term;
      term = above;
    }
  }

  bool merge_congruent() {
    bool changed = false;
    for (std::size_t a = 0; a < terms_.size(); ++a)
      for (std::size_t b = a + 1; b < terms_.size(); ++b)
        if (is_congruent(terms_[a], terms_[b]) && root(a) != root(b)) {
          merge(a, b, std::nullopt);
          changed = true;
        }
    return changed;
  }

  bool is_congruent(const ProofTerm& a, const ProofTerm& b) const {
    return a.input == b.input && a.op == b.op && a.output == b.output &&
           std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                      [&](std::size_t x, std::size_t y) { return root(x) == root(y); });
  }

  /// Whether they are the same term, written twice.
  bool same(std::size_t a, std::size_t b) const {
    if (a == b) return true;
    const ProofTerm &x = terms_[a], &y = terms_[b];
    return x.input == y.input && x.op == y.op && x.output == y.output &&
           std::equal(x.operands.begin(), x.operands.end(), y.operands.begin(), y.operands.end(),
                      [&](std::size_t p, std::size_t q) { return same(p, q); });
  }

  std::size_t add(ProofTerm term) {
    const auto known = std::find(terms_.begin(), terms_.end(), term);
    if (known != terms_.end()) return static_cast<std::size_t>(known - terms_.begin());
    terms_.push_back(std::move(term));
    edges_.emplace_back();
    return terms_.size() - 1;
  }

  /// The edges from one term to another of its class, each with the term where it begins.
  std::vector<std::pair<std::size_t, Edge>> path(std::size_t from, std::size_t to) const {
    std::vector<std::size_t> above;
    for (std::size_t term = from;; term = edges_[term]->to) {
      above.push_back(term);
      if (!edges_[term]) break;
    }
    std::vector<std::pair<std::size_t, Edge>> down;
    std::size_t meeting = to;
    while (std::find(above.begin(), above.end(), meeting) == above.end()) {
      const Edge& edge = *edges_[meeting];
      down.emplace_back(edge.to, Edge{meeting, edge.equation});
      meeting = edge.to;
    }
    std::vector<std::pair<std::size_t, Edge>> all;
    for (std::size_t term = from; term != meeting; term = edges_[term]->to) all.emplace_back(term, *edges_[term]);
    all.insert(all.end(), down.rbegin(), down.rend());
    return all;
  }

  void rewrite(std::size_t from, std::size_t to, const Context& context, std::vector<ChainStep>& steps) {
    for (const auto& one : path(from, to)) {
      const std::size_t begin = one.first;
      const Edge edge = one.second;
      if (edge.equation) {
        const bool is_reversed = equations_[*edge.equation].left != begin;
        steps.push_back({*edge.equation, is_reversed, begin, edge.to, context(edge.to)});
        continue;
      }
      ProofTerm current = terms_[begin];
      const std::vector<std::size_t> last = terms_[edge.to].operands;
      for (std::size_t i = 0; i < last.size(); ++i) {
        const std::size_t operand = current.operands[i];
        rewrite(
            operand, last[i],
            [&](std::size_t term) {
              ProofTerm whole = current;
              whole.operands[i] = term;
              return context(add(std::move(whole)));
            },
            steps);
        current.operands[i] = last[i];
      }
    }
  }

  /// Leaves out what leads back to a term that was there before.
  void cut_detours(Chain::Result& result) const {
    std::vector<ChainStep> kept;
    for (const ChainStep& step : result.steps) {
      if (same(step.result, result.begin)) {
        kept.clear();
        continue;
      }
      const auto before =
          std::find_if(kept.begin(), kept.end(), [&](const ChainStep& one) { return same(one.result, step.result); });
      if (before != kept.end())
        kept.erase(before + 1, kept.end());
      else
        kept.push_back(step);
    }
    result.steps = std::move(kept);
  }

  std::vector<ProofTerm> terms_;
  const std::vector<Certificate::Equation>& equations_;
  std::vector<std::optional<Edge>> edges_;  // a forest: each term points to one that it equals
};

}  // namespace

Proof with_short_terms(const Certificate& certificate, const Proof& proof) {
  const std::vector<std::size_t> shortest = Closure(certificate).shortest();
  Proof result = proof;
  result.terms = certificate.terms;
  for (std::size_t i = 0; i < proof.steps.size(); ++i) {
    result.steps[i].inputs.clear();
    for (const std::size_t input : certificate.equations[i].inputs) result.steps[i].inputs.push_back(shortest[input]);
  }
  return result;
}

Chain chain_of(const Certificate& certificate) {
  Closure closure(certificate);
  Chain chain;
  for (const auto& [source, target] : certificate.goals) chain.results.push_back(closure.chain(source, target));
  chain.terms = std::move(closure).terms();
  return chain;
}

}  // namespace taso::verifier
