// Ranks as threads of one process, to test what a cluster does without MPI.
#pragma once

#include <barrier>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ops/cluster/communicator.h"

namespace taso::test {

class ThreadRanks {
 public:
  explicit ThreadRanks(std::size_t size) : mail_(size, std::vector<std::string>(size)), all_(static_cast<int>(size)) {}

  /// Calls body(ranks) on every rank, and waits. A rank must not throw while others wait for it.
  void run(const std::function<void(Communicator&)>& body) {
    std::vector<std::thread> threads;
    for (std::size_t rank = 0; rank < mail_.size(); ++rank)
      threads.emplace_back([this, rank, &body] {
        Rank self(*this, rank);
        body(self);
      });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  class Rank : public Communicator {
   public:
    Rank(ThreadRanks& owner, std::size_t rank) : owner_(owner), rank_(rank) {}
    std::size_t rank() const override { return rank_; }
    std::size_t size() const override { return owner_.mail_.size(); }
    std::vector<std::string> exchange(std::vector<std::string> outgoing) override {
      owner_.mail_[rank_] = std::move(outgoing);
      owner_.all_.arrive_and_wait();
      std::vector<std::string> incoming;
      for (auto& from : owner_.mail_) incoming.push_back(from[rank_]);
      owner_.all_.arrive_and_wait();
      return incoming;
    }
    std::vector<std::string> gather(std::string mine) override {
      return exchange(std::vector<std::string>(size(), std::move(mine)));
    }

   private:
    ThreadRanks& owner_;
    std::size_t rank_;
  };

  std::vector<std::vector<std::string>> mail_;  // by sender, then by receiver
  std::barrier<> all_;
};

}  // namespace taso::test
