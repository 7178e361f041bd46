#include "search/selection/architecture.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace taso::search {
namespace {

struct KindName {
  NetworkKind kind;
  std::string_view name, text;
};
constexpr std::array<KindName, 8> kind_names{{{NetworkKind::unknown, "unknown", "of unknown kind"},
                                              {NetworkKind::resnet, "resnet", "ResNet-like"},
                                              {NetworkKind::mobilenet, "mobilenet", "MobileNet-like"},
                                              {NetworkKind::ssd, "ssd", "SSD-like"},
                                              {NetworkKind::bert, "bert", "BERT-like"},
                                              {NetworkKind::inception, "inception", "Inception-like"},
                                              {NetworkKind::dense, "dense", "DenseNet-like"},
                                              {NetworkKind::recurrent, "recurrent", "recurrent"}}};
/// All but the first.
constexpr auto known_kinds = [] {
  std::array<NetworkKind, kind_names.size() - 1> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = kind_names[i + 1].kind;
  return kinds;
}();

/// The role of an operator in the architecture.
enum class Role : std::uint8_t {
  convolution,
  product,
  pooling,
  softmax,
  normalisation,
  sum,
  scaling,
  gate,  // sigmoid or tanh
  concat,
  recurrent,
  attention,
  plain,  // keeps the size of images or rearranges elements
  foreign
};

struct Roles {
  Role operator()(const op::Conv&) const { return Role::convolution; }
  Role operator()(const op::ConvTranspose&) const { return Role::convolution; }
  Role operator()(const op::MatMul&) const { return Role::product; }
  Role operator()(const op::AveragePool&) const { return Role::pooling; }
  Role operator()(const op::MaxPool&) const { return Role::pooling; }
  Role operator()(const op::GlobalAveragePool&) const { return Role::pooling; }
  Role operator()(const op::ReduceMean&) const { return Role::pooling; }
  Role operator()(const op::ReduceMax&) const { return Role::pooling; }
  Role operator()(const op::ReduceSum&) const { return Role::pooling; }
  Role operator()(const op::Softmax&) const { return Role::softmax; }
  Role operator()(const op::LayerNorm&) const { return Role::normalisation; }
  Role operator()(const op::Add&) const { return Role::sum; }
  Role operator()(const op::Mul&) const { return Role::scaling; }
  Role operator()(const op::Sigmoid&) const { return Role::gate; }
  Role operator()(const op::Tanh&) const { return Role::gate; }
  Role operator()(const op::Concat&) const { return Role::concat; }
  Role operator()(const auto&) const { return Role::plain; }
};

Role role_of(const Node& node) {
  if (const Operator* op = node.as_operator()) return std::visit(Roles(), *op);
  const Opaque* opaque = node.as_opaque();
  if (opaque == nullptr) return Role::foreign;
  static const std::unordered_map<std::string_view, Role> known{
      {"Conv", Role::convolution},
      {"ConvTranspose", Role::convolution},
      {"ConvInteger", Role::convolution},
      {"QLinearConv", Role::convolution},
      {"MatMul", Role::product},
      {"Gemm", Role::product},
      {"MatMulInteger", Role::product},
      {"QLinearMatMul", Role::product},
      {"Softmax", Role::softmax},
      {"LayerNormalization", Role::normalisation},
      {"RMSNormalization", Role::normalisation},
      {"Add", Role::sum},
      {"Mul", Role::scaling},
      {"Sigmoid", Role::gate},
      {"Tanh", Role::gate},
      {"GRU", Role::recurrent},
      {"LSTM", Role::recurrent},
      {"RNN", Role::recurrent},
      {"Reshape", Role::plain},
      {"Transpose", Role::plain},
      {"Div", Role::plain},
      {"Sub", Role::plain},
      {"Where", Role::plain},
      {"Cast", Role::plain},
      {"QuantizeLinear", Role::plain},
      {"DequantizeLinear", Role::plain},
  };
  const auto found = known.find(opaque->kind);
  if (found != known.end()) return found->second;
  return opaque->kind.ends_with("Attention") ? Role::attention : Role::foreign;
}

/// The part of a graph that depends on its inputs, and its characteristic features.
class Anatomy {
 public:
  explicit Anatomy(const Graph& graph);
  Architecture judge() const;

