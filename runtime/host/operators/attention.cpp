// Attention as one operator, rotary embedding, and recurrent variants of attention.
#include <algorithm>
#include <cmath>

#include "ops/core/tensor.h"
#include "runtime/host/families.h"
#include "runtime/host/operand.h"

namespace taso::runtime {
namespace {

using Arrays = std::vector<Array>;

/// A tensor [batch, heads, length, size], also if it was given as [batch, length, heads * size].
struct Heads {
  std::size_t batches = 0, heads = 0, length = 0, size = 0;
  std::vector<double> values;

  const double* row(std::size_t batch, std::size_t head, std::size_t place) const {
    return values.data() + ((batch * heads + head) * length + place) * size;
  }
  double* row(std::size_t batch, std::size_t head, std::size_t place) {
    return values.data() + ((batch * heads + head) * length + place) * size;
  }
};

Heads read_heads(const HostCall& call, std::size_t operand, std::int64_t heads) {
  const Array& x = call.input(operand);
  require_floating(call, operand);
  const Extents& extents = x.extents();
  if (x.rank() == 4)
    return {unsign(extents[0]), unsign(extents[1]), unsign(extents[2]), unsign(extents[3]), x.doubles()};
  require_rank(call, operand, 3);
  require(call, heads > 0 && extents[2] % heads == 0, "the number of heads does not divide the operand");
  Heads result{unsign(extents[0]), unsign(heads), unsign(extents[1]), unsign(extents[2] / heads), {}};
  const std::vector<double> packed = x.doubles();
  result.values.resize(packed.size());
  for (std::size_t b = 0; b < result.batches; ++b)
    for (std::size_t t = 0; t < result.length; ++t)
      for (std::size_t h = 0; h < result.heads; ++h)
        std::copy_n(packed.data() + ((b * result.length + t) * result.heads + h) * result.size, result.size,
                    result.row(b, h, t));
  return result;
}

Array write_heads(const HostCall& call, const Heads& x, ElementType type, bool packed) {
  const auto b = sign(x.batches), h = sign(x.heads), t = sign(x.length), s = sign(x.size);
  if (!packed) {
    Array result = make_array(call, ElementType::float64, {b, h, t, s});
    std::copy(x.values.begin(), x.values.end(), result.mutable_values<double>().begin());
    return result.cast(type);
  }
  Array result = make_array(call, ElementType::float64, {b, t, times(call, h, s)});
  double* to = result.mutable_values<double>().data();
  for (std::size_t batch = 0; batch < x.batches; ++batch)
    for (std::size_t place = 0; place < x.length; ++place)
      for (std::size_t head = 0; head < x.heads; ++head, to += x.size)
        std::copy_n(x.row(batch, head, place), x.size, to);
  return result.cast(type);
}

/// The past of a key or value, followed by the new part.
Heads continued(const HostCall& call, std::size_t past_operand, Heads fresh) {
  if (!call.has(past_operand)) return fresh;
  require_rank(call, past_operand, 4);
  const Heads past = read_heads(call, past_operand, 0);
  require(call, past.batches == fresh.batches && past.heads == fresh.heads && past.size == fresh.size,
          "the past does not fit the present");
  Heads result{fresh.batches, fresh.heads, past.length + fresh.length, fresh.size, {}};
  result.values.resize(past.values.size() + fresh.values.size());
  for (std::size_t b = 0; b < result.batches; ++b)
    for (std::size_t h = 0; h < result.heads; ++h) {
      std::copy_n(past.row(b, h, 0), past.length * past.size, result.row(b, h, 0));
      std::copy_n(fresh.row(b, h, 0), fresh.length * fresh.size, result.row(b, h, past.length));
    }
  return result;
}

/// attn_mask as numbers to add: 0 or -∞ for booleans, and -∞ where the mask is shorter than the keys.
struct Mask {
  Extents extents;
  std::vector<double> values;
  std::vector<std::int64_t> strides;  ///< for [batch, head, query, key]

