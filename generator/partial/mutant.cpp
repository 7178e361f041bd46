#include "generator/partial/mutant.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace taso::generator {

namespace {

/// Every window of x as channels: the taps are the outer part.
Expression unfolded(const Writer& writer, const Expression& x, std::size_t axis, const Slide& slide) {
  const Size length = places(x.shape[axis], slide);
  const Expression padded = writer.padded(x, axis, slide.before, slide.after);
  std::optional<Expression> all;
  for (std::int64_t tap = 0; tap < slide.kernel.value(); ++tap) {
    const Expression part = writer.sliced(padded, axis, tap, length + tap);
    all = all ? writer.joined(*all, part, 1) : part;
  }
  return *all;
}

/// The filters of two neighbouring groups, each with zeros for the other's channels.
Expression paired(const Writer& writer, const Expression& w, const Size& groups) {
  const Size filters = w.shape[0] / groups, channels = w.shape[1];
  std::vector<Size> apart{groups / 2, 2, filters}, joined{w.shape[0], 2 * channels};
  apart.insert(apart.end(), w.shape.begin() + 1, w.shape.end());
  joined.insert(joined.end(), w.shape.begin() + 2, w.shape.end());
  const Expression pairs = writer.reshaped(w, apart);
  const Expression first = writer.padded(writer.sliced(pairs, 1, 0, 1), 3, 0, channels);
  const Expression second = writer.padded(writer.sliced(pairs, 1, 1, 2), 3, channels, 0);
  return writer.reshaped(writer.joined(first, second, 1), joined);
}

/// The filters of all groups, with zeros for the channels of others. Behind each row of blocks come as many zeros as
/// there are channels; read in rows of that length, each row begins one block later.
Expression dense(const Writer& writer, const Expression& w, const Size& groups) {
  const Size filters = w.shape[0] / groups, channels = w.shape[1], all = groups * channels;
  Size taps = 1;
  for (std::size_t axis = 2; axis < w.rank(); ++axis) taps = taps * w.shape[axis];
  const Expression blocks = writer.transposed(writer.reshaped(w, {groups, filters, channels, taps}), {1, 3, 0, 2});
  const Expression rows = writer.padded(blocks, 3, 0, all);
  const Expression flat = writer.reshaped(rows, {filters, taps, groups * channels + groups * all});
  const Expression diagonal = writer.reshaped(writer.sliced(flat, 2, 0, groups * all), {filters, taps, groups, all});
  std::vector<Size> shape{w.shape[0], all};
  shape.insert(shape.end(), w.shape.begin() + 2, w.shape.end());
  return writer.reshaped(writer.transposed(diagonal, {2, 0, 3, 1}), shape);
}

Expression prepared_filters(const Recipe& recipe, const WrittenSource& operands, const Lift& lift,
                            const Writer& writer) {
  using Filters = Recipe::Filters;
  Expression w = operands.w;
  switch (recipe.filters) {
    case Filters::own: return w;
    case Filters::paired: return paired(writer, w, operands.groups);
    case Filters::dense: return dense(writer, w, operands.groups);
    case Filters::one_before:
    case Filters::one_behind: break;
  }
  std::vector<Size> one(w.rank()), none(w.rank());
  for (const std::size_t axis : lift.changed) one[2 + axis] = 1;
  const bool before = recipe.filters == Filters::one_before;
  return writer.padded(w, before ? one : none, before ? none : one);
}

Size inner_groups(const Recipe& recipe, const Size& groups) {
  if (recipe.filters == Recipe::Filters::dense) return 1;
  return recipe.filters == Recipe::Filters::paired ? groups / 2 : groups;
}

/// Whether a product exists at the sample: what fits at one may not fit at another.
bool can_multiply(const Expression& x, const Expression& y) {
  return x.shape.back().value() == y.shape[y.rank() - 2].value() &&
         (x.rank() < 3 || y.rank() < 3 || x.shape[0].value() == y.shape[0].value());
}

/// x with what the recipe puts around it, or its windows as channels. The last axis comes first, so that the taps of
/// the first are outermost, as in a kernel.
Expression prepared_operand(const Recipe& recipe, const WrittenSource& operands, const Lift& lift,
                            const Writer& writer) {
  Expression x = operands.x;
  std::vector<Size> before(x.rank()), after(x.rank());
  for (auto axis = lift.changed.rbegin(); axis != lift.changed.rend(); ++axis) {
    const Slide& slide = operands.slides[*axis];
    if (recipe.unfolds) x = unfolded(writer, x, 2 + *axis, slide);
    if (recipe.border == Recipe::Border::none) continue;
    before[2 + *axis] = slide.before;
    after[2 + *axis] = recipe.border == Recipe::Border::own ? slide.after : slide.after + 1;
  }
  return writer.padded(x, before, after);
}

/// The result without the operator's padding at both ends of the changed axes; nothing if that is not what it has more.
std::optional<Expression> trimmed(const Writer& writer, Expression result, const WrittenSource& operands,
                                  const Lift& lift) {
  for (const std::size_t axis : lift.changed) {
    const Slide& slide = operands.slides[axis];
    const Size& length = operands.result.shape[2 + axis];
    if (result.shape[2 + axis].value() != (slide.before + length + slide.after).value()) return std::nullopt;
    result = writer.sliced(result, 2 + axis, slide.before, slide.before + length);
  }
  return result;
}

/// Whether an operator has a result for these operands at the sample.
bool can_apply(const Source& source, const Application& inner) {
  const std::int64_t channels = inner.x.shape[1].value(), groups = inner.groups.value();
  const bool fits =
      source.is_transposed() ? channels == inner.w.shape[0].value() : channels == inner.w.shape[1].value() * groups;
  return fits && inner.w.shape[0].value() % groups == 0;
}

/// A convolution with the weights of a transposed one, which does the same if there is one tap.
Expression convolved(const Writer& writer, const Application& to) {
  std::vector<std::size_t> exchanged{1, 0};
  for (std::size_t axis = 2; axis < to.w.rank(); ++axis) exchanged.push_back(axis);
  return writer.convolved(to.x, writer.transposed(to.w, exchanged), to.slides, to.groups, to.bias);
}

}  // namespace

