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

}  // namespace

Selection select(const Family& family, Enumeration enumeration, const SelectOptions& options) {
  const auto order = in_order(std::exchange(enumeration.found, {}), enumeration.table);
  enumeration.table.contents = {};
  Closure closure(family, enumeration, order);
  enumeration.forms = {};
  // Where signs matter, one set of contents may agree by chance.
  std::array<Trial, 3> trials{Trial(family, true, options.seed + 1, options.contents),
                              Trial(family, true, options.seed + 2, options.contents),
                              Trial(family, false, options.seed + 3, options.contents)};
  const FloatTrial in_floats(family, options.seed + 4);
  Selection result;
  enum class State : std::uint8_t { unconfirmed, follows, open };
  constexpr std::size_t batch = 4096, piece = 32;
  for (std::size_t begin = 0; begin < order.size() && !options.stop.stop_requested(); begin += batch) {
    const std::size_t end = std::min(begin + batch, order.size());
    std::vector<State> states(end - begin, State::unconfirmed);
    parallel_for(options.jobs, (end - begin + piece - 1) / piece, options.stop, [&](std::size_t at) {
      for (std::size_t i = begin + at * piece; i < std::min(begin + (at + 1) * piece, end); ++i) {
        if (closure.follows(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(begin))) {
          states[i - begin] = State::follows;
        } else {
          const Equality equality = equality_of(order[i].found, enumeration.table);
          if (std::all_of(trials.begin(), trials.end(), [&](Trial& trial) { return trial.holds(equality); }) &&
              in_floats.holds(equality))
            states[i - begin] = State::open;
        }
      }
    });
    for (std::size_t i = begin; i < end; ++i) {
      const auto rank = static_cast<std::uint32_t>(i);
      State& state = states[i - begin];
      if (state == State::open && closure.follows(rank, rank)) state = State::follows;
      switch (state) {
        case State::unconfirmed: ++result.unconfirmed; break;
        case State::follows:
          ++result.following;
          closure.accept(rank);
          break;
        case State::open:
          closure.add(rank);
          result.equalities.push_back(equality_of(order[i].found, enumeration.table));
          break;
      }
    }
    if (options.watch) options.watch(end, order.size());
  }
  return result;
}

}  // namespace taso::generator
