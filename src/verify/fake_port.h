// SPDX-License-Identifier: Apache-2.0
// For tests: an engine in this process, made of the kernels, that can be made wrong. Updates are
// plain SGD whatever the optimizer says.
#pragma once

#include <functional>

#include "graph/differentiate.h"
#include "kernels/evaluate.h"
#include "verify/engine_port.h"

namespace gradstone::testing {

class FakePort : public EnginePort {
 public:
  // Change what is loaded, what comes out of a run, and the weights after an update.
  std::function<void(ProgramSpec&)> on_load = [](ProgramSpec&) {};
  std::function<void(const ProgramSpec&, TensorMap&)> on_run = [](const ProgramSpec&, TensorMap&) {
  };
  std::function<void(TensorMap&)> on_update = [](TensorMap&) {};
  std::function<Answer(const BundleSpec&)> refuse = [](const BundleSpec&) { return Answer{}; };

  Answer load(const BundleSpec& bundle) override {
    const Answer refused = refuse(bundle);
    if (refused.outcome != Outcome::kOk) return refused;
    bundle_ = bundle;
    for (ProgramSpec& program : bundle_.programs) on_load(program);
    variables_.clear();
    return {};
  }

  Answer write(const TensorMap& variables) override {
    for (const auto& [name, value] : variables) variables_[name] = value;
    return {};
  }

  Answer read(const std::vector<std::string>& variables, TensorMap& values) override {
    for (const std::string& name : variables) values[name] = variables_.at(name);
    return {};
  }

  Answer run(std::size_t index, const TensorMap& feeds, const std::vector<UpdateArguments>& updates,
             TensorMap& values) override {
    const ProgramSpec& program = bundle_.programs.at(index);
    const Status status = compute(program, feeds, values);
    if (!status.ok()) return {Outcome::kInvalid, status.error().message};
    on_run(program, values);
    for (const StateUpdate& update : program.graph.state_updates) {
      variables_[update.weight] = values.at(update.value);
    }
    for (std::size_t i = 0; i < program.updates.size(); ++i) {
      for (const WeightUpdate& target : program.updates[i].weights) {
        step(updates[i].learning_rate, values.at("gradient/" + target.weight), target.weight);
      }
    }
    if (!program.updates.empty()) on_update(variables_);
    return {};
  }

 private:
  Status compute(const ProgramSpec& program, const TensorMap& feeds, TensorMap& values) {
    Graph graph = program.graph;
    std::vector<std::string> names = program.outputs;
    TensorMap given = variables_;
    for (const auto& [name, value] : feeds) given[name] = value;
    std::vector<std::string> gradients;
    if (program.backward) {
      const BackwardSpec& backward = *program.backward;
      Differentiated whole = TRY(differentiate(graph, backward.from, backward.wrt));
      graph = std::move(whole.graph);
      gradients = std::move(whole.gradients);
      for (std::size_t i = 0; i < backward.from.size(); ++i) {
        const std::string& cotangent = whole.cotangent_inputs[i];
        if (backward.fed_cotangents) {
          given[cotangent] = feeds.at("cotangent/" + backward.from[i]);
        } else {
          const GraphInput* input = graph.find_input(cotangent);
          const Tensor one = Tensor::of<double>(input->type.shape, std::vector<double>{1.0});
          given[cotangent] = converted(one.ref(), input->type.dtype);
        }
      }
      for (const std::string& name : backward.wrt) names.push_back("gradient/" + name);
    }
    graph.outputs = program.outputs;
    graph.outputs.insert(graph.outputs.end(), gradients.begin(), gradients.end());
    graph.state_updates.clear();
    const std::vector<Tensor> computed = TRY(kernels::evaluate(graph, given));
    for (std::size_t i = 0; i < computed.size(); ++i) values[names[i]] = computed[i];
    return {};
  }

  void step(double rate, const Tensor& gradient, const std::string& weight) {
    Tensor& held = variables_.at(weight);
    std::vector<double> moved;
    for (std::int64_t i = 0; i < held.type().elements(); ++i) {
      moved.push_back(element_as_double(held.ref(), i) -
                      rate * element_as_double(gradient.ref(), i));
    }
    held = converted(Tensor::of<double>(held.shape(), moved).ref(), held.type().dtype);
  }

  BundleSpec bundle_;
  TensorMap variables_;
};

}  // namespace gradstone::testing
