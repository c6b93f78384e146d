// SPDX-License-Identifier: Apache-2.0
// The runner against workers that are shell scripts: what each says and does, and what comes of it.
#include "run/runner.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cmath>
#include <set>
#include <string>

#include "base/files.h"
#include "protocol/tensor_file.h"
#include "run/plan.h"
#include "run/test_workload.h"

namespace gradstone {
namespace {

const std::string kHelloLine =
    "echo '{\"type\":\"hello\",\"protocol\":2,\"engine\":{\"name\":\"fake\"}}' >&3\n";
const std::string kHello = "read -r core <&3\n" + kHelloLine + "read -r job <&3\n";
constexpr std::string_view kFinished =
    "echo '{\"type\":\"finished\",\"outcome\":\"ok\",\"message\":\"\"}' >&3\n";

class RunnerTest : public testing::Test, public RunObserver {
 protected:
  void SetUp() override {
    spec.workload = "tiny";
    spec.engine.engine = {"fake", "2", "test", "", folder.file("engine")};
    spec.label = "a label";
    spec.plan = "a plan";
    spec.threads = 1;
    spec.time_limit_seconds = 60;
    spec.memory_limit_bytes = 1 << 30;
  }
  RunRecord run(const std::string& script) {
    EXPECT_TRUE(write_file(folder.file("engine"), "#!/bin/sh\n" + script).ok());
    EXPECT_EQ(::chmod(folder.file("engine").c_str(), 0755), 0);
    const RunRecord record = run_one(spec, tiny_workload(), *this, stop);
    EXPECT_GE(record.finished_ms, record.started_ms);
    EXPECT_GT(record.started_ms, 0);
    return record;
  }
  RunRecord run_after_hello(const std::string& script) { return run(kHello + script); }
  void phase(std::string_view name) override { heard += "phase " + std::string(name) + "\n"; }
  void progress(const ProgressEvent& event) override {
    heard += "step " + std::to_string(event.step) + "\n";
    if (event.step == stop_at_step) stop = true;
  }

