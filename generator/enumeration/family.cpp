#include "generator/enumeration/family.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "generator/enumeration/schemas.h"
#include "ops/core/error.h"
#include "ops/text/spelling.h"

namespace taso::generator {
namespace {

/// A family as it is if all schemas are chosen.
struct Draft {
  Family family;
  /// The family is enumerated if all schemas of one of these lists are chosen; otherwise another family covers it.
  std::vector<std::vector<std::string>> own;
};

InputKind scalars(std::size_t count) { return {"s", {}, {}, count}; }
InputKind kernels(std::string stem, Extents extents, Extents larger, std::size_t count) {
  return {std::move(stem), std::move(extents), std::move(larger), count, true, 0};
}

// --- Matrices ---

// All sides are equal, so that every matrix fits every other and a few inputs stand for all. The written rule is for
// any sides, and is proved or refuted as such.

/// Products, sums and concatenations of matrices: TASO's operators.
Draft matrices() {
  Draft draft{{"matrices",
               {{"m", {3, 3}, {4, 4}, 4}, scalars(2)},
               schemas_named("add mul scalar_mul relu concat0 split0 concat1 split1 matmul transpose")},
              {{"add"},
               {"mul"},
               {"scalar_mul"},
               {"relu"},
               {"concat0"},
               {"concat1"},
               {"matmul"},
               {"transpose"},
               {"identity_matrix"},
               {"ones"}}};
  draft.family.schemas.push_back(constant_named("identity_matrix", {3, 3}, {4, 4}));
  draft.family.schemas.push_back(constant_named("ones", {3, 3}, {4, 4}));
  return draft;
}

/// Laws of differences, alone and with sums. Operators of order and concatenation along one axis show the rest.
Draft differences() {
  return {{"differences",
           {{"m", {3, 3}, {4, 4}, 4}, scalars(1)},
           schemas_named("add sub mul scalar_mul concat1 matmul transpose")},
          {{"sub"}}};
}

/// Functions of one element, and operators that move elements. No law relates two different functions.
Draft functions() {
  return {
      {"functions", {{"m", {3, 3}, {4, 4}, 2}}, schemas_named("sigmoid tanh concat0 split0 concat1 split1 transpose")},
      {{"sigmoid"}, {"tanh"}}};
}

// An input that was never joined is cut at a variable place: `cut0` is a split that may do so.

/// Functions of parts, without concatenation: beside cuts, the laws of concatenation would follow, but in more steps
/// than a search takes.
Draft functions_of_parts() {
  return {
      {"functions of parts", {{"m", {3, 3}, {4, 4}, 1, false, 1}}, schemas_named("sigmoid tanh cut0 cut1 transpose")},
      {{"sigmoid", "cut0"}, {"sigmoid", "cut1"}, {"tanh", "cut0"}, {"tanh", "cut1"}}};
}

/// Parts by themselves: cuts, what is joined again, and slices, which are the parts of a split.
Draft parts() {
  return {{"parts",
           {{"m", {3, 3}, {4, 4}, 2, false, 1}},
           schemas_named("add relu concat0 cut0 concat1 cut1 matmul transpose slice0_first slice0_second slice1_first "
                         "slice1_second")},
          {{"cut0"}, {"cut1"}, {"slice0_first"}, {"slice0_second"}, {"slice1_first"}, {"slice1_second"}}};
}

// --- Stacks of matrices ---

/// Batched products. Laws of elements at any rank are found with matrices already.
Draft stacks() {
  return {{"stacks",
           {{"b", {3, 2, 2}, {2, 3, 3}, 4}},
           schemas_named("add stack_concat0 stack_split0 stack_concat1 stack_split1 stack_concat2 stack_split2 "
                         "stack_matmul stack_transpose")},
          {{"stack_concat0"}, {"stack_concat1"}, {"stack_concat2"}, {"stack_matmul"}, {"stack_transpose"}}};
}

/// Transpositions of three axes, and the operators that they move through. All sizes differ, to tell the axes apart.
Draft axes() {
  return {{"axes",
           {{"b", {2, 3, 4}, {3, 5, 4}, 2}},
           schemas_named("add relu stack_concat0 stack_concat1 stack_concat2 stack_transpose stack_transpose102 "
                         "stack_transpose120")},
          {{"stack_transpose102"}, {"stack_transpose120"}}};
}

/// A batch times one matrix is one product of all its rows: reshapes around products and functions of elements.
Draft rows() {
  return {{"rows",
           {{"b", {2, 3, 4}, {3, 2, 5}, 2}, {"m", {4, 4}, {5, 5}, 2}},
           schemas_named("add relu concat1 split1 matmul stack_concat0 stack_concat2 stack_split2 stack_matmul_shared "
                         "stack_to_matrix matrix_to_stack")},
          {{"stack_matmul_shared"}, {"stack_to_matrix"}}};
}

// --- Images ---

// No operator includes an activation: TASO's convolution with relu is the relu of a convolution here.

/// Convolutions, pooling, enlarging: TASO's operators. Joined kernels turn ungrouped convolutions into groups of two
/// channels.
Draft images() {
  Draft draft{{"images",
               {{"t", {1, 2, 3, 3}, {2, 4, 4, 5}, 3},
                scalars(1),
                kernels("k", {2, 2, 3, 3}, {4, 4, 3, 3}, 2),
                kernels("p", {2, 2, 1, 1}, {4, 4, 1, 1}, 2),
                kernels("r", {2, 2, 1, 3}, {4, 4, 1, 3}, 2),
                kernels("d", {2, 1, 3, 3}, {4, 1, 3, 3}, 2)},
               schemas_named("add mul scalar_mul relu concat0 split0 concat1 split1 conv3x3 conv1x1 conv1x3 "
                             "conv3x3_grouped average_pool max_pool enlarge")},
              {{"conv3x3"}, {"conv1x1"}, {"conv1x3"}, {"conv3x3_grouped"}, {"average_pool"}, {"max_pool"}}};
  draft.family.schemas.push_back(constant_named("identity_kernel", {2, 2, 3, 3}, {4, 4, 3, 3}));
  draft.family.schemas.push_back(constant_named("pooling_kernel", {2, 1, 3, 3}, {4, 1, 3, 3}));
  draft.family.schemas.push_back(constant_named("image_ones", {1, 2, 3, 3}, {2, 4, 4, 5}));
  return draft;
}

/// Convolutions are linear in differences too.
Draft image_differences() {
  return {{"image differences",
           {{"t", {1, 2, 3, 3}, {2, 4, 4, 5}, 2}, kernels("k", {2, 2, 3, 3}, {4, 4, 3, 3}, 2)},
           schemas_named("add sub concat0 concat1 split1 conv3x3 average_pool")},
          {{"sub", "conv3x3"}, {"sub", "average_pool"}}};
}

/// More windows; they meet the others where the smaller kernel is enlarged.
Draft windows() {
  return {{"windows",
           {{"t", {1, 2, 3, 3}, {2, 4, 4, 5}, 2},
            kernels("k", {2, 2, 3, 3}, {4, 4, 3, 3}, 2),
            kernels("p", {2, 2, 1, 1}, {4, 4, 1, 1}, 1),
            kernels("u", {2, 2, 3, 1}, {4, 4, 3, 1}, 2),
            kernels("f", {2, 2, 5, 5}, {4, 4, 5, 5}, 2)},
           schemas_named("add concat0 concat1 split1 conv3x3 conv1x1 conv3x1 conv5x5 enlarge enlarge5x5")},
          {{"conv3x1"}, {"conv5x5"}}};
}

/// Strides: what holds for strides 1 and 2 is tried for every stride.
Draft strides() {
  return {{"strides",
           {{"t", {1, 2, 4, 3}, {2, 4, 5, 4}, 2},
            scalars(1),
            kernels("k", {2, 2, 3, 3}, {4, 4, 3, 3}, 2),
            kernels("p", {2, 2, 1, 1}, {4, 4, 1, 1}, 2)},
           schemas_named("add scalar_mul concat0 concat1 split0 split1 conv3x3_stride2 conv1x1_stride2 enlarge "
                         "average_pool_stride2 max_pool_stride2")},
          {{"conv3x3_stride2"}, {"conv1x1_stride2"}, {"average_pool_stride2"}, {"max_pool_stride2"}}};
}

/// Windows without padding, and borders of zeros: together they equal windows with padding.
Draft borders() {
  return {
      {"borders",
       {{"t", {1, 2, 4, 5}, {2, 3, 6, 5}, 2}, scalars(1), kernels("k", {2, 2, 3, 3}, {3, 3, 3, 3}, 2)},
       schemas_named("add scalar_mul relu concat1 split1 conv3x3 conv3x3_valid average_pool average_pool_valid pad")},
      {{"conv3x3_valid"}, {"average_pool_valid"}, {"pad"}}};
}

/// Zeros at both ends of an axis, and slices that remove the ends.
Draft margins() {
  return {{"margins",
           {{"t", {1, 2, 2, 4}, {2, 3, 4, 5}, 2}},
           schemas_named("add relu concat0 concat1 split1 pad_width slice3_inside")},
          {{"pad_width"}, {"slice3_inside"}}};
}

/// Two groups of two channels, and depthwise groups, beside convolutions that mix all channels: four channels tell the
/// three apart.
Draft groups() {
  Draft draft{{"groups",
               {{"t", {1, 4, 3, 3}, {2, 6, 4, 3}, 2},
                scalars(1),
                kernels("g", {4, 2, 3, 3}, {6, 2, 3, 3}, 2),
                kernels("d", {4, 1, 3, 3}, {6, 1, 3, 3}, 2),
                kernels("p", {4, 4, 1, 1}, {6, 6, 1, 1}, 1),
                kernels("h", {4, 2, 1, 1}, {6, 2, 1, 1}, 1)},
               schemas_named("add scalar_mul concat0 concat1 split1 conv3x3_grouped conv1x1_grouped conv1x1 enlarge "
                             "average_pool")},
              {{"conv1x1_grouped"}}};
  draft.family.schemas.push_back(constant_named("pooling_kernel", {4, 1, 3, 3}, {6, 1, 3, 3}));
  return draft;
}

/// A bias, inside the convolution and outside, as a vector and as one number per channel.
Draft biases() {
  return {{"biases",
           {{"t", {1, 2, 3, 3}, {2, 4, 4, 5}, 2},
            {"c", {1, 2, 1, 1}, {1, 4, 1, 1}, 1},
            {"v", {2}, {4}, 2},
            kernels("k", {2, 2, 3, 3}, {4, 4, 3, 3}, 2)},
           schemas_named("add concat0 concat1 split1 conv3x3 conv3x3_bias vector_to_channels channels_to_vector")},
          {{"conv3x3_bias"}, {"vector_to_channels"}, {"channels_to_vector"}}};
}

/// Convolutions whose biases stay inside: joined, added and scaled together with the filters.
Draft biased_convolutions() {
  return {{"biased convolutions",
           {{"t", {1, 2, 3, 3}, {2, 4, 4, 5}, 2},
            scalars(1),
            {"v", {2}, {4}, 2},
            kernels("k", {2, 2, 3, 3}, {4, 4, 3, 3}, 2)},
           schemas_named("add scalar_mul concat0 concat1 split1 conv3x3_bias")},
          {{"conv3x3_bias", "concat0"}, {"conv3x3_bias", "add"}, {"conv3x3_bias", "scalar_mul"}}};
}

/// Where the smaller kernel is enlarged, the bias does not change.
Draft biased_windows() {
  return {{"biased windows",
           {{"t", {1, 2, 3, 3}, {2, 4, 4, 5}, 1},
            {"v", {2}, {4}, 1},
            kernels("k", {2, 2, 3, 3}, {4, 4, 3, 3}, 1),
            kernels("p", {2, 2, 1, 1}, {4, 4, 1, 1}, 1),
            kernels("r", {2, 2, 1, 3}, {4, 4, 1, 3}, 1),
            kernels("u", {2, 2, 3, 1}, {4, 4, 3, 1}, 1),
            kernels("f", {2, 2, 5, 5}, {4, 4, 5, 5}, 1)},
           schemas_named("conv3x3_bias conv1x1_bias conv1x3_bias conv3x1_bias conv5x5_bias enlarge enlarge5x5")},
          {{"conv1x1_bias"}, {"conv1x3_bias"}, {"conv3x1_bias"}, {"conv5x5_bias"}}};
}

/// Adjacent groups keep their biases.
Draft biased_groups() {
  return {{"biased groups",
           {{"t", {1, 2, 3, 3}, {2, 4, 4, 5}, 2}, {"v", {2}, {4}, 2}, kernels("d", {2, 1, 3, 3}, {4, 1, 3, 3}, 2)},
           schemas_named("concat0 concat1 split1 conv3x3_grouped_bias")},
          {{"conv3x3_grouped_bias"}}};
}

/// Batch normalisation as scale and shift, one number per channel, which move into weights.
Draft scales() {
  return {{"scales",
           {{"t", {1, 2, 3, 3}, {2, 4, 4, 5}, 2},
            {"c", {1, 2, 1, 1}, {1, 4, 1, 1}, 2},
            kernels("k", {2, 2, 3, 3}, {4, 4, 3, 3}, 1)},
           schemas_named("add mul concat1 split1 conv3x3 average_pool channels_to_filters")},
          {{"channels_to_filters"}}};
}

std::vector<Draft> every_family() {
  std::vector<Draft> all;
  for (const auto make : {matrices,
                          differences,
                          functions,
                          functions_of_parts,
                          parts,
                          stacks,
                          axes,
                          rows,
                          images,
                          image_differences,
                          windows,
                          strides,
                          borders,
                          margins,
                          groups,
                          biases,
                          biased_convolutions,
                          biased_windows,
                          biased_groups,
                          scales})
    all.push_back(make());
  return all;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Whether a schema of the family takes such an input.
bool is_taken(const InputKind& kind, const Family& family) {
  const std::int64_t channels = kind.is_kernel ? family.inputs[0].extents.at(1) : 0;
  return std::any_of(family.schemas.begin(), family.schemas.end(), [&](const Schema& schema) {
    if (kind.stem == "s") return schema.name == "scalar_mul";
    if (kind.stem == "v") return schema.operands == 3 || schema.fit == Fit::vector_to_channels;
    if (kind.stem == "c") return schema.name == "add" || schema.name == "mul" || schema.fit == Fit::channels_to_vector;
    if (kind.is_kernel) return schema.window == kind.window() && schema.grouped == (kind.extents[1] != channels);
    return true;
  });
}

/// If inputs may be cut, so may everything that was joined; otherwise neither.
void cut_what_may_be_cut(Family& family) {
  std::vector<std::string> covered;
  bool cuts = false;
  for (const Schema& schema : family.schemas) {
    cuts = cuts || schema.name.starts_with("cut") || schema.name.starts_with("slice");
    if (schema.name.starts_with("cut")) covered.push_back("split" + schema.name.substr(3));
  }
  std::erase_if(family.schemas, [&](const Schema& schema) { return contains(covered, schema.name); });
  if (cuts) return;
  for (InputKind& kind : family.inputs) kind.cut = 0;
}

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names;
  for (const Draft& draft : every_family())
    for (const Schema& schema : draft.family.schemas)
      if (!contains(names, schema.name)) names.push_back(schema.name);
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
    if (!contains(known, name))
      throw InputError(fmt::format("there is no operator '{}' to enumerate{}", name, did_you_mean(name, known)));
  std::vector<Family> result;
  for (Draft& draft : every_family()) {
    const bool is_its_own = std::any_of(draft.own.begin(), draft.own.end(), [&](const auto& all) {
      return std::all_of(all.begin(), all.end(), [&](const std::string& name) { return contains(names, name); });
    });
    if (!is_its_own) continue;
    Family& family = draft.family;
    std::erase_if(family.schemas, [&](const Schema& schema) { return !contains(names, schema.name); });
    cut_what_may_be_cut(family);
    std::vector<InputKind> inputs;
    std::copy_if(family.inputs.begin(), family.inputs.end(), std::back_inserter(inputs),
                 [&](const InputKind& kind) { return is_taken(kind, family); });
    family.inputs = std::move(inputs);
    result.push_back(std::move(family));
  }
  return result;
}

}  // namespace taso::generator
