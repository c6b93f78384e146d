// SPDX-License-Identifier: Apache-2.0
// For tests of the worker: an asynchronous engine that computes nothing, keeps its own clock and
// writes down every call. Losses and failures are scripted.
#pragma once

#include <cstring>
#include <deque>
#include <functional>
#include <limits>
#include <set>
#include <stdexcept>
#include <utility>

#include "graph/tensor.h"
#include "worker/engine.h"

namespace gradstone::testing {

struct FakeCall {
  enum class Kind { kRun, kSynchronise } kind = Kind::kRun;
  std::size_t program = 0;
  std::vector<std::int64_t> labels;  // fed to input `label`
  std::vector<double> mask;          // fed to the third input, where there is one
  std::vector<UpdateArguments> updates;
};

struct FakeScript {
  std::function<double(std::int64_t step)> loss = [](std::int64_t step) {
    return 1.0 / (1 + step);
  };
  std::function<Status(std::int64_t step)> before_step;  // may fail or throw
  // What a step adds to the clock: while it is issued, and when it is waited for.
  std::int64_t issue_ns = 1'000'000;
  std::function<std::int64_t(std::int64_t step)> compute_ns = [](std::int64_t) {
    return 9'000'000;
  };
  std::optional<Error> load_error;
  bool native_dropout = true;
};

// What the tests look at; outlives engine and bundles.
struct FakeLog {
  std::int64_t now_ns = 0;
  std::vector<FakeCall> calls;
  std::map<std::string, Tensor, std::less<>> variables;
  BundleSpec spec;
  std::int64_t steps = 0;
  int live_bundles = 0;
};

class FakeBundle final : public Bundle {
 public:
  FakeBundle(const BundleSpec& spec, const FakeScript& script, FakeLog& log)
      : script_(script), log_(log) {
    log_.spec = spec;
    ++log_.live_bundles;
    for (const ProgramSpec& program : spec.programs) {
      for (const Weight& weight : program.graph.weights) add_variable(weight.name, weight.type);
      for (const UpdateSpec& update : program.updates) {
        if (update.weight_average == 0) continue;
        for (const WeightUpdate& weight : update.weights) {
          add_variable(weight.weight + ":average", program.graph.find_weight(weight.weight)->type);
        }
      }
    }
  }
  ~FakeBundle() override { --log_.live_bundles; }

  Status run(const RunRequest& request) override {
    const ProgramSpec& program = log_.spec.programs[request.program];
    CHECK(request.feeds.size() == program.graph.inputs.size(), "one feed an input");
    FakeCall call;
    call.program = request.program;
    call.updates.assign(request.updates.begin(), request.updates.end());
    for (std::size_t i = 0; i < request.feeds.size(); ++i) {
      CHECK(request.feeds[i].type == program.graph.inputs[i].type, "feeds have the inputs' types");
      if (program.graph.inputs[i].name == "label") {
        const auto labels = request.feeds[i].as<std::int64_t>();
        call.labels.assign(labels.begin(), labels.end());
      }
    }
    if (request.feeds.size() > 2) {
      for (const float value : request.feeds[2].as<float>()) call.mask.push_back(value);
    }
    log_.calls.push_back(std::move(call));
    if (program.mode == Mode::kInference) return infer(request);
    CHECK(request.updates.size() == program.updates.size(), "arguments for every update");
    return step(request);
  }

  Status synchronise() override {
    log_.calls.push_back({FakeCall::Kind::kSynchronise});
    for (const auto& [sink, loss] : pending_) {
      const auto value = static_cast<float>(loss);
      std::memcpy(sink, &value, sizeof value);
    }
    pending_.clear();
    owners_.clear();
    log_.now_ns += waiting_ns_;
    waiting_ns_ = 0;
    return {};
  }

  Status read(std::string_view variable, TensorSink sink) override {
    const auto found = log_.variables.find(variable);
    if (found == log_.variables.end()) return failed("no variable " + std::string(variable));
    std::memcpy(sink.data, found->second.data(), sink.type.bytes());
    return {};
  }
  Status write(std::string_view variable, const TensorRef& value) override {
    const auto found = log_.variables.find(variable);
    if (found == log_.variables.end()) return failed("no variable " + std::string(variable));
    CHECK(found->second.type() == value.type, "written with its own type");
    std::memcpy(found->second.data(), value.data, value.type.bytes());
    return {};
  }
  Result<TensorType> type_of(std::string_view variable) const override {
    const auto found = log_.variables.find(variable);
    if (found == log_.variables.end()) return failed("no variable " + std::string(variable));
    return found->second.type();
  }

 private:
  void add_variable(const std::string& name, const TensorType& type) {
    log_.variables.emplace(name, Tensor(type));
  }

  // Logits: the bias, the same for every sample, so that a test chooses the answer by a weight.
  Status infer(const RunRequest& request) {
    const Tensor& bias = log_.variables.at("bias");
    const TensorSink& sink = request.fetches[0];
    const std::size_t row = bias.type().bytes();
    for (std::int64_t i = 0; i < sink.type.shape[0]; ++i) {
      std::memcpy(sink.data + static_cast<std::size_t>(i) * row, bias.data(), row);
    }
    return {};
  }

  Status step(const RunRequest& request) {
    const std::int64_t step = log_.steps;
    if (script_.before_step) TRY(script_.before_step(step));
    CHECK(request.owner != nullptr, "an asynchronous engine needs an owner");
    owners_.push_back(request.owner);
    if (owners_.size() > 2) owners_.pop_front();  // older runs are done by now
    pending_.emplace_back(request.fetches[0].data, script_.loss(step));
    log_.now_ns += script_.issue_ns;
    waiting_ns_ += script_.compute_ns(step);
    ++log_.steps;
    return {};
  }

  const FakeScript& script_;
  FakeLog& log_;
  std::deque<std::shared_ptr<const void>> owners_;
  std::vector<std::pair<std::byte*, double>> pending_;
  std::int64_t waiting_ns_ = 0;
};

class FakeEngine final : public Engine {
 public:
  FakeEngine(const FakeScript& script, FakeLog& log) : script_(script), log_(log) {
    description_.name = "fake";
    description_.version = "3.1";
    description_.dtypes = {DType::kFloat32, DType::kFloat64};
    description_.devices = {"cpu"};
    description_.native_dropout = script.native_dropout;
    description_.facts = {{"blas", "none"}};
  }
  const EngineDescription& describe() const override { return description_; }
  Result<std::unique_ptr<Bundle>> load(const BundleSpec& spec) override {
    log_.now_ns += 2'000'000'000;
    if (script_.load_error) return *script_.load_error;
    return std::unique_ptr<Bundle>(std::make_unique<FakeBundle>(spec, script_, log_));
  }
  Status begin_profile() override { return unsupported("no profile"); }
  Result<std::vector<ProfileEvent>> end_profile() override { return unsupported("no profile"); }

 private:
  const FakeScript& script_;
  FakeLog& log_;
  EngineDescription description_;
};

}  // namespace gradstone::testing
