// SPDX-License-Identifier: Apache-2.0
// The engine interface over ATen: bundles of programs, and the choice of device, threads, kernels.
#include "worker/engine.h"

#include "engines/torch/aten.h"
#include "engines/torch/facts.h"
#include "engines/torch/program.h"
#include "engines/torch/script.h"
#include "engines/torch/support.h"

#pragma push_macro("CHECK")
#undef CHECK
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#undef CHECK
#pragma pop_macro("CHECK")

namespace gradstone::torch_engine {
namespace {

class TorchBundle : public Bundle {
 public:
  TorchBundle(std::shared_ptr<Profiler> profiler, const HostFunctions* host_functions)
      : profiler_(std::move(profiler)), host_functions_(host_functions) {}

  Status load(const BundleSpec& spec) {
    for (const ProgramSpec& program : spec.programs) {
      const Status status = guarded([&]() -> Status {
        programs_.push_back(TRY(Program::load(program, variables_, host_functions_)));
        return {};
      });
      if (!status.ok()) return status;
    }
    return {};
  }

  Status run(const RunRequest& request) override {
    TRY(check_program_index(request.program, programs_.size()));
    Program& program = programs_[request.program];
    try {
      Status status = program.run(request, *profiler_);
      if (!status.ok()) program.release_values();
      return status;
    } catch (const std::exception& exception) {
      const Error error = error_from(exception).within(program.place());
      program.release_values();
      return error;
    }
  }

  // On the CPU everything is done when `run` returns.
  Status synchronise() override { return {}; }

  Status read(std::string_view variable, TensorSink sink) override {
    const Variable* source = TRY(variables_.to_read(variable, sink.type));
    return guarded([&] { return copy_out(source->value, sink); });
  }
  Status write(std::string_view variable, const TensorRef& value) override {
    Variable* target = TRY(variables_.to_write(variable, value.type));
    return guarded([&]() -> Status {
      target->value.copy_(borrowed(value));
      target->defined = true;
      return {};
    });
  }
  Result<TensorType> type_of(std::string_view variable) const override {
    return variables_.type_of(variable);
  }

 private:
  std::shared_ptr<Profiler> profiler_;
  const HostFunctions* host_functions_;
  VariableTable variables_ = make_variables();
  std::vector<Program> programs_;
};

class TorchEngine : public Engine {
 public:
  explicit TorchEngine(const HostFunctions* host_functions) : host_functions_(host_functions) {
    description_.name = "torch";
    description_.version = GRADSTONE_TORCH_VERSION;
    description_.dtypes = {DType::kFloat32, DType::kFloat64};
    description_.devices = {"cpu"};
    description_.device_note = "the worker links only the part of LibTorch for the CPU";
    description_.second_order = true;
    description_.separable_phases = true;
    description_.node_hooks = true;
    description_.native_dropout = true;
    description_.execution_mode = ExecutionMode::kEager;
    description_.facts = framework_facts();
  }

  const EngineDescription& describe() const override { return description_; }

  Result<std::unique_ptr<Bundle>> load(const BundleSpec& spec) override {
    auto bundle = std::make_unique<TorchBundle>(profiler_, host_functions_);
    TRY(bundle->load(spec));
    return std::unique_ptr<Bundle>(std::move(bundle));
  }

  Result<Script> script(const ScriptRequest& request) const override {
    return torch_engine::python_script(request);
  }

  Status begin_profile() override {
    profiler_->begin();
    return {};
  }
  Result<std::vector<ProfileEvent>> end_profile() override {
    if (!profiler_->active()) return failed("end_profile without begin_profile");
    return profiler_->end();
  }

 private:
  EngineDescription description_;
  const HostFunctions* host_functions_;
  std::shared_ptr<Profiler> profiler_ = std::make_shared<Profiler>();
};

Status choose_kernels(const std::string& math) {
  if (math == "onednn" && !at::hasMKLDNN()) {
    return unsupported("math 'onednn': this build of LibTorch has no oneDNN; use 'native'");
  }
  if (!math.empty() && math != "onednn" && math != "native") {
    return unsupported("math '" + math + "': torch knows 'onednn' and 'native'");
  }
  at::globalContext().setUserEnabledMkldnn(math != "native");
  return {};
}

}  // namespace
}  // namespace gradstone::torch_engine

namespace gradstone {

Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options) {
  using namespace torch_engine;
  if (options.device != "cpu") {
    return unsupported("device '" + options.device +
                       "': engine torch " GRADSTONE_TORCH_VERSION
                       " links only LibTorch's part for the CPU; use 'cpu'");
  }
  if (!options.argument.empty()) {
    return unsupported("engine torch takes no argument, given '" + options.argument + "'");
  }
  TRY(guarded([&]() -> Status {
    TRY(choose_kernels(options.math));
    at::set_num_threads(options.threads);
    set_blas_threads(options.threads);
    at::globalContext().setDeterministicAlgorithms(options.deterministic, /*warn_only=*/false);
    at::manual_seed(options.seed);
    return {};
  }));
  return std::unique_ptr<Engine>(std::make_unique<TorchEngine>(options.host_functions));
}

}  // namespace gradstone
