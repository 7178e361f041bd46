// cvc5 as a second prover: it gets the same SMT-LIB text as Z3.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

namespace taso::cli {

struct SecondOpinion {
  std::size_t agreed = 0;    ///< questions answered "unsat", as expected
  std::size_t open = 0;      ///< questions without an answer
  std::string trouble;       ///< its message about one of those
  std::string disagreement;  ///< not empty if it found a model of a question that must have none
};

class SecondProver {
 public:
  /// Starts it once to see that it works. Throws EnvironmentError.
  explicit SecondProver(std::string program);
  /// Its name and version, on one line.
  const std::string& version() const { return version_; }
  /// `seconds` is the limit for one certificate; 0 means no limit. Thread-safe.
  SecondOpinion check(const std::vector<std::string>& certificates, double seconds, const std::stop_token& stop) const;

 private:
  std::string program_, version_;
};

/// The number of "check-sat" commands in SMT-LIB text, outside comments, strings and quoted symbols.
std::size_t questions_in(std::string_view text);

}  // namespace taso::cli
