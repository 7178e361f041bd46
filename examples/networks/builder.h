// Builds a network layer by layer, as its paper describes it, and returns an ONNX model with shapes, names and seeded
// parameters.
//
// Parameters are scaled so that values keep a size of about 1 at any depth, and comparisons of outputs are meaningful.
// This is He's initialisation with one addition: each value carries its expected power (the mean square), which layers
// propagate, so that sums and concatenations are scaled correctly too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "examples/networks/weights.h"
#include "onnx/model/messages.h"
#include "onnx/model/model.h"

namespace taso::examples {

/// The mean square of a value's elements in two parts: the zero-centred one and the non-negative one. A ReLU halves the
/// first and keeps the second.
struct Power {
  double centred = 1;
  double positive = 0;
  double total() const { return centred + positive; }
};

struct Value {
  std::string name;
  std::vector<std::int64_t> shape;  ///< Builder::open_batch if the batch has a name instead of a number
  Power power;

  std::int64_t channels() const { return shape[1]; }
  std::int64_t height() const { return shape[2]; }
};

/// Height and width, and depth for videos, whose frames are the third-to-last axis; one number sets all. Of sounds, the
/// width.
struct Extent {
  std::int64_t depth = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;
  constexpr Extent(std::int64_t all) : depth(all), height(all), width(all) {}  // NOLINT(google-explicit-constructor)
  constexpr Extent(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
  constexpr Extent(std::int64_t frames, std::int64_t rows, std::int64_t columns)
      : depth(frames), height(rows), width(columns) {}
};

/// The window of a convolution or pooling.
struct Window {
  Extent kernel = 1;
  Extent stride = 1;
  Extent pad = 0;           ///< on each side
  Extent dilation = 1;      ///< for convolutions
  bool same = false;        ///< padded like TensorFlow's SAME, instead of by `pad`
  bool round_up = false;    ///< ceil_mode, for poolings
  bool count_pads = false;  ///< averages include the padding
};

struct ConvStyle {
  std::int64_t groups = 1;
  bool bias = false;
  /// A batch norm followed and is folded into the convolution: there is a bias, and training set two numbers for each.
  bool folded_norm = false;
};

/// An attribute of a node.
struct Attribute {
  std::string_view name;
  std::variant<std::int64_t, double, std::vector<std::int64_t>, std::string> value;
};

struct BuilderOptions {
  ElementType type = ElementType::float32;
  std::string batch = "1";  ///< a number, or the name of an open dimension
  std::uint64_t seed = 1;
  bool with_weights = true;  ///< false: parameters have shapes but no data, for counting
};

class Builder {
 public:
  static constexpr std::int64_t open_batch = -1;
  /// The tokens before the new one, and those with it, where their number is open.
  static constexpr std::int64_t open_past = -2, open_seen = -3;

  Builder(std::string_view network, const BuilderOptions& options);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder();

  /// Writes as PyTorch's exporter does today, for the given opset or a newer one: constants are initializers, each
  /// written once, and not nodes. Must precede all layers; without it the network has opset 17.
  void write_as_exported(std::int64_t opset);
  std::int64_t opset() const;
  ElementType type() const { return options_.type; }

  /// Prefixes the names of layers and parameters with `name` for the lifetime of the result.
  class Scope;
  [[nodiscard]] Scope scope(std::string_view name);

  // Inputs and outputs. The batch is their first dimension.
  Value input(std::string_view name, const std::vector<std::int64_t>& rest);
  Value integer_input(std::string_view name, const std::vector<std::int64_t>& rest);
  /// Integers for the whole batch.
  Value common_integers(std::string_view name, const std::vector<std::int64_t>& shape);
  void output(const Value& value, std::string_view name);

  // Layers with parameters, named as in the reference implementations.
  Value conv(const Value& x, std::string_view name, std::int64_t channels, const Window& window = {},
             const ConvStyle& style = {});
  Value batch_norm(const Value& x, std::string_view name, double epsilon = 1e-5);
  Value layer_norm(const Value& x, std::string_view name, double epsilon);
  /// Gemm for matrices with a bias, as exporters write it; otherwise MatMul, and Add for a bias.
  Value linear(const Value& x, std::string_view name, std::int64_t features, bool with_bias = true);
  /// The rows of a table that `indices` select.
  Value embedding(const Value& indices, std::string_view name, std::int64_t rows, std::int64_t width);
  Value parameter(std::string_view name, const std::vector<std::int64_t>& shape, const Spread& spread);
  /// With given numbers.
  Value fixed_parameter(std::string_view name, const std::vector<double>& numbers,
                        const std::vector<std::int64_t>& shape);

  // For operators that no other function writes. `shape` and `power` are those of the result.
  Value apply(std::string_view type, const std::vector<Value>& operands, const std::vector<std::int64_t>& shape,
              const Power& power, const std::vector<Attribute>& attributes = {});
  std::vector<Value> apply_for_several(std::string_view type, const std::vector<Value>& operands,
                                       const std::vector<std::vector<std::int64_t>>& shapes, const Power& power,
                                       const std::vector<Attribute>& attributes = {});

