#include "search/exact/integer_program.h"

#include <algorithm>
#include <string>

#include "ops/core/error.h"
#include "ops/support/sanitizer.h"

#ifdef TASO_HAS_CBC
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>

#include <Cbc_C_Interface.h>
#include <fmt/format.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#endif

namespace taso::search {

IntegerProgram::Variable IntegerProgram::add(double cost, bool is_whole) {
  costs_.push_back(cost);
  is_whole_.push_back(is_whole);
  return costs_.size() - 1;
}

void IntegerProgram::add_row(Terms terms, double least, double most) {
  rows_.push_back({std::move(terms), least, most});
}

#ifdef TASO_HAS_CBC

namespace {

/// What CBC's tolerances may hide: it takes a solution for optimal, and a bound for reached, within these.
constexpr double relative_tolerance = 1e-7, absolute_tolerance = 1e-6;

using CbcModel = std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)>;

/// Rows and factors by column, as CBC wants them.
struct Columns {
  std::vector<int> starts{0}, places;
  std::vector<double> factors, least, most;
};

/// The program, with variables between 0 and 1.
CbcModel model_of(const Columns& columns, const std::vector<double>& costs) {
  const std::vector<double> zeros(costs.size(), 0), ones(costs.size(), 1);
  CbcModel model(Cbc_newModel(), Cbc_deleteModel);
  Cbc_setLogLevel(model.get(), 0);
  Cbc_setParameter(model.get(), "slogLevel", "0");
  Cbc_loadProblem(model.get(), static_cast<int>(costs.size()), static_cast<int>(columns.least.size()),
                  columns.starts.data(), columns.places.data(), columns.factors.data(), zeros.data(), ones.data(),
                  costs.data(), columns.least.data(), columns.most.data());
  return model;
}

/// What no solution can cost less than, whatever the rows.
double lowest_sum(const std::vector<double>& costs) {
  double lowest = 0;
  for (const double cost : costs) lowest += std::min(cost, 0.0);
  return lowest;
}

/// What no solution can cost less than, even with fractions. If CBC was stopped at its node limit, this counts and not
/// CBC's own bound: it is lower, but does not depend on how far CBC had come.
double least_with_fractions(const Columns& columns, const std::vector<double>& costs) {
  const CbcModel model = model_of(columns, costs);
  Cbc_solve(model.get());
  if (Cbc_isProvenOptimal(model.get()) != 0) return Cbc_getObjValue(model.get());
  return lowest_sum(costs);
}

/// On Linux the solver is killed if its parent ends. The parent's handlers would remove the parent's files.
void depend_on(pid_t parent) {
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
#endif
  for (const int signal : {SIGTERM, SIGHUP, SIGPIPE, SIGXCPU}) std::signal(signal, SIG_DFL);
  std::signal(SIGINT, SIG_IGN);  // of a terminal: the parent decides
}

/// A process that runs `work` and sends numbers.
class Child {
 public:
  template <class Work>
  explicit Child(Work&& work) {
    static std::mutex guard;  // no other child may inherit the writing end: this one would seem to go on
    const std::lock_guard lock(guard);
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail();
    std::fflush(stdout);  // else CBC, which prints nothing, writes what waits there a second time
    const pid_t parent = ::getpid();
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before);  // handlers are the parent's, and not to run inside of fork()
    process_ = ::fork();
    if (process_ == 0) depend_on(parent);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (process_ == 0) run(ends[1], work);
    ::close(ends[1]);
    reading_ = ends[0];
    if (process_ < 0) {
      ::close(reading_);
      fail();
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(process_, SIGKILL);  // it may have ended, but nobody else has its number yet
    ::close(reading_);
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
  }

