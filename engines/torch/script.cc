// SPDX-License-Identifier: Apache-2.0
#include "engines/torch/script.h"

#include <fmt/format.h>

#include <cmath>

#include "graph/node_rules.h"
#include "graph/reduction.h"
#include "graph/window.h"

namespace gradstone::torch_engine {
namespace {

using Integers = std::vector<std::int64_t>;

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string list(const Integers& numbers) {
  return fmt::format("[{}]", fmt::join(numbers.begin(), numbers.end(), ", "));
}

std::string number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return fmt::format("{}", value);
}

std::string literal(const TensorRef& tensor) {
  std::string numbers;
  for (std::int64_t i = 0; i < tensor.type.elements(); ++i) {
    numbers += (i > 0 ? ", " : "") + number(element_as_double(tensor, i));
  }
  return fmt::format("tensor(torch.{}, {}, [{}])", name_of(tensor.type.dtype),
                     list(tensor.type.shape), numbers);
}

// One node as it is written.
struct Writing {
  NodeContext context;
  const ValueTypes& types;

  const Node& node() const { return context.node; }
  bool has(std::size_t i) const { return i < node().inputs.size() && !node().inputs[i].empty(); }
  std::string input(std::size_t i) const {
    return has(i) ? "v[" + quoted(node().inputs[i]) + "]" : "None";
  }
  const Shape& shape(std::size_t i) const { return context.inputs[i]->shape; }
  const Shape& output_shape() const { return types.find(node().outputs[0])->second.shape; }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const {
    return attribute_or(node(), name, otherwise);
  }
  std::string real(std::string_view name, double otherwise) const {
    return number(attribute_or(node(), name, otherwise));
  }
};

// Python that computes output 0; further outputs stand in `more`.
using Expression = Result<std::string>;

// F.pad takes the last axis first. A symmetric padding is left to the operator.
std::string padded(const std::string& x, const Window& window, const char* value) {
  Integers pads;
  for (std::size_t axis = window.pads_begin.size(); axis-- > 0;) {
    pads.push_back(window.pads_begin[axis]);
    pads.push_back(window.pads_end[axis]);
  }
  return fmt::format("F.pad({}, {}, value={})", x, list(pads), value);
}

Expression conv(const Writing& w) {
  const Shape& weight = w.shape(1);
  const Shape kernel(weight.begin() + 2, weight.end());
  const Shape extents(w.shape(0).begin() + 2, w.shape(0).end());
  const Window window = TRY(window_of(w.node(), kernel, extents));
  const bool symmetric = window.pads_begin == window.pads_end;
  const std::string x = symmetric ? w.input(0) : padded(w.input(0), window, "0.0");
  const Integers padding = symmetric ? window.pads_begin : Integers(kernel.size(), 0);
  return fmt::format("F.conv{}d({}, {}, {}, stride={}, padding={}, dilation={}, groups={})",
                     kernel.size(), x, w.input(1), w.input(2), list(window.strides), list(padding),
                     list(window.dilations), w.integer("group", 1));
}

Result<Window> pooling_window(const Writing& w) {
  return pooling_window_of(w.node(), Shape(w.shape(0).begin() + 2, w.shape(0).end()));
}

Expression max_pool(const Writing& w) {
  const Window window = TRY(pooling_window(w));
  return fmt::format("F.max_pool{}d({}, {}, stride={}, dilation={}, ceil_mode={})",
                     window.kernel.size(), padded(w.input(0), window, "-inf"), list(window.kernel),
                     list(window.strides), list(window.dilations),
                     w.integer("ceil_mode", 0) != 0 ? "True" : "False");
}

Expression average_pool(const Writing& w) {
  const Window window = TRY(pooling_window(w));
  if (window.pads_begin != window.pads_end) return unsupported("asymmetric padding");
  return fmt::format(
      "F.avg_pool{}d({}, {}, stride={}, padding={}, ceil_mode={}, count_include_pad={})",
      window.kernel.size(), w.input(0), list(window.kernel), list(window.strides),
      list(window.pads_begin), w.integer("ceil_mode", 0) != 0 ? "True" : "False",
      w.integer("count_include_pad", 0) != 0 ? "True" : "False");
}

Expression global_average_pool(const Writing& w) {
  Integers axes;
  for (std::size_t axis = 2; axis < w.shape(0).size(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  return fmt::format("{}.mean({}, keepdim=True)", w.input(0), list(axes));
}

Expression gemm(const Writing& w) {
  const char* a = w.integer("transA", 0) != 0 ? ".t()" : "";
  const char* b = w.integer("transB", 0) != 0 ? ".t()" : "";
  std::string text =
      fmt::format("{} * torch.mm({}{}, {}{})", w.real("alpha", 1), w.input(0), a, w.input(1), b);
  if (w.has(2)) text += fmt::format(" + {} * {}", w.real("beta", 1), w.input(2));
  return text;
}

Expression reshaped(const Writing& w) {
  return fmt::format("{}.reshape({})", w.input(0), list(w.output_shape()));
}

Expression transpose(const Writing& w) {
  Integers order;
  for (std::size_t axis = w.shape(0).size(); axis-- > 0;) {
    order.push_back(static_cast<std::int64_t>(axis));
  }
  return fmt::format("{}.permute({})", w.input(0), list(attribute_or(w.node(), "perm", order)));
}

Expression concat(const Writing& w) {
  std::string parts;
  for (std::size_t i = 0; i < w.node().inputs.size(); ++i) {
    parts += (i > 0 ? ", " : "") + w.input(i);
  }
  return fmt::format("torch.cat([{}], {})", parts, w.integer("axis", 0));
}

Expression reduction(const Writing& w, const char* function) {
  const Reduction reduction = TRY(reduction_of(w.context));
  if (reduction.axes.empty()) return w.input(0) + ".clone()";
  const Integers axes(reduction.axes.begin(), reduction.axes.end());
  return fmt::format("{}.{}({}, keepdim={})", w.input(0), function, list(axes),
                     reduction.keep_dims ? "True" : "False");
}

Expression batch_norm(const Writing& w) {
  const bool training = w.integer("training_mode", 0) != 0;
  return fmt::format("F.batch_norm({}, {}.clone(), {}.clone(), {}, {}, training={}, eps={})",
                     w.input(0), w.input(3), w.input(4), w.input(1), w.input(2),
                     training ? "True" : "False", w.real("epsilon", 1e-5));
}

Expression lrn(const Writing& w) {
  const std::int64_t size = w.integer("size", 1);
  if (size % 2 == 0) return unsupported("an even size, which torch centres elsewhere");
  return fmt::format("F.local_response_norm({}, {}, alpha={}, beta={}, k={})", w.input(0), size,
                     w.real("alpha", 1e-4), w.real("beta", 0.75), w.real("bias", 1));
}

Expression cross_entropy(const Writing& w) {
  return fmt::format("F.cross_entropy({}, {}.long(), {}, ignore_index={}, reduction={})",
                     w.input(0), w.input(1), w.input(2), w.integer("ignore_index", -100),
                     quoted(attribute_or(w.node(), "reduction", std::string_view("mean"))));
}

Expression softmax(const Writing& w, const char* function) {
  return fmt::format("F.{}({}, {})", function, w.input(0), w.integer("axis", -1));
}

struct Row {
  std::string_view op;
  Expression (*write)(const Writing&);
};

// What has a function of one name for it.
struct Plain {
  std::string_view op, pattern;  // {0} and {1} are the inputs
};
constexpr Plain kPlain[] = {
    {"Relu", "torch.relu({0})"},
    {"Tanh", "torch.tanh({0})"},
    {"Sigmoid", "torch.sigmoid({0})"},
    {"Exp", "torch.exp({0})"},
    {"Log", "torch.log({0})"},
    {"Sqrt", "torch.sqrt({0})"},
    {"Neg", "-{0}"},
    {"Abs", "torch.abs({0})"},
    {"Erf", "torch.erf({0})"},
    {"Reciprocal", "torch.reciprocal({0})"},
    {"Softplus", "F.softplus({0})"},
    {"Identity", "{0}.clone()"},
    {"Sign", "torch.sign({0})"},
    {"Add", "{0} + {1}"},
    {"Sub", "{0} - {1}"},
    {"Mul", "{0} * {1}"},
    {"Div", "{0} / {1}"},
    {"Pow", "torch.pow({0}, {1})"},
    {"MatMul", "torch.matmul({0}, {1})"},
};

constexpr Row kRows[] = {
    {"Conv", conv},
    {"MaxPool", max_pool},
    {"AveragePool", average_pool},
    {"GlobalAveragePool", global_average_pool},
    {"Gemm", gemm},
    {"Reshape", reshaped},
    {"Flatten", reshaped},
    {"Squeeze", reshaped},
    {"Unsqueeze", reshaped},
    {"Transpose", transpose},
    {"Concat", concat},
    {"ReduceMean", [](const Writing& w) { return reduction(w, "mean"); }},
    {"ReduceSum", [](const Writing& w) { return reduction(w, "sum"); }},
    {"BatchNormalization", batch_norm},
    {"LRN", lrn},
    {"SoftmaxCrossEntropyLoss", cross_entropy},
    {"Softmax", [](const Writing& w) { return softmax(w, "softmax"); }},
    {"LogSoftmax", [](const Writing& w) { return softmax(w, "log_softmax"); }},
    {"Elu",
     [](const Writing& w) -> Expression {
       return fmt::format("F.elu({}, {})", w.input(0), w.real("alpha", 1));
     }},
    {"LeakyRelu",
     [](const Writing& w) -> Expression {
       return fmt::format("F.leaky_relu({}, {})", w.input(0), w.real("alpha", 0.01));
     }},
    {"Selu",
     [](const Writing& w) -> Expression {
       if (w.node().attributes.empty()) return fmt::format("F.selu({})", w.input(0));
       return fmt::format("{} * F.elu({}, {})", w.real("gamma", 1.0507009873554805), w.input(0),
                          w.real("alpha", 1.6732632423543772));
     }},
};

Expression expression(const Writing& w) {
  for (const Plain& plain : kPlain) {
    if (plain.op == w.node().op) {
      return fmt::format(fmt::runtime(plain.pattern), w.input(0), w.input(1));
    }
  }
  for (const Row& row : kRows) {
    if (row.op == w.node().op) return row.write(w);
  }
  return unsupported("no function of torch's Python is its like");
}

std::string assigned(const std::string& value, const std::string& text) {
  return "v[" + quoted(value) + "] = " + text + "\n";
}

// Running statistics and logarithms: what further outputs are.
Expression further_output(const Writing& w, std::size_t index) {
  const Node& node = w.node();
  if (node.op == "SoftmaxCrossEntropyLoss") return "F.log_softmax(" + w.input(0) + ", 1)";
  if (node.op != "BatchNormalization") return unsupported("its further outputs are not written");
  Integers axes = {0};
  for (std::size_t axis = 2; axis < w.shape(0).size(); ++axis) {
    axes.push_back(static_cast<std::int64_t>(axis));
  }
  const bool sample = attribute_or(node, "running_variance", std::string_view()) == "sample";
  const std::string x = w.input(0) + ".detach()";
  const std::string batch =
      index == 1 ? fmt::format("{}.mean({})", x, list(axes))
                 : fmt::format("{}.var({}, unbiased={})", x, list(axes), sample ? "True" : "False");
  const double momentum = attribute_or(node, "momentum", 0.9);
  return fmt::format("{} * {} + {} * {}", number(momentum), w.input(index + 2),
                     number(1 - momentum), batch);
}

Result<std::string> node_text(const Writing& w) {
  const Node& node = w.node();
  std::string text = fmt::format("# {}: {}\n", node.name, node.op);
  text += assigned(node.outputs[0], TRY(expression(w)));
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty()) text += assigned(node.outputs[i], TRY(further_output(w, i)));
  }
  return text;
}

Result<std::string> nodes_text(const Graph& graph) {
  const ValueTypes types = TRY(check_graph(graph));
  const ConstantMap constants = constants_of(graph);
  std::string text;
  for (const Node& node : graph.nodes) {
    const std::string place = "node " + node.name + " (" + node.op + ")";
    const OpDef* op = TRY(op_of(node));
    const NodeInputs inputs(node, *op, types, constants);
    text += TRY(node_text({inputs.context(), types}).within(place));
  }
  return text;
}

std::string values_text(const ScriptRequest& request) {
  std::string text;
  for (const auto& [name, tensor] : request.values) {
    const bool judged = name.starts_with("expected/") || name.starts_with("allowed/");
    if (!judged) text += assigned(name, literal(tensor));
  }
  for (const Constant& constant : request.program.graph.constants) {
    text += assigned(constant.name, literal(constant.value.ref()));
  }
  return text;
}

std::string backward_text(const BackwardSpec& backward) {
  std::string values, cotangents, text;
  for (const std::string& value : backward.from) {
    values += (values.empty() ? "" : ", ") + ("v[" + quoted(value) + "]");
    cotangents += (cotangents.empty() ? "" : ", ") + ("v[" + quoted("cotangent/" + value) + "]");
  }
  text += fmt::format("torch.autograd.backward([{}], [{}])\n", values, cotangents);
  for (const std::string& name : backward.wrt) {
    text +=
        fmt::format("v[{}] = v[{}].grad if v[{}].grad is not None else torch.zeros_like(v[{}])\n",
                    quoted("gradient/" + name), quoted(name), quoted(name), quoted(name));
  }
  return text;
}

std::string judgement_text(const ScriptRequest& request) {
  std::string text = "expected, allowed = {}, {}\n";
  for (const auto& [name, tensor] : request.values) {
    for (const std::string prefix : {"expected", "allowed"}) {
      if (!name.starts_with(prefix + "/")) continue;
      text += fmt::format("{}[{}] = {}\n", prefix, quoted(name.substr(prefix.size() + 1)),
                          literal(tensor));
    }
  }
  return text;
}

constexpr const char* kHead = R"(#!/usr/bin/env python3
# What torch makes of a small graph with ONNX semantics, forward and backward, and what it should be: plain kernels in
# float64. Needs torch only. Exit code 1: something differs by more than is allowed.
import sys
import torch
import torch.nn.functional as F
from math import inf, nan


def tensor(dtype, shape, values):
    return torch.tensor(values, dtype=torch.float64).to(dtype).reshape(shape)


v = {}
)";

constexpr const char* kTail = R"(
print("torch", torch.__version__)
wrong = False
for name, right in expected.items():
    value = v[name].detach()
    gap = (value.double() - right.double()).abs().max().item() if value.numel() else 0.0
    departs = not gap <= allowed[name].item()
    wrong = wrong or departs
    print(f"{name}: off by {gap:.3g}, allowed {allowed[name].item():.3g}{'  <-- WRONG' if departs else ''}")
    if departs and value.numel() <= 20:
        print("  computed", value.flatten().tolist())
        print("  expected", right.flatten().tolist())
sys.exit(1 if wrong else 0)
)";

}  // namespace

Result<Script> python_script(const ScriptRequest& request) {
  std::string text = kHead + values_text(request);
  if (request.program.backward) {
    for (const std::string& name : request.program.backward->wrt) {
      text += fmt::format("v[{}].requires_grad_(True)\n", quoted(name));
    }
  }
  text += "\n" + TRY(nodes_text(request.program.graph));
  if (request.program.backward) text += "\n" + backward_text(*request.program.backward);
  text += "\n" + judgement_text(request) + kTail;
  return Script{"reproduce.py", std::move(text)};
}

}  // namespace gradstone::torch_engine