std::optional<Expression> written(const Recipe& recipe, const Source& source, const WrittenSource& operands,
                                  const Lift& lift, const Writer& writer) {
  if (!recipe.addition.parts.empty()) return written(recipe.addition, source, operands, lift, writer);
  if (recipe.convolves && lift.changed.size() < lift.axes) return std::nullopt;  // other axes have other taps
  const std::optional<Expression> operand =
      rearranged(writer, prepared_operand(recipe, operands, lift, writer), recipe.x, lift, operands.factors);
  if (!operand) return std::nullopt;
  std::optional<Expression> weights = operands.w;
  if (source.has_weights())
    weights = rearranged(writer, prepared_filters(recipe, operands, lift, writer), recipe.w, lift, operands.factors);
  if (!weights) return std::nullopt;
  if (source.is_product()) {
    if (!can_multiply(*operand, *weights)) return std::nullopt;
    const Expression product = writer.multiplied(*operand, *weights);
    if (recipe.sums) return writer.summed(product, 0);
    if (recipe.result.groups.empty()) return product;
    return rearranged(writer, product, recipe.result, lift, operands.factors);
  }

  Application inner = operands;
  inner.x = *operand;
  inner.w = *weights;
  inner.groups = inner_groups(recipe, operands.groups);
  inner.slides.clear();
  std::vector<Size> restored = operands.factors;  // what the rearrangement of the result cuts off
  for (std::size_t axis = 0, i = 0; axis < lift.axes; ++axis) {
    Slide slide = operands.slides[axis];
    const bool changes = i < lift.changed.size() && lift.changed[i] == axis;
    if (changes) {
      if (recipe.drops()) {
        restored[i++] = operands.result.shape[2 + axis];
        continue;
      }
      if (source.has_weights()) slide.kernel = weights->shape[2 + axis];
      slide.kernel_name.clear();
      if (!recipe.keeps_stride) slide.stride = 1;
      if (!recipe.keeps_dilation) slide.dilation = 1;
      if (recipe.pads == Recipe::Pads::none) slide.before = slide.after = 0;
      if (recipe.pads == Recipe::Pads::divided) {
        slide.before = slide.before / operands.factors[i];
        slide.after = slide.after / operands.factors[i];
      }
      ++i;
    }
    const std::size_t own = inner.slides.size() + 2;
    if (!slide.before.is_whole() || !slide.after.is_whole()) return std::nullopt;
    const Size count = length_of(source, operand->shape[own], slide);
    if (!count.is_whole() || count.value() < 1) return std::nullopt;
    inner.slides.push_back(slide);
  }
  if (source.has_weights() && !can_apply(source, inner)) return std::nullopt;
  // A bias for other filters is added in the end.
  const bool has_other_filters = source.has_weights() && !(filters_of(source, inner) == filters_of(source, operands));
  const bool adds_bias = has_other_filters && !operands.bias.empty();
  if (adds_bias && !source.is_transposed()) return std::nullopt;
  if (adds_bias) inner.bias.clear();
  std::optional<Expression> result = recipe.convolves ? convolved(writer, inner) : applied(source, writer, inner);
  if (!recipe.result.groups.empty()) result = rearranged(writer, *result, recipe.result, lift, restored);
  if (result && recipe.trims) result = trimmed(writer, *result, operands, lift);
  return result && adds_bias ? writer.biased(*result, operands.bias) : result;
}

