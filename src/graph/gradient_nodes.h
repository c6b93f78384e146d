// SPDX-License-Identifier: Apache-2.0
// ONNX's operator Gradient, which names values of its graph, replaced by the backward graph that it
// stands for. A loss may so contain a gradient, and be differentiated in its turn.
#pragma once

#include "graph/expansion.h"

namespace gradstone {

// Every Gradient node in turn; nodes that have an expansion but no gradient rule are expanded before
// the first. Values keep their names. differentiate() and the reference's programs call it
// themselves; another engine calls it before it lowers a graph.
//
// Of a Gradient node with attributes xs, zs, y: values xs and zs are taken as independent, so that
// y depends on nothing behind them; the outputs are the derivatives of the sum of y's elements with
// respect to xs. Where an input is another value than the one named in its place, the nodes between
// are evaluated once more, with the inputs in place of xs and zs.
// Errors: a name that no value has, y without a gradient.
Result<Expanded> expand_gradients(const Graph& graph);

}  // namespace gradstone
