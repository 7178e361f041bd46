// What ranks of a cluster tell each other.
#include "ops/cluster/bytes.h"
#include "ops/cluster/communicator.h"
#include "ops/core/error.h"
#include "tests/catch.h"
#include "tests/ops/thread_ranks.h"

namespace taso::test {

TEST_CASE("what is put as bytes is read again") {
  std::string bytes;
  put(bytes, std::uint16_t{7});
  put(bytes, 0.25);
  const std::vector<std::uint32_t> list{1, 2, 3}, nothing;
  put_list(bytes, std::span(list));
  put_list(bytes, std::span(nothing));
  put_text(bytes, std::string("a\0b", 3));
  ByteReader reader(bytes);
  CHECK(reader.get<std::uint16_t>() == 7);
  CHECK(reader.get<double>() == 0.25);
  std::vector<std::uint32_t> read{9};
  reader.get_list(read);
  reader.get_list(read);
  CHECK(read == std::vector<std::uint32_t>{9, 1, 2, 3});
  CHECK(reader.get_text() == std::string("a\0b", 3));
  CHECK(reader.is_at_end());
}

TEST_CASE("bytes that end too early are an error") {
  std::string bytes;
  put_text(bytes, "some text");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string cut = bytes.substr(0, size);
    CHECK_THROWS_AS(ByteReader(cut).get_text(), InputError);
    std::vector<std::uint64_t> list;
    CHECK_THROWS_AS(ByteReader(cut).get_list(list), InputError);
  }
  std::string vast;
  put(vast, ~std::uint64_t{0});
  CHECK_THROWS_AS(ByteReader(vast).get_text(), InputError);
}

TEST_CASE("ranks get what the others send", "[threads]") {
  for (const std::size_t size : {1, 2, 3, 5}) {
    std::vector<std::vector<std::string>> exchanged(size), gathered(size);
    std::vector<std::string> first(size);
    std::vector<int> said(size), denied(size);
    ThreadRanks(size).run([&](Communicator& ranks) {
      std::vector<std::string> outgoing;
      for (std::size_t to = 0; to < size; ++to)
        outgoing.push_back(std::to_string(ranks.rank()) + " to " + std::to_string(to));
      exchanged[ranks.rank()] = ranks.exchange(std::move(outgoing));
      gathered[ranks.rank()] = ranks.gather(std::to_string(ranks.rank()));
      first[ranks.rank()] = from_first(ranks, "of " + std::to_string(ranks.rank()));
      said[ranks.rank()] = any(ranks, ranks.rank() + 1 == size);
      denied[ranks.rank()] = any(ranks, false);
    });
    for (std::size_t to = 0; to < size; ++to) {
      for (std::size_t from = 0; from < size; ++from) {
        CHECK(exchanged[to][from] == std::to_string(from) + " to " + std::to_string(to));
        CHECK(gathered[to][from] == std::to_string(from));
      }
      CHECK(first[to] == "of 0");
      CHECK(said[to] == 1);
      CHECK(denied[to] == 0);
    }
  }
}

TEST_CASE("tasks are dealt, and every rank gets all results in their order", "[threads]") {
  for (const std::size_t size : {1, 2, 4})
    for (const std::size_t tasks : {0, 1, 3, 10}) {
      std::vector<Dealt> dealt(size);
      std::vector<std::vector<int>> done(size, std::vector<int>(tasks));
      ThreadRanks(size).run([&](Communicator& ranks) {
        dealt[ranks.rank()] = deal(ranks, 2, tasks, {}, [&](std::size_t task) {
          ++done[ranks.rank()][task];
          return std::string(task % 3, 'x') + std::to_string(task);
        });
      });
      for (std::size_t task = 0; task < tasks; ++task) {
        int times = 0;
        for (std::size_t rank = 0; rank < size; ++rank) {
          times += done[rank][task];
          REQUIRE(dealt[rank].results.size() == tasks);
          CHECK(dealt[rank].results[task] == std::string(task % 3, 'x') + std::to_string(task));
          CHECK(dealt[rank].complete);
        }
        CHECK(times == 1);
      }
    }
}

TEST_CASE("all ranks learn that one was asked to stop", "[threads]") {
  std::vector<int> complete(3, 1);
  ThreadRanks(3).run([&](Communicator& ranks) {
    std::stop_source stop;
    if (ranks.rank() == 1) stop.request_stop();
    complete[ranks.rank()] =
        deal(ranks, 1, 9, stop.get_token(), [](std::size_t) { return std::string("done"); }).complete;
  });
  CHECK(complete == std::vector<int>{0, 0, 0});
}

}  // namespace taso::test
