// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "graph/one_node.h"
#include "graph/onnx_dtype.h"
#include "graph/op_table.h"

namespace gradstone {
namespace {

using namespace testing;
constexpr std::int64_t kOn = 1;
constexpr std::int64_t kOff = 0;

TEST(OpTable, RowsAreWholeAndUnique) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const OpDef& row : op_table()) {
    EXPECT_TRUE(seen.emplace(row.domain, row.name).second) << row.name;
    EXPECT_NE(row.infer, nullptr) << row.name;
    EXPECT_FALSE(row.summary.empty()) << row.name;
    EXPECT_EQ(find_op(row.domain, row.name), &row);
    EXPECT_TRUE(row.flops != nullptr || !row.multiply_adds) << row.name;
  }
  EXPECT_EQ(find_op("", "Conv3"), nullptr);
  EXPECT_EQ(find_op("gradstone", "Conv"), nullptr);
}

TEST(Conv, ShapesInOneToThreeDimensions) {
  EXPECT_EQ(outcome("Conv", {f32({2, 3, 10}), f32({4, 3, 3})}), "float32 [2, 4, 8]");
  EXPECT_EQ(outcome("Conv", {f32({2, 3, 224, 224}), f32({64, 3, 7, 7}), f32({64})},
                    {{"strides", Ints{2, 2}}, {"pads", Ints{3, 3, 3, 3}}}),
            "float32 [2, 64, 112, 112]");
  EXPECT_EQ(
      outcome("Conv", {f32({1, 2, 5, 6, 7}), f32({4, 1, 1, 2, 3})}, {{"group", std::int64_t{2}}}),
      "float32 [1, 4, 5, 5, 5]");
  EXPECT_EQ(outcome("Conv", {f32({1, 2, 9, 9}), f32({2, 2, 3, 3})},
                    {{"auto_pad", "SAME_LOWER"}, {"strides", Ints{2, 3}}}),
            "float32 [1, 2, 5, 3]");
}

TEST(Conv, Faults) {
  const TensorType image = f32({1, 1, 28, 28});
  EXPECT_EQ(outcome("Conv", {image, f32({4, 3, 5, 5})}),
            "weight has 3 input channels, the input has 1");
  EXPECT_EQ(outcome("Conv", {f32({1, 6, 8, 8}), f32({4, 6, 3, 3})}, {{"group", std::int64_t{2}}}),
            "weight has 6 input channels a group, 2 groups of the input have 3");
  EXPECT_EQ(outcome("Conv", {f32({1, 6, 8, 8}), f32({5, 3, 3, 3})}, {{"group", std::int64_t{2}}}),
            "group = 2 does not divide 6 input and 5 output channels");
  EXPECT_EQ(outcome("Conv", {image, f32({4, 1, 5, 5})}, {{"group", std::int64_t{0}}}),
            "group = 0 does not divide 1 input and 4 output channels");
  EXPECT_EQ(outcome("Conv", {image, f32({4, 1, 5})}),
            "weight has shape [4, 1, 5]; expected rank 4");
  EXPECT_EQ(outcome("Conv", {image, f32({4, 1, 5, 5}), f32({3})}),
            "bias has shape [3]; expected [4]");
  EXPECT_EQ(outcome("Conv", {image, f32({4, 1, 5, 5})}, {{"kernel_shape", Ints{3, 3}}}),
            "kernel_shape [3, 3] is not the weight's [5, 5]");
  EXPECT_EQ(outcome("Conv", {f32({1, 1, 4, 4}), f32({4, 1, 5, 5})}),
            "window of 5 along spatial axis 0 is larger than the padded input of 4");
  EXPECT_EQ(outcome("Conv", {f32({3, 4}), f32({4, 4})}),
            "the input has shape [3, 4]; expected [batch, channels, 1 to 3 spatial axes]");
  EXPECT_EQ(outcome("Conv", {image, TensorType{DType::kFloat64, {4, 1, 5, 5}}}),
            "weight is float64, the first input is float32");
  EXPECT_EQ(outcome("Conv", {i64({1, 1, 8, 8}), i64({4, 1, 5, 5})}),
            "the input is int64; the operator needs float32 or float64");
}

