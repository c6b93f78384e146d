// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/files.h"
#include "graph/builder.h"
#include "recipe/initial_weights.h"
#include "verify/fake_port.h"
#include "verify/reproduction.h"
#include "verify/reshape_case.h"
#include "verify/shrink.h"

namespace gradstone {
namespace {

using testing::FakePort;

// conv, relu, norm, tanh, dense, loss; trained by SGD.
Subject small_subject() {
  GraphBuilder b("small");
  Value x = b.input("image", DType::kFloat32, {4, 2, 6, 6});
  const Value labels = b.input("label", DType::kInt64, {4});
  x = b.relu("relu", b.conv("conv", x, {.filters = 4, .kernel = 3}));
  x = b.tanh("tanh", b.batch_norm("norm", x));
  const Value loss = b.softmax_cross_entropy("loss", b.dense("dense", x, {.units = 3}), labels);
  Subject subject;
  subject.name = "small";
  subject.graph = b.finish({loss}).value();
  subject.loss = "loss";
  UpdateSpec update;
  for (const Weight& weight : subject.graph.weights) {
    subject.weights[weight.name] = initial_value(weight, 1);
    if (!weight.trainable) continue;
    subject.trained.push_back(weight.name);
    update.weights.push_back({weight.name});
  }
  subject.updates = {update};
  subject.optimizer_of_update = {0};
  for (int step = 0; step < 2; ++step) {
    TensorMap& batch = subject.batches.emplace_back();
    batch["image"] = random_normal({DType::kFloat32, {4, 2, 6, 6}}, 1, std::to_string(step));
    batch["label"] = Tensor::of<std::int64_t>({4}, std::vector<std::int64_t>{0, 1, 2, 1});
  }
  return subject;
}

// Multiplies a tensor that the engine gives.
void scale(TensorMap& values, const std::string& name, double factor) {
  const auto found = values.find(name);
  if (found == values.end()) return;
  for (float& element : found->second.as<float>()) {
    element = static_cast<float>(element * factor);
  }
}

bool has_op(const ProgramSpec& program, const std::string& op) {
  const auto& nodes = program.graph.nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& n) { return n.op == op; });
}

struct Verified {
  VerifyResult result;
  Result<Shrunk> shrunk = failed("not tried");
};

Verified verified(FakePort& engine, bool shrunk = false) {
  const Subject subject = small_subject();
  const Verification verification = Verification::make(subject, 1).value();
  FakePort reference;
  Verified done;
  done.result = verification.check(engine, reference);
  if (shrunk) done.shrunk = shrink(verification, *done.result.first, engine);
  return done;
}

TEST(Verify, FindsNothingInARightEngine) {
  FakePort engine;
  const VerifyResult result = verified(engine).result;
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  EXPECT_EQ(result.nodes, 7);
  EXPECT_EQ(result.steps, 2);
  EXPECT_EQ(result.losses.size(), 2u);
  EXPECT_LT(result.comparison.worst, 0.5);
}

TEST(Verify, NamesTheNodeWhoseOutputIsWrongAndNoLaterOne) {
  FakePort engine;
  engine.on_load = [](ProgramSpec& program) {
    for (Node& node : program.graph.nodes) {
      if (node.op == "Relu") node.op = "Abs";
    }
  };
  const VerifyResult result = verified(engine).result;
  EXPECT_EQ(result.outcome, Outcome::kWrongResult);
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->node, "relu");
  EXPECT_FALSE(result.first->backward);
  EXPECT_TRUE(result.first_is_alone);
  for (const Departure& departure : result.comparison.departures) {
    EXPECT_TRUE(departure.node == "relu" || departure.backward) << to_string(departure);
    EXPECT_NE(departure.node, "dense") << to_string(departure);
  }
}

TEST(Verify, NamesTheNodeWhoseGradientIsWrong) {
  FakePort engine;
  engine.on_run = [](const ProgramSpec&, TensorMap& values) {
    scale(values, "gradient/dense.weight", 1.001);
  };
  const VerifyResult result = verified(engine).result;
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->node, "dense");
  EXPECT_TRUE(result.first->backward);
}

TEST(Verify, SeesWhatOnlyTheWholeNetworkShows) {
  FakePort engine;
  engine.on_run = [](const ProgramSpec& program, TensorMap& values) {
    if (program.graph.nodes.size() > 1) scale(values, "gradient/conv.weight", 0.99);
  };
  const VerifyResult result = verified(engine).result;
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->node, "conv");
  EXPECT_FALSE(result.first_is_alone);
}

TEST(Verify, FollowsTheEngineSoThatAKinkIsDecidedAsItDecides) {
  FakePort engine;
  const Subject subject = small_subject();
  Case whole = case_of(subject, 0, subject.weights);
  ASSERT_EQ(engine.load({{program_of(whole, "p")}}).outcome, Outcome::kOk);
  ASSERT_EQ(engine.write(subject.weights).outcome, Outcome::kOk);
  TensorMap answers;
  ASSERT_EQ(engine.run(0, feeds_of(whole), {}, answers).outcome, Outcome::kOk);
  const auto before = expectations(whole, answers).value();
  Tensor& conv = answers.at("conv");
  std::size_t place = 0;
  while (conv.as<float>()[place] <= 0) ++place;
  // As if rounding had put the element on the other side of zero.
  conv.as<float>()[place] = -1e-20f;
  const auto after = expectations(whole, answers).value();
  double change = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].value != "gradient/conv.weight") continue;
    for (std::int64_t k = 0; k < before[i].exact.type().elements(); ++k) {
      change = std::max(change, std::abs(element_as_double(before[i].exact.ref(), k) -
                                         element_as_double(after[i].exact.ref(), k)));
    }
  }
  EXPECT_GT(change, 1e-6);
}

