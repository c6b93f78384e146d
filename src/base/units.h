// SPDX-License-Identifier: Apache-2.0
// Sizes and durations as people type them. Not for output.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace gradstone {

// Bytes: "512", "10GiB", "1.5G", "200MB". K, M, G, T and Ki, Mi, Gi, Ti are all powers of 1024, as
// in systemd and docker; KB, MB, GB, TB are powers of 1000. Usage error for anything else.
Result<std::int64_t> parse_bytes(std::string_view text);

// Seconds: "90", "90s", "1.5h", "250ms", "10min", "10m", "2d". Usage error for anything else.
Result<double> parse_seconds(std::string_view text);

}  // namespace gradstone
