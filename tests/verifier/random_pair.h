// Random pairs of programs of the same shape that agree on a part of the output, or everywhere, or nowhere.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/random.h"

namespace taso::test {

/// Writes a rule whose source is a convolution, a pooling, a product or an element-wise operator, and whose target is
/// the same program rewritten, rightly or not.
class RandomPair {
 public:
  explicit RandomPair(std::uint64_t seed) : random_(seed) {}

  std::string rule() {
    std::string source, target;
    conditions_.clear();
    const std::size_t family = random_.below(10);
    if (family < 6)
      std::tie(source, target) = convolution();
    else if (family == 6)
      std::tie(source, target) = pooling();
    else if (family < 9)
      std::tie(source, target) = product();
    else
      std::tie(source, target) = sum();
    return fmt::format("candidate pair\n  {}\n    => {}\n  where {}", source, target, fmt::join(conditions_, ", "));
  }

 private:
  using Texts = std::vector<std::string>;
  /// A program and its shape, as terms of the rule language.
  struct Value {
    std::string text;
    Texts shape;
  };

  Value input(const std::string& name, std::size_t rank) {
    Value value{name, {}};
    for (std::size_t axis = 0; axis < rank; ++axis) value.shape.push_back(fmt::format("dim({}, {})", name, axis));
    conditions_.insert(fmt::format("rank({}) = {}", name, rank));
    return value;
  }
  bool chance(double probability) { return random_.chance(probability); }
  static std::string list(const Texts& parts) { return fmt::format("[{}]", fmt::join(parts, ", ")); }
  /// [0, …, value, …, 0]
  static std::string only(std::size_t rank, std::size_t axis, const std::string& value) {
    Texts parts(rank, "0");
    parts[axis] = value;
    return list(parts);
  }
  void need_length(const std::string& size, int least) { conditions_.insert(fmt::format("{} >= {}", size, least)); }

  // --- Rewrites that keep the shape ---

  static Value cut(const Value& x, std::size_t axis, const std::string& begin, const std::string& end) {
    Value part{fmt::format("slice[axis={}, begin={}, end={}]({})", axis, begin, end, x.text), x.shape};
    part.shape[axis] = fmt::format("({} - {})", end, begin);
    return part;
  }
  static Value padded(const Value& x, std::size_t axis, const std::string& before, const std::string& after) {
    Value whole{fmt::format("pad[before={}, after={}]({})", only(x.shape.size(), axis, before),
                            only(x.shape.size(), axis, after), x.text),
                x.shape};
    whole.shape[axis] = fmt::format("({} + {} + {})", before, x.shape[axis], after);
    return whole;
  }
  static Value joined(std::size_t axis, const Value& a, const Value& b, const Texts& shape) {
    return {fmt::format("concat[axis={}]({}, {})", axis, a.text, b.text), shape};
  }

  /// A program of the same shape: the same values, or others on a part. Only the first `axes` are long enough.
  Value changed(const Value& x, std::size_t axes) {
    const std::size_t rank = x.shape.size(), axis = random_.below(axes);
    const std::string size = x.shape[axis], some = std::to_string(random_.between(1, 2));
    const auto with_shape = [&](Value value) { return Value{std::move(value.text), x.shape}; };
    need_length(size, 4);
    switch (random_.below(8)) {
      case 0: return with_shape(padded(cut(x, axis, some, size), axis, some, "0"));                // begins with zeros
      case 1: return with_shape(padded(cut(x, axis, "0", size + " - " + some), axis, "0", some));  // ends with zeros
      case 2: return with_shape(cut(padded(x, axis, some, "0"), axis, "0", size));                 // moved
      case 3: return joined(axis, cut(x, axis, some, size), cut(x, axis, "0", some), x.shape);     // rotated
      case 4: return joined(axis, cut(x, axis, "0", some), cut(x, axis, some, size), x.shape);     // the same
      case 5: {  // twice the value on a part
        const Value part = cut(x, axis, some, size);
        return joined(axis, cut(x, axis, "0", some), {fmt::format("add({}, {})", part.text, part.text), {}}, x.shape);
      }
      case 6: {  // there and back: the same
        if (rank < 2) return x;
        Texts permutation;
        for (std::size_t i = 0; i < rank; ++i) permutation.push_back(std::to_string(i));
        std::swap(permutation[axis], permutation[(axis + 1) % rank]);
        return {fmt::format("transpose[permutation={}](transpose[permutation={}]({}))", list(permutation),
                            list(permutation), x.text),
                x.shape};
      }
      default: {  // the first two axes as one: the same, or moved across their border
        if (rank < 2) return x;
        Value flat{"", {x.shape[0] + " * " + x.shape[1]}};
        flat.shape.insert(flat.shape.end(), x.shape.begin() + 2, x.shape.end());
        flat.text = fmt::format("reshape[shape={}]({})", list(flat.shape), x.text);
        if (chance(0.4)) flat.text = cut(padded(flat, 0, "1", "0"), 0, "0", flat.shape[0]).text;
        return {fmt::format("reshape[shape={}]({})", list(x.shape), flat.text), x.shape};
      }
    }
  }
  Value perhaps_changed(const Value& x, double probability) {
    return chance(probability) ? changed(x, x.shape.size()) : x;
  }

