#include "onnx/import/import.h"

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include "onnx/import/branches.h"
#include "onnx/import/node_body.h"
#include "onnx/import/taken_branches.h"
#include "onnx/lowering/lowering.h"
#include "onnx/model/attributes.h"
#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_content.h"
#include "onnx/model/tensor_data.h"
#include "onnx/validation/types.h"
#include "runtime/host/inference/rules.h"
#include "runtime/host/interpreter.h"

namespace taso::onnx {
namespace {

class TensorWeight final : public Weight {
 public:
  TensorWeight(const proto::TensorProto& tensor, std::shared_ptr<const std::filesystem::path> folder)
      : tensor_(&tensor), folder_(std::move(folder)) {}
  Array load() const override { return read_tensor(*tensor_, *folder_); }

 private:
  const proto::TensorProto* tensor_;
  std::shared_ptr<const std::filesystem::path> folder_;  // shared, because there may be very many weights
};

/// The data of a constant that we do not model.
class ForeignConstant final : public OpaqueBody {
 public:
  ForeignConstant(const proto::TensorProto& tensor, std::filesystem::path folder)
      : tensors_{&tensor}, folder_(std::move(folder)) {}
  ForeignConstant(const proto::SparseTensorProto& sparse, std::filesystem::path folder)
      : tensors_{&sparse.values(), &sparse.indices()},
        dims_(sparse.dims().begin(), sparse.dims().end()),
        folder_(std::move(folder)) {}

  std::string obstacle() const override { return "a constant of a kind that we do not model"; }
  std::vector<Array> run(const std::vector<std::optional<Array>>&) const override { throw InputError(obstacle()); }
  bool same(const OpaqueBody& other) const override {
    const auto* constant = dynamic_cast<const ForeignConstant*>(&other);
    if (constant == nullptr || constant->dims_ != dims_ || constant->tensors_.size() != tensors_.size()) return false;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (content(*tensors_[i], folder_) != content(*constant->tensors_[i], constant->folder_)) return false;
    return true;
  }
  std::optional<OperandPairs> agreement(const OpaqueBody& other) const override {
    return same(other) ? std::optional(OperandPairs{}) : std::nullopt;
  }

 private:
  static std::string content(const proto::TensorProto& tensor, const std::filesystem::path& folder) {
    proto::TensorProto copy = content_of(tensor, folder);
    copy.clear_name();
    copy.clear_doc_string();
    return copy.SerializeAsString();
  }

