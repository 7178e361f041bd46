// Chooses among recorded prices of ONNX Runtime, where nothing may be measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cost/pricing/price_database.h"

namespace taso::cli {

/// The name of a machine taken apart: "PROCESSOR, ONNX Runtime VERSION, CPU provider, threads N, opset M".
struct RecordedMachine {
  std::string name;
  std::string processor, version, provider;
  unsigned threads = 1;
  std::int64_t opset = 17;  ///< of the small models; 17 where the name does not tell
};
/// Nothing if the prices are not those of ONNX Runtime.
std::optional<RecordedMachine> recorded_machine(const std::string& name);

/// The prices that are wanted.
struct WantedPrices {
  std::string provider;
  std::string processor;            ///< of this machine; empty if any will do
  std::string part_of_name;         ///< instead of the processor; empty if none is asked for
  std::optional<unsigned> threads;  ///< any, if there are prices for one number only
  std::int64_t opset = 17;          ///< preferred; otherwise the nearest
};

/// The machine whose prices fit. Throws PricesMissing, with what there is, if none or several do.
RecordedMachine choose_machine(const cost::PriceDatabase& prices, const WantedPrices& wanted);

struct PricesMissing {
  std::string reason;
};

}  // namespace taso::cli