  // --- Programs ---

  struct Window {
    std::vector<std::int64_t> kernel, strides, dilations, before, after;
    int groups = 1;
  };
  Window window(std::size_t axes) {
    Window window;
    for (std::size_t i = 0; i < axes; ++i) {
      window.kernel.push_back(random_.between(1, 3));
      window.strides.push_back(chance(0.25) ? 2 : 1);
      window.dilations.push_back(chance(0.25) ? 2 : 1);
      window.before.push_back(random_.between(0, 2));
      window.after.push_back(chance(0.5) ? window.before.back() : random_.between(0, 2));
    }
    return window;
  }
  static std::vector<std::int64_t> both(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
    std::vector<std::int64_t> all = a;
    all.insert(all.end(), b.begin(), b.end());
    return all;
  }
  static std::string attributes(const Window& window) {
    return fmt::format("strides=[{}], dilations=[{}], pads=[{}]", fmt::join(window.strides, ", "),
                       fmt::join(window.dilations, ", "), fmt::join(both(window.before, window.after), ", "));
  }
  static Texts slid(const Value& x, const std::string& channels, const Window& window) {
    Texts shape{x.shape[0], channels};
    for (std::size_t i = 0; i < window.kernel.size(); ++i) {
      const std::int64_t more = window.before[i] + window.after[i] - window.dilations[i] * (window.kernel[i] - 1) - 1;
      const std::string span = fmt::format("{} {} {}", x.shape[2 + i], more < 0 ? "-" : "+", std::abs(more));
      shape.push_back(window.strides[i] == 1 ? fmt::format("({} + 1)", span)
                                             : fmt::format("(({}) / {} + 1)", span, window.strides[i]));
    }
    return shape;
  }
  static Value conv(const Value& x, const Value& w, const Window& window) {
    return {fmt::format("conv[{}, groups={}]({}, {})", attributes(window), window.groups, x.text, w.text),
            slid(x, w.shape[0], window)};
  }

