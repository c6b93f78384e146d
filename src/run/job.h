// SPDX-License-Identifier: Apache-2.0
// What a worker is told for a spec: graphs, recipe, initial weights. Starts nothing.
#pragma once

#include <string>

#include "base/files.h"
#include "protocol/messages.h"
#include "run/spec.h"

namespace gradstone {

CoreHello hello_for(const RunSpec& spec);

// Builds and checks the graphs for a resolved spec's batch and dtype and brings the initial weights
// into a tensor file: drawn from the seed, or those of spec.weights_in or else of the workload's file, whose names and shapes must
// fit (another floating dtype is converted). Files go into `folder`. A last, smaller batch needs
// the size of the data set: only then the data is opened here.
Result<TrainJob> make_job(const RunSpec& spec, const Workload& workload,
                          const TemporaryFolder& folder);

}  // namespace gradstone
