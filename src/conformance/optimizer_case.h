// SPDX-License-Identifier: Apache-2.0
// Ten updates of one optimizer on an engine against its formula in plain double
// (protocol/update_formulas.h), number by number.
#pragma once

#include <optional>
#include <string>

#include "protocol/update_formulas.h"
#include "run/engine_session.h"

namespace gradstone {

struct OptimizerCase {
  std::string name;  // "optimizer/adam", "optimizer/adam/float64"
  UpdateCase update;
  DType dtype = DType::kFloat32;
};
std::vector<OptimizerCase> optimizer_cases();

// The session's answer if that is not ok; otherwise `fault` says what is wrong, if anything.
Answer run_optimizer_case(const OptimizerCase& test, EngineSession& session,
                          std::optional<std::string>& fault);

}  // namespace gradstone