  TemporaryFolder folder = TemporaryFolder::create().value();
  RunSpec spec;
  std::atomic<bool> stop{false};
  std::int64_t stop_at_step = -1;
  std::string heard;
};

std::string phase_line(const std::string& phase) {
  return "echo '{\"type\":\"phase\",\"phase\":\"" + phase + "\"}' >&3\n";
}
std::string step_line(int step) {
  return "echo '{\"type\":\"progress\",\"step\":" + std::to_string(step) +
         ",\"total_steps\":0,\"epoch\":0,\"samples_per_second\":1,\"loss\":2}' >&3\n";
}
std::string samples_line(const std::string& values) {
  return "echo '{\"type\":\"samples\",\"name\":\"loss\",\"values\":[" + values + "]}' >&3\n";
}
std::string fact_line(const std::string& section) {
  return "echo '{\"type\":\"fact\",\"section\":\"" + section +
         "\",\"key\":\"blas\",\"value\":[1]}' >&3\n";
}

TEST_F(RunnerTest, AFinishedRunIsWhole) {
  const RunRecord record = run_after_hello(
      phase_line("train") + step_line(1) + samples_line("0.5,\"nan\"") + samples_line("0.25") +
      fact_line("engine") + fact_line("data") + "echo careful >&2\n" + std::string(kFinished));
  EXPECT_EQ(record.outcome, Outcome::kOk) << record.message;
  EXPECT_EQ(record.message, "");
  EXPECT_EQ(record.workload, "tiny");
  EXPECT_EQ(record.size, "small");
  EXPECT_EQ(record.engine, "fake@2");
  EXPECT_EQ(record.label, "a label");
  EXPECT_EQ(record.plan, "a plan");
  EXPECT_EQ(record.device, "cpu");
  EXPECT_EQ(record.id.size(), 22u);
  ASSERT_EQ(record.samples.at("loss").size(), 3u);
  EXPECT_EQ(record.samples.at("loss")[0], 0.5);
  EXPECT_TRUE(std::isnan(record.samples.at("loss")[1]));
  EXPECT_EQ(record.samples.at("loss")[2], 0.25);
  EXPECT_EQ(record.context["engine"], parse_json(R"({"name": "fake", "blas": [1]})").value());
  EXPECT_EQ(record.context["data"]["blas"], Json::array({1}));
  EXPECT_EQ(record.context["settings"]["batch"], 4);
  EXPECT_EQ(record.context["limits"]["memory_bytes"], 1 << 30);
  EXPECT_EQ(record.context["worker"]["exit"], "exit status 0");
  EXPECT_EQ(record.context["worker"]["stderr"], "careful\n");
  EXPECT_EQ(record.command, command_of(resolved(spec, tiny_workload())));
  EXPECT_EQ(heard, "phase prepare\nphase train\nstep 1\n");
}

TEST_F(RunnerTest, TheWorkersWordOnTheOutcomeStands) {
  const RunRecord record = run_after_hello(
      samples_line("1") +
      "echo '{\"type\":\"finished\",\"outcome\":\"unsupported\",\"message\":\"no LRN\"}' >&3\n"
      "kill -SEGV $$\n");
  EXPECT_EQ(record.outcome, Outcome::kUnsupported);
  EXPECT_EQ(record.message, "no LRN");
  EXPECT_EQ(record.context["worker"]["exit"], "SIGSEGV");
  EXPECT_EQ(record.samples.at("loss").size(), 1u);
}

TEST_F(RunnerTest, AWorkerMayRefuseBeforeItsHello) {
  const RunRecord record = run(
      "read -r core <&3\n"
      "echo '{\"type\":\"finished\",\"outcome\":\"unsupported\",\"message\":\"no GPU\"}' >&3\n");
  EXPECT_EQ(record.outcome, Outcome::kUnsupported);
  EXPECT_EQ(record.message, "no GPU");
}

TEST_F(RunnerTest, ACrashKeepsWhatWasStreamed) {
  const RunRecord record =
      run_after_hello(phase_line("train") + step_line(7) + samples_line("1,2,3") +
                      "echo first >&2; echo the last words >&2; kill -SEGV $$\n");
  EXPECT_EQ(record.outcome, Outcome::kCrashed);
  EXPECT_EQ(record.message, "the worker died of SIGSEGV in phase train, step 7: the last words");
  EXPECT_EQ(record.samples.at("loss"), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(record.context["worker"]["stderr"], "first\nthe last words\n");
}

TEST_F(RunnerTest, LeavingWithoutAResultIsACrash) {
  EXPECT_EQ(run_after_hello("exit 3\n").message,
            "the worker left with exit status 3 before its first phase");
  EXPECT_EQ(run("exit 0\n").message, "the worker left with exit status 0 at its start");
  EXPECT_EQ(run("exit 0\n").outcome, Outcome::kCrashed);
}

TEST_F(RunnerTest, BeingKilledFromOutsideIsACrash) {
  const RunRecord record = run_after_hello("kill -KILL $$\n");
  EXPECT_EQ(record.outcome, Outcome::kCrashed);
  EXPECT_EQ(record.message, "the worker died of SIGKILL before its first phase");
}

TEST_F(RunnerTest, AnEngineThatCannotStartIsInvalid) {
  spec.engine.engine.executable = "/nowhere/engine";
  const RunRecord record = run("");
  EXPECT_EQ(record.outcome, Outcome::kInvalid);
  EXPECT_EQ(record.message, "cannot start '/nowhere/engine': No such file or directory");
  spec.engine.engine.manifest = "/nowhere/engine-fake.json";
  EXPECT_EQ(run("").message,
            "cannot start '/nowhere/engine': No such file or directory; it is named by "
            "/nowhere/engine-fake.json");
}

TEST_F(RunnerTest, TheTimeLimitEndsAHang) {
  spec.time_limit_seconds = 0.3;
  const RunRecord record = run_after_hello(samples_line("1") + phase_line("warm_up") +
                                           "trap '' TERM INT; sleep 1000 & sleep 1000\n");
  EXPECT_EQ(record.outcome, Outcome::kTimedOut);
  EXPECT_EQ(record.message,
            "passed the time limit of 0.3 s in phase warm_up; --time-limit sets another");
  EXPECT_EQ(record.samples.at("loss").size(), 1u);
}

TEST_F(RunnerTest, AHangBeforeHelloTimesOutToo) {
  spec.time_limit_seconds = 0.2;
  EXPECT_EQ(run("sleep 1000\n").outcome, Outcome::kTimedOut);
}

// tail keeps a line in memory until it ends, which this one does not.
TEST_F(RunnerTest, TheMemoryLimitHoldsForTheWholeGroup) {
  spec.memory_limit_bytes = 100 << 20;
  const RunRecord record =
      run_after_hello(phase_line("load") + "tail -n 1 </dev/zero >/dev/null &\nwait\n");
  EXPECT_EQ(record.outcome, Outcome::kOutOfMemory);
  EXPECT_EQ(record.message.substr(0, 39), "passed the memory limit of 100 MiB with");
  EXPECT_NE(record.message.find("in phase load; --memory-limit"), std::string::npos);
}

TEST_F(RunnerTest, RubbishIsACrashWithItsPlace) {
  const RunRecord record = run_after_hello(samples_line("1") + "echo '}{' >&3\nsleep 1000\n");
  EXPECT_EQ(record.outcome, Outcome::kCrashed);
  EXPECT_EQ(record.message, "sent rubbish on the protocol: channel: not JSON: byte 1 of 2");
  EXPECT_EQ(record.samples.at("loss").size(), 1u);
}

TEST_F(RunnerTest, MessagesOutOfTurnAreRubbish) {
  EXPECT_EQ(run(phase_line("load")).message, "sent rubbish on the protocol: an event before hello");
  EXPECT_EQ(run(std::string(kFinished)).message,
            "sent rubbish on the protocol: finished ok before hello");
  EXPECT_EQ(run_after_hello(std::string(kFinished)).message,
            "sent rubbish on the protocol: finished ok after 0 steps");
  spec.measure.steps = 3;
  EXPECT_EQ(run_after_hello(samples_line("1,2") + std::string(kFinished)).message,
            "sent rubbish on the protocol: finished ok after 2 steps of 3");
  spec.measure.steps = 0;
  EXPECT_EQ(run_after_hello(kHelloLine).message, "sent rubbish on the protocol: a second hello");
  EXPECT_EQ(run_after_hello(fact_line("settings")).message,
            "sent rubbish on the protocol: a fact of section 'settings', which is the core's");
  EXPECT_EQ(run_after_hello("echo '{\"type\":\"praise\"}' >&3\n").message,
            "sent rubbish on the protocol: message: unknown type 'praise'");
  EXPECT_EQ(run_after_hello("printf '{' >&3\n").message,
            "sent rubbish on the protocol: channel: the stream ends inside a line");
}

std::string fact_of(const std::string& section, const std::string& value) {
  return "echo '{\"type\":\"fact\",\"section\":\"" + section +
         "\",\"key\":\"k\",\"value\":" + value + "}' >&3\n";
}

// Whatever the core itself puts into a record's context, no worker may.
TEST_F(RunnerTest, TheCoresSectionsAreItsOwn) {
  const RunRecord record = run_after_hello(samples_line("1") + std::string(kFinished));
  // Those of a run, and what the command line adds later.
  std::set<std::string> sections = {"weights",  "gradstone", "machine",
                                    "warnings", "workload",  "model"};
  for (const auto& [section, value] : record.context.items()) sections.insert(section);
  sections.erase("engine");
  for (const std::string& section : sections) {
    const RunRecord refused = run_after_hello(fact_of(section, "1"));
    EXPECT_EQ(refused.outcome, Outcome::kCrashed) << section;
    EXPECT_EQ(refused.message, "sent rubbish on the protocol: a fact of section '" + section +
                                   "', which is the core's");
  }
}

TEST_F(RunnerTest, WhatCannotBeReadAgainIsRefused) {
  const auto nested = [](int levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(run_after_hello(fact_of("a", nested(101))).message,
            "sent rubbish on the protocol: fact 'a.k': a value nested deeper than 100");
  const RunRecord record =
      run_after_hello(fact_of("a", nested(100)) + samples_line("1") + std::string(kFinished));
  EXPECT_EQ(record.outcome, Outcome::kOk) << record.message;
  EXPECT_TRUE(parse_json(write_json(records_to_json({record}))).ok());
  EXPECT_EQ(run("read -r core <&3\necho '{\"type\":\"hello\",\"protocol\":2,\"engine\":{\"a\":" +
                nested(100) + "}}' >&3\n")
                .message,
            "sent rubbish on the protocol: the engine's description: a value nested deeper than "
            "100");
}

TEST_F(RunnerTest, FiguresThatCannotBeAreNoSuccess) {
  const auto with = [&](const std::string& name, const std::string& values) {
    return run_after_hello(samples_line("1") + "echo '{\"type\":\"samples\",\"name\":\"" + name +
                           "\",\"values\":[" + values + "]}' >&3\n" + std::string(kFinished));
  };
  const RunRecord accuracy = with("test_accuracy", "0.5,1.5");
  EXPECT_EQ(accuracy.outcome, Outcome::kWrongResult);
  EXPECT_EQ(
      accuracy.message,
      "the engine said ok, but sent test_accuracy 1.5, number 2: expected a share from 0 to 1");
  EXPECT_EQ(with("test_accuracy", "1,0").outcome, Outcome::kOk);
  EXPECT_EQ(with("test_accuracy", "\"nan\"").outcome, Outcome::kWrongResult);
  EXPECT_EQ(with("step_time", "-1").outcome, Outcome::kWrongResult);
  EXPECT_EQ(with("window_seconds", "\"inf\"").outcome, Outcome::kWrongResult);
  EXPECT_EQ(with("of_its_own", "-1").outcome, Outcome::kOk);
  EXPECT_EQ(with("loss", "-2").message,
            "the engine said ok, but sent loss -2, number 2: a cross-entropy is never negative");
  EXPECT_EQ(with("loss", "-1e-7").outcome, Outcome::kOk);
  const RunRecord lost = run_after_hello(samples_line("\"nan\",\"inf\"") + std::string(kFinished));
  EXPECT_EQ(lost.outcome, Outcome::kDiverged);
  EXPECT_EQ(lost.message, "the engine said ok, but no training loss is a finite number");
}

TEST_F(RunnerTest, ThereIsAlwaysAReason) {
  const RunRecord record = run_after_hello(
      "echo '{\"type\":\"finished\",\"outcome\":\"timed_out\",\"message\":\"\"}' >&3\n");
  EXPECT_EQ(record.outcome, Outcome::kTimedOut);
  EXPECT_EQ(record.message, "the engine gave no reason");
}

TEST_F(RunnerTest, AnotherProtocolVersionIsRefusedWithBothNumbers) {
  const RunRecord record = run("echo '{\"type\":\"hello\",\"protocol\":99}' >&3\nsleep 1000\n");
  EXPECT_EQ(record.outcome, Outcome::kInvalid);
  EXPECT_EQ(record.message,
            "the engine speaks version 99 of the protocol, this gradstone version 2; install both "
            "from the same build");
}

TEST_F(RunnerTest, StoppingEndsTheRunAndItsGroup) {
  stop_at_step = 3;
  const RunRecord record = run_after_hello(phase_line("train") + step_line(2) + step_line(3) +
                                           "sleep 1000 & sleep 1000\n");
  EXPECT_EQ(record.outcome, Outcome::kInvalid);
  EXPECT_EQ(record.message, "interrupted in phase train, step 3");
}

TEST_F(RunnerTest, StoppedBeforeItBegins) {
  stop = true;
  EXPECT_EQ(run(std::string(kFinished)).message, "interrupted before its start");
}

// Its own child still holds the protocol's descriptor open.
TEST_F(RunnerTest, WhatAWorkerLeavesBehindDoesNotKeepTheRunWaiting) {
  const RunRecord record = run_after_hello("sleep 1000 &\nkill -ABRT $$\n");
  EXPECT_EQ(record.message, "the worker died of SIGABRT before its first phase");
}

// Out of the group, it is not killed with the worker either.
TEST_F(RunnerTest, WhatLeftTheGroupDoesNotKeepTheRunWaiting) {
  const std::string escape = "setsid sh -c 'echo $$ >" + folder.file("pid") +
                             "; exec yes' &\nwhile [ ! -s " + folder.file("pid") +
                             " ]; do :; done\n";
  const std::string message = run_after_hello(phase_line("train") + escape + "exit 3\n").message;
  EXPECT_TRUE(message.starts_with("the worker left with exit status 3 in phase train")) << message;
  ::kill(std::stoi(read_file(folder.file("pid")).value()), SIGKILL);
  ASSERT_TRUE(write_file(folder.file("pid"), "").ok());
  spec.time_limit_seconds = 1;
  EXPECT_EQ(run_after_hello(escape + "sleep 1000\n").outcome, Outcome::kTimedOut);
  ::kill(std::stoi(read_file(folder.file("pid")).value()), SIGKILL);
}

TEST_F(RunnerTest, AWorkerThatNeverReadsItsJobIsHeldToItsTime) {
  spec.time_limit_seconds = 0.5;
  Workload workload = tiny_workload();
  // Longer than a socket holds.
  workload.sizes[0].build = [](std::int64_t batch) {
    Graph graph = tiny_graph(batch);
    graph.inputs.push_back({std::string(1 << 20, 'x'), {DType::kFloat32, {1}}});
    return graph;
  };
  run("");
  ASSERT_TRUE(
      write_file(folder.file("engine"),
                 "#!/bin/sh\nread -r core <&3\n"
                 "echo '{\"type\":\"hello\",\"protocol\":2,\"engine\":{}}' >&3\nsleep 1000\n")
          .ok());
  EXPECT_EQ(run_one(spec, workload, *this, stop).outcome, Outcome::kTimedOut);
}

TEST_F(RunnerTest, AFaultyGraphIsInvalidWithItsPlace) {
  Workload workload = tiny_workload();
  workload.sizes[0].build = [](std::int64_t batch) {
    Graph graph = tiny_graph(batch);
    graph.nodes[1].op = "Gem";
    return graph;
  };
  const RunRecord record = run_one(spec, workload, *this, stop);
  EXPECT_EQ(record.outcome, Outcome::kInvalid);
  EXPECT_NE(record.message.find("tiny: node layer"), std::string::npos) << record.message;
  EXPECT_NE(record.message.find("did you mean 'Gemm'?"), std::string::npos) << record.message;
}

}  // namespace
}  // namespace gradstone
