// SPDX-License-Identifier: Apache-2.0
#include "worker/program_contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/variable_table.h"

namespace gradstone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const TensorType kVector{DType::kFloat32, {2}}, kScalar{DType::kFloat32, {}};

// y = x * w; loss = sum y. Trained by momentum with an average of w.
ProgramSpec spec() {
  ProgramSpec spec;
  spec.name = "step";
  spec.graph.name = "product";
  spec.graph.inputs = {{"x", kVector}, {"label", {DType::kInt64, {2}}}};
  spec.graph.weights = {{"w", kVector, {}}};
  spec.graph.nodes = {{"mul", "Mul", "", {"x", "w"}, {"y"}, {}},
                      {"sum", "ReduceSum", "", {"y"}, {"loss"}, {{"keepdims", std::int64_t{0}}}}};
  spec.outputs = {"y"};
  spec.backward = BackwardSpec{{"loss"}, false, {"x", "w"}};
  UpdateSpec update;
  update.optimizer.rule = Rule::kAdaGrad;
  update.optimizer.initial_accumulator = 0.5;
  update.weight_average = 0.9;
  update.weights = {{"w", 2, 3}};
  spec.updates = {update};
  return spec;
}

Result<ProgramContract> contract(const ProgramSpec& spec) {
  return contract_of(spec, check_graph(spec.graph).value());
}

std::vector<std::string> texts(const std::vector<NamedType>& values) {
  std::vector<std::string> texts;
  for (const NamedType& value : values) texts.push_back(value.name + ": " + to_string(value.type));
  return texts;
}

std::string message(const Status& status) { return status.ok() ? "" : status.error().message; }
template <class T>
std::string message(const Result<T>& result) {
  return result.ok() ? "" : result.error().message;
}

TEST(ProgramContract, NamesFeedsAndFetchesInTheirOrder) {
  ProgramSpec fed = spec();
  fed.backward->from = {"loss", "y"};
  fed.backward->fed_cotangents = true;
  const auto derived = contract(fed);
  ASSERT_TRUE(derived.ok()) << message(derived);
  EXPECT_THAT(texts(derived->feeds), ElementsAre("x: " + to_string(kVector), "label: int64 [2]",
                                                 "cotangent of loss: " + to_string(kScalar),
                                                 "cotangent of y: " + to_string(kVector)));
  EXPECT_THAT(texts(derived->fetches),
              ElementsAre("y: " + to_string(kVector), "gradient of x: " + to_string(kVector),
                          "gradient of w: " + to_string(kVector)));
  EXPECT_EQ(contract(spec())->feeds.size(), 2u) << "no cotangents";
}

TEST(ProgramContract, SaysWhatAnUpdateKeeps) {
  const auto derived = contract(spec());
  ASSERT_TRUE(derived.ok()) << message(derived);
  ASSERT_EQ(derived->updates.size(), 1u);
  ASSERT_EQ(derived->updates[0].size(), 1u);
  const UpdatedWeight& weight = derived->updates[0][0];
  EXPECT_EQ(weight.update.decay_multiplier, 3);
  EXPECT_EQ(weight.type, kVector);
  EXPECT_EQ(weight.gradient, 1u);
  ASSERT_EQ(weight.slots.size(), 1u);
  EXPECT_EQ(weight.slots[0].name, "w:square_sum");
  EXPECT_EQ(weight.slots[0].initial, 0.5);
  EXPECT_EQ(weight.average, "w:average");
}

TEST(ProgramContract, RefusesWhatNoEngineCanDo) {
  const auto fault = [](void (*spoil)(ProgramSpec&)) {
    ProgramSpec spoilt = spec();
    spoil(spoilt);
    return message(contract(spoilt));
  };
  EXPECT_EQ(fault([](ProgramSpec& s) { s.outputs = {"z"}; }),
            "program 'step': output 'z' is no value of the graph");
  EXPECT_EQ(fault([](ProgramSpec& s) { s.backward->from = {"z"}; }),
            "program 'step': backward from 'z', which is no value of the graph");
  EXPECT_EQ(fault([](ProgramSpec& s) { s.backward->from = {"y"}; }),
            "program 'step': backward from 'y', which is float32 [2] and no scalar; feed its "
            "cotangent");
  EXPECT_THAT(fault([](ProgramSpec& s) { s.backward->from = {"label"}; }),
              HasSubstr("'label', which is int64 [2] and has no gradient"));
  EXPECT_THAT(fault([](ProgramSpec& s) { s.backward->wrt = {"y"}; }),
              HasSubstr("gradient of 'y', which is no weight and no input"));
  EXPECT_THAT(fault([](ProgramSpec& s) { s.backward->wrt = {"label"}; }),
              HasSubstr("gradient of 'label', which is int64 [2] and has none"));
  EXPECT_THAT(fault([](ProgramSpec& s) { s.backward.reset(); }), HasSubstr("updates need a"));
  EXPECT_THAT(fault([](ProgramSpec& s) { s.backward->wrt = {"x"}; }),
              HasSubstr("update of 'w', which is no weight of the backward pass"));
  EXPECT_THAT(fault([](ProgramSpec& s) {
                s.updates[0].weights = {{"x", 1, 1}};
              }),
              HasSubstr("update of 'x', which is no weight of the backward pass"));
  EXPECT_THAT(fault([](ProgramSpec& s) { s.updates.push_back(s.updates[0]); }),
              HasSubstr("update of 'w', which is updated already"));
}

