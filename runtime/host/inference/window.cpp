// Types and shapes of operators that slide a window, sample an image, or step through a sequence.
#include "runtime/host/inference/rules.h"

namespace taso::runtime::inference {
namespace {

using Numbers = std::vector<std::int64_t>;

// The attributes that all window operators share, with their defaults filled in.
struct Window {
  Numbers kernel, strides, dilations, pads;
  std::string auto_pad;
};

std::optional<Window> window_of(const Inference& node, std::size_t dimensions, const Shape* weight) {
  Window window;
  const Attributes& attributes = node.call.attributes;
  window.kernel = attributes.integers("kernel_shape");
  if (window.kernel.empty() && weight != nullptr && weight->size() == dimensions + 2)
    if (const auto extents = static_extents(Shape(weight->begin() + 2, weight->end()))) window.kernel = *extents;
  window.strides = attributes.integers("strides", Numbers(dimensions, 1));
  window.dilations = attributes.integers("dilations", Numbers(dimensions, 1));
  window.pads = attributes.integers("pads", Numbers(2 * dimensions, 0));
  window.auto_pad = attributes.text("auto_pad", "NOTSET");
  if (window.kernel.size() != dimensions || window.strides.size() != dimensions ||
      window.dilations.size() != dimensions || window.pads.size() != 2 * dimensions)
    return std::nullopt;
  constexpr std::int64_t most = std::int64_t{1} << 31;
  for (std::size_t i = 0; i < dimensions; ++i)
    for (const std::int64_t value : {window.kernel[i], window.strides[i], window.dilations[i]})
      if (value < 1 || value > most) return std::nullopt;
  for (const std::int64_t value : window.pads)
    if (value < -most || value > most) return std::nullopt;
  return window;
}

std::optional<Dim> windows_along(Dim extent, const Window& window, std::size_t i, bool rounds_up) {
  const Dim stride = window.strides[i];
  if (window.auto_pad == "SAME_UPPER" || window.auto_pad == "SAME_LOWER") return ceil_div(extent, stride);
  const bool padded = window.auto_pad == "NOTSET" || window.auto_pad.empty();
  const std::size_t dimensions = window.kernel.size();
  const Dim before = padded ? window.pads[i] : 0, after = padded ? window.pads[i + dimensions] : 0;
  const Dim reach = Dim(window.dilations[i]) * Dim(window.kernel[i] - 1) + 1;
  const Dim room = extent + before + after - reach;
  // The window is larger than the padded input: some runtimes still give a result.
  if (room.is_static() && room.value() < 0) return std::nullopt;
  const Dim down = floor_div(room, stride) + 1;
  if (!rounds_up || stride == Dim(1)) return down;
  // Opsets differ on a last window that lies entirely in the padding, so nothing is inferred.
  const Dim up = ceil_div(room, stride) + 1;
  if (up == down) return down;
  if (!up.is_static() || (up.value() - 1) * stride.value() >= (extent + before).value()) return std::nullopt;
  return up;
}

std::optional<PartialShape> windows(const Inference& node, const Shape* in, const Shape* weight,
                                    const std::optional<Dim>& channels) {
  if (in == nullptr || in->size() < 3) return std::nullopt;
  const std::size_t dimensions = in->size() - 2;
  const auto window = window_of(node, dimensions, weight);
  if (!window) return std::nullopt;
  PartialShape result{in->front(), channels};
  for (std::size_t i = 0; i < dimensions; ++i) {
    const auto extent = windows_along((*in)[i + 2], *window, i, node.integer("ceil_mode", 0) != 0);
    result.push_back(extent && extent->is_static() && extent->value() < 0 ? std::nullopt : extent);
  }
  return result;
}

std::optional<Dim> dim_at(const Shape* shape, std::size_t index) {
  return shape != nullptr && index < shape->size() ? std::optional((*shape)[index]) : std::nullopt;
}

void conv(Inference& node) {
  node.set_type(0, node.type(0));
  node.set_shape(0, windows(node, node.shape(0), node.shape(1), dim_at(node.shape(1), 0)));
}
void conv_integer(Inference& node) {
  conv(node);
  node.set_type(0, ElementType::int32);
}
void qlinear_conv(Inference& node) {
  node.set_type(0, node.type(7));
  node.set_shape(0, windows(node, node.shape(0), node.shape(3), dim_at(node.shape(3), 0)));
}

void pool(Inference& node) {
  node.set_type(0, node.type(0));
  const auto shape = windows(node, node.shape(0), nullptr, dim_at(node.shape(0), 1));
  node.set_shape(0, shape);
  if (node.call.op_type == "MaxPool") node.set(1, ElementType::int64, shape);
}

void global_pool(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape* const in = node.shape(0);
  if (in == nullptr || in->size() < 2) return;
  Shape result(in->size(), Dim(1));
  result[0] = (*in)[0];
  result[1] = (*in)[1];
  node.set_shape(0, result);
}

void conv_transpose(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape *const in = node.shape(0), *const weight = node.shape(1);
  if (in == nullptr || weight == nullptr || in->size() < 3 || weight->size() != in->size()) return;
  const std::size_t dimensions = in->size() - 2;
  Shape result{in->front(), (*weight)[1] * Dim(node.integer("group", 1))};
  const Numbers wanted = node.call.attributes.integers("output_shape");
  const Numbers extra = node.call.attributes.integers("output_padding", Numbers(dimensions, 0));
  const auto window = window_of(node, dimensions, weight);
  if (!wanted.empty() && wanted.size() != dimensions) return;
  if (wanted.empty() && (!window || extra.size() != dimensions)) return;
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (!wanted.empty()) {
      result.emplace_back(wanted[i]);
      continue;
    }
    const Dim extent = (*in)[i + 2], stride = window->strides[i];
    if (window->auto_pad == "SAME_UPPER" || window->auto_pad == "SAME_LOWER") {
      result.push_back(extent * stride);
      continue;
    }
    const bool padded = window->auto_pad == "NOTSET" || window->auto_pad.empty();
    const Dim pads = padded ? Dim(window->pads[i]) + Dim(window->pads[i + dimensions]) : Dim(0);
    const Dim reach = Dim(window->dilations[i]) * Dim(window->kernel[i] - 1) + 1;
    result.push_back(stride * (extent - 1) + Dim(extra[i]) + reach - pads);
  }
  node.set_shape(0, result);
}

void recurrent(Inference& node) {
  const std::size_t states = node.call.op_type == "LSTM" ? 3 : 2;
  for (std::size_t i = 0; i < states; ++i) node.set_type(i, node.type(0));
  const Shape *const in = node.shape(0), *const recurrence = node.shape(2);
  if (in == nullptr || in->size() != 3) return;
  Dim hidden = node.integer("hidden_size", 0);
  if (hidden == Dim(0)) {
    if (recurrence == nullptr || recurrence->size() != 3) return;
    hidden = recurrence->back();
  }
  const Dim directions = node.call.attributes.text("direction", "forward") == "bidirectional" ? 2 : 1;
  const bool batch_first = node.call.opset >= 14 && node.integer("layout", 0) != 0;
  const Dim steps = (*in)[batch_first ? 1 : 0], batch = (*in)[batch_first ? 0 : 1];
  node.set_shape(0, batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden});
  const Shape state = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  for (std::size_t i = 1; i < states; ++i) node.set_shape(i, state);
}

