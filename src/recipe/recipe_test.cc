// SPDX-License-Identifier: Apache-2.0
#include "recipe/recipe.h"

#include <gtest/gtest.h>

#include "recipe/workload.h"

namespace gradstone {
namespace {

Weight weight(std::string name, bool trainable = true) {
  return {std::move(name), {DType::kFloat32, {2}}, {}, trainable};
}

// Two layers and a running statistic, on grey 28 x 28 images. No operator is needed here.
Graph small_graph() {
  Graph graph;
  graph.name = "small";
  graph.inputs = {{std::string(kImageInput), {DType::kFloat32, {4, 1, 28, 28}}}};
  graph.weights = {weight("conv1.weight"), weight("conv1.bias"), weight("bn1.running_mean", false),
                   weight("fc.weight"), weight("fc.bias")};
  return graph;
}

OptimizerChoice named(std::string name) {
  OptimizerChoice choice;
  choice.name = std::move(name);
  return choice;
}

ParameterGroup group_for(std::string pattern) {
  ParameterGroup group;
  group.pattern = std::move(pattern);
  return group;
}

std::string check_message(const Recipe& recipe) {
  const Status status = check_recipe(recipe, small_graph());
  return status.ok() ? "ok" : status.error().message;
}

TEST(Pattern, StarsAndQuestionMarks) {
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_TRUE(matches_pattern("*.bias", "conv1.bias"));
  EXPECT_FALSE(matches_pattern("*.bias", "conv1.bias2"));
  EXPECT_TRUE(matches_pattern("conv?.weight", "conv1.weight"));
  EXPECT_FALSE(matches_pattern("conv?.weight", "conv.weight"));
  EXPECT_FALSE(matches_pattern("conv?.weight", "conv12.weight"));
  EXPECT_TRUE(matches_pattern("a*b*c", "a-b-bb-c"));
  EXPECT_FALSE(matches_pattern("a*b*c", "a-b-bb-"));
  EXPECT_TRUE(matches_pattern("fc.weight", "fc.weight"));
  EXPECT_FALSE(matches_pattern("fc.weight", "fcxweight"));  // '.' is no wildcard
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_TRUE(matches_pattern("**", "a"));
}

TEST(WeightPlans, WithoutGroupsEveryTrainableWeightIsPlain) {
  const auto plans = weight_plans(Recipe{}, small_graph()).value();
  ASSERT_EQ(plans.size(), 4u);
  EXPECT_EQ(plans[2].weight, "fc.weight");
  EXPECT_EQ(plans[2].optimizer, 0u);
  EXPECT_EQ(plans[2].rate_multiplier, 1);
  EXPECT_EQ(plans[2].decay_multiplier, 1);
}

TEST(WeightPlans, TheFirstMatchingGroupWins) {
  Recipe recipe;
  recipe.optimizers = {named("slow"), named("fast")};
  ParameterGroup biases = group_for("*.bias");
  biases.rate_multiplier = 2;
  biases.decay_multiplier = 0;
  ParameterGroup head = group_for("fc.*");
  head.optimizer = "fast";
  ParameterGroup rest = group_for("conv1.*");
  rest.frozen = true;
  recipe.groups = {biases, head, rest};

  const auto plans = weight_plans(recipe, small_graph()).value();
  ASSERT_EQ(plans.size(), 3u);  // conv1.weight is frozen
  EXPECT_EQ(plans[0].weight, "conv1.bias");
  EXPECT_EQ(plans[0].rate_multiplier, 2);
  EXPECT_EQ(plans[0].decay_multiplier, 0);
  EXPECT_EQ(plans[0].optimizer, 0u);
  EXPECT_EQ(plans[1].weight, "fc.weight");
  EXPECT_EQ(plans[1].optimizer, 1u);
  EXPECT_EQ(plans[2].weight, "fc.bias");
  EXPECT_EQ(plans[2].optimizer, 0u);
}

TEST(WeightPlans, UnknownOptimizerIsNamedWithTheKnownOnes) {
  Recipe recipe;
  recipe.optimizers = {named("generator"), named("critic")};
  recipe.groups = {group_for("fc.*")};
  recipe.groups[0].optimizer = "critik";
  EXPECT_EQ(weight_plans(recipe, small_graph()).error().message,
            "group 'fc.*': unknown optimizer 'critik'; the recipe has 'generator', 'critic'");
}

TEST(CheckRecipe, NamesPlaceAndField) {
  EXPECT_EQ(check_message(Recipe{}), "ok");
  const auto message = [](void (*spoil)(Recipe&)) {
    Recipe recipe;
    spoil(recipe);
    return check_message(recipe);
  };
  EXPECT_EQ(message([](Recipe& r) { r.optimizers.clear(); }), "the recipe has no optimizer");
  EXPECT_EQ(message([](Recipe& r) {
              r.optimizers = {named("a"), named("b"), named("a")};
            }),
            "optimizer 'a' is there twice; give each a name of its own");
  EXPECT_EQ(message([](Recipe& r) { r.optimizers[0].optimizer.beta1 = 2; }),
            "optimizer 'default': optimizer.beta1 must be at least 0 and below 1");
  EXPECT_EQ(message([](Recipe& r) { r.optimizers[0].schedule.every = 0; }),
            "optimizer 'default': schedule.every must be at least 1");
  EXPECT_EQ(
      message([](Recipe& r) { r.optimizers[0].gradient_clip.kind = GradientClip::Kind::kValue; }),
      "optimizer 'default': gradient_clip.limit must be above 0");
  EXPECT_EQ(message([](Recipe& r) { r.optimizers[0].weight_clip = -1; }),
            "optimizer 'default': weight_clip must be at least 0");
  EXPECT_EQ(message([](Recipe& r) { r.groups = {group_for("conv9.*")}; }),
            "group 'conv9.*': matches no trainable weight; the first weight is 'conv1.weight'");
  EXPECT_EQ(message([](Recipe& r) { r.groups = {group_for("bn1.*")}; }),
            "group 'bn1.*': matches no trainable weight; the first weight is 'conv1.weight'");
  EXPECT_EQ(message([](Recipe& r) {
              r.groups = {group_for("fc.*")};
              r.groups[0].rate_multiplier = -1;
            }),
            "group 'fc.*': rate_multiplier must be finite and at least 0");
  EXPECT_EQ(message([](Recipe& r) {
              r.groups = {group_for("*")};
              r.groups[0].frozen = true;
            }),
            "every weight is frozen; nothing is left to train");
  EXPECT_EQ(message([](Recipe& r) { r.batch = 0; }), "batch must be at least 1");
  EXPECT_EQ(message([](Recipe& r) { r.evaluation_batch = 0; }),
            "evaluation_batch must be at least 1");
  EXPECT_EQ(message([](Recipe& r) { r.epochs = 0; }), "epochs must be at least 1");
  EXPECT_EQ(message([](Recipe& r) { r.weight_average = 1; }),
            "weight_average must be at least 0 and below 1");
}

TEST(CheckRecipe, PreprocessMustFitTheImageInput) {
  const auto message = [](const Preprocess& preprocess) {
    Recipe recipe;
    recipe.preprocess = preprocess;
    return check_message(recipe);
  };
  Preprocess fitting;
  fitting.mean = {0.5};
  fitting.deviation = {0.25};
  fitting.height = fitting.width = 28;
  EXPECT_EQ(message(fitting), "ok");
  Preprocess spoilt = fitting;
  spoilt.mean = {0.1, 0.2, 0.3};
  EXPECT_EQ(message(spoilt), "preprocess.mean has 3 values; the image has 1 channels");
  spoilt = fitting;
  spoilt.deviation = {0};
  EXPECT_EQ(message(spoilt), "preprocess.deviation must be above 0");
  spoilt = fitting;
  spoilt.scale = 0;
  EXPECT_EQ(message(spoilt), "preprocess.scale must be finite and not 0");
  spoilt = fitting;
  spoilt.height = 32;
  EXPECT_EQ(message(spoilt), "preprocess makes images of 32 x 28; the graph takes 28 x 28");
}

TEST(RecipeJson, KeepsEveryField) {
  Recipe recipe;
  recipe.optimizers = {named("a"), named("b")};
  recipe.optimizers[1].optimizer.rule = Rule::kAdam;
  recipe.optimizers[1].schedule.kind = ScheduleKind::kInverse;
  recipe.optimizers[1].gradient_clip = {GradientClip::Kind::kValue, 5};
  recipe.optimizers[1].weight_clip = 0.01;
  ParameterGroup group = {"*.bias", 2, 0.5, true, "b"};
  recipe.groups = {group};
  recipe.batch = 7;
  recipe.evaluation_batch = 8;
  recipe.epochs = 9;
  recipe.last_batch = LastBatch::kSmaller;
  recipe.weight_average = 0.999;
  recipe.preprocess = {32, 24, 1.0 / 256, {0.1, 0.2, 0.3}, {0.4}};

  const Json json = to_json(recipe);
  const Recipe read = recipe_from_json(json).value();
  EXPECT_EQ(to_json(read), json);
  ASSERT_EQ(read.optimizers.size(), 2u);
  EXPECT_EQ(read.optimizers[1].name, "b");
  EXPECT_EQ(read.optimizers[1].optimizer, recipe.optimizers[1].optimizer);
  EXPECT_EQ(read.optimizers[1].schedule, recipe.optimizers[1].schedule);
  EXPECT_EQ(read.optimizers[1].gradient_clip, recipe.optimizers[1].gradient_clip);
  EXPECT_EQ(read.optimizers[1].weight_clip, 0.01);
  ASSERT_EQ(read.groups.size(), 1u);
  EXPECT_EQ(read.groups[0].pattern, "*.bias");
  EXPECT_EQ(read.groups[0].rate_multiplier, 2);
  EXPECT_EQ(read.groups[0].decay_multiplier, 0.5);
  EXPECT_TRUE(read.groups[0].frozen);
  EXPECT_EQ(read.groups[0].optimizer, "b");
  EXPECT_EQ(read.batch, 7);
  EXPECT_EQ(read.evaluation_batch, 8);
  EXPECT_EQ(read.epochs, 9);
  EXPECT_EQ(read.last_batch, LastBatch::kSmaller);
  EXPECT_EQ(read.weight_average, 0.999);
  EXPECT_EQ(read.preprocess.scale, 1.0 / 256);
  EXPECT_EQ(read.preprocess.mean, recipe.preprocess.mean);
  EXPECT_EQ(read.preprocess.deviation, recipe.preprocess.deviation);
  EXPECT_EQ(read.preprocess.height, 32);
  EXPECT_EQ(read.preprocess.width, 24);
}

TEST(RecipeJson, ErrorsNameThePath) {
  EXPECT_EQ(
      recipe_from_json(parse_json(R"({"optimizers": [{}, {"optimizer": {"beta3": 1}}]})").value())
          .error()
          .message,
      "optimizers[1]: optimizer: unknown key 'beta3'; did you mean 'beta1'?");
  EXPECT_EQ(recipe_from_json({{"groups", 3}}).error().message, "key 'groups': expected an array");
  EXPECT_EQ(recipe_from_json({{"last_batch", "wrapp"}}).error().message,
            "key 'last_batch': unknown value 'wrapp'; did you mean 'wrap'?");
}

TEST(Workload, SizesAreFoundByName) {
  Workload workload;
  workload.sizes.resize(2);
  workload.sizes[0].name = "small";
  workload.sizes[1].name = "paper";
  EXPECT_EQ(find_size(workload, "paper"), &workload.sizes[1]);
  EXPECT_EQ(find_size(workload, "tiny"), nullptr);
  EXPECT_EQ(find_size(workload, "huge"), nullptr);
}

TEST(Workload, OneSizeAnswersToEveryUsualName) {
  Workload workload;
  workload.sizes.resize(1);
  workload.sizes[0].name = "small";
  for (const std::string_view name : kUsualSizes) {
    EXPECT_EQ(find_size(workload, name), &workload.sizes[0]);
  }
  EXPECT_EQ(find_size(workload, "huge"), nullptr);
}

}  // namespace
}  // namespace gradstone