TEST(ProgramContract, ChecksARequest) {
  const ProgramContract derived = contract(spec()).value();
  const Tensor x(kVector), label({DType::kInt64, {2}});
  Tensor value(kVector);
  const std::vector<TensorRef> feeds = {x.ref(), label.ref()}, swapped = {label.ref(), x.ref()};
  const std::vector<TensorSink> fetches = {value.sink(), TensorSink{}, value.sink()};
  const std::vector<TensorSink> wrong = {{kScalar, value.data()}, {}, {}};
  const std::vector<UpdateArguments> updates(1);
  const auto fault = [&](std::span<const TensorRef> fed, std::span<const TensorSink> fetched,
                         std::span<const UpdateArguments> updated) {
    RunRequest request;
    request.feeds = fed;
    request.fetches = fetched;
    request.updates = updated;
    return message(check_request(derived, request));
  };
  EXPECT_EQ(fault(feeds, fetches, updates), "");
  EXPECT_EQ(fault(feeds, {}, updates), "");
  EXPECT_EQ(fault({}, fetches, updates), "program 'step': has 2 values to feed, given 0");
  EXPECT_EQ(fault(swapped, fetches, updates),
            "program 'step': feed 'x' is float32 [2], given int64 [2]");
  EXPECT_EQ(fault(feeds, std::span(fetches).first(1), updates),
            "program 'step': has 3 values to fetch, given 1");
  EXPECT_EQ(fault(feeds, wrong, updates),
            "program 'step': value 'y' is float32 [2], fetched as " + to_string(kScalar));
  EXPECT_EQ(fault(feeds, fetches, {}), "program 'step': has 1 updates, given 0");
}

TEST(ProgramContract, ChecksTheIndexOfAProgram) {
  EXPECT_TRUE(check_program_index(1, 2).ok());
  EXPECT_EQ(message(check_program_index(2, 2)), "program 2: the bundle has 2");
}

// Values are one double: the number that all elements would have.
class VariableTableTest : public testing::Test {
 protected:
  VariableTable<double> table_{{[](const TensorType&) { return 0.0; },
                                [](double& value, double element) { value = element; }}};
};

TEST_F(VariableTableTest, AVariableIsDeclaredOnceAndKeepsItsType) {
  Variable<double>* w = table_.declare("w", kVector).value();
  EXPECT_EQ(table_.declare("w", kVector).value(), w);
  EXPECT_EQ(table_.type_of("w").value(), kVector);
  EXPECT_EQ(message(table_.declare("w", kScalar)),
            "variable 'w' is float32 [2], not " + to_string(kScalar));
  EXPECT_EQ(message(table_.to_write("w", kScalar)), message(table_.declare("w", kScalar)));
  EXPECT_THAT(message(table_.type_of("v")), HasSubstr("variable 'v'"));
  EXPECT_THAT(message(table_.to_write("v", kVector)), HasSubstr("variable 'v'"));
}

TEST_F(VariableTableTest, IsReadableOnceDefined) {
  Variable<double>* w = table_.declare("w", kVector).value();
  EXPECT_EQ(table_.to_write("w", kVector).value(), w);
  EXPECT_EQ(message(table_.to_read("w", kVector)), "variable 'w' was never written");
  ProgramContract empty;
  empty.name = "empty";
  EXPECT_EQ(message(check_request<double>(empty, {}, {w})),
            "program 'empty': variable 'w' was never written");
  w->defined = true;
  EXPECT_EQ(table_.to_read("w", kVector).value(), w);
  EXPECT_TRUE(check_request<double>(empty, {}, {w}).ok());
}

TEST_F(VariableTableTest, StateStartsAtItsInitialValueUnlessDefined) {
  const ProgramContract derived = contract(spec()).value();
  const auto first = table_.declare(derived.updates[0][0]);
  ASSERT_TRUE(first.ok()) << message(first);
  EXPECT_FALSE(first->weight->defined);
  EXPECT_FALSE(first->average->defined);
  EXPECT_EQ(table_.to_read("w:square_sum", kVector).value(), first->slots.at(0));
  EXPECT_EQ(first->slots[0]->value, 0.5);
  first->slots[0]->value = 7;
  EXPECT_EQ(table_.declare(derived.updates[0][0])->slots[0]->value, 7);
}

}  // namespace
}  // namespace gradstone
