// SPDX-License-Identifier: Apache-2.0
// One child process in a process group of its own. It dies with us, even if we are killed. Its
// stdout and stderr go to a bounded tail in memory. Not a shell.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace gradstone {

struct Command {
  std::string program;                 // path of the executable
  std::vector<std::string> arguments;  // without the program's own name
  struct Inherit {
    int ours = -1;    // open descriptor here; stays ours
    int theirs = -1;  // its number in the child, 3 or more
  };
  // Apart from these the child has only 0 (/dev/null), 1 and 2 (the tail).
  std::vector<Inherit> descriptors;
  std::size_t tail_bytes = 16 << 10;
};

struct ExitStatus {
  int code = 0;    // exit status, if no signal
  int signal = 0;  // that killed it, or 0
  bool ok() const { return code == 0 && signal == 0; }
  bool operator==(const ExitStatus&) const = default;
};
std::string to_string(const ExitStatus& status);  // "exit status 3", "SIGSEGV"

class Subprocess {
 public:
  // The kernel kills the child when the *thread* that called start ends: call it from one that
  // lives as long as the child should. The environment is ours. Failed if the program cannot be
  // started.
  static Result<Subprocess> start(const Command& command);
  Subprocess(Subprocess&&) noexcept;
  Subprocess& operator=(Subprocess&&) noexcept;
  ~Subprocess();  // kills the group and reaps the child

  pid_t pid() const;  // also the number of its process group
  // How it ended; nullopt if it still lives after `timeout` (negative: waits for ever). The first
  // call that sees the end kills what is left of the group and reaps the child.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);
  // Whether the child itself has ended. Reaps nothing, so it may be called from another thread than
  // the one that will wait, as may kill_group; but not while or after that one waits.
  bool has_ended() const;
  // To every process of the group, until the child has been reaped.
  void kill_group(int signal = SIGKILL);
  // The last bytes of stdout and stderr, from the start of a line if something was cut. Complete
  // once wait has told the end.
  std::string output_tail() const;

 private:
  struct State;
  explicit Subprocess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace gradstone
