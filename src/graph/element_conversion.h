// SPDX-License-Identifier: Apache-2.0
// One element converted to another type, defined for every value: Cast's meaning.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

namespace gradstone {

// Truth is what is not 0. Floating numbers lose their fraction towards zero; what int64 does not
// hold becomes its nearest end, NaN becomes 0. Integers that do not fit wrap around. (ONNX leaves
// the last three open.)
template <class To, class From>
To converted_element(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To> &&
                !std::is_same_v<To, bool>) {
    constexpr auto kEnd = static_cast<From>(9223372036854775808.0);
    using Wide = std::int64_t;
    if (value != value) return 0;
    if (value >= kEnd) return static_cast<To>(std::numeric_limits<Wide>::max());
    if (value < -kEnd) return static_cast<To>(std::numeric_limits<Wide>::min());
    return static_cast<To>(static_cast<Wide>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace gradstone
