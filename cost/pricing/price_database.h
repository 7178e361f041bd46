// Prices of kernels that were measured, by machine and by call: a text that can be compared and merged line by line.
//
//   taso prices 4
//   machine NVIDIA H200, driver 13.0, CUDA 13.0, cuDNN 9.14.0, cuBLAS 13.0.0
//   3412.5/2411.0/2604.1/4120.9<TAB>0.4<TAB>fused: engine 35<TAB>convolution tf32: ...
//
// Nanoseconds (see Surroundings): behind a writer, behind itself with weights from the cache, behind itself with weights from
// memory, and behind a stranger. All but the first may be missing at the end. In files that begin with "taso prices 1", 2 or 3 the
// second is behind a writer too: where the third is known, what is most likely behind itself is made of it. In 1 and 2 a tenth of
// what a stranger costs is in both. Then the spread in percent ("?" behind it where repeated measurements did not agree), how it
// was done, and the call (see text_of). Lines are sorted by call.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace taso::cost {

struct RecordedPrice {
  double nanoseconds = 0;  ///< median, behind a writer
  double spread = 0;       ///< half of the distance between the quartiles, as a part of the median
  bool is_settled = true;  ///< repeated measurements agreed
  std::string
      choice;  ///< the way it was done: lowering, then the library's engine or algorithm for each of its launches
  // 0: nobody has measured that
  double warm_nanoseconds = 0;      ///< behind itself, with weights from the cache
  double again_nanoseconds = 0;     ///< behind itself
  double stranger_nanoseconds = 0;  ///< behind a kernel with so much code that its own has to be fetched again
  /// Nothing of it is to be measured any more.
  bool is_complete() const { return warm_nanoseconds > 0 && again_nanoseconds > 0 && stranger_nanoseconds > 0; }
  bool operator==(const RecordedPrice&) const = default;
};

class PriceDatabase {
 public:
  /// Throws InputError that names the source and the line.
  static PriceDatabase parse(std::string_view text, const std::string& source);
  std::string text() const;

  /// Null if it is not there.
  const RecordedPrice* find(const std::string& machine, const std::string& call) const;
  void set(const std::string& machine, const std::string& call, RecordedPrice price);
  /// Takes everything; where both have a price, the other's counts, unless figures would be lost.
  void merge(const PriceDatabase& other);

  std::vector<std::string> machines() const;
  std::size_t size(const std::string& machine) const;
  std::vector<std::string> calls(const std::string& machine) const;  ///< sorted

 private:
  std::map<std::string, std::map<std::string, RecordedPrice>> prices_;  // by machine and call
};

}  // namespace taso::cost