 private:
  struct Part {
    const Node* node = nullptr;
    Role role = Role::foreign;
    std::vector<std::size_t> operands;  // those that depend on the graph's inputs
    std::size_t users = 0;
    const Node* user = nullptr;  // the last one
  };
  void look_at_convolution(const Node& node);
  void look_at_sum(const Part& part);
  void look_at_scaling(const Part& part);
  void look_at_softmax(const Part& part);
  void look_at_concat(std::size_t index);
  void look_at_sizes(const std::vector<std::size_t>& leaves);
  bool is_nested(const Part& part) const;
  std::vector<std::size_t> leaves_of(std::size_t concat) const;
  std::vector<std::size_t> before(std::size_t index) const;
  /// Goes up from a part; `enter` decides whether to continue above one.
  template <class Enter>
  void climb(std::size_t from, std::size_t most, Enter&& enter) const;

  std::vector<Part> parts_;
  std::size_t convolutions_ = 0, depthwise_ = 0, grouped_ = 0, products_ = 0;
  std::size_t residual_sums_ = 0, gates_ = 0, recurrent_ = 0, attentions_ = 0, normalisations_ = 0;
  std::size_t joins_ = 0, branches_ = 0;  // concats of branches that start from one value, and the number of branches
  std::size_t dense_ = 0;                 // concats of a value with values computed from it
  std::size_t sizes_ = 0;                 // sizes of images whose convolutional heads are joined
};

Anatomy::Anatomy(const Graph& graph) {
  std::unordered_map<const Node*, std::size_t> places;
  for (const Node* node : graph.nodes()) {
    Part part{node, role_of(*node), {}, 0, nullptr};
    for (const Value& operand : node->inputs())
      if (const auto found = places.find(operand.node); found != places.end()) part.operands.push_back(found->second);
    if (part.operands.empty() && node->as_input() == nullptr) continue;
    places.emplace(node, parts_.size());
    for (const std::size_t operand : part.operands) {
      ++parts_[operand].users;
      parts_[operand].user = node;
    }
    parts_.push_back(std::move(part));
  }
  std::vector<std::size_t> outputs;
  for (const Value& output : graph.outputs)
    if (const auto found = places.find(output.node); found != places.end()) {
      ++parts_[found->second].users;
      outputs.push_back(found->second);
    }
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    switch (part.role) {
      case Role::convolution: look_at_convolution(*part.node); break;
      case Role::product: ++products_; break;
      case Role::sum: look_at_sum(part); break;
      case Role::scaling: look_at_scaling(part); break;
      case Role::softmax: look_at_softmax(part); break;
      case Role::concat:
        if (!is_nested(part)) look_at_concat(i);
        break;
      case Role::normalisation: ++normalisations_; break;
      case Role::recurrent: ++recurrent_; break;
      case Role::attention: ++attentions_; break;
      default: break;
    }
  }
  look_at_sizes(outputs);
}

void Anatomy::look_at_convolution(const Node& node) {
  ++convolutions_;
  if (node.inputs().size() < 2 || !node.inputs()[1]) return;
  const auto& filters = node.inputs()[1].type().shape;
  const Operator* op = node.as_operator();
  std::optional<std::int64_t> groups;
  if (const auto* conv = op == nullptr ? nullptr : std::get_if<op::Conv>(op)) groups = conv->groups;
  if (const auto* conv = op == nullptr ? nullptr : std::get_if<op::ConvTranspose>(op)) groups = conv->groups;
  if (!filters || filters->size() < 3 || groups == 1) return;
  const bool one_channel = (*filters)[1] == Dim(1) && (*filters)[0] != Dim(1);
  if (one_channel)
    ++depthwise_;
  else if (groups)
    ++grouped_;
}

bool same_shape(const Node& a, const Node& b) {
  return a.outputs().size() == 1 && b.outputs().size() == 1 && a.outputs()[0].shape && b.outputs()[0].shape &&
         *a.outputs()[0].shape == *b.outputs()[0].shape;
}

void Anatomy::look_at_sum(const Part& part) {
  if (part.operands.size() != 2) return;
  residual_sums_ += same_shape(*parts_[part.operands[0]].node, *parts_[part.operands[1]].node);
}