  std::vector<const proto::TensorProto*> tensors_;
  std::vector<std::int64_t> dims_;
  std::filesystem::path folder_;
};

/// How far a declared type is trusted. The declared dimensions of the model's inputs are a contract. Those of inner
/// values were written by some exporter, so only their rank and element type count, and only where inference does not
/// find them. A number there may come from the one run in which the model was traced, and one name may stand for two
/// different dimensions. A rewrite that relies on either would be wrong for other sizes, and runtimes only warn.
enum class Trust { contract, hint };

/// The unknown for a dimension without a name. A model's own names never look like this.
Dim unnamed(const std::string& value, std::size_t axis) { return Dim::symbol(fmt::format("{}#{}", value, axis)); }

/// The unknown for an extent that the model computes.
Dim computed(const std::string& value, std::size_t axis) {
  return Dim::symbol(fmt::format("{}#{}{}", value, axis, runtime::inference::computed_mark));
}

/// The unknown for a dimension that the model names.
Dim named(const std::string& name) {
  const std::size_t digits = name.find_last_not_of("0123456789");
  const bool looks_unnamed =
      name.ends_with(runtime::inference::computed_mark) || (digits != std::string::npos && name[digits] == '#');
  return Dim::symbol(looks_unnamed ? name + "#" : name);
}

/// The name that an unknown has in the model; empty if it has none there.
std::string name_in_model(const std::string& symbol) {
  if (symbol.ends_with(runtime::inference::computed_mark)) return "";
  if (symbol.ends_with("#")) return symbol.substr(0, symbol.size() - 1);
  const std::size_t digits = symbol.find_last_not_of("0123456789");
  return digits != std::string::npos && symbol[digits] == '#' ? "" : symbol;
}

/// The name of a model's constant in the graph. It never looks like the names of numbers that lowering creates.
std::string constant_name(const std::string& name, const Type& type) {
  const bool looks_made_up = type.shape && type.shape->empty() && name.ends_with(")") &&
                             name.starts_with(std::string(name_of(type.element)) + "(");
  return looks_made_up ? name + "()" : name;
}

Type read_type(const proto::TypeProto& proto, const std::string& name, Trust trust) {
  if (!proto.has_tensor_type()) return {};
  Type type;
  type.element = element_type_from_onnx(proto.tensor_type().elem_type());
  if (!proto.tensor_type().has_shape()) return type;
  type.shape.emplace();
  for (const auto& dim : proto.tensor_type().shape().dim()) {
    if (trust == Trust::contract && dim.has_dim_value() && dim.dim_value() >= 0)
      type.shape->push_back(Dim(dim.dim_value()));
    else if (trust == Trust::contract && dim.has_dim_param() && !dim.dim_param().empty())
      type.shape->push_back(named(dim.dim_param()));
    else
      type.shape->push_back(unnamed(name, type.shape->size()));
  }
  return type;
}

class Importer {
 public:
  Importer(const ModelView& view, SharedImport* shared) : view_(view), shared_(shared) {
    result_.graph.pool = shared ? shared->pool : std::make_shared<Pool>();
  }

  /// Reads the branches of decided nodes in their place.
  void take(const Decisions& decisions) { decisions_ = decisions; }
  /// The same for all Ifs whose first results are wanted and whose conditions are known. A branch may be there for the
  /// case that a size is 0, so all that is known here holds for such sizes, too.
  Decisions decide(const std::function<bool(const std::string&)>& is_wanted) {
    is_wanted_ = is_wanted;
    counts_from_zero_ = true;
    run();
    return std::move(decisions_);
  }

  ImportedModel run() {
    // Most nodes have one result. Tables that grow step by step took a tenth of the import of a large model.
    const std::size_t names = view_.inputs.size() + view_.initializers.size() + view_.nodes.size();
    result_.values.reserve(names);
    read_inputs();
    for (const auto& sparse : view_.model->graph().sparse_initializer())
      set(sparse.values().name(), opaque_constant("sparse_initializer", sparse), {});
    for (const auto& info : view_.model->graph().value_info()) hints_.emplace(info.name(), &info);
    for (const auto& info : view_.model->graph().output()) hints_.emplace(info.name(), &info);
    // A value that is passed on unchanged has the declared type of the result, and keeps it when a clean-up joins the
    // two. It then has the name of the output that it is passed on as, after which its unknown sizes are called.
    std::unordered_set<std::string> outputs;
    for (const auto& output : view_.model->graph().output()) outputs.insert(output.name());
    for (auto node = view_.nodes.rbegin(); node != view_.nodes.rend(); ++node) {
      const proto::NodeProto& one = **node;
      if (!is_default_domain(one.domain()) || (one.op_type() != "Identity" && one.op_type() != "Dropout")) continue;
      if (one.input_size() == 0 || one.output_size() == 0) continue;
      if (const auto hint = hints_.find(one.output(0)); hint != hints_.end())
        hints_.emplace(one.input(0), hint->second);
      if (outputs.contains(one.input(0))) continue;
      if (outputs.contains(one.output(0)))
        passed_on_as_.insert_or_assign(one.input(0), one.output(0));
      else if (const auto last = passed_on_as_.find(one.output(0)); last != passed_on_as_.end())
        passed_on_as_.insert_or_assign(one.input(0), last->second);
    }
    for (const proto::NodeProto* node : view_.nodes) read_node(*node);
    for (const auto& output : view_.model->graph().output()) result_.graph.outputs.push_back(value_of(output.name()));
    std::erase_if(result_.facts, [](const auto& known) { return is_floating(known.second.type.element); });
    return std::move(result_);
  }