  // Activations.
  Value relu(const Value& x);
  Value relu6(const Value& x);
  Value sigmoid(const Value& x);
  Value tanh(const Value& x);
  /// The exact form with Erf, as exported before opset 20.
  Value gelu(const Value& x);
  Value softmax(const Value& x);

  // Poolings.
  Value max_pool(const Value& x, const Window& window);
  Value average_pool(const Value& x, const Window& window);
  /// One number per channel, as a matrix.
  Value pooled_features(const Value& x);

  // Arithmetic.
  Value add(const Value& x, const Value& y);
  Value multiply(const Value& x, const Value& y);
  /// Add, Sub, Mul or Div with a scalar; `scalar_first` puts it on the left.
  Value arithmetic(std::string_view type, const Value& x, double scalar, bool scalar_first = false);
  Value matmul(const Value& x, const Value& y);
  Value cast(const Value& x);
  Value cast_to_flags(const Value& x);

  // Data movement.
  Value concat(const std::vector<Value>& parts, std::size_t axis = 1);
  Value flatten(const Value& x);
  Value reshape(const Value& x, const std::vector<std::int64_t>& shape);  ///< the batch stays; -1 is the remaining size
  Value transpose(const Value& x, const std::vector<std::int64_t>& permutation);
  Value unsqueeze(const Value& x, std::size_t axis);
  std::vector<Value> unstack(const Value& x);  ///< along the first axis, which is removed
  /// The slice at `index` of the second axis, which is removed.
  Value pick(const Value& x, std::int64_t index);
  /// x shifted up and left by one, with zeros entering from below and from the right.
  Value shifted(const Value& x);
  /// Images of twice the height and width, each element four times.
  Value upsampled(const Value& x);
  /// Repeats x, whose first dimension is 1, for the batch of `like`.
  Value for_each_of_batch(const Value& x, const Value& like);
  /// Every `step`-th element from `from` to `to` along an axis.
  Value slice(const Value& x, std::size_t axis, std::int64_t from, std::int64_t to, std::int64_t step = 1);
  /// To a shape whose first dimension is the batch, or a multiple of it (`merged`).
  Value reshape_wholly(const Value& x, const std::vector<std::int64_t>& rest, std::int64_t merged = 1);
  Value integers(const std::vector<std::int64_t>& numbers, const std::vector<std::int64_t>& shape);
  Value reals(const std::vector<double>& numbers, const std::vector<std::int64_t>& shape);
  Value flags(const std::vector<bool>& flags, const std::vector<std::int64_t>& shape);
  Value zeros(const std::vector<std::int64_t>& shape);  ///< a ConstantOfShape
  double lowest() const;                                ///< the most negative number of the element type

  /// The number of parameters that training would set, without statistics of batch norms.
  std::uint64_t parameters() const { return parameters_; }
  std::size_t nodes() const;
  /// The finished model; the builder cannot be used afterwards.
  onnx::Model finish();

 private:
  std::string path(std::string_view name) const;
  proto::NodeProto& add_node(std::string_view type, std::string_view place, const std::vector<std::string>& operands,
                             const std::vector<Attribute>& attributes);
  Value node(std::string_view type, std::string_view place, const std::vector<std::string>& operands,
             std::vector<std::int64_t> shape, const Power& power, const std::vector<Attribute>& attributes = {});
  Value like(std::string_view type, const Value& x, const Power& power);
  std::string constant(proto::TensorProto tensor);
  std::string scalar(double number);
  std::string numbers(const std::vector<std::int64_t>& values);
  std::string weights(std::string_view name, const std::vector<std::int64_t>& shape, const Spread& spread);
  std::vector<std::int64_t> pads_of(const Value& x, const Window& window) const;
  std::vector<std::int64_t> windows_of(const Value& x, std::int64_t channels, const Window& window) const;
  void declare_shape(proto::ValueInfoProto& info, const std::vector<std::int64_t>& shape) const;
  Value graph_input(std::string_view name, ElementType type, std::vector<std::int64_t> shape);
  std::vector<std::int64_t> of_batch(const std::vector<std::int64_t>& rest) const;

  BuilderOptions options_;
  std::int64_t batch_;
  std::unique_ptr<proto::ModelProto> model_;
  std::string prefix_;
  std::map<std::string, std::size_t, std::less<>> names_;  // how many nodes asked for a name
  bool as_exported_ = false;
  std::map<std::string, std::string> constants_;  // by their bytes; only if as_exported_
  std::uint64_t parameters_ = 0;
};

class Builder::Scope {
 public:
  Scope(Builder& builder, std::string_view name);
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { builder_.prefix_.resize(length_); }

 private:
  Builder& builder_;
  std::size_t length_;
};

}  // namespace taso::examples