namespace {

/// The axes of an image in words.
const char* axis_name(std::size_t axis) {
  static const char* const names[] = {"batch", "channels", "space"};
  return names[axis];
}

}  // namespace

std::string name_of(const Recipe& recipe, const Source& source) {
  if (!recipe.addition.parts.empty()) return name_of(recipe.addition, source);
  if (source.is_product())
    return recipe.sums ? "depth-to-batch" : recipe.x.groups.size() == 3 ? "rows-to-batch" : "columns-to-batch";
  std::vector<std::string> words;
  if (recipe.unfolds) words.emplace_back("taps-to-channels");
  if (recipe.filters == Recipe::Filters::paired) words.emplace_back("pairs-of-groups");
  if (recipe.filters == Recipe::Filters::dense) words.emplace_back("one-group");
  if (source.is_transposed() && !recipe.w.changes_nothing()) words.emplace_back("taps-to-filters");
  for (std::size_t group = 0; group < recipe.x.groups.size(); ++group)
    for (const Rearrangement::Part& part : recipe.x.groups[group])
      if (part.axis != group && part.piece != Rearrangement::Piece::rest)
        words.push_back(fmt::format("{}-to-{}", axis_name(part.axis), axis_name(group)));
  if (recipe.border == Recipe::Border::own) words.emplace_back("padded");
  if (recipe.border == Recipe::Border::own_and_one) words.emplace_back("padded-by-one-more");
  return words.empty() ? "space-reordered" : fmt::format("{}", fmt::join(words, "-"));
}

namespace {

/// Tries all recipes for one kind of operator.
class Trial {
 public:
  Trial(const Source& source, const Lift& lift, bool drops, double least_share, MutantCounts& counts,
        const std::stop_token& stop)
      : source_(source),
        lift_(lift),
        drops_(drops),
        least_share_(least_share),
        counts_(counts),
        stop_(stop),
        operands_(generator::written(source, lift, writer_, false)),
        other_(at_other_sizes(source)),
        others_(generator::written(other_, lift, writer_, false)) {
    for (const ops::Field& value : operands_.result.data->data) right_.insert(value.bits());
  }

