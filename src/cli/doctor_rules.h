// SPDX-License-Identifier: Apache-2.0
// What spoils or slows a measurement, one row a cause. `doctor` shows all of it, `run` records what
// was so when it measured. Looks at facts only; never measures.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/machine.h"

namespace gradstone {

struct DoctorFacts {
  MachineFacts machine;
  double steal = 0;  // share of the time just observed
  std::optional<std::int64_t> store_free_bytes;
  std::string store_folder;
  int framework_engines = 1;
  std::vector<std::string> engine_problems;  // manifests that could not be read
  std::string data_problem;                  // why the usual data set does not open; "" if it does
};

struct Finding {
  std::string text;    // what is so, with its figure
  std::string remedy;  // what to do about it
};

struct DoctorRule {
  std::string_view id;
  std::string_view what;     // what is looked at
  bool spoils_runs = false;  // belongs into the record of a run
  std::optional<Finding> (*check)(const DoctorFacts&) = nullptr;
};

std::span<const DoctorRule> doctor_rules();

// "id: text" of every finding that spoils runs.
std::vector<std::string> run_warnings(const DoctorFacts& facts);

}  // namespace gradstone
