// SPDX-License-Identifier: Apache-2.0
// F(x) = sum of c_i y_i over some values y of a graph, in float64 by the reference kernels, made to
// be called again and again with one element of x moved.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "kernels/program.h"

namespace gradstone {

class ScalarFunction {
 public:
  // `graph` has float64 in place of every floating type; `values` has its inputs and weights,
  // `cotangents` one float64 tensor for each of `from`.
  static Result<std::unique_ptr<ScalarFunction>> make(Graph graph,
                                                      const std::vector<std::string>& from,
                                                      std::map<std::string, Tensor> values,
                                                      std::map<std::string, Tensor> cotangents);

  // F with element `index` of input or weight `name` moved by `step`, less F itself. Summed term by
  // term, so that little cancels.
  Result<double> change(const std::string& name, std::int64_t index, double step);
  // What rounding the values may have added to F or taken from it.
  double rounding() const { return rounding_; }
  double element(const std::string& name, std::int64_t index) const;

 private:
  ScalarFunction() = default;
  Status run();

  std::vector<std::string> from_;
  std::map<std::string, Tensor> values_, cotangents_;
  std::map<std::string, Tensor> at_rest_;  // the values of `from`
  double rounding_ = 0;
  std::shared_ptr<kernels::BufferPool> pool_;
  std::unique_ptr<kernels::Program> program_;
  kernels::ProgramFeeds feeds_;
};

// Slopes on both sides of one element, by differences with a step that suits its size.
struct Slopes {
  double left = 0, right = 0;
  double rounding = 0;  // that may be in each
  double central() const { return (left + right) / 2; }
  double steepest() const { return std::max(std::abs(left), std::abs(right)); }
};
Result<Slopes> slopes_at(ScalarFunction& function, const std::string& name, std::int64_t index,
                         double relative_step);

}  // namespace gradstone
