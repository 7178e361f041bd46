// The GPUs of this process. Sessions on one GPU share its libraries' handles, which take up memory and time.
#pragma once

#include <memory>
#include <string>

#include "runtime/gpu/accelerator.h"

namespace taso::runtime {

/// Opens a GPU at its first use; it is closed with its last user. Null, with the reason in `trouble`, if there is none.
std::shared_ptr<gpu::Accelerator> shared_gpu(int device, std::string& trouble);

}  // namespace taso::runtime
