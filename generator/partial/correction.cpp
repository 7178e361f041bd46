#include "generator/partial/correction.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace taso::generator {

Size size_of(ops::Dim dim) {
  if (dim.is_static()) return dim.value();
  Size sum;
  for (const ops::DimTerm& term : ops::terms_of(dim)) {
    Size product = term.coefficient;
    for (const ops::DimFactor& factor : term.factors)
      product = product * (factor.name.empty() ? size_of(factor.numerator) / size_of(factor.denominator)
                                               : Size::term(factor.name, 0));
    sum = sum + product;
  }
  return sum;
}

std::optional<std::vector<Span>> right_along(const Region& region, std::size_t axis) {
  const auto is_free_of_others = [&](const std::vector<Span>& box) {
    for (std::size_t i = 0; i < box.size(); ++i)
      if (i != axis && !box[i].is_whole()) return false;
    return true;
  };
  std::vector<Span> spans;
  const auto add = [&](const Span& span) {
    if (std::find(spans.begin(), spans.end(), span) == spans.end()) spans.push_back(span);
  };
  for (const auto& box : region.boxes)
    if (is_free_of_others(box)) add(box[axis]);
  if (region.boxes.empty()) return std::nullopt;
  if (spans.empty()) {
    // Each example is right somewhere else: what all boxes have in common.
    Span common = region.boxes.front()[axis];
    for (const auto& box : region.boxes) {
      const Span& span = box[axis];
      if (!span.from_start) {
        if (!common.from_start && !(common.low == span.low)) return std::nullopt;
        common.low = span.low;
        common.from_start = false;
      }
      if (!span.to_end) {
        if (!common.to_end && !(common.high == span.high)) return std::nullopt;
        common.high = span.high;
        common.to_end = false;
      }
    }
    add(common);
  }
  if (std::any_of(spans.begin(), spans.end(), [](const Span& span) { return span.is_whole(); }))
    return std::nullopt;  // right, or wrong along other axes only
  if (spans.size() > 2) return std::nullopt;
  if (spans.size() == 2) {
    if (!spans[0].from_start) std::swap(spans[0], spans[1]);
    if (!spans[0].from_start || !spans[1].to_end) return std::nullopt;
  }
  return spans;
}

namespace {

/// The parts of an output along one axis: those of the program, and those of the operator on a part of its input.
class Assembly {
 public:
  Assembly(const Source& source, const WrittenSource& operands, const Expression& program, std::size_t spatial,
           const Writer& writer, std::set<std::string>& conditions)
      : source_(source),
        operands_(operands),
        program_(program),
        spatial_(spatial),
        writer_(writer),
        conditions_(conditions) {}

  Expression along(const std::vector<Span>& right) {
    Size done;  // the end of what is assembled
    for (const Span& span : right) {
      const Size low = span.from_start ? Size(0) : size_of(span.low);
      const Size high = span.to_end ? length() : size_of(span.high);
      if (!span.from_start) add(again(done, low, false));
      need(low + 1, high);
      add(writer_.sliced(program_, axis(), low, high));
      done = high;
    }
    if (!right.back().to_end) add(again(done, length(), true));
    return *all_;
  }

 private:
  std::size_t axis() const { return 2 + spatial_; }
  const Size& length() const { return operands_.result.shape[axis()]; }

  void add(const Expression& part) { all_ = all_ ? writer_.joined(*all_, part, axis()) : part; }

  /// Assumes that one size is at most another, unless both are numbers.
  void need(const Size& low, const Size& high) {
    const Size more = high - low;
    if (!more.is_number()) conditions_.insert(more.text() + " >= 0");
  }

  /// Positions along the axis.
  struct Range {
    Size low, high;
    bool from_start = true, to_end = true;
  };

  /// Assumes that there are these elements.
  Range within(Range elements, const Size& length) {
    if (!elements.from_start) need(0, elements.low);
    if (!elements.to_end) need(elements.high, length);
    return elements;
  }

  /// The elements of an operand of this length that a window reads at these positions. The window loses the padding
  /// that it does not reach.
  Range read(const Range& range, Slide& slide, const Size& length) {
    Range elements{0, length, range.from_start, range.to_end};
    if (!range.from_start) elements.low = range.low * slide.stride - slide.before;
    if (!range.to_end)
      elements.high = (range.high - 1) * slide.stride - slide.before + slide.dilation * (slide.kernel - 1) + 1;
    if (!range.from_start) slide.before = 0;
    if (!range.to_end) slide.after = 0;
    return within(elements, length);
  }

