// cvc5 as a second opinion on proofs: it reads the same SMT-LIB that Z3 was asked.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

namespace taso::cli {

struct SecondOpinion {
  std::size_t agreed = 0;    ///< questions answered "unsat", as they should be
  std::size_t open = 0;      ///< questions that it could not answer
  std::string trouble;       ///< what it said of one of those
  std::string disagreement;  ///< not empty: it found a model of a question that must have none
};

class SecondProver {
 public:
  /// Starts it once, to see that it is there. Throws EnvironmentError.
  explicit SecondProver(std::string program);
  /// Its name and version, on one line.
  const std::string& version() const { return version_; }
  /// `seconds` is for one certificate; 0 for no limit. Safe for several threads.
  SecondOpinion check(const std::vector<std::string>& certificates, double seconds, const std::stop_token& stop) const;

 private:
  std::string program_, version_;
};

/// How often SMT-LIB text asks "check-sat", outside of comments, strings and quoted symbols.
std::size_t questions_in(std::string_view text);

}  // namespace taso::cli
