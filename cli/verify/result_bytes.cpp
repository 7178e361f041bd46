#include "cli/verify/result_bytes.h"

#include <array>
#include <vector>

#include "ops/cluster/bytes.h"
#include "rules/language/rule_text.h"

namespace taso::cli {
namespace {

/// Writes fields, or reads them: one list of fields serves both ways.
class FieldWriter {
 public:
  void operator()(const std::string& text) { put_text(bytes_, text); }
  void operator()(const std::vector<std::string>& texts) {
    put(bytes_, static_cast<std::uint64_t>(texts.size()));
    for (const std::string& text : texts) put_text(bytes_, text);
  }
  template <PlainBytes T>
  void operator()(const T& value) {
    put(bytes_, value);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class FieldReader {
 public:
  explicit FieldReader(const std::string& bytes) : reader_(bytes) {}
  void operator()(std::string& text) { text = reader_.get_text(); }
  void operator()(std::vector<std::string>& texts) {
    const auto count = reader_.get<std::uint64_t>();
    for (std::uint64_t i = 0; i < count; ++i) texts.push_back(reader_.get_text());
  }
  template <PlainBytes T>
  void operator()(T& value) {
    value = reader_.get<T>();
  }

 private:
  ByteReader reader_;
};

void verdict_fields(auto& verdict, auto& field) {
  field(verdict.kind);
  field(verdict.reason);
  field(verdict.properties);
  field(verdict.instances);
  field(verdict.by_properties);
  field(verdict.by_normal_form);
  field(verdict.witness);
  field(verdict.counterexample);
  field(verdict.certificates);
  field(verdict.disagreement);
}

void property_fields(auto& property, auto& field) {
  field(property.instances);
  field(property.proved);
  field(property.obstacle);
  field(property.small_sizes);
  field(property.small_sizes_open);
  field(property.random_shapes);
  field(property.counterexample);
  field(property.follows_from_others);
  field(property.members);
  field(property.is_proved_once);
}

void opinion_fields(auto& opinion, auto& field) {
  field(opinion.agreed);
  field(opinion.open);
  field(opinion.trouble);
  field(opinion.disagreement);
}

void result_fields(auto& result, auto& field) {
  field(result.decided);
  field(result.from_cache);
  field(result.unstated);
  field(result.unknown_names);
  field(result.seconds);
  verdict_fields(result.verdict, field);
}

/// Conditions are text only within a rule.
std::string text_with_conditions(rules::Rule rule, const std::vector<rules::Condition>& conditions) {
  if (conditions.empty()) return {};
  rule.name = "found";
  rule.conditions = conditions;
  return rules::print(rule);
}

}  // namespace

std::string bytes_of(const RuleResult& result, const rules::Rule& rule) {
  FieldWriter field;
  result_fields(result, field);
  field(text_with_conditions(rule, result.verdict.condition));
  field(result.property.has_value());
  if (result.property) property_fields(*result.property, field);
  field(result.second.has_value());
  if (result.second) opinion_fields(*result.second, field);
  return field.take();
}

RuleResult result_from(const std::string& bytes) {
  RuleResult result;
  FieldReader field(bytes);
  result_fields(result, field);
  std::string conditions;
  field(conditions);
  if (!conditions.empty()) result.verdict.condition = rules::parse_rule(conditions).conditions;
  bool is_there = false;
  field(is_there);
  if (is_there) property_fields(result.property.emplace(), field);
  field(is_there);
  if (is_there) opinion_fields(result.second.emplace(), field);
  return result;
}

}  // namespace taso::cli