  std::vector<Mutant> run() {
    find_operands();
    for (const Recipe& x : xs_)
      for (const Recipe& w : ws_) {
        if (stop_.stop_requested()) return {};
        Recipe recipe = w;
        recipe.border = x.border;
        recipe.unfolds = x.unfolds;
        recipe.x = x.x;
        if (is_new(recipe)) try_windows(recipe);
      }
    std::vector<Mutant> found;
    for (auto& [key, best] : best_)
      if (!best.text.empty()) found.push_back(std::move(best.mutant));
    counts_.distinct += found.size();
    return found;
  }

 private:
  struct Best {
    Mutant mutant;
    std::size_t operators = 0;
    std::string text;
  };
  /// Whether it does something to space or between axes. The other families find what only changes padding and windows,
  /// and the order of channels computes the same anyway, as does that of the planes that are pooled.
  bool is_new(const Recipe& recipe) const {
    if (is_product() || recipe.unfolds || recipe.drops()) return true;
    if (recipe.filters == Recipe::Filters::paired || recipe.filters == Recipe::Filters::dense)
      return recipe.x.changes_nothing() && recipe.w.changes_nothing();
    const auto moves_space = [](const Rearrangement& how) {
      for (std::size_t group = 0; group < how.groups.size(); ++group)
        for (const Rearrangement::Part& part : how.groups[group])
          if (part.axis != group && (part.axis == 2 || group == 2)) return true;
      return how.cut == 2;
    };
    // With other strides, a transposed convolution has other taps.
    if (source_.is_transposed() && source_.factor == Source::Factor::stride)
      return recipe.x.changes_nothing() && moves_space(recipe.w);
    return moves_space(recipe.x) && (!source_.is_transposed() || recipe.w.changes_nothing());
  }
  bool is_product() const { return source_.is_product(); }

  /// All forms of both operands that differ.
  void find_operands() {
    const std::size_t rank = is_product() ? 2 : 3, most = is_product() ? 3 : drops_ ? 2 : 3;
    std::vector<Rearrangement> all;
    for (std::size_t to = is_product() ? 2 : most; to <= most; ++to)
      for (const Rearrangement& one : all_rearrangements(rank, to)) all.push_back(one);
    std::vector<Recipe> recipes;
    const bool has_pads = source_.operation == Source::Operation::convolution && source_.before + source_.after > 0;
    for (const auto border : {Recipe::Border::none, Recipe::Border::own, Recipe::Border::own_and_one}) {
      if (border != Recipe::Border::none && !has_pads) continue;
      for (const Rearrangement& one : all) {
        Recipe recipe;
        recipe.border = border;
        recipe.x = one;
        recipes.push_back(recipe);
      }
    }
    if (source_.has_fixed_kernel && source_.kernel > 1)
      for (const Rearrangement& one : all) {
        Recipe recipe;
        recipe.unfolds = true;
        recipe.x = one;
        recipes.push_back(recipe);
      }
    xs_ = different(recipes, [&](const Recipe& recipe) { return operand(recipe); });
    if (!source_.has_weights()) {
      ws_.emplace_back();
    } else {
      recipes.clear();
      using Filters = Recipe::Filters;
      for (const auto filters :
           {Filters::own, Filters::one_before, Filters::one_behind, Filters::paired, Filters::dense}) {
        const bool is_wider = filters == Filters::paired || filters == Filters::dense;
        if (is_wider && !source_.is_grouped) continue;
        const bool has_other_taps =
            source_.operation == Source::Operation::convolution && !drops_ && source_.kernel > 1;
        if (!is_wider && filters != Filters::own && !has_other_taps) continue;
        for (const Rearrangement& one : all) {
          if (source_.is_chain() && !one.changes_nothing()) continue;  // two operators share what is moved
          Recipe recipe;
          recipe.filters = filters;
          recipe.w = one;
          recipes.push_back(recipe);
        }
      }
      ws_ = different(recipes, [&](const Recipe& recipe) { return weights(recipe); });
    }
    counts_.operands += xs_.size() + ws_.size();
  }

