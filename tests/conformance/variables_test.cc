// SPDX-License-Identifier: Apache-2.0
// The variable store and the edges of a run: what is written is read back, what is wrong is an
// error and never a crash.
#include "tests/conformance/support.h"

namespace gradstone::conformance {
namespace {

class VariablesTest : public EngineTest {
 protected:
  // y = x * w
  BundleSpec product() const {
    TestGraph g(dtype());
    g.input("x", {2});
    g.weight("w", {2});
    g.node("y", "Mul", {"x", "w"});
    return {{{"product", g.graph, Mode::kInference, {"y"}, {}, {}}}};
  }
};

TEST_P(VariablesTest, ReadsBackWhatWasWritten) {
  load(product());
  if (!bundle_) return;
  write("w", tensor({2}, {1.5, -2}));
  EXPECT_EQ(values_of(read("w")), (std::vector<double>{1.5, -2}));
  EXPECT_EQ(values_of(run(0, {tensor({2}, {2, 3})})[0]), (std::vector<double>{3, -6}));
  write("w", tensor({2}, {4, 5}));
  EXPECT_EQ(values_of(read("w")), (std::vector<double>{4, 5}));
  EXPECT_EQ(values_of(run(0, {tensor({2}, {2, 3})})[0]), (std::vector<double>{8, 15}));
}

TEST_P(VariablesTest, TheSourceOfAWriteIsNotNeededAfterwards) {
  load(product());
  if (!bundle_) return;
  Tensor source = tensor({2}, {1, 2});
  write("w", source);
  std::memset(source.data(), 0, source.type().bytes());
  EXPECT_EQ(values_of(read("w")), (std::vector<double>{1, 2}));
}

TEST_P(VariablesTest, KnowsTheTypeOfAVariable) {
  load(product());
  if (!bundle_) return;
  const auto type = bundle_->type_of("w");
  ASSERT_TRUE(type.ok());
  EXPECT_EQ(*type, (TensorType{dtype(), {2}}));
}

TEST_P(VariablesTest, UnknownVariableIsAnErrorThatNamesIt) {
  load(product());
  if (!bundle_) return;
  Tensor value = tensor({2}, {1, 2});
  EXPECT_FALSE(bundle_->type_of("nobody").ok());
  EXPECT_FALSE(bundle_->read("nobody", value.sink()).ok());
  const Status status = bundle_->write("nobody", value.ref());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("nobody"), std::string::npos) << status.error().message;
}

TEST_P(VariablesTest, AnUndefinedWeightIsAnErrorThatNamesIt) {
  load(product());
  if (!bundle_) return;
  std::vector<Tensor> fetched = {tensor({2}, {0, 0})};
  const Status status = try_run(0, {tensor({2}, {1, 1})}, {}, fetched);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("'w'"), std::string::npos) << status.error().message;
}

TEST_P(VariablesTest, AVariableOfAnotherTypeIsAnError) {
  load(product());
  if (!bundle_) return;
  Tensor longer = tensor({3}, {1, 2, 3});
  EXPECT_FALSE(bundle_->write("w", longer.ref()).ok());
  write("w", tensor({2}, {1, 2}));
  EXPECT_FALSE(bundle_->read("w", longer.sink()).ok());
}

TEST_P(VariablesTest, WrongFeedsAndFetchesAreErrors) {
  load(product());
  if (!bundle_) return;
  write("w", tensor({2}, {1, 2}));
  std::vector<Tensor> fetched = {tensor({2}, {0, 0})};
  EXPECT_FALSE(try_run(0, {tensor({3}, {1, 2, 3})}, {}, fetched).ok()) << "wrong shape";
  EXPECT_FALSE(try_run(0, {integers({2}, {1, 2})}, {}, fetched).ok()) << "wrong dtype";
  EXPECT_FALSE(try_run(0, {}, {}, fetched).ok()) << "no feed";
  std::vector<Tensor> two = {tensor({2}, {0, 0}), tensor({2}, {0, 0})};
  EXPECT_FALSE(try_run(0, {tensor({2}, {1, 1})}, {}, two).ok()) << "too many fetches";
  std::vector<Tensor> longer = {tensor({3}, {0, 0, 0})};
  EXPECT_FALSE(try_run(0, {tensor({2}, {1, 1})}, {}, longer).ok()) << "fetch of another shape";
  EXPECT_FALSE(try_run(1, {tensor({2}, {1, 1})}, {}, fetched).ok()) << "no such program";
  EXPECT_FALSE(try_run(0, {tensor({2}, {1, 1})}, {{0.1, 1}}, fetched).ok()) << "no such update";
  EXPECT_TRUE(try_run(0, {tensor({2}, {1, 1})}, {}, fetched).ok()) << "and still works";
}

TEST_P(VariablesTest, FetchesCanBeLeftOut) {
  load(product());
  if (!bundle_) return;
  write("w", tensor({2}, {1, 2}));
  const Tensor x = tensor({2}, {1, 1});
  const std::vector<TensorRef> feeds = {x.ref()};
  RunRequest request;
  request.feeds = feeds;
  EXPECT_TRUE(bundle_->run(request).ok());
  const std::vector<TensorSink> none = {TensorSink{}};
  request.fetches = none;
  EXPECT_TRUE(bundle_->run(request).ok());
  EXPECT_TRUE(bundle_->synchronise().ok());
}

TEST_P(VariablesTest, ProgramsMustAgreeOnAWeight) {
  BundleSpec spec = product();
  TestGraph other(dtype());
  other.input("x", {3});
  other.weight("w", {3});
  other.node("y", "Mul", {"x", "w"});
  spec.programs.push_back({"other", other.graph, Mode::kInference, {"y"}, {}, {}});
  const auto bundle = engine_->load(spec);
  ASSERT_FALSE(bundle.ok());
  EXPECT_NE(bundle.error().message.find("'w'"), std::string::npos) << bundle.error().message;
}

TEST_P(VariablesTest, UnknownOutputIsAnErrorAtLoad) {
  BundleSpec spec = product();
  spec.programs[0].outputs = {"nothing"};
  EXPECT_FALSE(engine_->load(spec).ok());
}

TEST_P(VariablesTest, LoadsAndUnloadsManyTimes) {
  for (int i = 0; i < 50; ++i) {
    load(product());
    if (!bundle_) return;
    write("w", tensor({2}, {double(i), 1}));
    EXPECT_EQ(values_of(run(0, {tensor({2}, {2, 2})})[0]), (std::vector<double>{2.0 * i, 2}));
  }
}

TEST_P(VariablesTest, BundlesThatAreAliveTogetherDoNotShare) {
  load(product());
  if (!bundle_) return;
  const std::unique_ptr<Bundle> first = std::move(bundle_);
  load(product());
  ASSERT_TRUE(bundle_);
  const Tensor one = tensor({2}, {1, 1}), two = tensor({2}, {2, 2});
  ASSERT_TRUE(first->write("w", one.ref()).ok());
  write("w", two);
  Tensor value(one.type());
  ASSERT_TRUE(first->read("w", value.sink()).ok());
  EXPECT_EQ(values_of(value), values_of(one));
}

INSTANTIATE_TEST_SUITE_P(Conformance, VariablesTest, both_dtypes(), dtype_name);

}  // namespace
}  // namespace gradstone::conformance
