#include "tests/runtime/gpu/function_cases.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>

#include "ops/core/error.h"

namespace taso::test {
namespace {

using enum ElementType;

const std::vector<ElementType> floats{float32, float32, float32, float16, bfloat16, float64};
const std::vector<ElementType> wholes{int64, int32, int8, uint8, int16, uint16, uint32};

ElementType some_number(Random& random) { return random.pick(random.chance(0.6) ? floats : wholes); }
ElementType any_type(Random& random) { return random.chance(0.2) ? boolean : some_number(random); }

Extents some_extents(Random& random, std::size_t least, std::size_t most, std::int64_t elements = 3000) {
  Extents extents;
  std::int64_t left = elements;
  for (std::size_t i =
           static_cast<std::size_t>(random.between(static_cast<std::int64_t>(least), static_cast<std::int64_t>(most)));
       i > 0; --i) {
    const std::int64_t longest = std::min<std::int64_t>(left, random.chance(0.2) ? 300 : 9);
    extents.push_back(random.chance(0.15) ? 1 : random.between(1, std::max<std::int64_t>(longest, 1)));
    left /= extents.back();
  }
  random.shuffle(extents);
  return extents;
}

/// Extents that broadcast to these.
Extents narrower(Random& random, const Extents& whole) {
  Extents extents(whole.begin() + static_cast<std::ptrdiff_t>(random.below(whole.size() + 1)), whole.end());
  for (std::int64_t& extent : extents)
    if (random.chance(0.3)) extent = 1;
  return extents;
}

/// `wild`: with NaN, infinities and the limits of types among them.
Array some_array(Random& random, ElementType type, const Extents& extents, bool wild = false) {
  Array array(type, extents);
  const double odd = wild && random.chance(0.5) ? 0.05 : 0;
  with_element_type(type, [&](auto tag) {
    using T = decltype(tag);
    for (T& value : array.mutable_values<T>()) {
      if constexpr (std::is_same_v<T, bool>) {
        value = random.chance(0.5);
      } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(random.between(std::is_signed_v<T> ? -9 : 0, 12));
        if (random.chance(odd))
          value = random.pick(std::vector<T>{std::numeric_limits<T>::min(), std::numeric_limits<T>::max(),
                                             static_cast<T>(random.next())});
      } else {
        value = T(static_cast<float>(random.unit() * 6 - 3));
        if (random.chance(0.1)) value = T(static_cast<float>(random.between(-6, 6)) * 0.5F);
        constexpr float infinite = std::numeric_limits<float>::infinity();
        if (random.chance(odd))
          value = T(random.pick(
              std::vector{std::numeric_limits<float>::quiet_NaN(), infinite, -infinite, -0.0F, 30.0F, -30.0F}));
      }
    }
  });
  return array;
}

Array numbers(const std::vector<std::int64_t>& list) {
  return Array::of<std::int64_t>({static_cast<std::int64_t>(list.size())}, list);
}

/// Indices of a dimension of this extent, some of them from the end.
Array some_indices(Random& random, const Extents& extents, std::int64_t extent, bool is_narrow = false) {
  std::vector<std::int64_t> list;
  for (std::int64_t i = count(extents); i > 0; --i) list.push_back(random.between(-extent, extent - 1));
  return Array::of<std::int64_t>(extents, list).cast(is_narrow ? int32 : int64);
}

class Maker {
 public:
  Maker(const std::string& name, Random& source) : random(source) { made.function.name = name; }
  FunctionCase made = {};
  Random& random;

