// SPDX-License-Identifier: Apache-2.0
// The conformance suite on one engine: every data set, the gradient of every differentiable one,
// every optimizer formula. One worker, many requests; whatever happens in it becomes a verdict.
// Prints nothing.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "conformance/expected_unsupported.h"
#include "conformance/result.h"
#include "run/engine_session.h"

namespace gradstone {

struct SuiteRequest {
  SessionOptions session;
  std::vector<std::string> suites;  // folders, see data_sets.h
  std::string filter;               // see case_filter.h
  ExpectedUnsupported expected;
};

// Names of the cases in the order of a run. Cases of `optimizer/.../float64` are there for engines
// that train in float64 only. Starts no engine.
Result<std::vector<std::string>> list_cases(const SuiteRequest& request);

// Calls `finished` for each case as it comes. Errors: suites that are not there, an engine that
// cannot be started. If `stop` is set, the cases that have finished are the answer.
Result<std::vector<CaseResult>> run_suite(const SuiteRequest& request,
                                          const std::function<void(const CaseResult&)>& finished,
                                          const std::atomic<bool>& stop);

}  // namespace gradstone
