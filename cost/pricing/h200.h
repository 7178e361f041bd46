// Constants of an NVIDIA H200. They are fixed, so that predicted prices are the same on every machine. All constants of
// the roofline are here.
#pragma once

namespace taso::cost::h200 {

// --- Known properties of the device ---

/// The number of multiprocessors that run concurrently.
inline constexpr double multiprocessors = 132;

// Bytes per nanosecond. The peak of the memory is 4800; kernels reach five sixths of it.
inline constexpr double peak_bandwidth = 4800;
inline constexpr double weight_bandwidth = 4000;
inline constexpr double activation_bandwidth = 5000;

/// The size of the cache in bytes. If the weights of a network take up at most this share of it, the next run finds
/// them there: the 32 MB of DenseNet-121 do.
inline constexpr double cache_bytes = 50e6;
inline constexpr double resident_share = 0.7;

/// The tiles that a product is assumed to have, one per multiprocessor, to estimate how much of the device it fills.
inline constexpr double tile_rows = 64;
inline constexpr double tile_columns = 64;

// Multiply-adds per nanosecond of one multiprocessor in products: three quarters of the peak of the device (989 TFLOPS
// in float16 and bfloat16, 495 in TF32, 67 in float64). float32 uses three products in TF32.
inline constexpr double multiplied_half = 5600;
inline constexpr double multiplied_tf32 = 2800;
inline constexpr double multiplied_float32 = 933;
inline constexpr double multiplied_float64 = 380;

/// Operators without a kernel run on the host. In this order: the least time in nanoseconds, bytes per nanosecond of
/// copies to the host and back, nanoseconds per element read or written, the same for operators that do next to
/// nothing, and nanoseconds per multiply-add of a product. See cost/pricing/host_work.h.
inline constexpr double least_opaque = 20000;
inline constexpr double host_transfer = 20;
inline constexpr double host_element = 5.5;
inline constexpr double host_light_element = 1.2;
inline constexpr double host_product = 1.0;

/// The time of a run of a whole CUDA graph in addition to its kernels.
inline constexpr double least_run = 2500;

// --- Concurrency ---
//
// Fitted to measured times of networks and their variants; see runtime/README.md. Bytes per nanosecond of the whole
// device at which concurrent kernels slow one another down: fetches of product tiles, activations, weights.
inline constexpr double beside_tiles = 4550;
inline constexpr double beside_activations = 820;
inline constexpr double beside_weights = 2000;
/// Additional nanoseconds for a kernel that waits for another stream, and for such a kernel to wait for its predecessor
/// in its own stream. Kernels that wait for no other stream start before their predecessor has ended.
inline constexpr double crossing = 1200;
inline constexpr double held_up = 200;
/// The least number of nanoseconds between the starts of two kernels, in any streams.
inline constexpr double between_begins = 400;
/// The share of the gain computed from these constants that measurements confirm.
inline constexpr double gain_in_lanes = 0.9;

// --- Fitted constants ---
//
// Fitted to recorded prices; cost/README.md says how well they predict. This command rewrites all numbers below and the
// next line:
// build/tools/cost_fit --write cost/pricing/h200.h --prices cost/prices/nvidia-h200.prices
// Fitted on 2026-11-16, to 6676 calls of nvidia-h200.prices.

// The least time of a kernel of each kind in nanoseconds, with next to nothing to do: launch after another kernel,
// pipeline fill, writing the result.
inline constexpr double least_convolution = 835;
inline constexpr double least_channels_first = 3074;
inline constexpr double least_direct = 579;
inline constexpr double least_matmul = 776;
inline constexpr double least_element_wise = 815;
inline constexpr double least_pooling = 1035;
inline constexpr double least_rows = 1068;
inline constexpr double least_copy = 876;

// Products. In this order: nanoseconds per 32 of depth of a tile, however small the tile is; nanoseconds per halving of
// the depth among blocks, whose sums then have to be combined; bytes per nanosecond of factors that one multiprocessor
// gets from the cache, and of results that it passes on.
inline constexpr double slab_wait = 374;
inline constexpr double meeting = 106;
inline constexpr double tile_bandwidth = 171;
inline constexpr double result_bandwidth = 15.9;
// Slowdown factors: for NCHW, for too few channels to fetch 16 bytes at a time, and for float32 not rounded to TF32.
inline constexpr double channels_first = 2.69;
inline constexpr double few_channels = 1.72;
inline constexpr double unrounded = 1.57;
// Convolutions of small groups, without tiles: multiply-adds per nanosecond, and nanoseconds per step of depth, which
// are sequential.
inline constexpr double direct_operations = 6723;
inline constexpr double direct_wait = 98.8;

// Nanoseconds until the first weights arrive from memory; bytes per nanosecond of weights, most of whose transfer
// overlaps with other waiting, and of activations, which are mostly in the cache.
inline constexpr double weight_wait = 138;
inline constexpr double weight_rate = 11332;
inline constexpr double activation_rate = 6705;

// Other arithmetic: operations per nanosecond of the whole device, and nanoseconds per operation in the dependency
// chain of one element.
inline constexpr double operations = 31583;
inline constexpr double chain_wait = 4.58;

}  // namespace taso::cost::h200
