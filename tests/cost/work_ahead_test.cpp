// What is made ahead by other threads, with makers that need no GPU.
#include "cost/cuda/work_ahead.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch.h"

using namespace taso;

namespace {

/// Counts those that are alive.
struct Product {
  Product(int of, std::atomic<int>& counter) : number(of), alive(&counter) { ++*alive; }
  ~Product() { --*alive; }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  int number;
  std::atomic<int>* alive;
};

using Works = cuda::WorkAhead<int, Product>;

template <class Condition>
void wait_until(Condition&& condition) {
  while (!condition()) std::this_thread::yield();
}

/// Makes products, and lets them wait while the gate is closed.
struct Maker {
  std::atomic<int> begun = 0, made = 0, alive = 0, given_up = 0;
  std::atomic<bool> is_open = true;
  std::atomic<int> broken = -1;  ///< fails

  Works::Make function() {
    return [this](const int& number, const std::stop_token& token) {
      ++begun;
      wait_until([&] { return is_open.load() || token.stop_requested(); });
      if (token.stop_requested()) ++given_up;
      if (number == broken) throw std::runtime_error("no");
      auto product = std::make_unique<Product>(number, alive);
      ++made;
      return product;
    };
  }
};

std::vector<std::string> names_of(int first, int end) {
  std::vector<std::string> names;
  for (int i = first; i < end; ++i) names.push_back(std::to_string(i));
  return names;
}

void expect(Works& works, int first, int end, int* tasks = nullptr) {
  works.expect(names_of(first, end), [&](std::size_t i) {
    if (tasks != nullptr) ++*tasks;
    return first + static_cast<int>(i);
  });
}

}  // namespace

TEST_CASE("what is expected is made once, by others, and taken in any order") {
  Maker maker;
  {
    Works works(4, 12, maker.function());
    int here = 0, tasks = 0;
    for (int done = 0; done < 200; ++done) {
      if (done % 8 == 0) expect(works, done, std::min(done + 16, 200), &tasks);
      const int wanted = done ^ 1;  // every second one before the one ahead of it
      const std::unique_ptr<Product> product = works.take(std::to_string(wanted));
      if (product)
        REQUIRE(product->number == wanted);
      else
        ++here;
    }
    CHECK(tasks == 200);
    CHECK(maker.made + here == 200);
    CHECK(works.expected() == 0);
    CHECK(works.take("7") == nullptr);  // it was taken
    CHECK(works.take("another") == nullptr);
  }
  CHECK(maker.alive == 0);
}

TEST_CASE("what nobody takes is not begun") {
  Maker maker;
  Works works(2, 4, maker.function());
  expect(works, 0, 10);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(maker.begun == 0);
  CHECK(works.take("0") == nullptr);  // the first is for who takes it
  wait_until([&] { return maker.made == 4; });
  works.wait();
  CHECK(maker.begun == 4);  // and not more than that ahead
  CHECK(maker.alive == 4);
  REQUIRE(works.take("1") != nullptr);
  wait_until([&] { return maker.made == 5; });
  works.wait();
  CHECK(maker.begun == 5);
  // The last one, which nobody has begun with.
  CHECK(works.take("9") == nullptr);
}

TEST_CASE("without threads nothing is made ahead") {
  Maker maker;
  Works works(0, 4, maker.function());
  int tasks = 0;
  CHECK_FALSE(works.is_used());
  expect(works, 0, 10, &tasks);
  CHECK(works.take("0") == nullptr);
  CHECK(works.take("1") == nullptr);
  works.wait();
  CHECK(tasks == 0);
  CHECK(maker.begun == 0);
}

TEST_CASE("who takes what somebody has begun with waits for it") {
  Maker maker;
  maker.is_open = false;
  Works works(1, 4, maker.function());
  expect(works, 0, 3);
  CHECK(works.take("0") == nullptr);
  wait_until([&] { return maker.begun == 1; });
  std::jthread opens([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    maker.is_open = true;
  });
  const std::unique_ptr<Product> product = works.take("1");
  REQUIRE(product);
  CHECK(product->number == 1);
}

TEST_CASE("what fails is for who takes it, and stops nobody") {
  Maker maker;
  maker.broken = 2;
  Works works(1, 8, maker.function());
  expect(works, 0, 5);
  CHECK(works.take("0") == nullptr);
  works.wait();
  CHECK(works.take("1") != nullptr);
  CHECK(works.take("2") == nullptr);
  CHECK(works.take("3") != nullptr);
  CHECK(works.take("4") != nullptr);
  CHECK(maker.alive == 0);
}

TEST_CASE("what is not expected any more is given up") {
  Maker maker;
  Works works(2, 4, maker.function());
  expect(works, 0, 5);
  CHECK(works.take("0") == nullptr);
  wait_until([&] { return maker.made == 4; });
  works.wait();
  SECTION("when it is ready") {
    expect(works, 3, 8);  // 3 and 4 are kept
    wait_until([&] { return maker.made == 6; });
    works.wait();
    CHECK(maker.alive == 4);
    CHECK(works.take("1") == nullptr);
    for (const char* name : {"3", "4", "5", "6"}) CHECK(works.take(name) != nullptr);
  }
  SECTION("while it is made; and is made anew if it is expected again") {
    maker.is_open = false;
    expect(works, 10, 12);
    wait_until([&] { return maker.begun == 6; });
    CHECK(maker.alive == 0);
    expect(works, 12, 13);
    wait_until([&] { return maker.begun == 7 && maker.made == 6; });  // 12 waits at the gate
    CHECK(maker.given_up == 2);
    expect(works, 10, 13);
    maker.is_open = true;
    works.wait();
    CHECK(maker.begun == 9);
    CHECK(maker.alive == 3);
    for (const char* name : {"10", "11", "12"}) CHECK(works.take(name) != nullptr);
  }
  SECTION("altogether") {
    works.give_up();
    works.wait();
    CHECK(works.expected() == 0);
    CHECK(maker.alive == 0);
  }
}

TEST_CASE("it ends in the midst of work") {
  for (int round = 0; round < 50; ++round) {
    Maker maker;
    maker.is_open = round % 2 == 0;
    {
      Works works(3, 5, maker.function());
      expect(works, 0, 20);
      CHECK(works.take("0") == nullptr);
      if (round % 3 == 0) wait_until([&] { return maker.begun > 0; });
      if (maker.is_open && round % 5 == 0) static_cast<void>(works.take("1"));
    }
    CHECK(maker.alive == 0);
  }
}
