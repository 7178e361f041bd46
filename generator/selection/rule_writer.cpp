#include "generator/selection/rule_writer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "ops/core/error.h"
#include "rules/language/signature.h"

namespace taso::generator {
namespace {

using Dims = std::vector<rules::TermPtr>;

rules::TermPtr sum(rules::TermPtr a, rules::TermPtr b) { return rules::call_term("+", {std::move(a), std::move(b)}); }
rules::TermPtr difference(rules::TermPtr a, rules::TermPtr b) {
  return rules::call_term("-", {std::move(a), std::move(b)});
}
rules::TermPtr quotient(rules::TermPtr a, rules::TermPtr b) {
  if (b->kind == rules::Term::Kind::integer && b->integer == 1) return a;
  return rules::call_term("/", {std::move(a), std::move(b)});
}
rules::TermPtr product(rules::TermPtr a, rules::TermPtr b) {
  return rules::call_term("*", {std::move(a), std::move(b)});
}

/// Thrown if nothing determines the size of a constant.
struct NotKnown {};

/// Writes one term as a pattern.
class PatternWriter {
 public:
  PatternWriter(const SmallTerm& term, const Family& family, std::function<Dims()> root_dims)
      : term_(term), family_(family), root_dims_(std::move(root_dims)) {
    for (std::size_t kind = 0; kind < family.inputs.size(); ++kind)
      for (std::size_t i = 0; i < family.inputs[kind].count; ++i) kinds_.push_back(kind);
  }

  rules::PatternPtr write() { return pattern(term_.nodes.size() - 1); }
  Dims root_dims() { return dims(term_.nodes.size() - 1); }
  /// Whether the shape of the result depends on constants only.
  bool root_is_open() const { return is_open(term_.nodes.size() - 1); }

 private:
  const SmallTerm::Node& node(std::size_t place) const { return term_.nodes[place]; }
  bool is_input(std::size_t place) const { return node(place).schema == SmallTerm::Node::input; }
  const Schema& schema(std::size_t place) const { return family_.schemas[node(place).schema]; }
  std::string_view op(std::size_t place) const { return name_of(schema(place).op); }
  std::string input_name(std::size_t place) const {
    const std::size_t input = node(place).place;
    return fmt::format("{}{}", family_.inputs[kinds_[input]].stem, input);
  }
  std::size_t rank(std::size_t place) const {
    if (is_input(place)) return family_.inputs[kinds_[node(place).place]].extents.size();
    if (node(place).operands.empty()) return schema(place).constant.size();
    switch (schema(place).fit) {
      case Fit::rows_joined: return 2;
      case Fit::rows_parted: return 3;
      case Fit::channels_to_vector: return 1;
      case Fit::vector_to_channels: return 4;
      default: return rank(node(place).operands[0]);
    }
  }
  std::size_t axis(std::size_t place) const {
    const auto field = fields_of(schema(place).op);
    for (const NamedField& one : field)
      if (one.name == "axis") return static_cast<std::size_t>(std::get<std::int64_t>(one.value));
    return 0;
  }

  /// A constant, or a function of constants, takes its shape from its surroundings.
  bool is_open(std::size_t place) const {
    if (is_input(place)) return false;
    const auto& operands = node(place).operands;
    if (op(place) == "scalar_mul") return is_open(operands[0]);  // the scalar does not determine the shape
    return std::all_of(operands.begin(), operands.end(), [&](std::size_t o) { return is_open(o); });
  }

  Dims dims(std::size_t place) {
    if (is_open(place)) return open_dims(place);
    Dims result;
    for (std::size_t i = 0; i < rank(place); ++i) result.push_back(dim(place, i));
    return result;
  }

