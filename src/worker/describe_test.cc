// SPDX-License-Identifier: Apache-2.0
#include "worker/describe.h"

#include <gtest/gtest.h>

namespace gradstone {
namespace {

TEST(Describe, EveryFieldIsWritten) {
  EngineDescription description;
  description.name = "torch";
  description.version = "1.13.1";
  description.dtypes = {DType::kFloat32, DType::kFloat64};
  description.devices = {"cpu"};
  description.device_note = "built without CUDA";
  description.second_order = true;
  description.memory_sources = {"rss"};
  description.execution_mode = ExecutionMode::kCompiled;
  description.facts = {{"blas", "openblas"}};
  EXPECT_EQ(write_json(to_json(description)),
            R"({"name":"torch","version":"1.13.1","dtypes":["float32","float64"],)"
            R"("devices":["cpu"],"device_note":"built without CUDA","second_order":true,)"
            R"("separable_phases":false,"node_hooks":false,"native_dropout":false,)"
            R"("memory_sources":["rss"],"execution_mode":"compiled","facts":{"blas":"openblas"}})");
}

}  // namespace
}  // namespace gradstone
