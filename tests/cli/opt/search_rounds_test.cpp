// Rounds of searches with prices that change in between.
#include "cli/opt/search_rounds.h"

#include <random>
#include <thread>

#include "ops/core/error.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cli;

namespace {

using End = search::SearchResult::End;
using Seconds = SearchRounds::Seconds;

constexpr cost::Cost given = 1'000'000;

/// A result, identified by a number.
search::SearchResult found(std::size_t number, cost::Cost cost, End end = End::exhausted) {
  search::SearchResult result;
  result.counts.expanded = number;
  result.end = end;
  result.cost_before = given;
  result.cost_after = cost;
  if (cost != given) result.steps.resize(1);
  return result;
}

/// Rounds with given results, each of which costs something else once it is measured.
class Played {
 public:
  struct Round {
    search::SearchResult found;
    cost::Cost measured = 0;
    std::size_t news = 1;  // measured kernels
  };
  explicit Played(std::vector<Round> rounds) : rounds_(std::move(rounds)) {}

  SearchRounds rounds() {
    SearchRounds all;
    all.look = [this](const std::optional<Seconds>&) {
      std::this_thread::sleep_for(time_of_round);
      REQUIRE(looked < rounds_.size());
      return rounds_[looked++].found;
    };
    all.measure = [this](const Graph&) {
      if (interrupts_at == looked) is_interrupted = true;
      return rounds_[looked - 1].news;
    };
    all.price = [this](search::SearchResult& result) {
      result.cost_after = rounds_.at(result.counts.expanded - 1).measured;
      if (result.steps.empty()) result.cost_after = given;
    };
    all.interrupted = [this] { return is_interrupted; };
    return all;
  }

  std::size_t looked = 0;
  std::size_t interrupts_at = 0;  // the round after which it is interrupted
  bool is_interrupted = false;
  std::chrono::milliseconds time_of_round{0};

 private:
  std::vector<Round> rounds_;
};

}  // namespace