  double at(std::size_t b, std::size_t h, std::size_t q, std::size_t k) const {
    if (values.empty()) return 0;
    if (sign(k) >= extents[3]) return -std::numeric_limits<double>::infinity();
    return values[unsign(sign(b) * strides[0] + sign(h) * strides[1] + sign(q) * strides[2] + sign(k) * strides[3])];
  }
};

Mask read_mask(const HostCall& call, const Heads& q, std::size_t keys) {
  Mask mask;
  if (!call.has(3)) return mask;
  const Array& array = call.input(3);
  require(call, array.rank() >= 1 && array.rank() <= 4, "the mask must be of rank 1 to 4");
  mask.extents.assign(4 - array.rank(), 1);
  mask.extents.insert(mask.extents.end(), array.extents().begin(), array.extents().end());
  const Extents whole{sign(q.batches), sign(q.heads), sign(q.length), sign(keys)};
  for (std::size_t i = 0; i < 3; ++i)
    require(call, mask.extents[i] == 1 || mask.extents[i] == whole[i], "the mask does not fit");
  require(call, mask.extents[3] <= whole[3] && array.size() > 0, "the mask does not fit");
  if (mask.extents[3] == 1 && keys > 1 && !call.has(6)) mask.extents[3] = whole[3];  // broadcast below
  mask.values = array.doubles();
  if (array.type() == ElementType::boolean)
    for (double& value : mask.values) value = value != 0 ? 0 : -std::numeric_limits<double>::infinity();
  Extents own{1, 1, 1, 1};
  std::copy(array.extents().begin(), array.extents().end(), own.end() - sign(array.rank()));
  mask.strides = strides_of(own);
  for (std::size_t i = 0; i < 4; ++i)
    if (own[i] == 1) mask.strides[i] = 0;
  return mask;
}

/// Which keys a query may see by its position: the causal rule and the sliding window.
struct Sight {
  bool causal = false;
  std::int64_t left = -1, right = -1;