TEST(Verify, SeesAWrongUpdateAndAWrongState) {
  FakePort engine;
  engine.on_update = [](TensorMap& variables) { scale(variables, "dense.weight", 1.001); };
  VerifyResult result = verified(engine).result;
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->node, "update of dense.weight");
  engine.on_update = [](TensorMap& variables) { scale(variables, "norm.running_var", 1.01); };
  result = verified(engine).result;
  ASSERT_TRUE(result.first);
  EXPECT_EQ(result.first->value, "norm.running_var");
  EXPECT_EQ(result.first->node, "norm");
}

TEST(Verify, SaysWhichNodesAreNotRunAlone) {
  FakePort engine;
  engine.refuse = [](const BundleSpec& bundle) -> Answer {
    for (const ProgramSpec& program : bundle.programs) {
      if (program.graph.nodes.size() == 1 && has_op(program, "Tanh")) {
        return {Outcome::kUnsupported, "not by itself"};
      }
    }
    return {};
  };
  const VerifyResult result = verified(engine).result;
  EXPECT_EQ(result.outcome, Outcome::kOk) << result.message;
  EXPECT_EQ(result.nodes, 6);
  EXPECT_EQ(result.not_alone, std::vector<std::string>{"tanh (Tanh): not by itself"});
}

TEST(Verify, EndsAsTheEngineEnds) {
  FakePort engine;
  engine.refuse = [](const BundleSpec&) -> Answer { return {Outcome::kCrashed, "SIGSEGV"}; };
  const VerifyResult result = verified(engine).result;
  EXPECT_EQ(result.outcome, Outcome::kCrashed);
  EXPECT_EQ(result.message, "SIGSEGV");
}

TEST(Shrink, CutsANodeOutAndItsShapesDown) {
  FakePort engine;
  engine.on_run = [](const ProgramSpec&, TensorMap& values) {
    scale(values, "gradient/conv.weight", 1.01);
  };
  const Shrunk shrunk = verified(engine, true).shrunk.value();
  ASSERT_EQ(shrunk.question.graph.nodes.size(), 1u);
  EXPECT_EQ(shrunk.question.graph.nodes[0].name, "conv");
  EXPECT_EQ(shrunk.question.values.at("image").shape()[0], 1);
  EXPECT_LE(shrunk.question.values.at("conv.weight").type().elements(), 9);
  EXPECT_EQ(shrunk.departure.value, "gradient/conv.weight");
}

TEST(Shrink, KeepsTheNodesThatAFaultNeeds) {
  FakePort engine;
  engine.on_run = [](const ProgramSpec& program, TensorMap& values) {
    if (has_op(program, "Relu") && has_op(program, "Tanh")) scale(values, "norm", 1.01);
  };
  const Shrunk shrunk = verified(engine, true).shrunk.value();
  std::vector<std::string> names;
  for (const Node& node : shrunk.question.graph.nodes) names.push_back(node.name);
  EXPECT_EQ(names, (std::vector<std::string>{"relu", "norm", "tanh"}));
}

TEST(Shrink, RefusesWhatIsNoPartOfTheGraph) {
  FakePort engine;
  engine.on_update = [](TensorMap& variables) { scale(variables, "dense.weight", 1.001); };
  EXPECT_FALSE(verified(engine, true).shrunk.ok());
}

TEST(ReshapeCase, CutsAxesThatMustAgreeTogether) {
  const Subject subject = small_subject();
  const Verification verification = Verification::make(subject, 1).value();
  const Case conv = part_of(subject.graph, {0}, verification.values(), 1).value();
  const Case cut = with_extent(conv, {"image", 1}, 1, 1).value();
  EXPECT_EQ(cut.values.at("image").shape(), (Shape{4, 1, 6, 6}));
  EXPECT_EQ(cut.values.at("conv.weight").shape(), (Shape{4, 1, 3, 3}));
  EXPECT_EQ(cut.cotangents.at("conv").shape(), (Shape{4, 4, 4, 4}));
  // The leading block.
  EXPECT_EQ(cut.values.at("image").as<float>()[36], conv.values.at("image").as<float>()[72]);
}

TEST(Reproduction, IsReadAsItWasWritten) {
  FakePort engine;
  engine.on_run = [](const ProgramSpec&, TensorMap& values) {
    scale(values, "gradient/dense.weight", 1.01);
  };
  const Shrunk shrunk = verified(engine, true).shrunk.value();
  const TemporaryFolder folder = TemporaryFolder::create().value();
  const std::string path = folder.file("case");
  Provenance provenance;
  provenance.engine = "some";
  provenance.versions = {{"gradstone", "1"}};
  ASSERT_TRUE(write_reproduction(shrunk, provenance, path).ok());
  const Case read = read_case(path).value();
  EXPECT_EQ(read.from, shrunk.question.from);
  EXPECT_EQ(read.wrt, shrunk.question.wrt);
  const Shrunk again = judge(read, engine).value();
  EXPECT_EQ(again.departure.value, shrunk.departure.value);
  EXPECT_EQ(again.departure.gap, shrunk.departure.gap);
  EXPECT_TRUE(path_exists(path + "/model.onnx"));
  EXPECT_TRUE(path_exists(path + "/data/gradient_0_actual.pb"));
  EXPECT_FALSE(read_case(folder.path()).ok());
}

}  // namespace
}  // namespace gradstone
