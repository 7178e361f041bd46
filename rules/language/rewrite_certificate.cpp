#include "rules/language/rewrite_certificate.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ops/core/error.h"

namespace taso::rules {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t schema_version = 1;
constexpr int deepest = 8;

// --- Writing ---

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json json_of(const CleanupStep& step) { return Json::array({step.pass, step.at}); }

Json json_of(const RewriteCertificate::InputShape& shape) {
  Json extents = Json::array();
  for (const std::int64_t extent : shape.extents) extents.push_back(extent);
  return Json::array({shape.input, std::move(extents)});
}

Json json_of(const std::pair<ValueNumber, std::string>& name) { return Json::array({name.first, name.second}); }

Json json_of(const RewriteStep& step) {
  Json json = Json::object();
  json["rule"] = step.rule;
  auto& inputs = json["inputs"] = Json::object();
  for (const auto& [name, value] : step.inputs) inputs[name] = value;
  auto& variables = json["variables"] = Json::object();
  for (const auto& [name, value] : step.variables) variables[name] = value;
  json["exchanged"] = step.exchanged;
  json["replaced"] = step.replaced;
  auto& made = json["made"] = Json::array();
  for (const RewriteStep::Made& node : step.made) made.push_back(Json::array({node.op, node.results}));
  auto& merged = json["merged"] = Json::array();
  for (const auto& [value, other] : step.merged) merged.push_back(Json::array({value, other}));
  json["conditions"] = step.conditions;
  json["cost"] = Json::array({step.cost_before, step.cost_after});
  return json;
}

/// One element per line.
template <class T>
std::string lines_of(const std::vector<T>& list) {
  if (list.empty()) return "[]";
  std::string text = "[";
  for (const T& element : list) text += (&element == list.data() ? "\n    " : ",\n    ") + text_of(json_of(element));
  return text + "\n  ]";
}

// --- Reading ---

/// The path of an element in a certificate. It becomes text only in an error, because there are millions of elements.
struct Where {
  std::string_view key;           ///< of an object; empty for an element of a list
  std::size_t index = 0;          ///< in a list
  const Where* around = nullptr;  ///< the element that contains it

