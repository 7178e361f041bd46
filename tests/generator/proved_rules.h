// The generator with the prover behind it, as taso-gen runs them: for tests that look at what is proved.
#pragma once

#include "generator/generate.h"
#include "rules/egraph/property.h"
#include "rules/language/rule.h"
#include "verifier/verify.h"

namespace taso::test {

/// The properties that come with taso.
const rules::Properties& shipped_properties();

/// With those properties and without a time limit: on a busy machine proofs are to end as on an idle one.
verifier::RuleVerdict verdict_on(const rules::Rule& rule, verifier::VerifyOptions options = {});

/// What is found with these operators, up to so many on a side, and proved. Asked again for the same, it knows.
const generator::GenerateReport& proved_with(const std::vector<std::string>& schemas, std::size_t operators);

}  // namespace taso::test
