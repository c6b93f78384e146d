// SPDX-License-Identifier: Apache-2.0
// Activations: functions of one tensor and a few numbers. Where a derivative jumps, the rule takes
// the value from the left (LeakyRelu, Elu, Selu at 0), but Clip passes its bounds' cotangent on and
// HardSigmoid does not: as the usual frameworks do.
#include <cmath>
#include <numbers>

#include "graph/activation_defaults.h"
#include "graph/element_types.h"
#include "graph/onnx_ops.h"
#include "graph/rule_parts.h"

namespace gradstone {
namespace {

using enum AttributeKind;

double alpha_of(const Node& node, double fallback) { return attribute_or(node, "alpha", fallback); }

// The cotangent times `above` where x > 0, elsewhere times below * e^x. The exponential is that of
// 0 where it is not used, so that no overflow reaches a derivative of higher order.
Status give_exponential_slope(GradientBuilder& b, double above, double below) {
  const std::string x = b.input(0);
  const std::string positive = is_positive(b, x);
  const std::string not_above = select(b, positive, number_like(b, 0, x), x);
  const std::string slope_below = b.scale(apply(b, "Exp", not_above), below);
  b.give(0, b.mul(b.cotangent(), select(b, positive, number_like(b, above, x), slope_below)));
  return {};
}

Status gradient_of_elu(GradientBuilder& b) {
  return give_exponential_slope(b, 1, alpha_of(b.node(), 1.0));
}

Status gradient_of_selu(GradientBuilder& b) {
  const double gamma = attribute_or(b.node(), "gamma", kSeluGamma);
  return give_exponential_slope(b, gamma, gamma * alpha_of(b.node(), kSeluAlpha));
}

Status gradient_of_leaky_relu(GradientBuilder& b) {
  const std::string g = b.cotangent();
  const std::string below = b.scale(g, alpha_of(b.node(), 0.01));
  b.give(0, select(b, is_positive(b, b.input(0)), g, below));
  return {};
}

// log(1 + e^x)' = sigmoid(x)
Status gradient_of_softplus(GradientBuilder& b) {
  b.give(0, b.mul(b.cotangent(), apply(b, "Sigmoid", b.input(0))));
  return {};
}

Status gradient_of_hard_sigmoid(GradientBuilder& b) {
  const std::string y = b.output(0);
  const std::string below_one = b.append("below_one", "Less", {y, number_like(b, 1, y)});
  const std::string sloped = b.append("sloped", "And", {is_positive(b, y), below_one});
  b.give(0, b.scale(masked(b, sloped, b.cotangent()), alpha_of(b.node(), 0.2)));
  return {};
}

// y = x Phi(x), Phi being the normal distribution (Hendrycks and Gimpel 2016): half of
// x (1 + erf(x / sqrt 2)), or with approximate = "tanh" of
// x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
Status expand_gelu(ExpansionBuilder& b) {
  const std::string x = b.input(0);
  std::string s;
  if (attribute_or(b.node(), "approximate", "none") == "none") {
    s = apply(b, "Erf", b.scale(x, 1 / std::numbers::sqrt2));
  } else {
    const std::string cube = b.mul(x, b.mul(x, x));
    const std::string inner = b.add(x, b.scale(cube, 0.044715));
    s = apply(b, "Tanh", b.scale(inner, std::sqrt(2 / std::numbers::pi)));
  }
  b.set_output(0, b.mul(b.scale(x, 0.5), b.offset(s, 1)));
  return {};
}

OutputTypes infer_gelu(const NodeContext& context) {
  TRY(chosen(context.node, "approximate", {"none", "tanh"}));
  return infer_like_first<Elements::kFloating>(context);
}

OutputTypes infer_clip(const NodeContext& context) {
  TRY(expect_elements(context, 0, Elements::kNumbers, "the input"));
  constexpr std::string_view kNames[] = {"", "min", "max"};
  for (std::size_t i = 1; i < 3; ++i) {
    const TensorType* bound = context.inputs[i];
    if (bound == nullptr) continue;
    TRY(expect_like_first(context, i, kNames[i]));
    if (bound->elements() != 1) {
      return unreadable(std::string(kNames[i]) + " has shape " + to_string(bound->shape) +
                        "; expected one number");
    }
  }
  return std::vector<TensorType>{*context.inputs[0]};
}

// One comparison an element and bound.
std::int64_t clip_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const std::int64_t bounds = (context.inputs[1] != nullptr) + (context.inputs[2] != nullptr);
  return saturating_product({bounds, outputs[0].elements()});
}

// y = min(max(x, low), high). A cotangent goes to x where low <= x <= high, else to the bound that
// was taken; with low > high that is always high.
class ClipRule {
 public:
  explicit ClipRule(GradientBuilder& b) : b_(b), x_(b.input(0)), low_(bound(1)), high_(bound(2)) {}

