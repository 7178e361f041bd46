// Certificates that were changed, or that belong to another model, are rejected.
#include <algorithm>
#include <map>

#include "onnx/model/proto.h"
#include "tests/catch.h"
#include "tests/search/rule_graph.h"
#include "tests/verifier/certified_model.h"

namespace taso::test {

using namespace verifier;

namespace {

/// Changes one thing about a certificate or its output. Each function returns whether it found something to change.
class Tampering {
 public:
  Tampering(CertifiedModel& model, const std::vector<rules::Rule>& rules, Random& random)
      : model_(model), steps_(model.certificate.steps), rules_(rules), random_(random) {}

  /// What was done; empty if there was nothing to change.
  std::string run() {
    using Way = bool (Tampering::*)();
    static constexpr std::pair<const char*, Way> ways[] = {
        {"a step dropped", &Tampering::drop},
        {"steps exchanged", &Tampering::reorder},
        {"a step twice", &Tampering::repeat},
        {"another rule", &Tampering::another_rule},
        {"another input", &Tampering::another_input},
        {"another value replaced", &Tampering::another_root},
        {"another value made", &Tampering::another_number},
        {"another operator made", &Tampering::another_operator},
        {"another variable", &Tampering::another_variable},
        {"another condition", &Tampering::another_condition},
        {"another cost", &Tampering::another_cost},
        {"operands exchanged", &Tampering::exchange},
        {"a merge made up", &Tampering::merge},
        {"a clean-up dropped", &Tampering::drop_cleanup},
        {"a clean-up made up", &Tampering::another_cleanup},
        {"a clean-up left out", &Tampering::disable},
        {"a clean-up after the search made up", &Tampering::late_cleanup},
        {"another name", &Tampering::another_name},
        {"another number of a name", &Tampering::another_named_value},
        {"another weight", &Tampering::another_weight},
        {"another node", &Tampering::another_node},
        {"another attribute", &Tampering::another_attribute},
        {"an attribute made up", &Tampering::unknown_attribute},
        {"another operand", &Tampering::another_operand},
        {"more operands", &Tampering::more_operands},
        {"another output", &Tampering::another_output},
    };
    const auto& [name, way] = ways[random_.below(std::size(ways))];
    return (this->*way)() ? name : "";
  }

 private:
  rules::RewriteStep& step() { return steps_[random_.below(steps_.size())]; }
  rules::ValueNumber greatest() const {
    rules::ValueNumber most = 0;
    for (const rules::RewriteStep& step : steps_)
      for (const auto& made : step.made)
        for (const rules::ValueNumber value : made.results) most = std::max(most, value);
    return most;
  }
  bool change(rules::ValueNumber& value) {
    const rules::ValueNumber old = value;
    value = random_.below(greatest() + 2);
    return value != old;
  }

