#include "tests/search/reduce.h"

#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <set>

#include "ops/text/graph_text.h"
#include "tests/ops/random_graph.h"
#include "tests/search/rule_graph.h"

namespace taso::test {
namespace {

struct Edit {
  std::optional<std::pair<std::size_t, std::size_t>> dropped_outputs;  // from, to
  std::optional<std::size_t> uncovered;                                // the output is replaced by its operands
  const ops::Node* cut = nullptr;                                      // its results become inputs
  std::unordered_map<Value, Value, HashValue> bypassed;                // values and their replacements
  std::function<Dim(const Dim&)> dim;                                  // maps dimensions
  const ops::Node* leaf = nullptr;                                     // a leaf that gets another shape
  Shape shape;
  std::optional<std::pair<const ops::Node*, Operator>> op;  // a node and its new operator
};

class Rebuilding {
 public:
  Rebuilding(const Graph& graph, const Edit& edit) : graph_(graph), edit_(edit) {
    result_.pool = std::make_shared<Pool>();
  }

  Graph run() {
    for (const Value& input : graph_.inputs) value(input);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      if (const auto& drop = edit_.dropped_outputs; drop && i >= drop->first && i < drop->second) continue;
      if (edit_.uncovered == i) {
        for (const Value& operand : graph_.outputs[i].node->inputs())
          if (operand) result_.outputs.push_back(value(operand));
      } else {
        result_.outputs.push_back(value(graph_.outputs[i]));
      }
    }
    std::unordered_set<const ops::Node*> used;
    std::set<std::string> symbols;
    for (const ops::Node* node : result_.nodes()) {
      used.insert(node);
      for (const Type& type : node->outputs())
        for (const Dim& dim : *type.shape)
          for (const std::string& symbol : dim.symbols()) symbols.insert(symbol);
    }
    std::erase_if(result_.inputs, [&](const Value& input) {
      return !used.contains(input.node) && (symbols.empty() || input.node->as_input()->name != "sizes");
    });
    return std::move(result_);
  }

 private:
  Value value(const Value& old) {
    if (!old) return {};
    if (const auto by = edit_.bypassed.find(old); by != edit_.bypassed.end()) return value(by->second);
    if (old.node == edit_.cut) return fresh(old);
    const auto known = nodes_.find(old.node);
    const ops::Node* node = known != nodes_.end() ? known->second : (nodes_[old.node] = &made(*old.node));
    return node->output(old.output);
  }

  Value fresh(const Value& old) {
    const std::string name = "cut" + std::to_string(old.node->id()) + "_" + std::to_string(old.output);
    const Value input = result_.pool->input(name, changed(old.type()));
    if (std::find(result_.inputs.begin(), result_.inputs.end(), input) == result_.inputs.end())
      result_.inputs.push_back(input);
    return input;
  }

  Type changed(const Type& type) const {
    Type result = type;
    if (edit_.dim)
      for (Dim& dim : *result.shape) dim = edit_.dim(dim);
    return result;
  }

  Type changed_leaf(const ops::Node& node) const {
    Type type = changed(node.outputs()[0]);
    if (&node == edit_.leaf) type.shape = edit_.shape;
    return type;
  }

  const ops::Node& made(const ops::Node& node) {
    if (const Input* input = node.as_input()) {
      const Value result = result_.pool->input(input->name, changed_leaf(node));
      result_.inputs.push_back(result);
      return *result.node;
    }
    if (const Constant* constant = node.as_constant()) {
      const Type type = changed_leaf(node);
      auto weight = constant->weight;
      if (type != constant->type) {
        Random random(std::hash<std::string>{}(constant->name));
        weight = std::make_shared<HeldWeight>(whole_array(random, extents_of(*type.shape)));
      }
      return *result_.pool->constant(constant->name, type, weight).node;
    }
    std::vector<Value> operands;
    for (const Value& operand : node.inputs()) operands.push_back(value(operand));
    if (const Opaque* opaque = node.as_opaque()) {
      Opaque copy = *opaque;
      for (Type& type : copy.outputs) type = changed(type);
      if (copy.outputs[0] != operands[0].type()) throw ShapeError("a mixture is of the type of its first operand");
      return result_.pool->add_opaque(copy, operands);
    }
    Operator op = edit_.op && edit_.op->first == &node ? edit_.op->second : *node.as_operator();
    if (edit_.dim) change_fields(op);
    return result_.pool->add(op, operands);
  }