/// x sigmoid(x) is an activation, not a gate.
void Anatomy::look_at_scaling(const Part& part) {
  if (part.operands.size() != 2 || part.operands[0] == part.operands[1]) return;
  const Part &a = parts_[part.operands[0]], &b = parts_[part.operands[1]];
  if (!same_shape(*a.node, *b.node)) return;
  const auto gates = [&](const Part& gate, std::size_t gated) {
    return gate.role == Role::gate &&
           std::find(gate.operands.begin(), gate.operands.end(), gated) == gate.operands.end();
  };
  gates_ += gates(a, part.operands[1]) || gates(b, part.operands[0]);
}

template <class Enter>
void Anatomy::climb(std::size_t from, std::size_t most, Enter&& enter) const {
  std::priority_queue<std::size_t> open;  // the last first, so that near parts come before far ones
  std::set<std::size_t> seen;
  const auto add = [&](std::size_t index) {
    for (const std::size_t operand : parts_[index].operands)
      if (seen.insert(operand).second) open.push(operand);
  };
  add(from);
  for (; !open.empty() && most > 0; --most) {
    const std::size_t next = open.top();
    open.pop();
    if (enter(next)) add(next);
  }
}

/// Looks for a product above the softmax, with scaling, masking and reshaping in between.
void Anatomy::look_at_softmax(const Part& part) {
  bool found = false;
  climb(static_cast<std::size_t>(&part - parts_.data()), 16, [&](std::size_t index) {
    const Part& above = parts_[index];
    if (above.role == Role::product) {
      found |= above.operands.size() == 2;
      return false;
    }
    return above.role != Role::convolution && above.role != Role::softmax;
  });
  attentions_ += found;
}

/// A model's Concat of more operands is a chain of concats of two.
bool Anatomy::is_nested(const Part& part) const {
  return part.role == Role::concat && part.users == 1 && part.user != nullptr && part.user->kind() == part.node->kind();
}

std::vector<std::size_t> Anatomy::leaves_of(std::size_t index) const {
  std::vector<std::size_t> open{index}, leaves;
  while (!open.empty()) {
    const std::size_t next = open.back();
    open.pop_back();
    for (const std::size_t operand : parts_[next].operands)
      (is_nested(parts_[operand]) ? open : leaves).push_back(operand);
  }
  std::sort(leaves.begin(), leaves.end());
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return leaves;
}

/// The nearby parts above it, and itself, sorted.
std::vector<std::size_t> Anatomy::before(std::size_t index) const {
  std::vector<std::size_t> result{index};
  climb(index, 64, [&](std::size_t above) {
    result.push_back(above);
    return true;
  });
  std::sort(result.begin(), result.end());
  return result;
}

void Anatomy::look_at_concat(std::size_t index) {
  const auto leaves = leaves_of(index);
  if (leaves.size() < 2) return;
  look_at_sizes(leaves);
  std::vector<std::vector<std::size_t>> above;
  for (const std::size_t leaf : leaves) above.push_back(before(leaf));
  const auto count = [&](const std::vector<std::size_t>& chosen) {  // how many chosen leaves have a part above them
    std::unordered_map<std::size_t, std::size_t> counts;
    for (const std::size_t i : chosen)
      for (const std::size_t part : above[i]) ++counts[part];
    return counts;
  };
  std::vector<std::size_t> all(leaves.size()), ends;
  std::iota(all.begin(), all.end(), 0);
  const auto of_all = count(all);
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    // Leaves that others are computed from are not branches.
    const bool is_start = of_all.at(leaves[i]) > 1;
    const bool computes = std::any_of(above[i].begin(), above[i].end(), [&](std::size_t part) {
      return parts_[part].role == Role::convolution || parts_[part].role == Role::pooling;
    });
    if (!is_start && computes) ends.push_back(i);
  }
  const auto of_ends = count(ends);
  const auto sharing = static_cast<std::size_t>(std::count_if(ends.begin(), ends.end(), [&](std::size_t i) {
    return std::any_of(above[i].begin(), above[i].end(), [&](std::size_t part) { return of_ends.at(part) > 1; });
  }));
  if (sharing >= 2) {
    ++joins_;
    branches_ += sharing;
  } else if (!ends.empty() && ends.size() < leaves.size()) {
    ++dense_;
  }
}

