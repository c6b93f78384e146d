// SPDX-License-Identifier: Apache-2.0
// Variables of a loaded bundle, in from a tensor file and out to one.
#pragma once

#include <string>
#include <vector>

#include "worker/engine.h"

namespace gradstone {

// Writes every one of `variables` from the file; another floating type is converted. Unreadable for
// a tensor that is missing or of another shape. Returns the file's content hash.
Result<std::string> load_weights(const std::string& path, const std::vector<Weight>& variables,
                                 Bundle& bundle);

// Saves `variables` and, if `averaged` names weights, their `weight:average`.
Status save_weights(const std::string& path, const std::vector<Weight>& variables,
                    const std::vector<std::string>& averaged, Bundle& bundle);

// While it lives between `begin` and `end`, the weights hold their moving averages.
class AverageSwap {
 public:
  AverageSwap(Bundle& bundle, const std::vector<std::string>& weights)
      : bundle_(&bundle), weights_(&weights) {}
  Status begin();
  Status end();

 private:
  Bundle* bundle_;
  const std::vector<std::string>* weights_;
  std::vector<Tensor> kept_;
};

std::string average_of(std::string_view weight);  // name of the variable

}  // namespace gradstone
