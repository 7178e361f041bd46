#include "cost/plan/kernel.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "cost/functions/device_function.h"
#include "cost/functions/recurrence.h"
#include "cost/plan/added_bias.h"
#include "cost/plan/cover.h"
#include "cost/plan/movement.h"
#include "cost/plan/repeated_heads.h"

namespace taso::cost {
namespace {

double elements(const GraphView& view, PlanValue value) {
  const Extents* extents = view.extents(value);
  if (extents == nullptr) return 0;
  double product = 1;
  for (const std::int64_t extent : *extents) product *= static_cast<double>(extent);
  return product;
}

double product(const Extents& extents, std::size_t begin, std::size_t end) {
  double result = 1;
  for (std::size_t i = begin; i < end; ++i) result *= static_cast<double>(extents[i]);
  return result;
}

void measure_convolution(const GraphView& view, Kernel& kernel) {
  const auto& conv = std::get<op::Conv>(*view.op(kernel.main));
  const Extents& out = *view.extents(view.result(kernel.main, 0));
  const Extents& w = *view.extents(view.operand(kernel.main, 1));
  kernel.batches = static_cast<double>(conv.groups);
  kernel.rows = static_cast<double>(out[0]) * product(out, 2, out.size());
  kernel.columns = static_cast<double>(out[1]) / kernel.batches;
  kernel.depth = product(w, 1, w.size());
  kernel.has_few_channels = w[1] < 4 && kernel.columns > 1;
}

void measure_matmul(const GraphView& view, Kernel& kernel) {
  const Extents& out = *view.extents(view.result(kernel.main, 0));
  const Extents& a = *view.extents(view.operand(kernel.main, 0));
  const Extents& b = *view.extents(view.operand(kernel.main, 1));
  const std::size_t rank = out.size();
  kernel.batches = product(out, 0, rank - 2);
  kernel.rows = static_cast<double>(out[rank - 2]);
  kernel.columns = static_cast<double>(out[rank - 1]);
  kernel.depth = static_cast<double>(a.back());
  if (product(b, 0, b.size() - 2) == 1) {  // one right factor for all batches: stack the left factors
    kernel.rows *= kernel.batches;
    kernel.batches = 1;
  }
}

/// Both products have the same batches and rows; the softmax is along the depth of the second.
void measure_attention(const GraphView& view, Kernel& kernel) {
  for (const PlanNode node : kernel.nodes)
    if (node != kernel.main && role_of(view, node) == Role::matmul)
      kernel.first_depth = static_cast<double>(view.extents(view.operand(node, 0))->back());
}

/// The value whose elements are counted: of a reduction what it reads, else the result.
PlanValue counted(const GraphView& view, PlanNode node) {
  return role_of(*view.op(node)) == Role::rows ? view.operand(node, 0) : view.result(node, 0);
}

/// How many elements one element of the result is made of.
double window_of(const GraphView& view, PlanNode node) {
  return std::visit(
      [&]<class Op>(const Op& op) -> double {
        if constexpr (requires { op.window_cells(Extents()); })
          return op.window_cells(*view.extents(counted(view, node)));
        if constexpr (std::is_same_v<Op, op::ConvTranspose>) {
          // Each element of x meets the kernels of its channel.
          const Extents& w = *view.extents(view.operand(node, 1));
          const double products = elements(view, view.operand(node, 0)) * product(w, 1, w.size());
          return products / std::max(elements(view, view.result(node, 0)), 1.0);
        }
        return 1.0;
      },
      *view.op(node));
}

/// Whether the node reads only parts of its operand, such as the rows looked up in a table.
bool only_takes_parts(const GraphView& view, PlanNode node) {
  if (const auto function = function_of(view, node)) return only_takes_parts(*function);
  const Opaque* const opaque = view.opaque(node);
  const auto movement = opaque != nullptr && opaque->body ? opaque->body->movement() : std::nullopt;
  return movement && movement->kind == PlainMovement::Kind::gather;
}

}  // namespace

std::string_view name_of(Kernel::Kind kind) {
  switch (kind) {
    case Kernel::Kind::convolution: return "convolution";
    case Kernel::Kind::matmul: return "matmul";
    case Kernel::Kind::attention: return "attention";
    case Kernel::Kind::element_wise: return "element-wise";
    case Kernel::Kind::pooling: return "pooling";
    case Kernel::Kind::rows: return "rows";
    case Kernel::Kind::copy: return "copy";
    case Kernel::Kind::opaque: break;
  }
  return "opaque";
}

double bytes_of(const GraphView& view, PlanValue value) {
  return elements(view, value) * static_cast<double>(size_of(view.element(value)));
}

void measure_work(const GraphView& view, Kernel& kernel) {
  std::vector<PlanNode> members = kernel.nodes;
  std::sort(members.begin(), members.end());
  const auto is_member = [&](PlanNode node) { return std::binary_search(members.begin(), members.end(), node); };

  const std::optional<AddedBias> bias = added_bias(view, kernel);
  double copied = 0;                  // into a concat, without operands that already lie in place
  std::map<PlanValue, double> taken;  // by it
  if (role_of(view, kernel.main) == Role::concat)
    for (const CopiedPart& part : copied_parts(view, kernel.main, members)) {
      const double bytes =
          product(part.extents, 0, part.extents.size()) * static_cast<double>(size_of(view.element(part.value)));
      copied += bytes;
      taken[part.value] += bytes;
      kernel.read.push_back(part.value);
    }
  for (const PlanNode node : kernel.nodes) {
    const std::optional<Role> role = role_of(view, node);
    const std::optional<DeviceFunction> function = role ? std::nullopt : function_of(view, node);
    const bool expands = is_expansion(view, node);  // by itself, or in attention (repeated_heads.h)
    // A guard reads a softmax of this kernel (attention_form.h).
    const bool is_guard = !role && node != kernel.main && !expands;
    const auto is_read = [&](std::size_t operand) {
      return !function ||
             std::find(function->operands.begin(), function->operands.end(), operand) != function->operands.end();
    };
    for (std::size_t i = 0; i < view.operands(node); ++i) {
      const PlanValue value = view.operand(node, i);
      if (is_guard || !is_read(i) || (expands && i > 0))
        continue;  // the function has its content, or needs only its shape
      if (value == no_plan_value || is_member(view.producer(value)) || role == Role::concat) continue;
      kernel.read.push_back(value);
    }
    for (std::size_t i = 0; i < view.results(node); ++i) {
      const PlanValue value = view.result(node, i);
      if (value == no_plan_value || (role == Role::split && seen(view, value))) continue;
      if (role == Role::concat && node != kernel.main) continue;  // a part of the last one's result
      bool needed = view.is_output(value);
      for (std::size_t j = 0; j < view.users(value) && !needed; ++j) needed = !is_member(view.user(value, j));
      if (needed) kernel.written.push_back(value);
    }
    if (is_guard) kernel.operations += elements(view, view.result(node, 0));
    if (!role) {
      if (!function || is_guard) continue;
      double most = 0;
      for (const PlanValue value : kernel.written) most = std::max(most, elements(view, value));
      if (!counts_results(*function))
        for (const PlanValue value : kernel.read) most = std::max(most, elements(view, value));
      const double each = operations_of(*function, function->operands.size());
      kernel.operations += each * most;
      kernel.chain = std::max(kernel.chain, is_recurrence(*function) ? chain_of_recurrence(*function) : chain_of(each));
      continue;
    }
    if (bias && node == bias->add) continue;
    const double each = operations_per_element(*view.op(node));
    if (each == 0) continue;  // operators that only move data may have unused results
    const double window = window_of(view, node);
    kernel.operations += each * elements(view, counted(view, node)) * window;
    // A transposed convolution reads its operands one after the other; windows of pooling are read at once.
    kernel.chain =
        std::max(kernel.chain, std::holds_alternative<op::ConvTranspose>(*view.op(node)) ? each * window : each);
  }
  std::sort(kernel.read.begin(), kernel.read.end());
  kernel.read.erase(std::unique(kernel.read.begin(), kernel.read.end()), kernel.read.end());

  const std::optional<Role> role = role_of(view, kernel.main);
  double written = 0;
  for (const PlanValue value : kernel.written) written += bytes_of(view, value);
  const double most = only_takes_parts(view, kernel.main) ? written : std::numeric_limits<double>::infinity();
  for (const PlanValue value : kernel.read)
    (view.is_weight(value) ? kernel.weight_bytes : kernel.bytes) +=
        std::min(bytes_of(view, value), role == Role::concat ? taken[value] : most);
  if (role == Role::concat) written = copied;
  if (role == Role::split || role == Role::slice) kernel.bytes = written;  // only the taken part is read
  kernel.bytes += written;
  if (view.results(kernel.main) > 0 && view.result(kernel.main, 0) != no_plan_value)
    kernel.element = view.element(view.result(kernel.main, 0));
  else if (!kernel.written.empty())
    kernel.element = view.element(kernel.written.front());
  if (role == Role::convolution || role == Role::pooling) kernel.layout = view.layout();
  if (role == Role::convolution) measure_convolution(view, kernel);
  if (role == Role::matmul) measure_matmul(view, kernel);
  if (kernel.kind == Kernel::Kind::attention) measure_attention(view, kernel);
}

Cost BytesWritten::price(const GraphView& view, const Kernel& kernel) const {
  double bytes = 0;
  for (const PlanValue value : kernel.written) bytes += bytes_of(view, value);
  return static_cast<Cost>(std::min(bytes, static_cast<double>(highest_kernel_price)));
}

}  // namespace taso::cost