 private:
  Pool& pool() { return *result_.graph.pool; }
  bool believes_hints() const { return shared_ == nullptr || shared_->believe_declarations; }
  void set(const std::string& name, Value value, runtime::Fact fact) {
    fact.type = value.type();
    if (shared_ != nullptr) value = stand_in(name, value, fact);
    const bool is_new = result_.values.insert_or_assign(name, value).second;
    if (fact.content || fact.constant || fact.known_part)
      result_.facts.insert_or_assign(name, std::move(fact));
    else if (!is_new)
      result_.facts.erase(name);
  }

  /// The input that stands for a value that is cut, or for a value that equals one. The first occurrence decides, so
  /// that two places that compute the same value do not differ.
  Value stand_in(const std::string& name, const Value& value, const runtime::Fact& fact) {
    const auto cut = shared_->cut.find(name);
    if (cut == shared_->cut.end()) return shared_->stand_in.try_emplace(value, value).first->second;
    Value& taken_for = shared_->cut_inputs[cut->second];
    if (!taken_for) {
      const auto known = shared_->stand_in.find(value);
      // Inputs need no stand-in, and numbers that follow from shapes are known, not arbitrary.
      const bool stays = value.node->as_input() != nullptr || fact.content || fact.constant;
      taken_for = known != shared_->stand_in.end() ? known->second
                  : stays                          ? value
                                                   : pool().input("cut " + cut->second, value.type());
    }
    shared_->stand_in.try_emplace(value, taken_for);
    return taken_for;
  }

  const Value& value_of(const std::string& name) const {
    const auto found = result_.values.find(name);
    if (found == result_.values.end()) throw InputError(fmt::format("nothing computes '{}'", name));
    return found->second;
  }

  template <class Tensor>
  Value opaque_constant(const std::string& kind, const Tensor& data) {
    const auto add = [&] {
      auto body = std::make_shared<ForeignConstant>(data, view_.folder);
      return pool().add_opaque(Opaque{kind, 0, {Type{}}, std::move(body)}, {}).output();
    };
    if (shared_ == nullptr) return add();
    auto& values = shared_->opaque[fmt::format("{} @{}", kind, static_cast<const void*>(&data))];
    if (values.empty()) values.push_back(add());
    return values.front();
  }

  void read_inputs() {
    // Of the initializers only those that are inputs are looked up, and most models have few inputs.
    std::unordered_map<std::string, const proto::TensorProto*> initializers;
    for (const proto::ValueInfoProto* info : view_.inputs) initializers.emplace(info->name(), nullptr);
    for (const proto::TensorProto* tensor : view_.initializers)
      if (const auto input = initializers.find(tensor->name()); input != initializers.end() && input->second == nullptr)
        input->second = tensor;
    for (const proto::ValueInfoProto* info : view_.inputs) {
      const proto::ValueInfoProto& input = *info;
      const proto::TensorProto* const initializer = initializers.at(input.name());
      // Below IR 4 every initializer is listed as an input and is still a constant.
      if (initializer != nullptr && view_.model->ir_version() < 4) continue;
      if (initializer != nullptr) result_.defaults.emplace(input.name(), initializer);
      const Value value = pool().input(input.name(), with_sizes(declared_type(input)));
      result_.graph.inputs.push_back(value);
      if (value.type().element == ElementType::undefined && input.type().has_tensor_type())
        foreign_.emplace(input.name(), input.type().tensor_type().elem_type());
      set(input.name(), value, {});
    }
    for (const proto::TensorProto* tensor : view_.initializers)
      if (!result_.values.contains(tensor->name())) read_constant(tensor->name(), *tensor);
  }

