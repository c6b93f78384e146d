// SPDX-License-Identifier: Apache-2.0
// Sessions with real engines, and with workers that are shell scripts: what each says and does, and
// what is answered.
#include "run/engine_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"

namespace gradstone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// y = x * w, its gradients from a cotangent of y, and a step of gradient descent on sum(y).
BundleSpec product_bundle() {
  Graph graph;
  graph.name = "product";
  graph.inputs = {{"x", {DType::kFloat32, {2}}}};
  graph.weights = {{"w", {DType::kFloat32, {2}}, Initializer::constant(0)}};
  graph.nodes = {Node{.name = "mul", .op = "Mul", .inputs = {"x", "w"}, .outputs = {"y"}},
                 Node{.name = "sum",
                      .op = "ReduceSum",
                      .inputs = {"y"},
                      .outputs = {"loss"},
                      .attributes = {{"keepdims", std::int64_t{0}}}}};
  graph.outputs = {"y", "loss"};
  ProgramSpec fed{"fed", graph, Mode::kTraining, {"y"}, BackwardSpec{{"y"}, true, {"x", "w"}}, {}};
  ProgramSpec step{"step", graph, Mode::kTraining, {"loss"}, BackwardSpec{{"loss"}, false, {"w"}},
                   {{}}};
  step.updates[0].weights = {{"w"}};
  return {{fed, step}};
}

Tensor pair_of(float a, float b) { return Tensor::of<float>({2}, std::vector<float>{a, b}); }

class SessionTest : public testing::Test {
 protected:
  static EngineChoice engine(const std::string& reference) {
    const std::string bin = environment_or("GRADSTONE_BIN", executable_folder() + "/../bin");
    return EngineCatalogue::read({bin}).choose(reference).value().at(0);
  }
  EngineSession session(const std::string& reference) {
    options.engine = engine(reference);
    options.hello.argument = options.engine.argument;
    return EngineSession(options, stop);
  }
  // A worker that greets, reads one request and goes on with `script`; one after the first run goes
  // on with `again`.
  EngineSession script(const std::string& script, const std::string& again = "") {
    const std::string path = folder.file("engine"), mark = folder.file("mark");
    EXPECT_TRUE(write_file(path,
                           "#!/bin/sh\nread -r core <&3\n"
                           "echo '{\"type\":\"hello\",\"protocol\":2,\"engine\":{}}' >&3\n"
                           "read -r request <&3\n"
                           "if [ -e " +
                               mark + " ]; then\n:\n" + again +
                               "exit 0; fi\n"
                               ">" +
                               mark + "\n" + script)
                    .ok());
    EXPECT_EQ(::chmod(path.c_str(), 0755), 0);
    options.engine.engine = {"fake", "", "test", "", path};
    return EngineSession(options, stop);
  }
  void load_product(EngineSession& session) {
    const Answer answer = session.load(product_bundle());
    EXPECT_EQ(answer.outcome, Outcome::kOk) << answer.message;
  }

  TemporaryFolder folder = TemporaryFolder::create().value();
  SessionOptions options;
  std::atomic<bool> stop{false};
};

const std::string kOk = "echo '{\"type\":\"answer\",\"outcome\":\"ok\",\"message\":\"\"}' >&3\n";

TEST_F(SessionTest, ComputesForwardBackwardAndUpdates) {
  EngineSession reference = session("reference");
  Json description;
  EXPECT_EQ(reference.describe(description).outcome, Outcome::kOk);
  EXPECT_EQ(description["name"], "reference");
  load_product(reference);
  EXPECT_EQ(reference.write({{"w", pair_of(5, 7)}}).message, "");
  TensorMap values;
  EXPECT_EQ(reference.run(0, {{"x", pair_of(2, 3)}, {"cotangent/y", pair_of(1, 10)}}, {}, &values)
                .message,
            "");
  EXPECT_THAT(values.at("y").as<float>(), ElementsAre(10, 21));
  EXPECT_THAT(values.at("gradient/x").as<float>(), ElementsAre(5, 70));
  EXPECT_THAT(values.at("gradient/w").as<float>(), ElementsAre(2, 30));
  EXPECT_EQ(reference.run(1, {{"x", pair_of(2, 3)}}, {{0.5, 1}}, nullptr).message, "");
  EXPECT_EQ(reference.read({"w"}, values).message, "");
  EXPECT_THAT(values.at("w").as<float>(), ElementsAre(4, 5.5));
  EXPECT_EQ(values.size(), 1u);
}

TEST_F(SessionTest, AnErrorLeavesTheBundle) {
  EngineSession reference = session("reference");
  load_product(reference);
  const Answer refused = reference.run(0, {}, {}, nullptr);
  EXPECT_EQ(refused.outcome, Outcome::kInvalid);
  EXPECT_THAT(refused.message, HasSubstr("no tensor 'x'"));
  EXPECT_EQ(reference.write({{"w", pair_of(1, 1)}}).message, "");
}

