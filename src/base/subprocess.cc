// SPDX-License-Identifier: Apache-2.0
#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <thread>

#include "base/clock.h"
#include "base/files.h"

namespace gradstone {
namespace {

// Our descriptors are first copied above every number a child may ask for, so that making one of
// them cannot overwrite another.
constexpr int kHighDescriptor = 64;

constexpr std::size_t kMostInPipe = 1 << 20;  // pipe(7): what an ordinary user may set

// Reads a pipe to its end in a thread of its own and keeps the last bytes.
class TailReader {
 public:
  TailReader(Descriptor pipe, std::size_t capacity)
      : pipe_(std::move(pipe)), stop_(::eventfd(0, EFD_CLOEXEC)), capacity_(capacity) {
    // Signals of the program are for its main thread.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    thread_ = std::thread([this] { read_until_stopped(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~TailReader() { finish(); }

  // Takes what is in the pipe now and ends the thread, even if somebody still holds the other end.
  void finish() {
    if (!thread_.joinable()) return;
    ::eventfd_write(stop_.get(), 1);
    thread_.join();
  }

  std::string text() const {
    const std::lock_guard lock(mutex_);
    if (!cut_) return tail_;
    const std::size_t line = tail_.find('\n');
    return line == std::string::npos ? tail_ : tail_.substr(line + 1);
  }

 private:
  void read_until_stopped() {
    pollfd waits[2] = {{pipe_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
    while (::poll(waits, 2, -1) > 0 || errno == EINTR) {
      if (!take_available() || waits[1].revents != 0) return;
    }
  }

  // False at the end of the stream. Takes at most what a pipe can hold: somebody who left the group
  // may go on writing.
  bool take_available() {
    char block[4096];
    for (std::size_t taken = 0; taken < kMostInPipe; taken += sizeof block) {
      const ssize_t got = ::read(pipe_.get(), block, sizeof block);
      if (got < 0) return errno == EAGAIN || errno == EINTR;
      if (got == 0) return false;
      append(std::string_view(block, static_cast<std::size_t>(got)));
    }
    return true;
  }

  void append(std::string_view text) {
    const std::lock_guard lock(mutex_);
    tail_ += text;
    if (tail_.size() <= capacity_) return;
    tail_.erase(0, tail_.size() - capacity_);
    cut_ = true;
  }

  Descriptor pipe_, stop_;
  std::size_t capacity_;
  mutable std::mutex mutex_;
  std::string tail_;
  bool cut_ = false;
  std::thread thread_;
};

// Everything that the child needs after fork, made before it: there only calls that are safe in a
// signal handler are allowed.
struct ChildPlan {
  std::vector<char*> argv;
  std::vector<Descriptor> high;  // copies of what it inherits
  std::vector<int> targets;      // their numbers in the child
  Descriptor report;             // errno of a failed start goes here
  pid_t parent = 0;
};

[[noreturn]] void run_child(const ChildPlan& plan) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // We may have died before prctl; then nobody would send that signal.
  if (::getppid() != plan.parent) ::_exit(127);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);  // whatever others left open in this process
  for (std::size_t i = 0; i < plan.high.size(); ++i) {
    if (::dup2(plan.high[i].get(), plan.targets[i]) < 0) break;  // exec's report tells
  }
  ::execv(plan.argv[0], plan.argv.data());
  const int code = errno;
  [[maybe_unused]] const ssize_t told = ::write(plan.report.get(), &code, sizeof code);
  ::_exit(127);
}

Status add_inherited(ChildPlan& plan, int ours, int theirs) {
  CHECK(theirs < kHighDescriptor, "a child descriptor must be small");
  Descriptor copy(::fcntl(ours, F_DUPFD_CLOEXEC, kHighDescriptor));
  if (!copy.valid()) {
    const Error error = file_error("pass descriptor", std::to_string(ours));
    return failed(error.message + "; allow more open files: ulimit -n 256");
  }
  plan.high.push_back(std::move(copy));
  plan.targets.push_back(theirs);
  return {};
}

struct Pipe {
  Descriptor read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return file_error("create", "pipe");
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Waits for exec: 0, or the errno with which it failed.
int start_error(int report) {
  int code = 0;
  ssize_t got;
  do {
    got = ::read(report, &code, sizeof code);
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof code) ? code : 0;
}

}  // namespace

struct Subprocess::State {
  State(pid_t child, Descriptor output, std::size_t tail_bytes)
      : pid(child), tail(std::move(output), tail_bytes) {}
  pid_t pid;
  TailReader tail;
  std::optional<ExitStatus> ended;
};

std::string to_string(const ExitStatus& status) {
  if (status.signal == 0) return "exit status " + std::to_string(status.code);
  const char* name = ::sigabbrev_np(status.signal);
  return name != nullptr ? std::string("SIG") + name : "signal " + std::to_string(status.signal);
}

Result<Subprocess> Subprocess::start(const Command& command) {
  // Where SIGCHLD is ignored, which a program can inherit, the kernel throws exit statuses away.
  struct sigaction child_signal {};
  ::sigaction(SIGCHLD, nullptr, &child_signal);
  if (child_signal.sa_handler == SIG_IGN) ::signal(SIGCHLD, SIG_DFL);

  ChildPlan plan;
  plan.parent = ::getpid();
  plan.argv.push_back(const_cast<char*>(command.program.c_str()));
  for (const std::string& argument : command.arguments) {
    plan.argv.push_back(const_cast<char*>(argument.c_str()));
  }
  plan.argv.push_back(nullptr);

  Pipe output = TRY(make_pipe());
  Pipe report = TRY(make_pipe());
  const Descriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  TRY(add_inherited(plan, nothing.get(), STDIN_FILENO));
  TRY(add_inherited(plan, output.write.get(), STDOUT_FILENO));
  TRY(add_inherited(plan, output.write.get(), STDERR_FILENO));
  for (const Command::Inherit& inherit : command.descriptors) {
    TRY(add_inherited(plan, inherit.ours, inherit.theirs));
  }
  plan.report.reset(::fcntl(report.write.get(), F_DUPFD_CLOEXEC, kHighDescriptor));

  const pid_t child = ::fork();
  if (child < 0) return file_error("start", command.program);
  if (child == 0) run_child(plan);
  ::setpgid(child, child);  // whoever of the two is first
  plan.report.reset();
  report.write.reset();
  if (const int code = start_error(report.read.get()); code != 0) {
    ::waitpid(child, nullptr, 0);
    errno = code;
    return file_error("start", command.program);
  }
  ::fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
  output.write.reset();
  return Subprocess(std::make_unique<State>(child, std::move(output.read), command.tail_bytes));
}

Subprocess::Subprocess(std::unique_ptr<State> state) : state_(std::move(state)) {}
Subprocess::Subprocess(Subprocess&&) noexcept = default;

Subprocess& Subprocess::operator=(Subprocess&& other) noexcept {
  std::swap(state_, other.state_);
  return *this;
}

Subprocess::~Subprocess() {
  if (!state_) return;
  kill_group();
  wait(std::chrono::milliseconds(-1));
}

pid_t Subprocess::pid() const { return state_->pid; }

std::optional<ExitStatus> Subprocess::wait(std::chrono::milliseconds timeout) {
  if (state_->ended) return state_->ended;
  const std::int64_t deadline = monotonic_ns() + timeout.count() * 1'000'000;
  const int wait_flags = WEXITED | WNOWAIT | (timeout.count() < 0 ? 0 : WNOHANG);
  siginfo_t info{};
  for (std::int64_t pause_ns = 100'000;;
       pause_ns = std::min<std::int64_t>(pause_ns * 2, 5'000'000)) {
    info.si_pid = 0;
    if (::waitid(P_PID, static_cast<id_t>(state_->pid), &info, wait_flags) != 0 && errno == EINTR) {
      continue;
    }
    if (info.si_pid != 0) break;
    if (monotonic_ns() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::nanoseconds(pause_ns));
  }
  // Until the child is reaped its number cannot belong to anybody else's group.
  ::kill(-state_->pid, SIGKILL);
  int status = 0;
  while (::waitpid(state_->pid, &status, 0) < 0 && errno == EINTR) {
  }
  state_->tail.finish();
  ExitStatus ended;
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  state_->ended = ended;
  return ended;
}

bool Subprocess::has_ended() const {
  if (state_->ended) return true;
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(state_->pid), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
         info.si_pid != 0;
}

void Subprocess::kill_group(int signal) {
  if (!state_->ended) ::kill(-state_->pid, signal);
}

std::string Subprocess::output_tail() const { return state_->tail.text(); }

}  // namespace gradstone
