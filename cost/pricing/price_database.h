// Measured prices of kernels, by machine and by call. The text format can be compared and merged line by line.
//
//   taso prices 4
//   machine NVIDIA H200, driver 13.0, CUDA 13.0, cuDNN 9.14.0, cuBLAS 13.0.0
//   3412.5/2411.0/2604.1/4120.9<TAB>0.4<TAB>fused: engine 35<TAB>convolution tf32: ...
//
// The first field has the times in nanoseconds (see Surroundings): after a writer, after itself with weights from the
// cache, after itself with weights from memory, and after a stranger. All but the first may be missing at the end. Then
// follow the spread in percent (with "?" if repeated measurements did not agree), the chosen variant, and the call (see
// text_of). Lines are sorted by call.
//
// In files of versions 1 to 3 the second time was measured after a writer too; if the third is known, parsing estimates
// the time after itself from it. In versions 1 and 2 both include a tenth of the cost of a stranger.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace taso::cost {

struct RecordedPrice {
  double nanoseconds = 0;  ///< median, after a writer
  double spread = 0;       ///< half of the interquartile range, relative to the median
  bool is_settled = true;  ///< repeated measurements agreed
  std::string choice;      ///< the chosen variant: lowering, then the library's engine or algorithm for each launch
  // 0 means not measured
  double warm_nanoseconds = 0;      ///< after itself, with weights from the cache
  double again_nanoseconds = 0;     ///< after itself, with weights from memory
  double stranger_nanoseconds = 0;  ///< after a kernel so large that this kernel's code has to be fetched again
  /// Whether nothing remains to be measured.
  bool is_complete() const { return warm_nanoseconds > 0 && again_nanoseconds > 0 && stranger_nanoseconds > 0; }
  bool operator==(const RecordedPrice&) const = default;
};

class PriceDatabase {
 public:
  /// Throws InputError with the source and the line.
  static PriceDatabase parse(std::string_view text, const std::string& source);
  std::string text() const;

  /// Null if there is none.
  const RecordedPrice* find(const std::string& machine, const std::string& call) const;
  void set(const std::string& machine, const std::string& call, RecordedPrice price);
  /// Adds all prices of `other`. They replace existing ones, except where figures would be lost.
  void merge(const PriceDatabase& other);

  std::vector<std::string> machines() const;
  std::size_t size(const std::string& machine) const;
  std::vector<std::string> calls(const std::string& machine) const;  ///< sorted

 private:
  std::map<std::string, std::map<std::string, RecordedPrice>> prices_;  // by machine and call
};

}  // namespace taso::cost