TEST_F(SessionTest, ACrashIsAnsweredAndTheNextCallStartsAnew) {
  EngineSession null = session("null:crash=1");
  load_product(null);
  EXPECT_EQ(null.run(1, {{"x", pair_of(2, 3)}}, {{0.5, 1}}, nullptr).message, "");
  const Answer crash = null.run(1, {{"x", pair_of(2, 3)}}, {{0.5, 1}}, nullptr);
  EXPECT_EQ(crash.outcome, Outcome::kCrashed);
  EXPECT_EQ(crash.message,
            "the worker died of SIGSEGV in run of program 1: null: crashing as told");
  const Answer gone = null.run(0, {{"x", pair_of(2, 3)}}, {}, nullptr);
  EXPECT_EQ(gone.outcome, Outcome::kInvalid);
  EXPECT_THAT(gone.message, HasSubstr("no bundle is loaded"));
  load_product(null);
}

TEST_F(SessionTest, EachRequestIsHeldToTheTimeLimit) {
  options.seconds_per_request = 1;
  EngineSession null = session("null:hang");
  load_product(null);
  const Answer answer = null.run(1, {{"x", pair_of(2, 3)}}, {{0.5, 1}}, nullptr);
  EXPECT_EQ(answer.outcome, Outcome::kTimedOut);
  EXPECT_THAT(answer.message, StartsWith("passed the time limit of 1 s in run of program 1"));
  load_product(null);
}

TEST_F(SessionTest, TheMemoryLimitHolds) {
  options.memory_limit_bytes = 500 << 20;
  EngineSession null = session("null:allocate=10GiB");
  load_product(null);
  const Answer answer = null.run(1, {{"x", pair_of(2, 3)}}, {{0.5, 1}}, nullptr);
  EXPECT_EQ(answer.outcome, Outcome::kOutOfMemory) << answer.message;
  load_product(null);
}

TEST_F(SessionTest, ARefusalAtTheStartIsItsWord) {
  EngineSession null = session("null:fly");
  Json description;
  const Answer answer = null.describe(description);
  EXPECT_EQ(answer.outcome, Outcome::kInvalid);
  EXPECT_THAT(answer.message, HasSubstr("unknown action 'fly'"));
  options.hello.device = "cuda:7";
  EXPECT_EQ(session("reference").load(product_bundle()).outcome, Outcome::kUnsupported);
}

TEST_F(SessionTest, AnotherProtocolIsRefused) {
  const Answer answer = session("null:protocol=99").load(product_bundle());
  EXPECT_EQ(answer.outcome, Outcome::kInvalid);
  EXPECT_THAT(answer.message, HasSubstr("version 99"));
}

TEST_F(SessionTest, RubbishIsACrash) {
  EXPECT_THAT(session("null:rubbish").load(product_bundle()).message,
              StartsWith("sent rubbish on the protocol: channel: not JSON"));
  EngineSession talker = script("echo '{\"type\":\"phase\",\"phase\":\"load\"}' >&3\nsleep 1000\n",
                                kOk + "read -r core <&3\n");
  const Answer answer = talker.load({});
  EXPECT_EQ(answer.outcome, Outcome::kCrashed);
  EXPECT_EQ(answer.message,
            "sent rubbish on the protocol: no answer to a request, but something else");
  EXPECT_EQ(talker.load({}).message, "");
}

TEST_F(SessionTest, LeavingInsteadOfAnsweringIsACrash) {
  EngineSession leaver = script("echo the last words >&2\nexit 3\n", kOk + "read -r core <&3\n");
  const Answer answer = leaver.load({});
  EXPECT_EQ(answer.outcome, Outcome::kCrashed);
  EXPECT_EQ(answer.message, "the worker left with exit status 3 in load: the last words");
  EXPECT_EQ(leaver.load({}).message, "");
}

TEST_F(SessionTest, AValueFileThatWasNeverWrittenIsAnError) {
  EngineSession liar = script(kOk + "read -r core <&3\n");
  TensorMap values;
  const Answer answer = liar.read({"w"}, values);
  EXPECT_NE(answer.outcome, Outcome::kOk);
  EXPECT_THAT(answer.message, HasSubstr("from-worker"));
}

TEST_F(SessionTest, AnEngineThatCannotStartIsInvalid) {
  options.engine.engine.executable = "/nowhere/engine";
  EngineSession none(options, stop);
  EXPECT_EQ(none.load({}).message, "cannot start '/nowhere/engine': No such file or directory");
}

TEST_F(SessionTest, AStopEndsARequestAndAllLaterOnes) {
  EngineSession sleeper = script("kill -USR1 $PPID\nsleep 1000\n");
  static std::atomic<bool>* flag = nullptr;
  flag = &stop;
  struct sigaction action {
  }, before{};
  action.sa_handler = [](int) { *flag = true; };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  const Answer answer = sleeper.load({});
  EXPECT_EQ(answer.outcome, Outcome::kInvalid);
  EXPECT_EQ(answer.message, "interrupted in load");
  EXPECT_EQ(sleeper.load({}).message, "interrupted");
  ::sigaction(SIGUSR1, &before, nullptr);
}

}  // namespace
}  // namespace gradstone