  bool drop() {
    if (steps_.empty()) return false;
    const std::size_t which = random_.below(steps_.size());
    // A step without any effect, not even on the cost, may be missing.
    if (steps_[which].cost_before == steps_[which].cost_after) return false;
    steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(which));
    return true;
  }
  bool reorder() {
    if (steps_.size() < 2) return false;
    const std::size_t first = random_.below(steps_.size() - 1);
    // Independent steps that cost nothing may be in any order.
    if (steps_[first].cost_before == steps_[first + 1].cost_after) return false;
    std::swap(steps_[first], steps_[first + 1]);
    return true;
  }
  bool repeat() {
    if (steps_.empty()) return false;
    const std::size_t which = random_.below(steps_.size());
    steps_.insert(steps_.begin() + static_cast<std::ptrdiff_t>(which), rules::RewriteStep(steps_[which]));
    return true;
  }
  bool another_rule() {
    if (steps_.empty()) return false;
    rules::RewriteStep& changed = step();
    const std::string& name = rules_[random_.below(rules_.size())].name;
    return std::exchange(changed.rule, name) != name;
  }
  bool another_input() {
    if (steps_.empty()) return false;
    rules::RewriteStep& changed = step();
    return !changed.inputs.empty() && change(changed.inputs[random_.below(changed.inputs.size())].second);
  }
  bool another_root() {
    if (steps_.empty()) return false;
    rules::RewriteStep& changed = step();
    return change(changed.replaced[random_.below(changed.replaced.size())]);
  }
  bool another_number() {
    if (steps_.empty()) return false;
    rules::RewriteStep& changed = step();
    if (changed.made.empty()) return false;
    auto& results = changed.made[random_.below(changed.made.size())].results;
    rules::ValueNumber& result = results[random_.below(results.size())];
    const rules::ValueNumber old = result;
    // An existing value may be made again, under a new number.
    return change(result) && !(was_there(old, changed) && !was_there(result, changed));
  }
  /// Whether it existed before the step, other than as a replaced value.
  bool was_there(rules::ValueNumber value, const rules::RewriteStep& here) const {
    if (std::find(here.replaced.begin(), here.replaced.end(), value) != here.replaced.end()) return false;
    const auto& names = model_.certificate.names;
    if (std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.first == value; })) return true;
    for (const rules::RewriteStep* step = steps_.data(); step != &here; ++step)
      for (const auto& made : step->made)
        if (std::find(made.results.begin(), made.results.end(), value) != made.results.end()) return true;
    return false;
  }
  bool another_operator() {
    if (steps_.empty()) return false;
    rules::RewriteStep& changed = step();
    if (changed.made.empty()) return false;
    auto& made = changed.made[random_.below(changed.made.size())];
    return std::exchange(made.op, "sigmoid") != "sigmoid";
  }
  bool another_variable() {
    if (steps_.empty()) return false;
    rules::RewriteStep& changed = step();
    if (changed.variables.empty()) return false;
    changed.variables[random_.below(changed.variables.size())].second += "1";
    return true;
  }
  bool another_condition() {
    if (steps_.empty()) return false;
    rules::RewriteStep& changed = step();
    if (changed.conditions.empty()) return false;
    if (random_.chance(0.5))
      changed.conditions.pop_back();
    else
      changed.conditions.front() += " ";
    return true;
  }
  bool another_cost() {
    if (steps_.size() < 2) return false;
    const std::size_t which = random_.below(steps_.size() - 1);
    (random_.chance(0.5) ? steps_[which].cost_after : steps_[which + 1].cost_before) += 1;
    return true;
  }
  bool exchange() {
    if (steps_.empty()) return false;
    auto& list = step().exchanged;
    if (list.empty())
      list.push_back(random_.below(3));
    else
      list.pop_back();
    return true;
  }
  bool merge() {
    if (steps_.empty()) return false;
    step().merged.emplace_back(random_.below(greatest() + 1), random_.below(greatest() + 1));
    return true;
  }
  bool drop_cleanup() {
    auto& list = model_.certificate.before;
    if (list.empty()) return false;
    list.erase(list.begin() + static_cast<std::ptrdiff_t>(random_.below(list.size())));
    return true;
  }
  bool another_cleanup() {
    model_.certificate.before.push_back({"identity", "y"});
    return true;
  }

  bool disable() {
    const auto& list = model_.certificate.before;
    model_.certificate.disabled.push_back(list.empty() ? "nothing" : list[random_.below(list.size())].pass);
    return true;
  }
  bool late_cleanup() {
    model_.certificate.after.push_back({random_.chance(0.5) ? "batch-norm" : "nothing", "y"});
    return true;
  }
  bool another_name() {
    auto& list = model_.certificate.names;
    if (list.empty()) return false;
    list[random_.below(list.size())].second += "1";
    return true;
  }
  bool another_named_value() {
    auto& list = model_.certificate.names;
    return !list.empty() && change(list[random_.below(list.size())].first);
  }

  proto::GraphProto& graph() { return *model_.after.mutable_proto().mutable_graph(); }
  proto::NodeProto* node() {
    return graph().node_size() == 0
               ? nullptr
               : graph().mutable_node(static_cast<int>(random_.below(static_cast<std::uint64_t>(graph().node_size()))));
  }
  bool another_weight() {
    std::vector<proto::TensorProto*> weights;
    for (auto& tensor : *graph().mutable_initializer())
      if (tensor.data_type() == proto::TensorProto::DOUBLE && !tensor.raw_data().empty()) weights.push_back(&tensor);
    if (weights.empty()) return false;
    std::string& data = *weights[random_.below(weights.size())]->mutable_raw_data();
    char& byte = data[random_.below(data.size())];
    byte = static_cast<char>(byte ^ static_cast<char>(1U << random_.below(8)));
    return true;
  }
  bool another_node() {
    proto::NodeProto* changed = node();
    if (changed == nullptr || changed->input_size() > 2) return false;
    const std::string name = changed->input_size() == 1 ? "Exp" : "Pow";
    if (changed->op_type() == name) return false;
    changed->set_op_type(name);
    changed->clear_attribute();
    return changed->output_size() == 1;
  }
  bool another_attribute() {
    proto::NodeProto* changed = node();
    if (changed == nullptr) return false;
    for (auto& attribute : *changed->mutable_attribute()) {
      const bool is_switch = attribute.name() == "keepdims" || attribute.name() == "ceil_mode" ||
                             attribute.name() == "count_include_pad" || attribute.name() == "allowzero";
      if (is_switch || (attribute.ints_size() == 0 && attribute.type() != proto::AttributeProto::INT)) continue;
      if (attribute.ints_size() > 0)
        attribute.set_ints(0, attribute.ints(0) + 1);
      else
        attribute.set_i(attribute.i() + 1);
      return true;
    }
    return false;
  }
  bool unknown_attribute() {
    proto::NodeProto* changed = node();
    if (changed == nullptr) return false;
    proto::AttributeProto& added = *changed->add_attribute();
    added.set_name(random_.chance(0.5) ? "consumed_inputs" : "strides_of_mine");
    added.set_type(proto::AttributeProto::INTS);
    added.add_ints(1);
    return true;
  }
  bool another_operand() {
    proto::NodeProto* changed = node();
    if (changed == nullptr || changed->input_size() < 1 || graph().input_size() == 0) return false;
    const std::string& name =
        graph().input(static_cast<int>(random_.below(static_cast<std::uint64_t>(graph().input_size())))).name();
    if (changed->input(0) == name) return false;
    changed->set_input(0, name);
    return true;
  }
  bool more_operands() {
    proto::NodeProto* changed = node();
    if (changed == nullptr || changed->input_size() == 0) return false;
    for (int i = 0; i < 5; ++i) changed->add_input(changed->input(0));
    return true;
  }
  bool another_output() {
    if (graph().output_size() < 2) return false;
    std::swap(*graph().mutable_output(0), *graph().mutable_output(1));
    return true;
  }

  CertifiedModel& model_;
  std::vector<rules::RewriteStep>& steps_;
  const std::vector<rules::Rule>& rules_;
  Random& random_;
};

}  // namespace