  void read_constant(const std::string& name, const proto::TensorProto& tensor) {
    const ElementType element = element_type_from_onnx(tensor.data_type());
    if (element == ElementType::undefined) foreign_.emplace(name, tensor.data_type());
    if (element == ElementType::undefined) return set(name, opaque_constant("constant", tensor), {});
    runtime::Fact fact = fact_of(tensor, view_.folder);
    // Constants are identified by name and, in a pool with two models or inside a branch, also by the address of their
    // data.
    const bool is_unique = shared_ == nullptr && scopes_.empty();
    const std::string key =
        is_unique ? constant_name(name, fact.type) : fmt::format("{} @{}", name, static_cast<const void*>(&tensor));
    const Value value = pool().constant(key, fact.type, std::make_shared<TensorWeight>(tensor, folder_));
    set(name, value, std::move(fact));
  }

  /// The contents of small operands that are known now: axes, pads, sizes.
  static Constants small_constants(const std::vector<const runtime::Fact*>& facts) {
    constexpr std::int64_t most = 64;
    Constants constants;
    for (const runtime::Fact* const fact : facts) {
      constants.emplace_back();
      if (fact == nullptr) continue;
      if (fact->constant && fact->constant->size() <= most) {
        constants.back() = fact->constant;
      } else if (fact->content && fact->type.element == ElementType::int64 && fact->type.shape) {
        std::vector<std::int64_t> numbers;
        for (const Dim& dim : *fact->content)
          if (dim.is_static()) numbers.push_back(dim.value());
        if (const auto extents = static_extents(*fact->type.shape);
            extents && numbers.size() == fact->content->size() && count(*extents) == std::ssize(numbers))
          constants.back() = Array::of<std::int64_t>(*extents, numbers);
      }
    }
    return constants;
  }

  void read_node(const proto::NodeProto& node) {
    if (node.op_type() == "Constant" && is_default_domain(node.domain()) && node.output_size() == 1 &&
        opset_of(*view_.model, node) > 0)
      for (const auto& attribute : node.attribute())
        if (attribute.name() == "value" && attribute.has_t())
          return read_constant(outside(node.output(0)), attribute.t());
    if (const proto::GraphProto* branch = taken_branch(node)) return read_branch(node, *branch);

    const std::int64_t opset = opset_of(*view_.model, node);
    const runtime::Attributes attributes = read_attributes(node, view_.folder);
    std::vector<Value> operands;
    std::vector<const runtime::Fact*> facts;
    std::deque<runtime::Fact> types;  // of operands of which nothing else is known
    const auto add_operand = [&](const std::string& inside) {
      const std::string& name = outside(inside);
      operands.push_back(name.empty() ? Value{} : value_of(name));
      if (name.empty())
        facts.push_back(nullptr);
      else if (const auto known = result_.facts.find(name); known != result_.facts.end())
        facts.push_back(&known->second);
      else
        facts.push_back(&types.emplace_back(runtime::Fact{operands.back().type(), std::nullopt, std::nullopt}));
    };
    for (const std::string& name : node.input()) add_operand(name);
    const std::size_t outputs = outputs_of(node);

    std::vector<const ElementTypes*> scopes;
    check_operand_types(node, scopes);
    std::vector<runtime::Fact> inferred(outputs);
    Lowered lowered;
    if (is_default_domain(node.domain())) {
      // With two models in one pool, a name does not identify a value.
      const auto unknown = [&](std::size_t output, std::size_t axis) {
        const std::string& own_name = outside(node.output(static_cast<int>(output)));
        const auto later_name = passed_on_as_.find(own_name);
        const std::string& name = later_name == passed_on_as_.end() ? own_name : later_name->second;
        const bool is_unique = shared_ == nullptr && !name.empty();
        return size(computed(is_unique ? name : fmt::format("{}@{}.{}", name, pool().size(), output), axis));
      };
      inferred = runtime::infer_facts({node.domain(), node.op_type(), opset, attributes, facts, outputs, unknown});
      inferred.resize(outputs);
      lowered = lower({pool(), node.op_type(), opset, attributes, operands, facts, outputs});
    } else if (is_of_onnxruntime(*view_.model, node)) {
      lowered = lower_onnxruntime({pool(), node.op_type(), opset, attributes, operands, facts, outputs});
    }
    if (!lowered) {
      for (const std::string& name : captured_names(node)) add_operand(name);
      auto body = make_body(*view_.model, node, view_.folder, small_constants(facts));
      if (const auto branches = branches_of(node); branches && body->obstacle().empty())
        inferred = infer_branches(*branches, node, opset, view_.folder, facts, outputs);
      lowered = add_opaque(node, opset, std::move(body), operands, inferred);
    }
    for (std::size_t i = 0; i < outputs; ++i)
      if (const std::string& name = node.output(static_cast<int>(i)); !name.empty())
        set(outside(name), (*lowered)[i], std::move(inferred[i]));
  }

