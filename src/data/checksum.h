// SPDX-License-Identifier: Apache-2.0
// XXH3-128 of bytes that come in pieces. To tell data sets apart; not for security.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gradstone {

class Checksum {
 public:
  Checksum();
  ~Checksum();
  void add(std::span<const std::uint8_t> bytes);
  std::string hex() const;  // 32 digits, of everything added so far

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gradstone