TEST_CASE("an interrupt while kernels are measured loses nothing") {
  Played played({{found(1, 500'000), 600'000}, {found(2, given, End::stopped), given}});
  played.interrupts_at = 1;
  const search::SearchResult best = search_in_rounds(std::nullopt, played.rounds());
  CHECK(played.looked == 1);
  CHECK(best.counts.expanded == 1);
  CHECK(best.cost_after == 600'000);
  CHECK(best.end == End::stopped);
}

TEST_CASE("a round that is cut short does not replace a better one") {
  for (const End end : {End::stopped, End::time})
    for (const cost::Cost cost : {given, cost::Cost{700'000}}) {
      Played played({{found(1, 500'000), 600'000}, {found(2, cost, end), cost, 0}});
      const search::SearchResult best = search_in_rounds(std::nullopt, played.rounds());
      CHECK(played.looked == 2);
      CHECK(best.counts.expanded == 1);
      CHECK(best.cost_after == 600'000);
      CHECK(best.end == end);
    }
}

TEST_CASE("a search without time for another round ends by time") {
  Played played({{found(1, 500'000), 600'000}});
  played.time_of_round = std::chrono::milliseconds(20);
  const search::SearchResult best = search_in_rounds(Seconds(0.03), played.rounds());
  CHECK(best.end == End::time);
  CHECK(best.cost_after == 600'000);
  // Unless nothing is left to measure.
  Played done({{found(1, 500'000), 500'000, 0}});
  done.time_of_round = std::chrono::milliseconds(20);
  CHECK(search_in_rounds(Seconds(0.03), done.rounds()).end == End::exhausted);
}

TEST_CASE("a result that fails once it is measured leaves time to another round") {
  Played played({{found(1, 500'000), 1'200'000}, {found(2, 900'000, End::time), 900'000, 0}});
  played.time_of_round = std::chrono::milliseconds(60);
  const search::SearchResult best = search_in_rounds(Seconds(0.11), played.rounds());
  if (played.looked == 2) CHECK(best.counts.expanded == 2);  // otherwise this machine was busy
  CHECK(best.end == End::time);
}

TEST_CASE("the best result of all rounds by the final prices is returned") {
  std::mt19937 random(1);
  std::size_t earlier = 0;
  for (int run = 0; run < 300; ++run) {
    std::vector<Played::Round> rounds(1 + random() % 11);
    for (std::size_t i = 0; i < rounds.size(); ++i) {
      const bool is_last = i + 1 == rounds.size();
      const cost::Cost cost =
          is_last && random() % 4 == 0 ? given : 300'000 + static_cast<cost::Cost>(random() % 600'000);
      rounds[i] = {found(i + 1, cost), 300'000 + static_cast<cost::Cost>(random() % 900'000), is_last ? 0U : 1U};
      if (is_last) rounds[i].measured = cost;
    }
    Played played(rounds);
    const search::SearchResult best = search_in_rounds(std::nullopt, played.rounds());
    CHECK(played.looked == rounds.size());
    for (const Played::Round& one : rounds)
      if (one.measured <= given) CHECK(best.cost_after <= one.measured + one.measured / 500);
    CHECK(best.cost_after == rounds[best.counts.expanded - 1].measured);
    earlier += best.counts.expanded < rounds.size();
  }
  CHECK(earlier > 30);
}

TEST_CASE("the last rounds are hopeful, and their results are judged by the final prices") {
  // The third round finds what an ordinary one does not, and the fourth something that only looks better.
  Played played({{found(1, 800'000), 850'000},
                 {found(2, 850'000), 850'000, 0},
                 {found(3, 600'000), 700'000},
                 {found(4, 500'000), 800'000, 0}});
  std::vector<bool> hopes;
  bool is_on = false;
  SearchRounds rounds = played.rounds();
  rounds.be_hopeful = [&](bool now) { is_on = now; };
  rounds.may_hope = [] { return true; };
  rounds.look = [&, look = rounds.look](const std::optional<Seconds>& time) {
    hopes.push_back(is_on);
    return look(time);
  };
  rounds.measure = [&, measure = rounds.measure](const Graph& graph) {
    CHECK_FALSE(is_on);
    return measure(graph);
  };
  const search::SearchResult best = search_in_rounds(std::nullopt, rounds);
  CHECK(hopes == std::vector<bool>{false, false, true, true});
  CHECK_FALSE(is_on);
  CHECK(best.counts.expanded == 3);
  CHECK(best.cost_after == 700'000);
}

TEST_CASE("hope ends with its round, and what it finds again changes nothing") {
  Played played({{found(1, 800'000), 800'000, 0}, {found(2, 800'000, End::time), 800'000, 0}});
  bool is_on = false;
  SearchRounds rounds = played.rounds();
  rounds.be_hopeful = [&](bool now) { is_on = now; };
  rounds.may_hope = [] { return true; };
  const search::SearchResult best = search_in_rounds(std::nullopt, rounds);
  CHECK(best.counts.expanded == 1);
  CHECK(best.end == End::exhausted);
  CHECK_FALSE(is_on);
  Played failing({{found(1, 800'000), 800'000, 0}});
  rounds = failing.rounds();
  rounds.be_hopeful = [&](bool now) { is_on = now; };
  rounds.may_hope = [] { return true; };
  rounds.look = [&, look = rounds.look](const std::optional<Seconds>& time) {
    if (is_on) throw InputError("a graph that has no price");
    return look(time);
  };
  CHECK_THROWS_AS(search_in_rounds(std::nullopt, rounds), InputError);
  CHECK_FALSE(is_on);
}

TEST_CASE("there is no hope without time for it, or after a search that was cut short") {
  for (const End end : {End::exhausted, End::time, End::stopped}) {
    Played played({{found(1, 800'000, end), 800'000, 0}});
    played.time_of_round = std::chrono::milliseconds(20);
    SearchRounds rounds = played.rounds();
    rounds.be_hopeful = [](bool) { FAIL("there is no other round"); };
    rounds.may_hope = [] { return true; };
    const search::SearchResult best =
        search_in_rounds(end == End::exhausted ? std::optional(Seconds(0.03)) : std::nullopt, rounds);
    CHECK(best.end == end);
    CHECK(best.cost_after == 800'000);
  }
}

TEST_CASE("a complete search is not overruled for a tiny gain") {
  Played played({{found(1, 500'000), 600'000}, {found(2, 600'100), 600'100, 0}});
  CHECK(search_in_rounds(std::nullopt, played.rounds()).counts.expanded == 2);
}

TEST_CASE("a result that is slower either concurrently or sequentially is not chosen") {
  search::SearchResult fast = found(1, 500'000), slow = found(2, 900'000);
  fast.run_before = slow.run_before = {100'000, 200'000};
  fast.run_after = {10'000, 200'001};
  slow.run_after = {60'000, 190'000};
  std::vector<search::SearchResult> order{fast, slow};
  std::size_t looked = 0;
  SearchRounds rounds;
  rounds.look = [&](const std::optional<Seconds>&) { return order[looked++]; };
  rounds.measure = [&](const Graph&) { return order.size() - looked; };
  rounds.price = [](search::SearchResult&) {};
  rounds.interrupted = [] { return false; };
  CHECK(search_in_rounds(std::nullopt, rounds).counts.expanded == 2);
  looked = 0;
  std::swap(order[0], order[1]);
  CHECK(search_in_rounds(std::nullopt, rounds).counts.expanded == 2);
}

}  // namespace taso::test
