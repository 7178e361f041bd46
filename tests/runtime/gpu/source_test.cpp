// Generated kernels, compiled for the CPU and run there, compute the meaning of their calls. TASO_CALLS sets the number
// of random calls of each kind.
#include "runtime/gpu/kernels/source.h"

#include <cstdlib>

#include "tests/catch.h"
#include "tests/runtime/gpu/call_on_host.h"
#include "tests/runtime/gpu/source_calls.h"
#include "tests/runtime/gpu/source_check.h"
#include "tests/runtime/gpu/source_kernels.h"

namespace taso::test {

using namespace gpu;

namespace {

std::size_t calls_of_each_kind() {
  const char* number = std::getenv("TASO_CALLS");
  return number != nullptr ? static_cast<std::size_t>(std::atol(number)) : 45;
}

void check_kind(RandomCall (*make)(Random&), SourceLaunch (*source)(const cost::Call&, std::int64_t)) {
  std::vector<CheckedCall> calls;
  for (std::size_t seed = 0; seed < calls_of_each_kind(); ++seed) {
    Random random(seed + 1);
    const RandomCall made = make(random);
    INFO("seed " << seed << "\n" << cost::text_of(made.call));
    // With a small GPU, small calls have work for each thread, too.
    calls.push_back({made.call, made.is_positive, source(made.call, seed % 3 == 0 ? usual_multiprocessors : 1)});
  }
  check_kernels(calls);
}

/// The same for kernels with several tilings, one of them for each call. At most the given share of the calls are odd
/// ones that the kernel does not support.
void check_tilings(RandomCall (*make)(Random&),
                   std::vector<std::pair<std::string, SourceLaunch>> (*sources)(const cost::Call&, std::int64_t),
                   double most_odd) {
  std::vector<CheckedCall> calls;
  std::size_t none = 0;
  for (std::size_t seed = 0; seed < calls_of_each_kind(); ++seed) {
    Random random(seed + 1);
    const RandomCall made = make(random);
    // With few multiprocessors the depth of a tile stays whole; with many it is cut.
    const auto ways = sources(made.call, seed % 3 == 0 ? 4 : usual_multiprocessors);
    if (ways.empty())
      ++none;
    else
      calls.push_back({made.call, made.is_positive, ways[random.below(ways.size())].second, made.masks});
  }
  CHECK(static_cast<double>(none) < most_odd * static_cast<double>(calls_of_each_kind()));
  check_kernels(calls);
}

}  // namespace

TEST_CASE("kernels for element-wise calls compute what they mean") {
  check_kind(random_element_wise, element_wise_source);
}

TEST_CASE("kernels for plain functions compute what they mean, exactly") {
  check_kind(random_plain_function, element_wise_source);
}

TEST_CASE("kernels for rows compute what they mean") { check_kind(random_rows, rows_source); }

TEST_CASE("kernels for pooling compute what they mean") { check_kind(random_pooling, pooling_source); }

TEST_CASE("kernels for local response norms compute what they mean") {
  check_kind(random_local_response, pooling_source);
}

TEST_CASE("kernels for transposed convolutions compute what they mean") {
  check_kind(random_transposed_convolution, pooling_source);
}

TEST_CASE("kernels for copies compute what they mean") { check_kind(random_copy, copy_source); }

TEST_CASE("kernels for direct convolutions compute what they mean") {
  check_kind(random_direct_convolution, direct_convolution_source);
}

TEST_CASE("kernels for depthwise convolutions compute what they mean") {
  check_tilings(random_depthwise_convolution, depthwise_convolution_sources, 0.3);
}

TEST_CASE("kernels for products on tensor cores compute what they mean") {
  check_tilings(random_tensor_product, tensor_product_sources, 0.5);
}

TEST_CASE("kernels for products of few rows compute what they mean") {
  check_tilings(random_row_product, row_product_sources, 0.5);
}

TEST_CASE("kernels for attention compute what they mean") {
  check_tilings(random_attention, attention_sources, 0.67);  // half of them are odd
}

TEST_CASE("kernels use 64-bit indices where necessary") {
  using enum ElementType;
  const auto operand = [](Extents extents, cost::Layout layout) {
    return cost::Call::Operand{float16, extents, cost::packed(extents, layout), false};
  };
  constexpr std::int64_t many = std::int64_t{1} << 32;
  const auto call = [&](Operator op, std::vector<Extents> read, const Extents& written) {
    cost::Call made;
    for (const Extents& extents : read) made.read.push_back(operand(extents, cost::Layout::channels_last));
    made.written.push_back(operand(written, cost::Layout::channels_last));
    cost::Call::Step step{std::move(op), {}, static_cast<std::uint32_t>(read.size())};
    for (std::uint32_t i = 0; i < read.size(); ++i) step.operands.push_back(i);
    made.steps.push_back(std::move(step));
    made.results = {static_cast<std::uint32_t>(read.size())};
    return made;
  };
  cost::Call turned;
  turned.read.push_back(operand({1, 64, many}, cost::Layout::channels_last));
  turned.written.push_back(operand({1, 64, many}, cost::Layout::channels_first));
  turned.pieces.push_back(
      {0, 0, 0, many, {1, 64, many}, {1, 64, many}, turned.read[0].strides, turned.written[0].strides});
  const std::vector<std::int64_t> one{1}, none{0, 0};
  const std::vector<SourceLaunch> launches{
      element_wise_source(call(op::Add{}, {{3, many}, {3, 1}}, {3, many})),
      rows_source(call(op::Softmax{1}, {{many, 16}}, {many, 16})),
      rows_source(call(op::ReduceMean{{0}, true}, {{many, 16}}, {1, 16})),
      pooling_source(call(op::MaxPool{{2}, one, one, none}, {{1, many, 9}}, {1, many, 8})),
      pooling_source(call(op::LocalResponseNorm{.size = 3}, {{1, 8, many}}, {1, 8, many})),
      pooling_source(
          call(op::ConvTranspose{{2}, one, none, {0}, 1}, {{many / 64, 8, 9}, {8, 8, 2}}, {many / 64, 8, 18})),
      copy_source(turned),
      copy_source(call(op::Pad{{0, 1}, {0, 0}}, {{3, many}}, {3, many + 1})),
      direct_convolution_source(
          call(op::Conv{one, one, none, 64}, {{many / 64, 64, 9}, {64, 1, 3}}, {many / 64, 64, 7})),
      depthwise_convolution_sources(call(op::Conv{{1, 1}, {1, 1}, {0, 0, 0, 0}, 64},
                                         {{many / 64, 64, 3, 3}, {64, 1, 3, 3}}, {many / 64, 64, 1, 1}),
                                    usual_multiprocessors)
          .at(0)
          .second,
  };
  for (const SourceLaunch& launch : launches) CHECK_THAT(launch.source, Catch::Contains("const unsigned long long "));
  const HostKernels kernels(launches);  // compiles them
  const DeviceCompiler compiler;
  if (compiler.is_there()) CHECK(compiler.complaints(DeviceCompiler::joined(launches)) == "");
}

TEST_CASE("a call writes as many elements as it says") {
  std::size_t partial = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const cost::Call call = random_copy(random).call;
    INFO("seed " << seed << "\n" << cost::text_of(call));
    std::vector<std::vector<std::byte>> inputs, zeros, ones;
    std::vector<const std::byte*> from;
    std::vector<std::byte*> to_zeros, to_ones;
    for (const cost::Call::Operand& operand : call.read) {
      inputs.emplace_back(static_cast<std::size_t>(span_bytes(operand)));
      from.push_back(inputs.back().data());
    }
    for (const cost::Call::Operand& operand : call.written) {
      zeros.emplace_back(static_cast<std::size_t>(span_bytes(operand)));
      ones.emplace_back(static_cast<std::size_t>(span_bytes(operand)), std::byte{1});
      to_zeros.push_back(zeros.back().data());
      to_ones.push_back(ones.back().data());
    }
    run_on_host(call, from, to_zeros);
    run_on_host(call, from, to_ones);
    for (std::size_t i = 0; i < call.written.size(); ++i) {
      // Bytes that were written are equal in both.
      std::int64_t bytes = 0;
      for (std::size_t byte = 0; byte < zeros[i].size(); ++byte) bytes += zeros[i][byte] == ones[i][byte];
      CHECK(cost::elements_written(call, i) * static_cast<std::int64_t>(size_of(call.written[i].element)) == bytes);
      partial += cost::elements_written(call, i) < count(call.written[i].extents);
    }
  }
  CHECK(partial > 5);
}

}  // namespace taso::test
