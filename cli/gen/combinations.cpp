#include "cli/gen/combinations.h"

#include <algorithm>
#include <functional>
#include <set>

#include "generator/enumeration/program.h"

namespace taso::cli {
namespace {

/// More layouts than this show nothing new.
constexpr std::size_t most_layouts = 64;

/// Calls `visit` with every valid application of the schema to these layouts.
void for_each_application(generator::Programs& programs, const generator::Family& family, std::size_t schema,
                          const std::vector<generator::LayoutId>& layouts,
                          const std::function<void(const generator::Program&)>& visit) {
  std::vector<generator::LayoutId> operands;
  const std::function<void()> choose = [&] {
    if (operands.size() == family.schemas[schema].operands) {
      if (const generator::Program* program = programs.find(schema, operands)) visit(*program);
      return;
    }
    for (const generator::LayoutId layout : layouts) {
      operands.push_back(layout);
      choose();
      operands.pop_back();
    }
  };
  choose();
}

/// The names of the schemas that can be applied at all, within that many steps. One tensor of each layout represents
/// all, because its contents do not matter.
std::set<std::string> usable(const generator::Family& family, std::size_t max_operators) {
  const generator::SampleInputs world(family, false, 1);
  generator::Programs programs(world);
  std::vector<generator::LayoutId> layouts;
  std::set<generator::LayoutId> seen;
  const auto add = [&](generator::LayoutId layout) {
    if (layouts.size() < most_layouts && seen.insert(layout).second) layouts.push_back(layout);
  };
  for (const generator::Item& input : world.all_inputs()) add(programs.layout(input.layout()));
  std::set<std::string> names;
  for (std::size_t step = 0; step < max_operators; ++step) {
    std::vector<generator::LayoutId> made;
    for (std::size_t schema = 0; schema < family.schemas.size(); ++schema)
      for_each_application(programs, family, schema, layouts, [&](const generator::Program& program) {
        names.insert(family.schemas[schema].name);
        made.insert(made.end(), program.result_layouts.begin(), program.result_layouts.end());
      });
    if (names.size() == family.schemas.size()) break;
    const std::size_t known = layouts.size();
    std::for_each(made.begin(), made.end(), add);
    if (layouts.size() == known) break;
  }
  return names;
}

}  // namespace

Combinations combinations_of(const std::vector<std::string>& operators, std::size_t max_operators) {
  std::vector<std::set<std::string>> together;
  for (const generator::Family& family : generator::families(operators))
    together.push_back(usable(family, max_operators));
  const auto meet = [&](const std::string& one, const std::string& other) {
    return std::any_of(together.begin(), together.end(),
                       [&](const auto& names) { return names.contains(one) && names.contains(other); });
  };
  Combinations result;
  std::vector<std::string> used;
  for (const std::string& name : operators) (meet(name, name) ? used : result.unusable).push_back(name);
  for (std::size_t i = 0; i < used.size(); ++i)
    for (std::size_t j = i + 1; j < used.size(); ++j)
      if (!meet(used[i], used[j])) result.apart.emplace_back(used[i], used[j]);
  return result;
}

}  // namespace taso::cli