  void change_fields(Operator& op) const {
    std::visit(
        [&](auto& o) {
          o.fields(o, [&](std::string_view, auto& field) {
            using Member = std::remove_cvref_t<decltype(field)>;
            if constexpr (std::is_same_v<Member, Dim>)
              field = edit_.dim(field);
            else if constexpr (std::is_same_v<Member, std::vector<Dim>>)
              for (Dim& dim : field) dim = edit_.dim(dim);
          });
        },
        op);
  }

  const Graph& graph_;
  const Edit& edit_;
  Graph result_;
  std::unordered_map<const ops::Node*, const ops::Node*> nodes_;
};

/// The quantities to reduce, the most important first.
struct Size {
  std::size_t nodes = 0, outputs = 0, inputs = 0, symbols = 0;
  std::int64_t elements = 0, attributes = 0;
  auto operator<=>(const Size&) const = default;
};

Size size_of(const Graph& graph) {
  Size size;
  size.outputs = graph.outputs.size();
  size.inputs = graph.inputs.size();
  const auto count_dim = [&](const Dim& dim) {
    size.symbols += dim.is_static() ? 0 : 1;
    return dim.evaluate([](std::string_view) { return std::int64_t{3}; });
  };
  for (const ops::Node* node : graph.nodes()) {
    const Operator* op = node->as_operator();
    size.nodes += op != nullptr || node->as_opaque() != nullptr ? 1 : 0;
    for (const Type& type : node->outputs()) {
      std::int64_t elements = 1;
      for (const Dim& dim : *type.shape) elements *= count_dim(dim);
      size.elements += elements;
    }
    if (op == nullptr) continue;
    for (const NamedField& field : fields_of(*op)) {
      if (const auto* number = std::get_if<std::int64_t>(&field.value)) size.attributes += std::abs(*number);
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&field.value))
        for (const std::int64_t number : *list) size.attributes += std::abs(number);
      if (const auto* truth = std::get_if<bool>(&field.value)) size.attributes += *truth ? 1 : 0;
    }
  }
  return size;
}

class Reducing {
 public:
  Reducing(const Graph& graph, const std::function<bool(const Graph&)>& fails, std::size_t most_tries)
      : graph_(graph), fails_(fails), tries_left_(most_tries) {}

  Graph run() {
    try_edit({});  // copies it into a separate pool
    while (drop_outputs() || uncover() || cut() || bypass() || name_no_dims() || shrink_dims() || shrink_leaves() ||
           shrink_attributes()) {
    }
    return std::move(graph_);
  }

 private:
  bool try_edit(const Edit& edit) {
    if (tries_left_ == 0) return false;
    --tries_left_;
    try {
      Graph smaller = Rebuilding(graph_, edit).run();
      if (smaller.outputs.empty()) return false;
      if (!is_first_ && size_of(smaller) >= size_of(graph_)) return false;
      if (!fails_(smaller)) return false;
      is_first_ = false;
      graph_ = std::move(smaller);
      return true;
    } catch (const ShapeError&) {
      return false;
    } catch (const InputError&) {
      return false;
    }
  }

  bool drop_outputs() {
    const std::size_t count = graph_.outputs.size();
    for (std::size_t width = count / 2; width > 0; width /= 2)
      for (std::size_t from = 0; from < count; from += width) {
        Edit edit;
        edit.dropped_outputs = {from, std::min(from + width, count)};
        if (try_edit(edit)) return true;
      }
    return false;
  }

