#include "generator/stages.h"

namespace taso::generator {

std::optional<std::string> StageStore::load(Communicator& ranks, const std::string& stage) const {
  std::string message;  // a mark, then the state
  if (functions_ && functions_->load)
    if (auto state = functions_->load(name_of(stage))) message = "1" + std::move(*state);
  message = from_first(ranks, std::move(message));
  if (message.empty()) return std::nullopt;
  return message.substr(1);
}

void StageStore::save(const std::string& stage, const std::string& state) const {
  if (functions_ && functions_->save) functions_->save(name_of(stage), state);
}

void StageStore::forget(const std::string& stage) const {
  if (functions_ && functions_->forget) functions_->forget(name_of(stage));
}

}  // namespace taso::generator
