// SPDX-License-Identifier: Apache-2.0
#include "run/job.h"

#include <gtest/gtest.h>

#include "protocol/tensor_file.h"
#include "recipe/initial_weights.h"
#include "run/test_workload.h"

namespace gradstone {
namespace {

class JobTest : public testing::Test {
 protected:
  Result<TrainJob> make() {
    spec.workload = "tiny";
    return make_job(resolved(spec, workload), workload, folder);
  }
  Workload workload = tiny_workload();
  RunSpec spec;
  TemporaryFolder folder = TemporaryFolder::create().value();
};

TEST_F(JobTest, GraphsHaveTheBatchesAndTheDtype) {
  spec.batch = 7;
  spec.dtype = DType::kFloat64;
  spec.seed = 5;
  const TrainJob job = make().value();
  EXPECT_EQ(job.graph.find_input("image")->type, (TensorType{DType::kFloat64, {7, 1, 4, 4}}));
  EXPECT_EQ(job.evaluation_graph.find_input("image")->type,
            (TensorType{DType::kFloat64, {5, 1, 4, 4}}));
  EXPECT_EQ(job.evaluation_graph.outputs, std::vector<std::string>{"logits"});
  EXPECT_FALSE(job.last_graph.has_value());
  EXPECT_EQ(job.recipe.batch, 7);
  EXPECT_EQ(job.data.name, "synthetic");
  EXPECT_EQ(job.data_need.classes, 3);
  EXPECT_EQ(job.seed, 5u);
}

TEST_F(JobTest, EpochsGoIntoTheRecipe) {
  spec.measure.epochs = 3;
  EXPECT_EQ(make().value().recipe.epochs, 3);
}

TEST_F(JobTest, ASmallerLastBatchHasItsOwnGraph) {
  workload.sizes[0].recipe.last_batch = LastBatch::kSmaller;  // of 32 samples
  spec.batch = 5;
  EXPECT_EQ(make().value().last_graph->find_input("image")->type.shape[0], 2);
  spec.batch = 8;
  EXPECT_FALSE(make().value().last_graph.has_value());
}

TEST_F(JobTest, WeightsAreDrawnFromTheSeed) {
  spec.seed = 9;
  const TrainJob job = make().value();
  const TensorFile file = TensorFile::open(job.weights_in).value();
  EXPECT_EQ(file.names().size(), 2u);
  for (const Weight& weight : job.graph.weights) {
    const Tensor expected = initial_value(weight, 9);
    const TensorRef* value = file.find(weight.name);
    ASSERT_NE(value, nullptr);
    EXPECT_EQ(value->type, weight.type);
    EXPECT_EQ(std::memcmp(value->data, expected.data(), weight.type.bytes()), 0);
  }
}

TEST_F(JobTest, WeightsOfAFileAreUsedAndMustFit) {
  const std::vector<float> numbers(48, 0.25f);
  const Tensor weight = Tensor::of<float>({3, 16}, numbers);
  const Tensor bias = Tensor::of<float>({3}, std::span(numbers).first(3));
  const Tensor turned = Tensor::of<float>({16, 3}, numbers);
  spec.weights_in = folder.file("given");
  const auto write = [&](std::vector<std::pair<std::string, TensorRef>> tensors) {
    ASSERT_TRUE(write_tensor_file(spec.weights_in, tensors).ok());
  };
  write({{"weight", weight.ref()}, {"bias", bias.ref()}, {"more", bias.ref()}});
  EXPECT_EQ(make().value().weights_in, spec.weights_in);

  spec.dtype = DType::kFloat64;
  const TensorFile converted = TensorFile::open(make().value().weights_in).value();
  EXPECT_EQ(converted.find("weight")->as<double>()[47], 0.25);

  const std::string place = "weights '" + spec.weights_in + "': ";
  write({{"weight", weight.ref()}});
  EXPECT_EQ(make().error().message, place + "it has no weight 'bias'");
  write({{"weight", turned.ref()}, {"bias", bias.ref()}});
  spec.dtype = DType::kFloat32;
  EXPECT_EQ(make().error().message,
            place + "weight 'weight' is float32 [16, 3], the network needs float32 [3, 16]");
}

TEST(Hello, CarriesWhatAnEngineIsMadeFrom) {
  RunSpec spec;
  spec.device = "cuda:1";
  spec.threads = 3;
  spec.deterministic = true;
  spec.math = "native";
  spec.engine.argument = "x";
  spec.seed = 4;
  const CoreHello hello = hello_for(spec);
  EXPECT_EQ(hello.protocol, kProtocolVersion);
  EXPECT_EQ(hello.device, "cuda:1");
  EXPECT_EQ(hello.threads, 3);
  EXPECT_TRUE(hello.deterministic);
  EXPECT_EQ(hello.math, "native");
  EXPECT_EQ(hello.argument, "x");
  EXPECT_EQ(hello.seed, 4u);
}

}  // namespace
}  // namespace gradstone
