// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/operator_cases.h"

namespace gradstone::conformance {
namespace {

using Cases = std::vector<OperatorCase>;
using Integers = std::vector<std::int64_t>;

Attribute integer(std::int64_t value) { return value; }
Attribute text(const std::string& value) { return value; }

Cases elementwise_cases() {
  const Operand x = fed({3}, {-1, 0.5, 2});
  const Operand positive = fed({3}, {0.25, 1, 4});
  const double e = std::exp(1.0);
  return {
      {"relu", "Relu", {x}, {}, {3}, {0, 0.5, 2}},
      {"tanh", "Tanh", {x}, {}, {3}, {std::tanh(-1.0), std::tanh(0.5), std::tanh(2.0)}},
      {"sigmoid",
       "Sigmoid",
       {x},
       {},
       {3},
       {1 / (1 + e), 1 / (1 + std::exp(-0.5)), e * e / (e * e + 1)}},
      {"exp", "Exp", {x}, {}, {3}, {1 / e, std::sqrt(e), e * e}},
      {"log", "Log", {positive}, {}, {3}, {-2 * std::log(2.0), 0, 2 * std::log(2.0)}},
      {"sqrt", "Sqrt", {positive}, {}, {3}, {0.5, 1, 2}},
      {"reciprocal", "Reciprocal", {positive}, {}, {3}, {4, 1, 0.25}},
      {"neg", "Neg", {x}, {}, {3}, {1, -0.5, -2}},
      {"add", "Add", {x, fed({3}, {1, 2, 3})}, {}, {3}, {0, 2.5, 5}},
      {"add_broadcast",
       "Add",
       {fed({2, 1}, {10, 20}), fed({2}, {1, 2})},
       {},
       {2, 2},
       {11, 12, 21, 22}},
      {"add_channels",
       "Add",
       {fed({1, 2, 1, 2}, {1, 2, 3, 4}), fed({2, 1, 1}, {10, 20})},
       {},
       {1, 2, 1, 2},
       {11, 12, 23, 24}},
      {"sub", "Sub", {x, fed({1}, {1})}, {}, {3}, {-2, -0.5, 1}},
      {"sub_scalar_left", "Sub", {fed({}, {1}), x}, {}, {3}, {2, 0.5, -1}},
      {"mul", "Mul", {x, fed({3}, {2, 3, 4})}, {}, {3}, {-2, 1.5, 8}},
      {"div", "Div", {x, fed({3}, {2, 4, 8})}, {}, {3}, {-0.5, 0.125, 0.25}},
      {"pow", "Pow", {positive, fed({3}, {2, 3, 0.5})}, {}, {3}, {0.0625, 1, 2}},
      {"identity", "Identity", {x}, {}, {3}, {-1, 0.5, 2}},
      {"dropout_off", "Dropout", {x}, {}, {3}, {-1, 0.5, 2}},
  };
}

Cases convolution_cases() {
  const Operand image = fed({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Operand ones = fed({1, 1, 3, 3}, {1, 1, 1, 1, 1, 1, 1, 1, 1});
  return {
      {"conv",
       "Conv",
       {image, fed({1, 1, 2, 2}, {1, 1, 1, 1}), fed({1}, {10})},
       {},
       {1, 1, 2, 2},
       {22, 26, 34, 38}},
      {"conv_no_bias",
       "Conv",
       {image, fed({1, 1, 2, 2}, {1, 0, 0, -1})},
       {},
       {1, 1, 2, 2},
       {-4, -4, -4, -4}},
      {"conv_pads_strides",
       "Conv",
       {image, ones},
       {{"pads", Integers{1, 1, 1, 1}}, {"strides", Integers{2, 2}}},
       {1, 1, 2, 2},
       {12, 16, 24, 28}},
      {"conv_dilations",
       "Conv",
       {image, fed({1, 1, 2, 2}, {1, 10, 100, 1000})},
       {{"dilations", Integers{2, 2}}},
       {1, 1, 1, 1},
       {9731}},
      {"conv_groups",
       "Conv",
       {fed({1, 2, 1, 2}, {1, 2, 3, 4}), fed({2, 1, 1, 1}, {10, 100})},
       {{"group", integer(2)}},
       {1, 2, 1, 2},
       {10, 20, 300, 400}},
      {"conv_channels",
       "Conv",
       {fed({2, 2, 1, 1}, {3, 5, 1, 0}), fed({2, 2, 1, 1}, {1, 2, 3, 4}), fed({2}, {0, 100})},
       {},
       {2, 2, 1, 1},
       {13, 129, 1, 103}},
  };
}

Cases padded_convolution_cases() {
  const Operand row = fed({1, 1, 1, 4}, {1, 2, 3, 4});
  const Operand pair = fed({1, 1, 1, 2}, {1, 10});
  return {
      {"conv_unequal_pads",
       "Conv",
       {row, pair},
       {{"pads", Integers{0, 1, 0, 0}}},
       {1, 1, 1, 4},
       {10, 21, 32, 43}},
      {"conv_same_upper",
       "Conv",
       {row, pair},
       {{"auto_pad", text("SAME_UPPER")}},
       {1, 1, 1, 4},
       {21, 32, 43, 4}},
      {"conv_same_lower",
       "Conv",
       {row, pair},
       {{"auto_pad", text("SAME_LOWER")}},
       {1, 1, 1, 4},
       {10, 21, 32, 43}},
      {"conv_valid",
       "Conv",
       {row, pair},
       {{"auto_pad", text("VALID")}},
       {1, 1, 1, 3},
       {21, 32, 43}},
  };
}

Attributes window(Integers kernel, Attributes more) {
  more["kernel_shape"] = std::move(kernel);
  return more;
}

Cases max_pool_cases() {
  const Operand square = fed({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Attribute pads = Integers{0, 1, 0, 1}, by_two = Integers{1, 2};
  return {
      {"max_pool",
       "MaxPool",
       {fed({1, 1, 1, 4}, {1, 3, 2, 0})},
       window({1, 2}, {}),
       {1, 1, 1, 3},
       {3, 3, 2}},
      {"max_pool_strides",
       "MaxPool",
       {fed({1, 2, 2, 2}, {1, 2, 3, 4, 8, 7, 6, 5})},
       window({2, 2}, {{"strides", Integers{2, 2}}}),
       {1, 2, 1, 1},
       {4, 8}},
      {"max_pool_ceil",
       "MaxPool",
       {square},
       window({2, 2}, {{"strides", Integers{2, 2}}, {"ceil_mode", integer(1)}}),
       {1, 1, 2, 2},
       {5, 6, 8, 9}},
      {"max_pool_padding_is_no_zero",
       "MaxPool",
       {fed({1, 1, 1, 2}, {-1, -2})},
       window({1, 2}, {{"pads", pads}}),
       {1, 1, 1, 3},
       {-1, -1, -2}},
      {"max_pool_dilations",
       "MaxPool",
       {fed({1, 1, 1, 4}, {1, 5, 2, 3})},
       window({1, 2}, {{"dilations", by_two}}),
       {1, 1, 1, 2},
       {2, 5}},
      {"max_pool_same_upper",
       "MaxPool",
       {fed({1, 1, 1, 3}, {1, 3, 2})},
       window({1, 2}, {{"strides", by_two}, {"auto_pad", text("SAME_UPPER")}}),
       {1, 1, 1, 2},
       {3, 2}},
  };
}

Cases average_pool_cases() {
  const Operand row = fed({1, 1, 1, 4}, {2, 4, 6, 8});
  const Attribute pads = Integers{0, 1, 0, 1}, by_two = Integers{1, 2};
  return {
      {"average_pool",
       "AveragePool",
       {row},
       window({1, 2}, {{"pads", pads}}),
       {1, 1, 1, 5},
       {2, 3, 5, 7, 8}},
      {"average_pool_include_pad",
       "AveragePool",
       {row},
       window({1, 2}, {{"pads", pads}, {"count_include_pad", integer(1)}}),
       {1, 1, 1, 5},
       {1, 3, 5, 7, 4}},
      {"average_pool_ceil",
       "AveragePool",
       {row},
       window({1, 3}, {{"strides", by_two}, {"ceil_mode", integer(1)}}),
       {1, 1, 1, 2},
       {4, 7}},
      {"average_pool_ceil_pads",
       "AveragePool",
       {row},
       window({1, 3}, {{"strides", by_two}, {"pads", pads}, {"ceil_mode", integer(1)}}),
       {1, 1, 1, 3},
       {3, 6, 8}},
      // The last window holds 8, one padding and one place beyond it: 8 / 2.
      {"average_pool_ceil_include_pad",
       "AveragePool",
       {row},
       window({1, 3}, {{"strides", by_two},
                       {"pads", pads},
                       {"ceil_mode", integer(1)},
                       {"count_include_pad", integer(1)}}),
       {1, 1, 1, 3},
       {2, 6, 4}},
      {"average_pool_same_upper",
       "AveragePool",
       {fed({1, 1, 1, 3}, {1, 3, 2})},
       window({1, 2}, {{"strides", by_two}, {"auto_pad", text("SAME_UPPER")}}),
       {1, 1, 1, 2},
       {2, 2}},
      {"global_average_pool",
       "GlobalAveragePool",
       {fed({1, 2, 1, 2}, {1, 3, 5, 9})},
       {},
       {1, 2, 1, 1},
       {2, 7}},
  };
}

Cases normalization_cases() {
  const Operand channels = fed({1, 3, 1, 1}, {1, 2, 3});
  const auto lrn = [](std::int64_t size, double alpha) {
    return Attributes{{"size", size}, {"alpha", alpha}, {"beta", 1.0}, {"bias", 1.0}};
  };
  return {
      {"batch_norm_inference",
       "BatchNormalization",
       {fed({2, 1, 1, 2}, {3, 4, 5, 6}), fed({1}, {2}), fed({1}, {1}), fixed({1}, {3}),
        fixed({1}, {3})},
       {{"epsilon", 1.0}},
       {2, 1, 1, 2},
       {1, 2, 3, 4}},
      {"lrn_odd", "LRN", {channels}, lrn(3, 3), {1, 3, 1, 1}, {1.0 / 6, 2.0 / 15, 3.0 / 14}},
      // An even window reaches one further behind than before: channels c and c + 1.
      {"lrn_even", "LRN", {channels}, lrn(2, 2), {1, 3, 1, 1}, {1.0 / 6, 2.0 / 14, 3.0 / 10}},
  };
}

Cases matrix_cases() {
  const Operand a = fed({2, 2}, {1, 2, 3, 4}), b = fed({2, 2}, {5, 6, 7, 8});
  return {
      {"gemm", "Gemm", {a, b}, {}, {2, 2}, {19, 22, 43, 50}},
      {"gemm_scaled",
       "Gemm",
       {a, b, fed({2}, {1, 10})},
       {{"alpha", 2.0}, {"beta", 3.0}},
       {2, 2},
       {41, 74, 89, 130}},
      {"gemm_bias_column", "Gemm", {a, b, fed({2, 1}, {1, 10})}, {}, {2, 2}, {20, 23, 53, 60}},
      {"gemm_trans_a", "Gemm", {a, b}, {{"transA", integer(1)}}, {2, 2}, {26, 30, 38, 44}},
      {"gemm_trans_b", "Gemm", {a, b}, {{"transB", integer(1)}}, {2, 2}, {17, 23, 39, 53}},
      {"matmul", "MatMul", {fed({1, 2}, {1, 2}), a}, {}, {1, 2}, {7, 10}},
      {"matmul_batches",
       "MatMul",
       {fed({2, 1, 2}, {1, 2, 3, 4}), fed({2, 1}, {10, 100})},
       {},
       {2, 1, 1},
       {210, 430}},
      {"matmul_vectors", "MatMul", {fed({2}, {1, 2}), fed({2}, {3, 4})}, {}, {}, {11}},
  };
}

Cases movement_cases() {
  const Operand x = fed({2, 3}, {1, 2, 3, 4, 5, 6});
  return {
      {"reshape", "Reshape", {x, constant_integers({3, -1})}, {}, {3, 2}, {1, 2, 3, 4, 5, 6}},
      {"flatten", "Flatten", {fed({1, 2, 1, 2}, {1, 2, 3, 4})}, {}, {1, 4}, {1, 2, 3, 4}},
      {"transpose", "Transpose", {x}, {}, {3, 2}, {1, 4, 2, 5, 3, 6}},
      {"transpose_permuted",
       "Transpose",
       {fed({1, 2, 3}, {1, 2, 3, 4, 5, 6})},
       {{"perm", Integers{2, 0, 1}}},
       {3, 1, 2},
       {1, 4, 2, 5, 3, 6}},
      {"concat",
       "Concat",
       {fed({2, 1}, {1, 2}), fed({2, 2}, {3, 4, 5, 6})},
       {{"axis", integer(-1)}},
       {2, 3},
       {1, 3, 4, 2, 5, 6}},
      {"expand",
       "Expand",
       {fed({2, 1}, {1, 2}), constant_integers({2, 2, 2})},
       {},
       {2, 2, 2},
       {1, 1, 2, 2, 1, 1, 2, 2}},
      {"slice",
       "Slice",
       {x, constant_integers({1}), constant_integers({3}), constant_integers({1})},
       {},
       {2, 2},
       {2, 3, 5, 6}},
      {"slice_backwards",
       "Slice",
       {x, constant_integers({-1}), constant_integers({-10}), constant_integers({1}),
        constant_integers({-2})},
       {},
       {2, 2},
       {3, 1, 6, 4}},
      {"pad",
       "Pad",
       {fed({1, 2}, {1, 2}), constant_integers({0, 1, 1, 0}), constant_number(9)},
       {},
       {2, 3},
       {9, 1, 2, 9, 9, 9}},
      {"gather_rows",
       "Gather",
       {x, indices({3}, {1, 0, 1})},
       {},
       {3, 3},
       {4, 5, 6, 1, 2, 3, 4, 5, 6}},
      {"gather_columns_negative",
       "Gather",
       {x, indices({2}, {-1, 0})},
       {{"axis", integer(1)}},
       {2, 2},
       {3, 1, 6, 4}},
  };
}

Cases reduction_cases() {
  const Operand x = fed({2, 2}, {1, 2, 3, 5});
  const double two = std::log(2.0), three = std::log(3.0);
  return {
      {"reduce_mean", "ReduceMean", {x}, {{"keepdims", integer(0)}}, {}, {2.75}},
      {"reduce_mean_axis", "ReduceMean", {x}, {{"axes", Integers{0}}}, {1, 2}, {2, 3.5}},
      {"reduce_sum_axis",
       "ReduceSum",
       {x, constant_integers({-1})},
       {{"keepdims", integer(0)}},
       {2},
       {3, 8}},
      {"softmax",
       "Softmax",
       {fed({2, 2}, {0, two, three, 0})},
       {},
       {2, 2},
       {1.0 / 3, 2.0 / 3, 0.75, 0.25}},
      {"softmax_axis",
       "Softmax",
       {fed({2, 2}, {0, two, three, 0})},
       {{"axis", integer(0)}},
       {2, 2},
       {0.25, 2.0 / 3, 0.75, 1.0 / 3}},
      {"softmax_large",
       "Softmax",
       {fed({1, 2}, {1000, 1000 + two})},
       {},
       {1, 2},
       {1.0 / 3, 2.0 / 3}},
      {"log_softmax", "LogSoftmax", {fed({1, 2}, {0, two})}, {}, {1, 2}, {-three, two - three}},
  };
}

// Scores whose softmax is 1/3, 2/3 and 3/4, 1/4.
Cases loss_cases() {
  const double two = std::log(2.0), three = std::log(3.0), four = std::log(4.0);
  const Operand scores = fed({2, 2}, {0, two, three, 0});
  const Operand logs = fed({2, 2}, {-three, two - three, three - four, -four});
  const Operand labels = indices({2}, {1, 0}), weights = fixed({2}, {3, 1});
  const double first = three - two, second = four - three;  // losses of the two samples
  const Attribute none = text("none"), sum = text("sum");
  return {
      {"cross_entropy",
       "SoftmaxCrossEntropyLoss",
       {scores, labels},
       {},
       {},
       {(first + second) / 2}},
      {"cross_entropy_sum",
       "SoftmaxCrossEntropyLoss",
       {scores, labels},
       {{"reduction", sum}},
       {},
       {first + second}},
      {"cross_entropy_none",
       "SoftmaxCrossEntropyLoss",
       {scores, labels},
       {{"reduction", none}},
       {2},
       {first, second}},
      {"cross_entropy_weights",
       "SoftmaxCrossEntropyLoss",
       {scores, labels, weights},
       {},
       {},
       {(first + 3 * second) / 4}},
      {"cross_entropy_ignore",
       "SoftmaxCrossEntropyLoss",
       {scores, labels},
       {{"ignore_index", integer(1)}},
       {},
       {second}},
      // Two positions of one sample: classes stand on axis 1.
      {"cross_entropy_positions",
       "SoftmaxCrossEntropyLoss",
       {fed({1, 2, 2}, {0, three, two, 0}), indices({1, 2}, {1, 0})},
       {},
       {},
       {(first + second) / 2}},
      {"negative_log_likelihood",
       "NegativeLogLikelihoodLoss",
       {logs, labels},
       {},
       {},
       {(first + second) / 2}},
      {"negative_log_likelihood_weights_sum",
       "NegativeLogLikelihoodLoss",
       {logs, labels, weights},
       {{"reduction", sum}},
       {},
       {first + 3 * second}},
  };
}

}  // namespace

std::vector<OperatorCase> operator_cases() {
  Cases all;
  for (const auto part : {elementwise_cases, convolution_cases, padded_convolution_cases,
                          max_pool_cases, average_pool_cases, normalization_cases, matrix_cases,
                          movement_cases, reduction_cases, loss_cases}) {
    for (OperatorCase& c : part()) all.push_back(std::move(c));
  }
  return all;
}

}  // namespace gradstone::conformance
