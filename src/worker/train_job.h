// SPDX-License-Identifier: Apache-2.0
// One training job from the core's message to its outcome: data, programs, weights in, training,
// weights out.
#pragma once

#include "protocol/messages.h"
#include "worker/engine.h"
#include "worker/event_stream.h"

namespace gradstone {

// Streams events to `send` and returns how it ended; what an engine throws ends up there, too. If
// the core is gone, `send` fails and the job ends early.
Finished run_train_job(const TrainJob& job, Engine& engine, EventSink send, Clock now_ns);

// ok, unsupported and out of memory as they are; failed is crashed (the engine gave up); what the
// person asked for or handed in is invalid.
Outcome outcome_of(ErrorKind kind);

}  // namespace gradstone
