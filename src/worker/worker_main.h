// SPDX-License-Identifier: Apache-2.0
// The whole of a worker process: handshake, then one job with streamed results, or requests one by
// one until the core closes. Every engine executable calls this.
#pragma once

namespace gradstone {

// Talks over kWorkerDescriptor (protocol/channel.h). Started by hand, it says on stderr what it is
// for and returns 2. Returns 0 when the job or the requests came to an end of whatever outcome, and the
// core heard of it.
int worker_main(int argc, char** argv);

}  // namespace gradstone
