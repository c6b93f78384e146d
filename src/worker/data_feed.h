// SPDX-License-Identifier: Apache-2.0
// Prepares batches ahead in a second thread, into buffers that go round. Not for what is in a
// batch: see worker/training_batches.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/result.h"
#include "graph/tensor.h"

namespace gradstone {

// The feeds of one run.
struct PreparedBatch {
  std::size_t program = 0;       // index into BundleSpec::programs
  std::int64_t samples = 0;      // that count
  std::vector<TensorRef> feeds;  // the program's inputs in order; the bytes are `tensors`
  std::vector<std::vector<Tensor>> tensors;  // buffers of each program, made when first needed
};

class DataFeed {
 public:
  // Fills batch `number` (0, 1, ...) into a buffer that an earlier batch may have used.
  using Fill = std::function<Status(std::int64_t number, PreparedBatch& batch)>;

  // Starts the thread. It makes `total` batches (0: without end), at most `depth` of them ahead of
  // those whose owner is still held.
  DataFeed(std::size_t depth, std::int64_t total, Fill fill);
  DataFeed(const DataFeed&) = delete;
  DataFeed& operator=(const DataFeed&) = delete;
  ~DataFeed();  // stops the thread; batches still held stay valid

  // The next batch in order; waits for it. Its buffer goes back when the last copy of the pointer
  // goes. The error of `fill` once all batches before it are taken; failed after the last one.
  Result<std::shared_ptr<const PreparedBatch>> next();

 private:
  struct State;
  std::shared_ptr<State> state_;  // shared with the owners of buffers that outlive this
};

}  // namespace gradstone
