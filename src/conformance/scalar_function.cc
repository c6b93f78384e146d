// SPDX-License-Identifier: Apache-2.0
#include "conformance/scalar_function.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gradstone {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

}  // namespace

Result<std::unique_ptr<ScalarFunction>> ScalarFunction::make(
    Graph graph, const std::vector<std::string>& from, std::map<std::string, Tensor> values,
    std::map<std::string, Tensor> cotangents) {
  auto function = std::unique_ptr<ScalarFunction>(new ScalarFunction);
  function->from_ = from;
  function->values_ = std::move(values);
  function->cotangents_ = std::move(cotangents);
  function->pool_ = std::make_shared<kernels::BufferPool>();
  for (const GraphInput& input : graph.inputs) {
    function->feeds_.inputs.push_back(function->values_.at(input.name).data());
  }
  for (const Weight& weight : graph.weights) {
    function->feeds_.weights.push_back(function->values_.at(weight.name).data());
  }
  function->program_ = std::make_unique<kernels::Program>(
      TRY(kernels::Program::make(std::move(graph), from, function->pool_)));
  function->pool_->allocate();
  TRY(function->run());
  for (const std::string& name : from) {
    const TensorRef value = function->program_->value(name);
    function->at_rest_[name] = converted(value, value.type.dtype);
    const auto weight = function->cotangents_.at(name).as<double>();
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const double term = std::abs(weight[i] * value.as<double>()[i]);
      if (std::isfinite(term)) function->rounding_ += term * kEpsilon;
    }
  }
  return function;
}

Status ScalarFunction::run() { return program_->run(feeds_, nullptr); }

double ScalarFunction::element(const std::string& name, std::int64_t index) const {
  return values_.at(name).as<double>()[static_cast<std::size_t>(index)];
}

Result<double> ScalarFunction::change(const std::string& name, std::int64_t index, double step) {
  double& element = values_.at(name).as<double>()[static_cast<std::size_t>(index)];
  const double before = element;
  element = before + step;
  const Status status = run();
  element = before;
  TRY(status);
  double sum = 0;
  for (const std::string& value : from_) {
    const auto now = program_->value(value).as<double>();
    const auto rest = at_rest_.at(value).as<double>();
    const auto weight = cotangents_.at(value).as<double>();
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (now[i] == rest[i] || (std::isnan(now[i]) && std::isnan(rest[i]))) continue;
      sum += weight[i] * (now[i] - rest[i]);
    }
  }
  return sum;
}

Result<Slopes> slopes_at(ScalarFunction& function, const std::string& name, std::int64_t index,
                         double relative_step) {
  const double x = function.element(name, index);
  // A power of two, so that x + h - x is h but for the last bits of x.
  const double step = std::exp2(std::round(std::log2(relative_step * std::max(1.0, std::abs(x)))));
  const double up = TRY(function.change(name, index, step));
  const double down = TRY(function.change(name, index, -step));
  return Slopes{-down / step, up / step, 2 * function.rounding() / step};
}

}  // namespace gradstone
