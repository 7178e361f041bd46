// What an NVIDIA H200 does, for prices that are the same on every machine. All constants of the roofline are here.
//
// The times are those of kernels inside a CUDA graph, batch 1. They were chosen so that merged convolutions cost what was
// measured of them on that GPU (TF32, 1x1 to 3x3 kernels of 64 to 768 channels: 3.4 to 11.8 us) and are to be fitted to
// recorded prices, once there are any.
#pragma once

namespace taso::h200 {

/// Kernels run on this many multiprocessors side by side.
inline constexpr double multiprocessors = 132;

// Nanoseconds that a kernel takes if it has next to nothing to do: being launched behind another, filling its pipeline,
// writing its result. The libraries' products set up more than our own kernels do.
inline constexpr double least_convolution = 3400;
/// Where channels come first, convolutions spend time on bringing them together; see cost/README.md.
inline constexpr double least_convolution_channels_first = 5400;
inline constexpr double least_matmul = 3000;
inline constexpr double least_element_wise = 2000;
inline constexpr double least_pooling = 2600;
inline constexpr double least_rows = 2400;
inline constexpr double least_copy = 2000;
/// What we have no kernel for is done on the host, with the copies that this takes.
inline constexpr double least_opaque = 20000;

/// What a run of a whole CUDA graph takes besides its kernels: between 2560 and 2790 in four networks.
inline constexpr double least_run = 2700;

// Bytes a nanosecond. The memory's peak is 4800; five sixths of that is what kernels reach. Weights come from there.
// Activations have just been written and mostly still lie in the cache of 50 MB, which is somewhat faster.
inline constexpr double weight_bandwidth = 4000;
inline constexpr double activation_bandwidth = 5000;
/// A single multiprocessor moves much less, and what is small does not fill more than one: up to `stream_share` bytes take
/// their time at `stream_bandwidth`.
inline constexpr double stream_share = 16384;
inline constexpr double stream_bandwidth = 40;

// Products are done in tiles of the result, each on a multiprocessor, which goes through the whole depth of the product.
// So small products take time for their depth, not for their size. `tile_fill` steps go by before and after.
inline constexpr double tile_rows = 64;
inline constexpr double tile_columns = 64;
inline constexpr double tile_fill = 32;
// Nanoseconds for one step of depth in one tile: 64 x 64 multiplications and additions. At the peak (989 TFLOPS in float16
// and bfloat16, 495 in TF32, 67 in float32 and float64) these were 1.1, 2.2, 16.2 and 16.2.
inline constexpr double step_half = 2.0;
inline constexpr double step_tf32 = 3.6;
inline constexpr double step_float32 = 21.0;
inline constexpr double step_float64 = 24.0;

/// Bytes of the cache. Whose weights take up at most this share of it finds them there in the next run.
inline constexpr double cache_bytes = 50e6;
inline constexpr double resident_share = 0.5;

/// How much longer a step of a convolution takes where channels come first.
inline constexpr double channels_first = 1.9;

/// Operations a nanosecond on CUDA cores: element-wise arithmetic is one operation where the peak of 67,000 counts two, and
/// reaches half of that.
inline constexpr double operations = 16000;
/// Depthwise convolutions are done there too, by reading windows again and again.
inline constexpr double direct_operations = 10000;

}  // namespace taso::h200
