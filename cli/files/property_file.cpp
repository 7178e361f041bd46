#include "cli/files/property_file.h"

#include <fmt/format.h>

#include "cli/console/exit_code.h"
#include "cli/files/rule_input.h"
#include "ops/support/data_files.h"
#include "rules/language/canonical.h"

namespace taso::cli {

std::filesystem::path properties_path(const std::optional<std::filesystem::path>& named) {
  if (named) return *named;
  const auto found = find_data_file("rules/properties.rules");
  if (!found) throw EnvironmentError("cannot find the shipped properties; name a file with --properties");
  return *found;
}

std::string hash_of_properties(const std::vector<rules::Rule>& properties) {
  std::string text;
  for (const rules::Rule& property : properties)
    text += fmt::format("{} {}\n", property.name, rules::content_hash(property));
  return rules::hash_of_text(text);
}

std::string describe_properties() {
  const auto found = find_data_file("rules/properties.rules");
  if (!found) return "none";
  try {
    const rules::RuleFile file = read_properties(*found).rules;
    return fmt::format("{} ({})", hash_of_properties(file.rules()), file.laws().size());
  } catch (const InputError&) {
    return fmt::format("{} cannot be read", on_one_line(found->string()));
  }
}

}  // namespace taso::cli
