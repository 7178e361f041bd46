// Engine files: a model with everything that was found out about running it on one machine. Loading one skips the
// search, the measuring and the compiling.
//
// Format 2: the eight bytes "TASOENG2", the size of the contents as a 64-bit little-endian number, the contents as
// JSON, and the parts one after the other, each with its size and checksum in the contents: the model (ONNX) without
// its larger weights, these weights, the prices of the machine with the variants chosen
// (cost/pricing/price_database.h), and what was compiled. The plan itself is not stored: it follows from the model and
// the prices, so that a file cannot contain a plan that is wrong. In format 1, the model contained all weights, and
// therefore had at most 2 GB.
//
// Policy: a library reads the formats up to its own, and refuses newer ones. If GPU, driver or libraries differ from
// those of the file, the kernels are chosen and compiled anew, and the log says so.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cost/pricing/precision.h"
#include "cost/pricing/price_database.h"
#include "onnx/model/model.h"
#include "runtime/gpu/accelerator.h"

namespace taso::runtime {

struct Engine {
  explicit Engine(onnx::Model of) : model(std::move(of)) {}

  onnx::Model model;
  bool is_searched = false;      ///< a search rewrote the model: it holds for sizes of 1 and more
  std::string device, versions;  ///< of the GPU; empty if it was made without one
  cost::Precision precision = cost::Precision::fp32;
  cost::PriceDatabase prices;
  std::vector<gpu::KernelBinary> kernels;
};

/// Whether a file begins like an engine file.
bool is_engine(std::string_view bytes);
/// Throws InputError if anything is damaged. `name` is for messages.
Engine parse_engine(std::string_view bytes, const std::string& name);
/// Writes all or nothing. Throws EnvironmentError, and InputError if an external weight cannot be read.
void write_engine(Engine engine, const std::filesystem::path& path);

}  // namespace taso::runtime
