// SPDX-License-Identifier: Apache-2.0
// One node of each operator with operands and results that can be checked by hand. Not for
// gradients: those follow from the values by finite differences (operators_conformance_test.cc).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/conformance/support.h"

namespace gradstone::conformance {

struct Operand {
  enum class Kind { kFed, kFixed, kFedIndices, kIntegers, kNumber, kAbsent } kind = Kind::kFed;
  Shape shape;
  std::vector<double> values;
};
// A floating-point input; one that gradients do not flow to (statistics, class weights); and int64
// indices or labels.
inline Operand fed(Shape shape, std::vector<double> values) {
  return {Operand::Kind::kFed, std::move(shape), std::move(values)};
}
inline Operand fixed(Shape shape, std::vector<double> values) {
  return {Operand::Kind::kFixed, std::move(shape), std::move(values)};
}
inline Operand indices(Shape shape, std::vector<double> values) {
  return {Operand::Kind::kFedIndices, std::move(shape), std::move(values)};
}
// Constants: a list of integers, and a floating-point scalar.
inline Operand constant_integers(std::vector<double> values) {
  return {Operand::Kind::kIntegers, {static_cast<std::int64_t>(values.size())}, std::move(values)};
}
inline Operand constant_number(double value) { return {Operand::Kind::kNumber, {}, {value}}; }
inline Operand absent() { return {Operand::Kind::kAbsent, {}, {}}; }

struct OperatorCase {
  std::string name;
  std::string op;
  std::vector<Operand> operands;
  Attributes attributes;
  Shape shape;  // of the first output
  std::vector<double> expected;
};

std::vector<OperatorCase> operator_cases();

}  // namespace gradstone::conformance
