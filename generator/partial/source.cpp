#include "generator/partial/source.h"

#include <algorithm>

#include <fmt/format.h>

namespace taso::generator {

namespace {

constexpr std::int64_t halves = 2;
constexpr std::uint64_t seed_of_x = 1, seed_of_w = 2, seed_of_z = 3;

/// "dim(x, 2)"
Size dim(const char* input, std::size_t axis, std::int64_t value) {
  return Size::term(fmt::format("dim({}, {})", input, axis), value);
}
Size variable(char letter, std::size_t axis, std::int64_t value) {
  return Size::term(fmt::format("{}{}", letter, axis), value);
}

/// The window along a changed axis.
Slide changed_slide(const Source& source, std::size_t axis, std::set<std::string>& conditions) {
  const bool has_pads = source.before + source.after > 0;
  Slide slide;
  slide.stride = source.has_stride() ? variable('s', axis, source.step) : Size(1);
  slide.dilation = source.factor == Source::Factor::dilation ? variable('d', axis, source.step) : Size(1);
  if (source.has_stride()) conditions.insert(slide.stride.text() + " >= 2");
  if (source.factor == Source::Factor::dilation) conditions.insert(slide.dilation.text() + " >= 2");
  if (source.has_fixed_kernel) {
    slide.before = source.before;
    slide.after = source.after;
  } else if (has_pads) {
    slide.before = variable('p', axis, source.before);
    slide.after = variable('q', axis, source.after);
  }
  const std::string name = source.is_pool() ? fmt::format("k{}", axis) : fmt::format("dim(w, {})", 2 + axis);
  if (source.has_fixed_kernel) {
    slide.kernel = source.kernel;
    if (source.is_pool()) return slide;
    conditions.insert(fmt::format("{} = {}", name, source.kernel));
  } else if (source.is_same) {
    // The result of a transposed convolution is as many times as long as its operand as its stride says.
    const Size least = source.is_transposed() ? slide.stride : Size(1);
    slide.kernel = slide.before / slide.dilation + slide.after / slide.dilation + least;
    slide.kernel.add_conditions(conditions);
    conditions.insert(fmt::format("{} = {}", name, slide.kernel.text()));
  } else {
    slide.kernel = Size::term(name, source.kernel);
  }
  if (source.is_pool()) slide.kernel_name = name;
  return slide;
}

/// The window along an axis that programs leave alone.
Slide other_slide(const Source& source, std::size_t axis) {
  Slide slide;
  slide.kernel = source.has_weights() ? dim("w", 2 + axis, 2) : variable('k', axis, 2);
  slide.stride = variable('s', axis, 1);
  slide.dilation = variable('d', axis, 1);
  slide.before = variable('p', axis, 0);
  slide.after = variable('q', axis, 0);
  return slide;
}

/// The same for the second convolution of a chain. Along a changed axis, its result is as long as its operand.
Slide next_slide(std::size_t axis, bool changes, std::set<std::string>& conditions) {
  Slide slide;
  slide.before = variable('u', axis, changes ? 1 : 0);
  slide.after = variable('v', axis, changes ? 1 : 0);
  slide.kernel = dim("z", 2 + axis, 2);
  if (!changes) {
    slide.stride = variable('t', axis, 1);
    slide.dilation = variable('e', axis, 1);
    return slide;
  }
  const std::string name = slide.kernel.text();
  slide.kernel = slide.before + slide.after + 1;
  conditions.insert(fmt::format("{} = {}", name, slide.kernel.text()));
  return slide;
}

}  // namespace

std::vector<Source> all_sources() {
  using Operation = Source::Operation;
  using Factor = Source::Factor;
  std::vector<Source> sources;
  const auto add = [&](Source source) { sources.push_back(std::move(source)); };
  add({.name = "conv"});
  add({.name = "pointwise-conv", .kernel = 1, .has_fixed_kernel = true, .before = 0, .after = 0});
  add({.name = "conv-of-2", .kernel = 2, .has_fixed_kernel = true, .only_sums = true, .before = 0, .after = 1});
  add({.name = "conv-of-3", .kernel = 3, .has_fixed_kernel = true, .before = 1, .after = 1});
  for (const std::int64_t length : {13, 12})
    add({.name = "strided-conv",
         .factor = Factor::stride,
         .is_same = false,
         .kernel = 5,
         .length = length,
         .before = 2,
         .after = 1});
  add({.name = "dilated-conv", .factor = Factor::dilation, .before = 2, .after = 4});
  add({.name = "grouped-conv", .is_grouped = true, .channels = 8, .filters = 12});
  for (const bool is_grouped : {false, true})
    add({.name = is_grouped ? "grouped-transposed-conv" : "transposed-conv",
         .operation = Operation::transposed_convolution,
         .is_grouped = is_grouped,
         .kernel = 6,
         .channels = 8,
         .filters = is_grouped ? 3 : 6,
         .step = 3});
  add({.name = "transposed-conv",
       .operation = Operation::transposed_convolution,
       .factor = Factor::stride,
       .kernel = 6,
       .step = 3});
  add({.name = "transposed-conv-of-tiles",
       .operation = Operation::transposed_convolution,
       .factor = Factor::stride,
       .kernel = 3,
       .before = 0,
       .after = 0,
       .step = 3});
  add({.name = "conv-conv", .operation = Operation::chain});
  add({.name = "conv-relu-conv", .operation = Operation::chain, .has_relu = true});
  add({.name = "max-pool", .operation = Operation::max_pool});
  add({.name = "average-pool", .operation = Operation::average_pool});
  add({.name = "average-pool-with-pads", .operation = Operation::average_pool, .counts_padding = true});
  add({.name = "matmul", .operation = Operation::product});
  return sources;
}

Source at_other_sizes(Source source) {
  source.batch = 6;
  source.channels = 20;
  source.filters = source.is_transposed() && source.is_grouped ? 5 : 28;
  source.length += 8;
  return source;
}

std::vector<Lift> lifts_of(const Source& source, bool drops) {
  if (source.is_product()) return {{0, {}}};
  if (drops) return {{2, {0}}, {3, {0}}};
  if (source.has_fixed_kernel) return {{1, {0}}, {2, {0}}, {2, {0, 1}}, {3, {0}}};
  return {{1, {0}}, {2, {0}}, {2, {1}}, {2, {0, 1}}, {3, {0}}, {3, {0, 1, 2}}};
}

Size filters_of(const Source& source, const Application& to) {
  return source.is_transposed() ? to.w.shape[1] * to.groups : to.w.shape[0];
}

Size length_of(const Source& source, const Size& length, const Slide& slide) {
  return source.is_transposed() ? spread(length, slide) : places(length, slide);
}

Expression applied(const Source& source, const Writer& writer, const Application& to) {
  switch (source.operation) {
    case Source::Operation::convolution: return writer.convolved(to.x, to.w, to.slides, to.groups, to.bias);
    case Source::Operation::transposed_convolution:
      return writer.convolved_back(to.x, to.w, to.slides, to.groups, to.bias);
    case Source::Operation::chain: {
      Expression middle = writer.convolved(to.x, to.w, to.slides, to.groups, to.bias);
      if (source.has_relu) middle = writer.rectified(middle);
      return writer.convolved(middle, to.next_w, to.next_slides, 1, to.next_bias);
    }
    case Source::Operation::max_pool: return writer.pooled("max_pool", to.x, to.slides);
    case Source::Operation::average_pool:
      return writer.pooled("average_pool", to.x, to.slides, source.counts_padding ? "count_padding=true" : "");
    case Source::Operation::product: break;
  }
  return writer.multiplied(to.x, to.w);
}

namespace {

void add_usual_conditions(WrittenSource& all, std::size_t axis) {
  for (const auto* slides : {&all.slides, &all.next_slides}) {
    if (slides->empty()) continue;
    for (const Size& pad : {(*slides)[axis].before, (*slides)[axis].after})
      for (const Size& size : {pad - 1, all.x.shape[2 + axis] - pad - 1})
        if (!pad.is_number()) all.usual_conditions.insert(size.text() + " >= 0");
  }
}

}  // namespace

WrittenSource written(const Source& source, const Lift& lift, const Writer& writer, bool has_bias) {
  WrittenSource all;
  if (source.is_product()) {
    all.factors = {Size(halves)};
    all.x = writer.input("x", {dim("x", 0, source.batch), dim("x", 1, source.channels)}, seed_of_x);
    all.w = writer.input("w", {dim("x", 1, source.channels), dim("w", 1, source.filters)}, seed_of_w);
    all.conditions = {"rank(x) = 2", "rank(w) = 2"};
    all.result = writer.multiplied(all.x, all.w);
    return all;
  }
  std::vector<Size> x{dim("x", 0, source.batch), dim("x", 1, source.channels)};
  std::vector<Size> w{dim("w", 0, source.filters), dim("x", 1, source.channels)};
  if (source.is_transposed()) w = {dim("x", 1, source.channels), dim("w", 1, source.filters)};
  if (source.is_grouped) {
    all.groups = Size::term("g", 4);
    all.conditions.insert("g >= 2");
    if (!source.is_transposed()) w[1] = w[1] / all.groups;
  }
  std::vector<Size> next_w{dim("z", 0, 5), w[0]};
  for (std::size_t axis = 0; axis < lift.axes; ++axis) {
    const bool changes = std::find(lift.changed.begin(), lift.changed.end(), axis) != lift.changed.end();
    all.slides.push_back(changes ? changed_slide(source, axis, all.conditions) : other_slide(source, axis));
    const Slide& slide = all.slides.back();
    x.push_back(dim("x", 2 + axis, changes ? source.length : 3));
    w.push_back(slide.kernel);
    if (source.is_chain()) {
      all.next_slides.push_back(next_slide(axis, changes, all.conditions));
      next_w.push_back(all.next_slides.back().kernel);
    }
    if (!changes) continue;
    all.factors.push_back(source.factor == Source::Factor::stride     ? slide.stride
                          : source.factor == Source::Factor::dilation ? slide.dilation
                                                                      : Size(halves));
  }
  all.x = writer.input("x", x, seed_of_x);
  for (const std::size_t axis : lift.changed) add_usual_conditions(all, axis);
  if (source.has_weights()) all.w = writer.input("w", w, seed_of_w);
  if (source.is_chain()) all.next_w = writer.input("z", next_w, seed_of_z);
  if (has_bias) all.bias = "b";
  if (has_bias && source.is_chain()) all.next_bias = "c";
  all.result = applied(source, writer, all);
  // A list of attributes says how many axes there are.
  if (all.result.text.find('[') == std::string::npos) all.conditions.insert(fmt::format("rank(x) = {}", 2 + lift.axes));
  return all;
}

}  // namespace taso::generator