  rules::TermPtr dim(std::size_t place, std::size_t at) {
    if (is_input(place))
      return rules::call_term(
          "dim", {rules::variable_term(input_name(place)), rules::integer_term(static_cast<std::int64_t>(at))});
    if (is_open(place)) return open_dims(place).at(at);
    const auto& operands = node(place).operands;
    const std::string_view name = op(place);
    const std::size_t last = rank(place) - 1;
    if (name == "concat")
      return at == axis(place) ? sum(dim(operands[0], at), dim(operands[1], at)) : dim(closed(operands), at);
    if (name == "split") {
      if (at != axis(place)) return dim(operands[0], at);
      return node(place).output == 0 ? cut(operands[0], at) : difference(dim(operands[0], at), cut(operands[0], at));
    }
    if (name == "slice") return at == axis(place) ? slice_size(place) : dim(operands[0], at);
    if (name == "reshape") return reshaped(place).at(at);
    if (name == "pad") return pad_dim(place, at);
    if (name == "matmul") return at == last ? dim(operands[1], rank(operands[1]) - 1) : dim(operands[0], at);
    if (name == "transpose")
      return dim(operands[0], static_cast<std::size_t>(std::get<op::Transpose>(schema(place).op).permutation[at]));
    if (name == "enlarge" && at >= 2)
      return rules::integer_term(std::get<op::Enlarge>(schema(place).op).kernel[at - 2]);
    if (name == "conv" || name.ends_with("_pool")) return window_dim(place, at);
    if (name == "scalar_mul") return dim(operands[0], at);
    if (operands.size() == 2 && is_spread(operands[0]) && !is_spread(operands[1])) return dim(operands[1], at);
    return dim(closed(operands), at);
  }

  /// A dimension of the result of an operator with windows.
  rules::TermPtr window_dim(std::size_t place, std::size_t at) {
    const auto& operands = node(place).operands;
    if (at == 0) return dim(operands[0], 0);
    if (at == 1) return op(place) == "conv" ? dim(operands[1], 0) : dim(operands[0], 1);
    const auto numbers = [&](std::string_view field) {
      for (const NamedField& one : fields_of(schema(place).op))
        if (one.name == field) return std::get<std::vector<std::int64_t>>(one.value);
      return schema(place).window;
    };
    const std::int64_t room = numbers("kernel")[at - 2] - 2 * numbers("pads")[at - 2];
    const std::int64_t stride = numbers("strides")[at - 2];
    rules::TermPtr size = dim(operands[0], at);
    if (stride != 1)
      return quotient(room == stride ? size : sum(size, rules::integer_term(stride - room)),
                      rules::integer_term(stride));
    return room == 1 ? size : difference(size, rules::integer_term(room - 1));
  }

  rules::TermPtr pad_dim(std::size_t place, std::size_t at) {
    const auto& pad = std::get<op::Pad>(schema(place).op);
    const std::int64_t more = pad.before[at] + pad.after[at];
    rules::TermPtr size = dim(node(place).operands[0], at);
    return more == 0 ? size : sum(size, rules::integer_term(more));
  }

  rules::TermPtr slice_size(std::size_t place) {
    const std::size_t operand = node(place).operands[0], at = axis(place);
    if (schema(place).fit == Fit::before_joint) return cut(operand, at);
    if (schema(place).fit == Fit::after_joint) return difference(dim(operand, at), cut(operand, at));
    return difference(dim(operand, at), rules::integer_term(2));
  }

  Dims reshaped(std::size_t place) {
    const std::size_t operand = node(place).operands[0];
    const rules::TermPtr one = rules::integer_term(1);
    switch (schema(place).fit) {
      case Fit::rows_joined: return {product(dim(operand, 0), dim(operand, 1)), dim(operand, 2)};
      case Fit::rows_parted: {
        const auto [outer, inner] = rows(operand);
        return {outer, inner, dim(operand, 1)};
      }
      case Fit::vector_to_channels: return {one, dim(operand, 0), one, one};
      case Fit::channels_to_vector: return {dim(operand, 1)};
      case Fit::channels_to_filters: return {dim(operand, 1), one, one, one};
      default: throw NotKnown{};
    }
  }

  /// The two axes that the first axis was made of.
  std::pair<rules::TermPtr, rules::TermPtr> rows(std::size_t place) {
    if (is_input(place) || node(place).operands.empty()) throw NotKnown{};
    const auto& operands = node(place).operands;
    if (schema(place).fit == Fit::rows_joined) return {dim(operands[0], 0), dim(operands[0], 1)};
    const bool keeps_rows = op(place) == "matmul" || op(place) == "concat" || operands.size() == 1;
    if (keeps_rows) return rows(operands[0]);
    try {
      return rows(operands[0]);
    } catch (const NotKnown&) {
      return rows(operands[1]);
    }
  }

