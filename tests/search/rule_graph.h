// Random graphs in which rules have something to do: sources of rules, put together.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "ops/graph.h"
#include "ops/random.h"
#include "rules/assignment.h"
#include "rules/concrete.h"
#include "rules/rule_text.h"
#include "tests/ops/random_graph.h"
#include "tests/source_folder.h"

namespace taso {

inline std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  check(in.good(), "a file of the project can be read: " + file.string());
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

inline std::vector<Rule> rules_of_file(const std::filesystem::path& file) {
  return parse_rules(Source(file.filename().string(), text_of_file(file))).rules();
}

/// Every rule that the verifier's tests hold to be sound.
inline std::vector<Rule> sound_rules() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() / "tests/verifier/sound"))
    if (entry.path().extension() == ".rules") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<Rule> rules;
  for (const auto& file : files) {
    for (Rule& rule : rules_of_file(file)) {
      rule.name = file.stem().string() + "." + rule.name;
      rules.push_back(std::move(rule));
    }
  }
  return rules;
}

/// Small whole numbers: sums and products of them are exact.
inline Array whole_array(Random& random, const Extents& extents) {
  Array array(ElementType::float64, extents);
  for (double& value : array.mutable_values<double>()) value = static_cast<double>(random.between(-2, 3));
  return array;
}

class RuleGraphs {
 public:
  explicit RuleGraphs(std::vector<Rule> rules) : rules_(std::move(rules)), instances_(rules_.size()) {}

  /// Puts the sources of `parts` rules together, the results of one being inputs of another where they fit.
  Graph make(std::uint64_t seed, std::size_t parts) {
    Random random(seed);
    Graph graph;
    graph.pool = std::make_shared<Pool>();
    std::map<Extents, std::vector<Value>> there;
    std::vector<Value> made;
    std::size_t names = 0;
    const auto operand = [&](const Extents& extents) {
      auto& fitting = there[extents];
      if (!fitting.empty() && random.chance(0.7)) return random.pick(fitting);
      const Type type{ElementType::float64, shape_of(extents)};
      const std::string name = "x" + std::to_string(names++);
      const bool is_constant = random.chance(0.3);
      const Value value =
          is_constant ? graph.pool->constant(name, type, std::make_shared<HeldWeight>(whole_array(random, extents)))
                      : graph.pool->input(name, type);
      if (!is_constant) graph.inputs.push_back(value);
      fitting.push_back(value);
      return value;
    };
    for (std::size_t tries = 0; parts > 0 && tries < 50; ++tries) {
      const std::size_t which = random.below(rules_.size());
      const auto& all = instances_of(which);
      if (all.empty()) continue;
      const Instance& instance = random.pick(all);
      const auto assignment = AssignmentSampler(instance).sample(random, 3);
      if (!assignment) continue;
      const auto concrete = Concretizer(instance).at(*assignment);
      const auto* at = std::get_if<ConcreteInstance>(&concrete);
      if (at == nullptr || at->work > 20'000) continue;
      add(graph, *at, operand, there, made);
      --parts;
    }
    std::unordered_set<const Node*> used;
    for (const Value& value : made)
      for (const Value& input : value.node->inputs()) used.insert(input.node);
    for (const Value& value : made)
      if (!used.contains(value.node) || random.chance(0.1)) graph.outputs.push_back(value);
    if (graph.outputs.empty()) graph.outputs.push_back(operand({2, 2}));
    return graph;
  }

 private:
  template <class Operand>
  static void add(Graph& graph, const ConcreteInstance& concrete, Operand&& operand,
                  std::map<Extents, std::vector<Value>>& there, std::vector<Value>& made) {
    std::vector<const Node*> nodes(concrete.nodes.size());
    std::vector<Value> inputs;
    for (const Extents& extents : concrete.inputs) inputs.push_back(operand(extents));
    std::vector<bool> needed(concrete.nodes.size(), false);
    for (const auto& [node, output] : concrete.source) needed[node] = true;
    for (std::size_t i = concrete.nodes.size(); i-- > 0;)
      if (needed[i])
        for (const auto& [node, output] : concrete.nodes[i].operands) needed[node] = true;
    for (std::size_t i = 0; i < concrete.nodes.size(); ++i) {
      const ConcreteInstance::Node& node = concrete.nodes[i];
      if (node.input || !needed[i]) continue;
      std::vector<Value> operands;
      for (const auto& [from, output] : node.operands)
        operands.push_back(concrete.nodes[from].input ? inputs[*concrete.nodes[from].input]
                                                      : nodes[from]->output(output));
      Operator op = node.op;
      set_field(op, "type", ElementType::float64);
      nodes[i] = &graph.pool->add(op, operands);
      for (std::size_t output = 0; output < nodes[i]->outputs().size(); ++output) {
        const Value value = nodes[i]->output(output);
        if (std::find(made.begin(), made.end(), value) != made.end()) continue;
        made.push_back(value);
        there[extents_of(value.shape())].push_back(value);
      }
    }
  }

  const std::vector<Instance>& instances_of(std::size_t rule) {
    auto& known = instances_[rule];
    if (!known) {
      known.emplace();
      for (Instance& instance : instances(rules_[rule]))
        if (instance.target_fits && known->size() < 200) known->push_back(std::move(instance));
    }
    return *known;
  }

  std::vector<Rule> rules_;
  std::vector<std::optional<std::vector<Instance>>> instances_;
};

}  // namespace taso