TEST_CASE("two thousand tampered certificates are rejected") {
  const auto rules = sound_rules();
  RuleGraphs graphs(rules);
  search::SearchOptions options;
  options.alpha = 1.1;
  options.budget = 20;
  std::vector<CertifiedModel> genuine;
  for (std::uint64_t seed = 2000; genuine.size() < 80; ++seed) {
    auto certified = certify(graphs.make(seed, 6), rules, options);
    if (certified && certified->certificate.steps.size() > 1) genuine.push_back(std::move(*certified));
  }
  Random random(1);
  std::map<std::string, std::size_t> done;
  std::size_t tampered = 0, tries = 0;
  while (tampered < 2000 && ++tries < 20'000) {
    const CertifiedModel& original = genuine[random.below(genuine.size())];
    CertifiedModel copy{original.before.copy(), original.after.copy(), original.certificate};
    const std::string what = Tampering(copy, rules, random).run();
    if (what.empty()) continue;
    try {
      copy.after.validate();
    } catch (const InputError&) {
      continue;  // not a model at all
    }
    // What counts is the certificate after writing and reading.
    const rules::RewriteCertificate read = rules::parse_certificate(rules::print(copy.certificate));
    if (read == original.certificate && copy.after.serialise() == original.after.serialise()) continue;
    bool accepted = false;
    try {
      accepted = replay_certificate(read, copy.before, copy.after, rules).accepted;
    } catch (const InputError&) {
    }
    INFO(what << ", try " << tries);
    CHECK_FALSE(accepted);
    ++tampered;
    ++done[what];
  }
  CHECK(tampered == 2000);
  for (const auto& [what, count] : done) {
    INFO(what << " " << count);
    CHECK(count > 10);
  }
  CHECK(done.size() == 26);
}

TEST_CASE("damaged certificates are refused, not misunderstood") {
  const auto rules = sound_rules();
  RuleGraphs graphs(rules);
  const auto certified = certify(graphs.make(7, 6), rules, {});
  REQUIRE(certified);
  const std::string text = rules::print(certified->certificate);
  const auto is_refused = [](const std::string& damaged) {
    try {
      rules::parse_certificate(damaged);
      return false;
    } catch (const InputError&) {
      return true;
    }
  };
  CHECK_FALSE(is_refused(text));
  for (std::size_t size = 0; size + 2 < text.size(); size += 7) CHECK(is_refused(text.substr(0, size)));
  Random random(3);
  std::size_t refused = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = text;
    for (std::uint64_t changes = random.between(1, 5); changes > 0; --changes)
      damaged[random.below(damaged.size())] = static_cast<char>(random.below(256));
    refused += is_refused(damaged);  // and in any case does not crash
  }
  CHECK(refused > 1000);
  CHECK(is_refused(std::string(100'000, '[')));
  CHECK(is_refused("{\"schema_version\": 1, \"schema_version\": 1}"));
  CHECK(is_refused("{\"schema_version\": 2}"));
  const auto with = [&](const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return std::string(text).replace(at, from.size(), to);
  };
  CHECK(is_refused(with("\"fold_limit\": 1024", "\"fold_limit\": 99999999999999999999999")));
  CHECK(is_refused(with("\"fold_limit\": 1024", "\"fold_limit\": -1")));
  CHECK(is_refused(with("\"fold_limit\": 1024", "\"fold_limit\": 1.5")));
  CHECK(is_refused(with("\"fold_limit\": 1024", "\"fold_limit\": 1024, \"further\": 1")));
}

}  // namespace taso::test
