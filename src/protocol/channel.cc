// SPDX-License-Identifier: Apache-2.0
#include "protocol/channel.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/clock.h"

namespace gradstone {
namespace {

// `end` wakes nobody up: whoever waits looks again so often.
constexpr std::int64_t kLookMs = 50;

Error channel_error(std::string_view act) {
  return failed("channel: cannot " + std::string(act) + ": " +
                std::generic_category().message(errno));
}

}  // namespace

Result<ChannelPair> open_channel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return channel_error("open");
  return ChannelPair{Channel(ends[0], Channel::kMaxWorkerLine, Channel::kMaxWorkerKeys),
                     Descriptor(ends[1])};
}

Status Channel::send(const Json& message) {
  const std::string line = write_json(message) + "\n";
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t sent =
        ::send(descriptor_.get(), rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return failed("channel: the other side is gone");
    } else if (errno == EAGAIN) {
      pollfd wait{descriptor_.get(), POLLOUT, 0};
      ::poll(&wait, 1, kLookMs);
    } else if (errno != EINTR) {
      return channel_error("send");
    }
  }
  return {};
}

void Channel::end() { ::shutdown(descriptor_.get(), SHUT_RDWR); }

std::optional<std::string> Channel::take_line() {
  const std::size_t end = buffer_.find('\n', scanned_);
  scanned_ = end == std::string::npos ? buffer_.size() : 0;
  if (end == std::string::npos) return std::nullopt;
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

Result<std::optional<Json>> Channel::receive(std::chrono::milliseconds timeout) {
  timed_out_ = false;
  const std::int64_t deadline = monotonic_ns() + timeout.count() * 1'000'000;
  for (;;) {
    if (const std::optional<std::string> line = take_line()) {
      return std::optional<Json>(TRY(parse_json(*line, max_keys_).within("channel")));
    }
    if (buffer_.size() > max_line_) {
      return unreadable("channel: a line of more than " + std::to_string(max_line_) + " bytes");
    }
    const std::int64_t left_ms = (deadline - monotonic_ns() + 999'999) / 1'000'000;
    const std::int64_t wait_ms =
        timeout.count() < 0 ? kLookMs : std::clamp<std::int64_t>(left_ms, 0, kLookMs);
    pollfd wait{descriptor_.get(), POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(wait_ms));
    if (ready < 0 && errno != EINTR) return channel_error("wait");
    if (ready == 0 && timeout.count() >= 0 && left_ms <= kLookMs) {
      timed_out_ = true;
      return std::optional<Json>();
    }
    if (ready > 0 && !TRY(read_some())) {
      if (buffer_.empty()) return std::optional<Json>();
      return unreadable("channel: the stream ends inside a line");
    }
  }
}

Result<bool> Channel::read_some() {
  char block[1 << 16];
  const ssize_t got = ::recv(descriptor_.get(), block, sizeof block, MSG_DONTWAIT);
  if (got > 0) {
    buffer_.append(block, static_cast<std::size_t>(got));
    return true;
  }
  // A peer that died with something unread resets the connection.
  if (got == 0 || errno == ECONNRESET) return false;
  if (errno == EINTR || errno == EAGAIN) return true;
  return channel_error("receive");
}

}  // namespace gradstone
