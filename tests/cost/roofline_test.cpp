// Properties of every price model: more work never costs less, and one kernel never costs more than two that do the
// same.
#include "cost/pricing/roofline.h"

#include <algorithm>

#include "cost/pricing/h200.h"
#include "ops/core/random.h"
#include "tests/catch.h"

namespace taso::test {

using namespace cost;

namespace {

const std::vector<Kernel::Kind> kinds = {Kernel::Kind::convolution, Kernel::Kind::matmul, Kernel::Kind::element_wise,
                                         Kernel::Kind::pooling,     Kernel::Kind::rows,   Kernel::Kind::copy,
                                         Kernel::Kind::opaque};
const std::vector<ElementType> elements = {ElementType::float32, ElementType::float16, ElementType::bfloat16,
                                           ElementType::float64};

double some_size(Random& random, int digits) {
  return static_cast<double>(random.between(1, std::int64_t{1} << random.between(1, digits)));
}

Kernel some_kernel(Random& random, int most_digits = 30) {
  Kernel kernel;
  kernel.kind = random.pick(kinds);
  kernel.element = random.pick(elements);
  kernel.layout = random.chance(0.5) ? Layout::channels_first : Layout::channels_last;
  if (kernel.kind == Kernel::Kind::convolution || kernel.kind == Kernel::Kind::matmul) {
    kernel.batches = random.chance(0.5) ? 1 : some_size(random, 8);
    kernel.rows = some_size(random, 16);
    kernel.columns = some_size(random, 12);
    kernel.depth = some_size(random, 13);
  }
  kernel.operations = some_size(random, 30);
  kernel.chain = some_size(random, 6);
  kernel.weight_bytes = some_size(random, 28);
  kernel.bytes = some_size(random, most_digits);
  return kernel;
}

}  // namespace

TEST_CASE("more work never costs less") {
  Random random(1);
  double Kernel::*const fields[] = {&Kernel::batches,    &Kernel::rows,         &Kernel::columns, &Kernel::depth,
                                    &Kernel::operations, &Kernel::weight_bytes, &Kernel::bytes,   &Kernel::chain};
  for (int i = 0; i < 20'000; ++i) {
    const Precision precision = random.chance(0.5) ? Precision::tf32 : Precision::fp32;
    const Kernel kernel = some_kernel(random);
    const Cost price = Roofline(precision).price(kernel);
    CHECK(price > 0);
    for (double Kernel::*const field : fields) {
      Kernel more = kernel;
      // Skipped for one group: a convolution with several groups may use another kernel, with less padding of tiles.
      if (field == &Kernel::batches && kernel.batches == 1) continue;
      if (kernel.*field > 0) more.*field += some_size(random, 12);
      CHECK(Roofline(precision).price(more) >= price);
    }
  }
}

TEST_CASE("attention never costs more than its parts") {
  Random random(3);
  for (int i = 0; i < 2'000; ++i) {
    Kernel first;
    first.kind = Kernel::Kind::matmul;
    first.element = random.pick(elements);
    first.batches = some_size(random, 8);
    first.rows = some_size(random, 11);
    first.columns = some_size(random, 11);  // keys
    first.depth = some_size(random, 8);
    const double size = static_cast<double>(size_of(first.element));
    const double scores = first.batches * first.rows * first.columns;
    first.bytes = size * (scores + first.batches * (first.rows + first.columns) * first.depth);
    Kernel softmax;
    softmax.kind = Kernel::Kind::rows;
    softmax.element = first.element;
    softmax.bytes = 2 * size * scores;
    softmax.operations = 14 * scores;
    Kernel second = first;
    second.columns = first.depth;
    second.depth = first.columns;
    Kernel attention = second;
    attention.kind = Kernel::Kind::attention;
    attention.first_depth = first.depth;
    attention.bytes = size * first.batches * (2 * first.rows + 2 * first.columns) * first.depth;
    attention.operations = softmax.operations;
    const Roofline prices;
    CHECK(prices.price(attention) <= prices.price(first) + prices.price(softmax) + prices.price(second));
    Kernel more = attention;
    (random.chance(0.5) ? more.first_depth : more.depth) *= 2;
    CHECK(prices.price(more) >= prices.price(attention));
  }
}

TEST_CASE("one kernel never costs more than two that do the same") {
  Random random(2);
  constexpr int in_cache = 24;  // three of these, of 16 MB each, just fit into the cache
  for (int i = 0; i < 20'000; ++i) {
    const Kernel a = some_kernel(random, in_cache);
    // Two products with a common factor, such as two convolutions of one input.
    Kernel b = some_kernel(random, in_cache);
    b.kind = a.kind;
    b.element = a.element;
    b.layout = a.layout;
    b.batches = a.batches;
    b.rows = a.rows;
    b.depth = a.depth;
    if (a.batches == 0) b.columns = 0;
    Kernel both = a;
    both.columns += b.columns;
    both.operations += b.operations;
    both.chain = std::max(a.chain, b.chain);
    both.weight_bytes += b.weight_bytes;
    both.bytes += b.bytes;
    const bool grouped = a.kind == Kernel::Kind::convolution && a.batches > 1;  // these have two variants
    // Sometimes tiles fit the two better than the one.
    constexpr double fit = 1.05;
    const auto apart = static_cast<double>(Roofline().price(a) + Roofline().price(b));
    if (!grouped) CHECK(static_cast<double>(Roofline().price(both)) <= fit * apart);

    // An element-wise kernel fused into the kernel before it: the value in between is neither written nor read.
    Kernel after = some_kernel(random, in_cache);
    after.kind = Kernel::Kind::element_wise;
    after.batches = after.rows = after.columns = after.depth = 0;
    Kernel fused = a;
    fused.operations += after.operations;
    fused.chain = std::max(a.chain, after.chain);
    fused.weight_bytes += after.weight_bytes;
    fused.bytes += after.bytes;
    CHECK(Roofline().price(fused) <= Roofline().price(a) + Roofline().price(after));
  }
}

TEST_CASE("extremely long kernels still have a price") {
  Kernel kernel;
  kernel.bytes = 1e300;
  CHECK(Roofline().price(kernel) == highest_kernel_price);
}

TEST_CASE("no kernel is faster than the device") {
  Random random(3);
  for (int i = 0; i < 20'000; ++i) {
    Kernel kernel = some_kernel(random);
    kernel.element = ElementType::float32;
    const double nanoseconds = static_cast<double>(Roofline().price(kernel)) * 1e-3 + 1e-3;
    CHECK(nanoseconds >= kernel.weight_bytes / cost::h200::peak_bandwidth);
    CHECK(nanoseconds >= (kernel.bytes - cost::h200::cache_bytes) / cost::h200::peak_bandwidth);
    const double products = 2 * kernel.batches * kernel.rows * kernel.columns * kernel.depth;
    CHECK(nanoseconds >= products / 495e3);
  }
}

TEST_CASE("weights that are in the cache cost less") {
  Random random(4);
  Roofline warm;
  warm.set_warm(true);
  for (int i = 0; i < 1'000; ++i) {
    Kernel kernel = some_kernel(random);
    CHECK(warm.price(kernel) <= Roofline().price(kernel));
    kernel.weight_bytes = 0;
    CHECK(warm.price(kernel) == Roofline().price(kernel));
  }
}

}  // namespace taso::test
