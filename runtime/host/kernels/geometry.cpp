#include "runtime/host/kernels/geometry.h"

#include <algorithm>
#include <cstring>

#include "ops/support/threads.h"

namespace taso::runtime::kernels {
namespace {

using std::int64_t;

constexpr std::size_t bytes_per_task = 1 << 17;

/// Bytes that are moved as one word, whatever their type.
template <class Bits>
struct [[gnu::may_alias]] Word {
  Bits bits;
};

int64_t grain_of(std::size_t bytes) {
  return static_cast<int64_t>(std::max<std::size_t>(1, bytes_per_task / std::max<std::size_t>(bytes, 1)));
}

/// A transposition with merged axes: the extents of the result and the strides in x.
struct Reading {
  Extents extents;
  std::vector<int64_t> steps;
};

Reading join_axes(const Extents& extents, const std::vector<int64_t>& permutation) {
  const auto strides = strides_of(extents);
  Reading reading;
  for (const int64_t axis : permutation) {
    const int64_t extent = extents[static_cast<std::size_t>(axis)], step = strides[static_cast<std::size_t>(axis)];
    if (extent == 1) continue;
    if (!reading.extents.empty() && reading.steps.back() == step * extent) {
      reading.extents.back() *= extent;
      reading.steps.back() = step;
    } else {
      reading.extents.push_back(extent);
      reading.steps.push_back(step);
    }
  }
  return reading;
}

/// The places of a flat index over `dims` of the reading.
struct Place {
  int64_t from = 0, to = 0;
};
Place place_of(int64_t flat, const Reading& reading, const std::vector<int64_t>& to_steps,
               const std::vector<std::size_t>& dims) {
  Place place;
  for (std::size_t i = dims.size(); i-- > 0;) {
    const std::size_t d = dims[i];
    const int64_t index = flat % reading.extents[d];
    flat /= reading.extents[d];
    place.from += index * reading.steps[d];
    place.to += index * to_steps[d];
  }
  return place;
}

/// Transposes `rows` x `columns` in squares: elements contiguous in x get the distance `to_step`, and vice versa.
template <class T>
void transpose_matrix(const T* from, int64_t from_step, T* to, int64_t to_step, int64_t rows, int64_t columns) {
  constexpr int64_t side = 16;
  for (int64_t column = 0; column < columns; column += side)
    for (int64_t row = 0; row < rows; row += side) {
      const int64_t row_end = std::min(rows, row + side), column_end = std::min(columns, column + side);
      for (int64_t r = row; r < row_end; ++r)
        for (int64_t c = column; c < column_end; ++c) to[r * to_step + c] = from[c * from_step + r];
    }
}

/// For a last axis that moves: transposes matrices of this axis and the axis that is contiguous in x.
template <class T>
void transpose_elements(const Reading& reading, const T* x, T* out, unsigned threads) {
  const auto to_steps = strides_of(reading.extents);
  const std::size_t last = reading.extents.size() - 1;
  const auto unit =
      static_cast<std::size_t>(std::find(reading.steps.begin(), reading.steps.end(), 1) - reading.steps.begin());
  std::vector<std::size_t> outer;
  int64_t matrices = 1;
  for (std::size_t d = 0; d < last; ++d)
    if (d != unit) {
      outer.push_back(d);
      matrices *= reading.extents[d];
    }
  const int64_t rows = reading.extents[unit], columns = reading.extents[last];
  const int64_t rows_per_task =
      std::min(rows, (grain_of(static_cast<std::size_t>(columns) * sizeof(T)) + 15) / 16 * 16);
  const int64_t bands = (rows + rows_per_task - 1) / rows_per_task;
  const int64_t grain = bands > 1 ? 1 : grain_of(static_cast<std::size_t>(rows * columns) * sizeof(T));
  parallel_ranges(threads, matrices * bands, grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const Place place = place_of(task / bands, reading, to_steps, outer);
      const int64_t row = task % bands * rows_per_task;
      transpose_matrix(x + place.from + row, reading.steps[last], out + place.to + row * to_steps[unit], to_steps[unit],
                       std::min(rows_per_task, rows - row), columns);
    }
  });
}

}  // namespace

void copy_runs(const std::byte* from, std::size_t from_step, std::byte* to, std::size_t to_step, std::size_t bytes,
               int64_t runs, unsigned threads) {
  if (bytes == 0) return;
  if (from_step == bytes && to_step == bytes) {  // everything is contiguous
    parallel_ranges(threads, static_cast<int64_t>(bytes) * runs, bytes_per_task, [&](int64_t begin, int64_t end) {
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  parallel_ranges(threads, runs, grain_of(bytes), [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      std::memcpy(to + i * to_step, from + i * from_step, bytes);
  });
}

void transpose(const std::byte* x, const Extents& extents, const std::vector<int64_t>& permutation, std::size_t element,
               std::byte* out, unsigned threads) {
  if (count(extents) == 0) return;
  const Reading reading = join_axes(extents, permutation);
  if (reading.extents.size() <= 1) {
    copy_runs(x, element, out, element, element, count(extents), threads);
  } else if (reading.steps.back() == 1) {
    const std::size_t run = static_cast<std::size_t>(reading.extents.back()) * element;
    const auto to_steps = strides_of(reading.extents);
    std::vector<std::size_t> outer;
    for (std::size_t d = 0; d + 1 < reading.extents.size(); ++d) outer.push_back(d);
    parallel_ranges(threads, count(extents) / reading.extents.back(), grain_of(run), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Place place = place_of(i, reading, to_steps, outer);
        std::memcpy(out + static_cast<std::size_t>(i) * run, x + static_cast<std::size_t>(place.from) * element, run);
      }
    });
  } else {
    const auto as = [&]<class T>(T) {
      transpose_elements(reading, reinterpret_cast<const T*>(x), reinterpret_cast<T*>(out), threads);
    };
    switch (element) {
      case 1: return as(Word<std::uint8_t>{});
      case 2: return as(Word<std::uint16_t>{});
      case 4: return as(Word<std::uint32_t>{});
      default: check(element == 8, "elements have 1, 2, 4 or 8 bytes"); return as(Word<std::uint64_t>{});
    }
  }
}

void pad(const std::byte* x, const Extents& extents, const Extents& before, const Extents& result, std::size_t element,
         const std::byte* fill, std::byte* out, unsigned threads) {
  const bool one_byte = std::all_of(fill, fill + element, [&](std::byte byte) { return byte == fill[0]; });
  parallel_ranges(threads, count(result), static_cast<int64_t>(bytes_per_task / element),
                  [&](int64_t begin, int64_t end) {
                    std::byte* to = out + static_cast<std::size_t>(begin) * element;
                    if (one_byte)
                      std::memset(to, std::to_integer<int>(fill[0]), static_cast<std::size_t>(end - begin) * element);
                    else
                      for (int64_t i = begin; i < end; ++i, to += element) std::memcpy(to, fill, element);
                  });
  if (count(extents) == 0) return;
  const auto to_steps = strides_of(result);
  if (extents.empty()) {
    std::memcpy(out, x, element);
    return;
  }
  const auto run = static_cast<std::size_t>(extents.back()) * element;
  const std::size_t outer = extents.size() - 1;
  parallel_ranges(threads, count(extents) / extents.back(), grain_of(run), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t rest = i, to = before[outer];
      for (std::size_t d = outer; d-- > 0; rest /= extents[d]) to += (rest % extents[d] + before[d]) * to_steps[d];
      std::memcpy(out + static_cast<std::size_t>(to) * element, x + static_cast<std::size_t>(i) * run, run);
    }
  });
}

}  // namespace taso::runtime::kernels
