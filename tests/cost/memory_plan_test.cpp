// Buffers in one arena: those needed together do not overlap, and the arena is little larger than necessary.
#include "cost/plan/memory_plan.h"

#include <algorithm>

#include "ops/core/random.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cost;

TEST_CASE("buffers that are needed together do not overlap") {
  Random random(3);
  for (int round = 0; round < 300; ++round) {
    std::vector<Buffer> buffers(random.below(60));
    for (Buffer& buffer : buffers) {
      buffer.size = random.between(0, 10'000);
      buffer.begin = random.below(30);
      buffer.end = buffer.begin + random.below(6);
    }
    const std::int64_t total = lay_out(buffers);
    std::int64_t most = 0;  // needed at a time: a lower bound for the arena
    for (std::size_t step = 0; step < 40; ++step) {
      std::int64_t sum = 0;
      for (const Buffer& buffer : buffers)
        if (buffer.begin <= step && step <= buffer.end) sum += buffer.size;
      most = std::max(most, sum);
    }
    CHECK(total >= most);
    CHECK(total <= 2 * most + 256 * static_cast<std::int64_t>(buffers.size()));
    for (const Buffer& a : buffers) {
      CHECK(a.offset % buffer_alignment == 0);
      CHECK(a.offset + a.size <= total);
      for (const Buffer& b : buffers) {
        if (&a == &b || a.end < b.begin || b.end < a.begin) continue;
        CHECK((a.offset + a.size <= b.offset || b.offset + b.size <= a.offset));
      }
    }
  }
}

TEST_CASE("a chain needs memory for two buffers") {
  std::vector<Buffer> buffers;
  for (std::size_t i = 0; i < 10; ++i) buffers.push_back({1024, i, i + 1, 0});
  CHECK(lay_out(buffers) == 2048);
}

TEST_CASE("many buffers are laid out like few") {
  Random random(5);
  for (int round = 0; round < 20; ++round) {
    std::vector<Buffer> buffers(300 + random.below(300));
    const std::size_t steps = 10 + random.below(2'000);
    for (Buffer& buffer : buffers) {
      buffer.size = random.between(0, 10'000);
      buffer.begin = random.below(steps);
      buffer.end = std::min(steps - 1, buffer.begin + random.below(random.below(20) == 0 ? steps : 6));
    }
    std::vector<Buffer> others = buffers;
    const auto overlap = [&](std::size_t a, std::size_t b) {
      return others[a].begin <= others[b].end && others[b].begin <= others[a].end;
    };
    CHECK(lay_out(buffers) == lay_out(others, overlap));
    for (std::size_t i = 0; i < buffers.size(); ++i) CHECK(buffers[i].offset == others[i].offset);
  }
}

}  // namespace taso::test
