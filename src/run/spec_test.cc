// SPDX-License-Identifier: Apache-2.0
#include "run/spec.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <limits>

#include "run/plan.h"
#include "run/test_workload.h"

namespace gradstone {
namespace {

RunSpec valid_spec() {
  RunSpec spec;
  spec.workload = "tiny";
  spec.engine.engine.name = "null";
  return spec;
}

template <class Change>
std::string fault_after(Change change) {
  RunSpec spec = valid_spec();
  change(spec);
  const Status status = check_spec(spec, tiny_workload());
  if (status.ok()) return "";
  EXPECT_EQ(status.error().kind, ErrorKind::kUsage);
  return status.error().message;
}

TEST(Spec, ContradictionsAreUsageErrors) {
  EXPECT_EQ(fault_after([](RunSpec&) {}), "");
  EXPECT_EQ(fault_after([](RunSpec& spec) { spec.measure.steps = spec.measure.epochs = 1; }),
            "--steps and --epochs exclude each other; give one");
  EXPECT_EQ(fault_after([](RunSpec& spec) { spec.size = "papr"; }),
            "workload tiny has no size 'papr'; did you mean 'paper'?; it has small, paper");
  EXPECT_EQ(fault_after([](RunSpec& spec) { spec.batch = -1; }), "--batch must be at least 0");
  EXPECT_EQ(fault_after([](RunSpec& spec) { spec.threads = -1; }), "--threads must be at least 0");
  EXPECT_EQ(fault_after([](RunSpec& spec) { spec.measure.steps = -5; }),
            "--steps must be at least 0");
  EXPECT_EQ(fault_after([](RunSpec& spec) { spec.dtype = DType::kInt32; }),
            "--dtype int32: networks are trained in float32 or float64");
  EXPECT_EQ(fault_after([](RunSpec& spec) { spec.weights_in = "/nowhere"; }),
            "--weights /nowhere: no such file can be read");
  EXPECT_EQ(fault_after([](RunSpec& spec) { spec.time_limit_seconds = 0; }),
            "--time-limit must be more than 0");
  EXPECT_EQ(fault_after([](RunSpec& spec) {
              spec.time_limit_seconds = std::numeric_limits<double>::quiet_NaN();
            }),
            "--time-limit must be more than 0");
  EXPECT_EQ(fault_after([](RunSpec& spec) { spec.memory_limit_bytes = -1; }),
            "--memory-limit must be at least 0");
  EXPECT_NE(fault_after([](RunSpec& spec) { spec.device.clear(); }), "");
  EXPECT_NE(fault_after([](RunSpec& spec) { spec.data = "fashion-mnits"; }), "");
}

TEST(Spec, DefaultsAreWrittenOut) {
  const RunSpec small = resolved(valid_spec(), tiny_workload());
  EXPECT_EQ(small.size, "small");
  EXPECT_EQ(small.batch, 4);
  EXPECT_EQ(small.threads, usable_processors());
  EXPECT_EQ(small.data, "synthetic:train=32,test=10");
  RunSpec spec = valid_spec();
  spec.size = "paper";
  spec.threads = 3;
  EXPECT_EQ(resolved(spec, tiny_workload()).batch, 8);
  EXPECT_EQ(resolved(spec, tiny_workload()).threads, 3);
}

TEST(Spec, AffinityNamesTheProcessors) {
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  const int last = processor_affinity().back();
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(processor_affinity(), std::vector<int>{last});
  EXPECT_EQ(usable_processors(), 1);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Spec, TheCommandRepeatsTheRun) {
  RunSpec spec = valid_spec();
  EXPECT_EQ(command_of(spec),
            "gradstone run --workload tiny --engine null --seed 1 --dropout native");
  spec.size = "small";
  spec.engine = {{.name = "torch", .version = "1.13.1"}, "it's"};
  spec.batch = 64;
  spec.threads = 2;
  spec.dtype = DType::kFloat64;
  spec.device = "cuda:1";
  spec.math = "native";
  spec.deterministic = true;
  spec.seed = std::numeric_limits<std::uint64_t>::max();
  spec.dropout = DropoutMode::kShared;
  spec.measure.epochs = 2;
  spec.measure.evaluate = false;
  spec.data = "mnist:/a b";
  spec.weights_in = "w";
  spec.time_limit_seconds = 0.5;
  spec.memory_limit_bytes = 1 << 30;
  EXPECT_EQ(command_of(spec),
            "gradstone run --workload tiny --size small --engine 'torch@1.13.1:it'\\''s' --data "
            "'mnist:/a b' --batch 64 --threads 2 --seed 18446744073709551615 --dropout shared "
            "--dtype float64 --device cuda:1 --math native --deterministic --epochs 2 "
            "--no-evaluation --weights w --time-limit 0.5 --memory-limit 1073741824");
}

TEST(Spec, SettingsNameEveryChoice) {
  RunSpec spec = resolved(valid_spec(), tiny_workload());
  const Json settings = settings_of(spec);
  EXPECT_EQ(settings["batch"], 4);
  EXPECT_EQ(settings["dtype"], "float32");
  EXPECT_EQ(settings["dropout"], "native");
  EXPECT_EQ(settings["data"], "synthetic:train=32,test=10");
}

}  // namespace
}  // namespace gradstone
