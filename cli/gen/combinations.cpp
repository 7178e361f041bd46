#include "cli/gen/combinations.h"

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "generator/family.h"
#include "generator/world.h"

namespace taso {
namespace {

/// More kinds of tensors than this tell nothing new.
constexpr std::size_t most_kinds = 256;

/// What a family's operators can be applied to, one tensor of each kind: what they hold does not matter.
class Kinds {
 public:
  explicit Kinds(const World& world) : world_(world) {
    for (std::size_t i = 0; i < world.inputs(); ++i) add(world.input(i));
  }

  /// Calls `visit` with the results of every application that makes sense, until it returns true.
  bool any_application(const Schema& schema, const std::function<bool(const std::vector<Item>&)>& visit) const {
    std::vector<const Item*> operands;
    return any_application(schema, operands, visit);
  }

  /// False if there are such tensors already, or too many kinds.
  bool add(const Item& item) {
    if (items_.size() >= most_kinds) return false;
    if (!seen_.emplace(item.tensor.extents, item.is_kernel, item.cuts).second) return false;
    items_.push_back(item);
    return true;
  }

 private:
  bool any_application(const Schema& schema, std::vector<const Item*>& operands,
                       const std::function<bool(const std::vector<Item>&)>& visit) const {
    if (operands.size() == schema.operands) {
      const auto results = world_.apply(schema, operands);
      return results && visit(*results);
    }
    for (const Item& item : items_) {
      operands.push_back(&item);
      const bool is_enough = any_application(schema, operands, visit);
      operands.pop_back();
      if (is_enough) return true;
    }
    return false;
  }

  const World& world_;
  std::vector<Item> items_;
  std::set<std::tuple<Extents, bool, Cuts>> seen_;
};

/// The names of the schemas that can be applied at all, in so many steps.
std::set<std::string> usable(const Family& family, std::size_t max_operators) {
  const World world(family, false, 1);
  Kinds kinds(world);
  std::set<std::string> names;
  for (std::size_t step = 0; step < max_operators; ++step) {
    for (const Schema& schema : family.schemas)
      if (!names.contains(schema.name) && kinds.any_application(schema, [](const auto&) { return true; }))
        names.insert(schema.name);
    if (names.size() == family.schemas.size()) break;
    std::vector<Item> made;
    for (const Schema& schema : family.schemas)
      kinds.any_application(schema, [&](const std::vector<Item>& results) {
        made.insert(made.end(), results.begin(), results.end());
        return false;
      });
    std::size_t news = 0;
    for (const Item& item : made) news += kinds.add(item);
    if (news == 0) break;
  }
  return names;
}

}  // namespace

Combinations combinations_of(const std::vector<std::string>& operators, std::size_t max_operators) {
  std::vector<std::set<std::string>> together;
  for (const Family& family : families(operators)) together.push_back(usable(family, max_operators));
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

}  // namespace taso
