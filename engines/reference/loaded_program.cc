// SPDX-License-Identifier: Apache-2.0
#include "engines/reference/loaded_program.h"

#include <cstring>

#include "base/clock.h"
#include "graph/differentiate.h"

namespace gradstone::reference {
namespace {

void copy_to(const TensorRef& value, std::byte* target) {
  if (target != nullptr) std::memcpy(target, value.data, value.type.bytes());
}

}  // namespace

Result<Lowered> lower(const ProgramSpec& spec) {
  if (!spec.backward) {
    Lowered forward{spec.graph, {}, {}, spec.graph.nodes.size()};
    for (const Node& node : spec.graph.nodes) forward.origin.push_back(node.name);
    return forward;
  }
  Differentiated result = TRY(differentiate(spec.graph, spec.backward->from, spec.backward->wrt));
  return Lowered{std::move(result.graph), std::move(result.gradients), std::move(result.origin),
                 result.forward_nodes};
}

Result<LoadedProgram> LoadedProgram::make(const ProgramSpec& spec, const BundleOptions& options,
                                          VariableTable& variables,
                                          const std::shared_ptr<kernels::BufferPool>& pool) {
  LoadedProgram program;
  program.contract_ = TRY(contract_of(spec, TRY(check_graph(spec.graph))));
  Lowered lowered = TRY(options.lowering(spec));
  program.forward_nodes_ = lowered.forward_nodes;
  program.gradients_ = lowered.gradients;
  program.fetched_ = spec.outputs;
  program.fetched_.insert(program.fetched_.end(), lowered.gradients.begin(),
                          lowered.gradients.end());
  program.origin_ = std::move(lowered.origin);
  std::vector<std::string> kept = program.fetched_;
  for (const StateUpdate& update : lowered.graph.state_updates) kept.push_back(update.value);
  program.program_ = std::make_unique<kernels::Program>(
      TRY(kernels::Program::make(std::move(lowered.graph), kept, pool, options.host_functions)));
  if (spec.backward && !spec.backward->fed_cotangents) {
    const std::vector<GraphInput>& inputs = program.program_->graph().inputs;
    for (std::size_t i = spec.graph.inputs.size(); i < inputs.size(); ++i) {
      fill(program.unit_cotangents_.emplace_back(inputs[i].type), 1);
    }
  }
  TRY(program.bind_variables(variables));
  TRY(program.bind_updates(spec, variables));
  return program;
}

Status LoadedProgram::bind_variables(VariableTable& variables) {
  for (const Weight& weight : program_->graph().weights) {
    weights_.push_back(TRY(variables.declare(weight.name, weight.type)));
  }
  for (const StateUpdate& update : program_->graph().state_updates) {
    const TensorType& type = program_->types().find(update.value)->second;
    Variable* variable = TRY(variables.declare(update.weight, type));
    state_targets_.push_back({variable, update.value});
  }
  return {};
}

Status LoadedProgram::bind_updates(const ProgramSpec& spec, VariableTable& variables) {
  for (std::size_t i = 0; i < spec.updates.size(); ++i) {
    Update& update = updates_.emplace_back(Update{spec.updates[i], {}});
    for (const UpdatedWeight& weight : contract_.updates[i]) {
      UpdateVariables<Tensor> bound = TRY(variables.declare(weight));
      update.weights.push_back({weight, std::move(bound)});
    }
  }
  return {};
}

Status LoadedProgram::run(const RunRequest& request, std::uint64_t seed, Profile& profile) {
  TRY(check_request(contract_, request, weights_));
  kernels::ProgramFeeds feeds;
  for (const TensorRef& feed : request.feeds) feeds.inputs.push_back(feed.data);
  for (const Tensor& cotangent : unit_cotangents_) feeds.inputs.push_back(cotangent.data());
  for (const Variable* weight : weights_) feeds.weights.push_back(weight->value.data());
  feeds.seed = seed;
  feeds.execution = executions_++;
  std::vector<kernels::NodeTime> times;
  if (profile.events) times.reserve(program_->graph().nodes.size());
  TRY(program_->run(feeds, profile.events ? &times : nullptr));
  for (std::size_t i = 0; i < request.fetches.size(); ++i) {
    copy_to(program_->value(fetched_[i]), request.fetches[i].data);
  }
  if (profile.events) record(times, profile);
  // New values of the state are set aside first: an update may read a weight that another changes.
  std::vector<Tensor> states;
  for (const StateTarget& target : state_targets_) {
    const TensorRef value = program_->value(target.value);
    copy_to(value, states.emplace_back(value.type).data());
  }
  for (std::size_t i = 0; i < updates_.size(); ++i) {
    apply_update(updates_[i], request.updates[i], profile);
  }
  for (std::size_t i = 0; i < states.size(); ++i) {
    state_targets_[i].variable->value = std::move(states[i]);
  }
  return {};
}

void LoadedProgram::apply_update(const Update& update, const UpdateArguments& arguments,
                                 Profile& profile) {
  const UpdateSpec& spec = update.spec;
  std::vector<TensorRef> gradients;
  for (const BoundWeight& weight : update.weights) {
    gradients.push_back(program_->value(gradients_[weight.updated.gradient]));
  }
  const UpdateRule rule{spec.optimizer,   spec.gradient_clip,
                        spec.weight_clip, spec.weight_average,
                        arguments.count,  gradient_factor(spec.gradient_clip, gradients)};
  for (std::size_t i = 0; i < update.weights.size(); ++i) {
    const auto& [updated, variables] = update.weights[i];
    const std::int64_t start = profile.events ? monotonic_ns() : 0;
    Variable* average = variables.average;
    if (average != nullptr && !average->defined) {
      average->value = variables.weight->value;
      average->defined = true;
    }
    WeightStep step{&variables.weight->value, gradients[i], {}, nullptr};
    for (Variable* slot : variables.slots) step.slots.push_back(&slot->value);
    if (average != nullptr) step.average = &average->value;
    step.learning_rate = arguments.learning_rate * updated.update.rate_multiplier;
    step.weight_decay = spec.optimizer.weight_decay * updated.update.decay_multiplier;
    update_weight(rule, step);
    if (!profile.events) continue;
    const std::int64_t duration = monotonic_ns() - start;
    const std::string label =
        std::string(name_of(spec.optimizer.rule)) + " " + updated.update.weight;
    profile.events->push_back({"", label, Phase::kUpdate, start, duration});
  }
}

void LoadedProgram::record(const std::vector<kernels::NodeTime>& times, Profile& profile) const {
  for (const kernels::NodeTime& time : times) {
    const std::size_t node = program_->origin(time.node);
    const Phase phase = node < forward_nodes_ ? Phase::kForward : Phase::kBackward;
    profile.events->push_back({origin_[node], program_->graph().nodes[time.node].op, phase,
                               time.start_ns, time.duration_ns});
  }
}

}  // namespace gradstone::reference
