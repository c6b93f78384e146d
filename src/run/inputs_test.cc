// SPDX-License-Identifier: Apache-2.0
#include "run/inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/files.h"
#include "run/test_workload.h"

namespace gradstone {
namespace {

class InputsTest : public testing::Test {
 protected:
  Status data(const std::string& reference, std::int64_t batch = 4) {
    RunSpec spec;
    spec.workload = "tiny";
    spec.data = reference;
    spec.batch = batch;
    return check_data(resolved(spec, workload), workload);
  }
  TensorFile file(const std::vector<std::pair<std::string, TensorRef>>& tensors) {
    EXPECT_TRUE(write_tensor_file(folder.file("w"), tensors).ok());
    return TensorFile::open(folder.file("w")).value();
  }
  TemporaryFolder folder = TemporaryFolder::create().value();
  Workload workload = tiny_workload();
  Graph graph = tiny_graph(4);
  std::vector<float> numbers = std::vector<float>(48, 0.25f);
};

TEST_F(InputsTest, DataMustFitTheNetwork) {
  EXPECT_TRUE(data("synthetic:train=32").ok());
  EXPECT_EQ(data("synthetic:shape=1x8x8").error().message,
            "workload tiny: data synthetic:shape=1x8x8: images are [1, 8, 8] after preprocessing, "
            "the network takes [4, 1, 4, 4]; choose other data or another size");
  EXPECT_EQ(data("synthetic:shape=1x8x8").error().kind, ErrorKind::kUsage);
  EXPECT_EQ(data("synthetic:classes=4").error().kind, ErrorKind::kUsage);
  EXPECT_EQ(data("synthetic:train=3").error().kind, ErrorKind::kUsage);
  EXPECT_EQ(data("synthetic:train=9223372036854775807").error().message,
            "data synthetic: train: '9223372036854775807' is too large; the most is 4294967295");
  EXPECT_EQ(data("mnist:/nowhere").error().kind, ErrorKind::kUnreadable);
}

TEST_F(InputsTest, WeightsMustFitAndBeFinite) {
  const auto bias = std::span(numbers).first(3);
  const Tensor whole = Tensor::of<float>({3, 16}, numbers), three = Tensor::of<float>({3}, bias);
  const TensorFile good = file({{"weight", whole.ref()}, {"bias", three.ref()}});
  EXPECT_TRUE(check_weights_fit(graph, good).ok());
  EXPECT_TRUE(check_weights_finite(graph, good).ok());
  EXPECT_EQ(check_weights_fit(graph, file({{"bias", three.ref()}})).error().message,
            "it has no weight 'weight'");
  const Tensor integers = Tensor::of<std::int32_t>({3}, std::vector<std::int32_t>{1, 2, 3});
  EXPECT_EQ(check_weights_fit(graph, file({{"weight", whole.ref()}, {"bias", integers.ref()}}))
                .error()
                .message,
            "weight 'bias' is int32 [3], the network needs float32 [3]");
  numbers[1] = std::nanf("");
  const Tensor bad = Tensor::of<float>({3}, std::span(numbers).first(3));
  const Status finite =
      check_weights_finite(graph, file({{"weight", whole.ref()}, {"bias", bad.ref()}}));
  EXPECT_EQ(finite.error().message, "weight 'bias': element 1 is nan, not a finite number");
  EXPECT_EQ(finite.error().kind, ErrorKind::kUnreadable);
  const std::vector<double> infinite = {0, 1, std::numeric_limits<double>::infinity()};
  const Tensor wide = Tensor::of<double>({3}, infinite);
  EXPECT_EQ(check_weights_finite(graph, file({{"weight", whole.ref()}, {"bias", wide.ref()}}))
                .error()
                .message,
            "weight 'bias': element 2 is inf, not a finite number");
}

TEST_F(InputsTest, WhatBelongsToNoWeightIsNamed) {
  const Tensor three = Tensor::of<float>({3}, std::span(numbers).first(3));
  EXPECT_EQ(tensors_beside(graph, file({{"bias", three.ref()},
                                        {"bias:average", three.ref()},
                                        {"more", three.ref()},
                                        {"none:average", three.ref()}})),
            (std::vector<std::string>{"more", "none:average"}));
}

}  // namespace
}  // namespace gradstone
