#include "ops/cluster/communicator.h"

#include <utility>

#include "ops/cluster/bytes.h"
#include "ops/core/error.h"
#include "ops/support/threads.h"

namespace taso::ops {

std::vector<std::string> OneRank::gather(std::string mine) {
  std::vector<std::string> all;
  all.push_back(std::move(mine));
  return all;
}

std::string from_first(Communicator& ranks, std::string mine) {
  return std::move(ranks.gather(ranks.is_first() ? std::move(mine) : std::string()).front());
}

bool any(Communicator& ranks, bool mine) {
  for (const std::string& one : ranks.gather(mine ? "1" : "0"))
    if (one == "1") return true;
  return false;
}

void check_agreement(Communicator& ranks, const std::string& context) {
  const std::vector<std::string> all = ranks.gather(context);
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank] != all[0])
      throw EnvironmentError("rank " + std::to_string(rank) +
                             " runs another program, or reads other files, than the first");
}

Dealt deal(Communicator& ranks, unsigned threads, std::size_t tasks, const std::stop_token& stop,
           const std::function<std::string(std::size_t task)>& body) {
  const std::size_t size = ranks.size(), rank = ranks.rank();
  const auto share_of = [&](std::size_t one) { return tasks / size + (one < tasks % size ? 1 : 0); };
  std::vector<std::string> own(share_of(rank));
  parallel_for(threads, static_cast<std::int64_t>(own.size()), stop,
               [&](std::size_t i) { own[i] = body(i * size + rank); });
  std::string message;
  put(message, static_cast<std::uint8_t>(stop.stop_requested()));
  for (const std::string& result : own) put_text(message, result);
  const std::vector<std::string> messages = ranks.gather(std::move(message));
  Dealt dealt;
  dealt.results.resize(tasks);
  for (std::size_t from = 0; from < size; ++from) {
    ByteReader reader(messages[from]);
    if (reader.get<std::uint8_t>() != 0) dealt.complete = false;
    for (std::size_t i = 0; i < share_of(from); ++i) dealt.results[i * size + from] = reader.get_text();
  }
  return dealt;
}

}  // namespace taso::ops