  /// Whether it has one number per channel or filter, which an element-wise operator repeats.
  bool is_spread(std::size_t place) const {
    if (is_input(place)) return family_.inputs[kinds_[node(place).place]].is_channels();
    const Fit fit = schema(place).fit;
    if (fit == Fit::vector_to_channels || fit == Fit::channels_to_filters) return true;
    const auto& operands = node(place).operands;
    const std::string_view name = op(place);
    const bool of_all = rules::is_function(name, 2) || name == "concat" || name == "split";
    return of_all && std::all_of(operands.begin(), operands.end(), [&](std::size_t o) { return is_spread(o); });
  }

  std::size_t closed(const std::vector<std::uint8_t>& operands) const {
    for (const std::size_t operand : operands)
      if (!is_open(operand)) return operand;
    return operands[0];
  }

  /// Where the tensor was joined along an axis.
  rules::TermPtr cut(std::size_t place, std::size_t at) {
    if (is_input(place) && family_.inputs[kinds_[node(place).place]].cut != 0)
      return rules::variable_term(fmt::format("n{}", at));
    if (is_input(place) || node(place).operands.empty()) throw NotKnown{};
    const auto& operands = node(place).operands;
    const std::string_view name = op(place);
    if (name == "concat" && at == axis(place)) return dim(operands[0], at);
    if (name == "matmul") return at + 1 == rank(place) ? cut(operands[1], rank(operands[1]) - 1) : cut(operands[0], at);
    if (name == "reshape") return cut_before_reshape(place, at);
    if (name == "conv") return at == 1 ? cut(operands[1], 0) : cut(operands[0], at);
    if (name == "transpose")
      return cut(operands[0], static_cast<std::size_t>(std::get<op::Transpose>(schema(place).op).permutation[at]));
    if (operands.size() == 1 || name == "concat") return cut(operands[0], at);
    try {
      return cut(operands[0], at);
    } catch (const NotKnown&) {
      return cut(operands[1], at);
    }
  }

  rules::TermPtr cut_before_reshape(std::size_t place, std::size_t at) {
    const std::size_t operand = node(place).operands[0];
    switch (schema(place).fit) {
      case Fit::rows_joined:
        if (at == 1) return cut(operand, 2);
        break;
      case Fit::rows_parted:
        if (at == 2) return cut(operand, 1);
        break;
      case Fit::vector_to_channels:
        if (at == 1) return cut(operand, 0);
        break;
      case Fit::channels_to_vector:
      case Fit::channels_to_filters:
        if (at == 0) return cut(operand, 1);
        break;
      default: break;
    }
    throw NotKnown{};
  }

  /// Dimensions from what stands beside it.
  Dims open_dims(std::size_t place) {
    if (++depth_ > 16) throw NotKnown{};
    struct Leave {
      std::size_t& depth;
      ~Leave() { --depth; }
    } leave{depth_};
    if (place + 1 == term_.nodes.size()) return root_dims_();
    for (std::size_t parent = place + 1; parent < term_.nodes.size(); ++parent) {
      const auto& operands = node(parent).operands;
      for (std::size_t i = 0; i < operands.size(); ++i)
        if (operands[i] == place) return from_parent(parent, i);
    }
    throw NotKnown{};
  }

  Dims from_parent(std::size_t parent, std::size_t position) {
    const auto& operands = node(parent).operands;
    const std::string_view name = op(parent);
    const std::size_t size = rank(operands[position]);
    if (rules::is_function(name, 2)) {
      const std::size_t other = operands[1 - position];
      return is_open(other) ? dims_of_result(parent) : dims(other);
    }
    if (rules::is_function(name, 1) || (name == "scalar_mul" && position == 0)) return dims_of_result(parent);
    if (name == "matmul" && op(operands[position]) == "identity_matrix") {
      const std::size_t other = operands[1 - position];
      if (is_open(other)) throw NotKnown{};
      const rules::TermPtr side = position == 1 ? dim(other, size - 1) : dim(other, size - 2);
      return {side, side};
    }
    if (name == "transpose") {
      const Dims result = dims_of_result(parent);
      const auto& permutation = std::get<op::Transpose>(schema(parent).op).permutation;
      Dims own(result.size());
      for (std::size_t i = 0; i < result.size(); ++i) own[static_cast<std::size_t>(permutation[i])] = result[i];
      return own;
    }
    if (name == "conv" && position == 1) {
      const rules::TermPtr channels = dim(operands[0], 1);
      const auto& window = schema(parent).window;
      return {channels, schema(parent).grouped ? rules::integer_term(1) : channels, rules::integer_term(window[0]),
              rules::integer_term(window[1])};
    }
    if (name == "concat") {
      // Nothing determines its length along the axis, except that an identity is square.
      const std::size_t other = operands[1 - position];
      const bool is_square = op(operands[position]).starts_with("identity_");
      if (is_open(other) || !is_square) throw NotKnown{};
      Dims own = dims(other);
      own[axis(parent)] = own.at(1 - axis(parent));
      return own;
    }
    throw NotKnown{};
  }
  Dims dims_of_result(std::size_t place) { return is_open(place) ? open_dims(place) : dims(place); }

