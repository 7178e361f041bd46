// Sorts what the tasks of a level computed: forms of equal values are a class.
#pragma once

#include <cstdint>
#include <vector>

#include "generator/enumeration/level.h"
#include "generator/enumeration/records.h"

namespace taso::generator {

bool is_split(const Family& family, const Form& form);
/// How many graphs compute a form: the operands may be computed in several ways.
double graphs_of(const Values& table, const Form& form);

/// The classes of one part of the records, by key. The representative of a class has its inputs named in order, if any
/// form does. Among these, part of a split is preferred, because the other part comes for free. The choice does not
/// depend on the names. Adds the number of classes to `count`; in the last level, those of a single form are left out.
std::vector<Class> classes_of(std::vector<Record> records, const Family& family, const Values& table, bool is_last,
                              std::uint64_t& count);

}  // namespace taso::generator
