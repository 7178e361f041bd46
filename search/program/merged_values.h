// Values of a program that turned out to be equal to others, collected from the logs of its changes.
#pragma once

#include <unordered_map>

#include "search/program/program.h"

namespace taso::search {

class MergedValues {
 public:
  /// The current name of a value.
  ValueId current(ValueId id) const {
    for (auto found = into_.find(id); found != into_.end(); found = into_.find(id)) id = found->second;
    return id;
  }
  /// Call it after the change is made.
  void note(const Program::Log& log, const Program& program) {
    for (const Change& change : log)
      if (change.kind == Change::Kind::merged) into_[change.names[0]] = change.names[1];
    // A name that is used again stands for itself again.
    for (const Change& change : log)
      if (change.kind == Change::Kind::added)
        for (const ValueId name : change.names)
          if (name != no_value && program.definition(name).exists) into_.erase(name);
  }

 private:
  std::unordered_map<ValueId, ValueId> into_;
};

}  // namespace taso::search
