#include "cli/details/page.h"

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/details/conditions.h"
#include "ops/core/error.h"

namespace taso::cli {

// The files in page/, as cmake/TasoText.cmake writes them.
extern const char* const run_html;
extern const char* const bench_html;
extern const char* const page_css;
extern const char* const words_js;
extern const char* const graph_js;
extern const char* const changes_js;
extern const char* const kernels_js;
extern const char* const run_js;
extern const char* const bench_js;

namespace {

using Json = nlohmann::ordered_json;

Json json_of_model(const ModelDetails& model, const std::vector<NodeFate>& fates) {
  Json nodes = Json::array();
  for (std::size_t i = 0; i < model.nodes.size(); ++i) {
    const NodeDetails& node = model.nodes[i];
    Json attributes = Json::object();
    for (const auto& [name, value] : node.attributes) attributes[name] = value;
    nodes.push_back({{"name", node.name},
                     {"op", node.op},
                     {"inputs", node.inputs},
                     {"outputs", node.outputs},
                     {"attributes", attributes},
                     {"fate", name_of(fates[i])},
                     {"constant", node.is_constant},
                     {"free", node.is_free},
                     {"kernels", node.kernels}});
  }
  Json kernels = Json::array();
  for (const KernelDetails& kernel : model.kernels)
    kernels.push_back({{"kind", kernel.kind},
                       {"text", kernel.text},
                       {"nodes", kernel.nodes},
                       {"seconds", kernel.seconds},
                       {"measured", kernel.is_measured},
                       {"on_host_because", kernel.no_kernel.empty() ? Json(nullptr) : Json(kernel.no_kernel)},
                       {"lane", kernel.lane},
                       {"begin", kernel.begin},
                       {"end", kernel.end},
                       {"bytes", kernel.bytes},
                       {"operations", kernel.operations}});
  return {{"nodes", nodes},       {"kernels", kernels},     {"timeline", model.has_timeline},
          {"types", model.types}, {"inputs", model.inputs}, {"outputs", model.outputs}};
}

Json json_of_steps(const Details& details) {
  const std::unordered_map<rules::ValueNumber, std::string> names(details.applied.names.begin(),
                                                                  details.applied.names.end());
  const auto name_of_value = [&](rules::ValueNumber value) {
    const auto found = names.find(value);
    return found == names.end() ? Json(nullptr) : Json(found->second);
  };
  Json steps = Json::array();
  for (const rules::RewriteStep& step : details.applied.steps) {
    Json inputs = Json::array(), variables = Json::array(), replaced = Json::array(), made = Json::array();
    for (const auto& [input, value] : step.inputs) inputs.push_back({input, name_of_value(value)});
    for (const auto& [variable, value] : step.variables) variables.push_back({variable, value});
    for (const rules::ValueNumber value : step.replaced) replaced.push_back(name_of_value(value));
    for (const rules::RewriteStep::Made& one : step.made) made.push_back(one.op);
    const cost::Objective objective = details.applied.objective;
    SortedConditions conditions = sort_conditions(step.conditions);
    steps.push_back(
        {{"rule", step.rule},
         {"inputs", inputs},
         {"variables", variables},
         {"replaced", replaced},
         {"made", made},
         {"conditions", std::move(conditions.telling)},
         {"plain", std::move(conditions.plain)},
         {"saved", cost::in_units(objective, step.cost_before) - cost::in_units(objective, step.cost_after)}});
  }
  return steps;
}

/// Inside of a script element, only "<" could end the text: "</script" and "<!--".
std::string within_script(std::string_view json) {
  std::string text;
  for (const char character : json) text += character == '<' ? std::string("\\u003c") : std::string(1, character);
  return text;
}

void replace_once(std::string& text, std::string_view mark, std::string_view with) {
  const std::size_t at = text.find(mark);
  check(at != std::string::npos, "the page has a place for each part");
  text.replace(at, mark.size(), with);
}

/// Puts style, scripts and data where the template refers to them.
std::string assembled(std::string page, const std::vector<std::pair<std::string, const char*>>& scripts,
                      const std::vector<std::pair<std::string, std::string>>& data) {
  replace_once(page, "<link rel=\"stylesheet\" href=\"page.css\">", fmt::format("<style>\n{}</style>", page_css));
  for (const auto& [name, script] : scripts)
    replace_once(page, fmt::format("<script src=\"{}\"></script>", name), fmt::format("<script>\n{}</script>", script));
  // The data comes last, so that nothing in it is taken for a mark.
  std::string elements;
  for (const auto& [name, json] : data)
    elements += fmt::format("<script type=\"application/json\" id=\"{}\">{}</script>\n", name, within_script(json));
  replace_once(page, "<!-- data -->\n", elements);
  return page;
}

}  // namespace

std::string json_text_of(const Details& details) {
  Json regions = Json::array();
  for (const ChangedRegion& region : details.regions)
    regions.push_back({{"before", region.before},
                       {"after", region.after},
                       {"steps", region.steps},
                       {"clean_ups", region.clean_ups},
                       {"saved", region.saved},
                       {"like", region.like}});
  Json rules = Json::object();
  for (const RuleDetails& rule : details.rules)
    rules[rule.name] = {{"text", rule.text},     {"source", rule.source},
                        {"target", rule.target}, {"conditions", rule.conditions},
                        {"by", rule.by},         {"comments", rule.comments}};
  const Json all = {{"before", json_of_model(details.before, details.fates_before)},
                    {"after", json_of_model(details.after, details.fates_after)},
                    {"regions", regions},
                    {"steps", json_of_steps(details)},
                    {"rules", rules}};
  // Names may hold any bytes.
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string page_of(const std::string& report, const std::optional<Details>& details) {
  return assembled(run_html,
                   {{"words.js", words_js},
                    {"graph.js", graph_js},
                    {"changes.js", changes_js},
                    {"kernels.js", kernels_js},
                    {"run.js", run_js}},
                   {{"report", report}, {"details", details ? json_text_of(*details) : "null"}});
}

std::string bench_page_of(const std::string& figures) {
  return assembled(bench_html, {{"words.js", words_js}, {"bench.js", bench_js}}, {{"data", figures}});
}

}  // namespace taso::cli