  /// The name that a value has outside of the branches that are being read.
  const std::string& outside(const std::string& name) const {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (const auto found = scope->find(name); found != scope->end()) return found->second;
    return name;
  }

  /// The branch that is read instead of the node; null if the node is read.
  const proto::GraphProto* taken_branch(const proto::NodeProto& node) {
    if ((!is_wanted_ && decisions_.empty()) || node.input_size() != 1 || opset_of(*view_.model, node) == 0)
      return nullptr;
    const auto branches = branches_of(node);
    const std::string& result = outside(first_result(node));
    if (!branches || result.empty()) return nullptr;
    if (is_wanted_ && is_wanted_(result))
      if (const auto condition = condition_of(node)) decisions_.emplace(&node, *condition);
    const auto decision = decisions_.find(&node);
    if (decision == decisions_.end()) return nullptr;
    const proto::GraphProto& branch = decision->second ? *branches->then_branch : *branches->else_branch;
    const bool has_all = branch.output_size() >= node.output_size() && branch.sparse_initializer_size() == 0;
    return has_all ? &branch : nullptr;
  }

  /// The condition of an If, if it is the same for all inputs.
  std::optional<bool> condition_of(const proto::NodeProto& node) const {
    const std::string& name = outside(node.input(0));
    if (const auto known = result_.facts.find(name); known != result_.facts.end() && known->second.constant)
      return truth_of(*known->second.constant);
    const Graph graph{result_.graph.pool, {}, {value_of(name)}};
    for (const Node* one : graph.nodes()) {
      const Opaque* const opaque = one->as_opaque();
      if (one->as_input() != nullptr || (opaque != nullptr && !(opaque->body && opaque->body->is_deterministic())))
        return std::nullopt;
    }
    try {
      constexpr std::size_t most_bytes = std::size_t{1} << 28;
      const ArrayLimit limit(most_bytes);
      return truth_of(runtime::interpret(graph, {}, {.threads = 1, .plain = true}).front());
    } catch (const InputError&) {
      return std::nullopt;
    }
  }

  /// An unknown size, which is any number from 1 on, or from 0 on if that counts.
  Dim size(const Dim& unknown) const { return counts_from_zero_ ? unknown - Dim(1) : unknown; }
  Type with_sizes(Type type) const {
    if (type.shape)
      for (Dim& dim : *type.shape)
        if (!dim.is_static()) dim = size(dim);
    return type;
  }

  static const std::string& first_result(const proto::NodeProto& node) {
    static const std::string none;
    for (const std::string& output : node.output())
      if (!output.empty()) return output;
    return none;
  }

