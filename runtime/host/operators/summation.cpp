// Einsum: products of operands with named axes, summed over the names that are not in the result.
#include <map>

#include "runtime/host/families.h"
#include "runtime/host/loops.h"

namespace taso::runtime {
namespace {

// A letter, or an axis of the ellipsis, numbered from the end so that shorter ones are aligned to the right.
using Label = int;
using Labels = std::vector<Label>;

constexpr std::string_view ellipsis = "...";

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Equation {
  std::vector<std::string> operands;
  std::optional<std::string> result;
};

Equation parse(const HostCall& call) {
  std::string text;
  for (const char c : call.attributes.text("equation", ""))
    if (c != ' ') text += c;
  Equation equation;
  if (const auto arrow = text.find("->"); arrow != std::string::npos) {
    equation.result = text.substr(arrow + 2);
    text.resize(arrow);
  }
  for (std::size_t start = 0;;) {
    const auto comma = text.find(',', start);
    equation.operands.push_back(text.substr(start, comma - start));
    if (comma == std::string::npos) break;
    start = comma + 1;
  }
  return equation;
}

// The labels of a term; `covered` is the number of axes of its ellipsis.
Labels labels_of(const HostCall& call, const std::string& term, std::size_t covered) {
  Labels labels;
  bool seen = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, ellipsis.size(), ellipsis) == 0) {
      require(call, !seen, "has two ellipses in one term");
      seen = true;
      for (std::size_t k = covered; k > 0; --k) labels.push_back(-static_cast<Label>(k));
      i += ellipsis.size() - 1;
    } else {
      require(call, is_letter(term[i]), "has an equation that does not parse");
      labels.push_back(term[i]);
    }
  }
  return labels;
}

struct Operand {
  Array array;
  Labels labels;
};

struct Problem {
  std::vector<Operand> operands;
  Labels result;
  std::map<Label, std::int64_t> extents;
};

Problem read(const HostCall& call) {
  const Equation equation = parse(call);
  require(call, equation.operands.size() == call.inputs.size(), "has an equation for another number of operands");
  Problem problem;
  std::size_t widest = 0;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::string& term = equation.operands[i];
    const Array& array = call.input(i);
    const bool has_ellipsis = term.find(ellipsis) != std::string::npos;
    const std::size_t letters = term.size() - (has_ellipsis ? ellipsis.size() : 0);
    require(call, letters <= array.rank() && (has_ellipsis || letters == array.rank()), "has a term of another rank");
    const std::size_t covered = array.rank() - letters;
    widest = std::max(widest, covered);
    problem.operands.push_back({array, labels_of(call, term, covered)});
    for (std::size_t d = 0; d < array.rank(); ++d) {
      std::int64_t& extent = problem.extents.try_emplace(problem.operands.back().labels[d], 1).first->second;
      const std::int64_t own = array.extents()[d];
      require(call, extent == own || extent == 1 || own == 1, "has an axis of two different lengths");
      if (own != 1) extent = own;
    }
  }
  if (equation.result) {
    problem.result = labels_of(call, *equation.result, widest);
    for (std::size_t i = 0; i < problem.result.size(); ++i) {
      require(call, problem.extents.count(problem.result[i]) == 1, "has a result axis that no operand has");
      require(call, std::count(problem.result.begin(), problem.result.end(), problem.result[i]) == 1,
              "repeats an axis in its result");
    }
    return problem;
  }
  // Without an arrow: the ellipsis, then the letters that occur once, in order.
  std::map<Label, int> occurrences;
  for (const Operand& operand : problem.operands)
    for (const Label label : operand.labels) ++occurrences[label];
  for (const auto& [label, times] : occurrences)
    if (label < 0 || times == 1) problem.result.push_back(label);
  return problem;
}

// The strides of an operand along `labels`: a repeated name walks the diagonal.
Strides strides_along(const Operand& operand, const Labels& labels) {
  const Strides own = strides_of(operand.array.extents());
  Strides strides(labels.size(), 0);
  for (std::size_t i = 0; i < labels.size(); ++i)
    for (std::size_t d = 0; d < operand.labels.size(); ++d)
      if (operand.labels[d] == labels[i] && operand.array.extents()[d] != 1) strides[i] += own[d];
  return strides;
}

template <class T>
Operand contract(const Operand& a, const Operand& b, const Labels& kept, const std::map<Label, std::int64_t>& sizes) {
  Labels all = kept;
  for (const Operand* operand : {&a, &b})
    for (const Label label : operand->labels)
      if (std::find(all.begin(), all.end(), label) == all.end()) all.push_back(label);
  Extents extents;
  for (const Label label : all) extents.push_back(sizes.at(label));
  Operand result{
      Array(element_type_of<T>, Extents(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(kept.size()))),
      kept};
  const auto to = result.array.mutable_values<T>();
  std::fill(to.begin(), to.end(), T{0});
  Strides target = strides_of(result.array.extents());
  target.resize(all.size(), 0);
  const T* const left = a.array.values<T>().data();
  const T* const right = b.array.values<T>().data();
  for_each_row<3>(extents, {target, strides_along(a, all), strides_along(b, all)},
                  [&](const auto& at, const auto& step, std::int64_t number) {
                    for (std::int64_t i = 0; i < number; ++i) {
                      T& sum = to[static_cast<std::size_t>(at[0] + i * step[0])];
                      sum = wrapping_add(sum, wrapping_multiply(left[at[1] + i * step[1]], right[at[2] + i * step[2]]));
                    }
                  });
  return result;
}

std::vector<Array> einsum(const HostCall& call) {
  require(call, !call.inputs.empty(), "takes at least one operand");
  require_same_type(call, 0, call.inputs.size());
  return through_float(call, [](const HostCall& wide) {
    const Problem problem = read(wide);
    return with_number(wide, wide.input(0).type(), [&](auto tag) -> std::vector<Array> {
      using T = decltype(tag);
      // Multiplies two at a time, from the left. A name is kept while a later operand or the result has it.
      Operand total{Array::scalar(T{1}), {}};
      for (std::size_t i = 0; i < problem.operands.size(); ++i) {
        const bool last = i + 1 == problem.operands.size();
        Labels kept;
        for (const auto& [label, extent] : problem.extents) {
          const auto has = [label = label](const Labels& labels) {
            return std::find(labels.begin(), labels.end(), label) != labels.end();
          };
          bool wanted = has(problem.result);
          for (std::size_t later = i + 1; later < problem.operands.size(); ++later)
            wanted = wanted || has(problem.operands[later].labels);
          if (wanted && (has(total.labels) || has(problem.operands[i].labels))) kept.push_back(label);
        }
        total = contract<T>(total, problem.operands[i], last ? problem.result : kept, problem.extents);
      }
      return {total.array};
    });
  });
}

}  // namespace

Family summation() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {{"Einsum", einsum}};
  return functions;
}

}  // namespace taso::runtime