  void give() {
    const std::string inside =
        both(compare("GreaterOrEqual", x_, low_), compare("LessOrEqual", x_, high_), "And");
    b_.give(0, inside.empty() ? b_.cotangent() : masked(b_, inside, b_.cotangent()));
    if (b_.wants(1)) {
      give_bound(1, both(compare("Less", x_, low_), compare("LessOrEqual", low_, high_), "And"));
    }
    if (b_.wants(2)) {
      give_bound(2, both(compare("Greater", x_, high_), compare("Greater", low_, high_), "Or"));
    }
  }

 private:
  std::string bound(std::size_t index) const {
    const std::string value = b_.input(index);
    return value.empty() ? value : b_.reshape(value, {});
  }
  // A comparison with an absent bound holds: "".
  std::string compare(std::string_view op, const std::string& a, const std::string& c) {
    return a.empty() || c.empty() ? std::string() : b_.append("compare", op, {a, c});
  }
  std::string both(const std::string& a, const std::string& c, std::string_view op) {
    if (a.empty()) return c;
    return c.empty() ? a : b_.append("both", op, {a, c});
  }
  void give_bound(std::size_t index, const std::string& taken) {
    const std::string sum = b_.sum_to(masked(b_, taken, b_.cotangent()), {});
    b_.give(index, b_.reshape(sum, Shape(b_.shape_of(b_.input(index)))));
  }

