#include "generator/selection/select.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <tuple>
#include <utility>

#include "generator/selection/closure.h"
#include "ops/core/error.h"
#include "ops/core/random.h"
#include "ops/support/threads.h"

namespace taso::generator {
namespace {

/// A world in which compiled programs evaluate terms.
class Trial {
 public:
  Trial(const Family& family, bool larger, std::uint64_t seed, Contents contents)
      : world_(family, larger, seed, contents), programs_(world_) {
    for (std::size_t i = 0; i < world_.inputs(); ++i) inputs_.push_back(programs_.layout(world_.input(i).layout()));
  }

  bool holds(const Equality& equality) {
    for (std::size_t i = 0; i < equality.left.size(); ++i) {
      const auto left = fingerprint_of(equality.left[i]);
      if (!left || left != fingerprint_of(equality.right[i])) return false;
    }
    return true;
  }

 private:
  std::optional<Fingerprint> fingerprint_of(const SmallTerm& term) {
    struct Part {
      LayoutId layout = 0;
      std::vector<Field> contents;
    };
    std::vector<Part> parts;
    std::vector<Field> cells;
    for (const SmallTerm::Node& node : term.nodes) {
      if (node.schema == SmallTerm::Node::input) {
        parts.push_back({inputs_[node.place], world_.input(node.place).tensor.data});
        continue;
      }
      std::array<LayoutId, Form::most_operands> layouts{};
      std::array<const Field*, Form::most_operands> contents{};
      const std::size_t count = node.operands.size();
      for (std::size_t i = 0; i < count; ++i) {
        layouts[i] = parts[node.operands[i]].layout;
        contents[i] = parts[node.operands[i]].contents.data();
      }
      const Program* program = programs_.find(node.schema, std::span(layouts.data(), count));
      if (!program) return std::nullopt;
      const auto results = program->run(std::span(contents.data(), count), cells);
      std::size_t begin = 0;
      for (std::size_t output = 0; output < node.output; ++output) begin += program->sizes[output];
      const auto part = results.subspan(begin, program->sizes[node.output]);
      parts.push_back({program->result_layouts[node.output], {part.begin(), part.end()}});
    }
    return fingerprint(seed_of(programs_.layout(parts.back().layout)), parts.back().contents);
  }

  SampleInputs world_;
  Programs programs_;
  std::vector<LayoutId> inputs_;
};

/// A world of floating-point numbers.
class FloatTrial {
 public:
  FloatTrial(const Family& family, std::uint64_t seed) : world_(family, true, seed) {
    Random random(seed);
    for (std::size_t i = 0; i < world_.inputs(); ++i) {
      const Item& input = world_.input(i);
      auto& item = inputs_.emplace_back(ItemOf<double>{{input.tensor.extents, 0.0}, input.is_kernel, input.cuts});
      for (double& element : item.tensor.data) element = static_cast<double>(random.next() >> 11) * 0x1p-51 - 2;
    }
  }

  bool holds(const Equality& equality) const {
    for (std::size_t i = 0; i < equality.left.size(); ++i) {
      const auto left = evaluate<double>(equality.left[i], world_, inputs_),
                 right = evaluate<double>(equality.right[i], world_, inputs_);
      if (!left || !right || left->tensor.extents != right->tensor.extents) return false;
      const auto &expected = left->tensor.data, &got = right->tensor.data;
      for (std::size_t k = 0; k < expected.size(); ++k)
        if (!(std::abs(expected[k] - got[k]) <= 1e-9 * (1 + std::abs(expected[k])))) return false;
    }
    return true;
  }

