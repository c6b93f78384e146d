// SPDX-License-Identifier: Apache-2.0
// How a program is made from its graph: nodes that this engine lacks written in simpler ones, a slot
// for every value, who reads it last, and a step for every node.
#include <algorithm>
#include <map>
#include <set>

#include "engines/torch/program.h"
#include "engines/torch/support.h"
#include "graph/gradient_nodes.h"
#include "graph/host_function.h"
#include "graph/node_rules.h"

namespace gradstone::torch_engine {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

class ProgramLoader {
 public:
  ProgramLoader(const ProgramSpec& spec, VariableTable& variables,
                const HostFunctions* host_functions)
      : spec_(spec), variables_(variables), host_functions_(host_functions) {}

  Result<Program> load() {
    const ValueTypes types = TRY(check_graph(spec_.graph));
    program_.contract_ = TRY(contract_of(spec_, types));
    TRY((host_functions_ ? *host_functions_ : HostFunctions()).check(spec_.graph, types));
    TRY(expand_what_is_lacking());
    count_readers();
    TRY(place_leaves());
    TRY(lower_nodes());
    plan_releases();
    bind_backward();
    for (const std::string& output : spec_.outputs) program_.outputs_.push_back(slot_of(output));
    TRY(bind_updates());
    TRY(bind_states());
    return std::move(program_);
  }

 private:
  struct Use {
    std::size_t readers = 0;
    std::ptrdiff_t producer = -1;  // index of the node; -1 for what no node makes
    std::ptrdiff_t last = -1;      // index of the node that reads or makes it last
    bool kept = false;             // needed after the nodes have run
  };

  // Expansions may bring in operators that this engine lacks in turn.
  Status expand_what_is_lacking() {
    take_graph(TRY(expand_gradients(spec_.graph).within(program_.contract_.place())));
    for (;;) {
      types_ = TRY(check_graph(graph_));
      std::set<std::string> lacking;
      for (const Node& node : graph_.nodes) {
        if (TRY(must_expand(node))) lacking.insert(node.name);
      }
      if (lacking.empty()) return {};
      Expanded next = TRY(expand_nodes(graph_, [&](const Node& node, const OpDef&) {
                            return lacking.count(node.name) > 0;
                          }).within(program_.contract_.place()));
      for (std::size_t& origin : next.origin) origin = origin_[origin];
      take_graph(std::move(next));
    }
  }

  void take_graph(Expanded expanded) {
    graph_ = std::move(expanded.graph);
    origin_ = std::move(expanded.origin);
    constants_ = constants_of(graph_);
    slots_.clear();
    give_slots();
  }

  // Whether the node has an expansion, and no lowering takes it with these attributes and types.
  Result<bool> must_expand(const Node& node) {
    if (TRY(op_of(node))->expand == nullptr) return false;
    const Lowering* lowering = find_lowering(node);
    if (lowering == nullptr) return true;
    const Result<Step> step = lower(node, *lowering);
    return !step.ok() && step.error().kind == ErrorKind::kUnsupported;
  }

  void give_slots() {
    const auto give = [this](const std::string& name) {
      if (!name.empty()) slots_.emplace(name, slots_.size() + 1);
    };
    for (const GraphInput& input : graph_.inputs) give(input.name);
    for (const Weight& weight : graph_.weights) give(weight.name);
    for (const Constant& constant : graph_.constants) give(constant.name);
    for (const Node& node : graph_.nodes) {
      for (const std::string& output : node.outputs) give(output);
    }
    program_.values_.assign(slots_.size() + 1, {});
    uses_.assign(slots_.size() + 1, {});
  }

  Slot slot_of(const std::string& name) const {
    const auto found = slots_.find(name);
    return found == slots_.end() ? kAbsent : found->second;
  }

