// SPDX-License-Identifier: Apache-2.0
#include "verify/whole_network.h"

#include <algorithm>
#include <cmath>

#include "graph/passes.h"
#include "recipe/schedule.h"

namespace gradstone {
namespace {

constexpr const char* kCopy = "copy/";

bool is_ok(const Answer& answer) { return answer.outcome == Outcome::kOk; }

TensorMap in_double(const TensorMap& tensors) {
  TensorMap wide;
  for (const auto& [name, value] : tensors) {
    const bool floating = is_floating(value.type().dtype);
    wide[name] = floating ? converted(value.ref(), DType::kFloat64) : value;
  }
  return wide;
}

double largest(const Tensor& tensor) {
  double most = 0;
  for (std::int64_t i = 0; i < tensor.type().elements(); ++i) {
    most = std::max(most, std::abs(element_as_double(tensor.ref(), i)));
  }
  return most;
}

// A program that updates the weights by gradients that it is fed: `copy/w` is w, and so the
// gradient of w is the cotangent of its copy.
ProgramSpec update_program(const Subject& subject) {
  ProgramSpec program;
  program.name = "update";
  program.graph.name = subject.name;
  program.updates = subject.updates;
  BackwardSpec backward;
  backward.fed_cotangents = true;
  for (const std::string& name : subject.trained) {
    program.graph.weights.push_back(*subject.graph.find_weight(name));
    Node copy;
    copy.name = kCopy + name;
    copy.op = "Identity";
    copy.inputs = {name};
    copy.outputs = {copy.name};
    program.graph.nodes.push_back(std::move(copy));
    program.graph.outputs.push_back(kCopy + name);
    backward.from.push_back(kCopy + name);
    backward.wrt.push_back(name);
  }
  program.graph = with_dtype(program.graph, DType::kFloat64);
  program.backward = std::move(backward);
  return program;
}

ProgramSpec training_program(const Subject& subject, const Case& whole) {
  ProgramSpec program = program_of(whole, "train");
  if (program.backward && !subject.loss.empty()) program.backward->fed_cotangents = false;
  program.updates = subject.updates;
  return program;
}

// State of the optimizers, and of which weight.
std::map<std::string, std::string> slots_of(const Subject& subject) {
  std::map<std::string, std::string> slots;
  for (const UpdateSpec& update : subject.updates) {
    for (const WeightUpdate& target : update.weights) {
      for (const std::string& slot : gradstone::slots_of(update.optimizer)) {
        slots[target.weight + ":" + slot] = target.weight;
      }
    }
  }
  return slots;
}

std::vector<UpdateArguments> arguments_at(const Subject& subject, std::int64_t step) {
  std::vector<UpdateArguments> arguments;
  for (const std::size_t optimizer : subject.optimizer_of_update) {
    const Schedule& schedule = subject.recipe.optimizers[optimizer].schedule;
    arguments.push_back({learning_rate(schedule, step, 0), step + 1});
  }
  return arguments;
}

class Follower {
 public:
  Follower(const Subject& subject, EnginePort& engine, EnginePort& reference,
           Comparison& comparison)
      : subject_(subject), engine_(engine), reference_(reference), comparison_(comparison) {
    for (const Weight& weight : subject.graph.weights) variables_.push_back(weight.name);
    for (const auto& [slot, weight] : slots_) variables_.push_back(slot);
  }

  Answer begin();
  Answer follow(std::int64_t step, VerifyResult& result);

 private:
  void compare_states(const std::vector<Expectation>& expected, const TensorMap& after);
  Answer compare_updates(std::int64_t step, const TensorMap& answers, const TensorMap& before,
                         const TensorMap& after);
  void compare_variable(const std::string& variable, const TensorMap& exact,
                        const TensorMap& answers, const TensorMap& before, const TensorMap& after);

