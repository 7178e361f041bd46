#include "tests/runtime/gpu/function_cases.h"

#include "tests/runtime/gpu/function_maker.h"

namespace taso::test {
namespace functions {

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

}  // namespace functions

namespace {

using namespace functions;

const Table& table() {
  static const Table made = [] {
    Table all;
    add_element_functions(all);
    add_row_functions(all);
    add_place_functions(all);
    add_quantised_functions(all);
    add_recurrent_functions(all);
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
