// SPDX-License-Identifier: Apache-2.0
#include "graph/recurrent.h"

#include <algorithm>

#include "base/suggest.h"
#include "graph/shape_rules.h"

namespace gradstone {
namespace {

struct RecurrentKind {
  std::string_view op;
  std::int64_t gates;
  std::vector<std::string_view> activations;  // defaults of one direction
};

const RecurrentKind& kind_of(const Node& node) {
  static const std::vector<RecurrentKind> kinds = {{"LSTM", 4, {"Sigmoid", "Tanh", "Tanh"}},
                                                   {"GRU", 3, {"Sigmoid", "Tanh"}},
                                                   {"RNN", 1, {"Tanh"}}};
  for (const RecurrentKind& kind : kinds) {
    if (kind.op == node.op) return kind;
  }
  CHECK(false, "recurrence_of of another operator");
  return kinds[0];
}

// Defaults as those of the ONNX operators of the same names; Affine and ScaledTanh, which have
// none there, change nothing by default.
struct KnownActivation {
  std::string_view name;
  std::optional<double> alpha, beta;  // the default of a parameter that it has
};
const std::vector<KnownActivation>& known_activations() {
  static const std::vector<KnownActivation> known = {
      {"Relu", {}, {}},         {"Tanh", {}, {}},          {"Sigmoid", {}, {}},
      {"Affine", 1.0, 0.0},     {"LeakyRelu", 0.01, {}},   {"ThresholdedRelu", 1.0, {}},
      {"ScaledTanh", 1.0, 1.0}, {"HardSigmoid", 0.2, 0.5}, {"Elu", 1.0, {}},
      {"Softsign", {}, {}},     {"Softplus", {}, {}}};
  return known;
}

Result<const KnownActivation*> find_activation(const std::string& name) {
  std::vector<std::string_view> names;
  for (const KnownActivation& known : known_activations()) {
    if (known.name == name) return &known;
    names.push_back(known.name);
  }
  return unreadable("unknown activation '" + name + "'" + did_you_mean(name, names));
}

// activation_alpha and activation_beta are consumed in order, each by the functions that have such
// a parameter; what is left over keeps its default.
Result<std::vector<Activation>> activations_of(const Node& node, const RecurrentKind& kind,
                                               std::size_t directions) {
  std::vector<std::string> names = attribute_or(node, "activations", std::vector<std::string>{});
  if (names.empty()) {
    for (std::size_t i = 0; i < directions; ++i) {
      names.insert(names.end(), kind.activations.begin(), kind.activations.end());
    }
  }
  if (names.size() != directions * kind.activations.size()) {
    return unreadable("has " + std::to_string(names.size()) + " activations; expected " +
                      std::to_string(directions * kind.activations.size()));
  }
  const auto alphas = attribute_or(node, "activation_alpha", std::vector<double>{});
  const auto betas = attribute_or(node, "activation_beta", std::vector<double>{});
  std::size_t next_alpha = 0, next_beta = 0;
  const auto take = [](const std::optional<double>& fallback, const std::vector<double>& given,
                       std::size_t& next) {
    if (!fallback) return 0.0;
    return next < given.size() ? given[next++] : *fallback;
  };
  std::vector<Activation> activations;
  for (const std::string& name : names) {
    const KnownActivation* known = TRY(find_activation(name));
    const double alpha = take(known->alpha, alphas, next_alpha);
    activations.push_back({name, alpha, take(known->beta, betas, next_beta)});
  }
  return activations;
}

Status expect_shape(const NodeContext& context, std::size_t input, const Shape& shape,
                    std::string_view what) {
  if (input >= context.inputs.size() || context.inputs[input] == nullptr) return {};
  const TensorType& type = *context.inputs[input];
  if (type.shape != shape) {
    return unreadable(std::string(what) + " has shape " + to_string(type.shape) + "; expected " +
                      to_string(shape));
  }
  if (input == recurrent::kLengths) {
    if (type.dtype == DType::kInt32) return {};
    return unreadable(std::string(what) + " is " + std::string(name_of(type.dtype)) +
                      "; expected int32");
  }
  return expect_like_first(context, input, what);
}

Status check_shapes(const NodeContext& context, const Recurrence& r) {
  using namespace recurrent;
  const std::int64_t rows = saturating_product({r.gates, r.hidden});
  const Shape state = r.batch_first ? Shape{r.batch, r.directions, r.hidden}
                                    : Shape{r.directions, r.batch, r.hidden};
  TRY(expect_shape(context, kW, {r.directions, rows, r.inputs}, "W"));
  TRY(expect_shape(context, kR, {r.directions, rows, r.hidden}, "R"));
  TRY(expect_shape(context, kB, {r.directions, saturating_product({2, rows})}, "B"));
  TRY(expect_shape(context, kLengths, {r.batch}, "sequence_lens"));
  TRY(expect_shape(context, kInitialH, state, "initial_h"));
  TRY(expect_shape(context, kInitialC, state, "initial_c"));
  return expect_shape(context, kP, {r.directions, saturating_product({3, r.hidden})}, "P");
}

Result<bool> switch_attribute(const Node& node, std::string_view name) {
  const std::int64_t value = attribute_or(node, name, std::int64_t{0});
  if (value == 0 || value == 1) return value == 1;
  return unreadable("attribute '" + std::string(name) + "' is " + std::to_string(value) +
                    "; expected 0 or 1");
}

}  // namespace

Result<Recurrence> recurrence_of(const NodeContext& context) {
  const RecurrentKind& kind = kind_of(context.node);
  const TensorType &x = *context.inputs[recurrent::kX], &r = *context.inputs[recurrent::kR];
  TRY(expect_floating(context, 0, "X"));
  TRY(expect_rank(x, 3, "X"));
  TRY(expect_rank(r, 3, "R"));
  const std::string direction =
      TRY(chosen(context.node, "direction", {"forward", "reverse", "bidirectional"}));
  Recurrence recurrence;
  recurrence.gates = kind.gates;
  recurrence.starts_last = direction == "reverse";
  recurrence.directions = direction == "bidirectional" ? 2 : 1;
  recurrence.batch_first = TRY(switch_attribute(context.node, "layout"));
  recurrence.steps = x.shape[recurrence.batch_first ? 1 : 0];
  recurrence.batch = x.shape[recurrence.batch_first ? 0 : 1];
  recurrence.inputs = x.shape[2];
  recurrence.hidden = attribute_or(context.node, "hidden_size", r.shape[2]);
  if (recurrence.hidden < 1) {
    return unreadable("hidden_size " + std::to_string(recurrence.hidden) + " is below 1");
  }
  if (context.node.attributes.count("clip") > 0) {
    recurrence.clip = attribute_or(context.node, "clip", 0.0);
    if (!(*recurrence.clip > 0)) return unreadable("clip must be above 0");
  }
  recurrence.activations =
      TRY(activations_of(context.node, kind, static_cast<std::size_t>(recurrence.directions)));
  TRY(check_shapes(context, recurrence));
  return recurrence;
}

}  // namespace gradstone
