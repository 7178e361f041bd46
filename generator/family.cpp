#include "generator/family.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "ops/error.h"
#include "ops/spelling.h"

namespace taso {
namespace {

TermPtr list_of(const std::vector<std::int64_t>& numbers) {
  std::vector<TermPtr> elements;
  for (const std::int64_t number : numbers) elements.push_back(integer_term(number));
  return list_term(std::move(elements));
}

Schema plain(std::string name, Operator op, std::size_t operands, bool commutes = false) {
  Schema schema;
  schema.name = std::move(name);
  schema.op = std::move(op);
  schema.operands = operands;
  schema.commutes = commutes;
  return schema;
}

Schema with_axis(std::string name, Operator op, std::size_t operands, std::int64_t axis) {
  Schema schema = plain(std::move(name), std::move(op), operands);
  schema.attributes.emplace_back("axis", integer_term(axis));
  return schema;
}

Schema transpose(std::string name, std::vector<std::int64_t> permutation) {
  Schema schema = plain(std::move(name), op::Transpose{.permutation = permutation}, 1);
  schema.attributes.emplace_back("permutation", list_of(permutation));
  return schema;
}

struct Convolution {
  std::vector<std::int64_t> window;
  std::int64_t stride = 1;
  bool same = true;  ///< padded so that stride 1 keeps the size
  bool grouped = false;
  bool bias = false;
};

Schema convolution(std::string name, const Convolution& options) {
  std::vector<std::int64_t> pads(4, 0);
  if (options.same)
    for (std::size_t i = 0; i < 2; ++i) pads[i] = pads[2 + i] = options.window[i] / 2;
  Schema schema =
      plain(std::move(name), op::Conv{.strides = {options.stride, options.stride}, .dilations = {1, 1}, .pads = pads},
            options.bias ? 3 : 2);
  schema.window = options.window;
  schema.grouped = options.grouped;
  if (options.stride != 1) schema.attributes.emplace_back("strides", integer_term(options.stride));
  if (pads != std::vector<std::int64_t>{0, 0, 0, 0})
    schema.attributes.emplace_back("pads", pads[0] == pads[1] ? integer_term(pads[0]) : list_of(pads));
  return schema;
}

template <class Pool>
Schema pooling(std::string name, Pool pool) {
  pool.kernel = {3, 3};
  pool.strides = pool.dilations = {1, 1};
  pool.pads = {1, 1, 1, 1};
  Schema schema = plain(std::move(name), std::move(pool), 1);
  schema.attributes.emplace_back("kernel", list_of({3, 3}));
  schema.attributes.emplace_back("pads", integer_term(1));
  return schema;
}

Schema constant(std::string name, Operator op, Extents here, Extents larger) {
  Schema schema = plain(std::move(name), std::move(op), 0);
  schema.constant = std::move(here);
  schema.larger_constant = std::move(larger);
  return schema;
}

std::vector<Schema> elementwise() {
  return {plain("add", op::Add{}, 2, true), plain("mul", op::Mul{}, 2, true),
          plain("sub", op::Sub{}, 2),       plain("scalar_mul", op::ScalarMul{}, 2),
          plain("relu", op::Relu{}, 1),     plain("sigmoid", op::Sigmoid{}, 1),
          plain("tanh", op::Tanh{}, 1)};
}

std::vector<Schema> joints(std::size_t axes) {
  std::vector<Schema> result;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const auto a = static_cast<std::int64_t>(axis);
    result.push_back(with_axis(fmt::format("concat{}", axis), op::Concat{.axis = a}, 2, a));
    result.push_back(with_axis(fmt::format("split{}", axis), op::Split{.axis = a}, 1, a));
  }
  return result;
}

void append(std::vector<Schema>& to, std::vector<Schema> more) {
  for (Schema& schema : more) to.push_back(std::move(schema));
}

Family matrices() {
  Family family{"matrices", {{"m", {2, 2}, {3, 3}, 4}, {"s", {}, {}, 2}}, elementwise()};
  append(family.schemas, joints(2));
  family.schemas.push_back(plain("matmul", op::MatMul{}, 2));
  family.schemas.push_back(transpose("transpose", {1, 0}));
  family.schemas.push_back(constant("identity_matrix", op::IdentityMatrix{.size = 2}, {2, 2}, {3, 3}));
  family.schemas.push_back(constant("ones", op::Ones{.shape = {2, 2}}, {2, 2}, {3, 3}));
  return family;
}

Family stacks() {
  Family family{"stacks", {{"b", {2, 2, 2}, {2, 3, 3}, 3}, {"s", {}, {}, 1}}, elementwise()};
  for (Schema& schema : joints(3)) {
    schema.name = "stack_" + schema.name;
    family.schemas.push_back(std::move(schema));
  }
  family.schemas.push_back(plain("stack_matmul", op::MatMul{}, 2));
  family.schemas.push_back(transpose("stack_transpose", {0, 2, 1}));
  return family;
}

Family images() {
  Family family{"images",
                {{"t", {1, 2, 3, 3}, {2, 4, 4, 5}, 3},
                 {"s", {}, {}, 1},
                 {"c", {1, 2, 1, 1}, {1, 4, 1, 1}, 2},
                 {"v", {2}, {4}, 2},
                 {"k", {2, 2, 3, 3}, {4, 4, 3, 3}, 2, true},
                 {"p", {2, 2, 1, 1}, {4, 4, 1, 1}, 2, true},
                 {"r", {2, 2, 1, 3}, {4, 4, 1, 3}, 2, true},
                 {"u", {2, 2, 3, 1}, {4, 4, 3, 1}, 2, true},
                 {"f", {2, 2, 5, 5}, {4, 4, 5, 5}, 2, true},
                 {"d", {2, 1, 3, 3}, {4, 1, 3, 3}, 2, true},
                 {"e", {2, 1, 1, 1}, {4, 1, 1, 1}, 2, true}},
                elementwise()};
  append(family.schemas, joints(2));
  const auto conv = [&](std::string name, Convolution options) {
    family.schemas.push_back(convolution(std::move(name), options));
  };
  conv("conv3x3", {.window = {3, 3}});
  conv("conv1x1", {.window = {1, 1}});
  conv("conv1x3", {.window = {1, 3}});
  conv("conv3x1", {.window = {3, 1}});
  conv("conv5x5", {.window = {5, 5}});
  conv("conv3x3_valid", {.window = {3, 3}, .same = false});
  conv("conv3x3_stride2", {.window = {3, 3}, .stride = 2});
  conv("conv1x1_stride2", {.window = {1, 1}, .stride = 2});
  conv("conv3x3_grouped", {.window = {3, 3}, .grouped = true});
  conv("conv1x1_grouped", {.window = {1, 1}, .grouped = true});
  conv("conv3x3_bias", {.window = {3, 3}, .bias = true});
  conv("conv1x1_bias", {.window = {1, 1}, .bias = true});
  op::AveragePool average;
  average.count_padding = true;
  family.schemas.push_back(pooling("average_pool", average));
  family.schemas.back().attributes.emplace_back("count_padding", boolean_term(true));
  family.schemas.push_back(pooling("max_pool", op::MaxPool{}));
  Schema enlarge = plain("enlarge", op::Enlarge{.kernel = {3, 3}}, 1);
  enlarge.attributes.emplace_back("kernel", list_of({3, 3}));
  family.schemas.push_back(std::move(enlarge));
  family.schemas.push_back(constant("identity_kernel", op::IdentityKernel{.channels = 2, .groups = 1, .kernel = {3, 3}},
                                    {2, 2, 3, 3}, {4, 4, 3, 3}));
  family.schemas.push_back(constant("pooling_kernel", op::PoolingKernel{.channels = 2, .groups = 2, .kernel = {3, 3}},
                                    {2, 1, 3, 3}, {4, 1, 3, 3}));
  family.schemas.push_back(constant("image_ones", op::Ones{.shape = {1, 2, 3, 3}}, {1, 2, 3, 3}, {2, 4, 4, 5}));
  return family;
}

std::vector<Family> every_family() { return {matrices(), stacks(), images()}; }

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const Family& family : every_family())
    for (const Schema& schema : family.schemas)
      if (std::find(names.begin(), names.end(), schema.name) == names.end()) names.push_back(schema.name);
  return names;
}

