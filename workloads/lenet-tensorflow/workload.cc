// SPDX-License-Identifier: Apache-2.0
// TensorFlow's default MNIST network and settings, as benchmarked by Liu et al. (ICDCS 2018).
#include "recipe/workload.h"

#include "graph/builder.h"

namespace gradstone::workloads {
namespace {

Result<Graph> build(std::int64_t batch) {
  const Initializer weights = Initializer::truncated_normal(0, 0.1);
  const Initializer biases = Initializer::constant(0.1);
  const auto conv = [&](std::int64_t filters) {
    return ConvOptions{
        .filters = filters, .kernel = 5, .pad = 2, .weight_init = weights, .bias_init = biases};
  };
  const auto dense = [&](std::int64_t units) {
    return DenseOptions{.units = units, .weight_init = weights, .bias_init = biases};
  };
  GraphBuilder b("lenet-tensorflow");
  Value x = b.input(kImageInput, DType::kFloat32, {batch, 1, 28, 28});
  const Value labels = b.input(kLabelInput, DType::kInt64, {batch});
  x = b.relu("relu1", b.conv("conv1", x, conv(32)));
  x = b.max_pool("pool1", x, {.kernel = 2});
  x = b.relu("relu2", b.conv("conv2", x, conv(64)));
  x = b.max_pool("pool2", x, {.kernel = 2});
  x = b.relu("relu3", b.dense("fc1", x, dense(1024)));
  x = b.dropout("dropout", x, 0.5);
  const Value logits = b.rename(b.dense("fc2", x, dense(10)), kLogitsValue);
  return b.finish({b.softmax_cross_entropy(kLossValue, logits, labels), logits});
}

// 20,000 iterations of 50 in the paper, which is 16.67 epochs; here whole epochs.
Recipe recipe() {
  Recipe recipe;
  Optimizer& adam = recipe.optimizers[0].optimizer;
  adam.rule = Rule::kAdam;
  adam.epsilon_place = EpsilonPlace::kOutsideHat;
  recipe.optimizers[0].schedule.base = 1e-4;
  recipe.batch = 50;
  recipe.epochs = 17;
  recipe.preprocess.scale = 1.0 / 255;
  return recipe;
}

}  // namespace

Workload make_lenet_tensorflow() {
  WorkloadSize size;
  size.name = "small";
  size.summary = "the paper's network, its only size";
  size.input = {{1, 28, 28}, 10};
  size.expected = {.parameters = 3274634, .forward_multiply_adds = 13883904};
  size.recipe = recipe();
  size.default_data = "fashion-mnist";
  size.build = build;
  return {"lenet-tensorflow",
          "MNIST network of TensorFlow's defaults: ReLU, dropout, Adam",
          "Liu et al., Benchmarking Deep Learning Frameworks, ICDCS 2018, 10.1109/ICDCS.2018.00125",
          {size}};
}

}  // namespace gradstone::workloads
