// SPDX-License-Identifier: Apache-2.0
#include "engines/torch/program.h"

#include "engines/torch/aten.h"
#include "engines/torch/support.h"

#pragma push_macro("CHECK")
#undef CHECK
#include <torch/csrc/autograd/autograd.h>
#undef CHECK
#pragma pop_macro("CHECK")

namespace gradstone::torch_engine {

Status Program::run(const RunRequest& request, Profiler& profiler) {
  TRY(check_request(contract_, request, weights_));
  const bool profiled = profiler.active();
  if (profiled) profiler.forget_nodes();
  std::vector<at::Tensor> gradients;
  {
    const c10::AutoGradMode gradients_recorded(differentiates_);
    take_feeds(request);
    forward(profiler);
    if (profiled) profiler.enter(Phase::kBackward);
    if (differentiates_) gradients = backward();
  }
  const at::NoGradGuard no_grad;
  TRY(fetch(request, gradients));
  if (profiled) profiler.enter(Phase::kUpdate);
  for (std::size_t i = 0; i < updates_.size(); ++i) {
    updates_[i].apply(gradients, request.updates[i]);
  }
  update_states();
  release_values();
  return {};
}

std::string Program::place() const {
  if (current_ >= steps_.size()) return contract_.place();
  return contract_.place() + ": node " + steps_[current_].name + " (" + steps_[current_].op + ")";
}

void Program::release_values() {
  for (const Slot slot : transient_) values_[slot].reset();
  cotangents_.clear();
}

void Program::take_feeds(const RunRequest& request) {
  current_ = steps_.size();
  for (std::size_t i = 0; i < feeds_.size(); ++i) {
    at::Tensor value = borrowed(request.feeds[i]);
    if (feeds_[i].differentiated) value.set_requires_grad(true);
    if (feeds_[i].slot == kAbsent) {
      cotangents_.push_back(std::move(value));
    } else {
      values_[feeds_[i].slot] = std::move(value);
    }
  }
}

void Program::forward(Profiler& profiler) {
  const bool profiled = profiler.active();
  at::Tensor* values = values_.data();
  for (current_ = 0; current_ < steps_.size(); ++current_) {
    const NodeStep& node = steps_[current_];
    if (profiled) profiler.enter(Phase::kForward, node.name);
    node.step(values);
    for (const Slot slot : node.dead_after) values[slot].reset();
  }
}

std::vector<at::Tensor> Program::backward() {
  std::vector<at::Tensor> from, cotangents, wrt;
  for (std::size_t i = 0; i < from_.size(); ++i) {
    if (!values_[from_[i]].requires_grad()) continue;  // independent of all of wrt
    from.push_back(values_[from_[i]]);
    if (fed_cotangents_) cotangents.push_back(cotangents_[i]);
  }
  wrt.reserve(wrt_.size());
  for (const Slot slot : wrt_) wrt.push_back(values_[slot]);
  std::vector<at::Tensor> gradients(wrt.size());
  if (!from.empty()) {
    gradients = torch::autograd::grad(from, wrt, cotangents, /*retain_graph=*/false,
                                      /*create_graph=*/false, /*allow_unused=*/true);
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) gradients[i] = at::zeros_like(wrt[i]);
  }
  return gradients;
}

Status Program::fetch(const RunRequest& request, const std::vector<at::Tensor>& gradients) const {
  for (std::size_t i = 0; i < request.fetches.size(); ++i) {
    const TensorSink& sink = request.fetches[i];
    if (sink.data == nullptr) continue;
    const std::size_t outputs = outputs_.size();
    const at::Tensor& value = i < outputs ? values_[outputs_[i]] : gradients[i - outputs];
    TRY(copy_out(value, sink).within("value '" + contract_.fetches[i].name + "'"));
  }
  return {};
}

void Program::update_states() {
  if (states_.empty()) return;
  // All values are taken before the first is written: one may be a weight that another replaces.
  std::vector<at::Tensor> values;
  values.reserve(states_.size());
  for (const StateTarget& state : states_) values.push_back(values_[state.value].clone());
  for (std::size_t i = 0; i < states_.size(); ++i) states_[i].variable->value.copy_(values[i]);
}

}  // namespace gradstone::torch_engine
