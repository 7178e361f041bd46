#include "cli/opt/summary.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/console/exit_code.h"
#include "cli/console/streams.h"
#include "cli/console/table.h"
#include "onnx/import/view.h"
#include "onnx/model/external_data.h"
#include "onnx/model/model_tensors.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "ops/text/units.h"

namespace taso::cli {
namespace {

/// With more kinds of operators, only those whose number changed are shown.
constexpr std::size_t most_rows = 12;
constexpr std::size_t widest_name = 40;

void count_operators(const proto::GraphProto& graph, std::map<std::string, std::size_t>& operators) {
  for (const auto& node : graph.node()) {
    std::string name = onnx::is_default_domain(node.domain()) ? node.op_type() : node.domain() + "." + node.op_type();
    ++operators[name];
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) count_operators(attribute.g(), operators);
      for (const auto& inner : attribute.graphs()) count_operators(inner, operators);
    }
  }
}

std::string shown_name(const std::string& name) {
  const std::string line = on_one_line(name);
  return line.size() <= widest_name ? line : fmt::format("{}...", line.substr(0, widest_name - 3));
}

struct Row {
  std::string name, before, after;
};

std::vector<Row> operator_rows(const Summary& summary) {
  std::set<std::string> names;
  for (const auto& counts : {summary.before, summary.after})
    for (const auto& [name, count] : counts.operators) names.insert(name);
  const auto count_in = [](const ModelCounts& counts, const std::string& name) {
    const auto found = counts.operators.find(name);
    return found == counts.operators.end() ? std::size_t{0} : found->second;
  };
  std::vector<Row> rows;
  std::size_t alike = 0, alike_nodes = 0;
  for (const auto& name : names) {
    const std::size_t before = count_in(summary.before, name), after = count_in(summary.after, name);
    if (names.size() > most_rows && before == after) {
      ++alike;
      alike_nodes += before;
      continue;
    }
    rows.push_back({shown_name(name), with_commas(before), with_commas(after)});
  }
  if (alike > 0) rows.push_back({fmt::format("{} others", alike), with_commas(alike_nodes), with_commas(alike_nodes)});
  rows.push_back({"total", with_commas(summary.before.total()), with_commas(summary.after.total())});
  return rows;
}

std::vector<Row> figure_rows(const pricing::Figures& before, const pricing::Figures& after) {
  const auto share = [](const pricing::Figures& figures) {
    return fmt::format("{:.0f} %", figures.seconds > 0 ? 100 * figures.measured / figures.seconds : 0);
  };
  std::vector<Row> rows{
      {"kernels", with_commas(before.launches), with_commas(after.launches)},
      {"bytes moved", text_of_bytes(before.bytes_moved), text_of_bytes(after.bytes_moved)},
      {"peak memory", text_of_bytes(static_cast<double>(before.peak_bytes)),
       text_of_bytes(static_cast<double>(after.peak_bytes))},
      {"predicted, sequential", cost::text_of_seconds(before.seconds), cost::text_of_seconds(after.seconds)},
      {"share measured", share(before), share(after)}};
  if (before.concurrent_seconds > 0 && after.concurrent_seconds > 0) {
    rows.push_back({"predicted, concurrent", cost::text_of_seconds(before.concurrent_seconds),
                    cost::text_of_seconds(after.concurrent_seconds)});
    rows.push_back({"streams", std::to_string(before.lanes), std::to_string(after.lanes)});
  }
  return rows;
}

/// Warns if the predicted gain may come only from kernels that were never measured.
std::string warning_of(const Summary& summary) {
  if (!summary.search || !summary.search->changed() || summary.search->objective != cost::Objective::time) return "";
  if (!summary.before.figures || !summary.after.figures || summary.confirmed || summary.in_runtime) return "";
  const pricing::Figures &before = *summary.before.figures, &after = *summary.after.figures;
  const double gain = before.seconds - after.seconds;
  const double guessed = (after.seconds - after.measured) - (before.seconds - before.measured);
  if (gain <= 0 || guessed <= gain / 2) return "";
  return fmt::format(
      "the gain of {} relies on {} of kernel time that was never measured: run the model to be sure, or measure "
      "with --device cuda\n",
      cost::text_of_seconds(gain), cost::text_of_seconds(guessed));
}

bool has_clean_ups(const Summary& summary) {
  return std::any_of(summary.passes.begin(), summary.passes.end(),
                     [](const onnx::CleanupCount& pass) { return pass.count > 0; });
}

