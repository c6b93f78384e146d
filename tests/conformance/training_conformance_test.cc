// SPDX-License-Identifier: Apache-2.0
// Several programs over one variable store: a toy GAN with two optimizers, and two batch shapes
// that share weights.
#include "tests/conformance/support.h"

namespace gradstone::conformance {
namespace {

// fake = tanh(z gw + gb), [batch, 2].
std::string add_generator(TestGraph& g, const std::string& z) {
  g.weight("gw", {2, 2});
  g.weight("gb", {2});
  g.node("g_product", "Gemm", {z, "gw", "gb"});
  return g.node("fake", "Tanh", {"g_product"});
}

void add_discriminator_weights(TestGraph& g) {
  g.weight("d1", {2, 3});
  g.weight("d1b", {3});
  g.weight("d2", {3, 1});
}

// Mean over the batch of (D(x) - target)^2, D(x) = sigmoid(x d1 + d1b) d2.
std::string add_discriminator_loss(TestGraph& g, const std::string& prefix, const std::string& x,
                                   double target) {
  g.node(prefix + "_hidden", "Gemm", {x, "d1", "d1b"});
  g.node(prefix + "_active", "Sigmoid", {prefix + "_hidden"});
  g.node(prefix + "_score", "MatMul", {prefix + "_active", "d2"});
  g.constant(prefix + "_target", target);
  g.node(prefix + "_error", "Sub", {prefix + "_score", prefix + "_target"});
  g.node(prefix + "_square", "Mul", {prefix + "_error", prefix + "_error"});
  return g.mean(prefix + "_loss", prefix + "_square");
}

const std::vector<std::string> kGenerator = {"gw", "gb"};
const std::vector<std::string> kDiscriminator = {"d1", "d1b", "d2"};

class GanTest : public EngineTest {
 protected:
  enum Program { kGenerate, kTrainDiscriminator, kTrainGenerator, kScoreGradient, kChained };

  ProgramSpec generate() const {
    TestGraph g(dtype());
    add_generator(g, g.input("z", {4, 2}));
    return {"generate", g.graph, Mode::kInference, {"fake"}, {}, {}};
  }
  ProgramSpec train_discriminator() const {
    TestGraph g(dtype());
    add_discriminator_weights(g);
    g.input("real", {4, 2});
    g.input("fake", {4, 2});
    const std::string real = add_discriminator_loss(g, "real", "real", 1);
    const std::string fake = add_discriminator_loss(g, "fake", "fake", 0);
    g.node("loss", "Add", {real, fake});
    Optimizer adam;
    adam.rule = Rule::kAdam;
    return training_program("train_discriminator", g, "loss", kDiscriminator, adam);
  }
  ProgramSpec train_generator() const {
    TestGraph g(dtype());
    add_discriminator_weights(g);
    add_generator(g, g.input("z", {4, 2}));
    add_discriminator_loss(g, "g", "fake", 1);
    return training_program("train_generator", g, "g_loss", kGenerator, Optimizer{});
  }
  // Gradient of the generator's loss with respect to the images alone.
  ProgramSpec score_gradient() const {
    TestGraph g(dtype());
    add_discriminator_weights(g);
    g.input("fake", {4, 2});
    add_discriminator_loss(g, "g", "fake", 1);
    ProgramSpec program{"score_gradient", g.graph, Mode::kTraining, {"g_loss"}, {}, {}};
    program.backward = BackwardSpec{{"g_loss"}, false, {"fake"}};
    return program;
  }
  ProgramSpec chained() const {
    ProgramSpec program = generate();
    program.name = "chained";
    program.mode = Mode::kTraining;
    program.outputs = {};
    program.backward = BackwardSpec{{"fake"}, true, kGenerator};
    return program;
  }

