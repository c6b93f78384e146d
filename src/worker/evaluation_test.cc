// SPDX-License-Identifier: Apache-2.0
#include "worker/evaluation.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/tensor.h"

namespace gradstone {
namespace {

TEST(Evaluation, LossIsSoftmaxCrossEntropyOfTheValidRows) {
  const std::vector<double> values = {0,    0, 0, 0,     // uniform
                                      1000, 0, 0, 1000,  // would overflow
                                      -1,   2, 5, 0,     //
                                      9,    9, 9, 9};    // padding
  const Tensor logits = Tensor::of<double>({4, 4}, values);
  const std::vector<std::int64_t> labels = {0, 3, 2, 3};
  EvaluationSums sums;
  add_batch(logits.ref(), labels, 3, sums);
  EXPECT_EQ(sums.right, 2);  // of equal logits the first is the answer
  const double third = std::log(std::exp(-6) + std::exp(-3) + 1 + std::exp(-5));
  EXPECT_NEAR(sums.loss, std::log(4) + std::log(2) + third, 1e-12);
}

}  // namespace
}  // namespace gradstone
