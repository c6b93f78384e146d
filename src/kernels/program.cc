// SPDX-License-Identifier: Apache-2.0
#include "kernels/program.h"

#include <algorithm>
#include <numeric>

#include "base/clock.h"
#include "graph/expansion.h"
#include "graph/gradient_nodes.h"
#include "graph/host_function.h"

namespace gradstone::kernels {
namespace {

std::string place_of(const Graph& graph, const Node& node) {
  return "workload " + graph.name + ": node " + node.name + " (" + node.op + ")";
}

// Picks buffers for values that are needed for a while: the smallest free one that is large
// enough, else the largest free one, which grows, else a new one.
class BufferPlanner {
 public:
  explicit BufferPlanner(BufferPool& pool) : pool_(pool) {
    for (std::size_t i = 0; i < pool.count(); ++i) free_.push_back(i);
  }
  std::size_t take(std::size_t bytes) {
    if (free_.empty()) free_.push_back(pool_.count());
    const auto better = [&](std::size_t a, std::size_t b) {
      const bool a_fits = pool_.bytes(a) >= bytes, b_fits = pool_.bytes(b) >= bytes;
      if (a_fits != b_fits) return a_fits;
      return a_fits ? pool_.bytes(a) < pool_.bytes(b) : pool_.bytes(a) > pool_.bytes(b);
    };
    const auto best = std::min_element(free_.begin(), free_.end(), better);
    const std::size_t buffer = *best;
    free_.erase(best);
    pool_.reserve(buffer, bytes);
    return buffer;
  }
  void give_back(std::size_t buffer) { free_.push_back(buffer); }

 private:
  BufferPool& pool_;
  std::vector<std::size_t> free_;
};

}  // namespace

void BufferPool::reserve(std::size_t buffer, std::size_t bytes) {
  if (buffer >= bytes_.size()) bytes_.resize(buffer + 1, 0);
  bytes_[buffer] = std::max(bytes_[buffer], bytes);
}

void BufferPool::allocate() {
  buffers_.clear();
  for (const std::size_t bytes : bytes_) {
    buffers_.push_back(Tensor({DType::kUInt8, {static_cast<std::int64_t>(bytes)}}));
  }
}

std::size_t BufferPool::total_bytes() const {
  return std::accumulate(bytes_.begin(), bytes_.end(), std::size_t{0});
}

Result<Program> Program::make(Graph graph, const std::vector<std::string>& kept,
                              std::shared_ptr<BufferPool> pool,
                              const HostFunctions* host_functions) {
  Program program;
  const ValueTypes types = TRY(check_graph(graph));
  TRY((host_functions ? *host_functions : HostFunctions()).check(graph, types));
  program.host_functions_ = host_functions;
  const Expanded plain = TRY(expand_gradients(graph));
  Expanded expanded = TRY(expand_nodes(plain.graph, [](const Node& node, const OpDef&) {
    return find_kernel(node.domain, node.op) == nullptr;
  }));
  for (std::size_t& origin : expanded.origin) origin = plain.origin[origin];
  program.types_ = TRY(check_graph(expanded.graph));
  program.graph_ = std::make_unique<Graph>(std::move(expanded.graph));
  program.origin_ = std::move(expanded.origin);
  program.pool_ = std::move(pool);
  for (const std::string& name : kept) {
    if (program.types_.count(name) == 0) {
      return failed("workload " + program.graph_->name + ": '" + name +
                    "' is no value of the graph");
    }
  }
  program.number_values();
  TRY(program.plan_steps());
  program.plan_buffers(kept);
  return program;
}

void Program::number_values() {
  for (const auto& [name, type] : types_) {
    numbers_[name] = values_.size();
    values_.push_back({type, nullptr});
  }
  for (const Constant& constant : graph_->constants) {
    values_[number_of(constant.name)].data = constant.value.data();
  }
}

std::size_t Program::number_of(const std::string& name) const {
  return name.empty() ? kAbsent : numbers_.find(name)->second;
}

Status Program::plan_steps() {
  const ConstantMap constants = constants_of(*graph_);
  for (const Node& node : graph_->nodes) {
    const KernelRow* row = find_kernel(node.domain, node.op);
    if (row == nullptr) {
      return unsupported(place_of(*graph_, node) + ": no kernel computes this operator");
    }
    const OpDef* op = TRY(op_of(node));
    Step step{row->float32, NodeInputs(node, *op, types_, constants), {}, {}};
    const auto add = [&](const std::string& name, std::vector<std::size_t>& numbers) {
      numbers.push_back(number_of(name));
      if (!name.empty() && values_[numbers.back()].type.dtype == DType::kFloat64) {
        step.kernel = row->float64;
      }
    };
    for (const std::string& name : node.inputs) add(name, step.inputs);
    for (const std::string& name : node.outputs) add(name, step.outputs);
    steps_.push_back(std::move(step));
  }
  return {};
}

void Program::plan_buffers(const std::vector<std::string>& kept) {
  constexpr std::size_t kForEver = static_cast<std::size_t>(-1);
  std::vector<std::size_t> last_use(values_.size(), 0);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const std::size_t value : steps_[i].outputs) {
      if (value != kAbsent) last_use[value] = i;
    }
    for (const std::size_t value : steps_[i].inputs) {
      if (value != kAbsent) last_use[value] = i;
    }
  }
  for (const std::string& name : kept) last_use[number_of(name)] = kForEver;

  buffers_.assign(values_.size(), kNoBuffer);
  BufferPlanner planner(*pool_);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    for (const std::size_t value : steps_[i].outputs) {
      if (value != kAbsent) buffers_[value] = planner.take(values_[value].type.bytes());
    }
    std::vector<std::size_t> done = steps_[i].inputs;
    done.insert(done.end(), steps_[i].outputs.begin(), steps_[i].outputs.end());
    std::sort(done.begin(), done.end());
    done.erase(std::unique(done.begin(), done.end()), done.end());
    for (const std::size_t value : done) {
      if (value != kAbsent && buffers_[value] != kNoBuffer && last_use[value] == i) {
        planner.give_back(buffers_[value]);
      }
    }
  }
}