 private:
  SampleInputs world_;
  std::vector<ItemOf<double>> inputs_;
};

/// Sorts by the operators of the larger side, as size_of() counts them for rules: what is found of one size depends on
/// nothing larger. Within one size, the smallest come first, then the most general, then the flattest.
std::vector<Closure::Ranked> in_order(const std::vector<Found>& found, const Values& values) {
  std::vector<std::uint32_t> trees, depths;
  for (const Value& value : values.all) {
    std::uint32_t tree = value.size == 0 ? 0 : 1, depth = 0;
    if (value.form.schema != Form::input)
      for (const ValueId operand : value.form.used()) {
        tree += trees[operand];
        depth = std::max(depth, depths[operand]);
      }
    trees.push_back(tree);
    depths.push_back(value.size == 0 ? 0 : depth + 1);
  }
  const auto key_of = [&](const Found& one) {
    std::uint32_t known = trees[one.known], form = 1, depth = 0;
    std::uint64_t uses = 0;
    const auto use = [&](ValueId id) {
      for (const std::uint8_t input : values[id].uses) uses |= std::uint64_t{1} << input;
    };
    use(one.known);
    for (const ValueId operand : one.form.used()) {
      form += trees[operand];
      depth = std::max(depth, depths[operand] + 1);
      use(operand);
    }
    if (one.second != Found::none) {
      known += trees[one.second];
      use(one.second);
    }
    return std::tuple(std::max(known, form), known + form, 64 - std::popcount(uses), depth + depths[one.known]);
  };
  std::vector<std::pair<std::tuple<std::uint32_t, std::uint32_t, int, std::uint32_t>, std::uint32_t>> keys;
  keys.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) keys.emplace_back(key_of(found[i]), static_cast<std::uint32_t>(i));
  std::sort(keys.begin(), keys.end());  // among equals, in the order in which they were found
  std::vector<Closure::Ranked> result;
  result.reserve(found.size());
  for (const auto& [key, place] : keys) result.push_back({found[place], static_cast<std::uint8_t>(std::get<0>(key))});
  return result;
}

/// What was decided about an equality.
enum class State : char { unconfirmed = 'u', follows = 'f', open = 'o' };

class Selector {
 public:
  Selector(const Family& family, Enumeration enumeration, const SelectOptions& options)
      : options_(options),
        ranks_(options.ranks ? *options.ranks : alone_),
        order_(in_order(std::exchange(enumeration.found, {}), enumeration.table)),
        enumeration_(std::move(enumeration)),
        closure_(family, enumeration_, order_),
        // Where signs matter, one set of contents may agree by chance.
        trials_{Trial(family, true, options.seed + 1, options.contents),
                Trial(family, true, options.seed + 2, options.contents),
                Trial(family, false, options.seed + 3, options.contents)},
        in_floats_(family, options.seed + 4) {
    enumeration_.forms = {};
  }

  Selection run() {
    const std::string stage = "selection";
    std::string states = options_.stages.load(ranks_, stage).value_or("");
    const std::size_t kept = states.size();
    for (std::size_t begin = 0; begin < order_.size(); begin += batch) {
      const std::size_t end = std::min(begin + batch, order_.size());
      if (begin == states.size()) {
        const std::string more = states_of(begin, end);
        result_.complete = !more.empty();
        if (!result_.complete) break;
        states += more;
      }
      for (std::size_t i = begin; i < end; ++i) {
        const auto rank = static_cast<std::uint32_t>(i);
        // The batch may have shown it since.
        if (begin >= kept && State{states[i]} == State::open && closure_.follows(rank, rank))
          states[i] = static_cast<char>(State::follows);
        take(rank, State{states[i]});
      }
      if (begin >= kept && end % (batches_kept * batch) == 0 && options_.stages.is_kept())
        options_.stages.save(stage, states);
      if (options_.watch) options_.watch(end, order_.size());
    }
    return std::move(result_);
  }

 private:
  static constexpr std::size_t batch = 4096, piece = 32;
  static constexpr std::size_t batches_kept = 16;  // before they are saved

  /// What this batch decides alone: it uses what was decided before. Nothing if any rank was asked to stop.
  std::string states_of(std::size_t begin, std::size_t end) {
    const Dealt dealt =
        deal(ranks_, options_.jobs, (end - begin + piece - 1) / piece, options_.stop, [&](std::size_t at) {
          std::string states;
          for (std::size_t i = begin + at * piece; i < std::min(begin + (at + 1) * piece, end); ++i)
            states += static_cast<char>(state_of(i, begin));
          return states;
        });
    std::string states;
    if (dealt.complete)
      for (const std::string& some : dealt.results) states += some;
    return states;
  }

  State state_of(std::size_t i, std::size_t limit) {
    if (closure_.follows(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(limit))) return State::follows;
    const Equality equality = equality_of(order_[i].found, enumeration_.table);
    const bool holds = std::all_of(trials_.begin(), trials_.end(), [&](Trial& trial) { return trial.holds(equality); });
    return holds && in_floats_.holds(equality) ? State::open : State::unconfirmed;
  }

  void take(std::uint32_t rank, State state) {
    switch (state) {
      case State::unconfirmed: ++result_.unconfirmed; break;
      case State::follows:
        ++result_.following;
        closure_.accept(rank);
        break;
      case State::open:
        closure_.add(rank);
        result_.equalities.push_back(equality_of(order_[rank].found, enumeration_.table));
        break;
    }
  }

  const SelectOptions& options_;
  OneRank alone_;
  Communicator& ranks_;
  const std::vector<Closure::Ranked> order_;
  Enumeration enumeration_;
  Closure closure_;
  std::array<Trial, 3> trials_;
  FloatTrial in_floats_;
  Selection result_;
};

}  // namespace

Selection select(const Family& family, Enumeration enumeration, const SelectOptions& options) {
  enumeration.table.contents = {};
  return Selector(family, std::move(enumeration), options).run();
}

}  // namespace taso::generator
