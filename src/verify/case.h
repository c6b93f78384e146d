// SPDX-License-Identifier: Apache-2.0
// A graph with everything that it is fed: one question that an engine and the oracle both answer.
// How the answers are compared stands in oracle.h and comparison.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "protocol/program_spec.h"
#include "run/engine_session.h"

namespace gradstone {

struct Case {
  Graph graph;       // checked; without dropout; state updates apply in the engine only
  TensorMap values;  // of every graph input and weight
  // The backward pass: from these values, with these cotangents (by value), to these weights and
  // inputs. No `from`: forward only.
  std::vector<std::string> from;
  TensorMap cotangents;
  std::vector<std::string> wrt;
};

// Names of gradients among an engine's answers, as RunProgram gives them.
std::string gradient_name(const std::string& value);  // "gradient/VALUE"

// Every value that a node computes, in topological order.
std::vector<std::string> computed_values(const Graph& graph);

// The program that answers the case: all computed values, and the gradients.
ProgramSpec program_of(const Case& question, std::string name);
// What it is fed, under the names of RunProgram; and its weights.
TensorMap feeds_of(const Case& question);
TensorMap weights_of(const Case& question);

// Some nodes of a graph alone, by their places in ascending order. What they read from others
// becomes graph inputs; weights and constants stay such. `values` has every value of the graph.
// Cotangents are drawn from `seed`, since those of a whole network may be zero where a fault would
// show. Backward from those outputs that the rest of the graph uses, to every floating input but
// states; forward only where an operator has no gradient.
Result<Case> part_of(const Graph& graph, const std::vector<std::size_t>& nodes,
                     const TensorMap& values, std::uint64_t seed);

// Standard normal numbers, a function of (seed, name).
Tensor random_normal(const TensorType& type, std::uint64_t seed, const std::string& name);

}  // namespace gradstone