  std::pair<std::string, std::string> convolution() {
    const std::size_t axes = chance(0.6) ? 1 : 2, axis = random_.below(axes);
    const Value x = input("x", 2 + axes), w = input("w", 2 + axes);
    Window window = this->window(axes);
    if (chance(0.2)) window.groups = 2;
    if (window.groups == 2)
      conditions_.insert("dim(x, 1) = 2 * dim(w, 1)"), conditions_.insert("divides(2, dim(w, 0))");
    const std::size_t way = random_.below(8);
    const bool same = way == 3 || way == 4 || way == 5;  // ways that need an output as large as the input
    if (same) {
      window.kernel[axis] = chance(0.8) ? 3 : 1;
      window.strides[axis] = 1;
      window.dilations[axis] = way == 5 ? 2 : 1;
      window.before[axis] = window.after[axis] = window.dilations[axis] * (window.kernel[axis] - 1) / 2;
    }
    for (std::size_t i = 0; i < axes; ++i) {
      need_length(x.shape[2 + i], 8);
      conditions_.insert(fmt::format("dim(w, {}) = {}", 2 + i, window.kernel[i]));
    }
    const Value source = conv(x, w, window);
    const Value inside = perhaps_changed(x, 0.35), filters = chance(0.1) ? changed(w, 2) : w;
    Value target = conv(inside, filters, window);
    Window other = window;
    switch (way) {
      case 0:  // padding after the convolution
        if (window.strides[axis] == 1) {
          other.before[axis] = other.after[axis] = 0;
          target = padded(conv(inside, filters, other), 2 + axis, std::to_string(window.before[axis]),
                          std::to_string(window.after[axis]));
        }
        break;
      case 1:  // padding before it
        other.before[axis] = other.after[axis] = 0;
        target = conv(padded(inside, 2 + axis, std::to_string(window.before[axis]), std::to_string(window.after[axis])),
                      filters, other);
        break;
      case 2: {  // a larger kernel
        const bool first = chance(0.5);
        other.kernel[axis] += 1;
        (first ? other.before : other.after)[axis] += window.dilations[axis];
        const bool right = chance(0.7);
        target = conv(inside, padded(filters, 2 + axis, first == right ? "1" : "0", first == right ? "0" : "1"), other);
        break;
      }
      case 3: {  // two parts of the image
        const std::string at = std::to_string(random_.between(3, 4));
        const std::size_t along = 2 + axis;
        target = joined(along, conv(cut(inside, along, "0", at), filters, window),
                        conv(cut(inside, along, at, inside.shape[along]), filters, window), source.shape);
        break;
      }
      case 4:
      case 5: target = through_batch(inside, filters, window, axis, way == 5); break;
      case 6:  // groups one after the other
        if (window.groups == 2) {
          other.groups = 1;
          const std::string half = "dim(x, 1) / 2", filter = "dim(w, 0) / 2";
          const Value first = cut(inside, 1, "0", half), second = cut(inside, 1, half, "dim(x, 1)");
          target =
              joined(1, conv(first, cut(filters, 0, "0", filter), other),
                     conv(chance(0.8) ? second : first, cut(filters, 0, filter, "dim(w, 0)"), other), source.shape);
        }
        break;
      default:  // another position of the window
        if (window.before[axis] > 0) --other.before[axis], ++other.after[axis];
        target = conv(inside, filters, other);
    }
    target.shape = source.shape;
    return {source.text, perhaps_changed(target, 0.3).text};
  }

  /// An axis in two parts, or every second element, as two images.
  Value through_batch(const Value& x, const Value& w, Window window, std::size_t axis, bool interleaved) {
    const std::size_t along = 2 + axis, rank = x.shape.size();
    const std::string half = x.shape[along] + " / 2";
    conditions_.insert(fmt::format("divides(2, {})", x.shape[along]));
    // [N, C, …, 2, H/2, …] or [N, C, …, H/2, 2, …], then the 2 beside N.
    const auto split = [&](Texts shape) {
      shape[along] = interleaved ? half : "2";
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(along) + 1, interleaved ? "2" : half);
      return shape;
    };
    const std::size_t two = interleaved ? along + 1 : along;
    Texts there{"0", std::to_string(two)}, back;
    for (std::size_t i = 1; i <= rank; ++i)
      if (i != two) there.push_back(std::to_string(i));
    for (std::size_t i = 0; i <= rank; ++i)
      for (std::size_t k = 0; k <= rank; ++k)
        if (there[k] == std::to_string(i)) back.push_back(std::to_string(k));
    Texts small = x.shape;
    small[0] += " * 2";
    small[along] = half;
    const Value images{fmt::format("reshape[shape={}](transpose[permutation={}](reshape[shape={}]({})))", list(small),
                                   list(there), list(split(x.shape)), x.text),
                       small};
    if (interleaved) {
      window.dilations[axis] = 1;
      window.before[axis] /= 2;
      window.after[axis] /= 2;
    }
    const Value convolved = conv(images, w, window);
    Texts shape = convolved.shape, apart = convolved.shape;
    shape[0] = apart[0] = x.shape[0];
    shape[along] = x.shape[along];
    apart.insert(apart.begin() + 1, "2");
    apart[along + 1] = half;
    return {fmt::format("reshape[shape={}](transpose[permutation={}](reshape[shape={}]({})))", list(shape), list(back),
                        list(apart), convolved.text),
            shape};
  }

