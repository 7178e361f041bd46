// Random nodes that take each result element from places of their operands, and of products of quantised numbers.
#include <numeric>

#include "tests/runtime/gpu/function_maker.h"

namespace taso::test::functions {

void add_place_functions(Table& table) {
  table["GatherElements"] = [](Maker& m) {
    const Extents x = m.add(some_array(m.random, any_type(m.random), some_extents(m.random, 1, 4))).extents();
    const std::size_t axis = m.random.below(x.size());
    Extents indices;
    for (std::size_t i = 0; i < x.size(); ++i) indices.push_back(m.random.between(1, i == axis ? x[i] + 3 : x[i]));
    m.add(some_indices(m.random, indices, x[axis], m.random.chance(0.5)));
    m.set("axis", static_cast<std::int64_t>(axis));
  };
  const auto tuples = [](Random& random, const Extents& leading, const Extents& x, std::size_t batch,
                         std::int64_t depth) {
    std::vector<std::int64_t> list;
    for (std::int64_t i = count(leading); i > 0; --i)
      for (std::int64_t k = 0; k < depth; ++k) {
        const std::int64_t extent = x[batch + static_cast<std::size_t>(k)];
        list.push_back(random.between(-extent, extent - 1));
      }
    Extents extents = leading;
    extents.push_back(depth);
    return Array::of<std::int64_t>(extents, list);
  };
  table["GatherND"] = [tuples](Maker& m) {
    const Extents x = m.add(some_array(m.random, any_type(m.random), some_extents(m.random, 1, 5))).extents();
    const std::size_t batch = m.random.below(std::min<std::size_t>(x.size(), 3));
    Extents leading(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(batch));
    for (const std::int64_t extent : some_extents(m.random, 0, 2, 20)) leading.push_back(extent);
    m.add(tuples(m.random, leading, x, batch, m.random.between(1, static_cast<std::int64_t>(x.size() - batch))));
    m.set("batch_dims", static_cast<std::int64_t>(batch));
  };
  // Without a reduction each element is written once: which of two updates wins is not said.
  const auto some_reduction = [](Maker& m) {
    const std::string reduction = m.random.pick(std::vector<std::string>{"none", "none", "add", "mul", "max", "min"});
    m.set("reduction", reduction);
    return reduction != "none";
  };
  table["ScatterElements"] = [some_reduction](Maker& m) {
    const bool reduces = some_reduction(m);
    const ElementType type = any_type(m.random);
    const Extents x = m.add(some_array(m.random, type, some_extents(m.random, 1, 4))).extents();
    const std::size_t axis = m.random.below(x.size());
    Extents indices = x;
    for (std::int64_t& extent : indices) extent = m.random.between(1, extent);
    std::vector<std::int64_t> order(static_cast<std::size_t>(x[axis])), list;
    std::iota(order.begin(), order.end(), 0);
    m.random.shuffle(order);
    std::int64_t inner = 1;
    for (std::size_t i = axis + 1; i < x.size(); ++i) inner *= indices[i];
    for (std::int64_t i = 0; i < count(indices); ++i) {
      const std::int64_t index =
          reduces ? m.random.between(0, x[axis] - 1) : order[static_cast<std::size_t>(i / inner % indices[axis])];
      list.push_back(m.random.chance(0.3) ? index - x[axis] : index);
    }
    m.add(Array::of<std::int64_t>(indices, list).cast(m.random.chance(0.5) ? int32 : int64));
    m.add(some_array(m.random, type, indices));
    m.set("axis", static_cast<std::int64_t>(axis));
  };
  table["ScatterND"] = [some_reduction](Maker& m) {
    const bool reduces = some_reduction(m);
    const ElementType type = any_type(m.random);
    const Extents x = m.add(some_array(m.random, type, some_extents(m.random, 1, 4, 500))).extents();
    const auto depth = static_cast<std::ptrdiff_t>(1 + m.random.below(x.size()));
    const Extents front(x.begin(), x.begin() + depth);
    std::vector<std::int64_t> order(static_cast<std::size_t>(count(front))), list;
    std::iota(order.begin(), order.end(), 0);
    m.random.shuffle(order);
    order.resize(1 + m.random.below(order.size()));
    if (reduces)
      for (std::int64_t& place : order) place = m.random.between(0, count(front) - 1);
    for (std::int64_t place : order) {
      std::vector<std::int64_t> tuple(front.size());
      for (std::size_t k = front.size(); k-- > 0; place /= front[k]) tuple[k] = place % front[k];
      list.insert(list.end(), tuple.begin(), tuple.end());
    }
    const auto many = static_cast<std::int64_t>(order.size());
    m.add(Array::of<std::int64_t>({many, depth}, list));
    Extents updates(x.begin() + depth, x.end());
    updates.insert(updates.begin(), many);
    m.add(some_array(m.random, type, updates));
  };
  table["TensorScatter"] = [](Maker& m) {
    const ElementType type = any_type(m.random);
    const Extents cache = m.add(some_array(m.random, type, some_extents(m.random, 2, 4))).extents();
    const std::size_t axis = 1 + m.random.below(cache.size() - 1);
    Extents added = cache;
    added[axis] = m.random.between(1, cache[axis]);
    m.add(some_array(m.random, type, added));
    const bool is_circular = m.random.chance(0.4);
    std::vector<std::int64_t> begins;
    for (std::int64_t i = 0; i < cache[0]; ++i)
      begins.push_back(m.random.between(0, is_circular ? 3 * cache[axis] : cache[axis] - added[axis]));
    if (m.random.chance(0.8)) m.add(numbers(begins));
    m.set("axis", static_cast<std::int64_t>(axis));
    if (is_circular) m.set("mode", std::string("circular"));
  };
  table["Tile"] = [](Maker& m) {
    m.add(some_array(m.random, any_type(m.random), some_extents(m.random, 1, 5, 300)));
    std::vector<std::int64_t> repeats;
    for (std::size_t i = 0; i < m.rank(); ++i) repeats.push_back(m.random.between(1, 3));
    m.add(numbers(repeats), true);
  };
  table["Trilu"] = [](Maker& m) {
    m.add(some_array(m.random, any_type(m.random), some_extents(m.random, 2, 4)));
    if (m.random.chance(0.7)) m.add(Array::scalar<std::int64_t>(m.random.between(-5, 5)));
    m.set("upper", std::int64_t{m.random.chance(0.5)});
  };
  table["DepthToSpace"] = table["SpaceToDepth"] = [](Maker& m) {
    Extents extents = some_extents(m.random, 4, 4, 200);
    const std::int64_t block = m.random.between(1, 3);
    if (m.made.function.name == "DepthToSpace") {
      extents[1] *= block * block;
      if (m.random.chance(0.5)) m.set("mode", std::string("CRD"));
    } else {
      extents[2] *= block;
      extents[3] *= block;
    }
    m.add(some_array(m.random, any_type(m.random), extents));
    m.set("blocksize", block);
  };
  table["Pad"] = [](Maker& m) {
    const ElementType type = some_number(m.random);
    m.add(some_array(m.random, type, some_extents(m.random, 1, 5, 400), true));
    const std::string mode = m.random.pick(std::vector<std::string>{"constant", "edge", "reflect", "wrap"});
    m.set("mode", mode);
    std::vector<std::int64_t> pads, axes;
    for (std::size_t i = 0; i < m.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    if (m.random.chance(0.3)) axes = {m.some_axis(m.rank())};
    for (std::size_t i = 0; i < 2 * axes.size(); ++i)
      pads.push_back(m.random.chance(0.2) && mode == "constant" ? 0 : m.random.between(0, 4));
    const bool crops = m.random.chance(0.2);
    if (crops)
      pads[0] = -std::min<std::int64_t>(
          1,
          m.extents()[static_cast<std::size_t>(axes[0] < 0 ? axes[0] + static_cast<std::int64_t>(m.rank()) : axes[0])] -
              1);
    m.add(numbers(pads), true);
    mode == "constant" && m.random.chance(0.6) ? static_cast<void>(m.add(some_array(m.random, type, {}))) : m.omit();
    if (axes.size() != m.rank() || m.random.chance(0.3)) m.add(numbers(axes), true);
  };
  table["CenterCropPad"] = [](Maker& m) {
    m.add(some_array(m.random, any_type(m.random), some_extents(m.random, 1, 4, 400)));
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < m.rank(); ++i) sizes.push_back(m.random.between(1, 12));
    m.add(numbers(sizes), true);
  };
  table["OneHot"] = [](Maker& m) {
    const std::int64_t depth = m.random.between(1, 9);
    const ElementType values = any_type(m.random);
    m.add(some_indices(m.random, some_extents(m.random, 0, 3, 200), depth + 2, m.random.chance(0.5)));
    m.add(Array::scalar<std::int64_t>(depth), true);
    m.add(some_array(m.random, values, {2}));
    m.set("axis", m.some_axis(m.rank() + 1));
  };
  table["EyeLike"] = [](Maker& m) {
    m.add(some_array(m.random, some_number(m.random), some_extents(m.random, 2, 2)));
    m.set("k", m.random.between(-3, 3));
  };
  table["ReverseSequence"] = [](Maker& m) {
    const Extents x = m.add(some_array(m.random, any_type(m.random), some_extents(m.random, 2, 4))).extents();
    const std::int64_t batch = m.random.between(0, 1);
    std::vector<std::int64_t> lengths;
    for (std::int64_t i = 0; i < x[static_cast<std::size_t>(batch)]; ++i)
      lengths.push_back(m.random.between(0, x[static_cast<std::size_t>(1 - batch)]));
    m.add(numbers(lengths));
    m.set("batch_axis", batch);
    m.set("time_axis", 1 - batch);
  };
  table["Resize"] = [](Maker& m) {
    const std::string mode = m.random.pick(std::vector<std::string>{"nearest", "linear", "cubic"});
    m.add(some_array(m.random, mode == "nearest" ? any_type(m.random) : m.random.pick(floats),
                     some_extents(m.random, 1, 4, 400)));
    m.set("mode", mode);
    m.set("coordinate_transformation_mode",
          m.random.pick(std::vector<std::string>{"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                                                 "half_pixel_symmetric"}));
    m.set("nearest_mode",
          m.random.pick(std::vector<std::string>{"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
    if (m.random.chance(0.3)) m.set("exclude_outside", std::int64_t{1});
    if (m.random.chance(0.3) && mode != "nearest") m.set("antialias", std::int64_t{1});
    m.omit();
    std::vector<float> scales;
    std::vector<std::int64_t> sizes;
    for (const std::int64_t extent : m.extents()) {
      const bool stays = m.random.chance(0.4);
      sizes.push_back(stays ? extent : m.random.between(1, 2 * extent + 3));
      scales.push_back(stays ? 1 : static_cast<float>(sizes.back()) / static_cast<float>(extent) + 1e-4F);
    }
    if (m.random.chance(0.5)) {
      m.add(Array::of<float>({static_cast<std::int64_t>(scales.size())}, scales), true);
    } else {
      m.omit();
      m.add(numbers(sizes), true);
    }
  };
  table["GridSample"] = [](Maker& m) {
    const Extents x = m.add(some_array(m.random, m.random.pick(floats), some_extents(m.random, 4, 5, 2000))).extents();
    Extents grid = some_extents(m.random, x.size() - 2, x.size() - 2, 100);
    grid.insert(grid.begin(), x[0]);
    grid.push_back(static_cast<std::int64_t>(x.size() - 2));
    m.add(some_array(m.random, float32, grid, true));
    m.set("mode", m.random.pick(std::vector<std::string>{"nearest", "linear", "cubic"}));
    m.set("padding_mode", m.random.pick(std::vector<std::string>{"zeros", "border", "reflection"}));
    m.set("align_corners", std::int64_t{m.random.chance(0.5)});
  };
  table["AffineGrid"] = [](Maker& m) {
    const std::int64_t rank = m.random.between(2, 3), batch = m.random.between(1, 3);
    m.add(some_array(m.random, m.random.pick(floats), {batch, rank, rank + 1}));
    std::vector<std::int64_t> size{batch, 3};
    for (std::int64_t i = 0; i < rank; ++i) size.push_back(m.random.between(1, 6));
    m.add(numbers(size), true);
    m.set("align_corners", std::int64_t{m.random.chance(0.5)});
  };
  table["Shape"] = [](Maker& m) {
    m.add(some_array(m.random, any_type(m.random), some_extents(m.random, 1, 5)));
    if (m.random.chance(0.5)) m.set("start", -std::int64_t{1});
  };
  table["RotaryEmbedding"] = [](Maker& m) {
    const ElementType type = m.random.pick(floats);
    const std::int64_t batch = m.random.between(1, 3), heads = m.random.between(1, 3), length = m.random.between(1, 5),
                       size = 2 * m.random.between(1, 5);
    const bool is_packed = m.random.chance(0.5), has_positions = m.random.chance(0.5);
    const std::int64_t half = m.random.chance(0.3) ? m.random.between(1, size / 2) : size / 2;
    m.add(some_array(m.random, type,
                     is_packed ? Extents{batch, length, heads * size} : Extents{batch, heads, length, size}));
    for (int i = 0; i < 2; ++i)
      m.add(some_array(m.random, type, has_positions ? Extents{7, half} : Extents{batch, length, half}));
    if (has_positions) {
      std::vector<std::int64_t> places;
      for (std::int64_t i = 0; i < batch * length; ++i) places.push_back(m.random.between(0, 6));
      m.add(Array::of<std::int64_t>({batch, length}, places));
    }
    if (is_packed) m.set("num_heads", heads);
    m.set("rotary_embedding_dim", 2 * half);
    m.set("interleaved", std::int64_t{m.random.chance(0.5)});
  };
  table["RoiAlign"] = [](Maker& m) {
    const Extents x = m.add(some_array(m.random, m.random.pick(floats), some_extents(m.random, 4, 4, 1000))).extents();
    const std::int64_t regions = m.random.between(1, 3);
    std::vector<float> corners;
    std::vector<std::int64_t> batches;
    for (std::int64_t i = 0; i < regions; ++i) {
      const float left = static_cast<float>(m.random.between(0, 8)), top = static_cast<float>(m.random.between(0, 8));
      corners.insert(corners.end(), {left, top, left + static_cast<float>(m.random.between(0, 9)),
                                     top + static_cast<float>(m.random.between(0, 9))});
      batches.push_back(m.random.between(0, x[0] - 1));
    }
    m.add(Array::of<float>({regions, 4}, corners));
    m.add(numbers(batches));
    m.set("output_height", m.random.between(1, 4));
    m.set("output_width", m.random.between(1, 4));
    m.set("sampling_ratio", m.random.between(0, 2));
    m.set("spatial_scale", 0.75);
    m.set("mode", std::string(m.random.chance(0.5) ? "avg" : "max"));
    if (m.random.chance(0.5)) m.set("coordinate_transformation_mode", std::string("output_half_pixel"));
  };
  const auto some_steps = [](Maker& m, std::size_t rank, const std::vector<std::int64_t>& kernel) {
    std::vector<std::int64_t> strides, dilations, pads(2 * rank);
    for (std::size_t i = 0; i < rank; ++i) {
      strides.push_back(m.random.between(1, 3));
      dilations.push_back(m.random.between(1, 2));
    }
    for (std::size_t i = 0; i < pads.size(); ++i) pads[i] = m.random.between(0, kernel[i % rank] - 1);
    if (m.random.chance(0.8)) m.set("strides", strides);
    if (m.random.chance(0.7)) m.set("dilations", dilations);
    if (m.random.chance(0.7)) m.set("pads", pads);
  };
  table["LpPool"] = [some_steps](Maker& m) {
    Extents x{m.random.between(1, 2), m.random.between(1, 4)};
    std::vector<std::int64_t> kernel;
    for (std::size_t rank = 1 + m.random.below(3); rank > 0; --rank) {
      kernel.push_back(m.random.between(1, 3));
      x.push_back(m.random.between(2 * kernel.back(), 11));
    }
    m.add(some_array(m.random, m.random.pick(floats), x, true));
    m.set("kernel_shape", kernel);
    some_steps(m, kernel.size(), kernel);
    if (m.random.chance(0.7)) m.set("p", m.random.between(1, 4));
    if (m.random.chance(0.3)) m.set("ceil_mode", std::int64_t{1});
  };
  table["Col2Im"] = [](Maker& m) {
    const std::size_t rank = 1 + m.random.below(3);
    std::vector<std::int64_t> image, block, strides, dilations, pads(2 * rank);
    std::int64_t places = 1, elements = 1;
    for (std::size_t i = 0; i < rank; ++i) {
      block.push_back(m.random.between(1, 3));
      strides.push_back(m.random.between(1, 3));
      dilations.push_back(m.random.between(1, 2));
      pads[i] = m.random.between(0, 2);
      pads[rank + i] = m.random.between(0, 2);
      const std::int64_t reach = (block[i] - 1) * dilations[i] + 1;
      image.push_back(m.random.between(reach, reach + 5));
      places *= (image[i] + pads[i] + pads[rank + i] - reach) / strides[i] + 1;
      elements *= block[i];
    }
    m.add(some_array(m.random, m.random.pick(floats),
                     {m.random.between(1, 2), elements * m.random.between(1, 3), places}));
    m.add(numbers(image), true);
    m.add(numbers(block), true);
    m.set("strides", strides);
    m.set("dilations", dilations);
    m.set("pads", pads);
  };
  table["Det"] = [](Maker& m) {
    Extents x = some_extents(m.random, 0, 2, 30);
    const std::int64_t rows = m.random.between(1, 6);
    x.insert(x.end(), {rows, rows});
    m.add(some_array(m.random, m.random.pick(floats), x));
  };
  table["Size"] = [](Maker& m) { m.add(some_array(m.random, any_type(m.random), some_extents(m.random, 0, 5))); };
}

void add_quantised_functions(Table& table) {
  const auto byte = [](Random& random) { return random.chance(0.5) ? int8 : uint8; };
  const auto scale = [](Random& random, const Extents& extents) {
    std::vector<float> list;
    for (std::int64_t i = count(extents); i > 0; --i) list.push_back(static_cast<float>(random.between(1, 40)) * 0.03F);
    return Array::of<float>(extents, list);
  };
  table["MatMulInteger"] = table["QLinearMatMul"] = [=](Maker& m) {
    const bool has_scales = m.made.function.name == "QLinearMatMul";
    const std::int64_t rows = m.random.between(1, 9), depth = m.random.between(1, 40), columns = m.random.between(1, 9);
    Extents a = some_extents(m.random, 0, 2, 6), b = narrower(m.random, a);
    a.insert(a.end(), {rows, depth});
    b.insert(b.end(), {depth, columns});
    const ElementType left = byte(m.random), right = byte(m.random), result = byte(m.random);
    const Extents by_row = m.random.chance(0.3) && a.size() == 2 ? Extents{rows} : Extents{};
    const Extents by_column = m.random.chance(0.3) ? Extents{columns} : Extents{};
    m.add(some_array(m.random, left, a, true));
    if (has_scales) {
      m.add(scale(m.random, by_row));
      m.add(some_array(m.random, left, by_row));
      m.add(some_array(m.random, right, b, true));
      m.add(scale(m.random, by_column));
      m.add(some_array(m.random, right, by_column));
      m.add(scale(m.random, {}));
      m.add(some_array(m.random, result, {}));
    } else {
      m.add(some_array(m.random, right, b, true));
      if (m.random.chance(0.6)) m.add(some_array(m.random, left, by_row));
      if (m.made.operands.size() == 3 && m.random.chance(0.6)) m.add(some_array(m.random, right, by_column));
    }
  };
  table["ConvInteger"] = table["QLinearConv"] = [=](Maker& m) {
    const bool has_scales = m.made.function.name == "QLinearConv";
    const std::int64_t groups = m.random.between(1, 2), channels = m.random.between(1, 3);
    const std::int64_t filters = groups * m.random.between(1, 3);
    Extents x{m.random.between(1, 2), groups * channels}, w{filters, channels};
    std::vector<std::int64_t> strides, dilations, pads;
    for (std::int64_t i = m.random.between(1, 2); i > 0; --i) {
      x.push_back(m.random.between(5, 9));
      w.push_back(m.random.between(1, 3));
      strides.push_back(m.random.between(1, 2));
      dilations.push_back(m.random.between(1, 2));
      pads.insert(pads.end(), {m.random.between(0, 1), m.random.between(0, 1)});
    }
    const ElementType type = byte(m.random), result = byte(m.random);
    const Extents each = m.random.chance(0.5) ? Extents{filters} : Extents{};
    m.add(some_array(m.random, type, x, true));
    if (has_scales) {
      m.add(scale(m.random, {}));
      m.add(some_array(m.random, type, {}));
      m.add(some_array(m.random, int8, w, true));
      m.add(scale(m.random, each));
      m.add(some_array(m.random, int8, each));
      m.add(scale(m.random, {}));
      m.add(some_array(m.random, result, {}));
      if (m.random.chance(0.5)) m.add(some_array(m.random, int32, {filters}));
    } else {
      m.add(some_array(m.random, int8, w, true));
      if (m.random.chance(0.6)) m.add(some_array(m.random, type, {}));
    }
    m.set("strides", strides);
    m.set("dilations", dilations);
    m.set("pads", pads);
    m.set("group", groups);
  };
  table["DynamicQuantizeLinear"] = [](Maker& m) {
    m.add(some_array(m.random, float32, some_extents(m.random, 0, 4, 5000)));
    m.made.results = 3;
  };
}

}  // namespace taso::test::functions
