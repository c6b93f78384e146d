// SPDX-License-Identifier: Apache-2.0
// Labelled images that are computed when read. A class is a colour and a smooth wave in each
// channel; a sample is its class plus noise. Every pixel is integer arithmetic on tables drawn from
// CounterRandom, so the images are the same everywhere, and reading costs little beside a step.
#pragma once

#include <memory>

#include "data/data_set.h"

namespace gradstone {

// Samples when the reference names none.
inline constexpr std::int64_t kSyntheticTrainCount = 4096, kSyntheticTestCount = 1024;

// `reference` complete: shape {channels, height, width}, classes, counts. Memory: 1 MiB of noise
// and 2 (height + width) bytes for each class and channel.
Result<std::unique_ptr<DataSet>> open_synthetic(const DataReference& reference);

}  // namespace gradstone
