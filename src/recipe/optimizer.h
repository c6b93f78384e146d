// SPDX-License-Identifier: Apache-2.0
// Update rules of weights, as data. Every formula with its source stands here once; engines apply
// it with their own operators and answer `unsupported` where those cannot be made equal. Not for
// learning rates over time: schedule.h.
//
// w weight, g gradient, t update count from 1, lr learning rate of this update. The order of one
// update:
//   1. g <- clip(g)                        GradientClip, over all weights of the update together
//   for the norm
//   2. g <- g + decay * w                  coupled weight decay (l2), except where `decoupled`
//   3. the rule below gives the step
//   4. w <- w - lr * decay * w             decoupled weight decay (Loshchilov and Hutter 2019),
//   before the step of 3
//   5. w <- clip(w, -c, c)                 weight clipping (Arjovsky et al. 2017)
//   6. a <- m * a + (1 - m) * w            moving average of weights, if asked for
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace gradstone {

enum class Rule {
  kSgd,       // w <- w - lr g
  kMomentum,  // Polyak 1964. rate_in_velocity: v <- m v + lr g; w <- w - v.   Otherwise v <- m v +
              // (1-dampening) g; w <- w - lr v
  kNesterov,  // Sutskever et al. 2013, as rewritten by Bengio et al.: rate_in_velocity: v' = m v +
              // lr g; w <- w - ((1+m) v' - m v) otherwise v <- m v + g; w <- w - lr (g + m v)
  kAdam,      // Kingma and Ba 2015, alg. 1: m <- b1 m + (1-b1) g; v <- b2 v + (1-b2) g^2;
              // w <- w - lr mhat / (sqrt(vhat) + eps); epsilon kInsideHat: as here.
  // kOutsideHat: lr sqrt(1-b2^t)/(1-b1^t) m / (sqrt(v) + eps) (their section 2, "epsilon
  // hat")
  kAdamW,    // Adam with decoupled weight decay
  kRmsProp,  // Hinton 2012, lecture 6e: v <- a v + (1-a) g^2; w <- w - lr g / (sqrt(v) + eps), or /
             // sqrt(v + eps) (kInsideRoot); with momentum m > 0: u <- m u + (that quotient, times
             // lr if rate_in_velocity); w <- w - u (times lr if not); centered: v - (moving mean of
             // g)^2 in place of v
  kAdaGrad,  // Duchi et al. 2011: s <- s + g^2; w <- w - lr g / (sqrt(s) + eps), or / sqrt(s +
             // eps); s starts at initial_accumulator
  kAdaDelta,  // Zeiler 2012, alg. 1: s <- a s + (1-a) g^2; d = sqrt(x + eps) / sqrt(s + eps) g; x
              // <- a x + (1-a) d^2; w <- w - lr d
};

// Where epsilon stands.
enum class EpsilonPlace {
  kOutsideRoot,  // sqrt(v) + eps; for Adam sqrt(vhat) + eps
  kInsideRoot,   // sqrt(v + eps)
  kOutsideHat,   // Adam only: sqrt(v) + eps with the bias corrections gathered in the rate
};

struct Optimizer {
  Rule rule = Rule::kSgd;
  double momentum = 0;
  double dampening = 0;
  bool rate_in_velocity =
      false;  // true: the velocity holds the learning rate of its time (Caffe); false: PyTorch
  double beta1 = 0.9, beta2 = 0.999;
  double alpha = 0.99;  // decay of the squared gradient: RMSProp, and rho of AdaDelta
  double epsilon = 1e-8;
  EpsilonPlace epsilon_place = EpsilonPlace::kOutsideRoot;
  bool centered = false;
  double initial_accumulator = 0;
  double weight_decay = 0;
  bool decoupled = false;  // weight decay; always true for kAdamW

  bool operator==(const Optimizer&) const = default;
};

struct GradientClip {
  enum class Kind { kNone, kValue, kGlobalNorm } kind = Kind::kNone;
  double limit = 0;  // value: |g_i| <= limit; global norm: g <- g * limit / max(norm, limit)
  bool operator==(const GradientClip&) const = default;
};

std::string_view name_of(Rule rule);  // "sgd", "momentum", ...
// Names of the state tensors a rule keeps for each weight, in order. State `slot` of weight `w` is
// variable `w:slot` of the store.
//   momentum, nesterov  velocity (v)
//   adam, adamw         mean (m), square (v)
//   rmsprop             square (v); if centered mean (moving mean of g); if momentum > 0 velocity
//   (u) adagrad             square_sum (s) adadelta            square (s), step_square (x)
std::vector<std::string> slots_of(const Optimizer& optimizer);
double initial_slot_value(const Optimizer& optimizer, std::string_view slot);
// Whether weight decay is decoupled: asked for, or by the rule (AdamW).
bool decouples_decay(const Optimizer& optimizer);
// Ranges (betas in [0, 1), epsilon >= 0 ...) and no setting that the rule would not read. The
// error names the field.
Status check_optimizer(const Optimizer& optimizer);
Status check_gradient_clip(const GradientClip& clip);

Json to_json(const Optimizer& optimizer);
Result<Optimizer> optimizer_from_json(const Json& json);
Json to_json(const GradientClip& clip);
Result<GradientClip> gradient_clip_from_json(const Json& json);

}  // namespace gradstone