  void read_branch(const proto::NodeProto& node, const proto::GraphProto& branch) {
    Scope scope;
    const std::string& owner = outside(first_result(node));
    const auto define = [&](const std::string& name) {
      if (!name.empty() && !scope.contains(name)) scope.emplace(name, new_name(fmt::format("{}/{}", owner, name)));
    };
    std::unordered_set<std::string> computed;
    for (const auto& inner : branch.node()) computed.insert(inner.output().begin(), inner.output().end());
    for (int i = 0; i < node.output_size(); ++i)
      if (const std::string& inside = branch.output(i).name(); !node.output(i).empty() && computed.contains(inside))
        scope.emplace(inside, outside(node.output(i)));
    for (const auto& tensor : branch.initializer()) define(tensor.name());
    for (const auto& inner : branch.node())
      for (const std::string& output : inner.output()) define(output);

    scopes_.push_back(std::move(scope));
    for (const auto& tensor : branch.initializer()) read_constant(outside(tensor.name()), tensor);
    for (const auto& inner : branch.node()) read_node(inner);
    std::vector<std::string> results;
    for (const auto& output : branch.output()) results.push_back(outside(output.name()));
    scopes_.pop_back();
    for (int i = 0; i < node.output_size(); ++i) {
      const std::string &from = results[static_cast<std::size_t>(i)], &to = outside(node.output(i));
      if (to.empty() || from == to) continue;
      const auto known = result_.facts.find(from);
      set(to, value_of(from), known != result_.facts.end() ? known->second : runtime::Fact{});
    }
  }

  /// A name that no other value has: unknown dimensions are named after values.
  std::string new_name(std::string name) {
    if (names_.empty()) {
      for (const proto::NodeProto* node : view_.nodes) names_.insert(node->output().begin(), node->output().end());
      for (const proto::ValueInfoProto* input : view_.inputs) names_.insert(input->name());
      for (const proto::TensorProto* tensor : view_.initializers) names_.insert(tensor->name());
    }
    while (!names_.insert(name).second) name += '/';
    return name;
  }

  using ElementTypes = std::unordered_map<std::string, int>;  // as ONNX numbers them, 0 if unknown

  /// Validation sees only declared types. An inferred type that does not fit would otherwise show only when a constant
  /// is folded, and make the model invalid only then.
  void check_operand_types(const proto::NodeProto& node, std::vector<const ElementTypes*>& scopes) {
    int first = 0;
    if (opset_of(*view_.model, node) > 0 && is_default_domain(node.domain()) && operands_are_alike(node.op_type()))
      for (const std::string& name : node.input()) {
        const int type = name.empty() ? 0 : element_type(name, scopes);
        if (first == 0) first = type;
        if (type != 0 && type != first)
          throw InputError(fmt::format("{}: operands of {} and {} must be of one type", node.op_type(),
                                       data_type_name(first), data_type_name(type)));
      }
    const auto check_graph = [&](const proto::GraphProto& graph) {
      ElementTypes types;
      for (const auto& inner : graph.node())
        for (const std::string& output : inner.output()) types.emplace(output, 0);
      for (const auto& input : graph.input()) types.insert_or_assign(input.name(), declared_element(input));
      for (const auto& tensor : graph.initializer()) types.insert_or_assign(tensor.name(), tensor.data_type());
      for (const auto& tensor : graph.sparse_initializer()) types.insert_or_assign(tensor.values().name(), 0);
      scopes.push_back(&types);
      for (const auto& inner : graph.node()) check_operand_types(inner, scopes);
      scopes.pop_back();
    };
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) check_graph(attribute.g());
      for (const auto& graph : attribute.graphs()) check_graph(graph);
    }
  }

  int element_type(const std::string& name, const std::vector<const ElementTypes*>& scopes) const {
    for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
      if (const auto found = (*scope)->find(name); found != (*scope)->end()) return found->second;
    if (const auto declared = foreign_.find(outside(name)); declared != foreign_.end()) return declared->second;
    const auto value = result_.values.find(outside(name));
    const ElementType element = value == result_.values.end() ? ElementType::undefined : value->second.type().element;
    return element == ElementType::undefined ? 0 : onnx_data_type(element);
  }

