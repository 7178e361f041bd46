#include "cli/files/proved_record.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "cli/files/property_file.h"
#include "cli/files/rule_input.h"
#include "ops/core/error.h"
#include "ops/support/data_files.h"
#include "ops/text/source.h"
#include "rules/language/canonical.h"
#include "verifier/version.h"

namespace taso::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 1;

/// One line for each rule, which people can read: names of properties, with commas.
Json json_of(const std::vector<std::vector<std::string>>& by) {
  Json lines = Json::array();
  for (const std::vector<std::string>& names : by) lines.push_back(fmt::format("{}", fmt::join(names, ", ")));
  return lines;
}

std::vector<std::vector<std::string>> names_from(const Json& lines) {
  std::vector<std::vector<std::string>> by;
  for (const Json& line : lines) {
    std::vector<std::string>& names = by.emplace_back();
    std::istringstream words(line.get<std::string>());
    for (std::string name; words >> name; names.push_back(name))
      if (name.ends_with(',')) name.pop_back();
  }
  return by;
}

}  // namespace

const ProvedFile* ProvedRecord::find(std::string_view bytes) const {
  const std::string hash = rules::hash_of_text(bytes);
  const auto found =
      std::find_if(files.begin(), files.end(), [&](const ProvedFile& file) { return file.file_hash == hash; });
  return found == files.end() ? nullptr : &*found;
}

std::string text_of(const ProvedRecord& record) {
  Json files = Json::array();
  for (const ProvedFile& file : record.files) {
    files.push_back({{"name", file.name},
                     {"rules", file.rules},
                     {"file_hash", file.file_hash},
                     {"rules_hash", file.rules_hash},
                     {"float_classes", file.float_classes}});
    if (!file.by.empty()) files.back()["by"] = json_of(file.by);
  }
  const Json json = {{"schema_version", schema_version},
                     {"verifier", record.verifier},
                     {"properties", record.properties},
                     {"files", files}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

ProvedRecord parse_record(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (json.at("schema_version").get<int>() != schema_version)
      throw InputError("the record of proved rules has another version");
    ProvedRecord record;
    record.verifier = json.at("verifier").get<unsigned>();
    record.properties = json.at("properties").get<std::string>();
    for (const Json& file : json.at("files"))
      record.files.push_back({file.at("name").get<std::string>(), file.at("rules").get<std::size_t>(),
                              file.at("file_hash").get<std::string>(), file.at("rules_hash").get<std::string>(),
                              file.value("float_classes", ""), names_from(file.value("by", Json::array()))});
    return record;
  } catch (const Json::exception& error) {
    throw InputError(std::string("the record of proved rules cannot be read: ") + error.what());
  }
}

std::optional<ProvedRecord> shipped_record() {
  const auto place = find_data_file("rules/proved.json");
  if (!place) return std::nullopt;
  try {
    ProvedRecord record = parse_record(Source::read(place->string()).text());
    if (record.verifier != verifier::verifier_revision) return std::nullopt;
    const std::vector<rules::Rule> properties =
        read_properties(place->parent_path() / "properties.rules").rules.rules();
    if (hash_of_properties(properties) != record.properties) return std::nullopt;
    return record;
  } catch (const InputError&) {  // without a record, rules are proved
    return std::nullopt;
  }
}

}  // namespace taso::cli
