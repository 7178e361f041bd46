#include "verifier/proof/proof.h"

#include <algorithm>
#include <map>

#include "rules/instance/assignment.h"
#include "verifier/proof/certificate.h"

namespace taso::verifier {
namespace {

/// Writes terms of the e-graph as terms over unknowns.
class Extraction {
 public:
  explicit Extraction(const rules::EGraph& graph) : graph_(graph) {}

  std::size_t add(rules::TermId id) {
    const auto known = places_.find(id);
    if (known != places_.end()) return known->second;
    const rules::EGraphTerm& term = graph_.term(id);
    ProofTerm result;
    if (term.kind == rules::EGraphTerm::input_kind) {
      result.input = term.output;
    } else {
      for (const rules::TermId operand : term.operands) result.operands.push_back(add(operand));
      result.output = term.output;
      result.op.kind = term.kind;
      const auto& codes = graph_.fields(term.fields);
      const auto& names = rules::symbolic_fields(term.kind);
      for (std::size_t i = 0; i < names.size(); ++i) result.op.fields.push_back(field(names[i].sample, codes[i]));
    }
    terms_.push_back(std::move(result));
    places_.emplace(id, terms_.size() - 1);
    return terms_.size() - 1;
  }

  rules::SymbolicField field(const rules::SymbolicField& sample, const rules::FieldCode& code) const {
    if (std::holds_alternative<bool>(sample)) return code[0] != 0;
    if (std::holds_alternative<std::int64_t>(sample)) return static_cast<std::int64_t>(code[0]);
    if (std::holds_alternative<Dim>(sample)) return graph_.numbers.meaning(code[0]);
    if (std::holds_alternative<rules::RealAttribute>(sample)) return graph_.real(code[0]);
    if (std::holds_alternative<std::vector<std::int64_t>>(sample))
      return std::vector<std::int64_t>(code.begin(), code.end());
    std::vector<Dim> list;
    for (const std::uint32_t number : code) list.push_back(graph_.numbers.meaning(number));
    return list;
  }

  std::vector<ProofTerm> terms() && { return std::move(terms_); }

 private:
  const rules::EGraph& graph_;
  std::map<rules::TermId, std::size_t> places_;
  std::vector<ProofTerm> terms_;
};

Proof extract(const rules::EGraph& graph, const rules::Saturation& saturation,
              const std::vector<rules::EGraph::Reason>& reasons, const rules::Properties& properties) {
  Extraction extraction(graph);
  Proof proof;
  for (const rules::EGraph::Reason reason : reasons) {
    const rules::Step& step = saturation.steps[static_cast<std::size_t>(reason)];
    ProofStep written{step.property, step.result, step.instance, {}, rules::meanings(graph, step), {}};
    for (const rules::TermId input : step.inputs) written.inputs.push_back(extraction.add(input));
    const rules::Property& property = properties[step.property];
    for (std::size_t i = 0; i < property.variables().size(); ++i)
      written.reals.push_back(property.is_real(i) ? graph.real(step.variables[i].at(0)) : rules::RealAttribute{});
    proof.steps.push_back(std::move(written));
  }
  proof.terms = std::move(extraction).terms();
  return proof;
}

std::string end_text(rules::Saturation::End end) {
  switch (end) {
    case rules::Saturation::End::goal: return "the sides are equal";
    case rules::Saturation::End::saturated: return "the properties yield nothing new";
    case rules::Saturation::End::rounds: return "no proof within the limit of rounds";
    case rules::Saturation::End::terms: return "no proof within the limit of terms";
    case rules::Saturation::End::matches: return "no proof within the limit of matches";
    case rules::Saturation::End::stopped: return "the time limit was reached";
  }
  return {};
}

}  // namespace

ProofResult prove(const rules::Instance& instance, const rules::Properties& properties, const ProofLimits& limits,
                  const std::stop_token& stop) {
  ProofResult result;
  if (!instance.target_fits) {
    result.reason = "the target does not fit: " + instance.choice;
    return result;
  }
  const rules::AssignmentSampler sampler(instance);
  for (std::size_t attempt = 0; attempt < limits.attempts; ++attempt) {
    const auto assignments = sampler.samples(rules::sample_count, limits.seed + attempt * 1000, attempt == 0 ? 19 : 40);
    if (assignments.empty()) {
      result.kind = ProofResult::Kind::vacuous;
      result.reason = "no shapes and attributes were found that satisfy the hypotheses";
      return result;
    }
    rules::ModelValues models;
    for (std::size_t k = 0; k < rules::sample_count; ++k) models[k] = assignments[k % assignments.size()].unknowns;
    rules::EGraph graph;
    const auto seeded = rules::seed(graph, instance, models);
    if (!seeded) {
      result.reason = "a dimension is too large";
      continue;
    }
    std::vector<std::pair<rules::TermId, rules::TermId>> goals;
    for (std::size_t i = 0; i < instance.source.size(); ++i)
      goals.emplace_back((*seeded)[instance.source[i].first][instance.source[i].second],
                         (*seeded)[instance.target[i].first][instance.target[i].second]);
    const rules::Saturation saturation = rules::saturate(graph, properties, goals, limits.saturation, stop);
    if (saturation.end != rules::Saturation::End::goal) {
      result.kind = ProofResult::Kind::no_proof;
      result.reason = end_text(saturation.end);
      return result;
    }
    std::vector<rules::EGraph::Reason> reasons;
    for (const auto& [a, b] : goals)
      for (const rules::EGraph::Reason reason : graph.explain(a, b)) reasons.push_back(reason);
    std::sort(reasons.begin(), reasons.end());
    reasons.erase(std::unique(reasons.begin(), reasons.end()), reasons.end());

    const rules::Places places = rules::places_of(instance);
    const auto certificate_of = [&](const std::vector<rules::EGraph::Reason>& used) {
      result.proof = extract(graph, saturation, used, properties);
      result.proof.values = [places, models](const Dim& dim) -> std::optional<std::vector<std::int64_t>> {
        const rules::CompiledDim compiled(dim, places);
        std::vector<std::int64_t> values;
        for (const auto& model : models) {
          const auto value = compiled.evaluate(model);
          if (!value) return std::nullopt;
          values.push_back(*value);
        }
        return values;
      };
      return certify(instance, result.proof, properties);
    };
    Certificate certificate = certificate_of(reasons);
    // An explanation may contain detours; steps that Z3 does not need are left out.
    if (const auto needed = needed_steps(certificate, reasons.size(), limits.effort, stop);
        needed && needed->size() < reasons.size()) {
      std::vector<rules::EGraph::Reason> used;
      for (const std::size_t step : *needed) used.push_back(reasons[step]);
      reasons = std::move(used);
      certificate = certificate_of(reasons);
    }
    const CertificateCheck check = check_certificate(certificate, instance, reasons.size(), limits.effort, stop);
    result.certificate = certificate.equality + "(check-sat)\n(reset)\n" + certificate.arithmetic + "(check-sat)\n";
    if (!check.accepted) {
      result.kind = ProofResult::Kind::unchecked;
      result.reason = check.reason;
      continue;
    }
    result.kind = ProofResult::Kind::proved;
    result.reason.clear();
    for (const ProofStep& step : result.proof.steps) result.properties.push_back(step.property);
    std::sort(result.properties.begin(), result.properties.end());
    result.properties.erase(std::unique(result.properties.begin(), result.properties.end()), result.properties.end());
    return result;
  }
  return result;
}

}  // namespace taso::verifier