  std::vector<Value> add_opaque(const proto::NodeProto& node, std::int64_t opset,
                                std::shared_ptr<const OpaqueBody> body, std::span<const Value> operands,
                                const std::vector<runtime::Fact>& inferred) {
    Opaque opaque{
        node.domain().empty() ? node.op_type() : node.domain() + "." + node.op_type(), 0, {}, std::move(body)};
    for (std::size_t i = 0; i < inferred.size(); ++i) {
      Type type = inferred[i].type;
      const std::string& name = outside(node.output(static_cast<int>(i)));
      if (const auto hint = hints_.find(name); hint != hints_.end() && !type.shape && believes_hints()) {
        const Type declared = with_sizes(read_type(hint->second->type(), hint->second->name(), Trust::hint));
        if (type.element == ElementType::undefined || type.element == declared.element) type = declared;
      }
      opaque.outputs.push_back(std::move(type));
    }
    std::string key;
    if (shared_ != nullptr && is_deterministic(node, opset)) {
      key = opaque.kind + '\0' + std::to_string(opaque.outputs.size()) + '\0' + attribute_bytes(node);
      for (const Value& operand : operands)
        key += operand ? fmt::format("\1{}.{}", operand.node->id(), operand.output) : "\1-";
      if (const auto known = shared_->opaque.find(key); known != shared_->opaque.end()) return known->second;
    }
    const Node& result = pool().add_opaque(std::move(opaque), operands);
    std::vector<Value> values;
    for (std::size_t i = 0; i < inferred.size(); ++i) values.push_back(result.output(i));
    if (!key.empty()) shared_->opaque.emplace(std::move(key), values);
    return values;
  }

  const ModelView& view_;
  std::shared_ptr<const std::filesystem::path> folder_ = std::make_shared<std::filesystem::path>(view_.folder);
  SharedImport* shared_;
  std::function<bool(const std::string&)> is_wanted_;          // which Ifs to decide
  bool counts_from_zero_ = false;                              // whether sizes may be 0
  Decisions decisions_;                                        // of Ifs whose branches are read in their place
  using Scope = std::unordered_map<std::string, std::string>;  // names inside a branch and outside of it
  std::vector<Scope> scopes_;                                  // of the branches that are being read
  std::unordered_set<std::string> names_;                      // of all values, once a branch is read
  ImportedModel result_;
  std::unordered_map<std::string, const proto::ValueInfoProto*> hints_;
  std::unordered_map<std::string, std::string> passed_on_as_;  // an output of the model, by an inner value
  ElementTypes foreign_;                                       // of types that we do not model
};

}  // namespace

Type declared_type(const proto::ValueInfoProto& input) {
  return read_type(input.type(), input.name(), Trust::contract);
}

std::string dimension_text(const Dim& dim) {
  const std::vector<std::string> symbols = dim.symbols();
  if (symbols.size() == 1 && dim == Dim::symbol(symbols.front())) return name_in_model(symbols.front());
  bool has_names = !symbols.empty();
  for (const std::string& symbol : symbols) has_names &= !name_in_model(symbol).empty();
  if (!has_names) return "";
  return substitute(
             dim,
             [](std::string_view symbol) { return std::optional(Dim::symbol(name_in_model(std::string(symbol)))); })
      .text();
}

ImportedModel import_model(const ModelView& view, SharedImport* shared) { return Importer(view, shared).run(); }

Decisions decided_branches(const ModelView& view, const std::function<bool(const std::string&)>& is_wanted) {
  return Importer(view, nullptr).decide(is_wanted);
}

ImportedModel import_with_branches(const ModelView& view, const Decisions& decisions, SharedImport* shared) {
  Importer importer(view, shared);
  importer.take(decisions);
  return importer.run();
}

}  // namespace taso::onnx
