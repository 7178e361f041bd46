#include "verifier/proof/certificate.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ops/text/literal.h"
#include "verifier/proof/smt_text.h"

namespace taso::verifier {
namespace {

/// Terms of the proof and of the instance in one table, with shapes inferred here.
class Terms {
 public:
  Terms(const rules::Instance& instance, std::vector<rules::Requirement>& requirements)
      : instance_(instance), requirements_(requirements) {}

  std::size_t add(ProofTerm term) {
    const auto known = std::find(terms_.begin(), terms_.end(), term);
    if (known != terms_.end()) return static_cast<std::size_t>(known - terms_.begin());
    if (term.input) {
      shapes_.push_back(instance_.nodes.at(*term.input).shapes[0]);
    } else {
      Shapes operands;
      for (const std::size_t operand : term.operands) operands.push_back(shapes_.at(operand));
      const auto shapes = rules::infer(term.op, operands, requirements_);
      if (!shapes || term.output >= shapes->size()) {
        flaw_ = fmt::format("{} does not fit its operands", rules::text_of(term.op));
        shapes_.emplace_back();
      } else {
        shapes_.push_back((*shapes)[term.output]);
      }
    }
    terms_.push_back(std::move(term));
    return terms_.size() - 1;
  }

  const std::vector<ProofTerm>& all() const { return terms_; }
  const Shape& shape(std::size_t term) const { return shapes_[term]; }
  const std::string& flaw() const { return flaw_; }

 private:
  const rules::Instance& instance_;
  std::vector<rules::Requirement>& requirements_;
  std::vector<ProofTerm> terms_;
  Shapes shapes_;
  std::string flaw_;
};

class Certifier {
 public:
  Certifier(const rules::Instance& instance, const Proof& proof, const rules::Properties& properties)
      : instance_(instance), proof_(proof), properties_(properties), terms_(instance, certificate_.requirements) {}

  Certificate run() {
    for (const rules::InstanceNode& node : instance_.nodes) {
      auto& results = of_instance_.emplace_back();
      for (std::size_t output = 0; output < node.shapes.size(); ++output) {
        ProofTerm term{node.input, node.op, output, {}};
        for (const auto& [operand, result] : node.operands) term.operands.push_back(of_instance_[operand][result]);
        results.push_back(terms_.add(std::move(term)));
      }
    }
    // The source's requirements may be assumed; those of the target are obligations already.
    certificate_.requirements = instance_.obligations;
    std::vector<std::size_t> of_proof;
    for (ProofTerm term : proof_.terms) {
      for (std::size_t& operand : term.operands) operand = of_proof[operand];
      of_proof.push_back(terms_.add(std::move(term)));
    }
    std::vector<std::pair<std::size_t, std::size_t>> equations;
    for (const ProofStep& step : proof_.steps) equations.push_back(add_step(step, of_proof));
    certificate_.flaw = terms_.flaw().empty() ? flaw_ : terms_.flaw();
    write_arithmetic();
    write_equality(equations);
    keep_equations(equations, of_proof);
    return std::move(certificate_);
  }

 private:
  std::pair<std::size_t, std::size_t> add_step(const ProofStep& step, const std::vector<std::size_t>& of_proof) {
    const rules::PropertyInstance& property = *step.instance;
    const rules::Instance& instance = property.instance;
    std::map<std::string, Dim, std::less<>> values;
    for (std::size_t i = 0; i < instance.unknowns.size(); ++i) {
      const auto& origin = property.origins[i];
      Dim value = step.unknowns[i];
      if (origin.is_dimension) {
        // Use the dimension of the term itself, not what the search assumed.
        const Shape& shape = terms_.shape(of_proof[step.inputs[origin.index]]);
        if (origin.element >= shape.size()) {
          flaw_ = "a step takes an operand of another rank";
          continue;
        }
        value = shape[origin.element];
      }
      values.emplace(instance.unknowns[i].name, value);
      need({rules::Requirement::Kind::at_least, value, instance.unknowns[i].least});
    }
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      if (terms_.shape(of_proof[step.inputs[i]]).size() != instance.nodes[i].shapes[0].size())
        flaw_ = "a step takes an operand of another rank";
    const auto replaced = [&](const Dim& dim) {
      return substitute(dim, [&](std::string_view name) -> std::optional<Dim> {
        const auto found = values.find(name);
        return found == values.end() ? std::nullopt : std::optional(found->second);
      });
    };
    for (const rules::Requirement& hypothesis : instance.hypotheses)
      need({hypothesis.kind, replaced(hypothesis.left), replaced(hypothesis.right)});

    const auto& variables = properties_[step.property].variables();
    std::vector<std::vector<std::size_t>> placed;
    for (const rules::InstanceNode& node : instance.nodes) {
      auto& results = placed.emplace_back();
      if (node.input) {
        results.push_back(of_proof[step.inputs[*node.input]]);
        continue;
      }
      ProofTerm term{std::nullopt, node.op, 0, {}};
      for (rules::SymbolicField& field : term.op.fields) {
        if (auto* number = std::get_if<Dim>(&field)) *number = replaced(*number);
        if (auto* list = std::get_if<std::vector<Dim>>(&field))
          for (Dim& number : *list) number = replaced(number);
        if (auto* real = std::get_if<rules::RealAttribute>(&field); real && !real->variable.empty())
          field = step.reals[static_cast<std::size_t>(
              std::find(variables.begin(), variables.end(), std::get<rules::RealAttribute>(field).variable) -
              variables.begin())];
      }
      for (const auto& [operand, result] : node.operands) term.operands.push_back(placed[operand][result]);
      for (std::size_t output = 0; output < node.shapes.size(); ++output) {
        term.output = output;
        results.push_back(terms_.add(term));
      }
    }
    const auto &source = instance.source[step.result], &target = instance.target[step.result];
    return {placed[source.first][source.second], placed[target.first][target.second]};
  }

