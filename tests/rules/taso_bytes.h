// Writes TASO's rule files, to test the reader.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace taso::test {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(static_cast<unsigned char>((value & 0x7f) | 0x80));
  return bytes + static_cast<char>(value);
}

inline std::string number_field(unsigned number, std::int64_t value) {
  return varint(number << 3) + varint(static_cast<std::uint64_t>(value));
}

inline std::string message_field(unsigned number, const std::string& body) {
  return varint(number << 3 | 2) + varint(body.size()) + body;
}

/// (operator, result); a negative operator is an input.
using Tensor = std::pair<int, int>;

struct Node {
  int type = 0;
  std::vector<Tensor> inputs;
  std::vector<std::pair<int, int>> parameters;
};

inline std::string bytes_of(const Node& node) {
  std::string body = number_field(1, node.type);
  for (const auto& [op, output] : node.inputs) body += message_field(2, number_field(1, op) + number_field(2, output));
  for (const auto& [key, value] : node.parameters)
    body += message_field(3, number_field(1, key) + number_field(2, value));
  return body;
}

/// One rule; `results` are pairs of a result of the source and one of the target.
inline std::string taso_rule(const std::vector<Node>& source, const std::vector<Node>& target,
                             const std::vector<std::pair<Tensor, Tensor>>& results) {
  std::string body;
  for (const Node& node : source) body += message_field(1, bytes_of(node));
  for (const Node& node : target) body += message_field(2, bytes_of(node));
  for (const auto& [from, to] : results)
    body += message_field(3, number_field(1, from.first) + number_field(2, to.first) + number_field(3, from.second) +
                                 number_field(4, to.second));
  return message_field(1, body);
}

// Types and keys, as the format numbers them.
enum : int {
  conv = 3,
  max_pool = 6,
  average_pool = 7,
  relu = 8,
  concat = 12,
  split = 13,
  transpose = 15,
  add = 16,
  mul = 17,
  matmul = 18,
  scalar_mul = 19,
  enlarge = 20,
  identity_matrix = 22,
  identity_kernel = 23,
  ones = 24,
  pooling_kernel = 25,
};
enum : int {
  key_inputs = 1,
  key_outputs = 2,
  key_groups = 3,
  key_kernel_h = 4,
  key_kernel_w = 5,
  key_stride_h = 6,
  key_stride_w = 7,
  key_padding = 8,
  key_activation = 9,
  key_rank = 10,
  key_axis = 11,
  key_permutation = 12,
};

/// The parameters of a convolution or a pooling: square, padding 0 is "same".
inline std::vector<std::pair<int, int>> window(int kernel, int stride, int padding = 0, int activation = 0) {
  return {{key_kernel_h, kernel}, {key_kernel_w, kernel}, {key_stride_h, stride},
          {key_stride_w, stride}, {key_padding, padding}, {key_activation, activation}};
}

/// A file of several rules that together use everything that can be read.
inline std::string taso_sample() {
  const Tensor x{-1, 0}, y{-2, 0}, z{-3, 0};
  const std::vector<std::pair<int, int>> axis0{{key_axis, 0}, {key_rank, 4}}, axis1{{key_axis, 1}, {key_rank, 4}};
  return taso_rule({{matmul, {x, y}, {}}, {matmul, {{0, 0}, z}, {}}}, {{matmul, {y, z}, {}}, {matmul, {x, {0, 0}}, {}}},
                   {{{1, 0}, {1, 0}}}) +
         taso_rule({{conv, {x, y}, window(3, 1, 0, 2)}, {conv, {x, z}, window(3, 1, 0, 2)}},
                   {{concat, {y, z}, axis0},
                    {conv, {x, {0, 0}}, window(3, 1)},
                    {relu, {{1, 0}}, {}},
                    {split, {{2, 0}}, {{key_axis, 1}, {key_outputs, 2}}}},
                   {{{0, 0}, {3, 0}}, {{1, 0}, {3, 1}}}) +
         taso_rule({{average_pool, {x}, window(3, 2)}}, {{pooling_kernel, {}, {}}, {conv, {x, {0, 0}}, window(3, 2)}},
                   {{{0, 0}, {1, 0}}}) +
         taso_rule({{transpose, {x}, {{key_rank, 2}, {key_permutation, 2}}}, {mul, {{0, 0}, y}, {}}},
                   {{ones, {}, {}},
                    {transpose, {x}, {{key_rank, 2}, {key_permutation, 2}}},
                    {mul, {{1, 0}, {0, 0}}, {}},
                    {mul, {{2, 0}, y}, {}}},
                   {{{1, 0}, {3, 0}}}) +
         taso_rule({{conv, {x, y}, window(1, 1)}, {scalar_mul, {{0, 0}, z}, {}}},
                   {{scalar_mul, {y, z}, {}},
                    {enlarge, {{0, 0}}, {{key_kernel_h, 3}, {key_kernel_w, 3}}},
                    {conv, {x, {1, 0}}, window(3, 1)}},
                   {{{1, 0}, {2, 0}}});
}

}  // namespace taso::test
