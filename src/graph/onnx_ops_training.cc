// SPDX-License-Identifier: Apache-2.0
// ONNX's domain for training, version 1: Gradient, which gradient_nodes.h replaces, and three
// optimizers, written in simpler operators. Formulas are those of ONNX's operator documentation.
#include "graph/expansion.h"
#include "graph/onnx_ops.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

using enum AttributeKind;
using Names = std::vector<std::string>;

constexpr double kEpsilon = 1e-6;  // where the attribute is absent, of Adagrad and Adam

// The gradient of y with respect to each of xs. That the names are values of the graph is for
// expand_gradients to check.
OutputTypes infer_gradient(const NodeContext& context) {
  const std::size_t xs = attribute_or(context.node, "xs", Names{}).size();
  const std::size_t zs = attribute_or(context.node, "zs", Names{}).size();
  if (xs == 0) return unreadable("xs names nothing");
  if (context.inputs.size() != xs + zs) {
    return unreadable("has " + std::to_string(context.inputs.size()) + " inputs; xs and zs name " +
                      std::to_string(xs + zs));
  }
  if (context.node.outputs.size() > xs) {
    return unreadable("has " + std::to_string(context.node.outputs.size()) + " outputs; xs names " +
                      std::to_string(xs));
  }
  std::vector<TensorType> outputs;
  for (std::size_t i = 0; i < xs; ++i) {
    TRY(expect_floating(context, i, "input " + std::to_string(i)));
    outputs.push_back(*context.inputs[i]);
  }
  return outputs;
}

// Inputs are R (the learning rate), T (how many updates came before), then for each of n tensors
// its value, then each one's gradient, then each one's states. Outputs are the new values, then
// the new states.
struct Group {
  std::size_t tensors = 0, kinds = 0;  // kinds: value, gradient, states
  std::size_t input(std::size_t kind, std::size_t tensor) const {
    return 2 + kind * tensors + tensor;
  }
  std::size_t output(std::size_t kind, std::size_t tensor) const {  // 0: value, 1...: states
    return kind * tensors + tensor;
  }
};

Group group_of(const Node& node) {
  Group group;
  group.kinds = node.op == "Adam" ? 4 : 3;
  group.tensors = (node.inputs.size() - 2) / group.kinds;
  return group;
}

OutputTypes infer_optimizer(const NodeContext& context) {
  const Group group = group_of(context.node);
  if (group.tensors == 0 || context.inputs.size() != group.input(group.kinds, 0)) {
    return unreadable("has " + std::to_string(context.inputs.size()) + " inputs; expected 2 and " +
                      std::to_string(group.kinds) + " for each tensor");
  }
  TRY(expect_floating(context, 0, "the learning rate R"));
  if (context.inputs[0]->elements() != 1 || context.inputs[1]->elements() != 1) {
    return unreadable("R and T must be one number each");
  }
  if (context.inputs[1]->dtype != DType::kInt64) return unreadable("T must be int64");
  std::vector<TensorType> outputs;
  for (std::size_t tensor = 0; tensor < group.tensors; ++tensor) {
    TRY(expect_floating(context, group.input(0, tensor), "X" + std::to_string(tensor + 1)));
    const TensorType& x = *context.inputs[group.input(0, tensor)];
    for (std::size_t kind = 1; kind < group.kinds; ++kind) {
      const TensorType& other = *context.inputs[group.input(kind, tensor)];
      if (other == x) continue;
      return unreadable("input " + std::to_string(group.input(kind, tensor)) + " is " +
                        to_string(other) + ", the tensor it belongs to " + to_string(x));
    }
    outputs.push_back(x);
  }
  const std::vector<TensorType> values = outputs;
  for (std::size_t kind = 2; kind < group.kinds; ++kind) {
    outputs.insert(outputs.end(), values.begin(), values.end());
  }
  if (context.node.outputs.size() > outputs.size()) {
    return unreadable("has " + std::to_string(context.node.outputs.size()) + " outputs; expected " +
                      std::to_string(outputs.size()));
  }
  return outputs;
}

OutputTypes infer_momentum(const NodeContext& context) {
  TRY(chosen(context.node, "mode", {"standard", "nesterov"}));
  return infer_optimizer(context);
}

