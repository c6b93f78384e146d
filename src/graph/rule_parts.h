// SPDX-License-Identifier: Apache-2.0
// Short forms that several gradient and expansion rules are written with. Not for anything that one
// rule alone needs.
#pragma once

#include <string>

#include "graph/expansion.h"
#include "graph/gradients.h"

namespace gradstone {

// Gives input `index` the sum of `value` over the axes along which the input was broadcast.
void give_summed(GradientBuilder& b, std::size_t index, const std::string& value);

// A number of the element type of `like`.
std::string number_like(NodeBuilder& b, double number, const std::string& like);

// Node `op` of one operand.
std::string apply(NodeBuilder& b, std::string_view op, const std::string& x);

// a where `condition` holds, else c; and where x > 0 the truth. Broadcast.
std::string select(NodeBuilder& b, const std::string& condition, const std::string& a,
                   const std::string& c);
std::string is_positive(NodeBuilder& b, const std::string& x);

// Value where `condition` holds, else 0. Unlike a product with 0 and 1 it is 0 also where `value`
// is infinite.
std::string masked(NodeBuilder& b, const std::string& condition, const std::string& value);

// The rule of a function that is constant but for its steps: nothing flows.
Status gradient_is_zero(GradientBuilder& b);

}  // namespace gradstone
