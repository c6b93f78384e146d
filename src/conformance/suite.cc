// SPDX-License-Identifier: Apache-2.0
#include "conformance/suite.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "conformance/case_filter.h"
#include "conformance/data_sets.h"
#include "conformance/forward_check.h"
#include "conformance/gradient_problem.h"
#include "conformance/optimizer_case.h"
#include "conformance/prepared_case.h"

namespace gradstone {
namespace {

constexpr std::string_view kGradientSuffix = "/gradient";

struct Judgement {
  Verdict verdict = Verdict::kPassed;
  std::string message;
};

Judgement wrong_or_passed(const std::optional<std::string>& fault) {
  if (fault) return {Verdict::kWrong, *fault};
  return {};
}

Judgement judgement_of(const Answer& answer) {
  if (answer.outcome == Outcome::kOk) return {};
  if (answer.outcome == Outcome::kUnsupported) return {Verdict::kUnsupported, answer.message};
  return {Verdict::kCrashed, answer.message};
}

// Of something that the core could not make ready. The data sets are sound: what the import does not
// take is not supported, whatever it calls it.
Judgement judgement_of(const Error& error) {
  const bool refused = error.kind == ErrorKind::kUnsupported ||
                       error.kind == ErrorKind::kUnreadable || error.kind == ErrorKind::kUsage;
  return {refused ? Verdict::kUnsupported : Verdict::kWrong, error.message};
}

Answer load_and_run(EngineSession& session, const ProgramSpec& program, const TensorMap& weights,
                    const TensorMap& feeds, TensorMap& values) {
  Answer answer = session.load({{program}});
  if (answer.outcome == Outcome::kOk && !weights.empty()) answer = session.write(weights);
  if (answer.outcome == Outcome::kOk) answer = session.run(0, feeds, {}, &values);
  return answer;
}

bool trains_in(const Json& description, DType dtype) {
  const auto dtypes = description.find("dtypes");
  if (dtypes == description.end() || !dtypes->is_array()) return false;
  return std::find(dtypes->begin(), dtypes->end(), std::string(name_of(dtype))) != dtypes->end();
}

// Whether any node reads what is fed or written; otherwise constants alone are left.
bool computes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](const std::string& name) {
      return graph.find_input(name) != nullptr || graph.find_weight(name) != nullptr;
    });
  });
}

class SuiteRun {
 public:
  SuiteRun(const SuiteRequest& request, const std::function<void(const CaseResult&)>& finished,
           const std::atomic<bool>& stop)
      : request_(request),
        finished_(finished),
        stop_(stop),
        filter_(request.filter),
        session_(request.session, stop) {}

  Result<std::vector<CaseResult>> run() {
    const std::vector<DataSetFiles> sets = TRY(find_data_sets(request_.suites));
    Json description;
    const Answer started = session_.describe(description);
    if (started.outcome != Outcome::kOk) {
      return failed(to_string(request_.session.engine) + ": " + started.message);
    }
    for (const DataSetFiles& set : sets) run_set(set);
    for (const OptimizerCase& test : optimizer_cases()) {
      if (trains_in(description, test.dtype)) run_optimizer(test);
    }
    return std::move(results_);
  }

 private:
  // Runs `judge` if the case is asked for, and keeps what came of it.
  template <class Judge>
  void run_case(const std::string& name, Judge judge) {
    if (stop_ || !filter_.matches(name)) return;
    const std::int64_t start_ns = monotonic_ns();
    const Judgement judgement = judge();
    if (stop_) return;
    CaseResult result{name, judgement.verdict, judgement.message, "",
                      static_cast<double>(monotonic_ns() - start_ns) * 1e-9};
    request_.expected.judge(result);
    results_.push_back(result);
    finished_(result);
  }

  void run_set(const DataSetFiles& set) {
    const std::string gradient_name = set.name + std::string(kGradientSuffix);
    if (stop_ || (!filter_.matches(set.name) && !filter_.matches(gradient_name))) return;
    const Result<PreparedCase> prepared = prepare_case(set);
    if (!prepared.ok()) {
      return run_case(set.name, [&] { return judgement_of(prepared.error()); });
    }
    run_case(set.name, [&] { return forward(*prepared); });
    if (!filter_.matches(gradient_name)) return;
    const Result<std::optional<GradientProblem>> problem = GradientProblem::make(*prepared);
    if (!problem.ok()) {
      run_case(gradient_name, [&] { return judgement_of(problem.error()); });
    } else if (*problem) {
      run_case(gradient_name, [&] { return gradient(*prepared, **problem); });
    }
  }

  Judgement forward(const PreparedCase& prepared) {
    TensorMap values;
    const Answer answer =
        load_and_run(session_, forward_program(prepared), prepared.weights, prepared.feeds, values);
    if (answer.outcome != Outcome::kOk) return judgement_of(answer);
    if (const auto fault = wrong_outputs(prepared, values)) return {Verdict::kWrong, *fault};
    if (!computes(prepared.graph)) return {Verdict::kPassed, "the import computes all of it"};
    return {};
  }

  Judgement gradient(const PreparedCase& prepared, const GradientProblem& problem) {
    TensorMap values, gradients;
    const Answer answer =
        load_and_run(session_, problem.program(), prepared.weights, problem.feeds(), values);
    if (answer.outcome != Outcome::kOk) return judgement_of(answer);
    for (const std::string& name : problem.program().backward->wrt) {
      const auto found = values.find("gradient/" + name);
      if (found != values.end()) gradients[name] = found->second;
    }
    std::string remark;
    if (const auto fault = problem.difference(gradients, remark)) return {Verdict::kWrong, *fault};
    if (request_.session.engine.engine.kind == kOracleKind) {
      const Result<std::optional<std::string>> fault = problem.finite_difference();
      if (!fault.ok()) return judgement_of(fault.error());
      if (*fault) return {Verdict::kWrong, **fault};
    }
    return {Verdict::kPassed, remark};
  }

  void run_optimizer(const OptimizerCase& test) {
    run_case(test.name, [&] {
      std::optional<std::string> fault;
      const Answer answer = run_optimizer_case(test, session_, fault);
      return answer.outcome == Outcome::kOk ? wrong_or_passed(fault) : judgement_of(answer);
    });
  }

  const SuiteRequest& request_;
  const std::function<void(const CaseResult&)>& finished_;
  const std::atomic<bool>& stop_;
  CaseFilter filter_;
  EngineSession session_;
  std::vector<CaseResult> results_;
};

}  // namespace

Result<std::vector<std::string>> list_cases(const SuiteRequest& request) {
  const CaseFilter filter(request.filter);
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (filter.matches(name)) names.push_back(name);
  };
  for (const DataSetFiles& set : TRY(find_data_sets(request.suites))) {
    add(set.name);
    const std::string gradient_name = set.name + std::string(kGradientSuffix);
    if (!filter.matches(gradient_name)) continue;
    const Result<PreparedCase> prepared = prepare_case(set);
    if (!prepared.ok()) continue;
    const Result<std::optional<GradientProblem>> problem = GradientProblem::make(*prepared);
    if (!problem.ok() || *problem) add(gradient_name);
  }
  for (const OptimizerCase& test : optimizer_cases()) add(test.name);
  return names;
}

Result<std::vector<CaseResult>> run_suite(const SuiteRequest& request,
                                          const std::function<void(const CaseResult&)>& finished,
                                          const std::atomic<bool>& stop) {
  return SuiteRun(request, finished, stop).run();
}

}  // namespace gradstone
