#include "cli/details/rule_picture.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/details/layout.h"
#include "rules/language/mathematics.h"
#include "rules/language/rule_text.h"

namespace taso::cli {
namespace {

constexpr double character = 7.3, small_character = 6.4, margin = 20, between_sides = 90, line = 18;

// The colours of cli/details/page/page.css.
constexpr const char* style = R"(
  svg { --paper: #ffffff; --ink: #1b2027; --soft: #5b6572; --line: #8a94a3; --input: #e8ebf8; --input-line: #4f5f9e;
    --same: #f3f4f6; --gone: #fdf0dc; --gone-line: #b45309; --made: #dcf3ee; --made-line: #0f766e; }
  @media (prefers-color-scheme: dark) {
    svg { --paper: #14171c; --ink: #e6e9ee; --soft: #9aa5b3; --line: #808b9b; --input: #272e4d; --input-line: #a5b4f0;
      --same: #23282f; --gone: #3a2c16; --gone-line: #f0b357; --made: #12362f; --made-line: #5cd0bd; }
  }
  .paper { fill: var(--paper); }
  text { font: 13px system-ui, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif; fill: var(--ink); }
  .middle { text-anchor: middle; }
  .left { text-anchor: end; }
  .name { font-weight: 600; font-size: 15px; }
  .op { font-weight: 600; }
  .small { font-size: 11px; fill: var(--soft); }
  .edge { fill: none; stroke: var(--line); stroke-width: 1.3; }
  .tip { fill: var(--line); }
  .box { stroke: var(--line); fill: var(--same); }
  .input { stroke: var(--input-line); fill: var(--input); }
  .result { stroke: none; fill: none; }
  .gone { stroke: var(--gone-line); fill: var(--gone); }
  .made { stroke: var(--made-line); fill: var(--made); }
)";

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default: result += c;
    }
  }
  return result;
}

double characters(std::string_view text) {
  return static_cast<double>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }));
}

/// One side as boxes and edges.
struct Side {
  struct Box {
    std::string kind, title;
    std::vector<std::string> notes;  ///< below the title
    rules::Pattern pattern;          ///< what it computes; its output does not count
  };
  std::vector<Box> boxes;
  std::vector<std::pair<std::size_t, std::size_t>> edges;
  /// Of the edges: what is written beside them, and where they leave and enter, from -1 (left) to 1.
  struct Ends {
    std::string label;
    double leaves = 0, enters = 0;
  };
  std::vector<Ends> ends;
};

/// The two results of a split leave it on the left and on the right.
Side::Ends ends_of(const rules::Pattern& from, std::size_t place, std::size_t operands) {
  Side::Ends ends;
  if (from.op == "split") {
    ends.label = from.output == 0 ? "first" : "second";
    ends.leaves = from.output == 0 ? -0.4 : 0.4;
  }
  // In the order of the operands, which counts for most operators.
  if (operands > 1) ends.enters = -0.5 + static_cast<double>(place) / static_cast<double>(operands - 1);
  return ends;
}

/// Equal parts are one box, and so are the results of one operator.
std::size_t add_box(Side& side, const rules::Pattern& pattern) {
  rules::Pattern whole = pattern;
  whole.output = 0;
  for (std::size_t i = 0; i < side.boxes.size(); ++i)
    if (side.boxes[i].kind != "result" && side.boxes[i].pattern == whole) return i;
  std::vector<std::size_t> operands;
  for (const rules::PatternPtr& operand : pattern.operands) operands.push_back(add_box(side, *operand));
  Side::Box box{pattern.is_input() ? "input" : "box", pattern.is_input() ? pattern.input : pattern.op, {}, whole};
  for (const auto& [name, term] : pattern.attributes)
    box.notes.push_back(fmt::format("{} = {}", name, rules::text_of(*term)));
  side.boxes.push_back(std::move(box));
  const std::size_t place = side.boxes.size() - 1;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    side.edges.emplace_back(operands[i], place);
    side.ends.push_back(ends_of(*pattern.operands[i], i, operands.size()));
  }
  return place;
}

Side side_of(const std::vector<rules::PatternPtr>& patterns) {
  Side side;
  for (const rules::PatternPtr& pattern : patterns) add_box(side, *pattern);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const std::size_t from = add_box(side, *patterns[i]);
    side.boxes.push_back({"result", patterns.size() == 1 ? "result" : fmt::format("result {}", i + 1), {}, {}});
    side.edges.emplace_back(from, side.boxes.size() - 1);
    side.ends.push_back(ends_of(*patterns[i], 0, 1));
  }
  return side;
}

/// Colours the operators that only this side has.
void mark_changes(Side& side, const Side& other, const std::string& kind) {
  for (Side::Box& box : side.boxes)
    if (box.kind == "box" && std::none_of(other.boxes.begin(), other.boxes.end(), [&](const Side::Box& one) {
          return one.kind != "result" && one.pattern == box.pattern;
        }))
      box.kind = "box " + kind;
}

