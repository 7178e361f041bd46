// Damaged models end in success or an InputError, never otherwise. The sanitizers' build runs this too.
#include <random>

#include "tests/catch.h"
#include "tests/fuzz/exercise.h"
#include "tests/onnx/build_model.h"

using namespace taso;
using namespace taso::test;

namespace {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::size_t below(std::size_t end) { return end == 0 ? 0 : static_cast<std::size_t>(random_() % end); }

  std::string mutate(std::string bytes, const std::string& other) {
    for (std::size_t rounds = 1 + below(3); rounds > 0; --rounds) {
      const std::size_t at = below(bytes.size());
      const std::size_t length = 1 + below(std::min<std::size_t>(16, bytes.size() - at));
      switch (below(7)) {
        case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8))); break;
        case 1: bytes[at] = static_cast<char>(below(256)); break;
        case 2: bytes[at] = "\x00\x01\x7f\x80\xff"[below(5)]; break;
        case 3: bytes.insert(at, 1, static_cast<char>(below(256))); break;
        case 4: bytes.erase(at, length); break;
        case 5: bytes.insert(below(bytes.size()), bytes.substr(at, length)); break;
        default: bytes.insert(at, other.substr(below(other.size()), 1 + below(40))); break;
      }
      if (bytes.empty()) bytes = "\x08";
    }
    return bytes;
  }

 private:
  std::mt19937_64 random_;  // the same numbers everywhere, unlike the distributions of the library
};

std::vector<std::string> seeds() {
  return {small_model().SerializeAsString(), subgraph_model().SerializeAsString(), varied_model().SerializeAsString()};
}

}  // namespace

TEST_CASE("models cut at random lengths") {
  const TemporaryFolder folder;
  const std::string bytes = varied_model().SerializeAsString();
  REQUIRE(exercise_import(bytes, folder.path()));
  Mutator random(1);
  for (int i = 0; i < 200; ++i) {
    const std::size_t length = random.below(bytes.size());
    INFO("length " << length);
    CHECK_NOTHROW(exercise_import(std::string_view(bytes).substr(0, length), folder.path()));
    if (length < 5) CHECK(!exercise_import(std::string_view(bytes).substr(0, length), folder.path()));
  }
}

TEST_CASE("models with ten thousand random mutations") {
  const TemporaryFolder folder;
  const auto models = seeds();
  int valid = 0;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Mutator mutator(seed);
    const std::string bytes = mutator.mutate(models[seed % models.size()], models[mutator.below(models.size())]);
    INFO("seed " << seed);
    bool survived = false;
    REQUIRE_NOTHROW(survived = exercise_import(bytes, folder.path()));
    valid += survived;
  }
  // Both sides have to be tried, or the campaign tests nothing.
  CHECK(valid > 500);
  CHECK(valid < 9'500);
}