  void need(rules::Requirement requirement) {
    if (requirement.left.is_static() && requirement.right.is_static() &&
        rules::holds(requirement, [](std::string_view) { return 0; }))
      return;
    if (requirement.kind == rules::Requirement::Kind::equal && requirement.left == requirement.right) return;
    auto& all = certificate_.requirements;
    if (std::find(all.begin(), all.end(), requirement) == all.end()) all.push_back(std::move(requirement));
  }

  /// Numbers that are one constant in the question about equality must be equal, which is a requirement too.
  const std::string& constant_for(const Dim& number) {
    const auto known = constants_.find(number.text());
    if (known != constants_.end()) return known->second;
    return constants_.emplace(number.text(), fmt::format("n{}", constants_.size())).first->second;
  }

  void write_arithmetic() {
    // Attributes with equal values in different forms become one constant, once they are proved equal.
    unify_numbers();
    SmtText text;
    for (const rules::Unknown& unknown : instance_.unknowns) text.declare(unknown);
    for (const rules::Requirement& hypothesis : instance_.hypotheses) text.assume(hypothesis);
    text.deny(certificate_.requirements);
    certificate_.arithmetic = text.text();
  }

  void unify_numbers() {
    std::vector<Dim> numbers;
    for (const ProofTerm& term : terms_.all())
      for (const rules::SymbolicField& field : term.op.fields) {
        if (const auto* number = std::get_if<Dim>(&field)) numbers.push_back(*number);
        if (const auto* list = std::get_if<std::vector<Dim>>(&field))
          numbers.insert(numbers.end(), list->begin(), list->end());
      }
    // Values at a few points tell which may be equal; the equality itself is a requirement, and so is checked.
    std::map<std::vector<std::int64_t>, Dim> by_value;
    for (const Dim& number : numbers) {
      const std::string text = number.text();
      if (constants_.contains(text)) continue;
      const auto values = proof_.values ? proof_.values(number) : std::nullopt;
      if (!values) {
        constant_for(number);
        continue;
      }
      const auto [slot, fresh] = by_value.try_emplace(*values, number);
      if (fresh) {
        constant_for(number);
      } else {
        constants_.emplace(text, constant_for(slot->second));
        need({rules::Requirement::Kind::equal, slot->second, number});
      }
    }
  }

