// SPDX-License-Identifier: Apache-2.0
#include "worker/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/fake_engine.h"
#include "worker/test_job.h"

namespace gradstone {
namespace {

using ::testing::ElementsAre;
using testing::FakeBundle;
using testing::FakeLog;
using testing::FakeScript;
using ::testing::HasSubstr;

class Weights : public ::testing::Test {
 protected:
  Weights() {
    ProgramSpec program;
    program.graph = testing::linear_graph(4, false);
    UpdateSpec update;
    update.weight_average = 0.5;
    update.weights = {{"bias"}};
    program.updates = {update};
    bundle_ = std::make_unique<FakeBundle>(BundleSpec{{program}}, script_, log_);
    variables_ = program.graph.weights;
  }
  auto bias() { return log_.variables.at("bias").as<float>(); }

  TemporaryFolder folder_ = TemporaryFolder::create().value();
  FakeScript script_;
  FakeLog log_;
  std::unique_ptr<FakeBundle> bundle_;
  std::vector<Weight> variables_;
};

TEST_F(Weights, AreLoadedAndSavedByName) {
  const TrainJob job = testing::linear_job(folder_);
  ASSERT_TRUE(load_weights(job.weights_in, variables_, *bundle_).ok());
  EXPECT_THAT(bias(), ElementsAre(1, 2, 3));
  ASSERT_TRUE(save_weights(job.weights_out, variables_, {"bias"}, *bundle_).ok());
  const TensorFile saved = TensorFile::open(job.weights_out).value();
  EXPECT_THAT(saved.names(), ::testing::UnorderedElementsAre("weight", "bias", "bias:average"));
  EXPECT_THAT(saved.find("bias")->as<float>(), ElementsAre(1, 2, 3));
}

TEST_F(Weights, OfAnotherFloatingTypeAreConverted) {
  const std::vector<double> values = {0.5, 1.5, 2.5};
  const Tensor weight({DType::kFloat64, {3, 16}});
  const Tensor bias64 = Tensor::of<double>({3}, values);
  const std::string path = folder_.file("double");
  ASSERT_TRUE(write_tensor_file(path, {{"weight", weight.ref()}, {"bias", bias64.ref()}}).ok());
  ASSERT_TRUE(load_weights(path, variables_, *bundle_).ok());
  EXPECT_THAT(bias(), ElementsAre(0.5, 1.5, 2.5));
}

TEST_F(Weights, ThatDoNotFitAreNamed) {
  const std::string path = folder_.file("other");
  const Tensor weight({DType::kFloat32, {3, 16}}), wrong({DType::kFloat32, {4}});
  ASSERT_TRUE(write_tensor_file(path, {{"weight", weight.ref()}}).ok());
  EXPECT_THAT(load_weights(path, variables_, *bundle_).error().message,
              HasSubstr("no tensor 'bias'"));
  ASSERT_TRUE(write_tensor_file(path, {{"weight", weight.ref()}, {"bias", wrong.ref()}}).ok());
  EXPECT_THAT(load_weights(path, variables_, *bundle_).error().message,
              HasSubstr("tensor 'bias' is float32 [4], the network has float32 [3]"));
}

TEST_F(Weights, HoldTheirAveragesDuringASwap) {
  const std::vector<float> now = {1, 2, 3}, averages = {4, 5, 6};
  log_.variables.at("bias") = Tensor::of<float>({3}, now);
  log_.variables.at("bias:average") = Tensor::of<float>({3}, averages);
  const std::vector<std::string> swapped = {"bias"};
  AverageSwap swap(*bundle_, swapped);
  ASSERT_TRUE(swap.begin().ok());
  EXPECT_THAT(bias(), ElementsAre(4, 5, 6));
  ASSERT_TRUE(swap.end().ok());
  EXPECT_THAT(bias(), ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace gradstone
