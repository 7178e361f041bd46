// The builder's layers that only move data.
#include <algorithm>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "examples/networks/builder.h"
#include "onnx/model/proto.h"
#include "ops/core/error.h"

namespace taso::examples {

Value Builder::concat(const std::vector<Value>& parts, std::size_t axis) {
  std::vector<std::string> operands;
  std::vector<std::int64_t> shape = parts.front().shape;
  shape[axis] = 0;
  Power power{0, 0};
  for (const Value& part : parts) {
    operands.push_back(part.name);
    shape[axis] += part.shape[axis];
    power.centred += part.power.centred * static_cast<double>(part.shape[axis]);
    power.positive += part.power.positive * static_cast<double>(part.shape[axis]);
  }
  power.centred /= static_cast<double>(shape[axis]);
  power.positive /= static_cast<double>(shape[axis]);
  return node("Concat", "", operands, shape, power, {{"axis", static_cast<std::int64_t>(axis)}});
}

Value Builder::flatten(const Value& x) {
  const std::int64_t rest =
      std::accumulate(x.shape.begin() + 1, x.shape.end(), std::int64_t{1}, [](auto a, auto b) { return a * b; });
  return node("Flatten", "", {x.name}, {x.shape[0], rest}, x.power, {{"axis", std::int64_t{1}}});
}

Value Builder::reshape(const Value& x, const std::vector<std::int64_t>& shape) {
  std::int64_t left = 1;
  for (std::size_t i = 1; i < x.shape.size(); ++i) left *= x.shape[i];
  for (const std::int64_t extent : shape)
    if (extent != -1) left /= extent;
  std::vector<std::int64_t> target{batch_ == open_batch ? 0 : batch_};  // 0: unchanged
  std::vector<std::int64_t> result{x.shape[0]};
  for (const std::int64_t extent : shape) {
    target.push_back(extent);
    result.push_back(extent == -1 ? left : extent);
  }
  const std::string wanted = numbers(target);
  return node("Reshape", "", {x.name, wanted}, result, x.power);
}

Value Builder::transpose(const Value& x, const std::vector<std::int64_t>& permutation) {
  std::vector<std::int64_t> shape;
  shape.reserve(permutation.size());
  for (const std::int64_t axis : permutation) shape.push_back(x.shape[static_cast<std::size_t>(axis)]);
  return node("Transpose", "", {x.name}, shape, x.power, {{"perm", permutation}});
}

Value Builder::unsqueeze(const Value& x, std::size_t axis) {
  std::vector<std::int64_t> shape = x.shape;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  const std::string where = numbers({static_cast<std::int64_t>(axis)});
  return node("Unsqueeze", "", {x.name, where}, shape, x.power);
}

std::vector<Value> Builder::unstack(const Value& x) {
  const auto count = static_cast<std::size_t>(x.shape[0]);
  const std::string lengths = numbers(std::vector<std::int64_t>(count, 1));
  proto::NodeProto& split = add_node("Split", "", {x.name, lengths}, {{"axis", std::int64_t{0}}});
  std::vector<std::string> slices;
  for (std::size_t i = 0; i < count; ++i) {
    slices.push_back(fmt::format("{}_output_{}", split.name(), i));
    split.add_output(slices.back());
  }
  std::vector<Value> parts;
  for (const std::string& slice : slices) {
    const std::string axis = numbers({0});
    parts.push_back(node("Squeeze", "", {slice, axis}, {x.shape.begin() + 1, x.shape.end()}, x.power));
  }
  return parts;
}

Value Builder::pick(const Value& x, std::int64_t index) {
  std::vector<std::int64_t> shape = x.shape;
  shape.erase(shape.begin() + 1);
  const std::string place = integers({index}, {}).name;
  return node("Gather", "", {x.name, place}, shape, x.power, {{"axis", std::int64_t{1}}});
}

Value Builder::shifted(const Value& x) {
  std::vector<std::int64_t> larger = x.shape;
  for (std::size_t axis : {std::size_t{2}, std::size_t{3}}) ++larger[axis];
  const std::string pads = numbers({0, 0, 0, 0, 0, 0, 1, 1});
  const Value padded = node("Pad", "", {x.name, pads}, larger, x.power);
  const std::string starts = numbers({1, 1}), ends = numbers(std::vector(2, std::numeric_limits<std::int64_t>::max()));
  const std::string axes = numbers({2, 3});
  return node("Slice", "", {padded.name, starts, ends, axes}, x.shape, x.power);
}

Value Builder::slice(const Value& x, std::size_t axis, std::int64_t from, std::int64_t to, std::int64_t step) {
  std::vector<std::int64_t> shape = x.shape;
  // Exporters write the largest number for "to the end".
  const bool until_end = to == shape[axis];
  shape[axis] = (to - from + step - 1) / step;
  const std::string start = numbers({from}), end = numbers({until_end ? std::numeric_limits<std::int64_t>::max() : to});
  const std::string along = numbers({static_cast<std::int64_t>(axis)}), steps = numbers({step});
  return node("Slice", "", {x.name, start, end, along, steps}, shape, x.power);
}

Value Builder::reshape_wholly(const Value& x, const std::vector<std::int64_t>& rest, std::int64_t merged) {
  std::vector<std::int64_t> shape{batch_ == open_batch ? -1 : batch_ * merged};
  shape.insert(shape.end(), rest.begin(), rest.end());
  std::vector<std::int64_t> wanted = shape;
  for (std::int64_t& extent : wanted) extent = std::max<std::int64_t>(extent, -1);
  const bool is_open = std::find(wanted.begin(), wanted.end(), -1) != wanted.end();
  return node("Reshape", "", {x.name, numbers(wanted)}, shape, x.power, {{"allowzero", std::int64_t{!is_open}}});
}

Value Builder::upsampled(const Value& x) {
  std::vector<std::int64_t> shape = x.shape;
  for (const std::size_t axis : {std::size_t{2}, std::size_t{3}}) shape[axis] *= 2;
  proto::TensorProto scales;  // in float32 for all element types
  scales.set_data_type(proto::TensorProto::FLOAT);
  scales.add_dims(4);
  for (const double scale : {1, 1, 2, 2})
    *scales.mutable_raw_data() += seeded_bytes(ElementType::float32, 1, {scale, 0}, 0, "");
  return node("Resize", "", {x.name, "", constant(std::move(scales))}, shape, x.power,
              {{"coordinate_transformation_mode", std::string("asymmetric")},
               {"mode", std::string("nearest")},
               {"nearest_mode", std::string("floor")}});
}

Value Builder::for_each_of_batch(const Value& x, const Value& like) {
  check(x.shape[0] == 1, "the repeated value has a batch of 1");
  std::vector<std::int64_t> shape = x.shape;
  shape[0] = batch_;
  if (batch_ != open_batch) {
    const std::string wanted = numbers(shape);
    return node("Expand", "", {x.name, wanted}, shape, x.power);
  }
  const Value batch = node("Shape", "", {like.name}, {1}, {}, {{"end", std::int64_t{1}}, {"start", std::int64_t{0}}});
  const std::string rest = numbers({shape.begin() + 1, shape.end()});
  const Value wanted = node("Concat", "", {batch.name, rest}, {static_cast<std::int64_t>(shape.size())}, {},
                            {{"axis", std::int64_t{0}}});
  return node("Expand", "", {x.name, wanted.name}, shape, x.power);
}

}  // namespace taso::examples
