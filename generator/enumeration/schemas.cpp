#include "generator/enumeration/schemas.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "ops/core/error.h"

namespace taso::generator {
namespace {

using Numbers = std::vector<std::int64_t>;

rules::TermPtr list_of(const Numbers& numbers) {
  std::vector<rules::TermPtr> elements;
  for (const std::int64_t number : numbers) elements.push_back(rules::integer_term(number));
  return rules::list_term(std::move(elements));
}

Schema plain(Operator op, std::size_t operands, bool commutes = false) {
  Schema schema;
  schema.op = std::move(op);
  schema.operands = operands;
  schema.commutes = commutes;
  return schema;
}

Schema with_axis(Operator op, std::size_t operands, std::int64_t axis, Fit fit = Fit::given) {
  set_field(op, "axis", axis);
  Schema schema = plain(std::move(op), operands);
  schema.attributes.emplace_back("axis", rules::integer_term(axis));
  schema.fit = fit;
  return schema;
}

Schema transpose(const Numbers& permutation) {
  Schema schema = plain(op::Transpose{.permutation = permutation}, 1);
  schema.attributes.emplace_back("permutation", list_of(permutation));
  return schema;
}

Schema reshape(Fit fit) {
  Schema schema = plain(op::Reshape{}, 1);
  schema.fit = fit;
  return schema;
}

Schema zeros_around(const Numbers& width) {
  Schema schema = plain(op::Pad{.before = width, .after = width}, 1);
  schema.attributes.emplace_back("before", list_of(width));
  schema.attributes.emplace_back("after", list_of(width));
  return schema;
}

struct Convolution {
  Numbers window;
  std::int64_t stride = 1;
  bool same = true;  ///< padded so that stride 1 keeps the size
  bool grouped = false;
  bool bias = false;
};

Schema convolution(const Convolution& options) {
  Numbers pads(4, 0);
  if (options.same)
    for (std::size_t i = 0; i < 2; ++i) pads[i] = pads[2 + i] = options.window[i] / 2;
  Schema schema = plain(op::Conv{.strides = {options.stride, options.stride}, .dilations = {1, 1}, .pads = pads},
                        options.bias ? 3 : 2);
  schema.window = options.window;
  schema.grouped = options.grouped;
  if (options.stride != 1) schema.attributes.emplace_back("strides", rules::integer_term(options.stride));
  if (pads != Numbers{0, 0, 0, 0})
    schema.attributes.emplace_back("pads", pads[0] == pads[1] ? rules::integer_term(pads[0]) : list_of(pads));
  return schema;
}

template <class Pool>
Schema pooling(Pool pool, std::int64_t stride = 1, std::int64_t pad = 1) {
  pool.kernel = {3, 3};
  pool.strides = {stride, stride};
  pool.dilations = {1, 1};
  pool.pads = Numbers(4, pad);
  Schema schema = plain(std::move(pool), 1);
  schema.attributes.emplace_back("kernel", list_of({3, 3}));
  if (stride != 1) schema.attributes.emplace_back("strides", rules::integer_term(stride));
  if (pad != 0) schema.attributes.emplace_back("pads", rules::integer_term(pad));
  return schema;
}

Schema average(std::int64_t stride = 1, std::int64_t pad = 1) {
  op::AveragePool pool;
  pool.count_padding = true;
  Schema schema = pooling(pool, stride, pad);
  schema.attributes.emplace_back("count_padding", rules::boolean_term(true));
  return schema;
}

Schema enlarge(std::int64_t size) {
  Schema schema = plain(op::Enlarge{.kernel = {size, size}}, 1);
  schema.attributes.emplace_back("kernel", list_of({size, size}));
  return schema;
}

Schema shared(Schema schema) {
  schema.shares_matrix = true;
  return schema;
}

std::map<std::string, Schema, std::less<>> make_schemas() {
  std::map<std::string, Schema, std::less<>> all{
      {"add", plain(op::Add{}, 2, true)},
      {"mul", plain(op::Mul{}, 2, true)},
      {"sub", plain(op::Sub{}, 2)},
      {"scalar_mul", plain(op::ScalarMul{}, 2)},
      {"relu", plain(op::Relu{}, 1)},
      {"sigmoid", plain(op::Sigmoid{}, 1)},
      {"tanh", plain(op::Tanh{}, 1)},
      {"matmul", plain(op::MatMul{}, 2)},
      {"transpose", transpose({1, 0})},
      {"stack_matmul", plain(op::MatMul{}, 2)},
      {"stack_matmul_shared", shared(plain(op::MatMul{}, 2))},
      {"stack_transpose", transpose({0, 2, 1})},
      {"stack_transpose102", transpose({1, 0, 2})},
      {"stack_transpose120", transpose({1, 2, 0})},
      {"stack_to_matrix", reshape(Fit::rows_joined)},
      {"matrix_to_stack", reshape(Fit::rows_parted)},
      {"vector_to_channels", reshape(Fit::vector_to_channels)},
      {"channels_to_vector", reshape(Fit::channels_to_vector)},
      {"channels_to_filters", reshape(Fit::channels_to_filters)},
      {"conv3x3", convolution({.window = {3, 3}})},
      {"conv1x1", convolution({.window = {1, 1}})},
      {"conv1x3", convolution({.window = {1, 3}})},
      {"conv3x1", convolution({.window = {3, 1}})},
      {"conv5x5", convolution({.window = {5, 5}})},
      {"conv3x3_valid", convolution({.window = {3, 3}, .same = false})},
      {"conv3x3_stride2", convolution({.window = {3, 3}, .stride = 2})},
      {"conv1x1_stride2", convolution({.window = {1, 1}, .stride = 2})},
      {"conv3x3_grouped", convolution({.window = {3, 3}, .grouped = true})},
      {"conv1x1_grouped", convolution({.window = {1, 1}, .grouped = true})},
      {"conv3x3_bias", convolution({.window = {3, 3}, .bias = true})},
      {"conv1x1_bias", convolution({.window = {1, 1}, .bias = true})},
      {"conv1x3_bias", convolution({.window = {1, 3}, .bias = true})},
      {"conv3x1_bias", convolution({.window = {3, 1}, .bias = true})},
      {"conv5x5_bias", convolution({.window = {5, 5}, .bias = true})},
      {"conv3x3_grouped_bias", convolution({.window = {3, 3}, .grouped = true, .bias = true})},
      {"average_pool", average()},
      {"average_pool_stride2", average(2)},
      {"average_pool_valid", average(1, 0)},
      {"max_pool", pooling(op::MaxPool{})},
      {"max_pool_stride2", pooling(op::MaxPool{}, 2)},
      {"enlarge", enlarge(3)},
      {"enlarge5x5", enlarge(5)},
      {"pad", zeros_around({0, 0, 1, 1})},
      {"pad_width", zeros_around({0, 0, 0, 1})},
      {"identity_matrix", plain(op::IdentityMatrix{}, 0)},
      {"ones", plain(op::Ones{}, 0)},
      {"image_ones", plain(op::Ones{}, 0)},
      {"identity_kernel", plain(op::IdentityKernel{.kernel = {3, 3}}, 0)},
      {"pooling_kernel", plain(op::PoolingKernel{.kernel = {3, 3}}, 0)},
  };
  for (std::int64_t axis = 0; axis < 4; ++axis) {
    for (const char* stem : {"", "stack_"}) {
      all.emplace(fmt::format("{}concat{}", stem, axis), with_axis(op::Concat{}, 2, axis));
      all.emplace(fmt::format("{}split{}", stem, axis), with_axis(op::Split{}, 1, axis, Fit::at_joint));
    }
    all.emplace(fmt::format("cut{}", axis), with_axis(op::Split{}, 1, axis, Fit::at_joint));
    all.emplace(fmt::format("slice{}_first", axis), with_axis(op::Slice{}, 1, axis, Fit::before_joint));
    all.emplace(fmt::format("slice{}_second", axis), with_axis(op::Slice{}, 1, axis, Fit::after_joint));
    all.emplace(fmt::format("slice{}_inside", axis), with_axis(op::Slice{}, 1, axis, Fit::inside));
  }
  return all;
}

}  // namespace

Schema schema_named(std::string_view name) {
  static const auto all = make_schemas();
  const auto found = all.find(name);
  check(found != all.end(), "the schema is in the list");
  Schema schema = found->second;
  schema.name = name;
  return schema;
}

Schema constant_named(std::string_view name, Extents here, Extents larger) {
  Schema schema = schema_named(name);
  check(schema.operands == 0, "a constant has no operands");
  schema.constant = std::move(here);
  schema.larger_constant = std::move(larger);
  return schema;
}

std::vector<Schema> schemas_named(std::string_view names) {
  std::vector<Schema> result;
  for (std::size_t begin = 0; begin < names.size();) {
    const std::size_t end = std::min(names.find(' ', begin), names.size());
    if (end > begin) result.push_back(schema_named(names.substr(begin, end - begin)));
    begin = end + 1;
  }
  return result;
}

}  // namespace taso::generator
