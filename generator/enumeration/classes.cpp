#include "generator/enumeration/classes.h"

#include <algorithm>
#include <tuple>
#include <variant>

namespace taso::generator {

bool is_split(const Family& family, const Form& form) {
  return std::holds_alternative<op::Split>(family.schemas[form.schema].op);
}

double graphs_of(const Values& table, const Form& form) {
  double graphs = 1;
  for (const ValueId operand : form.used()) graphs *= table[operand].graphs;
  return graphs;
}

std::vector<Class> classes_of(std::vector<Record> records, const Family& family, const Values& table, bool is_last,
                              std::uint64_t& count) {
  std::sort(records.begin(), records.end(), [](const Record& a, const Record& b) {
    const auto low = [](const Record& r) { return r.key.low & ~named_otherwise; };
    const auto other = [](const Record& r) { return r.key.low & named_otherwise; };
    if (a.key.high != b.key.high) return a.key.high < b.key.high;
    if (low(a) != low(b)) return low(a) < low(b);
    return other(a) < other(b);
  });
  std::vector<Class> classes;
  for (std::size_t begin = 0, end = 0; begin < records.size(); begin = end) {
    const Fingerprint key{records[begin].key.high, records[begin].key.low & ~named_otherwise};
    while (end < records.size() && records[end].key.high == key.high &&
           (records[end].key.low & ~named_otherwise) == key.low)
      ++end;
    ++count;
    if (is_last && end - begin == 1) continue;
    std::vector<std::tuple<std::uint64_t, bool, std::uint64_t, Form>> order;
    for (std::size_t i = begin; i < end; ++i)
      order.emplace_back(records[i].key.low & named_otherwise, !is_split(family, records[i].form),
                         end - begin == 1 ? 0 : table.shape_of(records[i].form), records[i].form);
    std::sort(order.begin(), order.end());
    Class one{key, 0, {}};
    for (const auto& [otherwise, alone, shape, form] : order) {
      one.forms.push_back(form);
      one.graphs += graphs_of(table, form);
    }
    classes.push_back(std::move(one));
  }
  return classes;
}

}  // namespace taso::generator
