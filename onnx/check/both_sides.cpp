#include "onnx/check/both_sides.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>

#include "onnx/model/model.h"
#include "onnx/model/proto.h"
#include "onnx/model/tensor_data.h"
#include "runtime/host/interpreter.h"

namespace taso::onnx {
namespace {

/// A tensor with fewer finite elements than the wanted share shows little, so other operands are drawn. If the best
/// draw stays below the least share, the tensor counts as not compared.
constexpr double wanted_finite_share = 0.5, least_finite_share = 0.05;

/// The ways to draw operands, in the order in which they are tried.
constexpr std::array ordinary_draws{Draw::normal, Draw::positive, Draw::between_0_and_1, Draw::small};

/// Sizes to try for dimensions that the model leaves open: for those of first axes, often batches, and for all others.
/// The first ones with which the original runs are used.
struct OpenSizes {
  std::int64_t first, others;
};
constexpr OpenSizes open_sizes[] = {{2, 2}, {1, 1}, {3, 3}, {16, 16}, {1, 64}, {1, 224}, {64, 64}, {224, 224}};
/// All but the first are tried only if the inputs have no more elements: a run may need many times as many.
constexpr double most_elements = 1 << 22;

/// Whether a node rounds, compares or selects: then a rounding error may become a difference of any size.
bool decides(const Node& node) {
  const Opaque* const opaque = node.as_opaque();
  if (opaque == nullptr || opaque->kind == "Shape" || opaque->kind == "Size") return false;
  static const std::set<std::string_view> kinds{"Round",
                                                "Floor",
                                                "Ceil",
                                                "Sign",
                                                "Mod",
                                                "Hardmax",
                                                "NonMaxSuppression",
                                                "TopK",
                                                "Unique",
                                                "QuantizeLinear",
                                                "DynamicQuantizeLinear"};
  if (kinds.contains(opaque->kind) || opaque->kind.starts_with("QLinear")) return true;
  const auto is_float = [](const Value& value) { return value && is_floating(value.type().element); };
  const auto is_whole = [](const Type& type) {
    return type.element != ElementType::undefined && !is_floating(type.element);
  };
  return std::any_of(node.inputs().begin(), node.inputs().end(), is_float) &&
         std::any_of(opaque->outputs.begin(), opaque->outputs.end(), is_whole);
}

/// False if the value needs no operands, or both sides compute it in the same way: then it is known, finite or not.
bool depends_on_operands(const std::shared_ptr<Pool>& pool, const Obligation& obligation) {
  if (obligation.expected == obligation.actual) return false;
  const auto nodes = Graph{pool, {}, {obligation.expected}}.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return node->as_input() != nullptr; });
}

/// Adds the model's own inputs, which determine its open dimensions. A region alone may not: 3 · N does not determine
/// N.
void add_sizes(Graph& graph, const Graph& signature) {
  for (const Value& input : signature.inputs) {
    const Type& type = input.type();
    const bool tells = type.element != ElementType::undefined && type.shape && !is_static(*type.shape);
    if (tells && std::find(graph.inputs.begin(), graph.inputs.end(), input) == graph.inputs.end())
      graph.inputs.push_back(input);
  }
}

/// The name of a dimension that is a symbol by itself; empty for all others.
std::string symbol_of(const Dim& dim) {
  const auto names = dim.symbols();
  return names.size() == 1 && dim == Dim::symbol(names.front()) ? std::string(names.front()) : "";
}

/// Binds dimensions that the user's shapes and data fix.
void bind_symbols(const Value& input, const CheckOptions& options, Symbols& symbols) {
  const std::string& name = input.node->as_input()->name;
  Extents extents;
  if (const auto shape = options.shapes.find(name); shape != options.shapes.end()) extents = shape->second;
  if (const auto data = options.data.find(name); data != options.data.end()) extents = data->second.extents();
  if (!input.type().shape || extents.size() != input.type().shape->size()) return;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const Dim& dim = (*input.type().shape)[i];
    if (const std::string symbol = symbol_of(dim); !symbol.empty()) symbols.emplace(symbol, extents[i]);
  }
}

/// The sizes that the user fixes, and those of open first axes.
Symbols bound_symbols(const Graph& signature, const CheckOptions& options, const OpenSizes& sizes) {
  Symbols symbols;
  for (const Value& input : signature.inputs) bind_symbols(input, options, symbols);
  for (const Value& input : signature.inputs)
    if (const auto& shape = input.type().shape; shape && !shape->empty())
      if (const std::string symbol = symbol_of(shape->front()); !symbol.empty()) symbols.emplace(symbol, sizes.first);
  return symbols;
}

/// The extents of an operand if all other symbols have this size.
Extents extents_with(const Shape& shape, const Symbols& symbols, std::int64_t others) {
  Extents extents;
  for (const Dim& dim : shape)
    extents.push_back(dim.evaluate([&](std::string_view name) {
      const auto bound = symbols.find(name);
      return bound == symbols.end() ? others : bound->second;
    }));
  return extents;
}

