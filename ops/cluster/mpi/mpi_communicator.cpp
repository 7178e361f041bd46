#include <mpi.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ops/cluster/mpi/module.h"
#include "ops/core/error.h"

namespace taso::ops {
namespace {

void require(int code, const char* doing) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw EnvironmentError(std::string("MPI failed while ") + doing + ": " + text.data());
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator() {
    int level = 0;
    require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level), "starting");
    require(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "starting");
    if (level < MPI_THREAD_SERIALIZED) throw EnvironmentError("this MPI does not allow threads");
    int number = 0;
    require(MPI_Comm_rank(MPI_COMM_WORLD, &number), "starting");
    rank_ = static_cast<std::size_t>(number);
    require(MPI_Comm_size(MPI_COMM_WORLD, &number), "starting");
    size_ = static_cast<std::size_t>(number);
    most_ = static_cast<std::size_t>(std::numeric_limits<int>::max()) / 2 / size_;
  }

  std::size_t rank() const override { return rank_; }
  std::size_t size() const override { return size_; }

  std::vector<std::string> exchange(std::vector<std::string> outgoing) override {
    check(outgoing.size() == size_, "each rank gets something, if only nothing");
    std::vector<unsigned long long> given(size_), taken(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      given[i] = outgoing[i].size();
      if (i != rank_) sent_ += outgoing[i].size();
    }
    require(
        MPI_Alltoall(given.data(), 1, MPI_UNSIGNED_LONG_LONG, taken.data(), 1, MPI_UNSIGNED_LONG_LONG, MPI_COMM_WORLD),
        "exchanging sizes");
    std::vector<std::string> incoming(size_);
    for (std::size_t i = 0; i < size_; ++i) incoming[i].reserve(taken[i]);
    const auto rounds = rounds_for(
        std::max(*std::max_element(given.begin(), given.end()), *std::max_element(taken.begin(), taken.end())));
    for (std::size_t round = 0; round < rounds; ++round) {
      Part from(size_), to(size_);
      std::string out;
      for (std::size_t i = 0; i < size_; ++i) {
        from.add(i, piece(given[i], round));
        to.add(i, piece(taken[i], round));
        out.append(outgoing[i], std::min(round * most_, outgoing[i].size()), most_);
      }
      std::string in(to.end, '\0');
      require(MPI_Alltoallv(out.data(), from.counts.data(), from.places.data(), MPI_BYTE, in.data(), to.counts.data(),
                            to.places.data(), MPI_BYTE, MPI_COMM_WORLD),
              "exchanging data");
      to.append(in, incoming);
    }
    return incoming;
  }

  std::vector<std::string> gather(std::string mine) override {
    sent_ += mine.size() * (size_ - 1);
    const unsigned long long given = mine.size();
    std::vector<unsigned long long> taken(size_);
    require(MPI_Allgather(&given, 1, MPI_UNSIGNED_LONG_LONG, taken.data(), 1, MPI_UNSIGNED_LONG_LONG, MPI_COMM_WORLD),
            "gathering sizes");
    std::vector<std::string> incoming(size_);
    for (std::size_t i = 0; i < size_; ++i) incoming[i].reserve(taken[i]);
    const auto rounds = rounds_for(*std::max_element(taken.begin(), taken.end()));
    for (std::size_t round = 0; round < rounds; ++round) {
      Part to(size_);
      for (std::size_t i = 0; i < size_; ++i) to.add(i, piece(taken[i], round));
      std::string in(to.end, '\0');
      require(MPI_Allgatherv(mine.data() + std::min(round * most_, mine.size()), to.counts[rank_], MPI_BYTE, in.data(),
                             to.counts.data(), to.places.data(), MPI_BYTE, MPI_COMM_WORLD),
              "gathering data");
      to.append(in, incoming);
    }
    return incoming;
  }

  void close() override { require(MPI_Finalize(), "ending"); }

 private:
  /// MPI counts bytes with an int, so large messages go in several rounds.
  struct Part {
    explicit Part(std::size_t size) : counts(size), places(size) {}
    void add(std::size_t rank, std::size_t count) {
      counts[rank] = static_cast<int>(count);
      places[rank] = static_cast<int>(end);
      end += count;
    }
    void append(const std::string& bytes, std::vector<std::string>& to) const {
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i].append(bytes, static_cast<std::size_t>(places[i]), static_cast<std::size_t>(counts[i]));
    }
    std::vector<int> counts, places;
    std::size_t end = 0;
  };

  std::size_t piece(std::size_t whole, std::size_t round) const {
    return std::min(whole - std::min(round * most_, whole), most_);
  }
  /// The number of rounds that the largest message of any rank takes.
  std::size_t rounds_for(unsigned long long largest) const {
    unsigned long long of_all = 0;
    require(MPI_Allreduce(&largest, &of_all, 1, MPI_UNSIGNED_LONG_LONG, MPI_MAX, MPI_COMM_WORLD), "comparing sizes");
    return (of_all + most_ - 1) / most_;
  }

  std::size_t rank_ = 0, size_ = 1;
  std::size_t most_ = 0;  ///< bytes for one rank in one round
};

}  // namespace
}  // namespace taso::ops

extern "C" [[gnu::visibility("default")]] taso::ops::Communicator* taso_mpi_open(int interface);

extern "C" taso::ops::Communicator* taso_mpi_open(int interface) {
  if (interface != taso::ops::mpi_interface) return nullptr;
  return new taso::ops::MpiCommunicator();
}
