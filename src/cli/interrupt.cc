// SPDX-License-Identifier: Apache-2.0
#include "cli/interrupt.h"

#include <signal.h>

namespace gradstone {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may not wait for a lock");

void on_signal(int) { interrupted = true; }

}  // namespace

const std::atomic<bool>& watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second one ends the program
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  // The terminal has gone. Under nohup it stays ignored.
  struct sigaction before {};
  sigaction(SIGHUP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
  return interrupted;
}

void ignore_file_size_signal() { ::signal(SIGXFSZ, SIG_IGN); }

}  // namespace gradstone
