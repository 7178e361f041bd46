#include "cost/pricing/least_prices.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>

#include "cost/pricing/call.h"
#include "ops/core/error.h"

namespace taso::cost {
namespace {

/// The text of an operand without its strides: "*float16[64,3,7,7]last" is "*float16[64,3,7,7]".
std::string without_strides(const std::string& operand) { return operand.substr(0, operand.find(']') + 1); }

std::vector<std::int64_t> extents_in(const std::string& operand) {
  std::vector<std::int64_t> extents;
  std::istringstream list(operand.substr(operand.find('[') + 1));
  for (std::int64_t extent = 0; list >> extent; list.get()) extents.push_back(extent);
  return extents;
}

/// What prices of kernels with the same work have in common, from the text of a call.
struct Work {
  std::string key;
  /// Of a product of two matrices: what those with other rows and columns have in common. Otherwise empty.
  std::string product;
  std::int64_t rows = 0, columns = 0;
};

/// All kernels that write as many elements count as the same work: cheaper ones may be fused from anything.
std::string key_of_count(std::string_view kind, const std::string& element, std::int64_t elements) {
  return fmt::format("{} {} {}", kind, element, elements);
}

Work work_of(const std::string& call) {
  std::istringstream words(call);
  std::string kind, precision, word;
  words >> kind >> precision;
  std::vector<std::string> read;
  while (words >> word && word != "->") read.push_back(without_strides(word));
  std::string written;
  for (bool is_last = false; !is_last && words >> word;) {
    is_last = word.back() == ':';
    if (written.empty()) written = without_strides(word);
  }
  std::string steps;
  std::getline(words >> std::ws, steps);
  Work work;
  const auto is = [&](Kernel::Kind one) { return kind == name_of(one); };
  if (is(Kernel::Kind::convolution) || is(Kernel::Kind::matmul)) {
    // The product is the first step, because everything else works on its result; but others may be read before its
    // factors.
    const std::size_t operands = steps.find(is(Kernel::Kind::convolution) ? "](" : "(");
    check(operands != std::string::npos, "a product has operands");
    const std::string op = steps.substr(0, operands + 1);
    check(op.starts_with(is(Kernel::Kind::convolution) ? "conv[" : "matmul("), "a product comes first");
    std::istringstream indices(steps.substr(steps.find('(', operands) + 1));
    std::size_t first = 0, second = 0;
    indices >> first;
    indices.get();
    indices >> second;
    work.key = fmt::format("{} {} {} {} {}", kind, precision, op, read.at(first), read.at(second));
    const std::vector<std::int64_t> left = extents_in(read.at(first)), right = extents_in(read.at(second));
    if (is(Kernel::Kind::matmul) && left.size() == 2 && right.size() == 2) {
      work.product = fmt::format("{} {} {}", precision, written.substr(0, written.find('[')), left[1]);
      work.rows = left[0];
      work.columns = right[1];
    }
  } else if (is(Kernel::Kind::pooling)) {
    work.key = fmt::format("{} {} {}", kind, precision, steps);
    for (const std::string& operand : read) work.key += " " + operand;
  } else {
    std::int64_t elements = 1;
    for (const std::int64_t extent : extents_in(written)) elements *= extent;
    work.key = key_of_count(kind, written.substr(0, written.find('[')), elements);
  }
  return work;
}

}  // namespace

void LeastPrices::add(const std::string& call, Cost price) {
  const Work work = work_of(call);
  const auto [found, is_new] = prices_.emplace(work.key, price);
  if (!is_new) found->second = std::min(found->second, price);
  if (!work.product.empty()) products_[work.product].push_back({work.rows, work.columns, price});
}

void LeastPrices::trust(const std::string& call) { trusted_.insert(work_of(call).key); }

Cost LeastPrices::of(const GraphView& view, const Kernel& kernel, Precision precision, Cost predicted,
                     double caution) const {
  Work work;
  std::string spread;
  switch (kernel.kind) {
    case Kernel::Kind::convolution:
    case Kernel::Kind::matmul:
    case Kernel::Kind::pooling: work = work_of(text_of(call_of(view, kernel, precision).call)); break;
    default: {
      const PlanValue result = kernel.written.at(0);
      const auto function =
          kernel.kind == Kernel::Kind::opaque ? function_of(view, kernel.main) : std::optional<DeviceFunction>();
      const Kernel::Kind kind = kernel.kind != Kernel::Kind::opaque ? kernel.kind
                                : function                          ? kind_of(*function)
                                                                    : Kernel::Kind::copy;
      const auto key_of = [&](PlanValue value) {
        const std::string element(ops::name_of(stored(view.element(result), precision)));
        return key_of_count(name_of(kind), element, ops::count(*view.extents(value)));
      };
      work.key = key_of(result);
      // What follows a reduction may have the size of its operand again (cost/plan/spread.h).
      if (kind == Kernel::Kind::rows && view.operands(kernel.main) > 0)
        if (const PlanValue operand = view.operand(kernel.main, 0);
            operand != no_plan_value && view.extents(operand) != nullptr)
          spread = key_of(operand);
    }
  }
  Cost least = trusted_.contains(work.key) || trusted_.contains(spread)
                   ? predicted
                   : static_cast<Cost>(std::min(std::floor(static_cast<double>(predicted) * caution),
                                                static_cast<double>(highest_kernel_price)));
  for (const std::string& key : {work.key, spread})
    if (const auto found = prices_.find(key); found != prices_.end()) least = std::min(least, found->second);
  if (const auto found = products_.find(work.product); found != products_.end())
    for (const Product& product : found->second)
      if (product.rows >= work.rows && product.columns >= work.columns) least = std::min(least, product.price);
  return least;
}

}  // namespace taso::cost
