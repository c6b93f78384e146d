// SPDX-License-Identifier: Apache-2.0
#include "base/subprocess.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

namespace gradstone {
namespace {

using std::chrono::milliseconds;

Command shell(const std::string& script) { return {"/bin/sh", {"-c", script}}; }
ExitStatus end_of(Subprocess& child) { return child.wait(milliseconds(-1)).value(); }

struct Pipe {
  Descriptor read, write;
};
Pipe make_pipe() {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}
// Reads until nobody holds the other end; a minute without that is a failure.
std::string read_to_end(const Descriptor& pipe) {
  std::string text;
  char block[256];
  pollfd wait{pipe.get(), POLLIN, 0};
  while (::poll(&wait, 1, 60'000) > 0) {
    const ssize_t got = ::read(pipe.get(), block, sizeof block);
    if (got <= 0) return text;
    text.append(block, static_cast<std::size_t>(got));
  }
  ADD_FAILURE() << "somebody still holds the pipe";
  return text;
}

TEST(Subprocess, TellsExitStatusAndSignal) {
  Subprocess leaves = Subprocess::start(shell("exit 3")).value();
  EXPECT_EQ(end_of(leaves), (ExitStatus{3, 0}));
  EXPECT_EQ(end_of(leaves), (ExitStatus{3, 0}));
  Subprocess dies = Subprocess::start(shell("kill -SEGV $$")).value();
  EXPECT_EQ(end_of(dies), (ExitStatus{0, SIGSEGV}));
  EXPECT_EQ(to_string(end_of(dies)), "SIGSEGV");
  EXPECT_EQ(to_string(end_of(leaves)), "exit status 3");
}

TEST(Subprocess, AProgramThatCannotStartIsAnError) {
  EXPECT_EQ(Subprocess::start({"/nowhere/program"}).error().message,
            "cannot start '/nowhere/program': No such file or directory");
}

TEST(Subprocess, KeepsTheEndOfWhatItPrints) {
  Subprocess child = Subprocess::start(shell("echo out; echo err >&2")).value();
  EXPECT_TRUE(end_of(child).ok());
  EXPECT_EQ(child.output_tail(), "out\nerr\n");

  Command many = shell("i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done");
  many.tail_bytes = 40;
  Subprocess talker = Subprocess::start(many).value();
  EXPECT_TRUE(end_of(talker).ok());
  EXPECT_EQ(talker.output_tail(), "line 19997\nline 19998\nline 19999\n");
}

TEST(Subprocess, PassesOnlyTheChosenDescriptors) {
  const Pipe first = make_pipe();
  Pipe second = make_pipe();
  const int stray = ::dup(first.write.get());  // without close-on-exec
  // Crossed numbers: what is 3 here must not get in the way of what is 3 there.
  Command command = shell("echo three >&3; echo four >&4; cd /proc/self/fd && echo * >&3");
  command.descriptors = {{first.write.get(), 4}, {second.write.get(), 3}};
  Subprocess child = Subprocess::start(command).value();
  EXPECT_TRUE(end_of(child).ok());
  ::close(stray);
  second.write.reset();
  const std::string said = read_to_end(second.read);
  EXPECT_EQ(said.substr(0, 6), "three\n");
  // 5 is the shell's own, opened to list the folder.
  EXPECT_TRUE(said == "three\n0 1 2 3 4\n" || said == "three\n0 1 2 3 4 5\n") << said;
}

TEST(Subprocess, WaitsNoLongerThanAskedAndKillsTheWholeGroup) {
  Pipe alive = make_pipe();
  Command command = shell("sleep 1000 & sleep 1000");
  command.descriptors = {{alive.write.get(), 3}};
  Subprocess child = Subprocess::start(command).value();
  alive.write.reset();
  EXPECT_FALSE(child.wait(milliseconds(1)).has_value());
  child.kill_group();
  EXPECT_EQ(end_of(child).signal, SIGKILL);
  read_to_end(alive.read);
}

TEST(Subprocess, WhatItLeavesBehindIsKilledAtItsEnd) {
  Pipe alive = make_pipe();
  Command command = shell("sleep 1000 & exit 0");
  command.descriptors = {{alive.write.get(), 3}};
  Subprocess child = Subprocess::start(command).value();
  alive.write.reset();
  EXPECT_TRUE(end_of(child).ok());
  read_to_end(alive.read);
}

TEST(Subprocess, TheDestructorEndsTheChild) {
  Pipe alive = make_pipe();
  {
    Command command = shell("sleep 1000");
    command.descriptors = {{alive.write.get(), 3}};
    Subprocess child = Subprocess::start(command).value();
    alive.write.reset();
  }
  read_to_end(alive.read);
}

TEST(Subprocess, DiesWithItsParentEvenIfThatIsKilled) {
  Pipe alive = make_pipe();
  const pid_t parent = ::fork();
  if (parent == 0) {
    Command command{"/bin/sleep", {"1000"}};
    command.descriptors = {{alive.write.get(), 3}};
    Result<Subprocess> child = Subprocess::start(command);
    ::kill(::getpid(), SIGKILL);
  }
  alive.write.reset();
  int status = 0;
  ::waitpid(parent, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status));
  read_to_end(alive.read);
}

}  // namespace
}  // namespace gradstone
