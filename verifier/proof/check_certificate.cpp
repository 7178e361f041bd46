#include <z3++.h>

#include "verifier/proof/certificate.h"
#include "verifier/proof/entailment.h"

namespace taso::verifier {
namespace {

// A new context costs 10 ms; one per thread serves all its questions.
z3::context& context() {
  thread_local z3::context mine;
  return mine;
}

/// Writes to `core` which of the first `steps` assertions are in Z3's unsat core.
z3::check_result ask(const std::string& question, unsigned effort, std::size_t steps, std::set<std::size_t>* core,
                     const std::stop_token& stop) {
  z3::solver solver(context(), z3::solver::simple());
  z3::params params(context());
  params.set("rlimit", effort);
  // The program handles Ctrl-C itself. Z3 would only end one question, and threads that install its handler at the same
  // time do not restore the program's own.
  params.set("ctrl_c", false);
  solver.set(params);
  const z3::expr_vector assertions = context().parse_string(question.c_str());
  for (unsigned i = 0; i < assertions.size(); ++i) {
    if (i < steps)
      solver.add(assertions[static_cast<int>(i)], ("s" + std::to_string(i)).c_str());
    else
      solver.add(assertions[static_cast<int>(i)]);
  }
  // The context belongs to the asking thread; the stop request comes from another.
  z3::context& asked = context();
  const std::stop_callback interrupt(stop, [&asked] { asked.interrupt(); });
  const z3::check_result result = stop.stop_requested() ? z3::unknown : solver.check();
  if (core && result == z3::unsat)
    for (const z3::expr& name : solver.unsat_core()) core->insert(std::stoul(name.decl().name().str().substr(1)));
  return result;
}

}  // namespace

std::optional<std::set<std::size_t>> needed_steps(const Certificate& certificate, std::size_t steps, unsigned effort,
                                                  const std::stop_token& stop) {
  try {
    std::set<std::size_t> needed;
    if (ask(certificate.equality, effort, steps, &needed, stop) == z3::unsat) return needed;
  } catch (const z3::exception&) {
    return std::nullopt;  // the check reports what is wrong
  }
  return std::nullopt;
}

CertificateCheck check_certificate(const Certificate& certificate, const rules::Instance& instance, std::size_t steps,
                                   unsigned effort, const std::stop_token& stop) {
  CertificateCheck result;
  if (!certificate.flaw.empty()) {
    result.reason = certificate.flaw;
    return result;
  }
  try {
    if (ask(certificate.equality, effort, steps, &result.needed, stop) != z3::unsat) {
      result.reason = "the steps do not entail that the sides are equal";
      return result;
    }
    if (!certificate.requirements.empty() && ask(certificate.arithmetic, effort / 4, 0, nullptr, stop) != z3::unsat) {
      // All at once was too much, or one of them is false: ask one by one.
      Entailment entailment(instance.unknowns, instance.hypotheses, effort / 8);
      for (const rules::Requirement& requirement : certificate.requirements) {
        const auto answer = stop.stop_requested() ? Entailment::Answer::unknown : entailment.entails(requirement);
        if (answer == Entailment::Answer::yes) continue;
        result.reason = std::string(answer == Entailment::Answer::no ? "does not hold: " : "cannot be decided: ") +
                        rules::text_of(requirement);
        return result;
      }
    }
  } catch (const z3::exception& error) {
    result.reason = std::string("Z3: ") + error.msg();
    return result;
  }
  result.accepted = true;
  return result;
}

}  // namespace taso::verifier
