// SPDX-License-Identifier: Apache-2.0
// What a person sees on stderr while runs go on: one line that renews itself. Only on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "run/runner.h"

namespace gradstone {

struct ProgressState {
  std::string run;    // "[2/6] lenet torch@1.13.1"
  std::string phase;  // "" before the first
  ProgressEvent event;
  std::int64_t batch = 0;
};

// "[2/6] lenet torch@1.13.1: train, step 120 of 1,876, 5123 samples/s, loss 0.412, 0:12 left"
std::string progress_line(const ProgressState& state);
// "0:12", "1:02:03"; "" for what is not finite or under 0.
std::string duration_text(double seconds);

enum class ProgressMode { kSilent, kPhases, kLive };  // kPhases: one line a phase

class ProgressPrinter : public RunObserver {
 public:
  ProgressPrinter(ProgressMode mode, int width) : mode_(mode), width_(width) {}
  ~ProgressPrinter() override { clear(); }

  void begin(std::string run, std::int64_t batch);
  void phase(std::string_view name) override;
  void progress(const ProgressEvent& event) override;
  void clear();  // takes the line away

 private:
  void show();
  ProgressMode mode_;
  int width_;
  bool shown_ = false;
  std::int64_t last_ns_ = 0;
  ProgressState state_;
};

}  // namespace gradstone