// What an expansion works with.
struct Update {
  ExpansionBuilder& b;
  Group group;
  std::size_t tensor = 0;

  double number(std::string_view name, double fallback) const {
    return attribute_or(b.node(), name, fallback);
  }
  std::string x() const { return b.input(group.input(0, tensor)); }
  std::string state(std::size_t which) const { return b.input(group.input(2 + which, tensor)); }
  // The gradient with the penalty norm_coefficient / 2 * |X|^2.
  std::string gradient() const {
    const std::string g = b.input(group.input(1, tensor));
    const double coefficient = number("norm_coefficient", 0.0);
    return coefficient == 0 ? g : b.add(b.scale(x(), coefficient), g);
  }
  // A scalar of the learning rate's kind in the tensor's type.
  std::string scalar(const std::string& value) const {
    return b.cast(b.reshape(value, {}), b.type_of(x()).dtype);
  }
  void set(std::size_t kind, const std::string& value) const {
    b.set_output(group.output(kind, tensor), value);
  }
};

std::string square_root(ExpansionBuilder& b, const std::string& x) {
  return b.append("sqrt", "Sqrt", {x});
}
// R and T in double: differences such as 1 - beta^T would lose digits in single precision.
std::string in_double(ExpansionBuilder& b, std::size_t input) {
  return b.reshape(b.cast(b.input(input), DType::kFloat64), {});
}
// 1 where T > 0, else 0.
std::string after_first(ExpansionBuilder& b) {
  return b.append("step", "HeavisideStep", {in_double(b, 1)});
}
std::string one_minus(ExpansionBuilder& b, const std::string& x) {
  return b.sub(b.scalar(1, b.type_of(x).dtype), x);
}

template <class Rule>
Status expand_optimizer(ExpansionBuilder& b, Rule rule) {
  const Group group = group_of(b.node());
  for (std::size_t tensor = 0; tensor < group.tensors; ++tensor) rule(Update{b, group, tensor});
  return {};
}

// r = R / (1 + T decay_factor); H' = H + G^2; X' = X - r G / (sqrt(H') + epsilon)
// (Duchi et al. 2011)
Status expand_adagrad(ExpansionBuilder& b) {
  const double decay = attribute_or(b.node(), "decay_factor", 0.0);
  const std::string slowed = b.offset(b.scale(in_double(b, 1), decay), 1);
  const std::string rate = b.div(in_double(b, 0), slowed);
  return expand_optimizer(b, [&](const Update& u) {
    const std::string g = u.gradient();
    const std::string h = b.add(u.state(0), b.mul(g, g));
    const std::string scale = b.offset(square_root(b, h), u.number("epsilon", kEpsilon));
    u.set(0, b.sub(u.x(), b.div(b.mul(u.scalar(rate), g), scale)));
    u.set(1, h);
  });
}

// V' = alpha V + beta G, in the first update alpha V + G; X' = X - R V', or with mode nesterov
// X' = X - R (G + alpha V')
Status expand_momentum(ExpansionBuilder& b) {
  const double alpha = attribute_or(b.node(), "alpha", 0.0);
  const double beta = attribute_or(b.node(), "beta", 1.0);
  const bool nesterov = attribute_or(b.node(), "mode", "standard") == "nesterov";
  const std::string factor = b.offset(b.scale(after_first(b), beta - 1), 1);
  return expand_optimizer(b, [&](const Update& u) {
    const std::string g = u.gradient();
    const std::string v = b.add(b.scale(u.state(0), alpha), b.mul(u.scalar(factor), g));
    const std::string direction = nesterov ? b.add(g, b.scale(v, alpha)) : v;
    u.set(0, b.sub(u.x(), b.mul(u.scalar(b.input(0)), direction)));
    u.set(1, v);
  });
}

