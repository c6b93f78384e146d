// SPDX-License-Identifier: Apache-2.0
// What the conformance tests are written with. They are linked against every engine and know
// nothing but worker/engine.h; an engine may answer `unsupported`, and the test is then reported as
// skipped with its reason.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "worker/engine.h"

namespace gradstone::conformance {

using Attributes = std::map<std::string, Attribute>;

inline Tensor tensor_of(DType dtype, Shape shape, const std::vector<double>& values) {
  return converted(Tensor::of<double>(std::move(shape), values).ref(), dtype);
}
inline Tensor integers(Shape shape, const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(std::move(shape), values);
}
inline std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < tensor.type().elements(); ++i) {
    values.push_back(element_as_double(tensor.ref(), i));
  }
  return values;
}

// A graph written line by line; every node has one output, which bears the node's name.
class TestGraph {
 public:
  explicit TestGraph(DType dtype) : dtype_(dtype) { graph.name = "conformance"; }

  std::string input(const std::string& name, Shape shape) {
    graph.inputs.push_back({name, {dtype_, std::move(shape)}});
    return name;
  }
  std::string weight(const std::string& name, Shape shape, bool trainable = true) {
    graph.weights.push_back({name, {dtype_, std::move(shape)}, {}, trainable});
    return name;
  }
  std::string constant(const std::string& name, Tensor value) {
    graph.constants.push_back({name, std::move(value)});
    return name;
  }
  std::string constant(const std::string& name, double value) {
    return constant(name, tensor_of(dtype_, {}, {value}));
  }
  std::string node(const std::string& name, const std::string& op, std::vector<std::string> inputs,
                   Attributes attributes = {}) {
    graph.nodes.push_back({name, op, "", std::move(inputs), {name}, std::move(attributes)});
    return name;
  }
  // The mean of all elements, a scalar.
  std::string mean(const std::string& name, const std::string& value) {
    return node(name, "ReduceMean", {value}, {{"keepdims", std::int64_t{0}}});
  }
  std::string sum(const std::string& name, const std::string& value) {
    return node(name, "ReduceSum", {value}, {{"keepdims", std::int64_t{0}}});
  }

  Graph graph;

 private:
  DType dtype_;
};

// One engine and one bundle, in one element type.
class EngineTestBase : public testing::Test {
 protected:
  // Makes the engine, or skips the test where it does not train in this type.
  void start(DType dtype) {
    dtype_ = dtype;
    auto engine = make_engine({});
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    engine_ = std::move(engine).value();
    for (const DType known : engine_->describe().dtypes) {
      if (known == dtype) return;
    }
    GTEST_SKIP() << "the engine does not train in " << name_of(dtype);
  }

  DType dtype() const { return dtype_; }
  // Of figures that are exact but for rounding.
  double tolerance() const { return dtype_ == DType::kFloat64 ? 1e-11 : 2e-5; }
  Tensor tensor(Shape shape, const std::vector<double>& values) const {
    return tensor_of(dtype_, std::move(shape), values);
  }

  // Afterwards `bundle_` is set, or the test is skipped or failed: `if (!bundle_) return;`.
  void load(const BundleSpec& spec) {
    bundle_.reset();
    for (const ProgramSpec& program : spec.programs) {
      const auto types = check_graph(program.graph);
      ASSERT_TRUE(types.ok()) << types.error().message;
    }
    spec_ = spec;
    auto bundle = engine_->load(spec);
    if (!bundle.ok() && bundle.error().kind == ErrorKind::kUnsupported) {
      GTEST_SKIP() << bundle.error().message;
    }
    ASSERT_TRUE(bundle.ok()) << bundle.error().message;
    bundle_ = std::move(bundle).value();
  }

  void write(std::string_view variable, const Tensor& value) {
    const Status status = bundle_->write(variable, value.ref());
    ASSERT_TRUE(status.ok()) << status.error().message;
  }
  Tensor read(std::string_view variable) {
    const auto type = bundle_->type_of(variable);
    if (!type.ok()) {
      ADD_FAILURE() << type.error().message;
      return {};
    }
    Tensor value(*type);
    const Status status = bundle_->read(variable, value.sink());
    EXPECT_TRUE(status.ok()) << status.error().message;
    return value;
  }

  // Runs a program and returns all it can fetch: outputs, then gradients.
  std::vector<Tensor> run(std::size_t program, const std::vector<Tensor>& feeds,
                          const std::vector<UpdateArguments>& updates = {}) {
    std::vector<Tensor> fetched = fetchable(program);
    const Status status = try_run(program, feeds, updates, fetched);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return fetched;
  }

  Status try_run(std::size_t program, const std::vector<Tensor>& feeds,
                 const std::vector<UpdateArguments>& updates, std::vector<Tensor>& fetched) {
    std::vector<TensorRef> refs;
    for (const Tensor& feed : feeds) refs.push_back(feed.ref());
    std::vector<TensorSink> sinks;
    for (Tensor& value : fetched) sinks.push_back(value.sink());
    RunRequest request;
    request.program = program;
    request.feeds = refs;
    request.fetches = sinks;
    request.updates = updates;
    Status status = bundle_->run(request);
    if (!status.ok()) return status;
    return bundle_->synchronise();
  }

  void expect_near(const Tensor& actual, const std::vector<double>& expected, double tolerance,
                   const std::string& what = "") {
    const std::vector<double> values = values_of(actual);
    ASSERT_EQ(values.size(), expected.size()) << what;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double scale = std::max(1.0, std::abs(expected[i]));
      EXPECT_NEAR(values[i], expected[i], tolerance * scale) << what << " element " << i;
    }
  }
  void expect_near(const Tensor& actual, const std::vector<double>& expected) {
    expect_near(actual, expected, tolerance());
  }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Bundle> bundle_;
  BundleSpec spec_;

 private:
  std::vector<Tensor> fetchable(std::size_t program) const {
    const ProgramSpec& spec = spec_.programs[program];
    const auto types = check_graph(spec.graph);
    std::vector<std::string> names = spec.outputs;
    if (spec.backward) {
      names.insert(names.end(), spec.backward->wrt.begin(), spec.backward->wrt.end());
    }
    std::vector<Tensor> values;
    for (const std::string& name : names) values.emplace_back(types->find(name)->second);
    return values;
  }

  DType dtype_ = DType::kFloat32;
};

// Instantiated with both_dtypes() and dtype_name.
class EngineTest : public EngineTestBase, public testing::WithParamInterface<DType> {
 protected:
  void SetUp() override { start(GetParam()); }
};

inline std::string dtype_name(const testing::TestParamInfo<DType>& info) {
  return std::string(name_of(info.param));
}
inline auto both_dtypes() { return testing::Values(DType::kFloat32, DType::kFloat64); }

// A program with one scalar loss, its gradients and one optimizer over all of `weights`.
inline ProgramSpec training_program(const std::string& name, const TestGraph& graph,
                                    const std::string& loss,
                                    const std::vector<std::string>& weights,
                                    const Optimizer& optimizer) {
  ProgramSpec program{name, graph.graph, Mode::kTraining, {loss}, {}, {}};
  program.backward = BackwardSpec{{loss}, false, weights};
  UpdateSpec update;
  update.optimizer = optimizer;
  for (const std::string& weight : weights) update.weights.push_back({weight, 1, 1});
  program.updates = {update};
  return program;
}

}  // namespace gradstone::conformance
