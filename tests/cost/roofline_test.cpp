// What every price list should keep to: more work never costs less, and one kernel never more than two that do the same.
#include "cost/roofline.h"

#include "ops/random.h"
#include "tests/catch.h"

using namespace taso;

namespace {

const std::vector<Kernel::Kind> kinds = {Kernel::Kind::convolution, Kernel::Kind::matmul, Kernel::Kind::element_wise,
                                         Kernel::Kind::pooling,     Kernel::Kind::rows,   Kernel::Kind::copy,
                                         Kernel::Kind::opaque};
const std::vector<ElementType> elements = {ElementType::float32, ElementType::float16, ElementType::bfloat16,
                                           ElementType::float64};

double some_size(Random& random, int digits) {
  return static_cast<double>(random.between(1, std::int64_t{1} << random.between(1, digits)));
}

Kernel some_kernel(Random& random) {
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
  kernel.weight_bytes = some_size(random, 28);
  kernel.bytes = some_size(random, 30);
  return kernel;
}

}  // namespace

TEST_CASE("more work never costs less") {
  Random random(1);
  double Kernel::*const fields[] = {&Kernel::batches,    &Kernel::rows,         &Kernel::columns, &Kernel::depth,
                                    &Kernel::operations, &Kernel::weight_bytes, &Kernel::bytes};
  for (int i = 0; i < 20'000; ++i) {
    const Precision precision = random.chance(0.5) ? Precision::tf32 : Precision::fp32;
    const Kernel kernel = some_kernel(random);
    const Cost price = Roofline(precision).price(kernel);
    CHECK(price > 0);
    for (double Kernel::*const field : fields) {
      Kernel more = kernel;
      // One group is no group: a convolution that has some may be done in another way, with less padding of tiles.
      if (field == &Kernel::batches && kernel.batches == 1) continue;
      if (kernel.*field > 0) more.*field += some_size(random, 12);
      CHECK(Roofline(precision).price(more) >= price);
    }
  }
}

TEST_CASE("one kernel never costs more than two that do the same") {
  Random random(2);
  for (int i = 0; i < 20'000; ++i) {
    const Kernel a = some_kernel(random);
    // Two products with a common factor, as the filters of two convolutions of one input.
    Kernel b = some_kernel(random);
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
    both.weight_bytes += b.weight_bytes;
    both.bytes += b.bytes;
    const bool grouped = a.kind == Kernel::Kind::convolution && a.batches > 1;  // these are done in two ways
    if (!grouped) CHECK(Roofline().price(both) <= Roofline().price(a) + Roofline().price(b));

    // An element-wise kernel that goes into the kernel before it: what lay between the two is neither written nor read.
    Kernel after = some_kernel(random);
    after.kind = Kernel::Kind::element_wise;
    after.batches = after.rows = after.columns = after.depth = 0;
    Kernel fused = a;
    fused.operations += after.operations;
    fused.weight_bytes += after.weight_bytes;
    fused.bytes += after.bytes;
    CHECK(Roofline().price(fused) <= Roofline().price(a) + Roofline().price(after));
  }
}

TEST_CASE("what is too long to tell still has a price") {
  Kernel kernel;
  kernel.bytes = 1e300;
  CHECK(Roofline().price(kernel) == highest_kernel_price);
}