  template <class Make>
  std::vector<Recipe> different(const std::vector<Recipe>& recipes, const Make& make) const {
    struct Form {
      std::size_t operators = 0;
      Recipe recipe;
    };
    std::map<std::uint64_t, Form> forms;
    std::vector<std::uint64_t> order;
    for (const Recipe& recipe : recipes) {
      const std::optional<Expression> value = make(recipe);
      if (!value) continue;
      const std::uint64_t hash = hash_of(*value);
      const std::size_t operators = operators_in(value->text);
      const auto [place, is_new] = forms.try_emplace(hash, Form{operators, recipe});
      if (is_new)
        order.push_back(hash);
      else if (operators < place->second.operators)
        place->second = {operators, recipe};
    }
    std::vector<Recipe> result;
    for (const std::uint64_t hash : order) result.push_back(forms[hash].recipe);
    return result;
  }

  std::optional<Expression> operand(const Recipe& recipe) const {
    return rearranged(writer_, prepared_operand(recipe, operands_, lift_, writer_), recipe.x, lift_, operands_.factors);
  }

  /// Nothing if a filter is not one of the kernel's with zeros: no sum of its products is a number of the result.
  std::optional<Expression> weights(const Recipe& recipe) const {
    const std::optional<Expression> result =
        rearranged(writer_, prepared_filters(recipe, operands_, lift_, writer_), recipe.w, lift_, operands_.factors);
    // A transposed convolution adds up only some of the taps.
    if (!result || is_product() || source_.is_transposed()) return result;
    const auto filters = [](const ops::Tensor<ops::Field>& data) {
      std::vector<std::vector<std::uint64_t>> all(static_cast<std::size_t>(data.extents[0]));
      const std::size_t size = data.data.size() / all.size();
      for (std::size_t i = 0; i < data.data.size(); ++i)
        if (data.data[i].bits() != 0) all[i / size].push_back(data.data[i].bits());
      for (auto& filter : all) std::sort(filter.begin(), filter.end());
      return all;
    };
    const auto own = filters(*operands_.w.data);
    for (const auto& filter : filters(*result->data))
      if (std::find(own.begin(), own.end(), filter) == own.end()) return std::nullopt;
    return result;
  }

  void try_windows(Recipe recipe) {
    if (is_product()) {
      for (const bool sums : {false, true}) {
        if ((recipe.x.groups.size() == 3) != (recipe.w.groups.size() == 3) && sums) continue;
        if (sums && recipe.x.groups.size() != 3) continue;
        recipe.sums = sums;
        try_recipe(recipe);
      }
      return;
    }
    const bool has_pads = source_.before + source_.after > 0;
    const auto both = [](bool is_free) { return is_free ? std::vector<bool>{false, true} : std::vector<bool>{false}; };
    for (const auto pads : {Recipe::Pads::none, Recipe::Pads::own, Recipe::Pads::divided}) {
      if (pads != Recipe::Pads::none && (!has_pads || drops_)) continue;
      if (pads != Recipe::Pads::own && source_.is_chain()) continue;
      if (pads == Recipe::Pads::divided && source_.factor == Source::Factor::two) continue;
      for (const bool strides : both(source_.has_stride() && !drops_))
        for (const bool dilates : both(source_.factor == Source::Factor::dilation && !drops_)) {
          recipe.pads = pads;
          recipe.keeps_stride = strides;
          recipe.keeps_dilation = dilates;
          recipe.convolves = source_.is_transposed() && source_.kernel == source_.step && !strides;
          try_recipe(recipe);
        }
    }
  }

  void try_recipe(Recipe recipe) {
    const std::optional<Expression> inner = generator::written(recipe, source_, operands_, lift_, writer_);
    if (!inner) return;
    ++counts_.tried;
    if (recipe.sums)
      judge(recipe, *inner, *inner);
    else if (is_promising(*inner))
      arrange(recipe, *inner);
  }

  bool is_promising(const Expression& inner) {
    if (source_.has_weights()) {
      std::unordered_set<std::uint64_t> found;
      for (const ops::Field& value : inner.data->data)
        if (right_.contains(value.bits())) found.insert(value.bits());
      if (static_cast<double>(found.size()) < least_share_ * static_cast<double>(right_.size())) return false;
    }
    ++counts_.promising;
    return true;
  }

