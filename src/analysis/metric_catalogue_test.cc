// SPDX-License-Identifier: Apache-2.0
#include "analysis/metric_catalogue.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace gradstone {
namespace {

// Two windows of 10 and 20 samples in 1 s and 2 s; three synchronised steps of mean 0.3 s with a
// batch of 2; and so on. The expected figures below are worked out by hand.
RunRecord example() {
  RunRecord record;
  record.samples = {{"window_samples", {10, 20}},
                    {"window_seconds", {1, 2}},
                    {"input_wait", {0.1, 0.2}},
                    {"step_time", {0.2, 0.3, 0.4}},
                    {"batch", {2}},
                    {"load_seconds", {3}},
                    {"first_step_seconds", {4}},
                    {"train_seconds", {5}},
                    {"epoch_seconds", {6, 8}},
                    {"evaluation_seconds", {1, 2}},
                    {"test_accuracy", {0.5, 0.75}},
                    {"test_loss", {2, 1}},
                    {"steps", {30}},
                    {"peak_resident_bytes", {100, 300, 200}}};
  for (int i = 1; i <= 30; ++i) record.samples["loss"].push_back(i);
  record.context["workload"] = {
      {"parameters", 7}, {"forward_flops_per_sample", 100}, {"training_flops_per_sample", 300}};
  compute_metrics(record);
  return record;
}

TEST(MetricCatalogue, EachFigureFromItsClosedForm) {
  const std::map<std::string, double> expected = {
      {"throughput", 10},
      {"step_time", 0.3},
      {"synchronisation_cost", 0.3 * 10 / 2 - 1},
      {"input_wait", 0.1},
      {"achieved_flops", 3000},
      {"load_time", 3},
      {"first_step_time", 4},
      {"train_time", 5},
      {"epoch_time", 7},
      {"evaluation_time", 2},
      {"test_accuracy", 0.75},
      {"test_loss", 1},
      {"first_loss", 1},
      {"final_loss", (11 + 30) / 2.0},
      {"steps", 30},
      {"epochs", 2},
      {"peak_memory", 300},
      {"parameters", 7},
      {"forward_flops_per_sample", 100},
      {"training_flops_per_sample", 300},
  };
  const RunRecord record = example();
  for (const MetricDef& metric : metric_catalogue()) {
    const std::string name(metric.name);
    ASSERT_TRUE(expected.contains(name)) << name << " has no expected value here";
    ASSERT_TRUE(record.metrics.contains(name)) << name;
    EXPECT_DOUBLE_EQ(record.metrics.at(name).value, expected.at(name)) << name;
    EXPECT_EQ(record.metrics.at(name).unit, metric.unit) << name;
  }
  EXPECT_EQ(record.metrics.size(), expected.size());
}

TEST(MetricCatalogue, IntervalsScaleWithTheirFigure) {
  RunRecord record = example();
  record.samples["window_seconds"] = {1, 1, 1, 1, 2};
  record.samples["window_samples"] = {12, 12, 12, 12, 12};  // 60 in 6 s: 10 a second
  record.samples["input_wait"] = {0, 0, 0, 0, 0.3};
  compute_metrics(record);
  const MetricValue& rate = record.metrics.at("throughput");
  // residuals four times 2 and -8: s^2 = 80 / 4, sqrt(20 * 5) / 6, t(4) = 2.776445
  EXPECT_NEAR(*rate.high - 10, 2.776445 * 10 / 6, 1e-5);
  EXPECT_NEAR(10 - *rate.low, 2.776445 * 10 / 6, 1e-5);
  EXPECT_DOUBLE_EQ(*record.metrics.at("achieved_flops").high, 300 * *rate.high);
  EXPECT_FALSE(record.metrics.at("step_time").low.has_value());  // too few samples
}

TEST(MetricCatalogue, AnIntervalIsPossibleOrLeftOut) {
  RunRecord record = example();
  record.samples["window_seconds"] = {0.01, 0.01, 0.01, 0.01, 100};
  record.samples["window_samples"] = {10, 10, 10, 10, 10};
  record.samples["input_wait"] = {0.01, 0, 0, 0, 0};
  record.samples["epoch_seconds"] = {1, 1, 1, 1, 100};
  compute_metrics(record);
  for (const char* name : {"throughput", "input_wait", "achieved_flops", "epoch_time"}) {
    EXPECT_EQ(record.metrics.at(name).low, 0.0) << name;
    EXPECT_GT(record.metrics.at(name).high, record.metrics.at(name).value) << name;
  }
  for (const char* series : {"window_seconds", "window_samples", "input_wait", "epoch_seconds"}) {
    record.samples[series].pop_back();
  }
  compute_metrics(record);
  for (const char* name : {"throughput", "input_wait", "achieved_flops", "epoch_time"}) {
    EXPECT_FALSE(record.metrics.at(name).low.has_value()) << name;
    EXPECT_FALSE(record.metrics.at(name).high.has_value()) << name;
  }
}

TEST(MetricCatalogue, NothingComesFromNothing) {
  RunRecord record;
  record.samples["window_seconds"] = {1, 2};
  record.samples["window_samples"] = {1};  // a worker that died in between
  record.context["workload"] = "not an object";
  compute_metrics(record);
  EXPECT_TRUE(record.metrics.empty());
}

TEST(MetricCatalogue, DivergedLossStaysNotANumber) {
  RunRecord record;
  record.samples["loss"] = {1, std::nan("")};
  compute_metrics(record);
  EXPECT_TRUE(std::isnan(record.metrics.at("final_loss").value));
  EXPECT_EQ(record.metrics.at("first_loss").value, 1);
}

TEST(MetricCatalogue, NamesAreUniqueAndFound) {
  std::set<std::string_view> seen;
  for (const MetricDef& metric : metric_catalogue()) {
    EXPECT_TRUE(seen.insert(metric.name).second) << metric.name;
    EXPECT_EQ(find_metric(metric.name), &metric);
    EXPECT_FALSE(metric.help.empty());
  }
  EXPECT_EQ(find_metric("speed"), nullptr);
}

}  // namespace
}  // namespace gradstone
