// SPDX-License-Identifier: Apache-2.0
// An engine as verify sees it: a worker process, or a fake in a test.
#pragma once

#include <string>
#include <vector>

#include "run/engine_session.h"

namespace gradstone {

// As EngineSession, which see.
class EnginePort {
 public:
  virtual ~EnginePort() = default;
  virtual Answer load(const BundleSpec& bundle) = 0;
  virtual Answer write(const TensorMap& variables) = 0;
  virtual Answer run(std::size_t program, const TensorMap& feeds,
                     const std::vector<UpdateArguments>& updates, TensorMap& values) = 0;
  virtual Answer read(const std::vector<std::string>& variables, TensorMap& values) = 0;
};

class SessionPort : public EnginePort {
 public:
  explicit SessionPort(EngineSession& session) : session_(session) {}
  Answer load(const BundleSpec& bundle) override { return session_.load(bundle); }
  Answer write(const TensorMap& variables) override { return session_.write(variables); }
  Answer run(std::size_t program, const TensorMap& feeds,
             const std::vector<UpdateArguments>& updates, TensorMap& values) override {
    return session_.run(program, feeds, updates, &values);
  }
  Answer read(const std::vector<std::string>& variables, TensorMap& values) override {
    return session_.read(variables, values);
  }

 private:
  EngineSession& session_;
};

}  // namespace gradstone
