// SPDX-License-Identifier: Apache-2.0
#include "run/plan.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "base/clock.h"
#include "base/suggest.h"

namespace gradstone {
namespace {

template <class T>
std::vector<T> without_repetitions(const std::vector<T>& values) {
  std::vector<T> kept;
  for (const T& value : values) {
    if (std::find(kept.begin(), kept.end(), value) == kept.end()) kept.push_back(value);
  }
  return kept;
}

// An empty list stands for the default, which a spec writes as 0.
template <class T>
std::vector<T> or_default(const std::vector<T>& values) {
  return values.empty() ? std::vector<T>{0} : without_repetitions(values);
}

template <class T>
Status check_positive(std::string_view option, const std::vector<T>& values) {
  for (const T& value : values) {
    if (value <= 0) return usage_error(std::string(option) + " must be at least 1");
  }
  return {};
}

// Whether the network can be made for each batch: no run of the plan starts in vain.
Status check_buildable(const RunSpec& spec, const Workload& workload,
                       const std::vector<std::int64_t>& batches) {
  for (const std::int64_t batch : batches) {
    const WorkloadSize* size =
        find_size(workload, spec.size.empty() ? workload.sizes.at(0).name : spec.size);
    const Result<Graph> graph = size->build(batch);
    if (!graph.ok()) {
      return usage_error("--batch " + std::to_string(batch) + ": " + graph.error().message +
                         "; choose a smaller batch");
    }
  }
  return {};
}

}  // namespace

const Workload* find_workload(const std::vector<Workload>& workloads, std::string_view name) {
  for (const Workload& workload : workloads) {
    if (workload.name == name) return &workload;
  }
  return nullptr;
}

Result<const Workload*> known_workload(const std::vector<Workload>& workloads,
                                       const std::string& name) {
  const Workload* workload = find_workload(workloads, name);
  if (workload != nullptr) return workload;
  std::vector<std::string_view> names;
  std::string list;
  for (const Workload& known : workloads) {
    names.push_back(known.name);
    list += (list.empty() ? "" : ", ") + known.name;
  }
  return usage_error("unknown workload '" + name + "'" + did_you_mean(name, names) +
                     "; there are " + (list.empty() ? "none" : list));
}

Result<std::vector<EngineChoice>> chosen_engines(const EngineCatalogue& engines,
                                                 const std::vector<std::string>& references) {
  std::vector<EngineChoice> chosen;
  std::vector<std::string> names;
  for (const std::string& reference : references) {
    const std::vector<EngineChoice> choices = TRY(engines.choose(reference));
    for (const EngineChoice& choice : choices) {
      const std::string name = to_string(choice);
      if (std::find(names.begin(), names.end(), name) != names.end()) continue;
      names.push_back(name);
      chosen.push_back(choice);
    }
  }
  return chosen;
}

Result<std::vector<RunSpec>> make_plan(const PlanRequest& request, const EngineCatalogue& engines,
                                       const std::vector<Workload>& workloads) {
  if (request.workloads.empty()) return usage_error("no workload; name one with --workload");
  if (request.engines.empty()) return usage_error("no engine; name one with --engine");
  TRY(check_positive("--batch", request.batches));
  TRY(check_positive("--threads", request.threads));
  const std::vector<EngineChoice> chosen = TRY(chosen_engines(engines, request.engines));
  RunSpec spec = request.common;
  if (spec.plan.empty()) spec.plan = new_id(unix_ms());

  std::vector<RunSpec> plan;
  for (const std::string& name : without_repetitions(request.workloads)) {
    const Workload* workload = TRY(known_workload(workloads, name));
    spec.workload = name;
    TRY(check_spec(spec, *workload));  // the four lists add nothing that it looks at
    TRY(check_buildable(spec, *workload, request.batches));
    for (const EngineChoice& engine : chosen) {
      spec.engine = engine;
      for (const std::int64_t batch : or_default(request.batches)) {
        spec.batch = batch;
        for (const int threads : or_default(request.threads)) {
          spec.threads = threads;
          plan.push_back(resolved(spec, *workload));
        }
      }
    }
  }
  return plan;
}

std::string new_id(std::int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  unsigned char random[3] = {};
  CHECK(::getrandom(random, sizeof random, 0) == sizeof random, "the kernel has no random bytes");
  char text[64];
  std::snprintf(text, sizeof text, "%04d%02d%02d-%02d%02d%02d-%02x%02x%02x", utc.tm_year + 1900,
                utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, random[0],
                random[1], random[2]);
  return text;
}

}  // namespace gradstone
