#include "generator/decision_text.h"

#include <vector>

#include <nlohmann/json.hpp>

#include "ops/core/error.h"
#include "rules/language/rule_text.h"

namespace taso::generator {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string text_of(const Decision& decision) {
  if (decision.derived) return "derived";
  Json json = Json::object();
  if (decision.proved.empty()) {
    json["kind"] = decision.last.kind == ProofOutcome::Kind::refuted ? "refuted" : "unknown";
    json["reason"] = decision.last.reason;
  }
  for (rules::Rule rule : decision.proved) {
    rule.name = "found";  // the grammar needs one
    json["proved"].push_back(rules::print(rule));
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Decision> decision_from(const std::string& text) {
  Decision decision;
  decision.derived = text == "derived";
  if (decision.derived) return decision;
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  try {
    if (json.contains("proved")) {
      for (const std::string& rule : json.at("proved").get<std::vector<std::string>>()) {
        decision.proved.push_back(rules::parse_rule(rule));
        decision.proved.back().name.clear();
      }
    } else {
      const bool refuted = json.at("kind").get<std::string>() == "refuted";
      decision.last.kind = refuted ? ProofOutcome::Kind::refuted : ProofOutcome::Kind::unknown;
      decision.last.reason = json.at("reason").get<std::string>();
    }
    return decision;
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

}  // namespace taso::generator
