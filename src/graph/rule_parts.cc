// SPDX-License-Identifier: Apache-2.0
#include "graph/rule_parts.h"

namespace gradstone {

void give_summed(GradientBuilder& b, std::size_t index, const std::string& value) {
  b.give(index, b.sum_to(value, Shape(b.shape_of(b.input(index)))));
}

std::string number_like(NodeBuilder& b, double number, const std::string& like) {
  return b.scalar(number, b.type_of(like).dtype);
}

std::string apply(NodeBuilder& b, std::string_view op, const std::string& x) {
  return b.append(op, op, {x});
}

std::string select(NodeBuilder& b, const std::string& condition, const std::string& a,
                   const std::string& c) {
  return b.append("select", "Where", {condition, a, c});
}

std::string is_positive(NodeBuilder& b, const std::string& x) {
  return b.append("positive", "Greater", {x, number_like(b, 0, x)});
}

std::string masked(NodeBuilder& b, const std::string& condition, const std::string& value) {
  return select(b, condition, value, number_like(b, 0, value));
}

Status gradient_is_zero(GradientBuilder&) { return {}; }

}  // namespace gradstone
