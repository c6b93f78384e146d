// SPDX-License-Identifier: Apache-2.0
// CIFAR-10 records from memory.
#include <cstddef>
#include <cstdint>

#include "data/cifar.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gradstone;
  const auto count = check_cifar({data, size});
  if (count.ok()) {
    CHECK(static_cast<std::size_t>(*count) * kCifarRecord == size, "records fill the file");
    for (std::size_t i = 0; i < size; i += kCifarRecord) CHECK(data[i] < 10, "labels are checked");
  }
  return 0;
}
