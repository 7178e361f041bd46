// Brings records to the ranks that they belong to: a value belongs to one rank, so that its forms meet there.
#pragma once

#include <array>
#include <mutex>
#include <string>
#include <vector>

#include "generator/enumeration/records.h"
#include "ops/cluster/communicator.h"

namespace taso::generator {

class Outbox {
 public:
  explicit Outbox(Communicator& ranks) : ranks_(ranks), messages_(ranks.size()) {}
  /// Takes the records that belong elsewhere. Thread-safe.
  void take_from(std::array<std::vector<Record>, Records::parts>& records);
  /// Sends what was taken, and adds what the other ranks sent. Collective, as what a Communicator does.
  void deliver(Records& records);

 private:
  std::size_t owner_of(const Record& record) const { return (record.key.low & ~named_otherwise) % messages_.size(); }

  Communicator& ranks_;
  std::mutex mutex_;
  std::vector<std::string> messages_;  // by rank
};

}  // namespace taso::generator
