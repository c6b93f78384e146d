// SPDX-License-Identifier: Apache-2.0
#include "worker/worker_main.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "protocol/channel.h"
#include "worker/fake_engine.h"
#include "worker/test_job.h"
#include "worker/train_job.h"

namespace gradstone {
namespace {

testing::FakeScript& script() {
  static testing::FakeScript script;
  return script;
}
testing::FakeLog& engine_log() {
  static testing::FakeLog log;
  return log;
}

}  // namespace

// The test program's engine.
Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options) {
  if (options.device != "cpu") return unsupported("no device " + options.device);
  return std::unique_ptr<Engine>(std::make_unique<testing::FakeEngine>(script(), engine_log()));
}

namespace {

// Runs worker_main with everything the core will say already said.
class WorkerMain : public ::testing::Test {
 protected:
  // From the start the worker's descriptor is taken, so that nothing else of the test gets it.
  WorkerMain() {
    before_ = fcntl(kWorkerDescriptor, F_DUPFD_CLOEXEC, 10);
    const int placeholder = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(placeholder, kWorkerDescriptor);
    if (placeholder != kWorkerDescriptor) close(placeholder);
  }
  ~WorkerMain() override {
    if (before_ < 0) return;
    dup2(before_, kWorkerDescriptor);
    close(before_);
  }

  std::vector<WorkerMessage> converse(const std::vector<Json>& lines, int expected_status = 0) {
    std::array<int, 2> pair{};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) == 0, "no socket pair");
    const int ours = fcntl(pair[0], F_DUPFD_CLOEXEC, 10), theirs = pair[1];
    CHECK(ours >= 0 && dup2(theirs, kWorkerDescriptor) >= 0, "no descriptor");
    for (const int used : pair) {
      if (used != kWorkerDescriptor) close(used);
    }
    Channel core(ours);
    for (const Json& line : lines) CHECK(core.send(line).ok(), "not sent");
    CHECK(shutdown(core.descriptor(), SHUT_WR) == 0, "no half close");
    std::string name = "engine-fake";
    char* argv = name.data();
    EXPECT_EQ(worker_main(1, &argv), expected_status);
    std::vector<WorkerMessage> answers;
    for (;;) {
      const auto line = core.receive(std::chrono::milliseconds(-1));
      EXPECT_TRUE(line.ok());
      if (!line.ok() || !line->has_value()) return answers;
      answers.push_back(worker_message_from_json(**line).value());
    }
  }

  int before_ = -1;  // what the descriptor was, if anything
};

TEST_F(WorkerMain, GreetsTrainsAndFinishes) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  TrainJob job = testing::linear_job(folder);
  job.measure.steps = 20;
  const auto answers = converse({to_json(CoreMessage(CoreHello{})), to_json(CoreMessage(job))});
  ASSERT_GT(answers.size(), 3u);
  EXPECT_EQ(std::get<WorkerHello>(answers.front()).engine["name"], "fake");
  EXPECT_EQ(std::get<Finished>(answers.back()).outcome, Outcome::kOk);
}

TEST_F(WorkerMain, AnswersRequestsUntilTheCoreCloses) {
  const TemporaryFolder folder = TemporaryFolder::create().value();
  ProgramSpec program{"p", testing::linear_graph(4, false), Mode::kInference, {"logits"}, {}, {}};
  const auto answers =
      converse({to_json(CoreMessage(CoreHello{})), to_json(CoreMessage(LoadBundle{{{program}}})),
                to_json(CoreMessage(ReadVariables{{"bias"}, folder.file("out")})),
                to_json(CoreMessage(ReadVariables{{"none"}, folder.file("out")}))});
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(std::get<Answer>(answers[1]).outcome, Outcome::kOk);
  EXPECT_EQ(std::get<Answer>(answers[2]).outcome, Outcome::kOk);
  EXPECT_EQ(std::get<Answer>(answers[3]).outcome, Outcome::kInvalid);
}

TEST_F(WorkerMain, RubbishAmongRequestsIsItsLastWord) {
  const auto answers = converse(
      {to_json(CoreMessage(CoreHello{})), to_json(CoreMessage(LoadBundle{})), Json("rubbish")});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(std::get<Finished>(answers[2]).outcome, Outcome::kInvalid);
}

TEST_F(WorkerMain, AnswersAnotherProtocolWithItsOwnAndLeaves) {
  CoreHello hello;
  hello.protocol = kProtocolVersion + 1;
  const auto answers = converse({to_json(CoreMessage(hello))});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(std::get<WorkerHello>(answers[0]).protocol, kProtocolVersion);
}

TEST_F(WorkerMain, SaysWhatItCannotDo) {
  CoreHello hello;
  hello.device = "cuda:0";
  auto answers = converse({to_json(CoreMessage(hello))});
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(std::get<Finished>(answers[0]).outcome, Outcome::kUnsupported);
  EXPECT_EQ(std::get<Finished>(answers[0]).message, "no device cuda:0");
  answers = converse({Json{{"type", "nonsense"}}});
  EXPECT_EQ(std::get<Finished>(answers.at(0)).outcome, Outcome::kInvalid);
  answers = converse({to_json(CoreMessage(CoreHello{}))});
  EXPECT_EQ(std::get<Finished>(answers.at(1)).message, "the core closed before its job");
}

TEST_F(WorkerMain, StartedByHandItSaysWhatItIs) {
  close(kWorkerDescriptor);
  std::string name = "engine-fake";
  char* argv = name.data();
  EXPECT_EQ(worker_main(1, &argv), 2);
}

}  // namespace
}  // namespace gradstone