  /// Everything that it sends; less, if it is to end before.
  std::vector<double> receive(const std::function<bool()>& should_end) {
    std::vector<double> numbers;
    std::vector<char> bytes;
    std::array<char, 65536> buffer{};
    while (!should_end || !should_end()) {
      pollfd waiting{reading_, POLLIN, 0};
      constexpr int milliseconds = 20;
      if (::poll(&waiting, 1, should_end ? milliseconds : -1) <= 0) continue;
      const ssize_t count = ::read(reading_, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      bytes.insert(bytes.end(), buffer.begin(), buffer.begin() + count);
    }
    numbers.resize(bytes.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
    return numbers;
  }

 private:
  [[noreturn]] static void fail() {
    throw EnvironmentError(fmt::format("cannot start the solver of integer programs: {}", std::strerror(errno)));
  }
  /// Nothing may leave the child: its callers are those of the parent.
  template <class Work>
  [[noreturn]] static void run(int to, Work&& work) noexcept {
    try {
      send(to, work());
    } catch (...) {  // memory ran out, or CBC gave up; the parent sees that nothing came
      ::_exit(1);
    }
    ::_exit(0);
  }
  static void send(int to, const std::vector<double>& numbers) {
    const char* next = reinterpret_cast<const char*>(numbers.data());
    std::size_t left = numbers.size() * sizeof(double);
    while (left > 0) {
      const ssize_t count = ::write(to, next, left);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      next += count;
      left -= static_cast<std::size_t>(count);
    }
  }

  pid_t process_ = 0;
  int reading_ = 0;
};

using Solution = IntegerProgram::Solution;

/// What the child process sends of a solution.
std::vector<double> packed(const Solution& solution) {
  std::vector<double> numbers{static_cast<double>(solution.end), solution.cost, solution.bound};
  numbers.insert(numbers.end(), solution.values.begin(), solution.values.end());
  return numbers;
}

}  // namespace

bool has_cbc() { return true; }

Solution IntegerProgram::solve_here(std::size_t most_nodes, const std::vector<Variable>& start) const {
  Columns columns;
  std::vector<std::vector<std::pair<int, double>>> entries(costs_.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    for (const auto& [variable, factor] : rows_[i].terms) entries[variable].emplace_back(static_cast<int>(i), factor);
    columns.least.push_back(rows_[i].least);
    columns.most.push_back(rows_[i].most);
  }
  for (const auto& column : entries) {
    for (const auto& [row, factor] : column) {
      columns.places.push_back(row);
      columns.factors.push_back(factor);
    }
    columns.starts.push_back(static_cast<int>(columns.places.size()));
  }
  const CbcModel model = model_of(columns, costs_);
  for (std::size_t i = 0; i < costs_.size(); ++i)
    if (is_whole_[i]) Cbc_setInteger(model.get(), static_cast<int>(i));
  Cbc_setParameter(model.get(), "maxNodes", std::to_string(most_nodes).c_str());
  Cbc_setParameter(model.get(), "ratioGap", "0");
  Cbc_setParameter(model.get(), "allowableGap", "0");
  if (!start.empty()) {
    const std::vector<int> known(start.begin(), start.end());
    const std::vector<double> all_one(known.size(), 1);
    Cbc_setMIPStartI(model.get(), static_cast<int>(known.size()), known.data(), all_one.data());
  }
  Cbc_solve(model.get());

  Solution solution;
  if (Cbc_isProvenInfeasible(model.get()) != 0) return solution;
  const bool is_best = Cbc_isProvenOptimal(model.get()) != 0;
  solution.end = is_best ? Solution::End::solved : Solution::End::limit;
  const double* const values = is_best ? Cbc_getColSolution(model.get()) : Cbc_bestSolution(model.get());
  if (values != nullptr && (is_best || Cbc_numberSavedSolutions(model.get()) > 0)) {
    solution.values.assign(values, values + costs_.size());
    for (std::size_t i = 0; i < costs_.size(); ++i) {
      if (is_whole_[i]) solution.values[i] = std::round(solution.values[i]);
      solution.cost += costs_[i] * solution.values[i];
    }
  }
  const bool has_solution = !solution.values.empty();
  solution.bound = is_best && has_solution ? solution.cost : least_with_fractions(columns, costs_);
  if (has_solution) solution.bound = std::min(solution.bound, solution.cost);
  solution.bound -= absolute_tolerance + relative_tolerance * std::abs(solution.bound);
  return solution;
}

Solution IntegerProgram::solve(std::size_t most_nodes, const std::vector<Variable>& start,
                               [[maybe_unused]] const std::function<bool()>& should_end) const {
  if (costs_.empty() && std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.least <= 0; }))
    return {Solution::End::solved, {}, 0, 0};
#ifdef TASO_THREAD_SANITIZER  // In a forked process the sanitizer waits for its own locks.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const std::vector<double> numbers = packed(solve_here(most_nodes, start));
#else
  Child child([&] { return packed(solve_here(most_nodes, start)); });
  const std::vector<double> numbers = child.receive(should_end);
#endif
  const std::size_t whole = 3 + costs_.size();
  if (numbers.size() != 3 && numbers.size() != whole) return {Solution::End::ended, {}, 0, lowest_sum(costs_)};
  Solution solution{static_cast<Solution::End>(numbers[0]), {}, numbers[1], numbers[2]};
  solution.values.assign(numbers.begin() + 3, numbers.end());
  return solution;
}

#else

bool has_cbc() { return false; }

IntegerProgram::Solution IntegerProgram::solve(std::size_t, const std::vector<Variable>&,
                                               const std::function<bool()>&) const {
  throw EnvironmentError(std::string(no_cbc));
}

#endif

}  // namespace taso::search
