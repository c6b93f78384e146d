// SPDX-License-Identifier: Apache-2.0
// Writes a graph layer by layer: shapes are inferred while building, so that a layer knows its
// input channels. Not for changing a graph that exists: passes.h.
//
//   GraphBuilder b("lenet");
//   Value image = b.input("image", DType::kFloat32, {64, 1, 28, 28});
//   Value x = b.max_pool("pool1", b.conv("conv1", image, {.filters = 20, .kernel = 5}), {.kernel =
//   2}); Value logits = b.dense("fc", x, {.units = 10}); Result<Graph> graph = b.finish({logits});
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace gradstone {

// A value of the graph under construction, by name. One without a name is an absent optional input.
struct Value {
  std::string name;
};

// Of a window on images: one number for both axes, or {height, width}.
struct Extent2 {
  std::int64_t height, width;
  Extent2(std::int64_t both) : height(both), width(both) {}  // NOLINT(google-explicit-constructor)
  Extent2(std::int64_t height, std::int64_t width) : height(height), width(width) {}
};

struct ConvOptions {
  std::int64_t filters = 0;
  Extent2 kernel = 1;
  Extent2 stride = 1;
  Extent2 pad = 0;       // zeros before and after each axis
  std::string auto_pad;  // ONNX's "SAME_UPPER", "SAME_LOWER", "VALID"; in place of `pad`
  Extent2 dilation = 1;
  std::int64_t groups = 1;
  bool bias = true;
  Initializer weight_init = Initializer::he_normal();
  Initializer bias_init = Initializer::constant(0);
};

struct DenseOptions {
  std::int64_t units = 0;
  bool bias = true;
  Initializer weight_init = Initializer::xavier_uniform();
  Initializer bias_init = Initializer::constant(0);
};

struct BatchNormOptions {
  double momentum = 0.9;  // ONNX's: running = momentum * running + (1 - momentum) * batch
  double epsilon = 1e-5;
  // What running_var gathers: "population" (divided by n, ONNX) or "sample" (by n - 1).
  std::string running_variance = "population";
  Initializer weight_init = Initializer::constant(1);
};

struct PoolOptions {
  Extent2 kernel = 2;
  Extent2 stride = 0;  // 0: as kernel
  Extent2 pad = 0;
  bool ceil_mode = false;
  bool count_include_pad = false;  // average only
};

struct LrnOptions {
  std::int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, bias = 1;
};

// Every layer takes first the name of its node, which its value bears too; weights are
// `name.weight` and so on. The first error is kept, later calls do nothing and finish() returns it.
// Images are [batch, channels, height, width].
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string graph_name);

  Value input(std::string_view name, DType dtype, Shape shape);
  Value weight(std::string_view name, Shape shape, Initializer initializer, bool trainable = true);
  Value constant(std::string_view name, Tensor value);

  // Any operator, for what has no function below; append() also for several outputs or a domain.
  Value node(std::string_view name, std::string_view op, const std::vector<Value>& inputs,
             std::map<std::string, Attribute> attributes = {});
  void append(Node node);

  Value conv(std::string_view name, const Value& x, const ConvOptions& options);
  // x flattened to [batch, rest] if it has more axes. Weight [units, rest].
  Value dense(std::string_view name, const Value& x, const DenseOptions& options);
  // In training form: weights name.weight, name.bias; states name.running_mean, name.running_var.
  Value batch_norm(std::string_view name, const Value& x, const BatchNormOptions& options = {});
  // In training form; each element is kept with probability 1 - ratio and divided by it.
  Value dropout(std::string_view name, const Value& x, double ratio);
  Value lrn(std::string_view name, const Value& x, const LrnOptions& options = {});

  Value relu(std::string_view name, const Value& x) { return node(name, "Relu", {x}); }
  Value tanh(std::string_view name, const Value& x) { return node(name, "Tanh", {x}); }
  Value sigmoid(std::string_view name, const Value& x) { return node(name, "Sigmoid", {x}); }

  Value max_pool(std::string_view name, const Value& x, const PoolOptions& options);
  Value average_pool(std::string_view name, const Value& x, const PoolOptions& options);
  Value global_average_pool(std::string_view name, const Value& x) {
    return node(name, "GlobalAveragePool", {x});
  }

  Value add(std::string_view name, const Value& a, const Value& b) {
    return node(name, "Add", {a, b});
  }
  Value sub(std::string_view name, const Value& a, const Value& b) {
    return node(name, "Sub", {a, b});
  }
  Value mul(std::string_view name, const Value& a, const Value& b) {
    return node(name, "Mul", {a, b});
  }
  Value div(std::string_view name, const Value& a, const Value& b) {
    return node(name, "Div", {a, b});
  }
  Value matmul(std::string_view name, const Value& a, const Value& b) {
    return node(name, "MatMul", {a, b});
  }

  Value reshape(std::string_view name, const Value& x, Shape shape);  // 0 keeps, -1 is inferred
  Value flatten(std::string_view name, const Value& x, std::int64_t axis = 1);
  Value transpose(std::string_view name, const Value& x, std::vector<std::int64_t> permutation);
  Value concat(std::string_view name, const std::vector<Value>& values, std::int64_t axis);
  Value gather(std::string_view name, const Value& x, const Value& indices, std::int64_t axis = 0);
  Value reduce_mean(std::string_view name, const Value& x, std::vector<std::int64_t> axes,
                    bool keep_axes = false);
  Value softmax(std::string_view name, const Value& x, std::int64_t axis = -1);
  Value log_softmax(std::string_view name, const Value& x, std::int64_t axis = -1);
  // Mean over the batch, a scalar. `logits` [batch, classes, ...], `labels` integers [batch, ...].
  Value softmax_cross_entropy(std::string_view name, const Value& logits, const Value& labels);

  // Gives the value another name than that of its node.
  Value rename(const Value& value, std::string_view name);
  void update_state(const Value& weight, const Value& value);

  // Of a value made so far; {} and 0 after an error.
  Shape shape(const Value& value) const;
  std::int64_t extent(const Value& value, std::size_t axis) const;

  // The graph, checked. Call once.
  Result<Graph> finish(const std::vector<Value>& outputs);

 private:
  bool failed() const { return !status_.ok(); }
  void fail(std::string_view node, std::string_view message);
  void add_type(const std::string& name, TensorType type);
  bool expect_rank(std::string_view node, const Value& x, std::size_t rank);
  Value pool(std::string_view name, std::string_view op, const Value& x,
             const PoolOptions& options);

  Graph graph_;
  ValueTypes types_;
  Status status_;
};

}  // namespace gradstone
