#include "runtime/host/overwriting.h"

namespace taso::runtime {
namespace {

thread_local std::byte* allowed = nullptr;

}  // namespace

OverwritePermission::OverwritePermission(std::byte* data) : outer_(allowed) { allowed = data; }
OverwritePermission::~OverwritePermission() { allowed = outer_; }

std::byte* OverwritePermission::for_operand(const Array& operand) {
  return operand.data() == allowed ? allowed : nullptr;
}

}  // namespace taso::runtime
