#include "generator/enumeration/program.h"

#include <algorithm>
#include <array>

#include "ops/core/error.h"
#include "ops/graph/operator.h"

namespace taso::ops {

extern template std::vector<Tensor<generator::Recorded>> evaluate(const Operator&, Tensors<generator::Recorded>);

}  // namespace taso::ops

namespace taso::generator {

namespace {

__extension__ using Wide = unsigned __int128;

/// Reduces a number below 2^128 to an element of the field.
Field reduced(Wide wide) {
  const auto low = static_cast<std::uint64_t>(wide) & Field::modulus;
  const auto middle = static_cast<std::uint64_t>(wide >> 61) & Field::modulus;
  const auto high = static_cast<std::uint64_t>(wide >> 122);
  return Field::from_bits(low + middle + high);
}

/// Products are below 2^122, so this many can be added before reducing.
constexpr std::size_t most_products = 32;

constexpr std::size_t most_elements = 4096;

/// Powers of two points that nothing else uses.
struct Powers {
  std::array<Field, most_elements> high, low;
  Powers() {
    const Field p = Field::from_bits(0x0f3a5c96e1d24b87u), q = Field::from_bits(0x1b85d3a7c49e260fu);
    Field x = p, y = q;
    for (std::size_t i = 0; i < most_elements; ++i, x = x * p, y = y * q) {
      high[i] = x;
      low[i] = y;
    }
  }
};

}  // namespace

Field seed_of(const Layout& layout) {
  Field seed(static_cast<std::int64_t>(layout.extents.size()) + (layout.is_kernel ? 8 : 0));
  for (const std::int64_t extent : layout.extents) seed = seed * Field(0x2545f4914f6cdd1d) + Field(extent);
  return seed;
}

Fingerprint fingerprint(Field seed, std::span<const Field> contents) {
  static const Powers powers;
  check(contents.size() <= most_elements, "tensors are small");
  Field high = seed, low = seed;
  for (std::size_t begin = 0; begin < contents.size(); begin += most_products) {
    const std::size_t end = std::min(begin + most_products, contents.size());
    Wide a = 0, b = 0;
    for (std::size_t i = begin; i < end; ++i) {
      a += static_cast<Wide>(contents[i].bits()) * powers.high[i].bits();
      b += static_cast<Wide>(contents[i].bits()) * powers.low[i].bits();
    }
    high = high + reduced(a);
    low = low + reduced(b);
  }
  return {high.bits(), low.bits()};
}

std::unique_ptr<Program> Program::compile(const SampleInputs& world, const Schema& schema,
                                          std::span<const Layout* const> operands) {
  auto program = std::make_unique<Program>();
  Recording recording;
  std::vector<ItemOf<Recorded>> items;
  for (const Layout* layout : operands) {
    std::vector<Recorded> elements;
    for (std::size_t i = 0; i < layout->size(); ++i) elements.push_back(recording.operand());
    program->operand_sizes_.push_back(elements.size());
    items.push_back({{layout->extents, std::move(elements)}, layout->is_kernel, layout->cuts});
  }
  std::vector<const ItemOf<Recorded>*> places;
  for (const auto& item : items) places.push_back(&item);
  const auto results = world.apply<Recorded>(schema, places);
  if (!results) return nullptr;
  std::vector<std::uint32_t> wanted;
  for (const auto& result : *results) {
    if (result.tensor.data.size() > most_elements) return nullptr;
    for (const Recorded& element : result.tensor.data) wanted.push_back(element.place());
    const Layout& layout = program->results_.emplace_back(result.layout());
    program->seeds.push_back(seed_of(layout));
    program->sizes.push_back(layout.size());
  }
  program->emit(recording, wanted);
  return program;
}

void Program::emit(const Recording& recording, const std::vector<std::uint32_t>& wanted) {
  const auto& steps = recording.steps();
  std::vector<bool> needed(steps.size(), false);
  for (const std::uint32_t place : wanted) needed[place] = true;
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (!needed[i]) continue;
    using Kind = Recording::Kind;
    const auto& step = steps[i];
    if (step.kind == Kind::sum)
      for (const auto& [a, b] : step.products) needed[a] = needed[b] = true;
    else if (step.kind != Kind::operand && step.kind != Kind::constant)
      needed[step.left] = needed[step.right] = true;
  }
  // Operands first, then constants, then the rest.
  std::vector<std::uint32_t> cell(steps.size(), 0);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (steps[i].kind == Recording::Kind::operand) cell[i] = next++;
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (needed[i] && steps[i].kind == Recording::Kind::constant) {
      constants_.push_back(steps[i].value);
      cell[i] = next++;
    }
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& step = steps[i];
    if (!needed[i] || step.kind == Recording::Kind::operand || step.kind == Recording::Kind::constant) continue;
    Step compiled{step.kind, next, 0, 0, step.function};
    if (step.kind == Recording::Kind::sum) {
      compiled.left = static_cast<std::uint32_t>(products_.size());
      compiled.right = static_cast<std::uint32_t>(step.products.size());
      for (const auto& [a, b] : step.products) products_.emplace_back(cell[a], cell[b]);
    } else {
      compiled.left = cell[step.left];
      compiled.right = cell[step.right];
    }
    steps_.push_back(compiled);
    cell[i] = next++;
  }
  for (const std::uint32_t place : wanted) results_from_.push_back(cell[place]);
  cells_ = next;
}