TEST(Pooling, Shapes) {
  const TensorType image = f32({2, 3, 8, 7});
  EXPECT_EQ(outcome("MaxPool", {image}, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}),
            "float32 [2, 3, 4, 3]");
  EXPECT_EQ(outcome("MaxPool", {image}, {{"kernel_shape", Ints{2, 2}}}), "float32 [2, 3, 7, 6]");
  EXPECT_EQ(outcome("MaxPool", {image},
                    {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", kOn}}),
            "float32 [2, 3, 4, 4]");
  EXPECT_EQ(outcome("MaxPool", {image}, {{"kernel_shape", Ints{3, 3}}, {"dilations", Ints{2, 3}}}),
            "float32 [2, 3, 4, 1]");
  EXPECT_EQ(outcome("AveragePool", {image},
                    {{"kernel_shape", Ints{3, 3}},
                     {"strides", Ints{2, 2}},
                     {"auto_pad", "SAME_UPPER"},
                     {"count_include_pad", kOn}}),
            "float32 [2, 3, 4, 4]");
  EXPECT_EQ(outcome("GlobalAveragePool", {image}), "float32 [2, 3, 1, 1]");
}

TEST(Pooling, Faults) {
  const TensorType image = f32({2, 3, 8, 8});
  EXPECT_EQ(outcome("MaxPool", {image}), "attribute 'kernel_shape' is missing");
  EXPECT_EQ(outcome("MaxPool", {image}, {{"kernel_shape", Ints{2, 2}}}, 2),
            "output Indices is not supported, since frameworks number places differently; use Y "
            "only");
  EXPECT_EQ(outcome("MaxPool", {image}, {{"kernel_shape", Ints{2}}}),
            "kernel [2] does not fit spatial extents [8, 8]");
  EXPECT_EQ(
      outcome("AveragePool", {image}, {{"kernel_shape", Ints{2, 2}}, {"dilations", Ints{1, 1}}}),
      "unknown attribute 'dilations'");
}

TEST(BatchNormalization, Shapes) {
  const TensorType image = f32({2, 3, 4, 4});
  const TensorType channel = f32({3});
  const std::vector<TestInput> inputs = {image, channel, channel, channel, channel};
  EXPECT_EQ(outcome("BatchNormalization", inputs), "float32 [2, 3, 4, 4]");
  EXPECT_EQ(outcome("BatchNormalization", inputs, {{"training_mode", kOn}}, 3),
            "float32 [2, 3, 4, 4], float32 [3], float32 [3]");
  EXPECT_EQ(outcome("BatchNormalization", inputs, {}, 3),
            "running statistics are outputs only with training_mode = 1");
  EXPECT_EQ(outcome("BatchNormalization", inputs, {{"running_variance", "samples"}}),
            "attribute 'running_variance' has no choice 'samples'; did you mean 'sample'?");
  EXPECT_EQ(outcome("BatchNormalization", {image, channel, f32({4}), channel, channel}),
            "bias has shape [4]; expected [3]");
}

TEST(Normalization, LrnAndDropout) {
  const TensorType image = f32({2, 3, 4, 4});
  EXPECT_EQ(outcome("LRN", {image}, {{"size", std::int64_t{5}}}), "float32 [2, 3, 4, 4]");
  EXPECT_EQ(outcome("LRN", {image}, {{"size", std::int64_t{0}}}), "size = 0; expected 1 or more");
  EXPECT_EQ(outcome("Dropout", {image}, {}, 2), "float32 [2, 3, 4, 4], bool [2, 3, 4, 4]");
  EXPECT_EQ(outcome("Dropout", {image, Tensor::scalar(1.0F)}),
            "ratio is 1.000000; expected [0, 1)");
  EXPECT_EQ(outcome("Dropout", {image, f32({})}), "ratio is not a constant; make it one");
  EXPECT_EQ(outcome("Dropout", {image, {}, Tensor::scalar(std::int64_t{1})}),
            "training_mode is not bool");
}

TEST(Elementwise, BroadcastsLikeNumpy) {
  EXPECT_EQ(outcome("Add", {f32({2, 3}), f32({2, 3})}), "float32 [2, 3]");
  EXPECT_EQ(outcome("Sub", {f32({4, 1, 3}), f32({2, 1})}), "float32 [4, 2, 3]");
  EXPECT_EQ(outcome("Mul", {f32({}), f32({2, 3})}), "float32 [2, 3]");
  EXPECT_EQ(outcome("Div", {f32({3}), f32({5, 1})}), "float32 [5, 3]");
  EXPECT_EQ(outcome("Pow", {f32({2}), f32({})}), "float32 [2]");
  EXPECT_EQ(outcome("Add", {i64({2}), i64({1})}), "int64 [2]");
  EXPECT_EQ(outcome("Add", {f32({2, 3}), f32({2})}),
            "shapes [2, 3] and [2] do not broadcast: extents 3 and 2");
  EXPECT_EQ(outcome("Add", {f32({2}), i64({2})}),
            "the second input is int64, the first input is float32");
  EXPECT_EQ(outcome("Mul", {TensorType{DType::kBool, {2}}, TensorType{DType::kBool, {2}}}),
            "the input is bool; the operator needs numbers");
}

TEST(Elementwise, KeepsTheType) {
  for (const char* op : {"Relu", "Tanh", "Sigmoid", "Exp", "Log", "Sqrt", "Reciprocal", "Neg"}) {
    EXPECT_EQ(outcome(op, {f32({2, 3})}), "float32 [2, 3]") << op;
  }
  EXPECT_EQ(outcome("Neg", {i64({2})}), "int64 [2]");
  EXPECT_EQ(outcome("Tanh", {i64({2})}),
            "the input is int64; the operator needs float32 or float64");
}

TEST(Elementwise, CastNamesTheTypeByOnnxNumber) {
  const std::map<DType, std::int64_t> codes = {
      {DType::kFloat32, 1}, {DType::kUInt8, 2}, {DType::kInt8, 3},    {DType::kInt32, 6},
      {DType::kInt64, 7},   {DType::kBool, 9},  {DType::kFloat64, 11}};
  for (const auto& [dtype, code] : codes) {
    EXPECT_EQ(onnx_code(dtype), code);
    EXPECT_EQ(outcome("Cast", {f32({2})}, {{"to", code}}), std::string(name_of(dtype)) + " [2]");
  }
  EXPECT_EQ(outcome("Cast", {f32({2})}, {{"to", std::int64_t{10}}}),
            "to = 10 is no element type known here");
  EXPECT_EQ(outcome("Cast", {f32({2})}), "attribute 'to' is missing");
}

TEST(Matrix, Gemm) {
  EXPECT_EQ(outcome("Gemm", {f32({2, 3}), f32({3, 4})}), "float32 [2, 4]");
  EXPECT_EQ(
      outcome("Gemm", {f32({3, 2}), f32({4, 3}), f32({4})}, {{"transA", kOn}, {"transB", kOn}}),
      "float32 [2, 4]");
  EXPECT_EQ(outcome("Gemm", {f32({2, 3}), f32({3, 4}), f32({2, 1})}), "float32 [2, 4]");
  EXPECT_EQ(outcome("Gemm", {f32({2, 3}), f32({3, 4}), f32({2})}),
            "C has shape [2], which does not broadcast to [2, 4]");
  EXPECT_EQ(outcome("Gemm", {f32({1, 3}), f32({3, 4}), f32({2, 4})}),
            "C has shape [2, 4], which does not broadcast to [1, 4]");
  EXPECT_EQ(outcome("Gemm", {f32({2, 3}), f32({3, 4})}, {{"transB", kOn}}),
            "A [2, 3] has 3 columns, B [3, 4] (transposed) has 4 rows");
  EXPECT_EQ(outcome("Gemm", {f32({2, 3, 1}), f32({3, 4})}),
            "A has shape [2, 3, 1]; expected rank 2");
}

TEST(Matrix, MatMulBroadcastsTheBatch) {
  EXPECT_EQ(outcome("MatMul", {f32({2, 3}), f32({3, 4})}), "float32 [2, 4]");
  EXPECT_EQ(outcome("MatMul", {f32({5, 1, 2, 3}), f32({6, 3, 4})}), "float32 [5, 6, 2, 4]");
  EXPECT_EQ(outcome("MatMul", {f32({3}), f32({5, 3, 4})}), "float32 [5, 4]");
  EXPECT_EQ(outcome("MatMul", {f32({5, 2, 3}), f32({3})}), "float32 [5, 2]");
  EXPECT_EQ(outcome("MatMul", {f32({3}), f32({3})}), "float32 []");
  EXPECT_EQ(outcome("MatMul", {f32({2, 3}), f32({4, 3})}),
            "A [2, 3] has 3 columns, B [4, 3] has 4 rows");
  EXPECT_EQ(outcome("MatMul", {f32({}), f32({3})}), "a scalar is no matrix; use Mul");
}

TEST(Layout, Reshape) {
  const TensorType input = f32({2, 3, 4});
  EXPECT_EQ(outcome("Reshape", {input, list({6, 4})}), "float32 [6, 4]");
  EXPECT_EQ(outcome("Reshape", {input, list({0, -1})}), "float32 [2, 12]");
  EXPECT_EQ(outcome("Reshape", {input, list({-1, 1, 0})}), "float32 [6, 1, 4]");
  EXPECT_EQ(outcome("Reshape", {f32({1, 1}), list({})}), "float32 []");
  EXPECT_EQ(outcome("Reshape", {input, list({5, -1})}),
            "input [2, 3, 4] has 24 elements, which do not fit shape [5, -1]");
  EXPECT_EQ(outcome("Reshape", {input, list({-1, -1})}),
            "shape [-1, -1]; expected extents and at most one -1");
  EXPECT_EQ(outcome("Reshape", {input, list({2, 3, 4, 0})}),
            "0 at place 3 copies an extent that input [2, 3, 4] does not have");
  EXPECT_EQ(outcome("Reshape", {input, list({0, 24})}, {{"allowzero", kOn}}),
            "input [2, 3, 4] has 24 elements, which do not fit shape [0, 24]");
  EXPECT_EQ(outcome("Reshape", {input, list({INT64_MAX, INT64_MAX})}),
            "shape [9223372036854775807, 9223372036854775807] has more than 2^40 elements");
  EXPECT_EQ(outcome("Reshape", {input, i64({2})}),
            "shape is not a constant; shapes are static, make it one");
}

TEST(Layout, FlattenTransposeConcatExpand) {
  const TensorType input = f32({2, 3, 4});
  EXPECT_EQ(outcome("Flatten", {input}), "float32 [2, 12]");
  EXPECT_EQ(outcome("Flatten", {input}, {{"axis", kOff}}), "float32 [1, 24]");
  EXPECT_EQ(outcome("Flatten", {input}, {{"axis", std::int64_t{3}}}), "float32 [24, 1]");
  EXPECT_EQ(outcome("Flatten", {input}, {{"axis", std::int64_t{-1}}}), "float32 [6, 4]");
  EXPECT_EQ(outcome("Flatten", {input}, {{"axis", std::int64_t{4}}}),
            "axis 4 is outside a tensor of rank 3");
  EXPECT_EQ(outcome("Transpose", {input}), "float32 [4, 3, 2]");
  EXPECT_EQ(outcome("Transpose", {input}, {{"perm", Ints{1, 2, 0}}}), "float32 [3, 4, 2]");
  EXPECT_EQ(outcome("Transpose", {input}, {{"perm", Ints{1, 1, 0}}}),
            "perm [1, 1, 0] is no order of the 3 axes of the input");
  EXPECT_EQ(outcome("Transpose", {input}, {{"perm", Ints{1, 0}}}),
            "perm [1, 0] is no order of the 3 axes of the input");
  EXPECT_EQ(outcome("Concat", {input, f32({2, 5, 4}), input}, {{"axis", std::int64_t{-2}}}),
            "float32 [2, 11, 4]");
  EXPECT_EQ(outcome("Concat", {input, f32({2, 5, 3})}, {{"axis", kOn}}),
            "input 1 has shape [2, 5, 3], the first has [2, 3, 4]; they may differ along axis 1 "
            "only");
  EXPECT_EQ(outcome("Concat", {input, f32({2, 5})}, {{"axis", kOn}}),
            "input 1 has shape [2, 5], the first has [2, 3, 4]; they may differ along axis 1 only");
  EXPECT_EQ(outcome("Expand", {f32({3, 1}), list({2, 1, 4})}), "float32 [2, 3, 4]");
  EXPECT_EQ(outcome("Expand", {f32({1}), list({-1})}), "shape [-1] has a negative extent");
  EXPECT_EQ(outcome("Identity", {i64({})}), "int64 []");
}

TEST(Slicing, Gather) {
  EXPECT_EQ(outcome("Gather", {f32({10, 4}), i64({2, 3})}), "float32 [2, 3, 4]");
  EXPECT_EQ(outcome("Gather", {f32({10, 4}), i64({})}, {{"axis", std::int64_t{-1}}}),
            "float32 [10]");
  EXPECT_EQ(outcome("Gather", {f32({10, 4}), f32({2})}),
            "indices is float32; expected int32 or int64");
  EXPECT_EQ(outcome("Gather", {f32({}), i64({2})}), "axis 0 is outside a tensor of rank 0");
}

TEST(Slicing, SliceClampsAndCountsFromTheEnd) {
  const TensorType input = f32({10, 6});
  const auto slice = [&](Ints starts, Ints ends, Ints axes, Ints steps) {
    return outcome("Slice", {input, list(starts), list(ends), list(axes), list(steps)});
  };
  EXPECT_EQ(outcome("Slice", {input, list({1, 2}), list({4, 100})}), "float32 [3, 4]");
  EXPECT_EQ(slice({-3}, {INT64_MAX}, {0}, {1}), "float32 [3, 6]");
  EXPECT_EQ(slice({0}, {-1}, {-1}, {2}), "float32 [10, 3]");  // 0, 2, 4
  EXPECT_EQ(slice({1}, {10}, {0}, {4}), "float32 [3, 6]");    // 1, 5, 9
  EXPECT_EQ(slice({-1}, {INT64_MIN}, {0}, {-1}), "float32 [10, 6]");
  EXPECT_EQ(slice({8}, {1}, {0}, {-3}), "float32 [3, 6]");  // 8, 5, 2
  EXPECT_EQ(slice({9}, {INT64_MIN}, {0}, {INT64_MIN}), "float32 [1, 6]");
  EXPECT_EQ(slice({4}, {4}, {0}, {1}), "the output would have shape [0, 6], which holds nothing");
  EXPECT_EQ(slice({0}, {4}, {0}, {0}), "a step is 0");
  EXPECT_EQ(slice({0, 0}, {4, 4}, {0, -2}, {1, 1}), "axis 0 is named twice");
  EXPECT_EQ(slice({0, 1}, {4}, {0}, {1}), "starts, ends, axes and steps differ in length");
}

TEST(Slicing, Pad) {
  EXPECT_EQ(outcome("Pad", {f32({2, 3}), list({1, 0, 2, 4})}), "float32 [5, 7]");
  EXPECT_EQ(outcome("Pad", {f32({2, 3}), list({1, 0, 2, 4}), Tensor::scalar(1.5F)}),
            "float32 [5, 7]");
  EXPECT_EQ(outcome("Pad", {f32({2, 3}), list({1, 2})}), "pads has 2 items; expected 4");
}

TEST(Reduction, AxesAndDimensions) {
  const TensorType input = f32({2, 3, 4});
  EXPECT_EQ(outcome("ReduceMean", {input}), "float32 [1, 1, 1]");
  EXPECT_EQ(outcome("ReduceMean", {input}, {{"keepdims", kOff}}), "float32 []");
  EXPECT_EQ(outcome("ReduceMean", {input}, {{"axes", Ints{-1, 0}}}), "float32 [1, 3, 1]");
  EXPECT_EQ(outcome("ReduceMean", {input}, {{"axes", Ints{1, -2}}}), "axis 1 is named twice");
  EXPECT_EQ(outcome("ReduceSum", {input, list({-2})}, {{"keepdims", kOff}}), "float32 [2, 4]");
  EXPECT_EQ(outcome("ReduceSum", {input}, {{"noop_with_empty_axes", kOn}}), "float32 [2, 3, 4]");
  EXPECT_EQ(outcome("ReduceSum", {input, list({})}), "float32 [1, 1, 1]");
  EXPECT_EQ(outcome("ReduceSum", {input, list({3})}), "axis 3 is outside a tensor of rank 3");
}

TEST(Reduction, Softmax) {
  EXPECT_EQ(outcome("Softmax", {f32({2, 3})}), "float32 [2, 3]");
  EXPECT_EQ(outcome("LogSoftmax", {f32({2, 3})}, {{"axis", kOff}}), "float32 [2, 3]");
  EXPECT_EQ(outcome("Softmax", {f32({2, 3})}, {{"axis", std::int64_t{2}}}),
            "axis 2 is outside a tensor of rank 2");
}

TEST(Loss, Shapes) {
  const TensorType scores = f32({4, 10});
  const TensorType labels32 = {DType::kInt32, {4}};
  for (const char* op : {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}) {
    EXPECT_EQ(outcome(op, {scores, i64({4})}), "float32 []");
    EXPECT_EQ(outcome(op, {scores, labels32, f32({10})}, {{"reduction", "none"}}), "float32 [4]");
    EXPECT_EQ(outcome(op, {f32({4, 10, 3, 2}), i64({4, 3, 2})},
                      {{"reduction", "sum"}, {"ignore_index", std::int64_t{-1}}}),
              "float32 []");
    EXPECT_EQ(outcome(op, {scores, i64({4, 10})}), "the labels have shape [4, 10]; expected [4]");
    EXPECT_EQ(outcome(op, {scores, f32({4})}),
              "the label input is float32; expected int32 or int64");
    EXPECT_EQ(outcome(op, {scores, i64({4}), f32({9})}),
              "the class weights have shape [9]; expected [10]");
    EXPECT_EQ(outcome(op, {scores, i64({4})}, {{"reduction", "avg"}}),
              "attribute 'reduction' has no choice 'avg'");
  }
  EXPECT_EQ(outcome("SoftmaxCrossEntropyLoss", {scores, i64({4})}, {}, 2),
            "float32 [], float32 [4, 10]");
}

}  // namespace
}  // namespace gradstone