  bool uncover() {
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      Edit edit;
      edit.uncovered = i;
      if (try_edit(edit)) return true;
    }
    return false;
  }

  /// Later nodes first, because more is removed with them.
  std::vector<const ops::Node*> nodes() const {
    auto nodes = graph_.nodes();
    std::erase_if(nodes,
                  [](const ops::Node* node) { return node->as_input() != nullptr || node->as_constant() != nullptr; });
    std::reverse(nodes.begin(), nodes.end());
    return nodes;
  }

  bool cut() {
    for (const ops::Node* node : nodes()) {
      const auto types = node->outputs();
      if (std::any_of(types.begin(), types.end(), [](const Type& t) { return t.element != ElementType::float64; }))
        continue;
      Edit edit;
      edit.cut = node;
      if (try_edit(edit)) return true;
    }
    return false;
  }

  bool bypass() {
    for (const ops::Node* node : nodes())
      for (const Value& operand : node->inputs()) {
        if (!operand) continue;
        Edit edit;
        for (std::size_t i = 0; i < node->outputs().size(); ++i)
          if (node->outputs()[i] == operand.type()) edit.bypassed.emplace(node->output(i), operand);
        if (!edit.bypassed.empty() && try_edit(edit)) return true;
      }
    return false;
  }

  bool name_no_dims() {
    for (const std::string name : {"N", "T"}) {
      Edit edit;
      edit.dim = [&](const Dim& dim) {
        return substitute(
            dim, [&](std::string_view symbol) { return symbol == name ? std::optional<Dim>(2) : std::nullopt; });
      };
      if (try_edit(edit)) return true;
    }
    return false;
  }

  std::vector<const ops::Node*> leaves() const {
    auto nodes = graph_.nodes();
    std::erase_if(nodes,
                  [](const ops::Node* node) { return node->as_input() == nullptr && node->as_constant() == nullptr; });
    return nodes;
  }

  static std::vector<std::int64_t> smaller_than(std::int64_t number, std::int64_t least) {
    std::vector<std::int64_t> result;
    for (const std::int64_t other : {least, least + 1, number / 2, number - 1})
      if (other >= least && other < number && std::find(result.begin(), result.end(), other) == result.end())
        result.push_back(other);
    return result;
  }

  bool shrink_dims() {
    std::set<std::int64_t> lengths;
    for (const ops::Node* leaf : leaves())
      for (const Dim& dim : *leaf->outputs()[0].shape)
        if (const auto known = dim.known(); known && *known > 1) lengths.insert(*known);
    for (auto length = lengths.rbegin(); length != lengths.rend(); ++length)
      for (const std::int64_t less : smaller_than(*length, 1)) {
        Edit edit;
        edit.dim = [&](const Dim& dim) { return dim == Dim(*length) ? Dim(less) : dim; };
        if (try_edit(edit)) return true;
      }
    return false;
  }

  bool shrink_leaves() {
    for (const ops::Node* leaf : leaves()) {
      const Shape& shape = *leaf->outputs()[0].shape;
      for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (!shape[axis].is_static()) continue;
        for (const std::int64_t less : smaller_than(shape[axis].value(), 1)) {
          Edit edit;
          edit.leaf = leaf;
          edit.shape = shape;
          edit.shape[axis] = less;
          if (try_edit(edit)) return true;
        }
      }
    }
    return false;
  }

  bool shrink_attributes() {
    for (const ops::Node* node : nodes()) {
      const Operator* op = node->as_operator();
      if (op == nullptr) continue;
      for (const NamedField& field : fields_of(*op)) {
        const auto try_value = [&](const FieldValue& value) {
          Edit edit;
          edit.op.emplace(node, *op);
          return set_field(edit.op->second, field.name, value) && try_edit(edit);
        };
        if (const auto* truth = std::get_if<bool>(&field.value); truth != nullptr && *truth && try_value(false))
          return true;
        if (const auto* number = std::get_if<std::int64_t>(&field.value))
          for (const std::int64_t less : smaller_than(*number, 0))
            if (try_value(less)) return true;
        const auto* list = std::get_if<std::vector<std::int64_t>>(&field.value);
        if (list == nullptr || field.name == "permutation") continue;
        for (std::size_t i = 0; i < list->size(); ++i)
          for (const std::int64_t less : smaller_than((*list)[i], 0)) {
            auto smaller = *list;
            smaller[i] = less;
            if (try_value(smaller)) return true;
          }
      }
    }
    return false;
  }

  Graph graph_;
  const std::function<bool(const Graph&)>& fails_;
  std::size_t tries_left_;
  bool is_first_ = true;
};

}  // namespace

Graph reduce(const Graph& graph, const std::function<bool(const Graph&)>& fails, std::size_t most_tries) {
  return Reducing(graph, fails, most_tries).run();
}

std::vector<rules::Rule> reduce(std::vector<rules::Rule> rules,
                                const std::function<bool(const std::vector<rules::Rule>&)>& fails) {
  for (std::size_t width = std::max<std::size_t>(rules.size() / 2, 1); width > 0; width /= 2)
    for (std::size_t from = 0; from < rules.size();) {
      std::vector<rules::Rule> fewer = rules;
      const auto begin = fewer.begin() + static_cast<std::ptrdiff_t>(from);
      fewer.erase(begin, begin + static_cast<std::ptrdiff_t>(std::min(width, fewer.size() - from)));
      if (fails(fewer))
        rules = std::move(fewer);
      else
        from += width;
    }
  return rules;
}

}  // namespace taso::test
