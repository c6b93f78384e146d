// SPDX-License-Identifier: Apache-2.0
// ResNet-50 v1.5: He et al. 2016, table 1, with the stride of a block in its 3x3 convolution.
#include "recipe/workload.h"

#include "graph/builder.h"

namespace gradstone::workloads {
namespace {

struct Network {
  std::int64_t image = 224;  // height and width
  std::int64_t classes = 1000;
  std::int64_t width = 64;  // filters of the first stage; 64 is the paper's
};

struct ConvBn {
  std::int64_t filters, kernel, stride = 1;
  double first_scale = 1;  // value of the batch norm's weight before training
};

// A convolution without bias, padded to keep the size at stride 1, then batch norm.
Value conv_bn(GraphBuilder& b, const std::string& name, const std::string& bn_name, const Value& x,
              const ConvBn& options) {
  const Value y = b.conv(name, x,
                         {.filters = options.filters,
                          .kernel = options.kernel,
                          .stride = options.stride,
                          .pad = options.kernel / 2,
                          .bias = false,
                          .weight_init = Initializer::he_normal_fan_out()});
  return b.batch_norm(
      bn_name, y,
      {.running_variance = "sample", .weight_init = Initializer::constant(options.first_scale)});
}

// 1x1 to `width`, 3x3 with the stride, 1x1 to 4 `width`, beside the input or its projection. The
// last scale starts at 0, so that a block is the identity at first (Goyal et al. 2017, section
// 5.1): with it the small sizes, whose batches are small, learn within tens of steps.
Value bottleneck(GraphBuilder& b, const std::string& name, const Value& x, std::int64_t width,
                 std::int64_t stride) {
  Value y = conv_bn(b, name + ".conv1", name + ".bn1", x, {width, 1});
  y = b.relu(name + ".relu1", y);
  y = conv_bn(b, name + ".conv2", name + ".bn2", y, {width, 3, stride});
  y = b.relu(name + ".relu2", y);
  y = conv_bn(b, name + ".conv3", name + ".bn3", y, {4 * width, 1, 1, 0});
  Value shortcut = x;
  if (stride != 1 || b.extent(x, 1) != 4 * width) {
    shortcut = conv_bn(b, name + ".project", name + ".project_bn", x, {4 * width, 1, stride});
  }
  return b.relu(name + ".relu3", b.add(name + ".add", y, shortcut));
}

Result<Graph> build(const Network& network, std::int64_t batch) {
  constexpr int kBlocks[] = {3, 4, 6, 3};
  GraphBuilder b("resnet50");
  Value x = b.input(kImageInput, DType::kFloat32, {batch, 3, network.image, network.image});
  const Value labels = b.input(kLabelInput, DType::kInt64, {batch});
  x = b.relu("relu1", conv_bn(b, "conv1", "bn1", x, {network.width, 7, 2}));
  x = b.max_pool("pool1", x, {.kernel = 3, .stride = 2, .pad = 1});
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < kBlocks[stage]; ++block) {
      const std::string name =
          "stage" + std::to_string(stage + 1) + "." + std::to_string(block + 1);
      x = bottleneck(b, name, x, network.width << stage, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  x = b.global_average_pool("pool2", x);
  x = b.dense("fc", x, {.units = network.classes, .weight_init = Initializer::normal(0, 0.01)});
  const Value logits = b.rename(x, kLogitsValue);
  return b.finish({b.softmax_cross_entropy(kLossValue, logits, labels), logits});
}

Recipe recipe(std::int64_t batch, double rate) {
  Recipe recipe;
  Optimizer& sgd = recipe.optimizers[0].optimizer;
  sgd.rule = Rule::kMomentum;
  sgd.momentum = 0.9;
  sgd.weight_decay = 1e-4;
  recipe.optimizers[0].schedule.base = rate;
  recipe.batch = batch;
  recipe.evaluation_batch = batch;
  // Mean and deviation of ImageNet's colours, scaled to 0..1.
  recipe.preprocess.mean = {0.485, 0.456, 0.406};
  recipe.preprocess.deviation = {0.229, 0.224, 0.225};
  return recipe;
}

// A tenth of the rate after 30, 60 and 80 of 90 epochs of ImageNet's 1,281,167 images.
Recipe paper_recipe() {
  Recipe paper = recipe(32, 0.1);
  const std::int64_t steps_per_epoch = 1281167 / paper.batch;
  Schedule& schedule = paper.optimizers[0].schedule;
  schedule.kind = ScheduleKind::kMultiStep;
  schedule.factor = 0.1;
  schedule.boundaries = {30 * steps_per_epoch, 60 * steps_per_epoch, 80 * steps_per_epoch};
  paper.epochs = 90;
  return paper;
}

WorkloadSize size_of(std::string name, std::string summary, const Network& network,
                     const Recipe& recipe) {
  WorkloadSize size;
  size.name = std::move(name);
  size.summary = std::move(summary);
  size.input = {{3, network.image, network.image}, network.classes};
  size.recipe = recipe;
  size.default_data = "synthetic";
  size.build = [network](std::int64_t batch) { return build(network, batch); };
  return size;
}

}  // namespace

Workload make_resnet50() {
  WorkloadSize small = size_of("small", "full width on 64 x 64 images of 10 classes",
                               {.image = 64, .classes = 10}, recipe(8, 0.01));
  small.expected = {.parameters = 23528522, .forward_multiply_adds = 333664256};
  WorkloadSize tiny = size_of("tiny", "all layers at an eighth of the width, on 32 x 32 images",
                              {.image = 32, .classes = 10, .width = 8}, recipe(4, 0.003));
  tiny.expected = {.parameters = 376722, .forward_multiply_adds = 1569280};
  WorkloadSize paper = size_of("paper", "the paper's network on 224 x 224 images of 1000 classes",
                               {}, paper_recipe());
  paper.expected = {.parameters = 25557032, .forward_multiply_adds = 4089184256};
  return {
      "resnet50",
      "ResNet-50 v1.5 on images, SGD with momentum",
      "He et al., Deep Residual Learning for Image Recognition, CVPR 2016, 10.1109/CVPR.2016.90",
      {small, tiny, paper}};
}

}  // namespace gradstone::workloads
