// Values of a program that have turned out to be others, as the logs of its changes say.
#pragma once

#include <unordered_map>

#include "search/program/program.h"

namespace taso::search {

class MergedValues {
 public:
  /// What a value is called now.
  ValueId current(ValueId id) const {
    for (auto found = into_.find(id); found != into_.end(); found = into_.find(id)) id = found->second;
    return id;
  }
  /// Once the change is made.
  void note(const Program::Log& log, const Program& program) {
    for (const Change& change : log)
      if (change.kind == Change::Kind::merged) into_[change.names[0]] = change.names[1];
    // A name that is given again stands for itself again.
    for (const Change& change : log)
      if (change.kind == Change::Kind::added)
        for (const ValueId name : change.names)
          if (name != no_value && program.definition(name).exists) into_.erase(name);
  }

 private:
  std::unordered_map<ValueId, ValueId> into_;
};

}  // namespace taso::search