  std::pair<std::string, std::string> pooling() {
    const std::size_t axes = chance(0.5) ? 1 : 2, axis = random_.below(axes);
    const Value x = input("x", 2 + axes);
    Window window = this->window(axes);
    for (std::size_t i = 0; i < axes; ++i) {
      window.before[i] = std::min(window.before[i], window.kernel[i] - 1);
      window.after[i] = std::min(window.after[i], window.kernel[i] - 1);
      window.dilations[i] = 1;
      need_length(x.shape[2 + i], 8);
    }
    const std::size_t kind = random_.below(3);
    const auto pool = [&](const Value& value, const Window& at, bool counts) {
      return Value{
          fmt::format("{}[kernel=[{}], {}{}]({})", kind == 0 ? "max_pool" : "average_pool", fmt::join(at.kernel, ", "),
                      attributes(at), kind == 0 ? "" : fmt::format(", count_padding={}", counts), value.text),
          slid(value, value.shape[1], at)};
    };
    const Value source = pool(x, window, kind == 1);
    const Value inside = perhaps_changed(x, 0.4);
    Value target = pool(inside, window, chance(0.3) ? kind != 1 : kind == 1);
    if (chance(0.5)) {
      Window other = window;
      other.before[axis] = other.after[axis] = 0;
      const std::string before = std::to_string(window.before[axis]), after = std::to_string(window.after[axis]);
      if (chance(0.5) || window.strides[axis] > 1)
        target = pool(padded(inside, 2 + axis, before, after), other, kind == 1);
      else
        target = padded(pool(inside, other, kind == 1), 2 + axis, before, after);
    }
    target.shape = source.shape;
    return {source.text, perhaps_changed(target, 0.3).text};
  }

  std::pair<std::string, std::string> product() {
    const bool stacked = chance(0.3);
    const std::size_t rank = stacked ? 3 : 2, rows = rank - 2;
    const Value x = input("x", rank), y = input("y", rank);
    Texts shape = x.shape;
    shape.back() = y.shape.back();
    const auto multiplied = [&](const Value& a, const Value& b, const Texts& result) {
      return Value{fmt::format("matmul({}, {})", a.text, b.text), result};
    };
    if (stacked) conditions_.insert("dim(x, 0) = dim(y, 0)");
    const Value source = multiplied(x, y, shape);
    const Value a = perhaps_changed(x, 0.4), b = perhaps_changed(y, 0.2);
    const std::string at = std::to_string(random_.between(1, 2)), inner = x.shape.back();
    Value target = multiplied(a, b, shape);
    switch (random_.below(4)) {
      case 0:  // rows in two parts
        need_length(x.shape[rows], 4);
        target = joined(rows, multiplied(cut(a, rows, "0", at), b, {}),
                        multiplied(cut(x, rows, at, x.shape[rows]), b, {}), shape);
        break;
      case 1:  // columns in two parts
        need_length(y.shape.back(), 4);
        target = joined(rank - 1, multiplied(a, cut(b, rank - 1, "0", at), {}),
                        multiplied(a, cut(y, rank - 1, at, y.shape.back()), {}), shape);
        break;
      case 2:  // the sum in two parts
        need_length(inner, 4);
        target = {fmt::format("add({}, {})", multiplied(cut(a, rank - 1, "0", at), cut(b, rows, "0", at), {}).text,
                              multiplied(cut(a, rank - 1, at, inner), cut(b, rows, at, inner), {}).text),
                  shape};
        break;
      default: break;
    }
    return {source.text, perhaps_changed(target, 0.4).text};
  }

  std::pair<std::string, std::string> sum() {
    const std::size_t rank = static_cast<std::size_t>(random_.between(1, 3));
    const Value x = input("x", rank), y = input("y", rank);
    conditions_.insert("shape(x) = shape(y)");
    const char* const name = chance(0.5) ? "add" : "mul";
    const auto combined = [&](const Value& a, const Value& b) {
      return Value{fmt::format("{}({}, {})", name, a.text, b.text), x.shape};
    };
    const Value a = perhaps_changed(x, 0.8), b = perhaps_changed(y, 0.4);
    return {combined(x, y).text, perhaps_changed(combined(a, b), 0.3).text};
  }

  Random random_;
  std::set<std::string> conditions_;
};

}  // namespace taso::test
