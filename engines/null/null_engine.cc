// SPDX-License-Identifier: Apache-2.0
// An engine that computes nothing and obeys its argument (actions.h). Its loss falls as 1 / (step +
// 1), every other value is zero, weights stay as written.
#include <cstring>
#include <map>

#include "engines/null/actions.h"
#include "worker/engine.h"

namespace gradstone {
namespace {

class NullBundle : public Bundle {
 public:
  NullBundle(const BundleSpec& spec, const null::Order& order) : order_(order) {
    for (const ProgramSpec& program : spec.programs) {
      training_.push_back(!program.updates.empty());
      for (const Weight& weight : program.graph.weights) {
        variables_.try_emplace(weight.name, weight.type);
      }
    }
  }

  Status run(const RunRequest& request) override {
    null::Step step;
    if (training_[request.program]) {
      step.loss = 1 / static_cast<double>(steps_ + 1);
      if (is_told_for_now()) TRY(order_.action->act(order_.parameter, step));
      ++steps_;
    }
    for (const TensorSink& sink : request.fetches) {
      if (sink.data == nullptr) continue;
      std::memset(sink.data, 0, sink.type.bytes());
      if (sink.type.shape.empty()) write_scalar(sink, step.loss);
    }
    return {};
  }

  Status synchronise() override { return {}; }

  Status read(std::string_view variable, TensorSink sink) override {
    const auto found = variables_.find(variable);
    if (found == variables_.end()) {
      std::memset(sink.data, 0, sink.type.bytes());
    } else {
      std::memcpy(sink.data, found->second.data(), sink.type.bytes());
    }
    return {};
  }

  Status write(std::string_view variable, const TensorRef& value) override {
    Tensor& held = variables_[std::string(variable)];
    held = Tensor(value.type);
    std::memcpy(held.data(), value.data, value.type.bytes());
    return {};
  }

  // State `weight:slot` is like its weight.
  Result<TensorType> type_of(std::string_view variable) const override {
    auto found = variables_.find(variable);
    if (found == variables_.end()) found = variables_.find(variable.substr(0, variable.rfind(':')));
    if (found == variables_.end()) {
      return failed("null: no variable '" + std::string(variable) + "'");
    }
    return found->second.type();
  }

 private:
  bool is_told_for_now() const {
    if (order_.action == nullptr || steps_ != order_.step) return false;
    const null::Moment moment = order_.action->moment;
    return moment == null::Moment::kStep || moment == null::Moment::kGivenStep;
  }

  static void write_scalar(const TensorSink& sink, double value) {
    if (sink.type.dtype == DType::kFloat64) std::memcpy(sink.data, &value, sizeof value);
    const auto narrow = static_cast<float>(value);
    if (sink.type.dtype == DType::kFloat32) std::memcpy(sink.data, &narrow, sizeof narrow);
  }

  const null::Order& order_;
  std::vector<bool> training_;  // of each program: whether it updates weights
  std::map<std::string, Tensor, std::less<>> variables_;
  std::int64_t steps_ = 0;
};

class NullEngine : public Engine {
 public:
  explicit NullEngine(null::Order order) : order_(std::move(order)) {
    description_.name = "null";
    description_.version = "1";
    description_.dtypes = {DType::kFloat32, DType::kFloat64};
    description_.devices = {"cpu"};
    description_.device_note = "it computes nothing";
    description_.native_dropout = true;
  }

  const EngineDescription& describe() const override { return description_; }

  Result<std::unique_ptr<Bundle>> load(const BundleSpec& spec) override {
    if (order_.action != nullptr && order_.action->moment == null::Moment::kLoad) {
      null::Step step;
      TRY(order_.action->act(order_.parameter, step));
    }
    return std::unique_ptr<Bundle>(std::make_unique<NullBundle>(spec, order_));
  }

  Status begin_profile() override { return unsupported("null: nothing to profile"); }
  Result<std::vector<ProfileEvent>> end_profile() override {
    return unsupported("null: nothing to profile");
  }

 private:
  null::Order order_;
  EngineDescription description_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options) {
  if (options.device != "cpu") return unsupported("engine null: it has device cpu only");
  return std::unique_ptr<Engine>(
      std::make_unique<NullEngine>(TRY(null::parse_order(options.argument))));
}

}  // namespace gradstone
