// The kernels that are written for calls, compiled for the CPU and run there, compute what the calls mean. TASO_CALLS sets how
// many random calls of each kind there are.
#include "cost/source/source.h"

#include <cstdlib>

#include "tests/catch.h"
#include "tests/cost/source_calls.h"
#include "tests/cost/source_check.h"

using namespace taso;

namespace {

std::size_t calls_of_each_kind() {
  const char* number = std::getenv("TASO_CALLS");
  return number != nullptr ? static_cast<std::size_t>(std::atol(number)) : 50;
}

void check_kind(RandomCall (*make)(Random&), SourceLaunch (*source)(const Call&, std::int64_t)) {
  std::vector<CheckedCall> calls;
  for (std::size_t seed = 0; seed < calls_of_each_kind(); ++seed) {
    Random random(seed + 1);
    const RandomCall made = make(random);
    INFO("seed " << seed << "\n" << text_of(made.call));
    // For a small GPU, small calls have something for each thread to do, too.
    calls.push_back({made.call, made.is_positive, source(made.call, seed % 3 == 0 ? usual_multiprocessors : 1)});
  }
  check_kernels(calls);
}

}  // namespace

TEST_CASE("kernels for element-wise calls compute what they mean") {
  check_kind(random_element_wise, element_wise_source);
}

TEST_CASE("kernels for rows compute what they mean") { check_kind(random_rows, rows_source); }

TEST_CASE("kernels for pooling compute what they mean") { check_kind(random_pooling, pooling_source); }

TEST_CASE("kernels for copies compute what they mean") { check_kind(random_copy, copy_source); }

TEST_CASE("kernels for direct convolutions compute what they mean") {
  check_kind(random_direct_convolution, direct_convolution_source);
}