  void load_gan() {
    load({{generate(), train_discriminator(), train_generator(), score_gradient(), chained()}});
    if (!bundle_) return;
    write("gw", tensor({2, 2}, {0.3, -0.2, 0.5, 0.1}));
    write("gb", tensor({2}, {0.05, -0.05}));
    write("d1", tensor({2, 3}, {0.4, -0.3, 0.2, 0.1, 0.6, -0.5}));
    write("d1b", tensor({3}, {0, 0.1, -0.1}));
    write("d2", tensor({3, 1}, {0.7, -0.4, 0.3}));
  }
  std::map<std::string, std::vector<double>> weights() {
    std::map<std::string, std::vector<double>> values;
    for (const auto& names : {kGenerator, kDiscriminator}) {
      for (const std::string& name : names) values[name] = values_of(read(name));
    }
    return values;
  }
  Tensor noise(int step) const {
    std::vector<double> values;
    for (int i = 0; i < 8; ++i) values.push_back(std::sin(0.7 * step + 1.3 * i));
    return tensor({4, 2}, values);
  }
  Tensor real() const { return tensor({4, 2}, {0.9, 0.8, 0.7, 0.9, 0.8, 0.6, 1, 0.7}); }
};

TEST_P(GanTest, TrainsWithTwoOptimizersAtUnequalRates) {
  load_gan();
  if (!bundle_) return;
  std::int64_t discriminator_updates = 0, generator_updates = 0;
  for (int step = 0; step < 12; ++step) {
    auto before = weights();
    const Tensor fake = run(kGenerate, {noise(step)})[0];
    const auto d = run(kTrainDiscriminator, {real(), fake}, {{0.01, ++discriminator_updates}});
    EXPECT_TRUE(std::isfinite(values_of(d[0])[0]));
    auto after = weights();
    for (const std::string& name : kDiscriminator) EXPECT_NE(before[name], after[name]) << name;
    for (const std::string& name : kGenerator) EXPECT_EQ(before[name], after[name]) << name;
    if (step % 3 != 2) continue;
    before = after;
    const auto g = run(kTrainGenerator, {noise(step)}, {{0.1, ++generator_updates}});
    EXPECT_TRUE(std::isfinite(values_of(g[0])[0]));
    after = weights();
    for (const std::string& name : kDiscriminator) EXPECT_EQ(before[name], after[name]) << name;
    for (const std::string& name : kGenerator) EXPECT_NE(before[name], after[name]) << name;
  }
}

TEST_P(GanTest, ProgramsChainedByCotangentsGiveTheGradientsOfTheJointProgram) {
  load_gan();
  if (!bundle_) return;
  const Tensor fake = run(kGenerate, {noise(1)})[0];
  const auto score = run(kScoreGradient, {fake});
  const auto chain = run(kChained, {noise(1), score[1]});
  const auto joint = run(kTrainGenerator, {noise(1)}, {{0, 1}});
  expect_near(score[0], values_of(joint[0]), tolerance(), "loss");
  for (std::size_t i = 0; i < kGenerator.size(); ++i) {
    expect_near(chain[i], values_of(joint[1 + i]), tolerance(), kGenerator[i]);
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, GanTest, both_dtypes(), dtype_name);

using SharedWeightsTest = EngineTest;

// loss = mean over the batch of (x w - y)^2, x one number a sample.
TestGraph line_fit(DType dtype, std::int64_t batch) {
  TestGraph g(dtype);
  g.input("x", {batch});
  g.input("y", {batch});
  g.weight("w", {});
  g.node("prediction", "Mul", {"x", "w"});
  g.node("error", "Sub", {"prediction", "y"});
  g.node("square", "Mul", {"error", "error"});
  g.mean("loss", "square");
  return g;
}

TEST_P(SharedWeightsTest, TwoBatchShapesTrainTheSameWeightAndTheSameVelocity) {
  Optimizer momentum;
  momentum.rule = Rule::kMomentum;
  momentum.momentum = 0.5;
  load({{training_program("eight", line_fit(dtype(), 8), "loss", {"w"}, momentum),
         training_program("three", line_fit(dtype(), 3), "loss", {"w"}, momentum)}});
  if (!bundle_) return;
  write("w", tensor({}, {0.5}));
  double w = 0.5, velocity = 0;
  for (int step = 0; step < 8; ++step) {
    const std::size_t program = step % 2;
    const int batch = program == 0 ? 8 : 3;
    std::vector<double> x, y;
    double loss = 0, gradient = 0;
    for (int i = 0; i < batch; ++i) {
      x.push_back(std::cos(step + i));
      y.push_back(2 * x.back() + 0.1);
      const double error = x.back() * w - y.back();
      loss += error * error / batch;
      gradient += 2 * error * x.back() / batch;
    }
    const auto values = run(program, {tensor({batch}, x), tensor({batch}, y)}, {{0.2, step + 1}});
    velocity = 0.5 * velocity + gradient;
    w -= 0.2 * velocity;
    expect_near(values[0], {loss}, tolerance(), "loss of step " + std::to_string(step));
    expect_near(read("w"), {w}, tolerance(), "w after step " + std::to_string(step));
  }
}

INSTANTIATE_TEST_SUITE_P(Conformance, SharedWeightsTest, both_dtypes(), dtype_name);

}  // namespace
}  // namespace gradstone::conformance