/// Who left out how many operators; empty if that is clear.
std::string shares_of_operators(const Summary& summary) {
  if (!summary.cleaned_nodes || !summary.search || !summary.search->changed()) return "";
  if (*summary.cleaned_nodes == summary.before.total()) return "";
  return fmt::format("; {} operators as read, {} cleaned up, {} in the result", with_commas(summary.before.total()),
                     with_commas(*summary.cleaned_nodes), with_commas(summary.after.total()));
}

std::string sizes_text(const pricing::AssumedSizes& assumed) {
  if (assumed.empty()) return "";
  constexpr std::size_t most = 6;
  std::vector<std::string> parts;
  for (const auto& [name, extents] : assumed.inputs) {
    if (parts.size() == most) {
      parts.push_back(fmt::format("{} more inputs", assumed.inputs.size() - most));
      break;
    }
    parts.push_back(fmt::format("{}:{}", on_one_line(name), fmt::join(extents, ",")));
  }
  if (assumed.inside > 0)
    parts.push_back(fmt::format("1 for {} inner {} that no input determines", with_commas(assumed.inside),
                                assumed.inside == 1 ? "size" : "sizes"));
  if (assumed.unranked > 0)
    parts.push_back(fmt::format("0 for {} {} of unknown rank", with_commas(assumed.unranked),
                                assumed.unranked == 1 ? "value" : "values"));
  return fmt::format("sizes assumed in prices: {}{}\n", fmt::join(parts, ", "),
                     assumed.inputs.empty() ? "" : " (change them with --test-input-shape)");
}

std::string nothing_found(const SearchSummary& search) {
  return fmt::format("no {} graph {}", search.objective == cost::Objective::time ? "faster" : "better",
                     search.note.empty() ? "found" : "kept");
}

/// What the rules' savings leave out, and what they add up to with it.
std::pair<std::string_view, std::string_view> names_of_rest(cost::Objective objective) {
  switch (objective) {
    case cost::Objective::time: return {"repeated kernels, copies", "predicted, sequential"};
    case cost::Objective::memory: return {"places used again", "peak memory"};
    case cost::Objective::launches: break;
  }
  return {"the whole plan", "kernels"};
}

/// How what the rules saved adds up to the difference of the predictions; rows of the table of rules.
void add_up(const Summary& summary, Table& table) {
  const SearchSummary& search = *summary.search;
  const auto row = [&](std::string name, std::string times, double saved) {
    table.rows.push_back({std::move(name), std::move(times), cost::text_of_cost(search.objective, saved)});
  };
  std::size_t count = 0;
  double rules = 0;
  for (const auto& one : search.applied) {
    count += one.count;
    rules += one.saved;
  }
  if (search.applied.size() > 1) row("all rules", with_commas(count), rules);
  if (!summary.before.figures || !summary.after.figures) return;
  const pricing::Figures &before = *summary.before.figures, &after = *summary.after.figures;
  const double from = before.of(search.objective), saved = from - after.of(search.objective);
  const auto is_worth_a_row = [&](double part) { return std::abs(part) >= 0.0005 * std::abs(from); };
  const auto [rest, total] = names_of_rest(search.objective);
  if (is_worth_a_row(saved - rules)) row(std::string(rest), "", saved - rules);
  row(std::string(total), "", saved);
  if (search.objective != cost::Objective::time || before.concurrent_seconds <= 0 || after.concurrent_seconds <= 0)
    return;
  const double concurrent = before.concurrent_seconds - after.concurrent_seconds;
  if (!is_worth_a_row(concurrent - saved)) return;
  row("streams", "", concurrent - saved);
  row("predicted, concurrent", "", concurrent);
}

/// Regions whose gap is worth a line.
constexpr std::size_t most_regions = 6;

