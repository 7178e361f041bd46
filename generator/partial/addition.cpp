#include "generator/partial/addition.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace taso::generator {

namespace {

using Cut = Addition::Cut;
using Addend = Addition::Part;

/// Nothing if the slice is empty at the sample.
std::optional<Expression> sliced(const Writer& writer, const Expression& x, std::size_t axis, const Size& begin,
                                 const Size& end) {
  const Size length = end - begin;
  if (!length.is_whole() || length.value() < 1) return std::nullopt;
  writer.assume(length - 1);
  return writer.sliced(x, axis, begin, end);
}

/// The part of an operand before or behind a point of an axis.
std::optional<Expression> cut_at(const Writer& writer, const Expression& x, std::size_t axis, const Size& point,
                                 bool is_second) {
  return is_second ? sliced(writer, x, axis, point, x.shape[axis]) : sliced(writer, x, axis, 0, point);
}

/// `before` more elements than it has before it, and as many behind it as the length needs: zeros. Fewer are cut off.
std::optional<Expression> moved(const Writer& writer, const Expression& x, std::size_t axis, const Size& before,
                                const Size& length) {
  const Size after = length - x.shape[axis] - before;
  const auto more = [&](const Size& size) { return size.value() > 0 ? size : Size(0); };
  const Size none(0);
  const std::optional<Expression> kept =
      sliced(writer, x, axis, more(none - before), x.shape[axis] - more(none - after));
  if (!kept) return std::nullopt;
  for (const Size& size : {before, after}) writer.assume(size.value() > 0 ? size : none - size);
  return writer.padded(*kept, axis, more(before), more(after));
}

/// The parts of one program, written.
class Addends {
 public:
  Addends(const Addition& addition, const Source& source, const WrittenSource& operands, const Lift& lift,
          const Writer& writer)
      : addition_(addition), source_(source), operands_(operands), lift_(lift), writer_(writer) {}

  /// The part of each axis is given by its place among the parts.
  std::optional<Expression> written(const std::vector<std::size_t>& places, const std::string& bias) const {
    std::optional<Expression> part = addition_.filters ? own_filters(places) : own_operator(places, bias);
    for (std::size_t i = 0; i < lift_.changed.size() && part; ++i) {
      const std::size_t axis = 2 + lift_.changed[i];
      part = moved(writer_, *part, axis, distance(i, places[i]), operands_.result.shape[axis]);
    }
    return part;
  }

  /// Whether the part is where its operator computes it: the bias of others would be moved too.
  bool stays(const std::vector<std::size_t>& places) const {
    if (addition_.filters) return false;
    return std::none_of(places.begin(), places.end(), [&](std::size_t place) {
      return addition_.parts[place].moves != 0 || addition_.parts[place].moves_by_padding;
    });
  }

  std::size_t axes() const { return std::max<std::size_t>(1, lift_.changed.size()); }

 private:
  Size distance(std::size_t i, std::size_t place) const {
    const Addend& part = addition_.parts[place];
    return (part.moves_by_padding ? operands_.slides[lift_.changed[i]].before : Size(0)) + part.moves;
  }

  /// One operator for all parts: the taps of the kernel are filters, those of one tap after those of another.
  std::optional<Expression> own_filters(const std::vector<std::size_t>& places) const {
    std::vector<Size> kernel;
    for (const std::size_t axis : lift_.changed) kernel.push_back(operands_.slides[axis].kernel);
    const std::optional<Expression> weights = rearranged(writer_, operands_.w, *addition_.filters, lift_, kernel);
    if (!weights || weights->shape[1].value() != operands_.w.shape[1].value()) return std::nullopt;
    Application inner = operands_;
    inner.w = *weights;
    inner.bias.clear();
    std::size_t place = 0;
    for (std::size_t i = 0; i < lift_.changed.size(); ++i) {
      Slide& slide = inner.slides[lift_.changed[i]];
      slide = {};
      slide.kernel = weights->shape[2 + lift_.changed[i]];
      if (slide.kernel.value() != 1) return std::nullopt;
      place = place * addition_.parts.size() + places[i];
    }
    const Size& filters = operands_.w.shape[0];
    const auto first = static_cast<std::int64_t>(place);
    return sliced(writer_, applied(source_, writer_, inner), 1, first * filters, (first + 1) * filters);
  }

