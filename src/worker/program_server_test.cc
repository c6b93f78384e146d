// SPDX-License-Identifier: Apache-2.0
#include "worker/program_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/passes.h"
#include "protocol/tensor_file.h"
#include "worker/fake_engine.h"
#include "worker/test_job.h"

namespace gradstone {
namespace {

using ::testing::ElementsAre;
using testing::FakeCall;
using testing::FakeEngine;
using testing::FakeLog;
using testing::FakeScript;
using ::testing::HasSubstr;

constexpr std::int64_t kBatch = 4;

class Server : public ::testing::Test {
 protected:
  Server() {
    ProgramSpec training{
        "training", testing::linear_graph(kBatch, false), Mode::kTraining, {"loss"}, {}, {}};
    training.backward = BackwardSpec{{"loss"}, false, {"weight", "bias"}};
    training.updates.emplace_back();
    training.updates[0].weights = {{"weight"}, {"bias"}};
    ProgramSpec inference{
        "inference", to_inference(training.graph, {"logits"}), Mode::kInference, {"logits"}, {},
        {}};
    bundle_.programs = {training, inference};
    write_file("feeds", {{"image", Tensor({DType::kFloat32, {kBatch, 1, 4, 4}})},
                         {"label", Tensor({DType::kInt64, {kBatch}})}});
  }

  std::string path(const std::string& name) const { return folder_.file(name); }
  void write_file(const std::string& name, const std::map<std::string, Tensor>& tensors) {
    std::vector<std::pair<std::string, TensorRef>> views;
    for (const auto& [key, tensor] : tensors) views.emplace_back(key, tensor.ref());
    ASSERT_TRUE(write_tensor_file(path(name), views).ok());
  }
  std::vector<float> floats(const std::string& file, const std::string& name) const {
    const TensorFile tensors = TensorFile::open(path(file)).value();
    const auto values = tensors.find(name)->as<float>();
    return {values.begin(), values.end()};
  }
  void load() { ASSERT_EQ(server_.serve(LoadBundle{bundle_}).outcome, Outcome::kOk); }
  void expect_invalid(const CoreMessage& request, const std::string& text) {
    const Answer answer = server_.serve(request);
    EXPECT_EQ(answer.outcome, Outcome::kInvalid);
    EXPECT_THAT(answer.message, HasSubstr(text));
  }

  TemporaryFolder folder_ = TemporaryFolder::create().value();
  FakeScript script_;
  FakeLog log_;
  FakeEngine engine_{script_, log_};
  ProgramServer server_{engine_};
  BundleSpec bundle_;
};

TEST_F(Server, WritesRunsAndReads) {
  load();
  write_file("in", {{"bias", Tensor::of<float>({3}, std::vector<float>{1, 2, 3})}});
  EXPECT_EQ(server_.serve(WriteVariables{path("in")}).message, "");
  EXPECT_EQ(server_.serve(RunProgram{1, path("feeds"), {}, path("out")}).message, "");
  EXPECT_THAT(floats("out", "logits"), ElementsAre(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3));
  EXPECT_EQ(server_.serve(ReadVariables{{"bias"}, path("read")}).message, "");
  EXPECT_THAT(floats("read", "bias"), ElementsAre(1, 2, 3));
}

TEST_F(Server, FetchesOutputsAndGradientsAfterEveryRunIsDone) {
  load();
  script_.loss = [](std::int64_t step) { return step + 0.5; };
  const RunProgram run{0, path("feeds"), {{0.25, 9}}, path("out")};
  EXPECT_EQ(server_.serve(run).message, "");
  EXPECT_EQ(server_.serve(run).message, "");
  EXPECT_THAT(floats("out", "loss"), ElementsAre(1.5));
  EXPECT_THAT(TensorFile::open(path("out")).value().names(),
              ::testing::UnorderedElementsAre("loss", "gradient/weight", "gradient/bias"));
  ASSERT_EQ(log_.calls.size(), 4u);
  EXPECT_EQ(log_.calls[0].updates.at(0).learning_rate, 0.25);
  EXPECT_EQ(log_.calls[0].updates.at(0).count, 9);
  EXPECT_EQ(log_.calls[3].kind, FakeCall::Kind::kSynchronise);
}

TEST_F(Server, ALaterBundleTakesThePlaceOfTheFirst) {
  load();
  load();
  EXPECT_EQ(log_.live_bundles, 1);
}

TEST_F(Server, ARefusedBundleLeavesNone) {
  load();
  script_.load_error = unsupported("fake: no Gemm");
  const Answer answer = server_.serve(LoadBundle{bundle_});
  EXPECT_EQ(answer.outcome, Outcome::kUnsupported);
  EXPECT_EQ(answer.message, "fake: no Gemm");
  expect_invalid(RunProgram{1, path("feeds"), {}, ""}, "no bundle is loaded");
}

TEST_F(Server, WhatAnEngineAnswersOrThrowsIsTheAnswer) {
  load();
  const RunProgram run{0, path("feeds"), {{0.25, 1}}, path("out")};
  script_.before_step = [](std::int64_t) -> Status { return failed("lost"); };
  EXPECT_EQ(server_.serve(run).outcome, Outcome::kCrashed);
  script_.before_step = [](std::int64_t) -> Status { throw std::runtime_error("thrown"); };
  const Answer thrown = server_.serve(run);
  EXPECT_EQ(thrown.outcome, Outcome::kCrashed);
  EXPECT_EQ(thrown.message, "thrown");
  script_.before_step = [](std::int64_t) -> Status { throw std::bad_alloc(); };
  EXPECT_EQ(server_.serve(run).outcome, Outcome::kOutOfMemory);
  script_.before_step = nullptr;
  EXPECT_EQ(server_.serve(run).message, "") << "the bundle is still there";
}

TEST_F(Server, RequestsThatDoNotFitAreInvalid) {
  expect_invalid(WriteVariables{path("feeds")}, "no bundle is loaded");
  expect_invalid(ReadVariables{{"bias"}, path("out")}, "no bundle is loaded");
  load();
  expect_invalid(RunProgram{2, path("feeds"), {}, ""}, "program 2: the bundle has 2");
  expect_invalid(RunProgram{1, "", {}, ""}, "feeds: no tensor 'image'");
  expect_invalid(RunProgram{1, path("nowhere"), {}, ""}, "nowhere");
  expect_invalid(RunProgram{0, path("feeds"), {}, ""}, "has 1 updates, given 0");
  write_file("other", {{"bias", Tensor({DType::kFloat32, {4}})}});
  expect_invalid(WriteVariables{path("other")},
                 "variable 'bias' is float32 [3], given float32 [4]");
  expect_invalid(ReadVariables{{"nobody"}, path("out")}, "nobody");
  expect_invalid(TrainJob{}, "a job among requests");
  bundle_.programs[0].graph.nodes[0].op = "Flaten";
  expect_invalid(LoadBundle{bundle_}, "Flaten");
}

}  // namespace
}  // namespace gradstone