std::vector<std::string> taso_schemas() {
  return {"matmul",
          "add",
          "mul",
          "scalar_mul",
          "relu",
          "conv3x3",
          "conv1x1",
          "conv1x3",
          "average_pool",
          "max_pool",
          "identity_matrix",
          "ones",
          "identity_kernel",
          "pooling_kernel",
          "image_ones",
          "conv3x3_grouped",
          "enlarge",
          "concat0",
          "concat1",
          "split0",
          "split1",
          "transpose"};
}

std::vector<Family> families(const std::vector<std::string>& names) {
  const std::vector<std::string> known = schema_names();
  for (const std::string& name : names)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InputError(fmt::format("there is no operator '{}' to enumerate{}", name, did_you_mean(name, known)));
  std::vector<Family> result;
  for (Family& family : every_family()) {
    const auto is_chosen = [&](const Schema& schema) {
      return std::find(names.begin(), names.end(), schema.name) != names.end();
    };
    std::vector<Schema> chosen;
    std::copy_if(family.schemas.begin(), family.schemas.end(), std::back_inserter(chosen), is_chosen);
    const auto takes = [&](const InputKind& kind) {
      return std::any_of(chosen.begin(), chosen.end(), [&](const Schema& schema) {
        if (kind.stem == "s") return schema.name == "scalar_mul";
        if (kind.stem == "v") return schema.name.ends_with("_bias");
        if (kind.stem == "c") return schema.name == "sub";  // broadcasting comes with the larger sets
        if (!kind.is_kernel) return true;
        return schema.window == kind.window() && (schema.grouped == (kind.extents[1] == 1));
      });
    };
    family.inputs.erase(std::remove_if(family.inputs.begin(), family.inputs.end(), std::not_fn(takes)),
                        family.inputs.end());
    family.schemas = std::move(chosen);
    // A family of which only what all have in common is chosen says nothing that another does not.
    const bool is_its_own = std::any_of(family.schemas.begin(), family.schemas.end(), [&](const Schema& schema) {
      if (family.name == "matrices") return true;
      if (family.name == "stacks") return schema.name.starts_with("stack_");
      return !schema.window.empty() || schema.name.ends_with("_pool");
    });
    if (is_its_own) result.push_back(std::move(family));
  }
  return result;
}

}  // namespace taso
