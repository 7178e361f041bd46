#include "examples/networks/networks.h"

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ops/core/error.h"
#include "ops/text/spelling.h"

namespace taso::examples {
namespace {

constexpr std::array<Network, 29> networks{{
    {"resnet18", "blocks per stage: 2, 2, 2, 2", build_resnet18, 224, 32},
    {"resnet50", "bottlenecks per stage: 3, 4, 6, 3", build_resnet50, 224, 32},
    {"resnext50", "bottlenecks per stage: 3, 4, 6, 3", build_resnext50, 224, 32},
    {"resnet3d_18", "blocks per stage: 2, 2, 2, 2", build_resnet3d_18, 112, 16},
    {"csrnet", "convolutions per width: 2, 2, 3, 3; 3, 1, 1, 1", build_csrnet, 512, 8},
    {"inception_v3", "modules per kind: 3, 4, 2", build_inception_v3, 299, 75},
    {"squeezenet1_1", "fire modules per width: 2, 2, 2, 2", build_squeezenet, 224, 32},
    {"mobilenet_v2", "inverted residuals per stage: 1, 2, 3, 4, 3, 3, 1", build_mobilenet_v2, 224, 32},
    {"densenet121", "layers per dense block: 6, 12, 24, 16", build_densenet121, 224, 32},
    {"nasnet_mobile", "normal cells per stage: 4, 4, 4", build_nasnet_mobile, 224, 32},
    {"nasnet_large", "normal cells per stage: 6, 6, 6", build_nasnet_large, 331, 32},
    {"nasrnn", "steps: 5", build_nasrnn},
    {"nas_cell", "steps: 5", build_nas_cell},
    {"bert_base", "layers: 12", build_bert_base, 0, 0, 1, 128, 512},
    {"bert_large", "layers: 24", build_bert_large, 0, 0, 1, 128, 512},
    {"vit_b_16", "layers: 12", build_vit, 224, 16, 16},
    {"ssd300_resnet50", "bottlenecks per stage: 3, 4, 6", build_ssd300, 300, 257},
    {"unet_block", "blocks: 2", build_unet_block, 32, 4, 1, 0, 0, exported_opset},
    {"llama_small", "layers: 8", build_llama_small, 0, 0, 1, 128, 65535, exported_opset, 0, true},
    {"llama_1b", "layers: 16", build_llama_1b, 0, 0, 1, 512, 65535, exported_opset, 0, true},
    {"efficientnet_b0", "inverted residuals per stage: 1, 2, 2, 3, 3, 4, 1", build_efficientnet_b0, 224, 32, 1, 0, 0,
     exported_opset},
    {"convnext_tiny", "blocks per stage: 3, 3, 9, 3", build_convnext_tiny, 224, 32, 32, 0, 0, exported_opset},
    {"swin_tiny", "pairs of blocks per stage: 1, 1, 3, 1", build_swin_tiny, 224, 32, 4, 0, 0, exported_opset},
    {"distilbert", "layers: 6", build_distilbert, 0, 0, 1, 128, 512, exported_opset},
    {"whisper_tiny", "layers: 4", build_whisper_tiny, 0, 0, 1, 3000, 3000, exported_opset},
    {"gpt2", "layers: 12", build_gpt2, 0, 0, 1, 128, 1023, exported_opset, 0, true},
    {"yolov8n", "bottlenecks per stage: 1, 2, 2, 1, 1, 1, 1, 1", build_yolov8n, 640, 32, 32, 0, 0, exported_opset},
    {"diffusion_unet", "blocks per level: 2, and 3 upwards", build_diffusion_unet, 64, 8, 8, 0, 0, exported_opset, 320},
    {"moe_block", "blocks: 1", build_moe_block, 0, 0, 1, 1, 1024, exported_opset},
}};

constexpr std::int64_t largest_image = 4096;
constexpr std::int64_t most_blocks = 1024;
constexpr std::int64_t newest_opset = 23;

void settle_image(const Network& network, Variant& variant) {
  if (network.image_size == 0 && variant.image_size != 0)
    throw InputError(fmt::format("{} takes no images", network.name));
  if (network.image_size == 0) return;
  if (variant.image_size == 0) variant.image_size = network.image_size;
  if (variant.image_size < network.smallest_image || variant.image_size > largest_image)
    throw InputError(fmt::format("images of {} must be {} to {} pixels, not {}", network.name, network.smallest_image,
                                 largest_image, variant.image_size));
  if (variant.image_size % network.image_step != 0)
    throw InputError(fmt::format("images of {} must be a multiple of {} pixels, not {}", network.name,
                                 network.image_step, variant.image_size));
}

void settle_sequence(const Network& network, Variant& variant) {
  if (network.sequence == 0 && variant.sequence != 0)
    throw InputError(fmt::format("{} takes no sequence length", network.name));
  if (network.sequence == 0) return;
  if (variant.sequence == 0) variant.sequence = network.sequence;
  if (variant.sequence > network.longest_sequence)
    throw InputError(
        fmt::format("{} reads up to {} tokens, not {}", network.name, network.longest_sequence, variant.sequence));
}

void settle_width(const Network& network, Variant& variant) {
  constexpr std::int64_t step = 32, largest = 4096;
  if (network.width == 0 && variant.width != 0)
    throw InputError(fmt::format("the width of {} cannot be chosen", network.name));
  if (network.width == 0) return;
  if (variant.width == 0) variant.width = network.width;
  if (variant.width % step != 0 || variant.width > largest)
    throw InputError(fmt::format("the width of {} must be a multiple of {} up to {}, not {}", network.name, step,
                                 largest, variant.width));
}

void settle_opset(const Network& network, Variant& variant) {
  if (network.opset < exported_opset && variant.opset != 0)
    throw InputError(fmt::format("{} has opset {} only", network.name, network.opset));
  if (variant.opset == 0) variant.opset = network.opset;
  if (variant.opset < network.opset || variant.opset > newest_opset)
    throw InputError(fmt::format("{} can have an opset of {} to {}, not {}", network.name, network.opset, newest_opset,
                                 variant.opset));
}

}  // namespace

std::vector<std::int64_t> blocks_by_stage(const Variant& variant, std::vector<std::int64_t> in_the_paper) {
  if (variant.blocks > 0) std::fill(in_the_paper.begin(), in_the_paper.end(), variant.blocks);
  return in_the_paper;
}

std::span<const Network> all_networks() { return networks; }

const Network& network_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Network& network : networks) {
    if (network.name == name) return network;
    names.emplace_back(network.name);
  }
  const std::string guess = did_you_mean(name, names);
  throw InputError(fmt::format("there is no network '{}'{}", name,
                               guess.empty() ? fmt::format("; there are {}", fmt::join(names, ", ")) : guess));
}

void build(Builder& net, const Network& network, Variant variant) {
  settle_image(network, variant);
  settle_sequence(network, variant);
  settle_width(network, variant);
  settle_opset(network, variant);
  if (variant.has_static_cache && !network.has_past)
    throw InputError(fmt::format("{} is no decoder: it has no cache", network.name));
  if (variant.has_open_past && !network.has_past)
    throw InputError(fmt::format("{} is no decoder: it has no past", network.name));
  if (variant.blocks > most_blocks)
    throw InputError(fmt::format("{} blocks are too many; at most {} can be built", variant.blocks, most_blocks));
  if (variant.opset >= exported_opset) net.write_as_exported(variant.opset);
  network.build(net, variant);
}

}  // namespace taso::examples