std::span<const Field> Program::run(std::span<const Field* const> operands, std::vector<Field>& cells) const {
  if (cells.size() < cells_ + results_from_.size()) cells.resize(cells_ + results_from_.size());
  Field* const to = cells.data();
  std::size_t place = 0;
  for (std::size_t i = 0; i < operand_sizes_.size(); ++i) {
    std::copy_n(operands[i], operand_sizes_[i], to + place);
    place += operand_sizes_[i];
  }
  std::copy(constants_.begin(), constants_.end(), to + place);
  for (const Step& step : steps_) switch (step.kind) {
      case Recording::Kind::sum: {
        Field sum;
        const auto* product = products_.data() + step.left;
        for (std::size_t left = step.right; left > 0;) {
          const std::size_t some = std::min(left, most_products);
          Wide wide = 0;
          for (std::size_t i = 0; i < some; ++i, ++product)
            wide += static_cast<Wide>(to[product->first].bits()) * to[product->second].bits();
          sum = sum + reduced(wide);
          left -= some;
        }
        to[step.to] = sum;
        break;
      }
      case Recording::Kind::difference: to[step.to] = to[step.left] - to[step.right]; break;
      case Recording::Kind::product: to[step.to] = to[step.left] * to[step.right]; break;
      case Recording::Kind::function: to[step.to] = step.function(to[step.left], to[step.right]); break;
      case Recording::Kind::operand:
      case Recording::Kind::constant: break;
    }
  Field* const results = to + cells_;
  for (std::size_t i = 0; i < results_from_.size(); ++i) results[i] = to[results_from_[i]];
  return {results, results_from_.size()};
}

LayoutId Programs::layout(const Layout& layout) {
  const std::lock_guard lock(mutex_);
  return intern(layout);
}

LayoutId Programs::intern(const Layout& layout) {
  for (std::size_t i = 0; i < layouts_.size(); ++i)
    if (*layouts_[i] == layout) return static_cast<LayoutId>(i);
  layouts_.push_back(std::make_unique<const Layout>(layout));
  return static_cast<LayoutId>(layouts_.size() - 1);
}

Layout Programs::layout(LayoutId id) const {
  const std::lock_guard lock(mutex_);
  return *layouts_[id];
}

std::size_t Programs::layouts() const {
  const std::lock_guard lock(mutex_);
  return layouts_.size();
}

const Program* Programs::find(std::size_t schema, std::span<const LayoutId> operands) {
  std::uint64_t key = schema * 4 + operands.size() + 1;  // never 0, so that different operands give different keys
  for (const LayoutId operand : operands) key = key << 17 | operand;
  const std::lock_guard lock(mutex_);
  const auto [slot, fresh] = programs_.try_emplace(key);
  if (fresh) {
    std::vector<const Layout*> layouts;
    for (const LayoutId operand : operands) layouts.push_back(layouts_[operand].get());
    slot->second = Program::compile(world_, world_.family().schemas[schema], layouts);
    if (slot->second)
      for (const Layout& result : slot->second->results()) slot->second->result_layouts.push_back(intern(result));
  }
  return slot->second.get();
}

}  // namespace taso::generator