  std::optional<Expression> own_operator(const std::vector<std::size_t>& places, const std::string& bias) const {
    Application inner = operands_;
    inner.bias = bias;
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Addend& part = addition_.parts[places[i]];
      const std::size_t spatial = lift_.changed.empty() ? 0 : lift_.changed[i];
      if (part.x && !cut(inner.x, *part.x, spatial, operands_.x.shape)) return std::nullopt;
      if (part.w && !cut(inner.w, *part.w, spatial, {})) return std::nullopt;
      if (source_.is_product()) continue;
      Slide& slide = inner.slides[spatial];
      slide.kernel = inner.w.shape[2 + spatial];
      if (!part.pads_before) slide.before = 0;
      if (!part.pads_after) slide.after = 0;
      if (places_of(inner, spatial).value() < 1) return std::nullopt;
      if (places.size() > 1 && part.w && !part.w->is_spatial()) return std::nullopt;  // cut only once
    }
    if (source_.is_product()) {
      if (inner.x.shape[1].value() != inner.w.shape[0].value()) return std::nullopt;
    } else if (!(inner.x.shape[1] == inner.w.shape[1] * inner.groups) || !(inner.w.shape[0] == operands_.w.shape[0])) {
      return std::nullopt;
    }
    const Expression result = applied(source_, writer_, inner);
    if (!source_.is_product() && !(result.shape[0] == operands_.result.shape[0])) return std::nullopt;
    return result;
  }

  static Size places_of(const Application& inner, std::size_t spatial) {
    return places(inner.x.shape[2 + spatial], inner.slides[spatial]);
  }

  /// `of_x` is not empty if it is x that is cut. False if nothing is left.
  bool cut(Expression& operand, const Cut& how, std::size_t spatial, const std::vector<Size>& of_x) const {
    const std::size_t axis = how.is_spatial() ? 2 + spatial : how.axis;
    Size point = operand.shape[axis] / 2;
    if (how.is_spatial() && !of_x.empty()) point = how.is_second ? Size(1) : operand.shape[axis] - 1;
    if (how.is_spatial() && of_x.empty()) point = operands_.slides[spatial].before + (addition_.has_one_more ? 1 : 0);
    if (!point.is_whole() || point.value() < 1) return false;
    const std::optional<Expression> part = cut_at(writer_, operand, axis, point, how.is_second);
    if (part) operand = *part;
    return part.has_value();
  }

  const Addition& addition_;
  const Source& source_;
  const WrittenSource& operands_;
  const Lift& lift_;
  const Writer& writer_;
};

/// The next choice of one part per axis; false after the last.
bool advance(std::vector<std::size_t>& places, std::size_t parts) {
  for (std::size_t i = places.size(); i > 0; --i) {
    if (++places[i - 1] < parts) return true;
    places[i - 1] = 0;
  }
  return false;
}

}  // namespace

std::optional<Expression> written(const Addition& addition, const Source& source, const WrittenSource& operands,
                                  const Lift& lift, const Writer& writer) {
  const Addends parts(addition, source, operands, lift, writer);
  std::vector<std::size_t> places(parts.axes());
  std::optional<Expression> sum;
  std::string bias = operands.bias;
  do {
    const bool has_bias = !bias.empty() && parts.stays(places);
    const std::optional<Expression> part = parts.written(places, has_bias ? bias : "");
    if (!part) return std::nullopt;
    if (has_bias) bias.clear();
    if (sum && sum->shape.size() != part->shape.size()) return std::nullopt;
    sum = sum ? writer.added(*sum, *part) : *part;
  } while (advance(places, addition.parts.size()));
  return bias.empty() ? *sum : writer.biased(*sum, bias);
}