  Array& add(Array array, bool is_constant = false) {
    made.operands.emplace_back(std::move(array));
    made.function.constants.push_back(is_constant ? made.operands.back() : std::nullopt);
    return *made.operands.back();
  }
  void omit() {
    made.operands.emplace_back();
    made.function.constants.emplace_back();
  }
  template <class T>
  void set(const std::string& name, T value) {
    made.function.attributes.set(name, std::move(value));
  }
  void set_sometimes(const std::string& name, double value) {
    if (random.chance(0.7)) set(name, value);
  }
  const Extents& extents() const { return made.operands[0]->extents(); }
  std::size_t rank() const { return extents().size(); }
  std::int64_t some_axis(std::size_t among) {
    const auto axis = static_cast<std::int64_t>(random.below(among));
    return random.chance(0.5) ? axis : axis - static_cast<std::int64_t>(among);
  }
};

using Make = std::function<void(Maker&)>;
using Table = std::map<std::string, Make>;

void add_element_functions(Table& table) {
  const Make floating = [](Maker& m) {
    m.add(some_array(m.random, m.random.pick(floats), some_extents(m.random, 0, 5), true));
    for (const char* attribute : {"alpha", "beta", "gamma", "bias", "lambd"})
      m.set_sometimes(attribute, m.random.unit() + 0.25);
    if (m.made.function.name == "Gelu" && m.random.chance(0.5)) m.set("approximate", std::string("tanh"));
    if (m.made.function.name == "IsInf")
      for (const char* attribute : {"detect_negative", "detect_positive"})
        m.set(attribute, std::int64_t{m.random.chance(0.5)});
  };
  for (const char* name : {"Acos",
                           "Acosh",
                           "Asin",
                           "Asinh",
                           "Atan",
                           "Atanh",
                           "Ceil",
                           "Celu",
                           "Cos",
                           "Cosh",
                           "Elu",
                           "Floor",
                           "Gelu",
                           "HardSigmoid",
                           "HardSwish",
                           "IsInf",
                           "IsNaN",
                           "Log",
                           "Mish",
                           "Round",
                           "Selu",
                           "Shrink",
                           "Sin",
                           "Sinh",
                           "Softplus",
                           "Softsign",
                           "Swish",
                           "Tan",
                           "ThresholdedRelu",
                           "Exp",
                           "Sigmoid",
                           "Tanh",
                           "Sqrt",
                           "Reciprocal",
                           "LeakyRelu"})
    table[name] = floating;
  const Make numeric = [](Maker& m) {
    m.add(some_array(m.random, some_number(m.random), some_extents(m.random, 0, 5), true));
  };
  for (const char* name : {"Abs", "Neg", "Sign", "Relu"}) table[name] = numeric;
  const auto several = [](std::vector<ElementType> types, std::size_t least, std::size_t most) -> Make {
    return [=](Maker& m) {
      const ElementType type = m.random.pick(types);
      const Extents whole = some_extents(m.random, 0, 5);
      const std::size_t operands = least + m.random.below(most - least + 1);
      m.add(some_array(m.random, type, whole, true));
      for (std::size_t i = 1; i < operands; ++i) m.add(some_array(m.random, type, narrower(m.random, whole), true));
      if (m.made.function.name == "BitShift") m.set("direction", std::string(m.random.chance(0.5) ? "LEFT" : "RIGHT"));
      if (m.made.function.name == "Mod" && (is_floating(type) || m.random.chance(0.3))) m.set("fmod", std::int64_t{1});
    };
  };
  std::vector<ElementType> both = floats;
  both.insert(both.end(), wholes.begin(), wholes.end());
  for (const char* name : {"Add", "Sub", "Mul", "Div", "PRelu"}) table[name] = several(both, 2, 2);
  table["Mod"] = [several, both](Maker& m) { several(m.random.chance(0.5) ? wholes : floats, 2, 2)(m); };
  for (const char* name : {"Max", "Min", "Sum"}) table[name] = several(both, 1, 4);
  table["Mean"] = several(floats, 1, 4);
  for (const char* name : {"BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor"}) table[name] = several(wholes, 2, 2);
  table["BitwiseNot"] = several(wholes, 1, 1);
  table["Pow"] = [both](Maker& m) {
    const Extents whole = some_extents(m.random, 0, 4);
    const ElementType base = m.random.pick(both);
    const ElementType exponent =
        is_floating(base) ? (m.random.chance(0.5) ? base : m.random.pick(both)) : m.random.pick(wholes);
    m.add(some_array(m.random, base, whole, true));
    m.add(some_array(m.random, exponent, narrower(m.random, whole), !is_floating(base)));
  };
  table["Clip"] = [](Maker& m) {
    const ElementType type = some_number(m.random);
    m.add(some_array(m.random, type, some_extents(m.random, 0, 5), true));
    const std::size_t which = m.random.below(3);
    which == 0 ? m.omit() : static_cast<void>(m.add(some_array(m.random, type, {})));
    if (which != 1) m.add(some_array(m.random, type, {}));
  };
  for (const char* name : {"And", "Or", "Xor"}) table[name] = several({boolean}, 2, 2);
  table["Not"] = several({boolean}, 1, 1);
  table["Where"] = [](Maker& m) {
    const Extents whole = some_extents(m.random, 0, 5);
    const ElementType type = any_type(m.random);
    m.add(some_array(m.random, boolean, narrower(m.random, whole)));
    m.add(some_array(m.random, type, whole, true));
    m.add(some_array(m.random, type, narrower(m.random, whole), true));
  };
  for (const char* name : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"})
    table[name] = several(both, 2, 2);
}

void add_row_functions(Table& table) {
  const auto reduction = [](bool has_whole) -> Make {
    return [=](Maker& m) {
      const ElementType type = has_whole ? some_number(m.random) : m.random.pick(floats);
      m.add(some_array(m.random, type, some_extents(m.random, 0, 5, 8000), true));
      std::vector<std::int64_t> axes;
      for (std::size_t i = 0; i < m.rank(); ++i)
        if (m.random.chance(0.5)) axes.push_back(static_cast<std::int64_t>(i));
      if (m.random.chance(0.8)) m.add(numbers(axes), true);
      m.set("keepdims", std::int64_t{m.random.chance(0.5)});
    };
  };
  for (const char* name :
       {"ReduceL1", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"})
    table[name] = reduction(true);
  for (const char* name : {"ReduceL2", "ReduceLogSum", "ReduceLogSumExp"}) table[name] = reduction(false);
  const auto along = [](bool has_whole) -> Make {
    return [=](Maker& m) {
      const ElementType type = has_whole ? some_number(m.random) : m.random.pick(floats);
      m.add(some_array(m.random, type, some_extents(m.random, 1, 5, 8000), true));
      m.set("axis", m.some_axis(m.rank()));
      if (m.random.chance(0.5)) m.set("select_last_index", std::int64_t{1});
      if (m.random.chance(0.5)) m.set("keepdims", std::int64_t{0});
      m.set("p", m.random.between(1, 2));
    };
  };
  for (const char* name : {"ArgMax", "ArgMin"}) table[name] = along(true);
  for (const char* name : {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization"}) table[name] = along(false);
  table["InstanceNormalization"] = table["GroupNormalization"] = [](Maker& m) {
    const ElementType type = m.random.pick(floats);
    const bool is_group = m.made.function.name == "GroupNormalization";
    const std::int64_t groups = m.random.between(1, 4), members = is_group ? m.random.between(1, 4) : 1;
    Extents extents = some_extents(m.random, 0, 3, m.random.chance(0.2) ? 4000 : 200);
    extents.insert(extents.begin(), {m.random.between(1, 2), groups * members});
    if (m.random.chance(0.5)) m.made.function.opset = 18;
    const std::int64_t scales = is_group && m.made.function.opset < 21 ? groups : groups * members;
    m.add(some_array(m.random, type, extents));
    for (int i = 0; i < 2; ++i) m.add(some_array(m.random, type, {scales}));
    if (is_group) m.set("num_groups", groups);
    m.set_sometimes("epsilon", 1e-3);
  };
  table["LayerNormalization"] = table["RMSNormalization"] = [](Maker& m) {
    const ElementType type = m.random.pick(floats);
    m.add(some_array(m.random, type, some_extents(m.random, 1, 4, 6000)));
    const std::int64_t axis = m.some_axis(m.rank());
    m.set("axis", axis);
    const auto front = static_cast<std::ptrdiff_t>(axis < 0 ? axis + static_cast<std::int64_t>(m.rank()) : axis);
    const Extents row(m.extents().begin() + front, m.extents().end());
    m.add(some_array(m.random, type, row));
    if (m.made.function.name == "LayerNormalization" && m.random.chance(0.7)) m.add(some_array(m.random, type, row));
    m.set_sometimes("epsilon", 1e-3);
    m.made.function.opset = 23;
  };
  table["MeanVarianceNormalization"] = [](Maker& m) {
    m.add(some_array(m.random, m.random.pick(floats), some_extents(m.random, 4, 4, 6000)));
    if (m.random.chance(0.5)) m.set("axes", std::vector<std::int64_t>{1, 3});
  };
  table["GlobalLpPool"] = [](Maker& m) {
    m.add(some_array(m.random, m.random.pick(floats), some_extents(m.random, 3, 5, 6000)));
    m.set("p", m.random.between(1, 3));
  };
  table["CumSum"] = table["CumProd"] = [](Maker& m) {
    m.add(some_array(m.random, some_number(m.random), some_extents(m.random, 1, 4, 6000)));
    m.add(Array::scalar<std::int64_t>(m.some_axis(m.rank())), true);
    for (const char* flag : {"exclusive", "reverse"}) m.set(flag, std::int64_t{m.random.chance(0.5)});
  };
  table["TopK"] = [](Maker& m) {
    m.add(some_array(m.random, some_number(m.random), some_extents(m.random, 1, 4, 3000), true));
    const std::int64_t axis = m.some_axis(m.rank());
    const std::int64_t extent =
        m.extents()[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(m.rank()) : axis)];
    m.add(numbers({m.random.between(1, extent)}), true);
    m.set("axis", axis);
    m.set("largest", std::int64_t{m.random.chance(0.5)});
    m.made.results = 2;
    m.made.is_exact = true;
  };
}

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
  // Each element is written once: which of two updates wins is not said.
  table["ScatterElements"] = [](Maker& m) {
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
      const std::int64_t index = order[static_cast<std::size_t>(i / inner % indices[axis])];
      list.push_back(m.random.chance(0.3) ? index - x[axis] : index);
    }
    m.add(Array::of<std::int64_t>(indices, list).cast(m.random.chance(0.5) ? int32 : int64));
    m.add(some_array(m.random, type, indices));
    m.set("axis", static_cast<std::int64_t>(axis));
  };
  table["ScatterND"] = [](Maker& m) {
    const ElementType type = any_type(m.random);
    const Extents x = m.add(some_array(m.random, type, some_extents(m.random, 1, 4, 500))).extents();
    const auto depth = static_cast<std::ptrdiff_t>(1 + m.random.below(x.size()));
    const Extents front(x.begin(), x.begin() + depth);
    std::vector<std::int64_t> order(static_cast<std::size_t>(count(front))), list;
    std::iota(order.begin(), order.end(), 0);
    m.random.shuffle(order);
    order.resize(1 + m.random.below(order.size()));
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

const Table& table() {
  static const Table made = [] {
    Table all;
    add_element_functions(all);
    add_row_functions(all);
    add_place_functions(all);
    add_quantised_functions(all);
    return all;
  }();
  return made;
}

}  // namespace

std::vector<std::string> function_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : table()) names.push_back(name);
  return names;
}

FunctionCase random_function(const std::string& name, Random& random) {
  Maker maker(name, random);
  table().at(name)(maker);
  return std::move(maker.made);
}

}  // namespace taso::test
