// SPDX-License-Identifier: Apache-2.0
// Training loops written by hand with ATen, as fast as one would write them: what the worker of
// engine torch is measured against. The networks and settings are those of workloads/lenet-caffe and
// workloads/resnet50 (small); the data is random and lies in memory.
//   usage: bench-aten-loop lenet-caffe|resnet50 THREADS WARM_UP_STEPS STEPS
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace {

struct Parameter {
  at::Tensor value, velocity;
  double rate_multiplier = 1;
};

// What both networks need: parameters, one training step, the size of a batch.
struct Loop {
  std::int64_t batch = 0;
  std::int64_t channels = 1, extent = 28;
  std::vector<Parameter> parameters;
  std::function<at::Tensor(const at::Tensor& image)> logits;
  std::function<void(std::vector<at::Tensor>& gradients, std::int64_t step)> update;

  at::Tensor parameter(const at::Tensor& value, double rate_multiplier = 1) {
    parameters.push_back({value, at::zeros_like(value), rate_multiplier});
    return parameters.back().value.set_requires_grad(true);
  }
};

at::Tensor normal(at::IntArrayRef shape, double deviation) {
  return at::randn(shape).mul_(deviation);
}

Loop lenet_caffe() {
  Loop loop;
  loop.batch = 64;
  const auto weight = [&](std::vector<std::int64_t> shape, double fan_in) {
    return loop.parameter(normal(shape, 1 / std::sqrt(fan_in)));
  };
  const auto bias = [&](std::int64_t n) { return loop.parameter(at::zeros({n}), 2); };
  const auto w1 = weight({20, 1, 5, 5}, 25), b1 = bias(20);
  const auto w2 = weight({50, 20, 5, 5}, 500), b2 = bias(50);
  const auto w3 = weight({500, 800}, 800), b3 = bias(500);
  const auto w4 = weight({10, 500}, 500), b4 = bias(10);
  loop.logits = [=](const at::Tensor& image) {
    at::Tensor x = at::max_pool2d(at::conv2d(image, w1, b1), 2, 2);
    x = at::max_pool2d(at::conv2d(x, w2, b2), 2, 2).flatten(1);
    return at::linear(at::relu(at::linear(x, w3, b3)), w4, b4);
  };
  return loop;
}

// Caffe's momentum: the velocity holds the learning rate of its time.
void update_lenet(std::vector<Parameter>& parameters, std::vector<at::Tensor>& gradients,
                  std::int64_t step) {
  const at::NoGradGuard no_grad;
  const double rate = 0.01 * std::pow(1 + 1e-4 * static_cast<double>(step), -0.75);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Parameter& p = parameters[i];
    gradients[i].add_(p.value, 5e-4);
    p.velocity.mul_(0.9).add_(gradients[i], rate * p.rate_multiplier);
    p.value.sub_(p.velocity);
  }
}

struct ConvBn {
  at::Tensor weight, scale, bias, mean, variance;
  std::int64_t stride, pad;

  at::Tensor operator()(const at::Tensor& x) const {
    return at::batch_norm(at::conv2d(x, weight, {}, stride, pad), scale, bias, mean, variance, true,
                          0.1, 1e-5, false);
  }
};

ConvBn conv_bn(Loop& loop, std::int64_t in, std::int64_t out, std::int64_t kernel,
               std::int64_t stride) {
  const double fan_out = static_cast<double>(out * kernel * kernel);
  return {loop.parameter(normal({out, in, kernel, kernel}, std::sqrt(2 / fan_out))),
          loop.parameter(at::ones({out})),
          loop.parameter(at::zeros({out})),
          at::zeros({out}),
          at::ones({out}),
          stride,
          kernel / 2};
}

struct Bottleneck {
  ConvBn reduce, spatial, expand;
  std::vector<ConvBn> project;  // none or one