std::string name_of(const Addition& addition, const Source& source) {
  if (addition.filters) return "taps-to-filters-added";
  const Cut& cut = *addition.parts[0].w;
  if (cut.is_spatial()) return addition.has_one_more ? "taps-to-the-middle-added" : "taps-before-the-middle-added";
  if (source.is_product()) return cut.axis == 0 ? "depth-added" : "columns-added";
  return cut.axis == 1 ? "channels-added" : "filters-added";
}

namespace {

/// Tries all additions for one kind of operator.
class AdditionTrial {
 public:
  AdditionTrial(const Source& source, const Lift& lift, double least_share, MutantCounts& counts)
      : source_(source),
        lift_(lift),
        least_share_(least_share),
        counts_(counts),
        operands_(generator::written(source, lift, writer_, false)),
        other_(at_other_sizes(source)),
        others_(generator::written(other_, lift, writer_, false)) {}

  std::vector<FoundAddition> run(const std::stop_token& stop) {
    for (const std::size_t axis : {std::size_t{0}, std::size_t{1}, std::size_t{2}}) {
      if (axis == 2 && (source_.is_product() || source_.kernel < 2)) continue;
      try_cuts(axis, false);
      if (axis == 2) try_cuts(axis, true);
      if (stop.stop_requested()) return {};
    }
    if (source_.has_fixed_kernel && source_.kernel > 1) try_filters();
    std::vector<FoundAddition> found;
    for (const auto& [name, best] : best_) {
      if (best.right) found.push_back({best.right->addition, 1});
      if (best.partly && (!best.right || best.partly->operators < best.right->operators))
        found.push_back({best.partly->addition, best.partly->share});
    }
    counts_.distinct += found.size();
    return found;
  }

 private:
  struct Candidate {
    Addend part;
    Expression value;
  };
  struct Best {
    Addition addition;
    double share = 0;
    std::size_t operators = 0;
    std::string text;
    auto rank() const { return std::tuple(-share, operators, text); }
  };

  /// Two operators, each with a part of w.
  void try_cuts(std::size_t axis, bool has_one_more) {
    std::array<std::vector<Candidate>, 2> candidates;
    for (const bool is_second : {false, true})
      candidates[is_second ? 1 : 0] = parts_with({axis, is_second}, has_one_more);
    for (const Candidate& first : candidates[0])
      for (const Candidate& second : candidates[1]) {
        ++counts_.tried;
        if (sum_share({&first, &second}) >= least_share_)
          judge({{first.part, second.part}, has_one_more, std::nullopt});
      }
  }

  /// All operators with this part of w that compute something different.
  std::vector<Candidate> parts_with(const Cut& of_w, bool has_one_more) {
    std::vector<std::optional<Cut>> of_x{std::nullopt};
    for (std::size_t axis = 0; axis < operands_.x.rank(); ++axis)
      for (const bool is_second : {false, true}) of_x.push_back(Cut{axis, is_second});
    std::vector<Addend> parts;
    const std::vector<bool> free = source_.is_product() ? std::vector<bool>{false} : std::vector<bool>{false, true};
    const std::vector<std::int64_t> distances =
        source_.is_product() ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, -1, 1};
    for (const auto& x : of_x)
      for (const bool before : free)
        for (const bool after : free)
          for (const bool by_padding : free)
            for (const std::int64_t moves : distances) parts.push_back({x, of_w, before, after, by_padding, moves});
    return different(parts, has_one_more, std::nullopt);
  }

  /// The parts that compute something different, each in the form with the fewest operators.
  std::vector<Candidate> different(const std::vector<Addend>& parts, bool has_one_more,
                                   const std::optional<Rearrangement>& filters, std::size_t place = 0) {
    std::map<std::uint64_t, std::size_t> known;
    std::vector<Candidate> result;
    for (const Addend& part : parts) {
      Addition alone{std::vector<Addend>(place + 1, part), has_one_more, filters};
      if (filters) alone.parts.resize(static_cast<std::size_t>(source_.kernel), part);
      const std::optional<Expression> value = Addends(alone, source_, operands_, lift_, writer_).written({place}, "");
      if (!value || value->data->extents != operands_.result.data->extents) continue;
      const auto [found, is_new] = known.try_emplace(hash_of(*value), result.size());
      if (is_new)
        result.push_back({part, *value});
      else if (operators_in(value->text) < operators_in(result[found->second].value.text))
        result[found->second] = {part, *value};
    }
    counts_.operands += result.size();
    return result;
  }

