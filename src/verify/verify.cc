// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.h"

#include "verify/whole_network.h"

namespace gradstone {
namespace {

Answer refusal(const Error& error) { return {Outcome::kInvalid, error.message}; }

std::string label_of(const Node& node) { return node.name + " (" + node.op + ")"; }

// A departure outweighs how the engine ended afterwards.
void conclude(const Answer& answer, const Departure* first, VerifyResult& result) {
  result.outcome = answer.outcome;
  result.message = answer.message;
  if (first != nullptr) result.first = *first;
  if (!result.first) return;
  result.outcome = Outcome::kWrongResult;
  result.message = to_string(*result.first);
}

// Asks the engine and compares: one program of `engine`, which has it loaded and its weights.
Answer ask_and_compare(const Case& question, EnginePort& engine, std::size_t program,
                       Comparison& comparison, TensorMap& answers) {
  const Answer answer = engine.run(program, feeds_of(question), {}, answers);
  if (answer.outcome != Outcome::kOk) return answer;
  const auto expected = expectations(question, answers);
  if (!expected.ok()) return refusal(expected.error());
  comparison = compare(question.graph, *expected, answers);
  return {};
}

}  // namespace

Result<Verification> Verification::make(const Subject& subject, std::uint64_t seed) {
  Verification verification(subject);
  TensorMap given = subject.weights;
  for (const auto& [name, value] : subject.batches[0]) given[name] = value;
  verification.values_ = TRY(reference_values(subject.graph, given));
  for (std::size_t i = 0; i < subject.graph.nodes.size(); ++i) {
    Result<Case> alone = part_of(subject.graph, {i}, verification.values_, seed);
    if (alone.ok()) {
      verification.nodes_.push_back({i, std::move(*alone)});
    } else {
      verification.not_alone_.push_back(label_of(subject.graph.nodes[i]) + ": " +
                                        alone.error().message);
    }
  }
  return verification;
}

Answer Verification::check_node(EnginePort& engine, const Alone& alone, std::size_t program,
                                VerifyResult& result) const {
  Comparison comparison;
  TensorMap answers;
  const Answer answer = ask_and_compare(alone.question, engine, program, comparison, answers);
  const std::string label = label_of(alone.question.graph.nodes[0]);
  if (answer.outcome == Outcome::kUnsupported) {
    result.not_alone.push_back(label + ": " + answer.message);
    return {};
  }
  if (answer.outcome != Outcome::kOk) {
    return {answer.outcome, "node " + label + ": " + answer.message};
  }
  for (Departure& departure : comparison.departures) departure.position = alone.position;
  result.comparison.add(comparison);
  ++result.nodes;
  return {};
}

// All nodes in one bundle, or, where the engine refuses some, each in its own.
Answer Verification::check_nodes(EnginePort& engine, VerifyResult& result) const {
  result.not_alone = not_alone_;
  BundleSpec bundle;
  TensorMap weights;
  for (const Alone& alone : nodes_) {
    bundle.programs.push_back(program_of(alone.question, alone.question.graph.nodes[0].name));
    weights.merge(weights_of(alone.question));
  }
  const Answer loaded = engine.load(bundle);
  if (loaded.outcome == Outcome::kOk) {
    Answer answer = engine.write(weights);
    for (std::size_t i = 0; i < nodes_.size() && answer.outcome == Outcome::kOk; ++i) {
      answer = check_node(engine, nodes_[i], i, result);
    }
    return answer;
  }
  if (loaded.outcome != Outcome::kUnsupported) return loaded;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Case& question = nodes_[i].question;
    Answer answer = engine.load({{bundle.programs[i]}});
    if (answer.outcome == Outcome::kUnsupported) {
      result.not_alone.push_back(label_of(question.graph.nodes[0]) + ": " + answer.message);
      continue;
    }
    if (answer.outcome == Outcome::kOk) answer = engine.write(weights_of(question));
    if (answer.outcome == Outcome::kOk) answer = check_node(engine, nodes_[i], 0, result);
    if (answer.outcome != Outcome::kOk) return answer;
  }
  return {};
}

VerifyResult check_case(const Case& question, EnginePort& engine) {
  VerifyResult result;
  TensorMap answers;
  Answer answer = engine.load({{program_of(question, "case")}});
  if (answer.outcome == Outcome::kOk) answer = engine.write(weights_of(question));
  if (answer.outcome == Outcome::kOk) {
    answer = ask_and_compare(question, engine, 0, result.comparison, answers);
  }
  result.nodes = static_cast<std::int64_t>(question.graph.nodes.size());
  conclude(answer, first_departure(result.comparison), result);
  return result;
}

VerifyResult Verification::check(EnginePort& engine, EnginePort& reference) const {
  VerifyResult result;
  Answer answer = check_nodes(engine, result);
  if (const Departure* first = first_departure(result.comparison)) {
    result.first = *first;
    result.first_is_alone = true;
  }
  if (answer.outcome == Outcome::kOk) {
    Comparison whole;
    answer = check_whole_network(*subject_, engine, reference, whole, result);
    if (const Departure* first = first_departure(whole); first != nullptr && !result.first) {
      result.first = *first;
    }
    result.comparison.add(whole);
  }
  conclude(answer, nullptr, result);
  return result;
}

}  // namespace gradstone
