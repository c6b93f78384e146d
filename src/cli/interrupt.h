// SPDX-License-Identifier: Apache-2.0
// Ctrl-C, termination and a closed terminal as a flag that the runner looks at. A second signal ends the program at
// once.
#pragma once

#include <atomic>

namespace gradstone {

// From now on SIGINT, SIGTERM and SIGHUP set the flag. One flag for the process: a signal handler has no
// other way to reach it.
const std::atomic<bool>& watch_interrupts();

// A file that reaches the limit on its size (ulimit -f) becomes an error of writing, not the end.
void ignore_file_size_signal();

}  // namespace gradstone