  GradientBuilder& b_;
  std::string x_, low_, high_;
};

Status gradient_of_clip(GradientBuilder& b) {
  ClipRule(b).give();
  return {};
}

OutputTypes infer_prelu(const NodeContext& context) {
  TRY(expect_elements(context, 0, Elements::kWide, "the input"));
  TRY(expect_like_first(context, 1, "the slope"));
  const Shape &shape = context.inputs[0]->shape, &slope = context.inputs[1]->shape;
  if (!broadcasts_to(slope, shape)) {
    return unreadable("the slope has shape " + to_string(slope) + ", which does not broadcast to " +
                      to_string(shape));
  }
  return std::vector<TensorType>{*context.inputs[0]};
}

// x for x > 0, else slope * x
Status expand_prelu(ExpansionBuilder& b) {
  const std::string x = b.input(0);
  b.set_output(0, select(b, is_positive(b, x), x, b.mul(x, b.input(1))));
  return {};
}

// x for x > 0, else alpha (e^(x / alpha) - 1)
Status expand_celu(ExpansionBuilder& b) {
  const std::string x = b.input(0);
  const double alpha = alpha_of(b.node(), 1.0);
  if (alpha == 0) return unreadable("alpha is 0");
  const std::string elu = apply(b, "Elu", b.div(x, number_like(b, alpha, x)));
  b.set_output(0, select(b, is_positive(b, x), x, b.scale(elu, alpha)));
  return {};
}

// x max(0, min(1, x / 6 + 1 / 2))
Status expand_hard_swish(ExpansionBuilder& b) {
  const std::string gate =
      b.append("gate", "HardSigmoid", {b.input(0)}, {{"alpha", 1.0 / 6}, {"beta", 0.5}});
  b.set_output(0, b.mul(b.input(0), gate));
  return {};
}

Status expand_mish(ExpansionBuilder& b) {
  const std::string x = b.input(0);
  b.set_output(0, b.mul(x, apply(b, "Tanh", apply(b, "Softplus", x))));
  return {};
}

Status expand_softsign(ExpansionBuilder& b) {
  const std::string x = b.input(0);
  b.set_output(0, b.div(x, b.offset(apply(b, "Abs", x), 1)));
  return {};
}

Status expand_thresholded_relu(ExpansionBuilder& b) {
  const std::string x = b.input(0);
  const std::string threshold = number_like(b, alpha_of(b.node(), 1.0), x);
  b.set_output(0, masked(b, b.append("above", "Greater", {x, threshold}), x));
  return {};
}

// A function of one floating tensor, counted as one operation an element.
OpDef activation(std::string_view name, std::vector<AttributeDef> attributes,
                 std::string_view summary) {
  return {.name = name,
          .attributes = std::move(attributes),
          .infer = infer_like_first<Elements::kFloating>,
          .flops = one_per_element,
          .summary = summary};
}

OpDef with_gradient(OpDef row, Status (*gradient)(GradientBuilder&)) {
  row.gradient = gradient;
  return row;
}

OpDef with_expansion(OpDef row, Status (*expand)(ExpansionBuilder&)) {
  row.expand = expand;
  return row;
}

OpDef gelu_row() {
  OpDef row = activation("Gelu", {{"approximate", kString}},
                         "x times the normal distribution at x, approximate: none or tanh (opset "
                         "20)");
  row.infer = infer_gelu;
  row.expand = expand_gelu;
  return row;
}

}  // namespace

std::vector<OpDef> activation_rows() {
  return {
      with_gradient(activation("Elu", {{"alpha", kFloat}}, "x, below 0 alpha (1.0) * (e^x - 1)"),
                    gradient_of_elu),
      with_gradient(activation("Selu", {{"alpha", kFloat}, {"gamma", kFloat}},
                               "gamma (1.0507) * x, below 0 gamma * alpha (1.6733) * (e^x - 1)"),
                    gradient_of_selu),
      with_gradient(activation("LeakyRelu", {{"alpha", kFloat}}, "x, below 0 alpha (0.01) * x"),
                    gradient_of_leaky_relu),
      with_gradient(activation("Softplus", {}, "log(1 + e^x)"), gradient_of_softplus),
      with_gradient(activation("HardSigmoid", {{"alpha", kFloat}, {"beta", kFloat}},
                               "alpha (0.2) * x + beta (0.5), kept in [0, 1]"),
                    gradient_of_hard_sigmoid),
      gelu_row(),
      {.name = "Clip",
       .max_inputs = 3,
       .infer = infer_clip,
       .flops = clip_flops,
       .gradient = gradient_of_clip,
       .summary = "The first input kept between the second, min, and the third, max"},
      {.name = "PRelu",
       .min_inputs = 2,
       .max_inputs = 2,
       .infer = infer_prelu,
       .flops = one_per_element,
       .expand = expand_prelu,
       .summary = "x, below 0 x times the second input, which broadcasts to x"},
      with_expansion(
          activation("Celu", {{"alpha", kFloat}}, "x, below 0 alpha (1.0) * (e^(x / alpha) - 1)"),
          expand_celu),
      with_expansion(activation("HardSwish", {}, "x times HardSigmoid of slope 1/6"),
                     expand_hard_swish),
      with_expansion(activation("Mish", {}, "x tanh(log(1 + e^x)) (opset 18)"), expand_mish),
      with_expansion(activation("Softsign", {}, "x / (1 + |x|)"), expand_softsign),
      with_expansion(
          activation("ThresholdedRelu", {{"alpha", kFloat}}, "x above alpha (1.0), else 0"),
          expand_thresholded_relu),
  };
}

}  // namespace gradstone