void grid_sample(Inference& node) {
  node.set_type(0, node.type(0));
  const Shape *const in = node.shape(0), *const grid = node.shape(1);
  if (in == nullptr || grid == nullptr || in->size() < 3 || grid->size() != in->size()) return;
  Shape result{(*in)[0], (*in)[1]};
  result.insert(result.end(), grid->begin() + 1, grid->end() - 1);
  node.set_shape(0, result);
}

void affine_grid(Inference& node) {
  node.set_type(0, node.type(0));
  const auto size = node.content(1);
  if (!size || (size->size() != 4 && size->size() != 5)) return;
  Shape result{(*size)[0]};
  result.insert(result.end(), size->begin() + 2, size->end());
  result.push_back(dim(size->size() - 2));
  node.set_shape(0, result);
}

void roi_align(Inference& node) {
  node.set_type(0, node.type(0));
  const auto channels = dim_at(node.shape(0), 1), rois = dim_at(node.shape(1), 0);
  if (channels && rois)
    node.set_shape(
        0, Shape{*rois, *channels, Dim(node.integer("output_height", 1)), Dim(node.integer("output_width", 1))});
}

}  // namespace

Rules window_rules() {
  static constexpr std::pair<std::string_view, Rule> rules[] = {
      {"AffineGrid", affine_grid},
      {"AveragePool", pool},
      {"Conv", conv},
      {"ConvInteger", conv_integer},
      {"ConvTranspose", conv_transpose},
      {"GRU", recurrent},
      {"GlobalAveragePool", global_pool},
      {"GlobalLpPool", global_pool},
      {"GlobalMaxPool", global_pool},
      {"GridSample", grid_sample},
      {"LSTM", recurrent},
      {"LpPool", pool},
      {"MaxPool", pool},
      {"QLinearConv", qlinear_conv},
      {"RNN", recurrent},
      {"RoiAlign", roi_align},
  };
  return rules;
}

}  // namespace taso::runtime::inference
