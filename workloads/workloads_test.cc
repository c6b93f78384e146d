// SPDX-License-Identifier: Apache-2.0
// Every workload and size against closed forms that are written out here, layer by layer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "graph/passes.h"
#include "workloads/registry.h"

namespace gradstone {
namespace {

struct Counts {
  std::int64_t parameters = 0, multiply_adds = 0;
};

// Sums convolutions and dense layers of square images.
struct Sum {
  Counts counts;
  void conv(std::int64_t in, std::int64_t out, std::int64_t kernel, std::int64_t image) {
    counts.parameters += in * out * kernel * kernel;
    counts.multiply_adds += in * out * kernel * kernel * image * image;
  }
  void dense(std::int64_t in, std::int64_t out) { conv(in, out, 1, 1); }
  void per_channel(std::int64_t parameters) { counts.parameters += parameters; }
};

Counts lenet_tensorflow() {
  Sum sum;
  sum.conv(1, 32, 5, 28);
  sum.conv(32, 64, 5, 14);
  sum.dense(7 * 7 * 64, 1024);
  sum.dense(1024, 10);
  sum.per_channel(32 + 64 + 1024 + 10);
  return sum.counts;
}

Counts lenet_caffe() {
  Sum sum;
  sum.conv(1, 20, 5, 24);
  sum.conv(20, 50, 5, 8);
  sum.dense(4 * 4 * 50, 500);
  sum.dense(500, 10);
  sum.per_channel(20 + 50 + 500 + 10);
  return sum.counts;
}

Counts lenet_torch() {
  Sum sum;
  sum.conv(1, 32, 5, 28);
  sum.conv(32, 64, 5, 6);
  sum.dense(3 * 3 * 64, 200);
  sum.dense(200, 10);
  sum.per_channel(32 + 64 + 200 + 10);
  return sum.counts;
}

// Stage s has width w = width * 2^s and images of image / 2^(s + 2). Its blocks after the first all
// cost the same: 4w -> w, w -> w (3x3), w -> 4w. The first takes `in` channels, its 1x1 before the
// stride sees the larger image of the stage before, and it has a projection. Batch norm: 2 a
// channel.
Counts resnet50(std::int64_t image, std::int64_t classes, std::int64_t width) {
  Sum sum;
  sum.conv(3, width, 7, image / 2);
  sum.per_channel(2 * width);
  std::int64_t in = width, before = image / 4;
  for (const std::int64_t blocks : {3, 4, 6, 3}) {
    const std::int64_t w = in == width ? width : in / 2;
    const std::int64_t here = in == width ? before : before / 2;
    sum.conv(in, w, 1, before);
    sum.conv(in, 4 * w, 1, here);
    for (std::int64_t block = 0; block < blocks; ++block) {
      if (block > 0) sum.conv(4 * w, w, 1, here);
      sum.conv(w, w, 3, here);
      sum.conv(w, 4 * w, 1, here);
      sum.per_channel(2 * (w + w + 4 * w));
    }
    sum.per_channel(2 * 4 * w);
    in = 4 * w;
    before = here;
  }
  sum.dense(in, classes);
  sum.per_channel(classes);
  return sum.counts;
}

const std::map<std::pair<std::string, std::string>, Counts> kClosedForms = {
    {{"lenet-caffe", "small"}, lenet_caffe()},
    {{"lenet-tensorflow", "small"}, lenet_tensorflow()},
    {{"lenet-torch", "small"}, lenet_torch()},
    {{"resnet50", "small"}, resnet50(64, 10, 64)},
    {{"resnet50", "tiny"}, resnet50(32, 10, 8)},
    {{"resnet50", "paper"}, resnet50(224, 1000, 64)},
};

// Calls `check(workload, size)` for every size, with a trace naming it.
template <class Check>
void for_each_size(Check check) {
  for (const Workload& workload : all_workloads()) {
    for (const WorkloadSize& size : workload.sizes) {
      SCOPED_TRACE(workload.name + " " + size.name);
      check(workload, size);
    }
  }
}

std::int64_t multiply_adds(const Graph& graph, const ValueTypes& types) {
  std::int64_t total = 0;
  for (const NodeCost& cost : node_costs(graph, types)) total += cost.multiply_adds;
  return total;
}

TEST(Workloads, AreListedByNameAndSmallFirst) {
  std::vector<std::string> names;
  for (const Workload& workload : all_workloads()) {
    names.push_back(workload.name);
    ASSERT_FALSE(workload.sizes.empty());
    EXPECT_EQ(workload.sizes[0].name, "small");
    EXPECT_NE(find_size(workload, "tiny"), nullptr);
    EXPECT_NE(find_size(workload, "paper"), nullptr);
  }
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_THAT(
      names, testing::IsSupersetOf({"lenet-caffe", "lenet-tensorflow", "lenet-torch", "resnet50"}));
}

// The figures that the papers give; the closed forms must come to them too.
TEST(Workloads, ClosedFormsAreThePapers) {
  EXPECT_EQ(lenet_tensorflow().parameters, 3274634);
  EXPECT_EQ(lenet_caffe().parameters, 431080);
  EXPECT_EQ(lenet_torch().parameters, 169506);
  EXPECT_EQ(resnet50(224, 1000, 64).parameters, 25557032);
  EXPECT_EQ(resnet50(224, 1000, 64).multiply_adds, 4089184256);
}

TEST(Workloads, CountsAreTheStatedOnesAndTheClosedForms) {
  for_each_size([](const Workload& workload, const WorkloadSize& size) {
    const std::int64_t batch = 3;
    const Graph graph = size.build(batch).value();
    const ValueTypes types = check_graph(graph).value();
    EXPECT_EQ(parameter_count(graph), size.expected.parameters);
    EXPECT_EQ(multiply_adds(graph, types), batch * size.expected.forward_multiply_adds);
    const auto closed = kClosedForms.find({workload.name, size.name});
    ASSERT_NE(closed, kClosedForms.end());
    EXPECT_EQ(size.expected.parameters, closed->second.parameters);
    EXPECT_EQ(size.expected.forward_multiply_adds, closed->second.multiply_adds);
  });
}

TEST(Workloads, HaveTheInputsAndValuesTheLoopAsksFor) {
  for_each_size([](const Workload& workload, const WorkloadSize& size) {
    const std::int64_t batch = 2;
    const Graph graph = size.build(batch).value();
    EXPECT_EQ(graph.name, workload.name);
    Shape image = {batch};
    image.insert(image.end(), size.input.sample_shape.begin(), size.input.sample_shape.end());
    ASSERT_NE(graph.find_input(kImageInput), nullptr);
    EXPECT_EQ(graph.find_input(kImageInput)->type, (TensorType{DType::kFloat32, image}));
    ASSERT_NE(graph.find_input(kLabelInput), nullptr);
    EXPECT_EQ(graph.find_input(kLabelInput)->type, (TensorType{DType::kInt64, {batch}}));
    const ValueTypes types = check_graph(graph).value();
    EXPECT_EQ(types.find(kLossValue)->second.shape, Shape{});
    EXPECT_EQ(types.find(kLogitsValue)->second.shape, (Shape{batch, size.input.classes}));
  });
}

TEST(Workloads, RecipesFitTheirGraphs) {
  for_each_size([](const Workload&, const WorkloadSize& size) {
    const Status status = check_recipe(size.recipe, size.build(size.recipe.batch).value());
    EXPECT_TRUE(status.ok()) << status.error().message;
    EXPECT_FALSE(size.default_data.empty());
    const Recipe read = recipe_from_json(to_json(size.recipe)).value();
    EXPECT_EQ(to_json(read), to_json(size.recipe));
  });
}

TEST(Workloads, InferenceGraphsHaveNoTrainingLeft) {
  for_each_size([](const Workload&, const WorkloadSize& size) {
    const Graph training = size.build(2).value();
    const Graph graph = to_inference(training, {std::string(kLogitsValue)});
    const Result<ValueTypes> types = check_graph(graph);
    ASSERT_TRUE(types.ok()) << types.error().message;
    EXPECT_TRUE(graph.state_updates.empty());
    EXPECT_EQ(parameter_count(graph), parameter_count(training));
    for (const Node& node : graph.nodes) {
      EXPECT_NE(node.op, "Dropout");
      EXPECT_EQ(attribute_or(node, "training_mode", std::int64_t{0}), 0) << node.name;
    }
    EXPECT_EQ(multiply_adds(graph, *types), 2 * size.expected.forward_multiply_adds);
  });
}

// 53 convolutions, each with batch norm of the sample convention, whose states are carried back.
TEST(ResNet50, HasItsLayersWhateverTheSize) {
  for (const Workload& workload : all_workloads()) {
    if (workload.name != "resnet50") continue;
    for (const WorkloadSize& size : workload.sizes) {
      const Graph graph = size.build(1).value();
      std::map<std::string, int> count;
      for (const Node& node : graph.nodes) ++count[node.op];
      EXPECT_EQ(count["Conv"], 53);
      EXPECT_EQ(count["BatchNormalization"], 53);
      EXPECT_EQ(count["Add"], 16);
      EXPECT_EQ(count["Relu"], 49);
      EXPECT_EQ(graph.state_updates.size(), 2u * 53);
      for (const Node& node : graph.nodes) {
        if (node.op != "BatchNormalization") continue;
        EXPECT_EQ(attribute_or(node, "running_variance", std::string_view("population")), "sample");
      }
    }
  }
}

}  // namespace
}  // namespace gradstone
