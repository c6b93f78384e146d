// SPDX-License-Identifier: Apache-2.0
// Shapes, types, faults and costs of activations, functions, comparisons and Where.
#include <gtest/gtest.h>

#include "graph/one_node.h"

namespace gradstone {
namespace {

using namespace testing;

TensorType of(DType dtype, Shape shape = {2}) { return {dtype, std::move(shape)}; }

// Names of the types, in the order of DType, of which a node of `inputs` operands can be.
std::string accepted(const std::string& op, std::size_t inputs, const Attributes& attributes = {}) {
  std::string names;
  for (const DType dtype : {DType::kFloat32, DType::kFloat64, DType::kInt8, DType::kInt32,
                            DType::kInt64, DType::kUInt8, DType::kBool}) {
    const Graph graph = one_node(op, std::vector<TestInput>(inputs, of(dtype)), attributes);
    if (check_graph(graph).ok()) names += std::string(name_of(dtype)) + " ";
  }
  return names;
}

// The type constraints of ONNX, opset 17.
TEST(Elements, AreThoseOfOnnx) {
  const std::string floats = "float32 float64 ", wide = floats + "int32 int64 ";
  const std::string is_signed = floats + "int8 int32 int64 ", numbers = is_signed + "uint8 ";
  for (const char* op :
       {"Elu", "Selu", "LeakyRelu", "Softplus", "HardSigmoid", "Gelu", "Celu", "HardSwish", "Mish",
        "Softsign", "ThresholdedRelu", "Sin", "Erf", "Ceil", "Floor", "Round", "IsInf", "IsNaN"}) {
    EXPECT_EQ(accepted(op, 1), floats) << op;
  }
  EXPECT_EQ(accepted("Sum", 3), floats);
  EXPECT_EQ(accepted("Mean", 3), floats);
  EXPECT_EQ(accepted("PRelu", 2), wide);
  EXPECT_EQ(accepted("Pow", 2), wide);
  EXPECT_EQ(accepted("Relu", 1), is_signed);
  EXPECT_EQ(accepted("Neg", 1), is_signed);
  for (const char* op : {"Abs", "Sign", "Clip"}) EXPECT_EQ(accepted(op, 1), numbers) << op;
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Greater", "GreaterOrEqual",
                         "Less", "LessOrEqual"}) {
    EXPECT_EQ(accepted(op, 2), numbers) << op;
  }
  EXPECT_EQ(accepted("Mod", 2), "int8 int32 int64 uint8 ");
  EXPECT_EQ(accepted("Mod", 2, {{"fmod", std::int64_t{1}}}), numbers);
  EXPECT_EQ(accepted("Equal", 2), numbers + "bool ");
  for (const char* op : {"And", "Or", "Xor"}) EXPECT_EQ(accepted(op, 2), "bool ") << op;
  EXPECT_EQ(accepted("Not", 1), "bool ");
}

TEST(Activation, ShapesAndFaults) {
  EXPECT_EQ(outcome("Elu", {f32({2, 3})}, {{"alpha", 0.5}}), "float32 [2, 3]");
  EXPECT_EQ(outcome("Gelu", {f32({2})}, {{"approximate", "tanh"}}), "float32 [2]");
  EXPECT_EQ(outcome("Gelu", {f32({2})}, {{"approximate", "tan"}}),
            "attribute 'approximate' has no choice 'tan'; did you mean 'tanh'?");
  EXPECT_EQ(outcome("Clip", {f32({2}), f32({}), f32({1})}), "float32 [2]");
  EXPECT_EQ(outcome("Clip", {f32({2}), {}, f32({})}), "float32 [2]");
  EXPECT_EQ(outcome("Clip", {f32({2}), f32({2})}), "min has shape [2]; expected one number");
  EXPECT_EQ(outcome("Clip", {f32({2}), {}, i64({})}), "max is int64, the first input is float32");
  EXPECT_EQ(outcome("PRelu", {f32({2, 3}), f32({3})}), "float32 [2, 3]");
  EXPECT_EQ(outcome("PRelu", {f32({3}), f32({2, 3})}),
            "the slope has shape [2, 3], which does not broadcast to [3]");
}

