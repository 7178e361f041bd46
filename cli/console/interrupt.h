// Ctrl-C and SIGTERM end the work, not the program: the first asks it to finish, the second ends it at once and leaves
// nothing behind.
#pragma once

namespace taso::cli {

/// From now on SIGINT and SIGTERM only set a flag, and a second one ends the program with exit 130; SIGHUP and its like end it
/// too. Temporary files are removed in each case, and a limit on the size of files is an error like any other. What was
/// ignored before stays ignored.
void watch_for_interrupt();
bool interrupted();

}  // namespace taso::cli