Layout layout_of(const Side& side) {
  std::vector<LayoutBox> boxes;
  for (const Side::Box& box : side.boxes) {
    LayoutBox one;
    one.width = characters(box.title) * (character + 0.9) + 24;
    for (const std::string& note : box.notes) one.width = std::max(one.width, characters(note) * small_character + 20);
    one.height = box.kind == "result" ? 20 : 28 + 15 * static_cast<double>(box.notes.size());
    boxes.push_back(one);
  }
  return lay_out(std::move(boxes), side.edges);
}

std::string drawn(const Side& side, const Layout& layout) {
  std::string text;
  for (std::size_t i = 0; i < layout.edges.size(); ++i) {
    auto path = layout.edges[i];
    const Side::Ends& ends = side.ends[i];
    path.front().first += ends.leaves * layout.boxes[side.edges[i].first].width / 2;
    path.back().first += ends.enters * layout.boxes[side.edges[i].second].width / 2;
    std::string curve = fmt::format("M{:.1f},{:.1f}", path[0].first, path[0].second);
    for (std::size_t k = 1; k < path.size(); ++k) {
      const auto& [x0, y0] = path[k - 1];
      const auto& [x1, y1] = path[k];
      if (x0 == x1)
        curve += fmt::format(" L{:.1f},{:.1f}", x1, y1);
      else
        curve +=
            fmt::format(" C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}", x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
    }
    text += fmt::format("<path class=\"edge\" marker-end=\"url(#tip)\" d=\"{}\"/>\n", curve);
    if (!ends.label.empty())
      text +=
          fmt::format("<text class=\"small{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", ends.leaves < 0 ? " left" : "",
                      path[0].first + (ends.leaves < 0 ? -8 : 8), path[0].second + 13, ends.label);
  }
  for (std::size_t i = 0; i < side.boxes.size(); ++i) {
    const Side::Box& box = side.boxes[i];
    const LayoutBox& at = layout.boxes[i];
    if (box.kind != "result")
      text +=
          fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{}\"/>\n",
                      box.kind, at.x - at.width / 2, at.y, at.width, at.height, box.kind == "input" ? 14 : 5);
    text += fmt::format("<text class=\"middle {}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n",
                        box.kind == "result" ? "small" : "op", at.x, at.y + (box.kind == "result" ? 13 : 19),
                        escaped(box.title));
    for (std::size_t k = 0; k < box.notes.size(); ++k)
      text += fmt::format("<text class=\"middle small\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", at.x,
                          at.y + 34 + 15 * static_cast<double>(k), escaped(box.notes[k]));
  }
  return text;
}

/// Lines of at most that many characters, broken at spaces.
std::vector<std::string> lines_of(const std::string& text, std::size_t most) {
  std::vector<std::string> lines{""};
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!lines.back().empty() && characters(lines.back()) + 1 + characters(word) > static_cast<double>(most))
      lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::string picture_of(const rules::Rule& rule) {
  Side source = side_of(rule.source), target = side_of(rule.target);
  mark_changes(source, side_of(rule.target), "gone");
  mark_changes(target, side_of(rule.source), "made");
  const Layout left = layout_of(source), right = layout_of(target);
  const double least = 460;
  const double width = std::max(least, left.width + between_sides + right.width) + 2 * margin;
  const auto most = static_cast<std::size_t>((width - 2 * margin) / character);

  std::string text;
  double y = margin + 12;
  const auto write = [&](const std::string& content, std::string_view kind) {
    for (const std::string& one : lines_of(content, most)) {
      text += fmt::format("<text class=\"{}\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kind, margin, y, escaped(one));
      y += line;
    }
  };
  write(rule.name, "name");
  const rules::WrittenSides sides = rules::mathematics_of(rule);
  write(fmt::format("{}  ⇒  {}", sides.source, sides.target), "math");
  std::vector<std::string> conditions;
  for (const rules::Condition& condition : rule.conditions) conditions.push_back(rules::mathematics_of(condition));
  if (!conditions.empty()) write(fmt::format("where {}", fmt::join(conditions, ", ")), "small");
  if (!rule.by.empty()) write(fmt::format("proved by {}", fmt::join(rule.by, ", ")), "small");
  y += 6;

  const double spare = (width - 2 * margin - left.width - between_sides - right.width) / 2;
  const double height = std::max(left.height, right.height), first = margin + spare;
  const double second = first + left.width + between_sides;
  text += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", first, y + (height - left.height) / 2,
                      drawn(source, left));
  text += fmt::format("<text class=\"middle name\" x=\"{:.1f}\" y=\"{:.1f}\">⇒</text>\n",
                      first + left.width + between_sides / 2, y + height / 2);
  text += fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", second, y + (height - right.height) / 2,
                      drawn(target, right));
  y += height + margin;
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" "
      "role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n"
      "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
      "orient=\"auto\"><path class=\"tip\" d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n"
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n{4}</svg>\n",
      width, y, escaped(rule.name), style, text);
}

}  // namespace taso::cli