std::string lines_of(const SearchSummary::Gap& gap, cost::Objective objective) {
  std::string text = fmt::format(
      "gap: at most {:.1f} % better graphs exist within these rules, sizes and prices{}\n", gap.percent(),
      gap.is_saturated ? ""
                       : fmt::format(", among those that at most one round of rules reaches ({} computations)",
                                     with_commas(gap.computations)));
  if (gap.unsolved > 0)
    text += fmt::format("saturation: no time was left for {} regions of the result\n", with_commas(gap.unsolved));
  if (gap.regions.empty()) return text;
  std::size_t places = 0, saturated = 0;
  for (const search::RegionGap& region : gap.regions) {
    places += region.places;
    saturated += region.is_saturated ? region.places : 0;
  }
  text +=
      fmt::format("saturation: {} of {} different regions improved; rules lead no further in {} of the result's {}\n",
                  gap.improved, with_commas(gap.solved), with_commas(saturated), with_commas(places));
  std::vector<search::RegionGap> regions = gap.regions;
  const auto possible = [](const search::RegionGap& one) {
    return (one.cost - one.least) * static_cast<cost::Cost>(one.places);
  };
  std::stable_sort(regions.begin(), regions.end(),
                   [&](const auto& one, const auto& other) { return possible(one) > possible(other); });
  Table table{{{"region of operators", "places", "predicted", "at least", "gap"}}, 1, 3};
  for (const search::RegionGap& region : regions) {
    if (table.rows.size() > most_regions) {
      table.rows.push_back({fmt::format("{} others", regions.size() - most_regions), "", "", "", ""});
      break;
    }
    const auto cost = [&](cost::Cost one) { return cost::text_of_cost(objective, cost::in_units(objective, one)); };
    table.rows.push_back({with_commas(region.operators), with_commas(region.places), cost(region.cost),
                          cost(region.least),
                          fmt::format("{:.1f} %{}", region.percent(), region.is_saturated ? "" : ", not saturated")});
  }
  return text + "\n" + table.text() + "\n";
}

std::string lines_of_search(const Summary& summary) {
  const SearchSummary& search = *summary.search;
  std::string tried;
  if (search.tried > 0)
    tried = fmt::format(", {} graphs timed with {} kernels", with_commas(search.tried),
                        search.in_lanes ? "concurrent" : "sequential");
  std::string text = fmt::format("search: {} graphs expanded with {} of {} rules, {} matches{}; {}\n",
                                 with_commas(search.expanded), with_commas(search.usable), with_commas(search.rules),
                                 with_commas(search.matched), tried, search.end);
  if (!search.left_out.empty())
    text += fmt::format("rules left out because their results failed the check: {} ({})\n",
                        fmt::join(search.left_out, ", "), on_one_line(search.objection));
  if (search.gap) text += lines_of(*search.gap, search.objective);
  if (!search.note.empty()) return text + fmt::format("{}: {}\n", nothing_found(search), on_one_line(search.note));
  if (!search.changed()) return text + nothing_found(search) + "\n";
  Table table{{{"rule", "times", "saved"}}, 1, 3};
  for (const auto& one : search.applied)
    table.rows.push_back({one.rule, with_commas(one.count), cost::text_of_cost(search.objective, one.saved)});
  add_up(summary, table);
  return text + "\n" + table.text() + "\n";
}

}  // namespace

std::size_t ModelCounts::total() const {
  std::size_t sum = 0;
  for (const auto& [name, count] : operators) sum += count;
  return sum;
}

ModelCounts count_model(const onnx::Model& model) {
  ModelCounts counts;
  count_operators(model.proto().graph(), counts.operators);
  counts.bytes = model.proto().ByteSizeLong();
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  // for_each_tensor needs a mutable model; nothing is changed here.
  onnx::for_each_tensor(const_cast<proto::ModelProto&>(model.proto()), [&](proto::TensorProto& tensor, bool) {
    if (!onnx::is_external(tensor)) return;
    const onnx::ExternalFile source = onnx::open_external(tensor, model.folder(), onnx::raw_bytes_of(tensor));
    std::tuple<std::string, std::string, std::string> where;
    for (const auto& entry : tensor.external_data()) {
      if (entry.key() == "location") std::get<0>(where) = entry.value();
      if (entry.key() == "offset") std::get<1>(where) = entry.value();
      if (entry.key() == "length") std::get<2>(where) = entry.value();
    }
    if (seen.insert(where).second) counts.bytes += source.region.length;
  });
  return counts;
}

bool Summary::changed() const {
  if (search && search->changed()) return true;
  return has_clean_ups(*this);
}

std::string Summary::verdict() const {
  if (coverage_only) return "not optimised";
  if (failed()) return "FAILED";
  if (!changed()) return search ? nothing_found(*search) : "no clean-up applied";
  return check ? "PASSED" : "UNCHECKED";
}

