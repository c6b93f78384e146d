// SPDX-License-Identifier: Apache-2.0
// Caffe's default MNIST network and settings, as benchmarked by Liu et al. (ICDCS 2018).
#include "recipe/workload.h"

#include "graph/builder.h"

namespace gradstone::workloads {
namespace {

// No activation follows the convolutions, as in the original.
Result<Graph> build(std::int64_t batch) {
  const Initializer xavier = Initializer::xavier_fan_in();
  GraphBuilder b("lenet-caffe");
  Value x = b.input(kImageInput, DType::kFloat32, {batch, 1, 28, 28});
  const Value labels = b.input(kLabelInput, DType::kInt64, {batch});
  x = b.conv("conv1", x, {.filters = 20, .kernel = 5, .weight_init = xavier});
  x = b.max_pool("pool1", x, {.kernel = 2});
  x = b.conv("conv2", x, {.filters = 50, .kernel = 5, .weight_init = xavier});
  x = b.max_pool("pool2", x, {.kernel = 2});
  x = b.relu("relu1", b.dense("fc1", x, {.units = 500, .weight_init = xavier}));
  x = b.dense("fc2", x, {.units = 10, .weight_init = xavier});
  const Value logits = b.rename(x, kLogitsValue);
  return b.finish({b.softmax_cross_entropy(kLossValue, logits, labels), logits});
}

// 10,000 iterations of 64 in the paper, which is 10.67 epochs; here whole epochs. Caffe reads on
// from the start of the data where an epoch ends inside a batch.
Recipe recipe() {
  Recipe recipe;
  Optimizer& sgd = recipe.optimizers[0].optimizer;
  sgd.rule = Rule::kMomentum;
  sgd.momentum = 0.9;
  sgd.rate_in_velocity = true;
  sgd.weight_decay = 5e-4;
  Schedule& schedule = recipe.optimizers[0].schedule;
  schedule.kind = ScheduleKind::kInverse;
  schedule.base = 0.01;
  schedule.factor = 1e-4;
  schedule.power = 0.75;
  recipe.groups = {{.pattern = "*.bias", .rate_multiplier = 2}};
  recipe.batch = 64;
  recipe.evaluation_batch = 100;
  recipe.epochs = 11;
  recipe.last_batch = LastBatch::kWrap;
  recipe.preprocess.scale = 1.0 / 256;
  return recipe;
}

}  // namespace

Workload make_lenet_caffe() {
  WorkloadSize size;
  size.name = "small";
  size.summary = "the paper's network, its only size";
  size.input = {{1, 28, 28}, 10};
  size.expected = {.parameters = 431080, .forward_multiply_adds = 2293000};
  size.recipe = recipe();
  size.default_data = "fashion-mnist";
  size.build = build;
  return {"lenet-caffe",
          "MNIST network of Caffe's defaults: SGD with momentum, weight decay",
          "Liu et al., Benchmarking Deep Learning Frameworks, ICDCS 2018, 10.1109/ICDCS.2018.00125",
          {size}};
}

}  // namespace gradstone::workloads
