#include "generator/enumeration/outbox.h"

#include <utility>

#include "ops/cluster/bytes.h"

namespace taso::generator {

void Outbox::take_from(std::array<std::vector<Record>, Records::parts>& records) {
  if (messages_.size() == 1) return;
  std::vector<std::string> taken(messages_.size());
  for (std::vector<Record>& part : records)
    std::erase_if(part, [&](const Record& record) {
      const std::size_t owner = owner_of(record);
      if (owner == ranks_.rank()) return false;
      put(taken[owner], record);
      return true;
    });
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < taken.size(); ++i) messages_[i] += taken[i];
}

void Outbox::deliver(Records& records) {
  if (messages_.size() == 1) return;
  for (const std::string& message : ranks_.exchange(std::exchange(messages_, {}))) {
    std::array<std::vector<Record>, Records::parts> by_part;
    ByteReader reader(message);
    while (!reader.is_at_end()) {
      const auto record = reader.get<Record>();
      by_part[Records::part_of(record.key)].push_back(record);
    }
    records.add(by_part);
  }
}

}  // namespace taso::generator