std::string describe_check(const Summary& summary) {
  if (!summary.check) return "off";
  const onnx::CheckResult& check = *summary.check;
  std::string text;
  switch (check.scope) {
    case onnx::CheckResult::Scope::unchanged:
      return "the graph is unchanged" + (check.reason.empty() ? "" : "; " + on_one_line(check.reason));
    case onnx::CheckResult::Scope::whole: text = "the whole model"; break;
    case onnx::CheckResult::Scope::regions: text = "every changed region"; break;
  }
  if (check.passed && check.compared == 0)  // all nodes that are left compute what they did, of the same operands
    return "the nodes that are left compute what they did, so nothing had to run" +
           (check.reason.empty() ? "" : fmt::format(" ({})", on_one_line(check.reason)));
  text +=
      fmt::format(" on {} {} of random inputs, {} {} compared", summary.samples, summary.samples == 1 ? "set" : "sets",
                  check.compared, check.compared == 1 ? "tensor" : "tensors");
  if (check.passed) text += fmt::format(", largest difference {:.2f} % of the tolerance", check.worst * 100);
  if (check.finite < 1) text += fmt::format(", at least {:.0f} % of each finite", check.finite * 100);
  if (check.passed && check.large.finite > 0 && check.large.lost == 0)
    text += "; finite elements stay finite with large inputs";
  for (const auto& [kinds, inputs] : {std::pair(check.large, "large inputs"),
                                      std::pair(check.special, "NaN, infinities and the like among the inputs")})
    if (kinds.lost > 0)
      text += fmt::format("; with {}, {} of {} finite elements are no longer finite", inputs, with_commas(kinds.lost),
                          with_commas(kinds.finite));
  if (!check.reason.empty()) text += fmt::format(" ({})", on_one_line(check.reason));
  return text;
}

std::string describe_coverage(const Summary& summary) {
  if (!summary.coverage) return "nothing is understood: the model cannot be imported";
  std::string text = table_of(*summary.coverage);
  if (!summary.prices.empty()) text += fmt::format("\nprices: {}\n", summary.prices);
  text += sizes_text(summary.assumed);
  if (!text.empty()) text.pop_back();  // the console ends the line
  return text;
}

std::string table_of(const Summary& summary) {
  std::vector<Row> rows = operator_rows(summary);
  rows.insert(rows.begin(), {"operator", "as read", "result"});
  rows.push_back({"file", bytes_text(summary.before.bytes), bytes_text(summary.after.bytes)});
  if (summary.before.figures && summary.after.figures) {
    rows.push_back({"", "", ""});
    rows.push_back({"a run, as predicted", has_clean_ups(summary) ? "cleaned up" : "as read", "result"});
    for (Row& row : figure_rows(*summary.before.figures, *summary.after.figures)) rows.push_back(std::move(row));
  }
  Table table{{}, 1, 3};
  for (const Row& row : rows) table.rows.push_back({row.name, row.before, row.after});
  std::string text = table.text();
  std::vector<std::string> applied;
  for (const onnx::CleanupCount& pass : summary.passes)
    if (pass.count > 0) applied.push_back(fmt::format("{} {}", pass.pass, with_commas(pass.count)));
  text += fmt::format("\nclean-ups: {}{}\n", applied.empty() ? "none" : fmt::format("{}", fmt::join(applied, ", ")),
                      shares_of_operators(summary));
  if (summary.coverage) text += text_of(*summary.coverage) + "\n";
  if (!summary.prices.empty()) text += fmt::format("prices: {}\n", summary.prices);
  text += sizes_text(summary.assumed);
  if (summary.after.figures && !summary.after.figures->no_lanes.empty())
    text += fmt::format("concurrent time not predicted: {}\n", on_one_line(summary.after.figures->no_lanes));
  if (summary.search) text += lines_of_search(summary);
  text += warning_of(summary);
  if (summary.confirmed)
    text += fmt::format("on the GPU: {:.3f} times as fast ({:.3f} to {:.3f})\n", summary.confirmed->value,
                        summary.confirmed->low, summary.confirmed->high);
  if (summary.search && !summary.search->unconfirmed.empty())
    text += fmt::format("not confirmed on the GPU: {}\n", on_one_line(summary.search->unconfirmed));
  if (summary.in_runtime) text += text_of(*summary.in_runtime);
  text += fmt::format("check: {}\n", describe_check(summary));
  std::vector<std::string> times;
  for (const auto& [phase, seconds] : summary.seconds) times.push_back(fmt::format("{} {:.2f} s", phase, seconds));
  if (!times.empty()) text += fmt::format("time: {}\n", fmt::join(times, ", "));
  if (summary.written) {
    text += fmt::format("written: {}", on_one_line(summary.output.string()));
    if (summary.certificate) text += fmt::format(", certificate {}", on_one_line(summary.certificate->string()));
    if (is_standard_stream(summary.output)) text += " (no certificate: it needs a named output file)";
  } else {
    text += summary.engine ? "no model written" : "nothing written";
  }
  if (summary.engine) text += fmt::format("\nengine: {}", on_one_line(*summary.engine));
  return text;
}

}  // namespace taso::cli