/// Counts the image sizes of convolutions from which these values are made without changing sizes.
void Anatomy::look_at_sizes(const std::vector<std::size_t>& leaves) {
  std::set<std::string> sizes;
  for (const std::size_t leaf : leaves) {
    const auto enter = [&](std::size_t index) {
      const Part& part = parts_[index];
      if (part.role == Role::convolution && part.node->outputs()[0].shape && part.node->outputs()[0].shape->size() > 2)
        sizes.insert(
            ops::text_of(Shape(part.node->outputs()[0].shape->begin() + 2, part.node->outputs()[0].shape->end())));
      return part.role == Role::plain || part.role == Role::concat || part.role == Role::sum ||
             part.role == Role::scaling || part.role == Role::gate || part.role == Role::softmax;
    };
    if (enter(leaf)) climb(leaf, 32, enter);
  }
  sizes_ = std::max(sizes_, sizes.size());
}

std::string of_convolutions(std::size_t convolutions, std::size_t depthwise, std::size_t grouped) {
  std::string text = fmt::format("{} convolutions", convolutions);
  if (depthwise > 0) text += fmt::format(", {} of them depthwise", depthwise);
  if (grouped > 0) text += fmt::format(", {} of them grouped", grouped);
  return text;
}

/// The most telling feature decides. Shares refer to the convolutions; the thresholds are far from common networks on
/// either side.
Architecture Anatomy::judge() const {
  const std::string convolutions = of_convolutions(convolutions_, depthwise_, grouped_);
  const std::size_t work = convolutions_ + products_ + recurrent_ + attentions_;
  if (work < 8) return {NetworkKind::unknown, fmt::format("{} convolutions and products are too few to tell", work)};
  if (sizes_ >= 3) return {NetworkKind::ssd, fmt::format("heads at {} sizes are joined; {}", sizes_, convolutions)};
  if (recurrent_ > attentions_ && recurrent_ * 4 >= convolutions_)
    return {NetworkKind::recurrent, fmt::format("{} recurrent operators", recurrent_)};
  if (gates_ >= 6 && gates_ > 4 * attentions_ && products_ >= convolutions_)
    return {NetworkKind::recurrent, fmt::format("{} gates, {} products", gates_, products_)};
  if (attentions_ >= 2 || (attentions_ == 1 && products_ > convolutions_))
    return {NetworkKind::bert, fmt::format("{} times softmax over products of activations; {} products, {} layer norms",
                                           attentions_, products_, normalisations_)};
  if (dense_ >= 3 && dense_ * 4 >= convolutions_)
    return {NetworkKind::dense, fmt::format("{} concats of a layer's output with its input; {}", dense_, convolutions)};
  if (joins_ >= 2 && branches_ * 20 >= convolutions_ * 3)
    return {NetworkKind::inception,
            fmt::format("{} concats of {} branches that start from one value; {}", joins_, branches_, convolutions)};
  if (depthwise_ >= 3 && depthwise_ * 5 >= convolutions_)
    return {NetworkKind::mobilenet, fmt::format("{}; {} residual sums", convolutions, residual_sums_)};
  if (residual_sums_ >= 3 && residual_sums_ * 7 >= convolutions_ && convolutions_ > products_)
    return {NetworkKind::resnet, fmt::format("{} residual sums; {}", residual_sums_, convolutions)};
  return {NetworkKind::unknown, fmt::format("no typical features; {}, {} products, {} residual sums, {} concats of "
                                            "branches",
                                            convolutions, products_, residual_sums_, joins_)};
}

}  // namespace

std::span<const NetworkKind> network_kinds() { return known_kinds; }

std::string_view name_of(NetworkKind kind) { return kind_names[static_cast<std::size_t>(kind)].name; }

std::string_view text_of(NetworkKind kind) { return kind_names[static_cast<std::size_t>(kind)].text; }

std::optional<NetworkKind> network_kind_named(std::string_view name) {
  for (const NetworkKind kind : known_kinds)
    if (name_of(kind) == name) return kind;
  return std::nullopt;
}

Architecture recognise(const Graph& graph) { return Anatomy(graph).judge(); }

}  // namespace taso::search