  /// The elements of which a transposed convolution adds something to these positions, if they begin and end where
  /// elements of a part begin and end. What these add to other positions is cut off.
  Range spread_to(const Range& range, Slide& slide, const Size& length) {
    Range elements{0, length, range.from_start, range.to_end};
    // A kernel reaches at most to the end of what the next element begins.
    need(slide.before + slide.after, slide.stride);
    const Size low = range.low + slide.before, high = range.high + slide.before;
    if (!range.from_start) elements.low = low / slide.stride - 1;
    if (!range.to_end) elements.high = (high - slide.before - slide.after) / slide.stride + 1;
    const Size reached = (elements.high - 1) * slide.stride + slide.kernel;
    slide.before = low - elements.low * slide.stride;
    slide.after = reached - high;
    return within(elements, length);
  }

  /// The operator at the positions from `low` to `high`, on the elements that it reads there.
  Expression again(const Size& low, const Size& high, bool to_end) {
    Application part = operands_;
    const Size& length = operands_.x.shape[axis()];
    const Range range{low, high, low == Size(0), to_end};
    need(low + 1, high);
    Slide& slide = part.slides[spatial_];
    Range elements = range;
    if (source_.is_chain()) elements = read(elements, part.next_slides[spatial_], places(length, slide));
    elements = source_.is_transposed() ? spread_to(elements, slide, length) : read(elements, slide, length);
    for (Slide& one : part.slides) one.kernel_name.clear();
    part.x = writer_.sliced(operands_.x, axis(), elements.low, elements.high);
    return applied(source_, writer_, part);
  }

  const Source& source_;
  const WrittenSource& operands_;
  const Expression& program_;
  const std::size_t spatial_;
  const Writer& writer_;
  std::set<std::string>& conditions_;
  std::optional<Expression> all_;
};

}  // namespace

Span moved_to(const Span& span, std::size_t spatial) {
  const auto renamed = [&](ops::Dim dim) {
    return ops::substitute(dim, [&](std::string_view name) -> std::optional<ops::Dim> {
      if (name == "dim(x, 2)") return ops::Dim::symbol(fmt::format("dim(x, {})", 2 + spatial));
      if (name == "dim(w, 2)") return ops::Dim::symbol(fmt::format("dim(w, {})", 2 + spatial));
      if (name == "dim(z, 2)") return ops::Dim::symbol(fmt::format("dim(z, {})", 2 + spatial));
      if (name.size() == 2 && name[1] == '0') return ops::Dim::symbol(fmt::format("{}{}", name[0], spatial));
      return std::nullopt;
    });
  };
  return {renamed(span.low), renamed(span.high), span.from_start, span.to_end};
}

Expression corrected(const Source& source, const WrittenSource& operands, const Expression& program,
                     const std::vector<Span>& right, const Lift& lift, const Writer& writer,
                     std::set<std::string>& conditions) {
  Expression result = program;
  for (auto spatial = lift.changed.rbegin(); spatial != lift.changed.rend(); ++spatial) {
    std::vector<Span> spans;
    for (const Span& span : right) spans.push_back(moved_to(span, *spatial));
    result = Assembly(source, operands, result, *spatial, writer, conditions).along(spans);
  }
  return result;
}

std::string text_of(const std::vector<Span>& right, const Lift& lift) {
  std::vector<std::string> axes;
  for (const std::size_t spatial : lift.changed) {
    std::vector<std::string> spans;
    for (const Span& one : right) {
      const Span span = moved_to(one, spatial);
      std::string text = fmt::format("i{}", 2 + spatial);
      if (!span.from_start) text = fmt::format("{} <= {}", size_of(span.low).text(), text);
      if (!span.to_end) text += fmt::format(" < {}", size_of(span.high).text());
      spans.push_back(text);
    }
    axes.push_back(fmt::format("{}", fmt::join(spans, " or ")));
  }
  return fmt::format("{}", fmt::join(axes, axes.size() > 1 && right.size() > 1 ? "; and " : " and "));
}

double ordinary_share(const std::vector<Span>& right, const Source& source) {
  constexpr std::int64_t length = 56;
  const bool dilates = source.factor == Source::Factor::dilation;
  const auto value = [&](std::string_view name) -> std::int64_t {
    switch (name.front()) {
      case 'p':
      case 'q': return dilates ? 2 : 1;
      case 'u':
      case 'v': return 1;
      case 's':
      case 'g': return 2;
      default: break;
    }
    if (name == "d0") return 2;
    return name == "dim(x, 2)" ? length : 3;
  };
  double covered = 0;
  const std::int64_t places = source.is_transposed()                    ? 2 * length
                              : source.factor == Source::Factor::stride ? length / 2
                                                                        : length;
  for (const Span& span : right)
    covered += static_cast<double>((span.to_end ? places : span.high.evaluate(value)) -
                                   (span.from_start ? 0 : span.low.evaluate(value)));
  return covered / static_cast<double>(places);
}

}  // namespace taso::generator
