// SPDX-License-Identifier: Apache-2.0
#include "engines/reference/loaded_program.h"

#include <algorithm>
#include <cstring>

#include "graph/differentiate.h"

namespace gradstone::reference {
namespace {

// The graph that is run: forward, or forward and backward.
struct Lowered {
  Graph graph;
  std::vector<std::string> gradients, cotangents, node_of_backward;
  std::size_t forward_nodes = 0;
};

Result<Lowered> lower(const ProgramSpec& spec) {
  if (!spec.backward) return Lowered{spec.graph, {}, {}, {}, spec.graph.nodes.size()};
  Differentiated result = TRY(differentiate(spec.graph, spec.backward->from, spec.backward->wrt));
  return Lowered{std::move(result.graph), std::move(result.gradients),
                 std::move(result.cotangent_inputs), std::move(result.node_of_backward),
                 result.forward_nodes};
}

Tensor one(DType dtype, const Shape& shape) {
  Tensor tensor({DType::kFloat64, shape});
  for (double& value : tensor.as<double>()) value = 1;
  return converted(tensor.ref(), dtype);
}

std::size_t index_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

void copy_to(const TensorRef& value, std::byte* target) {
  if (target != nullptr) std::memcpy(target, value.data, value.type.bytes());
}

}  // namespace

Result<LoadedProgram> LoadedProgram::make(const ProgramSpec& spec, VariableStore& variables,
                                          const std::shared_ptr<BufferPool>& pool) {
  LoadedProgram program;
  program.name_ = spec.name;
  Lowered lowered = TRY(lower(spec));
  program.forward_nodes_ = lowered.forward_nodes;
  program.gradients_ = lowered.gradients;
  program.fetched_ = spec.outputs;
  program.fetched_.insert(program.fetched_.end(), lowered.gradients.begin(),
                          lowered.gradients.end());
  for (std::size_t i = 0; i < lowered.graph.nodes.size(); ++i) {
    program.phase_nodes_.push_back(i < lowered.forward_nodes
                                       ? lowered.graph.nodes[i].name
                                       : lowered.node_of_backward[i - lowered.forward_nodes]);
  }
  std::vector<std::string> kept = program.fetched_;
  for (const StateUpdate& update : lowered.graph.state_updates) kept.push_back(update.value);
  program.program_ =
      std::make_unique<Program>(TRY(Program::make(std::move(lowered.graph), kept, pool)));
  TRY(program.bind_feeds(spec, lowered.cotangents));
  TRY(program.bind_variables(variables));
  TRY(program.bind_updates(spec, variables));
  return program;
}

Status LoadedProgram::bind_feeds(const ProgramSpec& spec,
                                 const std::vector<std::string>& cotangents) {
  const bool fed = spec.backward && spec.backward->fed_cotangents;
  for (const GraphInput& input : program_->graph().inputs) {
    const std::size_t cotangent = index_of(cotangents, input.name);
    if (cotangent == cotangents.size() || fed) {
      feeds_.push_back(input);
      continue;
    }
    if (input.type.elements() != 1) {
      return error("backward from '" + spec.backward->from[cotangent] + "', which is " +
                   to_string(input.type) + " and no scalar; feed its cotangent");
    }
    unit_cotangents_.push_back(one(input.type.dtype, input.type.shape));
  }
  return {};
}

Status LoadedProgram::bind_variables(VariableStore& variables) {
  for (const Weight& weight : program_->graph().weights) {
    weights_.push_back(TRY(variables.declare(weight.name, weight.type)));
  }
  for (const StateUpdate& update : program_->graph().state_updates) {
    Variable* variable = TRY(variables.find(update.weight));
    state_targets_.push_back({variable, update.value});
  }
  return {};
}

Status LoadedProgram::bind_updates(const ProgramSpec& spec, VariableStore& variables) {
  if (!spec.updates.empty() && !spec.backward) return error("updates need a backward pass");
  for (const UpdateSpec& update_spec : spec.updates) {
    Update update{update_spec, {}};
    for (const WeightUpdate& weight : update_spec.weights) {
      update.weights.push_back(TRY(bind_weight(spec, update_spec, weight, variables)));
    }
    updates_.push_back(std::move(update));
  }
  return {};
}

Result<LoadedProgram::UpdatedWeight> LoadedProgram::bind_weight(const ProgramSpec& spec,
                                                                const UpdateSpec& update,
                                                                const WeightUpdate& weight,
                                                                VariableStore& variables) const {
  const std::size_t position = index_of(spec.backward->wrt, weight.weight);
  if (position == spec.backward->wrt.size() || !spec.graph.find_weight(weight.weight)) {
    return error("update of '" + weight.weight + "', which is no weight of the backward pass");
  }
  Variable* variable = TRY(variables.find(weight.weight));
  UpdatedWeight bound{weight, gradients_[position], variable, {}, nullptr};
  const TensorType& type = bound.variable->value.type();
  for (const std::string& slot : slots_of(update.optimizer)) {
    Variable* state = TRY(variables.declare(weight.weight + ":" + slot, type));
    if (!state->defined) {
      const double start = initial_slot_value(update.optimizer, slot);
      Tensor value({DType::kFloat64, type.shape});
      for (double& element : value.as<double>()) element = start;
      state->value = converted(value.ref(), type.dtype);
      state->defined = true;
    }
    bound.slots.push_back(state);
  }
  if (update.weight_average > 0) {
    bound.average = TRY(variables.declare(weight.weight + ":average", type));
  }
  return bound;
}

Status LoadedProgram::check_request(const RunRequest& request) const {
  if (request.feeds.size() != feeds_.size()) {
    return error("takes " + std::to_string(feeds_.size()) + " feeds, given " +
                 std::to_string(request.feeds.size()));
  }
  for (std::size_t i = 0; i < feeds_.size(); ++i) {
    if (request.feeds[i].type == feeds_[i].type) continue;
    return error("input '" + feeds_[i].name + "' is " + to_string(feeds_[i].type) + ", fed " +
                 to_string(request.feeds[i].type));
  }
  if (!request.fetches.empty() && request.fetches.size() != fetched_.size()) {
    return error("has " + std::to_string(fetched_.size()) + " values to fetch, asked for " +
                 std::to_string(request.fetches.size()));
  }
  for (std::size_t i = 0; i < request.fetches.size(); ++i) {
    const TensorSink& sink = request.fetches[i];
    const TensorType& type = program_->types().find(fetched_[i])->second;
    if (sink.data == nullptr || sink.type == type) continue;
    return error("value '" + fetched_[i] + "' is " + to_string(type) + ", fetched as " +
                 to_string(sink.type));
  }
  if (request.updates.size() != updates_.size()) {
    return error("has " + std::to_string(updates_.size()) + " updates, given arguments for " +
                 std::to_string(request.updates.size()));
  }
  for (const Variable* weight : weights_) {
    if (!weight->defined) return error("variable '" + weight->name + "' was never written");
  }
  return {};
}

Status LoadedProgram::run(const RunRequest& request, std::uint64_t seed, Profile& profile) {
  TRY(check_request(request));
  ProgramFeeds feeds;
  for (const TensorRef& feed : request.feeds) feeds.inputs.push_back(feed.data);
  for (const Tensor& cotangent : unit_cotangents_) feeds.inputs.push_back(cotangent.data());
  for (const Variable* weight : weights_) feeds.weights.push_back(weight->value.data());
  feeds.seed = seed;
  feeds.execution = executions_++;
  std::vector<NodeTime> times;
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
  for (const UpdatedWeight& weight : update.weights) {
    gradients.push_back(program_->value(weight.gradient));
  }
  const UpdateRule rule{spec.optimizer,   spec.gradient_clip,
                        spec.weight_clip, spec.weight_average,
                        arguments.count,  gradient_factor(spec.gradient_clip, gradients)};
  for (std::size_t i = 0; i < update.weights.size(); ++i) {
    const UpdatedWeight& weight = update.weights[i];
    const std::int64_t start = profile.events ? monotonic_ns() : 0;
    if (weight.average != nullptr && !weight.average->defined) {
      weight.average->value = weight.variable->value;
      weight.average->defined = true;
    }
    WeightStep step{&weight.variable->value, gradients[i], {}, nullptr};
    for (Variable* slot : weight.slots) step.slots.push_back(&slot->value);
    if (weight.average != nullptr) step.average = &weight.average->value;
    step.learning_rate = arguments.learning_rate * weight.update.rate_multiplier;
    step.weight_decay = spec.optimizer.weight_decay * weight.update.decay_multiplier;
    update_weight(rule, step);
    if (!profile.events) continue;
    const std::int64_t duration = monotonic_ns() - start;
    const std::string label =
        std::string(name_of(spec.optimizer.rule)) + " " + weight.update.weight;
    profile.events->push_back({"", label, Phase::kUpdate, start, duration});
  }
}

void LoadedProgram::record(const std::vector<NodeTime>& times, Profile& profile) const {
  for (const NodeTime& time : times) {
    const Phase phase = time.node < forward_nodes_ ? Phase::kForward : Phase::kBackward;
    profile.events->push_back({phase_nodes_[time.node], program_->graph().nodes[time.node].op,
                               phase, time.start_ns, time.duration_ns});
  }
}

}  // namespace gradstone::reference