// V' = alpha V + (1 - alpha) G; H' = beta H + (1 - beta) G^2;
// r = R sqrt(1 - beta^T) / (1 - alpha^T), or R where T = 0;
// X' = (1 - norm_coefficient_post) (X - r V' / (sqrt(H') + epsilon))     (Kingma and Ba 2015)
Status expand_adam(ExpansionBuilder& b) {
  const double alpha = attribute_or(b.node(), "alpha", 0.9);
  const double beta = attribute_or(b.node(), "beta", 0.999);
  const auto bias = [&](double base) {  // 1 - base^T
    const std::string power =
        b.append("pow", "Pow", {b.scalar(base, DType::kFloat64), in_double(b, 1)});
    return one_minus(b, power);
  };
  const std::string later = after_first(b), first = one_minus(b, later);
  const std::string correction = b.div(square_root(b, bias(beta)), b.add(bias(alpha), first));
  const std::string rate = b.mul(in_double(b, 0), b.add(b.mul(later, correction), first));
  return expand_optimizer(b, [&](const Update& u) {
    const std::string g = u.gradient();
    const std::string v = b.add(b.scale(u.state(0), alpha), b.scale(g, 1 - alpha));
    const std::string h = b.add(b.scale(u.state(1), beta), b.scale(b.mul(g, g), 1 - beta));
    const std::string scale = b.offset(square_root(b, h), u.number("epsilon", kEpsilon));
    const std::string x = b.sub(u.x(), b.div(b.mul(u.scalar(rate), v), scale));
    u.set(0, b.scale(x, 1 - u.number("norm_coefficient_post", 0.0)));
    u.set(1, v);
    u.set(2, h);
  });
}

// Operations an element; the few on R and T are not counted.
std::int64_t optimizer_flops(const NodeContext& context, std::span<const TensorType> outputs) {
  const Group group = group_of(context.node);
  const Node& node = context.node;
  const auto is_set = [&](std::string_view name) {
    return attribute_or(node, name, name == "epsilon" ? kEpsilon : 0.0) != 0;
  };
  std::int64_t each = is_set("norm_coefficient") ? 2 : 0;
  if (node.op == "Adagrad") each += 6 + (is_set("epsilon") ? 1 : 0);
  if (node.op == "Momentum") each += attribute_or(node, "mode", "standard") == "nesterov" ? 7 : 5;
  if (node.op == "Adam") {
    each += 11 + (is_set("epsilon") ? 1 : 0) + (is_set("norm_coefficient_post") ? 1 : 0);
  }
  std::int64_t elements = 0;
  for (std::size_t tensor = 0; tensor < group.tensors; ++tensor) {
    elements = saturating_sum(elements, outputs[tensor].elements());
  }
  return saturating_product({each, elements});
}

OpDef optimizer(std::string_view name, std::vector<AttributeDef> attributes,
                Status (*expand)(ExpansionBuilder&), std::string_view summary) {
  attributes.push_back({"norm_coefficient", kFloat});
  return {.name = name,
          .domain = kTrainingDomain,
          .min_inputs = 2,
          .max_inputs = kVariadic,
          .max_outputs = kVariadic,
          .attributes = std::move(attributes),
          .infer = infer_optimizer,
          .flops = optimizer_flops,
          .expand = expand,
          .summary = summary};
}

}  // namespace

std::vector<OpDef> training_rows() {
  std::vector<OpDef> rows = {
      {.name = "Gradient",
       .domain = kTrainingDomain,
       .max_inputs = kVariadic,
       .min_outputs = 0,
       .max_outputs = kVariadic,
       .attributes = {{"xs", kStrings, true}, {"y", kString, true}, {"zs", kStrings}},
       .infer = infer_gradient,
       .summary =
           "Gradient of value y with respect to each of values xs, at the inputs in place of "
           "xs and zs; replaced by the backward graph before anything runs"},
      optimizer("Adagrad", {{"decay_factor", kFloat}, {"epsilon", kFloat}}, expand_adagrad,
                "One update; inputs R, T, tensors X, gradients G, squared gradients H; outputs new "
                "X, new H"),
      optimizer(
          "Adam",
          {{"alpha", kFloat},
           {"beta", kFloat},
           {"epsilon", kFloat},
           {"norm_coefficient_post", kFloat}},
          expand_adam,
          "One update; inputs R, T, tensors X, gradients G, averages V, squares H; outputs new "
          "X, new V, new H"),
      optimizer("Momentum",
                {{"alpha", kFloat, true}, {"beta", kFloat, true}, {"mode", kString, true}},
                expand_momentum,
                "One update; inputs R, T, tensors X, gradients G, velocities V; outputs new X, new "
                "V"),
  };
  rows.back().infer = infer_momentum;
  return rows;
}

}  // namespace gradstone
