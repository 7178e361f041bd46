// What an NVIDIA H200 does, for prices that are the same on every machine. All constants of the roofline are here.
#pragma once

namespace taso::cost::h200 {

// --- What is known of the device ---

/// Kernels run on this many multiprocessors side by side.
inline constexpr double multiprocessors = 132;

// Bytes a nanosecond. The memory's peak is 4800; five sixths of that is what kernels reach.
inline constexpr double peak_bandwidth = 4800;
inline constexpr double weight_bandwidth = 4000;
inline constexpr double activation_bandwidth = 5000;

/// Bytes of the cache. Whose weights take up at most this share of it finds them there in the next run: the 32 MB of
/// DenseNet-121 do.
inline constexpr double cache_bytes = 50e6;
inline constexpr double resident_share = 0.7;

/// Tiles of the result of a product, one a multiprocessor, for telling how much of the device it fills.
inline constexpr double tile_rows = 64;
inline constexpr double tile_columns = 64;

// Multiplications and additions a nanosecond in the products of one multiprocessor: three quarters of the peaks of the device
// (989 TFLOPS in float16 and bfloat16, 495 in TF32, 67 in float64). float32 is done in three products of TF32.
inline constexpr double multiplied_half = 5600;
inline constexpr double multiplied_tf32 = 2800;
inline constexpr double multiplied_float32 = 933;
inline constexpr double multiplied_float64 = 380;

/// What we have no kernel for is done on the host: nanoseconds that this takes at least, bytes a nanosecond of copies to the host
/// and back, nanoseconds for each element that is read or written, for those of operators that do next to nothing to it, and for
/// each multiplication and addition of a product. See cost/pricing/host_work.h.
inline constexpr double least_opaque = 20000;
inline constexpr double host_transfer = 20;
inline constexpr double host_element = 5.5;
inline constexpr double host_light_element = 1.2;
inline constexpr double host_product = 1.0;

/// What a run of a whole CUDA graph takes besides its kernels.
inline constexpr double least_run = 2500;

// --- Side by side ---
//
// Fitted to what networks and variants of them took; see cost/README.md. Bytes a nanosecond, of the whole device, at which kernels
// that run side by side are in one another's way: what tiles of a product fetch, activations, weights.
inline constexpr double beside_tiles = 4550;
inline constexpr double beside_activations = 820;
inline constexpr double beside_weights = 2000;
/// Nanoseconds that a kernel waits for another lane, in addition; and for the one ahead of it in its own if it does so: else it
/// begins before that one has ended.
inline constexpr double crossing = 1200;
inline constexpr double held_up = 200;
/// Nanoseconds between the begins of two kernels, in whatever lanes.
inline constexpr double between_begins = 400;
/// Of the gain that follows from all that, so much is found.
inline constexpr double gain_in_lanes = 0.9;

// --- What was fitted ---
//
// To recorded prices; see cost/README.md for how well it predicts. This writes all numbers below, and the next line:
// build/tools/cost_fit --write cost/pricing/h200.h --prices cost/prices/nvidia-h200.prices
// Fitted on 2026-11-16, to 6676 calls of nvidia-h200.prices.

// Nanoseconds that a kernel of a kind takes if it has next to nothing to do: being launched behind another, filling its
// pipeline, writing its result.
inline constexpr double least_convolution = 835;
inline constexpr double least_channels_first = 3074;
inline constexpr double least_direct = 579;
inline constexpr double least_matmul = 776;
inline constexpr double least_element_wise = 815;
inline constexpr double least_pooling = 1035;
inline constexpr double least_rows = 1068;
inline constexpr double least_copy = 876;

// Products: nanoseconds that go by for each 32 of depth of a tile, however small it is, and for each time that the depth is
// halved among blocks, whose sums then have to meet; bytes a nanosecond of factors that one multiprocessor gets from the cache,
// and of results that it hands on.
inline constexpr double slab_wait = 374;
inline constexpr double meeting = 106;
inline constexpr double tile_bandwidth = 171;
inline constexpr double result_bandwidth = 15.9;
// How many times as long these take if channels come first, if there are too few of them to be fetched 16 bytes at a time, and if
// float32 is not rounded to TF32.
inline constexpr double channels_first = 2.69;
inline constexpr double few_channels = 1.72;
inline constexpr double unrounded = 1.57;
// Convolutions of small groups, done without tiles: multiplications and additions a nanosecond, and nanoseconds for each step of
// depth, which are done one after the other.
inline constexpr double direct_operations = 6723;
inline constexpr double direct_wait = 98.8;

// Nanoseconds until the first weights come from memory; bytes a nanosecond of weights, most of whose time goes by while other
// things are waited for, and of activations, which mostly lie in the cache.
inline constexpr double weight_wait = 138;
inline constexpr double weight_rate = 11332;
inline constexpr double activation_rate = 6705;

// Other arithmetic: operations a nanosecond of the whole device, and nanoseconds for each operation that an element has to wait
// for.
inline constexpr double operations = 31583;
inline constexpr double chain_wait = 4.58;

}  // namespace taso::cost::h200
