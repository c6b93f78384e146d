// SPDX-License-Identifier: Apache-2.0
#include "verify/kinks.h"

#include <gtest/gtest.h>

namespace gradstone {
namespace {

Node node(std::string op, std::map<std::string, Attribute> attributes = {}) {
  Node made;
  made.name = "n";
  made.op = std::move(op);
  made.attributes = std::move(attributes);
  return made;
}

Tensor row(const std::vector<double>& values) {
  return Tensor::of<double>({1, 1, static_cast<std::int64_t>(values.size())}, values);
}

using Mask = std::vector<bool>;

TEST(Kinks, OfReluLieAtZero) {
  const Tensor x = row({-1, -1e-9, 0, 1e-9, 1});
  EXPECT_EQ(nonsmooth_elements(node("Relu"), {&x}, 0, 1e-8),
            (Mask{false, true, true, true, false}));
  EXPECT_EQ(nonsmooth_elements(node("Relu"), {&x}, 0, 0), (Mask{false, false, true, false, false}));
  EXPECT_TRUE(nonsmooth_elements(node("Tanh"), {&x}, 0, 1).empty());
}

TEST(Kinks, OfClipLieAtItsBounds) {
  const Tensor x = row({-1, 0, 0.5, 1, 2}), low = Tensor::scalar(0.0), high = Tensor::scalar(1.0);
  EXPECT_EQ(nonsmooth_elements(node("Clip"), {&x, &low, &high}, 0, 0),
            (Mask{false, true, false, true, false}));
  EXPECT_EQ(nonsmooth_elements(node("Clip"), {&x, nullptr, &high}, 0, 0),
            (Mask{false, false, false, true, false}));
}

TEST(Ties, OfAPoolAreTheMaximaThatAWindowHasTwice) {
  const std::map<std::string, Attribute> windows = {{"kernel_shape", std::vector<std::int64_t>{2}},
                                                    {"strides", std::vector<std::int64_t>{2}}};
  const Tensor x = row({1, 1, 2, 3, 5, 5 + 1e-9, 4, 4.5});
  EXPECT_EQ(nonsmooth_elements(node("MaxPool", windows), {&x}, 0, 1e-8),
            (Mask{true, true, false, false, true, true, false, false}));
}

TEST(Ties, OfAReductionAreAlongItsAxes) {
  const Tensor x = Tensor::of<double>({2, 3}, std::vector<double>{1, 2, 2, 3, 1, 1});
  const std::map<std::string, Attribute> rows = {{"axes", std::vector<std::int64_t>{-1}}};
  EXPECT_EQ(nonsmooth_elements(node("ReduceMax", rows), {&x}, 0, 0),
            (Mask{false, true, true, false, false, false}));
  EXPECT_EQ(nonsmooth_elements(node("ReduceMin", rows), {&x}, 0, 0),
            (Mask{false, false, false, false, true, true}));
}

TEST(Ties, OfOperandsAreWhereTheyAreEqual) {
  const Tensor a = row({1, 2, 3}), b = row({1, 5, 3});
  EXPECT_EQ(nonsmooth_elements(node("Max"), {&a, &b}, 1, 0), (Mask{true, false, true}));
}

}  // namespace
}  // namespace gradstone