double elements_with(const Graph& graph, const Symbols& symbols, std::int64_t others) {
  double elements = 0;
  for (const Value& input : graph.inputs) {
    if (!input.type().shape) continue;
    double product = 1;
    for (const std::int64_t extent : extents_with(*input.type().shape, symbols, others))
      product *= static_cast<double>(extent);
    elements += product;
  }
  return elements;
}

}  // namespace

CheckResult BothSides::compare(const std::shared_ptr<Pool>& pool, const Graph& signature,
                               const std::vector<Obligation>& obligations, CheckResult::Scope scope) {
  Graph graph{pool, {}, {}};
  for (const Obligation& obligation : obligations) graph.outputs.push_back(obligation.expected);
  const std::size_t half = graph.outputs.size();
  for (const Obligation& obligation : obligations) graph.outputs.push_back(obligation.actual);
  for (const Node* node : graph.nodes()) {
    if (node->as_input() != nullptr) graph.inputs.push_back(node->output());
    const Opaque* opaque = node->as_opaque();
    if (scope == CheckResult::Scope::regions && opaque != nullptr && opaque->body && opaque->body->has_programs())
      throw InputError(fmt::format("one run does not cover all of {}", opaque->kind));
  }
  add_sizes(graph, signature);

  CheckResult result{true, scope, 0, 0, ""};
  for (unsigned sample = 0; sample < std::max(options_.samples, 1U) && result.passed; ++sample)
    run_sample({graph, half, signature, obligations}, sample, result);
  if (result.passed) run_specials({graph, half, signature, obligations}, result);
  return result;
}

/// Compares both sides on one set of operands. If too few elements are finite, draws other operands and compares these
/// as well, because an element that is NaN on both sides shows nothing. Throws InputError if no draw has enough finite
/// elements.
void BothSides::run_sample(const Sides& sides, unsigned sample, CheckResult& result) {
  if (sides.half == 0) return;
  std::vector<double> shares(sides.half, 0);  // the share of finite elements in the best draw
  result.compared += sides.half;
  for (const Draw draw : ordinary_draws) {
    std::vector<Array> outputs;
    try {
      outputs = run(sides.graph, sides.half, sides.signature, sample, draw);
    } catch (const InputError&) {
      if (draw == Draw::normal) throw;
      continue;
    }
    for (std::size_t i = 0; i < sides.half; ++i) {
      if (!compare_one(sides, outputs, i, result)) return;
      shares[i] = std::max(shares[i], finite_share(outputs[i]));
      if (shares[i] < wanted_finite_share && !depends_on_operands(sides.graph.pool, sides.obligations[i]))
        shares[i] = 1;  // known, whatever its elements are
    }
    if (*std::min_element(shares.begin(), shares.end()) >= wanted_finite_share || !has_free_numbers(sides.graph)) break;
  }
  const auto least = std::min_element(shares.begin(), shares.end());
  result.finite = std::min(result.finite, *least);
  if (*least >= least_finite_share) return;
  const std::string& name = sides.obligations[static_cast<std::size_t>(least - shares.begin())].name;
  throw InputError(*least == 0 ? fmt::format("no element of '{}' is finite, whatever random inputs are drawn", name)
                               : fmt::format("only {:.1f} % of '{}' is finite, whatever random inputs are drawn",
                                             100 * *least, name));
}

bool BothSides::compare_one(const Sides& sides, const std::vector<Array>& outputs, std::size_t i, CheckResult& result) {
  const Array &expected = outputs[i], &actual = outputs[sides.half + i];
  Tolerance tolerance = Tolerance::of(expected.type());
  if (options_.rtol) tolerance.rtol = *options_.rtol;
  if (options_.atol) tolerance.atol = *options_.atol;
  if (agrees(expected, actual, tolerance, result.worst)) return true;
  fail(sides, i, result,
       fmt::format("'{0}' ({2}) differs by {1} times the tolerance", sides.obligations[i].name, result.worst,
                   text_of(Type{expected.type(), shape_of(expected.extents())})));
  if (!is_floating(expected.type())) why_regions_ = "; rounding may change it by a whole step";
  return false;
}

/// Records the failure, and whether it may be a rounding error that grew to a difference of any size on the way.
void BothSides::fail(const Sides& sides, std::size_t i, CheckResult& result, std::string reason) {
  result.passed = false;
  result.reason = std::move(reason);
  why_regions_.clear();
  const Obligation& obligation = sides.obligations[i];
  for (const Node* node : Graph{sides.graph.pool, {}, {obligation.expected, obligation.actual}}.nodes())
    if (decides(*node)) {
      why_regions_ = fmt::format("; {} inside it turns rounding errors into whole steps", node->as_opaque()->kind);
      return;
    }
}