  at::Tensor operator()(const at::Tensor& x) const {
    at::Tensor y = reduce(x).relu_();
    y = spatial(y).relu_();
    return expand(y).add_(project.empty() ? x : project[0](x)).relu_();
  }
};

Loop resnet50() {
  Loop loop;
  loop.batch = 8;
  loop.channels = 3;
  loop.extent = 64;
  const ConvBn stem = conv_bn(loop, 3, 64, 7, 2);
  std::vector<Bottleneck> blocks;
  std::int64_t in = 64;
  constexpr int kBlocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    for (int block = 0; block < kBlocks[stage]; ++block) {
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      Bottleneck b{conv_bn(loop, in, width, 1, 1),
                   conv_bn(loop, width, width, 3, stride),
                   conv_bn(loop, width, 4 * width, 1, 1),
                   {}};
      if (block == 0) b.project.push_back(conv_bn(loop, in, 4 * width, 1, stride));
      blocks.push_back(b);
      in = 4 * width;
    }
  }
  const auto fc = loop.parameter(normal({10, in}, 0.01)), bias = loop.parameter(at::zeros({10}));
  loop.logits = [=](const at::Tensor& image) {
    at::Tensor x = at::max_pool2d(stem(image).relu_(), 3, 2, 1);
    for (const Bottleneck& block : blocks) x = block(x);
    return at::linear(at::adaptive_avg_pool2d(x, {1, 1}).flatten(1), fc, bias);
  };
  return loop;
}

void update_resnet(std::vector<Parameter>& parameters, std::vector<at::Tensor>& gradients,
                   std::int64_t) {
  const at::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    Parameter& p = parameters[i];
    gradients[i].add_(p.value, 1e-4);
    p.velocity.mul_(0.9).add_(gradients[i]);
    p.value.sub_(p.velocity, 0.01);
  }
}

struct Batch {
  at::Tensor image, label;
};

float train_step(Loop& loop, const std::vector<at::Tensor>& weights, const Batch& batch,
                 std::int64_t step) {
  const at::Tensor loss = at::cross_entropy_loss(loop.logits(batch.image), batch.label);
  std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, weights);
  loop.update(gradients, step);
  return *loss.data_ptr<float>();
}

int run(Loop loop, std::int64_t warm_up, std::int64_t steps) {
  std::vector<at::Tensor> weights;
  for (const Parameter& parameter : loop.parameters) weights.push_back(parameter.value);
  std::vector<Batch> batches;
  for (int i = 0; i < 8; ++i) {
    batches.push_back({at::rand({loop.batch, loop.channels, loop.extent, loop.extent}),
                       at::randint(10, {loop.batch}, at::kLong)});
  }
  auto start = std::chrono::steady_clock::now();
  float loss = 0;
  for (std::int64_t step = 0; step < warm_up + steps; ++step) {
    if (step == warm_up) start = std::chrono::steady_clock::now();
    loss =
        train_step(loop, weights, batches[static_cast<std::size_t>(step) % batches.size()], step);
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::printf("%.6g samples/s, last loss %.4f\n",
              static_cast<double>(steps * loop.batch) / time.count(), loss);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc == 5 ? argv[1] : "";
  if (name != "lenet-caffe" && name != "resnet50") {
    std::fprintf(stderr, "usage: %s lenet-caffe|resnet50 THREADS WARM_UP_STEPS STEPS\n", argv[0]);
    return 2;
  }
  at::set_num_threads(std::atoi(argv[2]));
  at::manual_seed(1);
  Loop loop = name == "resnet50" ? resnet50() : lenet_caffe();
  const auto update = name == "resnet50" ? update_resnet : update_lenet;
  std::vector<Parameter> parameters = loop.parameters;  // shares the tensors
  loop.update = [=](std::vector<at::Tensor>& gradients, std::int64_t step) mutable {
    update(parameters, gradients, step);
  };
  return run(std::move(loop), std::atoll(argv[3]), std::atoll(argv[4]));
}
