// SPDX-License-Identifier: Apache-2.0
// The reference engine, with one fault that its argument names (faults.h).
#include "worker/engine.h"

#include "engines/faulty/faults.h"
#include "engines/reference/bundle.h"

namespace gradstone {
namespace {

EngineDescription description() {
  EngineDescription description;
  description.name = "faulty";
  description.version = "1";
  description.dtypes = {DType::kFloat32, DType::kFloat64};
  description.devices = {"cpu"};
  description.device_note = "plain C++ kernels, written for the CPU alone";
  description.native_dropout = true;
  description.execution_mode = ExecutionMode::kGraph;
  return description;
}

class FaultyEngine : public Engine {
 public:
  FaultyEngine(const faulty::Fault* fault, std::uint64_t seed) : fault_(fault), seed_(seed) {
    if (fault != nullptr) description_.facts.emplace("fault", fault->help);
  }

  const EngineDescription& describe() const override { return description_; }

  Result<std::unique_ptr<Bundle>> load(const BundleSpec& spec) override {
    const auto lowering = [fault = fault_](const ProgramSpec& program) {
      return fault == nullptr ? reference::lower(program) : faulty::lower_with(*fault, program);
    };
    return reference::ReferenceBundle::load(spec, {seed_, nullptr, lowering}, profile_);
  }

  Status begin_profile() override { return unsupported("engine faulty: nothing to profile"); }
  Result<std::vector<ProfileEvent>> end_profile() override {
    return unsupported("engine faulty: nothing to profile");
  }

 private:
  const faulty::Fault* fault_;
  EngineDescription description_ = description();
  std::uint64_t seed_;
  std::shared_ptr<reference::Profile> profile_ = std::make_shared<reference::Profile>();
};

}  // namespace

Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options) {
  if (options.device != "cpu") return unsupported("engine faulty: it has device cpu only");
  const faulty::Fault* fault = TRY(faulty::find_fault(options.argument));
  return std::unique_ptr<Engine>(std::make_unique<FaultyEngine>(fault, options.seed));
}

}  // namespace gradstone
