// SPDX-License-Identifier: Apache-2.0
#include "cli/recipe_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gradstone {
namespace {

using testing::ElementsAre;

std::string error_of(std::string_view text) {
  const Result<RecipeFile> file = parse_recipe_file(text);
  return file.ok() ? "" : file.error().message;
}

TEST(RecipeFile, ShortForms) {
  const RecipeFile file = parse_recipe_file(R"(
    loss = "mse"
    labels = "one-hot"
    batch_norm = "frozen"
    freeze = ["conv1.*", "fc?"]
    batch = 32
    [optimizer]
    rule = "momentum"
    momentum = 0.9
    rate = 0.5
    [schedule]
    kind = "step"
    factor = 0.1
    every = 7
    [preprocess]
    mean = [0.5, 1]
  )")
                              .value();
  EXPECT_EQ(file.loss, "mse");
  EXPECT_EQ(file.labels, "one-hot");
  EXPECT_EQ(file.batch_norm, "frozen");
  EXPECT_THAT(file.freeze, ElementsAre("conv1.*", "fc?"));
  EXPECT_TRUE(file.states_batch);
  EXPECT_EQ(file.recipe.batch, 32);
  ASSERT_EQ(file.recipe.optimizers.size(), 1u);
  const OptimizerChoice& choice = file.recipe.optimizers[0];
  EXPECT_EQ(choice.optimizer.rule, Rule::kMomentum);
  EXPECT_EQ(choice.optimizer.momentum, 0.9);
  EXPECT_EQ(choice.schedule.kind, ScheduleKind::kStep);
  EXPECT_EQ(choice.schedule.base, 0.5);
  EXPECT_EQ(choice.schedule.every, 7);
  EXPECT_THAT(file.recipe.preprocess.mean, ElementsAre(0.5, 1));
}

TEST(RecipeFile, AnEmptyOneIsTheDefault) {
  const RecipeFile file = parse_recipe_file("").value();
  EXPECT_EQ(to_json(file.recipe), to_json(Recipe()));
  EXPECT_FALSE(file.states_batch);
}

TEST(RecipeFile, OneTextIsAListOfOne) {
  EXPECT_THAT(parse_recipe_file("freeze = 'a*'").value().freeze, ElementsAre("a*"));
}

TEST(RecipeFile, Errors) {
  EXPECT_EQ(error_of("loss = 3"), "key 'loss': expected a text");
  EXPECT_EQ(error_of("freeze = [1]"), "key 'freeze': expected a list of texts");
  EXPECT_EQ(error_of("optimizer = 'sgd'"), "optimizer, schedule and gradient_clip are tables");
  EXPECT_EQ(error_of("[optimizer]\nrate = 1\n[schedule]\nbase = 1"),
            "optimizer.rate and schedule.base are the same");
  EXPECT_EQ(error_of("[optimizer]\n[[optimizers]]\n"),
            "key 'optimizers': it stands for optimizer, schedule and gradient_clip");
  EXPECT_EQ(error_of("batch = 2020-01-01"), "dates and times have no place here");
  EXPECT_EQ(error_of("x = 1\ny = \n").substr(0, 7), "line 2:");
}

}  // namespace
}  // namespace gradstone
