// SPDX-License-Identifier: Apache-2.0
#include "recipe/optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace gradstone {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

Optimizer with_rule(Rule rule) {
  Optimizer optimizer;
  optimizer.rule = rule;
  return optimizer;
}

TEST(Optimizer, SlotsFollowTheFormulas) {
  EXPECT_THAT(slots_of(with_rule(Rule::kSgd)), IsEmpty());
  EXPECT_THAT(slots_of(with_rule(Rule::kMomentum)), ElementsAre("velocity"));
  EXPECT_THAT(slots_of(with_rule(Rule::kNesterov)), ElementsAre("velocity"));
  EXPECT_THAT(slots_of(with_rule(Rule::kAdam)), ElementsAre("mean", "square"));
  EXPECT_THAT(slots_of(with_rule(Rule::kAdamW)), ElementsAre("mean", "square"));
  EXPECT_THAT(slots_of(with_rule(Rule::kAdaGrad)), ElementsAre("square_sum"));
  EXPECT_THAT(slots_of(with_rule(Rule::kAdaDelta)), ElementsAre("square", "step_square"));
  Optimizer rms = with_rule(Rule::kRmsProp);
  EXPECT_THAT(slots_of(rms), ElementsAre("square"));
  rms.centered = true;
  EXPECT_THAT(slots_of(rms), ElementsAre("square", "mean"));
  rms.momentum = 0.5;
  EXPECT_THAT(slots_of(rms), ElementsAre("square", "mean", "velocity"));
}

TEST(Optimizer, OnlyAdaGradStartsAboveZero) {
  Optimizer optimizer = with_rule(Rule::kAdaGrad);
  optimizer.initial_accumulator = 0.1;
  EXPECT_EQ(initial_slot_value(optimizer, "square_sum"), 0.1);
  EXPECT_EQ(initial_slot_value(with_rule(Rule::kAdam), "square"), 0);
}

TEST(Optimizer, DecayIsDecoupledWhereAskedForOrByTheRule) {
  EXPECT_TRUE(decouples_decay(with_rule(Rule::kAdamW)));
  EXPECT_FALSE(decouples_decay(with_rule(Rule::kAdam)));
  Optimizer sgd;
  sgd.decoupled = true;
  EXPECT_TRUE(decouples_decay(sgd));
}

TEST(Optimizer, DefaultsOfEveryRuleAreAccepted) {
  for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kNesterov, Rule::kAdam, Rule::kAdamW,
                          Rule::kRmsProp, Rule::kAdaGrad, Rule::kAdaDelta}) {
    EXPECT_TRUE(check_optimizer(with_rule(rule)).ok()) << name_of(rule);
  }
}

TEST(Optimizer, ChecksNameTheField) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Case {
    std::string_view field;
    Rule rule;
    void (*spoil)(Optimizer&);
  };
  const Case cases[] = {
      {"momentum", Rule::kMomentum, [](Optimizer& o) { o.momentum = 1; }},
      {"momentum", Rule::kMomentum, [](Optimizer& o) { o.momentum = -0.1; }},
      {"momentum", Rule::kSgd, [](Optimizer& o) { o.momentum = 0.9; }},
      {"beta1", Rule::kAdam, [](Optimizer& o) { o.beta1 = 1; }},
      {"beta2", Rule::kAdam, [](Optimizer& o) { o.beta2 = kNan; }},
      {"alpha", Rule::kRmsProp, [](Optimizer& o) { o.alpha = 1; }},
      {"epsilon", Rule::kAdam, [](Optimizer& o) { o.epsilon = -1e-8; }},
      {"epsilon_place", Rule::kRmsProp,
       [](Optimizer& o) { o.epsilon_place = EpsilonPlace::kOutsideHat; }},
      {"dampening", Rule::kMomentum, [](Optimizer& o) { o.dampening = 2; }},
      {"dampening", Rule::kNesterov, [](Optimizer& o) { o.dampening = 0.5; }},
      {"centered", Rule::kAdam, [](Optimizer& o) { o.centered = true; }},
      {"initial_accumulator", Rule::kSgd, [](Optimizer& o) { o.initial_accumulator = 0.1; }},
      {"initial_accumulator", Rule::kAdaGrad, [](Optimizer& o) { o.initial_accumulator = -1; }},
      {"weight_decay", Rule::kSgd, [](Optimizer& o) { o.weight_decay = kInfinity; }},
  };
  for (const Case& item : cases) {
    Optimizer optimizer = with_rule(item.rule);
    item.spoil(optimizer);
    const Status status = check_optimizer(optimizer);
    ASSERT_FALSE(status.ok()) << item.field;
    EXPECT_THAT(status.error().message,
                StartsWith("optimizer." + std::string(item.field) + " must be "));
  }
}

TEST(Optimizer, JsonKeepsEveryField) {
  Optimizer optimizer;
  optimizer.rule = Rule::kRmsProp;
  optimizer.momentum = 0.125;
  optimizer.dampening = 0.25;
  optimizer.rate_in_velocity = true;
  optimizer.beta1 = 0.5;
  optimizer.beta2 = 0.75;
  optimizer.alpha = 0.875;
  optimizer.epsilon = 1e-3;
  optimizer.epsilon_place = EpsilonPlace::kInsideRoot;
  optimizer.centered = true;
  optimizer.initial_accumulator = 0.0625;
  optimizer.weight_decay = 1e-4;
  optimizer.decoupled = true;
  const Json json = to_json(optimizer);
  EXPECT_EQ(json["rule"], "rmsprop");
  EXPECT_EQ(json["epsilon_place"], "inside_root");
  EXPECT_EQ(optimizer_from_json(json).value(), optimizer);

  const GradientClip clip = {GradientClip::Kind::kGlobalNorm, 0.25};
  EXPECT_EQ(gradient_clip_from_json(to_json(clip)).value(), clip);
}

TEST(Optimizer, JsonMayLeaveOutButNotMisspell) {
  EXPECT_EQ(optimizer_from_json(Json::object()).value(), Optimizer{});
  EXPECT_EQ(optimizer_from_json({{"momentun", 0.9}}).error().message,
            "unknown key 'momentun'; did you mean 'momentum'?");
  EXPECT_EQ(optimizer_from_json({{"rule", "adan"}}).error().message,
            "key 'rule': unknown value 'adan'; did you mean 'adam'?");
  EXPECT_EQ(optimizer_from_json({{"momentum", "much"}}).error().message,
            "key 'momentum': expected a number");
  EXPECT_EQ(optimizer_from_json(Json::array()).error().message, "expected an object");
}

TEST(GradientClip, LimitMustBePositive) {
  EXPECT_TRUE(check_gradient_clip({}).ok());
  EXPECT_TRUE(check_gradient_clip({GradientClip::Kind::kValue, 1}).ok());
  EXPECT_EQ(check_gradient_clip({GradientClip::Kind::kValue, 0}).error().message,
            "gradient_clip.limit must be above 0");
}

}  // namespace
}  // namespace gradstone