  std::string text() const {
    const std::string outside = around == nullptr ? "" : around->text();
    if (key.empty()) return fmt::format("{}[{}]", outside, index);
    return outside.empty() ? std::string(key) : fmt::format("{}.{}", outside, key);
  }
};

[[noreturn]] void fail(const Where& where, std::string_view what) {
  throw InputError(fmt::format("not a certificate: {}: {}", where.text(), what));
}

std::uint64_t number(const Json& json, const Where& where) {
  if (!json.is_number_unsigned()) fail(where, "expected an integer from 0 to 18446744073709551615");
  return json.get<std::uint64_t>();
}

std::int64_t signed_number(const Json& json, const Where& where) {
  if (!json.is_number_integer() ||
      (json.is_number_unsigned() && json.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()))
    fail(where, "expected an integer of at most 63 bits");
  return json.get<std::int64_t>();
}

std::string text(const Json& json, const Where& where) {
  if (!json.is_string()) fail(where, "expected a string");
  return json.get<std::string>();
}

template <class T, class Read>
std::vector<T> list(const Json& json, const Where& where, Read&& read) {
  if (!json.is_array()) fail(where, "expected a list");
  std::vector<T> result;
  result.reserve(json.size());
  for (const Json& element : json) result.push_back(read(element, Where{"", result.size(), &where}));
  return result;
}

/// An object that has exactly these fields.
const Json& object(const Json& json, const Where& where, std::initializer_list<std::string_view> fields) {
  if (!json.is_object()) fail(where, "expected an object");
  for (const std::string_view field : fields)
    if (!json.contains(field)) fail(where, fmt::format("'{}' is missing", field));
  for (const auto& [key, value] : json.items())
    if (std::find(fields.begin(), fields.end(), key) == fields.end())
      fail(where, fmt::format("unknown field '{}'", key));
  return json;
}

/// A list of exactly that length.
const Json& tuple(const Json& json, const Where& where, std::size_t size) {
  if (!json.is_array() || json.size() != size) fail(where, fmt::format("expected a list of {}", size));
  return json;
}

template <class T, class Read>
std::vector<std::pair<std::string, T>> dictionary(const Json& json, const Where& where, Read&& read) {
  if (!json.is_object()) fail(where, "expected an object");
  std::vector<std::pair<std::string, T>> result;
  for (const auto& [key, value] : json.items()) result.emplace_back(key, read(value, Where{key, 0, &where}));
  return result;
}

RewriteStep step_of(const Json& json, const Where& where) {
  object(json, where, {"rule", "inputs", "variables", "exchanged", "replaced", "made", "merged", "conditions", "cost"});
  const auto at = [&](std::string_view key) { return Where{key, 0, &where}; };
  RewriteStep step;
  step.rule = text(json["rule"], at("rule"));
  step.inputs = dictionary<ValueNumber>(json["inputs"], at("inputs"), number);
  step.variables = dictionary<std::string>(json["variables"], at("variables"), text);
  step.exchanged = list<std::uint64_t>(json["exchanged"], at("exchanged"), number);
  step.replaced = list<ValueNumber>(json["replaced"], at("replaced"), number);
  step.made = list<RewriteStep::Made>(json["made"], at("made"), [](const Json& made, const Where& here) {
    tuple(made, here, 2);
    return RewriteStep::Made{text(made[0], here), list<ValueNumber>(made[1], here, number)};
  });
  step.merged =
      list<std::pair<ValueNumber, ValueNumber>>(json["merged"], at("merged"), [](const Json& pair, const Where& here) {
        tuple(pair, here, 2);
        return std::pair(number(pair[0], here), number(pair[1], here));
      });
  step.conditions = list<std::string>(json["conditions"], at("conditions"), text);
  tuple(json["cost"], at("cost"), 2);
  step.cost_before = signed_number(json["cost"][0], at("cost"));
  step.cost_after = signed_number(json["cost"][1], at("cost"));
  return step;
}

CleanupStep cleanup_of(const Json& json, const Where& where) {
  tuple(json, where, 2);
  return {text(json[0], where), text(json[1], where)};
}

/// Refuses what the library accepts: repeated keys, deep nesting.
Json parse(const std::string& bytes) {
  std::vector<std::set<std::string>> keys;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > deepest) throw InputError("not a certificate: it is nested too deeply");
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw InputError(fmt::format("not a certificate: '{}' occurs twice", parsed.get<std::string>()));
    return true;
  };
  try {
    return Json::parse(bytes, watch);
  } catch (const Json::parse_error& error) {
    throw InputError(fmt::format("not a certificate: byte {} is not JSON", error.byte));
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("not a certificate: {}", error.what()));
  }
}

/// The fixed parts of the beginning of print()'s text.
constexpr std::string_view heads[] = {"{\n  \"schema_version\": ", ",\n  \"version\": \"",
                                      "\",\n  \"input\": \"",      "\",\n  \"output\": \"",
                                      "\",\n  \"rules\": \"",      "\",\n  \"disabled_passes\": ["};

}  // namespace

bool starts_as_certificate(std::string_view bytes) {
  std::size_t from = 0;
  for (const std::string_view head : heads) {
    const std::size_t found = bytes.find(head, from);
    if (found == std::string_view::npos || (from == 0 && found != 0)) return false;
    from = found + head.size();
  }
  return true;
}