  /// One operator whose filters are the taps; each part of its result is moved.
  void try_filters() {
    for (const Rearrangement& how : all_rearrangements(3, 3)) {
      const auto taps = static_cast<std::size_t>(source_.kernel);
      std::vector<std::vector<Candidate>> candidates;
      for (std::size_t tap = 0; tap < taps; ++tap) {
        std::vector<Addend> parts;
        for (std::int64_t moves = 1 - source_.kernel; moves < source_.kernel; ++moves) {
          Addend part;
          part.moves = moves;
          parts.push_back(part);
        }
        candidates.push_back(different(parts, false, how, tap));
        if (candidates.back().empty()) break;
      }
      if (candidates.size() < taps || candidates.back().empty()) continue;
      std::vector<std::size_t> choice(taps);
      do {
        std::vector<const Candidate*> chosen;
        Addition addition{{}, false, how};
        for (std::size_t tap = 0; tap < taps; ++tap) {
          chosen.push_back(&candidates[tap][choice[tap]]);
          addition.parts.push_back(chosen.back()->part);
        }
        ++counts_.tried;
        if (sum_share(chosen) >= least_share_) judge(addition);
      } while (advance(choice, candidates[0].size()));
    }
  }

  /// The share of positions at which the sum is right; 0 if it is less than what is wanted.
  double sum_share(const std::vector<const Candidate*>& parts) const {
    const std::vector<ops::Field>& right = operands_.result.data->data;
    const auto most = static_cast<std::size_t>((1 - least_share_) * static_cast<double>(right.size()));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
      ops::Field sum = parts[0]->value.data->data[i];
      for (std::size_t k = 1; k < parts.size(); ++k) sum = sum + parts[k]->value.data->data[i];
      if (!(sum == right[i]) && ++wrong > most) return 0;
    }
    return 1 - static_cast<double>(wrong) / static_cast<double>(right.size());
  }

  void judge(const Addition& addition) {
    ++counts_.promising;
    const std::optional<Expression> sum = generator::written(addition, source_, operands_, lift_, writer_);
    if (!sum) return;
    const Best found{addition, equal_share(*sum, operands_.result), operators_in(sum->text), sum->text};
    if (found.share < least_share_) return;
    ++counts_.agreeing;
    Pair& pair = best_[name_of(addition, source_)];
    std::optional<Best>& best = found.share == 1 ? pair.right : pair.partly;
    if (best && found.rank() >= best->rank()) return;
    const std::optional<Expression> again = generator::written(addition, other_, others_, lift_, writer_);
    if (!again || equal_share(*again, others_.result) < least_share_)
      ++counts_.by_chance;
    else
      best = found;
  }

  struct Pair {
    std::optional<Best> right, partly;
  };
  const Source& source_;
  const Lift& lift_;
  const double least_share_;
  MutantCounts& counts_;
  const Writer writer_{true};
  const WrittenSource operands_;
  const Source other_;
  const WrittenSource others_;        // at other sizes
  std::map<std::string, Pair> best_;  // by name
};

}  // namespace

std::vector<FoundAddition> additions_of(const Source& source, const Lift& lift, double least_share,
                                        MutantCounts& counts, const std::stop_token& stop) {
  const bool is_tried = source.is_product() ||
                        (source.operation == Source::Operation::convolution && source.factor == Source::Factor::two);
  if (!is_tried || stop.stop_requested()) return {};
  return AdditionTrial(source, lift, least_share, counts).run(stop);
}

}  // namespace taso::generator