  /// If these are all dimensions of one input, its shape, at any rank.
  rules::TermPtr shape_term(const Dims& dims) const {
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const rules::Term& dim = *dims[i];
      const bool is_dimension = dim.kind == rules::Term::Kind::call && dim.name == "dim";
      if (!is_dimension || dim.operands[0]->name != dims[0]->operands[0]->name ||
          dim.operands[1]->integer != static_cast<std::int64_t>(i))
        return rules::list_term(dims);
    }
    for (std::size_t place = 0; place < term_.nodes.size(); ++place)
      if (is_input(place) && input_name(place) == dims[0]->operands[0]->name && rank(place) == dims.size())
        return rules::call_term("shape", {dims[0]->operands[0]});
    return rules::list_term(dims);
  }

  rules::PatternPtr pattern(std::size_t place) {
    auto result = std::make_shared<rules::Pattern>();
    if (is_input(place)) {
      result->input = input_name(place);
      return result;
    }
    const std::string_view name = op(place);
    result->op = name;
    result->output = node(place).output;
    std::map<std::string, rules::TermPtr> given(schema(place).attributes.begin(), schema(place).attributes.end());
    const auto& operands = node(place).operands;
    if (name == "split") given["at"] = cut(operands[0], axis(place));
    if (name == "slice") {
      const rules::TermPtr size = dim(operands[0], axis(place));
      const Fit fit = schema(place).fit;
      given["begin"] = fit == Fit::inside         ? rules::integer_term(1)
                       : fit == Fit::before_joint ? rules::integer_term(0)
                                                  : cut(operands[0], axis(place));
      given["end"] = fit == Fit::inside         ? difference(size, rules::integer_term(1))
                     : fit == Fit::before_joint ? cut(operands[0], axis(place))
                                                : size;
    }
    if (name == "reshape") given["shape"] = rules::list_term(reshaped(place));
    if (name == "conv" && schema(place).grouped) given["groups"] = quotient(dim(operands[0], 1), dim(operands[1], 1));
    if (name == "identity_matrix") given["size"] = open_dims(place)[0];
    if (name == "ones") given["shape"] = shape_term(open_dims(place));
    if (name == "identity_kernel" || name == "pooling_kernel") {
      const Dims shape = open_dims(place);
      given["channels"] = shape[0];
      if (name == "pooling_kernel") given["groups"] = shape[0];
      given["kernel"] = rules::list_term({rules::integer_term(3), rules::integer_term(3)});
    }
    for (const NamedField& field : fields_of(schema(place).op)) {
      const auto found = given.find(std::string(field.name));
      if (found != given.end()) result->attributes.emplace_back(found->first, found->second);
    }
    for (const std::size_t operand : operands) result->operands.push_back(pattern(operand));
    return result;
  }