  bool sees(std::int64_t query, std::int64_t key) const {
    if (causal && key > query) return false;
    return (left < 0 || query - key <= left) && (right < 0 || key - query <= right);
  }
};

Arrays attention(const HostCall& call) {
  const bool packed = call.input(0).rank() == 3;
  const ElementType type = call.input(0).type();
  const std::int64_t kv_heads = call.attributes.integer("kv_num_heads", 0);
  const Heads q = read_heads(call, 0, call.attributes.integer("q_num_heads", 0));
  require(call, call.has(4) == call.has(5), "past_key and past_value come together");
  const Heads k = continued(call, 4, read_heads(call, 1, kv_heads)),
              v = continued(call, 5, read_heads(call, 2, kv_heads));
  require(call,
          k.batches == q.batches && v.batches == q.batches && k.size == q.size && v.length == k.length &&
              k.heads == v.heads && k.heads > 0 && q.heads % k.heads == 0,
          "query, key and value do not fit together");
  const std::size_t keys = k.length, group = q.heads / k.heads,
                    past = call.has(4) ? unsign(call.input(4).extents()[2]) : 0;
  const double scale = call.attributes.number("scale", 1 / std::sqrt(static_cast<double>(q.size)));
  const double softcap = call.attributes.number("softcap", 0);
  const std::int64_t mode = call.attributes.integer("qk_matmul_output_mode", 0);
  require(call, mode >= 0 && mode <= 3, "qk_matmul_output_mode is out of range");
  const Mask mask = read_mask(call, q, keys);
  const Sight sight{call.attributes.integer("is_causal", 0) != 0, call.attributes.integer("left_window_size", -1),
                    call.attributes.integer("right_window_size", -1)};
  std::vector<std::int64_t> filled;  // the number of valid keys, per batch
  if (call.has(6)) {
    filled = integers_of(call, 6);
    require(call, filled.size() == q.batches, "there must be one length per batch");
    for (const std::int64_t length : filled)
      require(call, length >= 0 && length <= sign(keys), "a length is out of range");
  }
  constexpr double never = -std::numeric_limits<double>::infinity();
  Heads result{q.batches, q.heads, q.length, v.size, {}}, scores{q.batches, q.heads, q.length, keys, {}};
  const Extents largest_part{sign(q.batches), sign(q.heads), sign(q.length), sign(std::max(keys, v.size))};
  require(call, product(call, largest_part, 0, 4) <= most_elements, "the result is too large");
  result.values.resize(q.batches * q.heads * q.length * v.size);
  if (call.outputs > 3) scores.values.resize(q.batches * q.heads * q.length * keys);
  std::vector<double> raw(keys), capped(keys), biased(keys), weights(keys);
  for (std::size_t b = 0; b < q.batches; ++b)
    for (std::size_t h = 0; h < q.heads; ++h)
      for (std::size_t i = 0; i < q.length; ++i) {
        const double* query = q.row(b, h, i);
        const std::int64_t place = sign(i) + (filled.empty() ? sign(past) : filled[b] - sign(q.length));
        double largest = never, sum = 0;
        bool masked = true;
        for (std::size_t j = 0; j < keys; ++j) {
          const double* key = k.row(b, h / group, j);
          double product_sum = 0;
          for (std::size_t s = 0; s < q.size; ++s) product_sum += query[s] * key[s];
          raw[j] = product_sum * scale;
          capped[j] = softcap > 0 ? softcap * std::tanh(raw[j] / softcap) : raw[j];
          double bias = mask.at(b, h, i, j);
          if (!sight.sees(place, sign(j)) || (!filled.empty() && sign(j) >= filled[b])) bias = never;
          masked = masked && bias == never;
          biased[j] = capped[j] + bias;
          largest = std::max(largest, biased[j]);
        }
        for (std::size_t j = 0; j < keys; ++j) sum += weights[j] = masked ? 0 : std::exp(biased[j] - largest);
        if (sum > 0)
          for (double& weight : weights) weight /= sum;
        double* to = result.row(b, h, i);
        for (std::size_t j = 0; j < keys; ++j) {
          const double* value = v.row(b, h / group, j);
          for (std::size_t s = 0; s < v.size && weights[j] != 0; ++s) to[s] += weights[j] * value[s];
        }
        if (call.outputs > 3) {
          const std::vector<double>& wanted = mode == 0 ? raw : mode == 1 ? capped : mode == 2 ? biased : weights;
          std::copy(wanted.begin(), wanted.end(), scores.row(b, h, i));
        }
      }
  Arrays results{write_heads(call, result, type, packed), write_heads(call, k, call.input(1).type(), false),
                 write_heads(call, v, call.input(2).type(), false)};
  if (call.outputs > 3) results.push_back(write_heads(call, scores, type, false));
  return results;
}

Arrays rotary_embedding(const HostCall& call) {
  const bool packed = call.input(0).rank() == 3;
  Heads x = read_heads(call, 0, call.attributes.integer("num_heads", 0));
  const std::int64_t asked = call.attributes.integer("rotary_embedding_dim", 0);
  const std::size_t turned = asked == 0 ? x.size : unsign(asked);
  require(call, asked >= 0 && turned <= x.size && turned % 2 == 0, "rotary_embedding_dim is out of range");
  const std::size_t half = turned / 2;
  const bool interleaved = call.attributes.integer("interleaved", 0) != 0;
  const Extents& extents = call.input(1).extents();
  require(call, call.input(2).extents() == extents, "the two caches must be of one shape");
  std::vector<std::int64_t> places;
  if (call.has(3)) {
    require(call, extents.size() == 2 && extents[1] == sign(half), "the caches must be [positions, half]");
    places = indices_of(call, 3);
    require(call, call.input(3).extents() == Extents{sign(x.batches), sign(x.length)},
            "position_ids must be [batch, length]");
    for (std::int64_t& place : places) place = index_in(call, place, extents[0]);
  } else {
    require(call, extents == Extents{sign(x.batches), sign(x.length), sign(half)},
            "the caches must be [batch, length, half]");
  }
  const std::vector<double> cosines = call.input(1).doubles(), sines = call.input(2).doubles();
  for (std::size_t b = 0; b < x.batches; ++b)
    for (std::size_t t = 0; t < x.length; ++t) {
      const std::size_t line = b * x.length + t;
      const std::size_t place = (places.empty() ? line : unsign(places[line])) * half;
      for (std::size_t h = 0; h < x.heads; ++h) {
        double* row = x.row(b, h, t);
        for (std::size_t i = 0; i < half; ++i) {
          double& first = row[interleaved ? 2 * i : i];
          double& second = row[interleaved ? 2 * i + 1 : half + i];
          const double real = cosines[place + i] * first - sines[place + i] * second;
          second = sines[place + i] * first + cosines[place + i] * second;
          first = real;
        }
      }
    }
  return {write_heads(call, x, call.input(0).type(), packed)};
}

Arrays linear_attention(const HostCall& call) {
  const std::int64_t kv_heads = call.attributes.integer("kv_num_heads", 0);
  for (const std::size_t operand : {0, 1, 2}) require_rank(call, operand, 3);
  const Heads q = read_heads(call, 0, call.attributes.integer("q_num_heads", 0)), k = read_heads(call, 1, kv_heads);
  const Heads v = read_heads(call, 2, kv_heads);
  require(call,
          k.batches == q.batches && v.batches == q.batches && k.length == q.length && v.length == q.length &&
              k.size == q.size && q.heads % k.heads == 0,
          "query, key and value do not fit together");
  const std::string rule = call.attributes.text("update_rule", "gated_delta");
  require(call, rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta", "unknown update_rule");
  const bool gated = rule == "gated" || rule == "gated_delta", delta = rule == "delta" || rule == "gated_delta";
  double scale = call.attributes.number("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(q.size));
  Heads state{k.batches, k.heads, k.size, v.size, std::vector<double>(k.batches * k.heads * k.size * v.size, 0)};
  if (call.has(3)) {
    require(call, call.input(3).extents() == Extents{sign(k.batches), sign(k.heads), sign(k.size), sign(v.size)},
            "past_state does not fit");
    state.values = call.input(3).doubles();
  }
  std::vector<double> decay, rate;
  std::size_t decays = 0, rates = 0;  // per position
  const auto read_gate = [&](std::size_t operand, std::size_t& width) {
    require_rank(call, operand, 3);
    const Extents& extents = call.input(operand).extents();
    require(call, extents[0] == sign(k.batches) && extents[1] == sign(k.length), "decay or beta does not fit");
    width = unsign(extents[2]);
    return call.input(operand).doubles();
  };
  if (gated) {
    decay = read_gate(4, decays);
    require(call, decays == k.heads || decays == k.heads * k.size, "decay does not fit");
  }
  if (delta) {
    rate = read_gate(5, rates);
    require(call, rates == k.heads || rates == 1, "beta does not fit");
  }
  Heads result{q.batches, q.heads, q.length, v.size, std::vector<double>(q.batches * q.heads * q.length * v.size, 0)};
  std::vector<double> added(v.size);
  const std::size_t group = q.heads / k.heads;
  for (std::size_t b = 0; b < k.batches; ++b)
    for (std::size_t h = 0; h < k.heads; ++h)
      for (std::size_t t = 0; t < k.length; ++t) {
        const double* key = k.row(b, h, t);
        const std::size_t line = b * k.length + t;
        for (std::size_t i = 0; i < k.size && gated; ++i) {
          const double factor = std::exp(decay[line * decays + (decays == k.heads ? h : h * k.size + i)]);
          double* row = state.row(b, h, i);
          for (std::size_t j = 0; j < v.size; ++j) row[j] *= factor;
        }
        std::copy_n(v.row(b, h, t), v.size, added.begin());
        if (delta)
          for (std::size_t i = 0; i < k.size; ++i)
            for (std::size_t j = 0; j < v.size; ++j) added[j] -= state.row(b, h, i)[j] * key[i];
        const double step = delta ? rate[line * rates + (rates == 1 ? 0 : h)] : 1;
        for (std::size_t i = 0; i < k.size; ++i)
          for (std::size_t j = 0; j < v.size; ++j) state.row(b, h, i)[j] += step * key[i] * added[j];
        for (std::size_t head = h * group; head < (h + 1) * group; ++head) {
          const double* query = q.row(b, head, t);
          double* to = result.row(b, head, t);
          for (std::size_t i = 0; i < k.size; ++i)
            for (std::size_t j = 0; j < v.size; ++j) to[j] += scale * query[i] * state.row(b, h, i)[j];
        }
      }
  return {write_heads(call, result, call.input(0).type(), true),
          write_heads(call, state, call.has(3) ? call.input(3).type() : call.input(0).type(), false)};
}

Arrays causal_conv_with_state(const HostCall& call) {
  const Array& x = call.input(0);
  for (const std::size_t operand : {0, 1}) {
    require_rank(call, operand, 3);
    require_floating(call, operand);
  }
  const std::size_t batches = unsign(x.extents()[0]), channels = unsign(x.extents()[1]),
                    length = unsign(x.extents()[2]);
  const Extents& kernel = call.input(1).extents();
  require(call, kernel[0] == sign(channels) && kernel[1] == 1 && kernel[2] > 0, "the weights must be [channels, 1, k]");
  const std::size_t taps = unsign(kernel[2]), carried = taps - 1;
  const std::string activation = call.attributes.text("activation", "none");
  require(call, activation == "none" || activation == "silu" || activation == "swish", "unknown activation");
  const Extents state_extents{sign(batches), sign(channels), sign(carried)};
  if (call.has(3)) require(call, call.input(3).extents() == state_extents, "past_state does not fit");
  if (call.has(2)) require(call, call.input(2).extents() == Extents{sign(channels)}, "the bias does not fit");
  const std::vector<double> in = x.doubles(), weights = call.input(1).doubles();
  const std::vector<double> past =
      call.has(3) ? call.input(3).doubles() : std::vector<double>(batches * channels * carried, 0);
  const std::vector<double> bias = call.has(2) ? call.input(2).doubles() : std::vector<double>(channels, 0);
  Array result = make_array(call, ElementType::float64, x.extents()),
        state = make_array(call, ElementType::float64, state_extents);
  const auto out = result.mutable_values<double>(), kept = state.mutable_values<double>();
  std::vector<double> line(carried + length);
  for (std::size_t i = 0; i < batches * channels; ++i) {
    std::copy_n(past.data() + i * carried, carried, line.begin());
    std::copy_n(in.data() + i * length, length, line.begin() + sign(carried));
    for (std::size_t t = 0; t < length; ++t) {
      double sum = bias[i % channels];
      for (std::size_t tap = 0; tap < taps; ++tap) sum += weights[i % channels * taps + tap] * line[t + tap];
      out[i * length + t] = activation == "none" ? sum : sum / (1 + std::exp(-sum));
    }
    std::copy_n(line.end() - sign(carried), carried, kept.data() + i * carried);
  }
  return {result.cast(x.type()), state.cast(x.type())};
}

}  // namespace

Family attending() {
  static constexpr std::pair<std::string_view, HostFunction> functions[] = {
      {"Attention", attention},
      {"RotaryEmbedding", rotary_embedding},
      {"LinearAttention", linear_attention},
      {"CausalConvWithState", causal_conv_with_state},
  };
  return functions;
}

}  // namespace taso::runtime
