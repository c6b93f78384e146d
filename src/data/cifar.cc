// SPDX-License-Identifier: Apache-2.0
#include "data/cifar.h"

namespace gradstone {

Result<std::int64_t> check_cifar(std::span<const std::uint8_t> file) {
  if (file.empty()) return unreadable("byte 0: the file is empty");
  if (file.size() % kCifarRecord != 0) {
    return unreadable("byte " + std::to_string(file.size() / kCifarRecord * kCifarRecord) +
                      ": the last record has " + std::to_string(file.size() % kCifarRecord) +
                      " of " + std::to_string(kCifarRecord) + " bytes");
  }
  for (std::size_t offset = 0; offset < file.size(); offset += kCifarRecord) {
    if (file[offset] < kCifarClasses) continue;
    return unreadable("byte " + std::to_string(offset) + ": label " + std::to_string(file[offset]) +
                      ", expected 0 to " + std::to_string(kCifarClasses - 1));
  }
  return static_cast<std::int64_t>(file.size() / kCifarRecord);
}

}  // namespace gradstone