/// Whether another draw would give other operands.
bool BothSides::has_free_numbers(const Graph& graph) const {
  return std::any_of(graph.inputs.begin(), graph.inputs.end(), [&](const Value& input) {
    const std::string& name = input.node->as_input()->name;
    return is_floating(input.type().element) && !options_.data.contains(name) && !defaults_.contains(name);
  });
}

/// Runs on large numbers, then with NaN, infinities and the like among the inputs. Compares only which elements are
/// finite, not their size.
void BothSides::run_specials(const Sides& sides, CheckResult& result) {
  if (!has_free_numbers(sides.graph)) return;
  run_special(sides, Draw::large, result.large, options_.special != SpecialValues::reported, result);
  if (options_.special != SpecialValues::strict) {
    run_special(sides, Draw::with_all, result.special, false, result);
    return;
  }
  for (const Draw draw : {Draw::with_nan, Draw::with_infinity, Draw::with_minus_infinity, Draw::with_huge,
                          Draw::with_tiny, Draw::with_all})
    run_special(sides, draw, result.special, true, result);
}

void BothSides::run_special(const Sides& sides, Draw draw, Kinds& found, bool is_demanded, CheckResult& result) {
  if (!result.passed) return;
  std::vector<Array> outputs;
  try {
    outputs = run(sides.graph, sides.half, sides.signature, 0, draw);
  } catch (const InputError&) {
    return;  // the original does not run on these operands
  } catch (const Broken&) {
    if (is_demanded) throw;
    return;
  }
  for (std::size_t i = 0; i < sides.half; ++i) {
    const Kinds kinds = compare_kinds(outputs[i], outputs[sides.half + i]);
    found += kinds;
    const std::size_t wrong = kinds.lost + (options_.special == SpecialValues::strict ? kinds.other : 0);
    if (!is_demanded || wrong == 0) continue;
    fail(sides, i, result,
         fmt::format("with {} inputs, {} of {} elements of '{}' {}", draw == Draw::large ? "large" : "special", wrong,
                     outputs[i].size(), sides.obligations[i].name,
                     kinds.other == 0 ? "are no longer finite" : "change between finite, infinite and NaN"));
    return;
  }
}

std::vector<Array> BothSides::run(const Graph& graph, std::size_t half, const Graph& signature, unsigned sample,
                                  Draw draw) {
  const runtime::InterpreterOptions running{.threads = options_.threads};
  std::string reason;
  for (const OpenSizes& sizes : open_sizes) {
    const Symbols symbols = bound_symbols(signature, options_, sizes);
    if (!reason.empty() && elements_with(graph, symbols, sizes.others) > most_elements) continue;
    for (const bool zeros : {false, true}) {
      std::string trouble;
      try {
        return runtime::interpret(graph, operands_for(graph, symbols, sizes.others, sample, zeros, draw), running);
      } catch (const runtime::TypeMismatch&) {
        throw;
      } catch (const InputError& error) {
        trouble = error.what();
      }
      Graph original = graph;
      original.outputs.resize(half);
      bool runs = true;
      try {
        runtime::interpret(original, operands_for(graph, symbols, sizes.others, sample, zeros, draw), running);
      } catch (const InputError&) {
        runs = false;
      }
      if (runs) throw Broken{fmt::format("the edited model does not run: {}", trouble)};
      if (reason.empty()) reason = trouble;
    }
    const bool open = std::any_of(graph.inputs.begin(), graph.inputs.end(), [](const Value& input) {
      return input.type().shape && !is_static(*input.type().shape);
    });
    if (!open) break;
  }
  throw InputError(reason);
}

std::vector<Array> BothSides::operands_for(const Graph& graph, const Symbols& symbols, std::int64_t others,
                                           unsigned sample, bool zeros, Draw draw) const {
  std::vector<Array> operands;
  for (const Value& input : graph.inputs) {
    const std::string& name = input.node->as_input()->name;
    const Type& type = input.type();
    if (const auto given = options_.data.find(name); given != options_.data.end()) {
      operands.push_back(given->second);
      continue;
    }
    if (const auto fallback = defaults_.find(name); fallback != defaults_.end()) {
      operands.push_back(read_tensor(*fallback->second, folder_));
      continue;
    }
    if (type.element == ElementType::undefined || !type.shape)
      throw InputError(fmt::format("the type of '{}' is not known", name));
    const auto fixed = options_.shapes.find(name);
    const Extents extents = fixed != options_.shapes.end() ? fixed->second : extents_with(*type.shape, symbols, others);
    const std::int64_t range = is_floating(type.element) || zeros ? 1 : index_range(graph, input);
    operands.push_back(draw_array(type, extents, range, hash_name(name) + options_.seed * 1000003 + sample, draw));
  }
  return operands;
}

}  // namespace taso::onnx
