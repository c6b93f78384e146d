// SPDX-License-Identifier: Apache-2.0
#include "verify/shrink.h"

#include <algorithm>
#include <set>

#include "verify/reshape_case.h"

namespace gradstone {
namespace {

constexpr std::uint64_t kCotangentSeed = 1;

double share(const Departure& departure) {
  return departure.gap / std::max(departure.tolerance.allowed, 1e-300);
}

class Shrinker {
 public:
  Shrinker(const Verification& verification, const Departure& departure, EnginePort& engine)
      : verification_(verification), departure_(departure), engine_(engine) {}

  Result<Shrunk> run();

 private:
  bool shows(const Case& question);  // and if so keeps it as the best
  bool shows_part(const std::vector<std::size_t>& nodes);
  bool find_part();
  void drop_nodes();
  void shrink_shapes();
  bool shrink_axis(const CaseAxis& axis);

  const Verification& verification_;
  const Departure& departure_;
  EnginePort& engine_;
  double least_share_ = 1;
  std::vector<std::size_t> nodes_;
  Shrunk best_;
  std::int64_t trials_ = 0;
};

bool Shrinker::shows(const Case& question) {
  ++trials_;
  Result<Shrunk> judged = judge(question, engine_);
  if (!judged.ok() || judged->departure.backward != departure_.backward) return false;
  if (share(judged->departure) < least_share_) return false;
  best_ = std::move(*judged);
  return true;
}

bool Shrinker::shows_part(const std::vector<std::size_t>& nodes) {
  const Subject& subject = verification_.subject();
  const Result<Case> part = part_of(subject.graph, nodes, verification_.values(), kCotangentSeed);
  if (!part.ok() || !shows(*part)) return false;
  nodes_ = nodes;
  return true;
}

// The node alone, then more and more of its neighbours.
bool Shrinker::find_part() {
  const std::size_t count = verification_.subject().graph.nodes.size();
  for (std::size_t reach = 0; reach <= count; reach = reach == 0 ? 1 : 2 * reach) {
    const std::size_t at = departure_.position;
    std::vector<std::size_t> nodes;
    for (std::size_t i = at > reach ? at - reach : 0; i <= at + reach && i < count; ++i) {
      nodes.push_back(i);
    }
    if (shows_part(nodes)) return true;
  }
  return false;
}

// One after the other, the last first, until none can be spared.
void Shrinker::drop_nodes() {
  for (bool dropped = true; dropped && nodes_.size() > 1;) {
    dropped = false;
    for (std::size_t i = nodes_.size(); i-- > 0 && nodes_.size() > 1;) {
      std::vector<std::size_t> fewer = nodes_;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      dropped = shows_part(fewer) || dropped;
    }
  }
}

bool Shrinker::shrink_axis(const CaseAxis& axis) {
  const std::int64_t extent = best_.question.values.at(axis.value).shape()[axis.axis];
  std::set<std::int64_t> extents = {1, 2, 3, extent / 4, extent / 2, extent - 1};
  for (const std::int64_t smaller : extents) {
    if (smaller < 1 || smaller >= extent) continue;
    const Result<Case> cut = with_extent(best_.question, axis, smaller, kCotangentSeed);
    if (cut.ok() && shows(*cut)) return true;
  }
  return false;
}

void Shrinker::shrink_shapes() {
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (const CaseAxis& axis : axes_of(best_.question)) shrunk = shrink_axis(axis) || shrunk;
  }
}

Result<Shrunk> Shrinker::run() {
  if (departure_.position >= verification_.subject().graph.nodes.size()) {
    return failed(departure_.node +
                  ": it departs outside the graph, so there is no part to cut out");
  }
  // A case at the edge of its tolerance would not convince anybody.
  least_share_ = std::min(10.0, std::max(1.0, share(departure_) / 2));
  if (!find_part()) {
    return failed("node " + departure_.node +
                  ": the fault shows in the whole network only, not in a part of it");
  }
  drop_nodes();
  shrink_shapes();
  best_.trials = trials_;
  return std::move(best_);
}

}  // namespace

Result<Shrunk> judge(const Case& question, EnginePort& engine) {
  Shrunk judged;
  judged.question = question;
  Answer answer = engine.load({{program_of(question, "part")}});
  if (answer.outcome == Outcome::kOk) answer = engine.write(weights_of(question));
  if (answer.outcome == Outcome::kOk) {
    answer = engine.run(0, feeds_of(question), {}, judged.answers);
  }
  if (answer.outcome != Outcome::kOk) return failed(answer.message);
  judged.expected = TRY(expectations(question, judged.answers));
  const Comparison comparison = compare(question.graph, judged.expected, judged.answers);
  const Departure* first = first_departure(comparison);
  if (first == nullptr) return failed("nothing departs");
  judged.departure = *first;
  judged.trials = 1;
  return judged;
}

Result<Shrunk> shrink(const Verification& verification, const Departure& departure,
                      EnginePort& engine) {
  return Shrinker(verification, departure, engine).run();
}

}  // namespace gradstone
