// SPDX-License-Identifier: Apache-2.0
#include "record/record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gradstone {
namespace {

RunRecord example() {
  RunRecord record;
  record.id = "20261130-093512-3fa9c1";
  record.plan = "p1";
  record.label = "a \"label\"";
  record.workload = "lenet";
  record.size = "small";
  record.engine = "engine@1";
  record.rank = 1;
  record.world_size = 2;
  record.device = "cuda:1";
  record.started_ms = 1796030000123;
  record.finished_ms = 1796030001123;
  record.outcome = Outcome::kDiverged;
  record.message = "loss is not finite";
  record.command = "gradstone run --workload lenet";
  record.metrics["throughput"] = {0.1, "samples/s", 0.05, 1.0 / 3};
  record.metrics["parameters"] = {431080, "1", {}, {}};
  record.samples["loss"] = {2.3, 1e-300};
  record.context["machine"] = {{"cpu", "x"}};
  return record;
}

TEST(RecordJson, RoundTripIsExact) {
  const Json json = to_json(example());
  EXPECT_EQ(json["run"], "20261130-093512-3fa9c1");
  EXPECT_EQ(json["outcome"], "diverged");
  const RunRecord read = record_from_json(parse_json(write_json(json)).value()).value();
  EXPECT_EQ(to_json(read), json);
  EXPECT_EQ(read.metrics.at("throughput").high, 1.0 / 3);
  EXPECT_FALSE(read.metrics.at("parameters").low.has_value());
  EXPECT_EQ(read.samples.at("loss")[1], 1e-300);
  EXPECT_EQ(read.world_size, 2);
  EXPECT_EQ(read.finished_ms, 1796030001123);
}

TEST(RecordJson, NonFiniteIsNullAndReadsAsNan) {
  RunRecord record = example();
  record.metrics["final_loss"] = {std::numeric_limits<double>::infinity(), "1", {}, {}};
  record.samples["loss"] = {1, std::nan("")};
  const Json json = to_json(record);
  EXPECT_EQ(write_json(json["samples"]["loss"]), "[1.0,null]");
  EXPECT_TRUE(json["metrics"]["final_loss"]["value"].is_null());
  const RunRecord read = record_from_json(json).value();
  EXPECT_TRUE(std::isnan(read.samples.at("loss")[1]));
  EXPECT_TRUE(std::isnan(read.metrics.at("final_loss").value));
}

TEST(RecordJson, OutcomesHaveNamesThatReadBack) {
  for (int i = 0; i <= static_cast<int>(Outcome::kInvalid); ++i) {
    EXPECT_EQ(outcome_from_name(name_of(static_cast<Outcome>(i))), static_cast<Outcome>(i));
  }
  EXPECT_FALSE(outcome_from_name("fine").has_value());
}

std::string error_with(const char* key, const Json& value) {
  Json json = to_json(example());
  json[key] = value;
  const auto read = records_from_json({{"schema", "gradstone/1"}, {"records", {json}}});
  return read.ok() ? "" : read.error().message;
}

TEST(RecordJson, ErrorsNameThePlace) {
  EXPECT_EQ(
      records_from_json({{"schema", "gradstone/9"}, {"records", Json::array()}}).error().message,
      "schema 'gradstone/9': this Gradstone reads 'gradstone/1'");
  EXPECT_EQ(records_from_json(Json::array()).error().message,
            "expected an object with key 'schema'");
  EXPECT_EQ(error_with("outcome", "fine"), "record 1: key 'outcome': 'fine' is not an outcome");
  EXPECT_EQ(error_with("run", "../x"),
            "record 1: key 'run': expected 1 to 80 letters, digits, '-', '_' or '.'");
  EXPECT_EQ(error_with("rank", 2),
            "record 1: key 'rank': expected 0 <= rank < world_size <= 1000000");
  EXPECT_EQ(error_with("started_ms", 0.5), "record 1: key 'started_ms': expected an integer");
  EXPECT_EQ(error_with("metrics", {{"m", {{"value", "x"}}}}),
            "record 1: metric 'm': key 'value': expected a number or null");
  EXPECT_EQ(error_with("samples", {{"loss", {1, "x"}}}),
            "record 1: key 'loss': expected a number or null");
  EXPECT_EQ(error_with("context", 3), "record 1: key 'context': expected an object");
}

}  // namespace
}  // namespace gradstone