  void write_equality(const std::vector<std::pair<std::size_t, std::size_t>>& equations) {
    std::string text = "(set-logic QF_UF)\n(declare-sort Tensor 0)\n(declare-sort Number 0)\n";
    std::set<std::string> numbers;
    std::map<std::string, std::string> functions;
    std::string definitions;
    const auto& all = terms_.all();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const ProofTerm& term = all[i];
      if (term.input) {
        definitions += fmt::format("(declare-const t{} Tensor)  ; {}\n", i, instance_.inputs[*term.input]);
        continue;
      }
      std::string name(name_of(rules::prototype(term.op.kind))), signature, operands;
      const auto take = [&](const std::string& constant) {
        numbers.insert(constant);
        signature += "Number ";
        operands += " " + constant;
      };
      const auto& fields = rules::symbolic_fields(term.op.kind);
      for (std::size_t k = 0; k < fields.size(); ++k) {
        const rules::SymbolicField& field = term.op.fields[k];
        if (const auto* number = std::get_if<Dim>(&field)) {
          take(constant_for(*number));
        } else if (const auto* list = std::get_if<std::vector<Dim>>(&field)) {
          for (const Dim& element : *list) take(constant_for(element));
        } else if (const auto* real = std::get_if<rules::RealAttribute>(&field)) {
          take(real_constant(*real));
        } else {
          name += fmt::format(" {}={}", fields[k].name, known_text(field));
        }
      }
      if (outputs_of(rules::prototype(term.op.kind)) > 1) name += fmt::format(" result {}", term.output);
      for (const std::size_t operand : term.operands) {
        signature += "Tensor ";
        operands += fmt::format(" t{}", operand);
      }
      const std::string key = name + " / " + signature;
      const auto [slot, fresh] = functions.try_emplace(key, fmt::format("f{}", functions.size()));
      if (fresh)
        definitions += fmt::format("(declare-fun {} ({}) Tensor)  ; {}\n", slot->second,
                                   signature.empty() ? "" : signature.substr(0, signature.size() - 1), name);
      definitions += fmt::format("(define-fun t{} () Tensor {})\n", i,
                                 operands.empty() ? slot->second : fmt::format("({}{})", slot->second, operands));
    }
    for (const std::string& number : numbers) text += fmt::format("(declare-const {} Number)\n", number);
    text += definitions;
    for (std::size_t i = 0; i < equations.size(); ++i)
      text += fmt::format("(assert (= t{} t{}))  ; {}\n", equations[i].first, equations[i].second,
                          properties_[proof_.steps[i].property].rule().name);
    text += "(assert (not (and true";
    for (std::size_t i = 0; i < instance_.source.size(); ++i)
      text += fmt::format(" (= t{} t{})", of_instance_[instance_.source[i].first][instance_.source[i].second],
                          of_instance_[instance_.target[i].first][instance_.target[i].second]);
    certificate_.equality = text + ")))\n";
  }

  void keep_equations(const std::vector<std::pair<std::size_t, std::size_t>>& equations,
                      const std::vector<std::size_t>& of_proof) {
    std::map<std::string, Dim> forms;  // of each constant, the first
    const auto one_form = [&](Dim& number) {
      const auto constant = constants_.find(number.text());
      if (constant != constants_.end()) number = forms.try_emplace(constant->second, number).first->second;
    };
    certificate_.terms = terms_.all();
    for (ProofTerm& term : certificate_.terms)
      for (rules::SymbolicField& field : term.op.fields) {
        if (auto* number = std::get_if<Dim>(&field)) one_form(*number);
        if (auto* list = std::get_if<std::vector<Dim>>(&field))
          for (Dim& number : *list) one_form(number);
      }
    for (std::size_t i = 0; i < equations.size(); ++i) {
      Certificate::Equation equation{equations[i].first, equations[i].second, i, {}};
      for (const std::size_t input : proof_.steps[i].inputs) equation.inputs.push_back(of_proof[input]);
      certificate_.equations.push_back(std::move(equation));
    }
    for (std::size_t i = 0; i < instance_.source.size(); ++i)
      certificate_.goals.emplace_back(of_instance_[instance_.source[i].first][instance_.source[i].second],
                                      of_instance_[instance_.target[i].first][instance_.target[i].second]);
  }

  std::string real_constant(const rules::RealAttribute& real) {
    const std::string text = real.variable.empty() ? text_of_number(real.value) : "real " + real.variable;
    const auto known = real_constants_.find(text);
    if (known != real_constants_.end()) return known->second;
    return real_constants_.emplace(text, fmt::format("r{}", real_constants_.size())).first->second;
  }

  static std::string known_text(const rules::SymbolicField& field) {
    if (const auto* truth = std::get_if<bool>(&field)) return *truth ? "true" : "false";
    if (const auto* number = std::get_if<std::int64_t>(&field)) return std::to_string(*number);
    std::string text;
    for (const std::int64_t number : std::get<std::vector<std::int64_t>>(field))
      text += (text.empty() ? "" : ",") + std::to_string(number);
    return text;
  }

  const rules::Instance& instance_;
  const Proof& proof_;
  const rules::Properties& properties_;
  Certificate certificate_;
  Terms terms_;
  std::vector<std::vector<std::size_t>> of_instance_;
  std::map<std::string, std::string> constants_, real_constants_;
  std::string flaw_;
};

}  // namespace

Certificate certify(const rules::Instance& instance, const Proof& proof, const rules::Properties& properties) {
  return Certifier(instance, proof, properties).run();
}

}  // namespace taso::verifier
