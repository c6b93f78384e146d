// SPDX-License-Identifier: Apache-2.0
// A value of zeros in a backward pass or expansion. Not for constants of small shape: those are
// NodeBuilder::scalar.
#pragma once

#include <string>

#include "graph/node_builder.h"

namespace gradstone {

inline std::string zeros(NodeBuilder& builder, const TensorType& type) {
  return builder.append(
      "zeros", "Fill", {},
      {{"shape", type.shape}, {"value", 0.0}, {"dtype", std::string(name_of(type.dtype))}});
}

}  // namespace gradstone