  void count_readers() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto index = static_cast<std::ptrdiff_t>(i);
      for (const std::string& input : graph_.nodes[i].inputs) {
        Use& use = uses_[slot_of(input)];
        ++use.readers;
        use.last = index;
      }
      for (const std::string& output : graph_.nodes[i].outputs) {
        Use& use = uses_[slot_of(output)];
        use.producer = use.last = index;
      }
    }
    for (const std::string& output : spec_.outputs) uses_[slot_of(output)].kept = true;
    if (spec_.backward) {
      for (const std::string& name : spec_.backward->from) uses_[slot_of(name)].kept = true;
      for (const std::string& name : spec_.backward->wrt) uses_[slot_of(name)].kept = true;
    }
  }

  Status place_leaves() {
    const std::vector<std::string> none;
    const std::vector<std::string>& wrt = spec_.backward ? spec_.backward->wrt : none;
    for (const GraphInput& input : graph_.inputs) {
      const Slot slot = slot_of(input.name);
      program_.feeds_.push_back({slot, contains(wrt, input.name)});
      program_.transient_.push_back(slot);
    }
    for (const Weight& weight : graph_.weights) {
      Variable* variable = TRY(variables_.declare(weight.name, weight.type));
      // Shares the variable's storage, but is a leaf of this program's own backward pass.
      at::Tensor leaf = variable->value.detach();
      leaf.set_requires_grad(contains(wrt, weight.name));
      program_.values_[slot_of(weight.name)] = std::move(leaf);
      program_.weights_.push_back(variable);
    }
    for (const Constant& constant : graph_.constants) {
      program_.values_[slot_of(constant.name)] = borrowed(constant.value.ref()).clone();
    }
    return {};
  }

  Status lower_nodes() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      const Node& origin = spec_.graph.nodes[origin_[i]];
      const Lowering* lowering = find_lowering(node);
      if (lowering == nullptr) {
        return unsupported("the engine torch has no such operator").within(place_of(node, origin));
      }
      Program::NodeStep step{
          origin.name, origin.op, TRY(lower(node, *lowering).within(place_of(node, origin))), {}};
      program_.steps_.push_back(std::move(step));
      for (const std::string& output : node.outputs) {
        if (!output.empty()) program_.transient_.push_back(slot_of(output));
      }
    }
    return {};
  }

  // `origin` is the program's node that `node` is, or is a part of.
  std::string place_of(const Node& node, const Node& origin) const {
    const std::string place =
        program_.contract_.place() + ": node " + origin.name + " (" + origin.op + ")";
    if (node.name == origin.name) return place;
    return place + ": expanded to " + node.name + " (" + node.op + ")";
  }

  Result<Step> lower(const Node& node, const Lowering& lowering) {
    const NodeInputs inputs(node, *TRY(op_of(node)), types_, constants_);
    LoweringContext context{inputs.context(), {}, {}, TRY(infer_node(node, types_, constants_))};
    for (const std::string& input : node.inputs) context.inputs.push_back(slot_of(input));
    for (const std::string& output : node.outputs) context.outputs.push_back(slot_of(output));
    context.host_functions = host_functions_;
    context.may_overwrite_first = may_overwrite_first(context);
    if (node.op == "BatchNormalization") context.running_in_place = takes_running(context);
    return lowering.lower(context);
  }

  bool may_overwrite_first(const LoweringContext& context) const {
    const Use& use = uses_[context.input(0)];
    if (context.input(0) == kAbsent || use.producer < 0 || use.kept || use.readers != 1) {
      return false;
    }
    const bool is_state = std::any_of(
        graph_.state_updates.begin(), graph_.state_updates.end(),
        [&](const StateUpdate& update) { return slot_of(update.value) == context.input(0); });
    if (is_state) return false;
    const Lowering* producer = find_lowering(graph_.nodes[static_cast<std::size_t>(use.producer)]);
    return producer != nullptr && producer->output_unsaved;
  }

  // Whether running mean and variance of this batch norm go nowhere but to the weights it reads
  // them from, which nobody else reads or writes. Their state updates are then done by the node.
  bool takes_running(const LoweringContext& context) {
    std::vector<std::size_t> updates;
    for (const std::size_t i : {1u, 2u}) {
      const Slot source = context.input(i + 2), result = context.output(i);
      if (result == kAbsent || uses_[result].readers > 0 || uses_[result].kept) return false;
      if (uses_[source].readers != 1 || uses_[source].kept) return false;
      std::size_t writers = 0;
      for (std::size_t k = 0; k < graph_.state_updates.size(); ++k) {
        const StateUpdate& update = graph_.state_updates[k];
        const bool writes = slot_of(update.weight) == source,
                   reads = slot_of(update.value) == result;
        if (writes != reads) return false;
        if (writes) updates.push_back(k);
        writers += writes ? 1 : 0;
      }
      if (writers != 1) return false;
    }
    done_by_nodes_.insert(done_by_nodes_.end(), updates.begin(), updates.end());
    return true;
  }

  bool done_by_node(std::size_t update) const {
    return std::find(done_by_nodes_.begin(), done_by_nodes_.end(), update) != done_by_nodes_.end();
  }

  void plan_releases() {
    for (std::size_t i = 0; i < graph_.state_updates.size(); ++i) {
      if (!done_by_node(i)) uses_[slot_of(graph_.state_updates[i].value)].kept = true;
    }
    for (const Slot slot : program_.transient_) {
      const Use& use = uses_[slot];
      if (use.kept || use.last < 0) continue;
      program_.steps_[static_cast<std::size_t>(use.last)].dead_after.push_back(slot);
    }
  }

  void bind_backward() {
    if (!spec_.backward) return;
    const BackwardSpec& backward = *spec_.backward;
    program_.differentiates_ = true;
    program_.fed_cotangents_ = backward.fed_cotangents;
    program_.feeds_.resize(program_.contract_.feeds.size());
    for (const std::string& name : backward.from) program_.from_.push_back(slot_of(name));
    for (const std::string& name : backward.wrt) program_.wrt_.push_back(slot_of(name));
  }

  Status bind_updates() {
    for (std::size_t i = 0; i < spec_.updates.size(); ++i) {
      const std::vector<UpdatedWeight>& weights = program_.contract_.updates[i];
      program_.updates_.push_back(TRY(Updater::make(spec_.updates[i], weights, variables_)));
    }
    return {};
  }

  Status bind_states() {
    for (std::size_t i = 0; i < graph_.state_updates.size(); ++i) {
      if (done_by_node(i)) continue;
      const StateUpdate& update = graph_.state_updates[i];
      const TensorType& type = types_.find(update.value)->second;
      Variable* variable = TRY(variables_.declare(update.weight, type));
      program_.states_.push_back({variable, slot_of(update.value)});
    }
    return {};
  }

  const ProgramSpec& spec_;
  VariableTable& variables_;
  const HostFunctions* host_functions_;
  Graph graph_;                      // expanded
  std::vector<std::size_t> origin_;  // for each of its nodes the node of the program's graph
  ValueTypes types_;
  ConstantMap constants_;
  std::map<std::string, Slot> slots_;
  std::vector<Use> uses_;                   // by slot
  std::vector<std::size_t> done_by_nodes_;  // state updates that batch norms do themselves
  Program program_;
};

Result<Program> Program::load(const ProgramSpec& spec, VariableTable& variables,
                              const HostFunctions* host_functions) {
  return ProgramLoader(spec, variables, host_functions).load();
}

}  // namespace gradstone::torch_engine
