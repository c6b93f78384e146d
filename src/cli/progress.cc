// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "base/clock.h"
#include "cli/output.h"
#include "report/figures.h"
#include "report/table.h"

namespace gradstone {
namespace {

constexpr std::int64_t kRedrawNs = 100'000'000;
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "";
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  const std::int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string progress_line(const ProgressState& state) {
  const ProgressEvent& event = state.event;
  std::string line = state.run + ": " + (state.phase.empty() ? "start" : state.phase);
  if (event.step <= 0) return line;
  line += ", step " + bare_figure_text(static_cast<double>(event.step), "1");
  if (event.total_steps > 0) {
    line += " of " + bare_figure_text(static_cast<double>(event.total_steps), "1");
  }
  if (event.samples_per_second > 0) {
    line += fmt::format(", {:.0f} samples/s", event.samples_per_second);
  }
  line += fmt::format(", loss {:.4g}", event.loss);
  if (event.total_steps > 0 && event.samples_per_second > 0 && state.batch > 0) {
    const auto left = static_cast<double>((event.total_steps - event.step) * state.batch);
    const std::string time = duration_text(left / event.samples_per_second);
    if (!time.empty()) line += ", " + time + " left";
  }
  return line;
}

void ProgressPrinter::begin(std::string run, std::int64_t batch) {
  state_ = {};
  state_.run = std::move(run);
  state_.batch = batch;
  last_ns_ = 0;
  show();
}

void ProgressPrinter::phase(std::string_view name) {
  state_.phase = name;
  state_.event = {};
  last_ns_ = 0;
  show();
}

void ProgressPrinter::progress(const ProgressEvent& event) {
  state_.event = event;
  if (mode_ == ProgressMode::kLive) show();
}

void ProgressPrinter::show() {
  if (mode_ == ProgressMode::kSilent) return;
  const std::int64_t now = monotonic_ns();
  if (now - last_ns_ < kRedrawNs) return;
  last_ns_ = now;
  std::string line = printable(progress_line(state_));  // an engine names its phases
  if (mode_ == ProgressMode::kPhases) {
    say(line + "\n");
    return;
  }
  // A line that is broken by the terminal could not be taken away again.
  if (static_cast<int>(line.size()) >= width_) line.resize(static_cast<std::size_t>(width_ - 1));
  say(kEraseLine + line);
  shown_ = true;
}

void ProgressPrinter::clear() {
  if (shown_) say(kEraseLine);
  shown_ = false;
}

}  // namespace gradstone
