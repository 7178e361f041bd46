// The generator with the prover, as in taso-gen: for tests of what is proved.
#pragma once

#include "generator/generate.h"
#include "rules/egraph/property.h"
#include "rules/language/rule.h"
#include "verifier/verify.h"

namespace taso::test {

/// The shipped properties.
const rules::Properties& shipped_properties();

/// With those properties and without a time limit, so that a busy machine changes no verdict.
verifier::RuleVerdict verdict_on(const rules::Rule& rule, verifier::VerifyOptions options = {});

/// What is found and proved with these operators, up to that many on a side. Results are cached.
const generator::GenerateReport& proved_with(const std::vector<std::string>& schemas, std::size_t operators);

}  // namespace taso::test
