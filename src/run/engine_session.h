// SPDX-License-Identifier: Apache-2.0
// A worker that is asked one thing after the other: load a bundle, run its programs on given
// tensors. For conformance and verify; training runs are runner.h.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "protocol/messages.h"
#include "run/engine_catalogue.h"

namespace gradstone {

using TensorMap = std::map<std::string, Tensor>;

struct SessionOptions {
  EngineChoice engine;
  CoreHello hello;
  double seconds_per_request = 60;
  std::int64_t memory_limit_bytes = 0;  // 0 is default_memory_limit()
};

// Owns the worker. Each call starts one if there is none (at first, and after it died). Answers have
// the outcome that the worker states, or how it ended: crashed (signal or exit status, last line of
// stderr; rubbish on the protocol), timed_out, out_of_memory; then the bundle is gone. A stop is
// `invalid: interrupted`.
class EngineSession {
 public:
  // `stop` must outlive the session.
  EngineSession(SessionOptions options, const std::atomic<bool>& stop);
  EngineSession(EngineSession&&) noexcept;
  EngineSession& operator=(EngineSession&&) noexcept;
  ~EngineSession();

  // What the worker says of its engine (worker/describe.h); starts it if need be.
  Answer describe(Json& description);

  Answer load(const BundleSpec& bundle);
  Answer write(const TensorMap& variables);
  // `feeds` by name as RunProgram says; `values`, if not null, gets what it fetches.
  Answer run(std::size_t program, const TensorMap& feeds,
             const std::vector<UpdateArguments>& updates, TensorMap* values);
  // Has a script of the program written into `folder` (worker/engine.h, ScriptRequest); `name` is
  // its file.
  Answer write_script(const ProgramSpec& program, const TensorMap& values,
                      const std::string& folder, std::string& name);
  Answer read(const std::vector<std::string>& variables, TensorMap& values);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace gradstone
