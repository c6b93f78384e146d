// SPDX-License-Identifier: Apache-2.0
// Elementwise kernels against closed forms and identities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/testing/node_value.h"

namespace gradstone::kernels {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::FloatEq;
using ::testing::IsNan;
using testing::node_value;
using testing::node_values;
using testing::tensor_of;
using testing::vector_of;

using Int8s = std::vector<std::int8_t>;
using UInt8s = std::vector<std::uint8_t>;
using Int32s = std::vector<std::int32_t>;
using Int64s = std::vector<std::int64_t>;
using Doubles = std::vector<double>;
using Floats = std::vector<float>;
using Bools = std::vector<bool>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();

Doubles of(const std::string& op, const Doubles& x, const testing::Attributes& attributes = {}) {
  return node_value<double>(op, {vector_of(x)}, attributes);
}

// Four units in the last place of `value`.
auto near(double value) { return DoubleNear(value, 4 * std::abs(value) * 0x1p-52); }

TEST(Arithmetic, OfSmallIntegersWrapsAround) {
  const Tensor a = vector_of(UInt8s{250, 3, 16}), b = vector_of(UInt8s{10, 5, 17});
  EXPECT_EQ(node_value<std::uint8_t>("Add", {a, b}), (UInt8s{4, 8, 33}));
  EXPECT_EQ(node_value<std::uint8_t>("Sub", {a, b}), (UInt8s{240, 254, 255}));
  EXPECT_EQ(node_value<std::uint8_t>("Mul", {a, b}), (UInt8s{196, 15, 16}));
  EXPECT_EQ(node_value<std::uint8_t>("Div", {a, b}), (UInt8s{25, 0, 0}));
  const Tensor c = vector_of(Int8s{127, -128, -7}), d = vector_of(Int8s{1, -1, 2});
  EXPECT_EQ(node_value<std::int8_t>("Add", {c, d}), (Int8s{-128, 127, -5}));
  EXPECT_EQ(node_value<std::int8_t>("Div", {c, d}), (Int8s{127, -128, -3}));
  EXPECT_EQ(node_value<std::int8_t>("Neg", {c}), (Int8s{-127, -128, 7}));
  EXPECT_EQ(node_value<std::int8_t>("Abs", {c}), (Int8s{127, -128, 7}));
  EXPECT_EQ(node_value<std::int8_t>("Relu", {c}), (Int8s{127, 0, 0}));
  EXPECT_EQ(node_value<std::int8_t>("Sign", {c}), (Int8s{1, -1, -1}));
  EXPECT_EQ(node_value<std::uint8_t>("Sign", {vector_of(UInt8s{0, 200})}), (UInt8s{0, 1}));
  EXPECT_FALSE(node_values("Div", {c, vector_of(Int8s{1, 0, 1})}).ok());
}

TEST(Pow, OfMixedTypes) {
  const Tensor whole = vector_of(Int32s{-3, 2, 7}), real = vector_of(Floats{0.5F, 2, 3});
  EXPECT_EQ(node_value<float>("Pow", {real, whole}), (Floats{8, 4, 2187}));
  EXPECT_EQ(node_value<std::int32_t>("Pow", {whole, vector_of(Floats{3, 0.5F, 2})}),
            (Int32s{-27, 1, 49}));
  EXPECT_EQ(node_value<std::int32_t>("Pow", {whole, vector_of(UInt8s{3, 10, 0})}),
            (Int32s{-27, 1024, 1}));
  EXPECT_EQ(node_value<std::int64_t>(
                "Pow", {vector_of(Int64s{3, -1, -1, 2, 3}), vector_of(Int64s{39, 3, -3, -1, 41})}),
            (Int64s{4052555153018976267, -1, -1, 0, -420491770248316829}));  // 3^41 mod 2^64
  EXPECT_EQ(node_value<double>("Pow", {vector_of(Doubles{2}), vector_of(Floats{0.5F})}),
            (Doubles{std::sqrt(2.0)}));
  EXPECT_FALSE(node_values("Pow", {vector_of(Int64s{0}), vector_of(Int64s{-1})}).ok());
}

TEST(Activations, AreTheirFormulas) {
  const double e = std::numbers::e;
  EXPECT_THAT(of("Elu", {-1, 0, 2}, {{"alpha", 2.0}}), ElementsAre(near(2 / e - 2), 0, 2));
  EXPECT_THAT(of("Selu", {-1, 2}),
              ElementsAre(DoubleNear(-1.1113307378125625, 1e-7), DoubleNear(2.1014020, 1e-7)));
  EXPECT_THAT(of("Selu", {-1, 2}, {{"alpha", 3.0}, {"gamma", 2.0}}),
              ElementsAre(near(6 / e - 6), 4));
  EXPECT_EQ(of("LeakyRelu", {-4, 0, 4}, {{"alpha", 0.25}}), (Doubles{-1, 0, 4}));
  EXPECT_EQ(of("LeakyRelu", {-100}), (Doubles{-1}));
  EXPECT_EQ(of("HardSigmoid", {-9, 1, 9}, {{"alpha", 0.25}, {"beta", 0.5}}), (Doubles{0, 0.75, 1}));
  EXPECT_THAT(of("HardSwish", {-4, -1.5, 0, 1.5, 4}),
              ElementsAre(0, near(-0.375), 0, near(1.125), 4));
  EXPECT_THAT(of("Celu", {-2, 3}, {{"alpha", 2.0}}), ElementsAre(near(2 / e - 2), 3));
  EXPECT_EQ(of("Softsign", {-3, 1}), (Doubles{-0.75, 0.5}));
  EXPECT_EQ(of("ThresholdedRelu", {0.5, 1, 2}), (Doubles{0, 0, 2}));
  EXPECT_THAT(of("Mish", {0, 800}), ElementsAre(0, 800));
  EXPECT_EQ(node_value<double>("PRelu", {tensor_of<double>({2, 2}, {-1, 2, -3, -4}),
                                         vector_of(Doubles{0.5, 0.25})}),
            (Doubles{-0.5, 2, -1.5, -1}));
}

TEST(Activations, KeepTheirDigitsFarFromZero) {
  // Elu(x) is alpha x, Softplus(-x) e^-x, for small and large x.
  EXPECT_THAT(of("Elu", {-1e-20, -800}), ElementsAre(near(-1e-20), -1));
  EXPECT_THAT(of("Softplus", {-50, 0, 50, 800, -800}),
              ElementsAre(near(std::exp(-50.0)), near(std::numbers::ln2), near(50), 800, 0));
  // The normal distribution at -10 and 1: Abramowitz and Stegun, tables 26.1 and 26.2.
  EXPECT_THAT(of("Gelu", {-10, 0, 1, 40}), ElementsAre(DoubleNear(-7.619853024160e-23, 1e-33), 0,
                                                       DoubleNear(0.841344746068543, 1e-15), 40));
  const double u = std::sqrt(2 / std::numbers::pi) * (1 + 0.044715);
  EXPECT_THAT(of("Gelu", {1, -40, 40}, {{"approximate", "tanh"}}),
              ElementsAre(near(0.5 * (1 + std::tanh(u))), DoubleNear(0, 1e-300), 40));
}

TEST(Clip, KeepsBetweenItsBounds) {
  const Tensor x = vector_of(Doubles{-2, 0.5, 3, kNaN});
  const Tensor low = Tensor::scalar(-1.0), high = vector_of(Doubles{1});
  EXPECT_THAT(node_value<double>("Clip", {x, low, high}), ElementsAre(-1, 0.5, 1, IsNan()));
  EXPECT_THAT(node_value<double>("Clip", {x, low}), ElementsAre(-1, 0.5, 3, IsNan()));
  EXPECT_THAT(node_value<double>("Clip", {x, {}, high}), ElementsAre(-2, 0.5, 1, IsNan()));
  EXPECT_THAT(node_value<double>("Clip", {x, high, low}), ElementsAre(-1, -1, -1, IsNan()));
  EXPECT_EQ(node_value<std::uint8_t>("Clip",
                                     {vector_of(UInt8s{1, 200}), Tensor::scalar<std::uint8_t>(7)}),
            (UInt8s{7, 200}));
}

TEST(Functions, AreThoseOfTheLibrary) {
  const double pi = std::numbers::pi, root = std::sqrt(0.5);
  EXPECT_THAT(of("Sin", {pi / 4}), ElementsAre(near(root)));
  EXPECT_THAT(of("Cos", {pi / 3}), ElementsAre(near(0.5)));
  EXPECT_THAT(of("Tan", {pi / 4}), ElementsAre(near(1)));
  EXPECT_THAT(of("Asin", {0.5}), ElementsAre(near(pi / 6)));
  EXPECT_THAT(of("Acos", {0.5}), ElementsAre(near(pi / 3)));
  EXPECT_THAT(of("Atan", {-1}), ElementsAre(near(-pi / 4)));
  EXPECT_THAT(of("Sinh", {std::numbers::ln2}), ElementsAre(near(0.75)));
  EXPECT_THAT(of("Cosh", {std::numbers::ln2}), ElementsAre(near(1.25)));
  EXPECT_THAT(of("Asinh", {0.75}), ElementsAre(near(std::numbers::ln2)));
  EXPECT_THAT(of("Acosh", {1.25}), ElementsAre(near(std::numbers::ln2)));
  EXPECT_THAT(of("Atanh", {0.6}), ElementsAre(near(std::numbers::ln2)));
  EXPECT_THAT(of("Erf", {1}), ElementsAre(near(0.8427007929497149)));  // table 7.1
  EXPECT_EQ(of("Ceil", {-1.5, 1.2}), (Doubles{-1, 2}));
  EXPECT_EQ(of("Floor", {-1.5, 1.2}), (Doubles{-2, 1}));
  EXPECT_EQ(of("Round", {-2.5, -1.5, 0.5, 1.5, 2.6}), (Doubles{-2, -2, 0, 2, 3}));
  EXPECT_THAT(of("Sign", {-0.1, 0, 7, kNaN}), ElementsAre(-1, 0, 1, IsNan()));
  EXPECT_EQ(of("Abs", {-1.5, 0, 2}), (Doubles{1.5, 0, 2}));
  EXPECT_THAT(node_value<float>("Sin", {vector_of(Floats{1})}), ElementsAre(FloatEq(0.84147098F)));
}

TEST(Mod, HasTheSignOfTheDivisorOrOfTheDividend) {
  const Tensor a = vector_of(Int64s{-4, 7, 5, 4, -7, 8, kLeast});
  const Tensor b = vector_of(Int64s{2, -3, 8, -2, 3, 5, -1});
  EXPECT_EQ(node_value<std::int64_t>("Mod", {a, b}), (Int64s{0, -2, 5, 0, 2, 3, 0}));
  EXPECT_EQ(node_value<std::int64_t>("Mod", {a, b}, {{"fmod", std::int64_t{1}}}),
            (Int64s{0, 1, 5, 0, -1, 3, 0}));
  EXPECT_EQ(node_value<double>("Mod", {vector_of(Doubles{-5.5, 5.5}), Tensor::scalar(3.0)},
                               {{"fmod", std::int64_t{1}}}),
            (Doubles{-2.5, 2.5}));
  EXPECT_EQ(node_value<std::uint8_t>("Mod", {vector_of(UInt8s{255}), vector_of(UInt8s{16})}),
            (UInt8s{15}));
  EXPECT_FALSE(node_values("Mod", {a, Tensor::scalar(std::int64_t{0})}).ok());
}

TEST(Variadic, FoldTheirOperandsBroadcast) {
  const Tensor a = vector_of(Doubles{1, 5, kNaN}), b = tensor_of<double>({2, 1}, {2, 6});
  const Tensor c = Tensor::scalar(3.0);
  EXPECT_THAT(node_value<double>("Max", {a, b, c}), ElementsAre(3, 5, IsNan(), 6, 6, IsNan()));
  EXPECT_THAT(node_value<double>("Min", {b, c, a}), ElementsAre(1, 2, IsNan(), 1, 3, IsNan()));
  EXPECT_THAT(node_value<double>("Sum", {a, b, c}), ElementsAre(6, 10, IsNan(), 10, 14, IsNan()));
  EXPECT_THAT(node_value<double>("Mean", {a, b, c}),
              ElementsAre(2, near(10 / 3.0), IsNan(), near(10 / 3.0), near(14 / 3.0), IsNan()));
  EXPECT_EQ(node_value<std::int8_t>("Max", {vector_of(Int8s{-1, 2}), vector_of(Int8s{-2, 3})}),
            (Int8s{-1, 3}));
}

TEST(Comparisons, OfNumbersAndTruth) {
  const Tensor a = vector_of(Doubles{1, 2, 3, kNaN}), b = Tensor::scalar(2.0);
  EXPECT_EQ(node_value<bool>("Equal", {a, b}), (Bools{false, true, false, false}));
  EXPECT_EQ(node_value<bool>("Greater", {a, b}), (Bools{false, false, true, false}));
  EXPECT_EQ(node_value<bool>("GreaterOrEqual", {a, b}), (Bools{false, true, true, false}));
  EXPECT_EQ(node_value<bool>("Less", {a, b}), (Bools{true, false, false, false}));
  EXPECT_EQ(node_value<bool>("LessOrEqual", {a, b}), (Bools{true, true, false, false}));
  EXPECT_EQ(node_value<bool>("IsNaN", {a}), (Bools{false, false, false, true}));
  const Tensor wide = vector_of(Int64s{kLeast, kLeast + 1});  // equal as doubles
  EXPECT_EQ(node_value<bool>("Less", {vector_of(Int64s{kLeast, kLeast}), wide}),
            (Bools{false, true}));
  const Tensor p = vector_of(Bools{false, false, true, true});
  const Tensor q = vector_of(Bools{false, true, false, true});
  EXPECT_EQ(node_value<bool>("Equal", {p, q}), (Bools{true, false, false, true}));
  EXPECT_EQ(node_value<bool>("And", {p, q}), (Bools{false, false, false, true}));
  EXPECT_EQ(node_value<bool>("Or", {p, q}), (Bools{false, true, true, true}));
  EXPECT_EQ(node_value<bool>("Xor", {p, q}), (Bools{false, true, true, false}));
  EXPECT_EQ(node_value<bool>("Not", {p}), (Bools{true, true, false, false}));
}

TEST(IsInf, DetectsTheSignsAskedFor) {
  const Tensor x = vector_of(Doubles{-kInfinity, 1, kInfinity, kNaN});
  const std::int64_t off = 0;
  EXPECT_EQ(node_value<bool>("IsInf", {x}), (Bools{true, false, true, false}));
  EXPECT_EQ(node_value<bool>("IsInf", {x}, {{"detect_negative", off}}),
            (Bools{false, false, true, false}));
  EXPECT_EQ(node_value<bool>("IsInf", {x}, {{"detect_positive", off}}),
            (Bools{true, false, false, false}));
}

TEST(Where, ChoosesOfAnyType) {
  const Tensor condition = vector_of(Bools{true, false});
  EXPECT_EQ(node_value<double>("Where",
                               {condition, tensor_of<double>({2, 1}, {1, 2}), Tensor::scalar(9.0)}),
            (Doubles{1, 9, 2, 9}));
  EXPECT_EQ(node_value<std::int64_t>(
                "Where", {condition, vector_of(Int64s{kLeast, 1}), vector_of(Int64s{2, 3})}),
            (Int64s{kLeast, 3}));
  EXPECT_EQ(
      node_value<float>("Where", {condition, vector_of(Floats{1, 2}), vector_of(Floats{3, 4})}),
      (Floats{1, 4}));
  EXPECT_EQ(node_value<bool>("Where", {condition, Tensor::scalar(false), condition}),
            (Bools{false, false}));
}

TEST(Cast, TruncatesWrapsAndTellsTruth) {
  const auto cast = [](const Tensor& x, std::int64_t to) {
    return node_values("Cast", {x}, {{"to", to}}).value()[0];
  };
  const Tensor real = vector_of(Doubles{-1.9, 0.5, 300.7, 1e30, -1e30, kNaN});
  const auto elements = [](const Tensor& tensor) {
    Doubles values;
    for (std::int64_t i = 0; i < tensor.type().elements(); ++i) {
      values.push_back(element_as_double(tensor.ref(), i));
    }
    return values;
  };
  EXPECT_EQ(elements(cast(real, 7)), (Doubles{-1, 0, 300, 0x1p63, -0x1p63, 0}));
  EXPECT_EQ(elements(cast(vector_of(Doubles{-1.9, 300.7}), 2)), (Doubles{255, 44}));
  EXPECT_EQ(elements(cast(vector_of(Int64s{-129, 128, 3}), 3)), (Doubles{127, -128, 3}));
  EXPECT_EQ(elements(cast(real, 9)), (Doubles{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(elements(cast(vector_of(Floats{0, -0.0F, 0.1F}), 9)), (Doubles{0, 0, 1}));
  EXPECT_EQ(elements(cast(vector_of(Bools{false, true}), 1)), (Doubles{0, 1}));
  EXPECT_EQ(elements(cast(vector_of(UInt8s{200}), 3)), (Doubles{-56}));
  EXPECT_EQ(elements(cast(vector_of(Doubles{0.1}), 1)), (Doubles{0.1F}));
}

}  // namespace
}  // namespace gradstone::kernels
