// Ctrl-C and SIGTERM stop the work, not the program: the first asks it to finish, the second ends it at once and leaves
// no temporary files.
#pragma once

#include <functional>
#include <string_view>

namespace taso::cli {

/// From now on SIGINT and SIGTERM only set a flag; a second one ends the program with exit code 130. SIGHUP, SIGPIPE
/// and SIGXCPU end it too. Temporary files are removed in each case. Exceeding the file size limit becomes an ordinary
/// write error. Signals that were ignored stay ignored.
void watch_for_interrupt();
bool interrupted();

/// What the first signal prints instead of its usual line; nothing if it is empty. The text must live on.
void announce_interrupts_by(std::string_view text);

/// While it exists, interrupted() also asks this function, from any thread. For a library, whose caller has signals of
/// its own. One at a time.
class StopWhen {
 public:
  explicit StopWhen(std::function<bool()> is_asked);
  ~StopWhen();
  StopWhen(const StopWhen&) = delete;
  StopWhen& operator=(const StopWhen&) = delete;

 private:
  std::function<bool()> is_asked_;
};

}  // namespace taso::cli