  /// Tries all rearrangements of the result.
  void arrange(Recipe recipe, const Expression& inner) {
    std::vector<Size> factors = operands_.factors;
    if (drops_)
      for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = operands_.result.shape[2 + lift_.changed[i]];
    std::vector<Rearrangement>& all = rearrangements_[inner.rank()];
    const std::size_t from = is_product() ? inner.rank() : drops_ ? 2 : 3;
    if (all.empty()) all = all_rearrangements(from, is_product() ? 2 : 3);
    const ops::Extents& wanted = operands_.result.data->extents;
    const Writer sizes(false);
    for (const Rearrangement& how : all) {
      // Most have another shape, which is found without moving anything.
      for (const bool trims : {false, true}) {
        // With its own stride, an operator would cut off the same.
        if (trims && (!source_.is_transposed() || recipe.keeps_stride)) continue;
        const auto arranged = [&](const Writer& writer) {
          const std::optional<Expression> whole = rearranged(writer, inner, how, lift_, factors);
          return whole && trims ? trimmed(writer, *whole, operands_, lift_) : whole;
        };
        const std::optional<Expression> shape = arranged(sizes);
        if (!shape || shape->rank() != wanted.size()) continue;
        bool fits = true;
        for (std::size_t i = 0; i < wanted.size(); ++i) fits = fits && shape->shape[i].value() == wanted[i];
        if (!fits) continue;
        recipe.result = how;
        recipe.trims = trims;
        judge(recipe, inner, *arranged(writer_));
      }
    }
  }

  void judge(const Recipe& recipe, const Expression& inner, const Expression& result) {
    if (inner.text == operands_.result.text) return;
    const double share = equal_share(result, operands_.result);
    if (share < least_share_) return;
    ++counts_.agreeing;
    // The same work: the same operator on operands of the same shapes.
    const std::string key =
        fmt::format("{} {} {} {} {} {}", inner.data->extents, name_of(recipe, source_), static_cast<int>(recipe.pads),
                    recipe.keeps_stride, recipe.keeps_dilation, recipe.sums);
    const std::size_t operators = operators_in(result.text);
    Best& best = best_[key];
    const auto rank = [](double right_share, std::size_t count, const std::string& text) {
      return std::tuple(-right_share, count, text);
    };
    if (!best.text.empty() && rank(share, operators, result.text) >= rank(best.mutant.share, best.operators, best.text))
      return;
    const std::optional<Expression> again = generator::written(recipe, other_, others_, lift_, writer_);
    if (!again || equal_share(*again, others_.result) < least_share_)
      ++counts_.by_chance;
    else
      best = {{recipe, share}, operators, result.text};
  }

  const Source& source_;
  const Lift& lift_;
  const bool drops_;
  const double least_share_;
  MutantCounts& counts_;
  const std::stop_token& stop_;
  Writer writer_{true};
  WrittenSource operands_;
  const Source other_;
  const WrittenSource others_;               // at other sizes
  std::unordered_set<std::uint64_t> right_;  // the numbers of the result
  std::vector<Recipe> xs_, ws_;
  std::map<std::size_t, std::vector<Rearrangement>> rearrangements_;  // of results, by rank
  std::map<std::string, Best> best_;
};

}  // namespace

std::vector<Mutant> mutants_of(const Source& source, const Lift& lift, bool drops, double least_share,
                               MutantCounts& counts, const std::stop_token& stop) {
  std::vector<Mutant> found;
  if (!source.only_sums) found = Trial(source, lift, drops, least_share, counts, stop).run();
  if (drops) return found;
  for (const FoundAddition& one : additions_of(source, lift, least_share, counts, stop)) {
    Recipe recipe;
    recipe.addition = one.addition;
    found.push_back({recipe, one.share});
  }
  return found;
}

}  // namespace taso::generator