  const Subject& subject_;
  EnginePort& engine_;
  EnginePort& reference_;
  Comparison& comparison_;
  const std::map<std::string, std::string> slots_ = slots_of(subject_);
  std::vector<std::string> variables_;  // weights and slots
};

Answer Follower::begin() {
  const Case whole = case_of(subject_, 0, subject_.weights);
  Answer answer = engine_.load({{training_program(subject_, whole)}});
  if (is_ok(answer)) answer = engine_.write(subject_.weights);
  if (!is_ok(answer) || subject_.updates.empty()) return answer;
  answer = reference_.load({{update_program(subject_)}});
  if (!is_ok(answer)) answer.message = "the reference: " + answer.message;
  return answer;
}

Answer Follower::follow(std::int64_t step, VerifyResult& result) {
  TensorMap before, answers, after;
  Answer answer = engine_.read(variables_, before);
  if (!is_ok(answer)) return answer;
  const Case whole = case_of(subject_, static_cast<std::size_t>(step), before);
  TensorMap feeds = feeds_of(whole);
  if (!subject_.loss.empty()) feeds.erase("cotangent/" + subject_.loss);
  answer = engine_.run(0, feeds, arguments_at(subject_, step), answers);
  if (is_ok(answer)) answer = engine_.read(variables_, after);
  if (!is_ok(answer)) return answer;
  const auto expected = expectations(whole, answers);
  if (!expected.ok()) return {Outcome::kInvalid, expected.error().message};
  comparison_.add(compare(subject_.graph, *expected, answers));
  compare_states(*expected, after);
  if (!subject_.loss.empty()) {
    result.losses.push_back(element_as_double(answers.at(subject_.loss).ref(), 0));
  }
  ++result.steps;
  return subject_.updates.empty() ? Answer{} : compare_updates(step, answers, before, after);
}

// A running statistic is in the variable what the node computed.
void Follower::compare_states(const std::vector<Expectation>& expected, const TensorMap& after) {
  for (const StateUpdate& update : subject_.graph.state_updates) {
    for (const Expectation& one : expected) {
      if (one.value != update.value) continue;
      Expectation state = one;
      state.value = update.weight;
      comparison_.add(compare(subject_.graph, {state}, after));
    }
  }
}

Answer Follower::compare_updates(std::int64_t step, const TensorMap& answers,
                                 const TensorMap& before, const TensorMap& after) {
  TensorMap held, cotangents, unused, exact;
  std::vector<std::string> variables = subject_.trained;
  for (const std::string& name : subject_.trained) {
    held[name] = before.at(name);
    cotangents[std::string("cotangent/") + kCopy + name] = answers.at(gradient_name(name));
  }
  for (const auto& [slot, weight] : slots_) {
    held[slot] = before.at(slot);
    variables.push_back(slot);
  }
  Answer answer = reference_.write(in_double(held));
  if (is_ok(answer)) {
    answer = reference_.run(0, in_double(cotangents), arguments_at(subject_, step), unused);
  }
  if (is_ok(answer)) answer = reference_.read(variables, exact);
  if (!is_ok(answer)) return {answer.outcome, "the reference: " + answer.message};
  for (const std::string& variable : variables) {
    compare_variable(variable, exact, answers, before, after);
  }
  return {};
}

void Follower::compare_variable(const std::string& variable, const TensorMap& exact,
                                const TensorMap& answers, const TensorMap& before,
                                const TensorMap& after) {
  const auto slot = slots_.find(variable);
  const std::string& weight = slot == slots_.end() ? variable : slot->second;
  const DType dtype = before.at(variable).type().dtype;
  Expectation one;
  one.value = variable;
  one.node = subject_.graph.nodes.size();
  one.exact = exact.at(variable);
  one.single = converted(one.exact.ref(), dtype);
  one.tolerance.magnitude = std::max(largest(one.exact), largest(before.at(variable)));
  // A dozen operations, and sums of state and gradient that may cancel.
  one.tolerance.reduction = 8;
  if (slot != slots_.end()) {
    one.tolerance.moved = spacing_at_one(dtype) * largest(answers.at(gradient_name(weight)));
  }
  complete(one.tolerance, dtype);
  Comparison compared = compare(subject_.graph, {one}, after);
  for (Departure& departure : compared.departures) {
    departure.node = "update of " + weight;
    departure.op = "optimizer";
    departure.backward = true;
  }
  comparison_.add(compared);
}

}  // namespace

Answer check_whole_network(const Subject& subject, EnginePort& engine, EnginePort& reference,
                           Comparison& comparison, VerifyResult& result) {
  Follower follower(subject, engine, reference, comparison);
  Answer answer = follower.begin();
  const auto steps = static_cast<std::int64_t>(subject.batches.size());
  for (std::int64_t step = 0; step < steps && is_ok(answer); ++step) {
    answer = follower.follow(step, result);
  }
  return answer;
}

}  // namespace gradstone
