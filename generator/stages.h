// Results of long stages, kept so that a run that was killed need not repeat them. They do not depend on the number of
// jobs or ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "ops/cluster/communicator.h"

namespace taso::generator {

/// Where stages are kept, by name. Only the first rank has these functions; each may be missing.
struct StageFunctions {
  std::function<std::optional<std::string>(const std::string& stage)> load;
  std::function<void(const std::string& stage, const std::string& state)> save;
  std::function<void(const std::string& stage)> forget;
  /// Programs to be evaluated in a stage that is worth keeping.
  std::uint64_t least_work = 100'000;
};

/// The same for one family: `of` is its name.
class StageStore {
 public:
  StageStore() = default;
  StageStore(const StageFunctions& functions, std::string of) : functions_(&functions), of_(std::move(of)) {}

  /// What the first rank kept, on all ranks; nothing if it was not kept. Collective, as what a Communicator does.
  std::optional<std::string> load(Communicator& ranks, const std::string& stage) const;
  /// Whether this rank saves stages, and if so, whether it should save one that took so much work.
  bool is_kept() const { return functions_ && functions_->save; }
  bool is_worth(std::uint64_t work) const { return is_kept() && work >= functions_->least_work; }
  void save(const std::string& stage, const std::string& state) const;
  void forget(const std::string& stage) const;

 private:
  std::string name_of(const std::string& stage) const { return stage + " of " + of_; }
  const StageFunctions* functions_ = nullptr;
  std::string of_;
};

}  // namespace taso::generator