void Program::bind(const ProgramFeeds& feeds) {
  for (std::size_t i = 0; i < graph_->inputs.size(); ++i) {
    values_[number_of(graph_->inputs[i].name)].data = feeds.inputs[i];
  }
  for (std::size_t i = 0; i < graph_->weights.size(); ++i) {
    values_[number_of(graph_->weights[i].name)].data = feeds.weights[i];
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (buffers_[i] != kNoBuffer) values_[i].data = pool_->data(buffers_[i]);
  }
}

Status Program::run_step(std::size_t index, const ProgramFeeds& feeds) {
  const Step& step = steps_[index];
  std::vector<TensorRef> inputs;
  for (const std::size_t value : step.inputs) {
    inputs.push_back(value == kAbsent ? TensorRef{} : values_[value]);
  }
  std::vector<TensorSink> outputs;
  for (const std::size_t value : step.outputs) {
    outputs.push_back(value == kAbsent
                          ? TensorSink{}
                          : TensorSink{values_[value].type, pool_->data(buffers_[value])});
  }
  const Node& node = graph_->nodes[index];
  const NodeContext context = step.node.context();
  const KernelCall call{node,       context,         inputs,         outputs,
                        feeds.seed, feeds.execution, host_functions_};
  Status status = step.kernel(call);
  if (status.ok()) return {};
  return status.error().within(place_of(*graph_, node));
}

Status Program::run(const ProgramFeeds& feeds, std::vector<NodeTime>* times) {
  bind(feeds);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const std::int64_t start = times ? monotonic_ns() : 0;
    TRY(run_step(i, feeds));
    if (times) times->push_back({i, start, monotonic_ns() - start});
  }
  return {};
}

TensorRef Program::value(std::string_view name) const {
  const auto found = numbers_.find(name);
  CHECK(found != numbers_.end(), "value was checked at load");
  return values_[found->second];
}

}  // namespace gradstone::kernels
