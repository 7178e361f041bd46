#include "runtime/pricing/similar_choices.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

namespace taso::pricing {
namespace {

constexpr std::string_view own = ": own";
/// How much other strides or groups count, in doublings of a size.
constexpr double other_attributes = 4;

/// An operand as a call's text has it: "*float32[64,3,7,7]last".
struct Operand {
  std::string_view element, layout;
  std::vector<double> extents;  ///< logarithms
  double volume() const {
    double sum = 0;
    for (const double extent : extents) sum += extent;
    return sum;
  }
};

std::optional<Operand> operand_of(std::string_view text) {
  if (text.starts_with('*')) text.remove_prefix(1);
  const std::size_t open = text.find('['), close = text.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::nullopt;
  Operand operand{text.substr(0, open), text.substr(close + 1), {}};
  for (const char* at = text.data() + open + 1; at < text.data() + close;) {
    double extent = 0;
    const auto [end, error] = std::from_chars(at, text.data() + close, extent);
    if (error != std::errc() || extent < 1) return std::nullopt;
    operand.extents.push_back(std::log2(extent));
    at = end + 1;  // the comma
  }
  return operand;
}

/// The first `most` operands of a list with spaces between them.
std::vector<Operand> operands_of(std::string_view text, std::size_t most) {
  std::vector<Operand> list;
  while (list.size() < most && !text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::optional<Operand> operand = operand_of(text.substr(0, end));
    if (!operand) break;
    list.push_back(*operand);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

double difference(const std::vector<double>& one, const std::vector<double>& other) {
  double sum = 0;
  for (std::size_t i = 0; i < std::max(one.size(), other.size()); ++i)
    sum += std::abs((i < one.size() ? one[i] : 0) - (i < other.size() ? other[i] : 0));
  return sum;
}

}  // namespace

SimilarChoices::SimilarChoices(const cost::PriceDatabase& prices, const std::string& machine) {
  for (const std::string& call : prices.calls(machine)) {
    const cost::RecordedPrice* price = prices.find(machine, call);
    Known known;
    if (!price->choice.ends_with(own) || !read(call, known.product)) continue;
    known.choice = price->choice;
    known.lowering = price->choice.substr(0, price->choice.size() - own.size());
    known_.push_back(std::move(known));
  }
}

bool SimilarChoices::read(std::string_view text, Product& product) {
  if (!text.starts_with("convolution ")) return false;
  const std::size_t head = text.find(": "), arrow = text.find(" -> ");
  if (head == std::string_view::npos || arrow == std::string_view::npos || arrow < head) return false;
  const std::size_t steps = text.find(": ", arrow);
  if (steps == std::string_view::npos) return false;
  const std::vector<Operand> factors = operands_of(text.substr(head + 2, arrow - head - 2), 2);
  const std::vector<Operand> results = operands_of(text.substr(arrow + 4, steps - arrow - 4), 1);
  if (factors.size() < 2 || results.empty()) return false;
  product.family = text.substr(0, head);
  for (const Operand& factor : factors) product.family.append(" ").append(factor.element);
  product.family += factors[0].layout.empty() ? " channels first" : " channels last";
  const std::size_t begin = text.find("conv[", steps), end = text.find("](", begin);
  if (begin == std::string_view::npos || end == std::string_view::npos) return false;
  product.attributes = text.substr(begin, end - begin);
  product.volumes = {factors[0].volume(), factors[1].volume(), results[0].volume()};
  product.factor = factors[1].extents;
  return true;
}

double SimilarChoices::distance(const Product& one, const Product& other) {
  return difference(one.volumes, other.volumes) + difference(one.factor, other.factor) +
         (one.attributes == other.attributes ? 0 : other_attributes);
}

std::string SimilarChoices::find(std::string_view call, std::span<const std::string> lowerings) const {
  Product product;
  if (!read(call, product)) return "";
  const Known* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const Known& known : known_) {
    if (known.product.family != product.family) continue;
    if (std::find(lowerings.begin(), lowerings.end(), known.lowering) == lowerings.end()) continue;
    const double far = distance(product, known.product);
    if (far >= least) continue;
    least = far;
    best = &known;
  }
  return best == nullptr ? "" : best->choice;
}

}  // namespace taso::pricing
