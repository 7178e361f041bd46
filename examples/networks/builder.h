// Writes a network down layer by layer, as its paper does, and gives it back as an ONNX model: with shapes, names and
// seeded parameters in place.
//
// Parameters are scaled so that values keep to the size of 1 however deep the network is, and a comparison of outputs means
// something. That is He's initialisation with one thing more: each value carries its expected power (the mean square), which
// layers follow, so that sums and concatenations are scaled right as well.
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

/// The mean square of a value's elements, in two parts: what is centred on zero and what is never negative. A ReLU halves
/// the first and leaves the second.
struct Power {
  double centred = 1;
  double positive = 0;
  double total() const { return centred + positive; }
};

struct Value {
  std::string name;
  std::vector<std::int64_t> shape;  ///< Builder::open_batch where the batch has a name instead of a number
  Power power;

  std::int64_t channels() const { return shape[1]; }
  std::int64_t height() const { return shape[2]; }
};

/// Height and width; one number means both.
struct Extent {
  std::int64_t height = 1;
  std::int64_t width = 1;
  constexpr Extent(std::int64_t both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor)
  constexpr Extent(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}
};

/// The window of a convolution or pooling.
struct Window {
  Extent kernel = 1;
  Extent stride = 1;
  Extent pad = 0;           ///< on each side
  bool same = false;        ///< padded as TensorFlow's SAME does, instead of `pad`
  bool round_up = false;    ///< ceil_mode, of poolings
  bool count_pads = false;  ///< the padding counts in averages
};

struct ConvStyle {
  std::int64_t groups = 1;
  bool bias = false;
};

/// Of a node.
struct Attribute {
  std::string_view name;
  std::variant<std::int64_t, double, std::vector<std::int64_t>> value;
};

struct BuilderOptions {
  ElementType type = ElementType::float32;
  std::string batch = "1";  ///< a number, or the name of a dimension that is left open
  std::uint64_t seed = 1;
  bool with_weights = true;  ///< off: the parameters have shapes and no data, for counting
};

class Builder {
 public:
  static constexpr std::int64_t open_batch = -1;

  Builder(std::string_view network, const BuilderOptions& options);
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;
  ~Builder();

  /// Names of layers and parameters start with `name` for as long as the result lives.
  class Scope;
  [[nodiscard]] Scope scope(std::string_view name);

  // Inputs and outputs; the batch is their first dimension.
  Value input(std::string_view name, const std::vector<std::int64_t>& rest);
  Value integer_input(std::string_view name, const std::vector<std::int64_t>& rest);
  void output(const Value& value, std::string_view name);

  // Layers with parameters, under the names that the reference implementations give them.
  Value conv(const Value& x, std::string_view name, std::int64_t channels, const Window& window = {},
             const ConvStyle& style = {});
  Value batch_norm(const Value& x, std::string_view name, double epsilon = 1e-5);
  Value layer_norm(const Value& x, std::string_view name, double epsilon);
  /// Gemm for matrices with a bias, as exporters write it; else MatMul, and Add where there is a bias.
  Value linear(const Value& x, std::string_view name, std::int64_t features, bool with_bias = true);
  /// Rows of a table, chosen by `indices`.
  Value embedding(const Value& indices, std::string_view name, std::int64_t rows, std::int64_t width);
  Value parameter(std::string_view name, const std::vector<std::int64_t>& shape, const Spread& spread);

  // Activations.
  Value relu(const Value& x);
  Value relu6(const Value& x);
  Value sigmoid(const Value& x);
  Value tanh(const Value& x);
  /// The exact one, of Erf, as it is exported before opset 20.
  Value gelu(const Value& x);
  Value softmax(const Value& x);

  // Poolings.
  Value max_pool(const Value& x, const Window& window);
  Value average_pool(const Value& x, const Window& window);
  /// All the way down to one number for each channel, as a matrix.
  Value pooled_features(const Value& x);

  // Arithmetic.
  Value add(const Value& x, const Value& y);
  Value multiply(const Value& x, const Value& y);
  /// With a scalar: Add, Sub, Mul or Div; `scalar_first` puts it on the left.
  Value arithmetic(std::string_view type, const Value& x, double scalar, bool scalar_first = false);
  Value matmul(const Value& x, const Value& y);
  Value cast(const Value& x);

  // Data movement.
  Value concat(const std::vector<Value>& parts, std::size_t axis = 1);
  Value flatten(const Value& x);
  Value reshape(const Value& x, const std::vector<std::int64_t>& shape);  ///< the batch stays, -1 is what is left
  Value transpose(const Value& x, const std::vector<std::int64_t>& permutation);
  Value unsqueeze(const Value& x, std::size_t axis);
  std::vector<Value> unstack(const Value& x);  ///< along the first axis, which goes
  /// The part at `index` of the second axis, which goes.
  Value pick(const Value& x, std::int64_t index);
  /// Moved up and to the left by one, with zeros coming in from below and from the right.
  Value shifted(const Value& x);
  /// Once for each of the batch of `like`; x has a first dimension of 1.
  Value for_each_of_batch(const Value& x, const Value& like);
  Value integers(const std::vector<std::int64_t>& numbers, const std::vector<std::int64_t>& shape);

  /// Numbers that training would set; statistics of batch norms are not among them.
  std::uint64_t parameters() const { return parameters_; }
  std::size_t nodes() const;
  /// The finished model; the builder is used up.
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
  Value graph_input(std::string_view name, ElementType type, const std::vector<std::int64_t>& rest);

  BuilderOptions options_;
  std::int64_t batch_;
  std::unique_ptr<proto::ModelProto> model_;
  std::string prefix_;
  std::map<std::string, std::size_t, std::less<>> names_;  // how often a node's name was asked for
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
