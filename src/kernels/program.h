// SPDX-License-Identifier: Apache-2.0
// A graph made ready to be interpreted: kernels looked up, every intermediate value given a place
// in a pool of buffers that is free again after the value's last use. Not for variables, updates or
// gradients: see bundle.h.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/node_rules.h"
#include "kernels/kernel.h"

namespace gradstone::kernels {

// Buffers that the programs of one bundle share, since they run one after the other.
class BufferPool {
 public:
  // Programs first reserve, then all buffers are allocated at once.
  void reserve(std::size_t buffer, std::size_t bytes);
  void allocate();
  std::byte* data(std::size_t buffer) { return buffers_[buffer].data(); }
  std::size_t count() const { return bytes_.size(); }
  std::size_t bytes(std::size_t buffer) const {
    return buffer < bytes_.size() ? bytes_[buffer] : 0;
  }
  std::size_t total_bytes() const;

 private:
  std::vector<std::size_t> bytes_;
  std::vector<Tensor> buffers_;
};

// When a node ran, on the monotonic clock.
struct NodeTime {
  std::size_t node = 0;  // of Program::graph()
  std::int64_t start_ns = 0;
  std::int64_t duration_ns = 0;
};

struct ProgramFeeds {
  std::vector<const std::byte*> inputs;   // in the order of Graph::inputs
  std::vector<const std::byte*> weights;  // in the order of Graph::weights
  std::uint64_t seed = 0;                 // see KernelCall
  std::uint64_t execution = 0;
};

class Program {
 public:
  // `kept` names the values that can be read after a run. Operators without a kernel are expanded
  // (graph/expansion.h). Errors: a graph that check_graph refuses, a kept value that does not exist,
  // an operator with neither kernel nor expansion, or a Host node whose function is not among
  // `host_functions` (unsupported). The functions must outlive the program.
  static Result<Program> make(Graph graph, const std::vector<std::string>& kept,
                              std::shared_ptr<BufferPool> pool,
                              const HostFunctions* host_functions = nullptr);

  const Graph& graph() const { return *graph_; }  // expanded
  // The node of the graph given to `make` that node `node` of graph() stands for.
  std::size_t origin(std::size_t node) const { return origin_[node]; }
  const ValueTypes& types() const { return types_; }

  // Computes every node. `times`, if not null, gets one entry a node. The error names workload and
  // node.
  Status run(const ProgramFeeds& feeds, std::vector<NodeTime>* times);
  // A kept value. Valid until the next run of any program on the same pool.
  TensorRef value(std::string_view name) const;

 private:
  struct Step {
    Kernel kernel = nullptr;
    NodeInputs node;
    std::vector<std::size_t> inputs, outputs;  // value numbers; kAbsent
  };
  static constexpr std::size_t kAbsent = static_cast<std::size_t>(-1);
  static constexpr std::size_t kNoBuffer = static_cast<std::size_t>(-1);

  void number_values();
  Status plan_steps();
  void plan_buffers(const std::vector<std::string>& kept);
  void bind(const ProgramFeeds& feeds);
  Status run_step(std::size_t step, const ProgramFeeds& feeds);
  std::size_t number_of(const std::string& name) const;

  std::unique_ptr<Graph> graph_;  // at a fixed address: calls refer to its nodes
  std::vector<std::size_t> origin_;
  ValueTypes types_;
  std::shared_ptr<BufferPool> pool_;
  const HostFunctions* host_functions_ = nullptr;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // of values, by name
  std::vector<std::size_t> buffers_;                         // of each value
  std::vector<TensorRef> values_;
  std::vector<Step> steps_;
};

}  // namespace gradstone::kernels
