// Ctrl-C and SIGTERM stop the work, not the program: the first asks it to finish, the second ends it at once and leaves
// no temporary files.
#pragma once

namespace taso::cli {

/// From now on SIGINT and SIGTERM only set a flag; a second one ends the program with exit code 130. SIGHUP, SIGPIPE
/// and SIGXCPU end it too. Temporary files are removed in each case. Exceeding the file size limit becomes an ordinary
/// write error. Signals that were ignored stay ignored.
void watch_for_interrupt();
bool interrupted();

}  // namespace taso::cli