TEST(Math, ShapesAndFaults) {
  EXPECT_EQ(outcome("Max", {f32({3})}), "float32 [3]");
  EXPECT_EQ(outcome("Sum", {f32({3}), f32({2, 1}), f32({4, 1, 1})}), "float32 [4, 2, 3]");
  EXPECT_EQ(outcome("Min", {f32({3}), f32({3}), i64({3})}),
            "input 2 is int64, the first input is float32");
  EXPECT_EQ(outcome("Mean", {f32({3}), f32({2})}),
            "shapes [3] and [2] do not broadcast: extents 3 and 2");
  EXPECT_EQ(outcome("Max", {}), "has 0 inputs; expected 1 or more");
  EXPECT_EQ(outcome("Mod", {f32({2}), f32({2})}),
            "fmod = 0 is for integers; floating types need fmod = 1");
}

TEST(Pow, HasTheTypeOfItsBase) {
  EXPECT_EQ(outcome("Pow", {f32({2, 1}), i64({3})}), "float32 [2, 3]");
  EXPECT_EQ(outcome("Pow", {i64({2}), f32({})}), "int64 [2]");
  EXPECT_EQ(outcome("Pow", {f32({2}), of(DType::kUInt8)}), "float32 [2]");
  EXPECT_EQ(outcome("Pow", {of(DType::kInt8), of(DType::kInt8)}),
            "the base is int8; the operator needs float32, float64, int32 or int64");
  EXPECT_EQ(outcome("Pow", {f32({2}), of(DType::kBool)}),
            "the exponent is bool; the operator needs numbers");
}

TEST(Logic, ShapesAndFaults) {
  EXPECT_EQ(outcome("Greater", {f32({2, 1}), f32({3})}), "bool [2, 3]");
  EXPECT_EQ(outcome("Equal", {f32({2}), i64({2})}),
            "the second input is int64, the first input is float32");
  EXPECT_EQ(outcome("IsNaN", {f32({2})}), "bool [2]");
  EXPECT_EQ(outcome("And", {of(DType::kBool, {2, 1}), of(DType::kBool, {3})}), "bool [2, 3]");
  EXPECT_EQ(outcome("Where", {of(DType::kBool, {3}), i64({2, 1}), i64({})}), "int64 [2, 3]");
  EXPECT_EQ(outcome("Where", {of(DType::kBool), of(DType::kBool), of(DType::kBool)}), "bool [2]");
  EXPECT_EQ(outcome("Where", {f32({2}), f32({2}), f32({2})}),
            "the condition is float32; the operator needs bool");
  EXPECT_EQ(outcome("Where", {of(DType::kBool), f32({2}), i64({2})}),
            "input 2 is int64, the second input is float32");
}

TEST(ElementwiseCosts, AreOneOperationAnElementAndOperand) {
  const TensorType x = f32({4, 3});
  EXPECT_EQ(cost(one_node("Gelu", {x})).flops, 12);
  EXPECT_EQ(cost(one_node("Sin", {x})).flops, 12);
  EXPECT_EQ(cost(one_node("Greater", {x, f32({2, 4, 3})})).flops, 24);
  EXPECT_EQ(cost(one_node("Clip", {x})).flops, 0);
  EXPECT_EQ(cost(one_node("Clip", {x, f32({})})).flops, 12);
  EXPECT_EQ(cost(one_node("Clip", {x, f32({}), f32({})})).flops, 24);
  EXPECT_EQ(cost(one_node("Max", {x, x, f32({})})).flops, 24);
  EXPECT_EQ(cost(one_node("Sum", {x})).flops, 0);
  EXPECT_EQ(cost(one_node("Mean", {x, x, x})).flops, 36);
  EXPECT_EQ(cost(one_node("Where", {of(DType::kBool, {3}), x, x})).flops, 0);
  EXPECT_EQ(cost(one_node("Not", {of(DType::kBool, {3})})).flops, 0);
}

}  // namespace
}  // namespace gradstone
