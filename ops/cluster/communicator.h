// Several processes, on one machine or many, that do one job together. All of them, the ranks, hold the same state and
// take the same steps; long loops are dealt over them. Every function here is collective: all ranks call it, in the
// same order, and from one thread each.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "ops/core/namespace.h"

namespace taso::ops {

class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual std::size_t rank() const = 0;
  virtual std::size_t size() const = 0;
  /// Whether this rank writes files and talks to people.
  bool is_first() const { return rank() == 0; }

  /// Sends outgoing[r] to rank r. Returns what each rank sent to this one, by rank. Throws EnvironmentError.
  virtual std::vector<std::string> exchange(std::vector<std::string> outgoing) = 0;
  /// Returns what each rank gave, by rank. Throws EnvironmentError.
  virtual std::vector<std::string> gather(std::string mine) = 0;
  /// Ends the connection, when all ranks are done.
  virtual void close() {}

  /// The bytes that this rank sent to others.
  std::uint64_t sent() const { return sent_; }

 protected:
  std::uint64_t sent_ = 0;
};

/// A single process.
class OneRank : public Communicator {
 public:
  std::size_t rank() const override { return 0; }
  std::size_t size() const override { return 1; }
  std::vector<std::string> exchange(std::vector<std::string> outgoing) override { return outgoing; }
  std::vector<std::string> gather(std::string mine) override;
};

/// What the first rank gives.
std::string from_first(Communicator& ranks, std::string mine);
/// Whether any rank says so.
bool any(Communicator& ranks, bool mine);

/// Throws EnvironmentError unless all ranks have the same context, which is everything that their results depend on.
void check_agreement(Communicator& ranks, const std::string& context);

/// The results of tasks that were dealt over the ranks, in the order of the tasks: the same on every rank.
struct Dealt {
  std::vector<std::string> results;
  bool complete = true;  ///< false if any rank was asked to stop; then some results may be missing
};
/// Calls body(task) for every task, on `threads` threads of each rank.
Dealt deal(Communicator& ranks, unsigned threads, std::size_t tasks, const std::stop_token& stop,
           const std::function<std::string(std::size_t task)>& body);

}  // namespace taso::ops
