// SPDX-License-Identifier: Apache-2.0
// Lines of JSON over one socket. Both ends use it; neither stdin nor stdout is touched, since
// frameworks print there.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"

namespace gradstone {

// Owns the descriptor. Not thread-safe.
class Channel {
 public:
  explicit Channel(int descriptor, std::size_t max_line = kMaxLine, int max_keys = kMaxJsonKeys)
      : descriptor_(descriptor), max_line_(max_line), max_keys_(max_keys) {}

  // Blocks until written. Failed if the other side is gone (SIGPIPE is not raised).
  Status send(const Json& message);
  // The next message; nullopt at end of stream. Waits at most `timeout` (negative: for ever); a
  // time-out is `timed_out() == true` and nullopt. Unreadable for a line that is not JSON, is longer
  // than `max_line` bytes or holds an object of more than `max_keys` keys.
  Result<std::optional<Json>> receive(std::chrono::milliseconds timeout);
  bool timed_out() const { return timed_out_; }
  // From any thread while the channel lives: `receive` gives what has arrived and then the end,
  // `send` fails, whoever still holds the other side.
  void end();
  int descriptor() const { return descriptor_.get(); }

  static constexpr std::size_t kMaxLine = 256u << 20;  // of the core: it holds whole networks
  // Of a worker, whom the core does not trust.
  static constexpr std::size_t kMaxWorkerLine = 16u << 20;
  static constexpr int kMaxWorkerKeys = 2048;

 private:
  std::optional<std::string> take_line();
  Result<bool> read_some();  // false at the end of the stream

  Descriptor descriptor_;
  std::size_t max_line_;
  int max_keys_;
  bool timed_out_ = false;
  std::string buffer_;
  std::size_t scanned_ = 0;  // bytes of buffer_ known to hold no line end
};

// Two connected ends: the core's, and the one the worker inherits as kWorkerDescriptor.
struct ChannelPair {
  Channel ours;
  Descriptor theirs;
};
Result<ChannelPair> open_channel();

// The worker's end is this descriptor, by agreement.
inline constexpr int kWorkerDescriptor = 3;

}  // namespace gradstone
