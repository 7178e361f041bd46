// The benchmark networks: the list, and how to build each.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "examples/networks/builder.h"

namespace taso::examples {

/// What may differ from the paper.
struct Variant {
  std::int64_t image_size = 0;  ///< height and width of the images, for networks that take images
  std::int64_t sequence = 0;    ///< the number of tokens, or of tokens before, for networks that take text
  std::int64_t blocks = 0;      ///< how many times the block is repeated at each place; 0: as in the paper
  std::int64_t opset = 0;       ///< 0: the network's own
  std::int64_t width = 0;       ///< channels of the first level, for networks whose width can be chosen
  /// A decoder's keys and values have room for `sequence` tokens, and the new ones are written at `cache_position`.
  bool has_static_cache = false;
  /// A decoder's keys and values are of any number of tokens.
  bool has_open_past = false;
};

/// The number of blocks per stage, unless the variant asks for another number.
std::vector<std::int64_t> blocks_by_stage(const Variant& variant, std::vector<std::int64_t> in_the_paper);

// Each file says where its network comes from.
void build_resnet18(Builder& net, const Variant& variant);
void build_resnet50(Builder& net, const Variant& variant);
void build_resnext50(Builder& net, const Variant& variant);
void build_resnet3d_18(Builder& net, const Variant& variant);
void build_csrnet(Builder& net, const Variant& variant);
void build_inception_v3(Builder& net, const Variant& variant);
void build_squeezenet(Builder& net, const Variant& variant);
void build_mobilenet_v2(Builder& net, const Variant& variant);
void build_densenet121(Builder& net, const Variant& variant);
void build_nasnet_mobile(Builder& net, const Variant& variant);
void build_nasnet_large(Builder& net, const Variant& variant);
void build_nasrnn(Builder& net, const Variant& variant);
void build_nas_cell(Builder& net, const Variant& variant);
void build_bert_base(Builder& net, const Variant& variant);
void build_bert_large(Builder& net, const Variant& variant);
void build_vit(Builder& net, const Variant& variant);
void build_ssd300(Builder& net, const Variant& variant);
// In exported/:
void build_unet_block(Builder& net, const Variant& variant);
void build_llama_small(Builder& net, const Variant& variant);
void build_llama_1b(Builder& net, const Variant& variant);
void build_efficientnet_b0(Builder& net, const Variant& variant);
void build_convnext_tiny(Builder& net, const Variant& variant);
void build_swin_tiny(Builder& net, const Variant& variant);
void build_distilbert(Builder& net, const Variant& variant);
void build_whisper_tiny(Builder& net, const Variant& variant);
void build_gpt2(Builder& net, const Variant& variant);
void build_yolov8n(Builder& net, const Variant& variant);
void build_diffusion_unet(Builder& net, const Variant& variant);
void build_moe_block(Builder& net, const Variant& variant);

/// What torch.onnx.export writes by default.
inline constexpr std::int64_t exported_opset = 20;

struct Network {
  std::string_view name;
  std::string_view blocks;  ///< what is repeated, and how many times in the paper
  void (*build)(Builder&, const Variant&);
  std::int64_t image_size = 0;  ///< 0: it takes no images
  std::int64_t smallest_image = 0;
  std::int64_t image_step = 1;  ///< sizes are multiples of it
  std::int64_t sequence = 0;    ///< 0: it takes no sequence, or one of fixed length
  std::int64_t longest_sequence = 0;
  std::int64_t opset = 17;  ///< from exported_opset on as PyTorch's exporter writes it
  std::int64_t width = 0;   ///< 0: it cannot be chosen
  bool has_past = false;    ///< a decoder
};

std::span<const Network> all_networks();
/// Throws InputError, with a suggestion.
const Network& network_named(std::string_view name);

/// Builds a network. Sizes that `variant` omits are those of the paper. Throws InputError for sizes that the network
/// does not support.
void build(Builder& net, const Network& network, Variant variant);

}  // namespace taso::examples