  const SmallTerm& term_;
  const Family& family_;
  std::function<Dims()> root_dims_;
  std::vector<std::size_t> kinds_;
  std::size_t depth_ = 0;
};

/// The inputs that a side uses, by place.
std::set<std::size_t> inputs_of(const std::vector<SmallTerm>& side) {
  std::set<std::size_t> used;
  for (const SmallTerm& term : side)
    for (const SmallTerm::Node& node : term.nodes)
      if (node.schema == SmallTerm::Node::input) used.insert(node.place);
  return used;
}

bool has_schema(const Equality& equality, const Family& family, const std::function<bool(const Schema&)>& is_meant) {
  for (const auto* side : {&equality.left, &equality.right})
    for (const SmallTerm& term : *side)
      for (const SmallTerm::Node& node : term.nodes)
        if (node.schema != SmallTerm::Node::input && is_meant(family.schemas[node.schema])) return true;
  return false;
}

/// Adds the conditions on shapes that do not follow from the operators.
void conditions_on_inputs(rules::Rule& rule, const Equality& equality, const Family& family, Ranks ranks) {
  std::set<std::size_t> used = inputs_of(equality.left);
  used.merge(inputs_of(equality.right));
  // An identity is a matrix, and so is what stands beside it; reshapes name all axes.
  const bool ranks_matter =
      ranks == Ranks::stated || has_schema(equality, family, [](const Schema& schema) {
        return schema.shares_matrix || name_of(schema.op) == "identity_matrix" || name_of(schema.op) == "reshape";
      });
  // A product has its rows and columns at these axes only at the rank at which the equality was found.
  const bool is_cut =
      std::any_of(family.inputs.begin(), family.inputs.end(), [](const auto& kind) { return kind.cut != 0; });
  const bool has_product =
      is_cut && has_schema(equality, family, [](const Schema& schema) { return name_of(schema.op) == "matmul"; });
  // Without windows, a law holds for any tensors.
  const bool has_windows = has_schema(
      equality, family, [](const Schema& schema) { return !schema.window.empty() || name_of(schema.op) == "enlarge"; });
  // If all inputs have one number per channel, they are like any tensors.
  std::vector<const InputKind*> kinds;
  for (const InputKind& kind : family.inputs) kinds.insert(kinds.end(), kind.count, &kind);
  const bool spreads =
      std::any_of(used.begin(), used.end(), [&](std::size_t input) { return !kinds[input]->is_channels(); }) ||
      has_schema(equality, family, [](const Schema& schema) { return name_of(schema.op) == "reshape"; });
  std::size_t place = 0;
  for (const InputKind& kind : family.inputs)
    for (std::size_t i = 0; i < kind.count; ++i, ++place) {
      if (!used.contains(place)) continue;
      const rules::TermPtr name = rules::variable_term(fmt::format("{}{}", kind.stem, place));
      const auto equal = [&](rules::TermPtr left, rules::TermPtr right) {
        rule.conditions.push_back({rules::Condition::Relation::equal, std::move(left), std::move(right), {}});
      };
      if (kind.is_kernel && has_windows) {
        std::vector<rules::TermPtr> window;
        for (const std::int64_t size : kind.window()) window.push_back(rules::integer_term(size));
        equal(rules::call_term("spatial", {name}), rules::list_term(std::move(window)));
      }
      if (kind.is_channels() && spreads)
        equal(rules::call_term("shape", {name}),
              rules::list_term({rules::integer_term(1), rules::call_term("dim", {name, rules::integer_term(1)}),
                                rules::integer_term(1), rules::integer_term(1)}));
      if ((ranks_matter || has_product) && !kind.extents.empty() && kind.extents.size() < 4)
        equal(rules::call_term("rank", {name}), rules::integer_term(static_cast<std::int64_t>(kind.extents.size())));
    }
}

}  // namespace

bool meets_literal_axes(const Equality& equality, const Family& family) {
  return has_schema(equality, family, [](const Schema& schema) { return name_of(schema.op) == "matmul"; }) &&
         has_schema(equality, family, [](const Schema& schema) {
           return std::any_of(schema.attributes.begin(), schema.attributes.end(),
                              [](const auto& one) { return one.first == "axis" || one.first == "permutation"; });
         });
}

std::optional<rules::Rule> write_rule(const Equality& equality, const Family& family, Ranks ranks) {
  const std::set<std::size_t> left_inputs = inputs_of(equality.left), right_inputs = inputs_of(equality.right);
  const auto has_all = [](const std::set<std::size_t>& all, const std::set<std::size_t>& some) {
    return std::includes(all.begin(), all.end(), some.begin(), some.end());
  };
  if (!has_all(left_inputs, right_inputs) && !has_all(right_inputs, left_inputs)) return std::nullopt;
  rules::Rule rule;
  rule.kind = rules::Rule::Kind::candidate;
  try {
    for (std::size_t i = 0; i < equality.left.size(); ++i) {
      std::optional<PatternWriter> left, right;
      const auto of_other = [&](std::optional<PatternWriter>& other) -> Dims {
        if (!other || other->root_is_open()) throw NotKnown{};
        return other->root_dims();
      };
      left.emplace(equality.left[i], family, [&] { return of_other(right); });
      right.emplace(equality.right[i], family, [&] { return of_other(left); });
      rule.source.push_back(left->write());
      rule.target.push_back(right->write());
    }
  } catch (const NotKnown&) {
    return std::nullopt;
  }
  conditions_on_inputs(rule, equality, family, ranks);
  return rule;
}

}  // namespace taso::generator