std::string print(const RewriteCertificate& certificate) {
  std::string disabled = text_of(Json(certificate.disabled));
  std::string text = "{\n";
  text += fmt::format("  \"schema_version\": {},\n", schema_version);
  const auto line = [&](std::string_view key, const std::string& value) {
    text += fmt::format("  \"{}\": {},\n", key, value);
  };
  line("version", text_of(Json(certificate.version)));
  line("input", text_of(Json(certificate.input)));
  line("output", text_of(Json(certificate.output)));
  line("rules", text_of(Json(certificate.rules)));
  line("disabled_passes", disabled);
  line("fold_limit", std::to_string(certificate.fold_limit));
  line("input_shapes", lines_of(certificate.input_shapes));
  line("clean_ups", lines_of(certificate.before));
  line("steps", lines_of(certificate.steps));
  line("clean_ups_after", lines_of(certificate.after));
  text += fmt::format("  \"names\": {}\n}}\n", lines_of(certificate.names));
  return text;
}

RewriteCertificate parse_certificate(const std::string& bytes) {
  const Json json = parse(bytes);
  if (!json.is_object() || !json.contains("schema_version")) fail(Where{"the file"}, "it has no schema_version");
  if (const std::uint64_t version = number(json["schema_version"], Where{"schema_version"}); version != schema_version)
    throw InputError(
        fmt::format("a certificate of schema version {}; this program reads version {}", version, schema_version));
  object(json, Where{"the file"},
         {"schema_version", "version", "input", "output", "rules", "disabled_passes", "fold_limit", "input_shapes",
          "clean_ups", "steps", "clean_ups_after", "names"});
  RewriteCertificate result;
  result.version = text(json["version"], Where{"version"});
  result.input = text(json["input"], Where{"input"});
  result.output = text(json["output"], Where{"output"});
  result.rules = text(json["rules"], Where{"rules"});
  result.disabled = list<std::string>(json["disabled_passes"], Where{"disabled_passes"}, text);
  result.fold_limit = number(json["fold_limit"], Where{"fold_limit"});
  result.input_shapes = list<RewriteCertificate::InputShape>(
      json["input_shapes"], Where{"input_shapes"}, [](const Json& shape, const Where& here) {
        tuple(shape, here, 2);
        return RewriteCertificate::InputShape{text(shape[0], here), list<std::int64_t>(shape[1], here, signed_number)};
      });
  result.before = list<CleanupStep>(json["clean_ups"], Where{"clean_ups"}, cleanup_of);
  result.steps = list<RewriteStep>(json["steps"], Where{"steps"}, step_of);
  result.after = list<CleanupStep>(json["clean_ups_after"], Where{"clean_ups_after"}, cleanup_of);
  result.names =
      list<std::pair<ValueNumber, std::string>>(json["names"], Where{"names"}, [](const Json& name, const Where& here) {
        tuple(name, here, 2);
        return std::pair(number(name[0], here), text(name[1], here));
      });
  return result;
}

std::string text_in_json(const std::string& text) {
  const bool is_plain =
      std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  return is_plain ? text : Json::parse(text_of(Json(text))).get<std::string>();
}

RewriteCertificate as_read(RewriteCertificate certificate) {
  const auto read = [](std::string& text) { text = text_in_json(text); };
  for (std::string* text : {&certificate.version, &certificate.input, &certificate.output, &certificate.rules})
    read(*text);
  for (std::string& pass : certificate.disabled) read(pass);
  for (RewriteCertificate::InputShape& shape : certificate.input_shapes) read(shape.input);
  for (auto* const steps : {&certificate.before, &certificate.after})
    for (CleanupStep& step : *steps) {
      read(step.pass);
      read(step.at);
    }
  for (RewriteStep& step : certificate.steps) {
    read(step.rule);
    for (auto& [name, value] : step.inputs) read(name);
    for (auto& [name, value] : step.variables) {
      read(name);
      read(value);
    }
    for (RewriteStep::Made& made : step.made) read(made.op);
    for (std::string& condition : step.conditions) read(condition);
  }
  for (auto& [number, name] : certificate.names) read(name);
  return certificate;
}

}  // namespace taso::rules
