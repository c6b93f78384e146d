// SPDX-License-Identifier: Apache-2.0
#include "worker/engine.h"

#include "engines/reference/bundle.h"

namespace gradstone {
namespace {

EngineDescription description() {
  EngineDescription description;
  description.name = "reference";
  description.version = "1";
  description.dtypes = {DType::kFloat32, DType::kFloat64};
  description.devices = {"cpu"};
  description.device_note = "plain C++ kernels, written for the CPU alone";
  description.second_order = true;
  description.separable_phases = true;
  description.node_hooks = true;
  description.native_dropout = true;
  description.execution_mode = ExecutionMode::kGraph;
  description.facts = {
      {"threads", "1; the kernels are single-threaded whatever is asked for"},
      {"sums",
       "reductions, losses and statistics in float64, matrix products in "
       "the element type"},
      {"backward", "a graph of operators, made by differentiating the forward one"}};
  return description;
}

class ReferenceEngine : public Engine {
 public:
  explicit ReferenceEngine(const EngineOptions& options)
      : seed_(options.seed), host_functions_(options.host_functions) {}

  const EngineDescription& describe() const override { return description_; }

  Result<std::unique_ptr<Bundle>> load(const BundleSpec& spec) override {
    return reference::ReferenceBundle::load(spec, {seed_, host_functions_, reference::lower},
                                            profile_);
  }

  Status begin_profile() override {
    profile_->events.emplace();
    return {};
  }

  Result<std::vector<ProfileEvent>> end_profile() override {
    if (!profile_->events) return failed("end_profile without begin_profile");
    std::vector<ProfileEvent> events = std::move(*profile_->events);
    profile_->events.reset();
    return events;
  }

 private:
  EngineDescription description_ = description();
  std::uint64_t seed_;
  const HostFunctions* host_functions_;
  std::shared_ptr<reference::Profile> profile_ = std::make_shared<reference::Profile>();
};

}  // namespace

Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options) {
  if (options.device != "cpu") {
    return unsupported("device '" + options.device + "': the reference engine runs on cpu only");
  }
  if (!options.math.empty()) {
    return unsupported("math '" + options.math +
                       "': the reference engine has one set of kernels; leave the option out");
  }
  if (!options.argument.empty()) {
    return unsupported("'reference:" + options.argument +
                       "': the reference engine takes no argument");
  }
  return std::unique_ptr<Engine>(std::make_unique<ReferenceEngine>(options));
}

}  // namespace gradstone
