// SPDX-License-Identifier: Apache-2.0
// Torch's default MNIST network and settings, as benchmarked by Liu et al. (ICDCS 2018).
#include "recipe/workload.h"

#include <cmath>

#include "graph/builder.h"

namespace gradstone::workloads {
namespace {

// Torch draws weights and biases of a layer from the same range, 1 / sqrt(fan in of the weight).
Initializer bias_init(std::int64_t fan_in) {
  const double limit = 1 / std::sqrt(static_cast<double>(fan_in));
  return Initializer::uniform(-limit, limit);
}

Value conv(GraphBuilder& b, std::string_view name, const Value& x, std::int64_t filters) {
  return b.conv(name, x,
                {.filters = filters,
                 .kernel = 5,
                 .weight_init = Initializer::fan_in_uniform(),
                 .bias_init = bias_init(b.extent(x, 1) * 25)});
}

Value dense(GraphBuilder& b, std::string_view name, const Value& x, std::int64_t units) {
  return b.dense(name, x,
                 {.units = units,
                  .weight_init = Initializer::fan_in_uniform(),
                  .bias_init = bias_init(b.extent(x, 1))});
}

Result<Graph> build(std::int64_t batch) {
  GraphBuilder b("lenet-torch");
  Value x = b.input(kImageInput, DType::kFloat32, {batch, 1, 32, 32});
  const Value labels = b.input(kLabelInput, DType::kInt64, {batch});
  x = b.tanh("tanh1", conv(b, "conv1", x, 32));
  x = b.max_pool("pool1", x, {.kernel = 3, .pad = 1});
  x = b.tanh("tanh2", conv(b, "conv2", x, 64));
  x = b.max_pool("pool2", x, {.kernel = 2});
  x = b.tanh("tanh3", dense(b, "fc1", b.flatten("flatten", x), 200));
  const Value logits = b.rename(dense(b, "fc2", x, 10), kLogitsValue);
  return b.finish({b.softmax_cross_entropy(kLossValue, logits, labels), logits});
}

Recipe recipe() {
  Recipe recipe;
  Schedule& schedule = recipe.optimizers[0].schedule;
  schedule.kind = ScheduleKind::kInverseTime;
  schedule.base = 0.05;
  schedule.factor = 5e-7;
  recipe.batch = 10;
  recipe.epochs = 20;
  // Mean and deviation over all pixels of MNIST's training images, scaled to 0..1.
  recipe.preprocess = {
      .height = 32, .width = 32, .scale = 1.0 / 255, .mean = {0.1307}, .deviation = {0.3081}};
  return recipe;
}

}  // namespace

Workload make_lenet_torch() {
  WorkloadSize size;
  size.name = "small";
  size.summary = "the paper's network, its only size; images padded to 32 x 32";
  size.input = {{1, 32, 32}, 10};
  size.expected = {.parameters = 169506, .forward_multiply_adds = 2587600};
  size.recipe = recipe();
  size.default_data = "fashion-mnist";
  size.build = build;
  return {"lenet-torch",
          "MNIST network of Torch's defaults: tanh, plain SGD, batches of 10",
          "Liu et al., Benchmarking Deep Learning Frameworks, ICDCS 2018, 10.1109/ICDCS.2018.00125",
          {size}};
}

}  // namespace gradstone::workloads
