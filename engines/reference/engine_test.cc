// SPDX-License-Identifier: Apache-2.0
// What is particular to the reference engine; what every engine must do stands in tests/conformance.
#include "worker/engine.h"

#include <gtest/gtest.h>

namespace gradstone::reference {
namespace {

TEST(ReferenceEngineTest, RefusesWhatItLacks) {
  const auto kind_of = [](const EngineOptions& options) {
    const auto engine = make_engine(options);
    return engine.ok() ? ErrorKind::kFailed : engine.error().kind;
  };
  EngineOptions options;
  options.device = "cuda:0";
  EXPECT_EQ(kind_of(options), ErrorKind::kUnsupported);
  options = {};
  options.math = "onednn";
  EXPECT_EQ(kind_of(options), ErrorKind::kUnsupported);
  options = {};
  options.argument = "fast";
  EXPECT_EQ(kind_of(options), ErrorKind::kUnsupported);
  options = {};
  options.threads = 4;
  options.deterministic = true;
  EXPECT_TRUE(make_engine(options).ok());
}

}  // namespace
}  // namespace gradstone::reference
