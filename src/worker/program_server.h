// SPDX-License-Identifier: Apache-2.0
// Serves the requests of protocol/messages.h one by one: one bundle at a time, tensors in files.
// Not for training: train_job.h.
#pragma once

#include <memory>
#include <vector>

#include "protocol/messages.h"
#include "worker/engine.h"
#include "worker/program_contract.h"

namespace gradstone {

class ProgramServer {
 public:
  // `engine` must outlive it.
  explicit ProgramServer(Engine& engine) : engine_(engine) {}

  // The answer to a request. Outcomes as outcome_of (train_job.h) gives them, so `crashed` is an
  // engine that gave up; `invalid` a message that is no request, or a request that does not fit the
  // bundle. What an engine throws ends up here, too.
  Answer serve(const CoreMessage& request);

 private:
  Status handle(const LoadBundle& request);
  Status handle(const WriteVariables& request);
  Status handle(const RunProgram& request);
  Status handle(const ReadVariables& request);
  Status handle(const WriteScript& request);
  Status handle(const CoreHello& hello);
  Status handle(const TrainJob& job);
  Status check_loaded() const;

  Engine& engine_;
  // One for each program of the bundle.
  std::vector<ProgramContract> contracts_;
  std::vector<std::vector<std::string>> feed_names_;   // in the file, in the order of the contract
  std::vector<std::vector<std::string>> fetch_names_;  // likewise
  std::unique_ptr<Bundle> bundle_;
  std::string told_;  // message of an answer that is ok
};

}  // namespace gradstone
