// SPDX-License-Identifier: Apache-2.0
#include "kernels/testing/computed.h"

namespace gradstone::kernels {
namespace {

using namespace testing;
using gradstone::DType;

constexpr DType kAll[] = {DType::kFloat32, DType::kFloat64, DType::kInt8, DType::kInt32,
                          DType::kInt64,   DType::kUInt8,   DType::kBool};

TEST(AxesKernels, MoveEveryTypeOfElement) {
  for (const DType dtype : kAll) {
    const Tensor x = tensor(dtype, {2, 1}, {1, 0});
    EXPECT_EQ(computed("Tile", {x, list({1, 2})}), (Numbers{1, 1, 0, 0}));
    EXPECT_EQ(computed("Unsqueeze", {x, list({0})}), (Numbers{1, 0}));
    EXPECT_EQ(computed("Squeeze", {x}), (Numbers{1, 0}));
    EXPECT_EQ(computed("Trilu", {tensor(dtype, {2, 2}, {1, 1, 1, 1})}), (Numbers{1, 1, 0, 1}));
    const std::vector<Tensor> parts = outputs_of("Split", {x}, {}, 2);
    EXPECT_EQ(numbers(parts[1]), Numbers{0});
    EXPECT_EQ(parts[1].type().dtype, dtype);
  }
}

TEST(AxesKernels, TileRepeatsAllAxes) {
  EXPECT_EQ(computed("Tile", {real({2, 2}, {1, 2, 3, 4}), list({2, 2})}),
            (Numbers{1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4}));
}

TEST(AxesKernels, SplitCutsInOrder) {
  const auto parts = outputs_of("Split", {real({2, 3}, {1, 2, 3, 4, 5, 6}), list({1, 2})},
                                {{"axis", Ints::value_type{1}}}, 2);
  EXPECT_EQ(numbers(parts[0]), (Numbers{1, 4}));
  EXPECT_EQ(numbers(parts[1]), (Numbers{2, 3, 5, 6}));
}

// The example of ONNX's documentation: depth [0 .. 7] of one pixel.
TEST(AxesKernels, DepthToSpaceOrdersBlocks) {
  const Tensor x = real({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Attributes dcr = {{"blocksize", std::int64_t{2}}};
  const Attributes crd = {{"blocksize", std::int64_t{2}}, {"mode", "CRD"}};
  EXPECT_EQ(computed("DepthToSpace", {x}, dcr), (Numbers{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(computed("DepthToSpace", {x}, crd), (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(computed("SpaceToDepth", {real({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7})}, dcr),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(AxesKernels, TriluStartsAtDiagonalK) {
  const Tensor x = real({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto k = [](std::int64_t value) { return Tensor::scalar(value); };
  const Attributes lower = {{"upper", std::int64_t{0}}};
  EXPECT_EQ(computed("Trilu", {x, k(1)}), (Numbers{0, 2, 3, 0, 0, 6}));
  EXPECT_EQ(computed("Trilu", {x, k(-1)}), (Numbers{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(computed("Trilu", {x, k(0)}, lower), (Numbers{1, 0, 0, 4, 5, 0}));
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(computed("Trilu", {x, k(most)}), Numbers(6, 0.0));
  EXPECT_EQ(computed("Trilu", {x, k(most)}, lower), numbers(x));
}

TEST(PadKernel, ReflectsAndRepeats) {
  const Tensor x = real({3}, {1, 2, 3});
  const Attributes reflect = {{"mode", "reflect"}}, edge = {{"mode", "edge"}};
  EXPECT_EQ(computed("Pad", {x, list({2, 1})}, reflect), (Numbers{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(computed("Pad", {x, list({5, 0})}, reflect), (Numbers{2, 1, 2, 3, 2, 1, 2, 3}));
  EXPECT_EQ(computed("Pad", {x, list({2, 1})}, edge), (Numbers{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(computed("Pad", {x, list({-1, 2})}, edge), (Numbers{2, 3, 3, 3}));
  EXPECT_EQ(computed("Pad", {x, list({-1, 2})}, reflect), (Numbers{2, 3, 2, 3}));
  EXPECT_EQ(computed("Pad", {real({1}, {7}), list({2, 1})}, reflect), Numbers(4, 7.0));
  EXPECT_EQ(computed("Pad", {real({2, 2}, {1, 2, 3, 4}), list({1, 0, 0, 1})}, edge),
            (Numbers{1, 2, 2, 1, 2, 2, 3, 4, 4}));
}

TEST(PadKernel, TakesAwayWhatIsNegative) {
  const Tensor x = real({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(computed("Pad", {x, list({-1, 1, 0, -1}), Tensor::scalar(9.0)}), (Numbers{9, 4, 5}));
  EXPECT_EQ(computed("Pad", {x, list({-2, 0, 1, -2}), Tensor::scalar(9.0)}), Numbers{9});
}

}  // namespace
}  // namespace gradstone::kernels
