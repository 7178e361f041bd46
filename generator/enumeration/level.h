// What the enumeration finds in one level, on one rank and on all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "generator/enumeration/enumerate.h"

namespace taso::generator {

/// Forms that compute the same new value. The first represents the class.
struct Class {
  Fingerprint key;
  double graphs = 0;
  std::vector<Form> forms;
};

/// What one rank finds in a level.
struct Share {
  std::vector<Class> classes;
  std::vector<Found> known;  ///< forms of values of earlier levels
  std::uint64_t values = 0, evaluations = 0, spilled = 0;
  double graphs = 0;
  bool complete = true;
};
std::string bytes_of(const Share& share);
Share share_from(const std::string& bytes);
/// By rank, on each of them.
std::vector<Share> shares_of_all(Share mine, Communicator& ranks);

/// A new value.
struct Fresh {
  Fingerprint key;
  Form form;
  double graphs = 0;
};

/// What all ranks find in a level: enough to go on from there.
struct Level {
  std::vector<Fresh> fresh;  ///< in the order of their ids
  std::vector<Found> found;  ///< sorted
  std::uint64_t values = 0, evaluations = 0, spilled = 0;
  double graphs = 0;
};
/// Without what depends on the machine: the records in temporary files.
std::string bytes_of(const Level& level);
Level level_from(const std::string& bytes);
/// Nothing if a share is not complete. `first` is the id of the first new value.
std::optional<Level> level_of(std::vector<Share> shares, ValueId first);

}  // namespace taso::generator
