// SPDX-License-Identifier: Apache-2.0
// The raw samples that a worker streams, as keys of RunRecord::samples, and the sections of its
// facts. Written once here so that the side that measures and the side that computes figures spell
// them alike. Not for figures: their names and formulas stand in analysis.
#pragma once

#include <array>
#include <string_view>

namespace gradstone::sample_names {

// One value a training step, in order.
inline constexpr std::string_view kLoss = "loss";
// One value a free-running sub-window, all three of the same length. The device is synchronised
// only at a sub-window's ends. kInputWait is the part of the window in which the loop waited for
// the data feed.
inline constexpr std::string_view kWindowSeconds = "window_seconds";
inline constexpr std::string_view kWindowSamples = "window_samples";
inline constexpr std::string_view kInputWait = "input_wait";
// One value a step of the synchronised window, in seconds.
inline constexpr std::string_view kStepTime = "step_time";
// One value an epoch: its training time, evaluation left out.
inline constexpr std::string_view kEpochSeconds = "epoch_seconds";
// One value an evaluation on the test split; accuracy in [0, 1], loss the mean over samples.
inline constexpr std::string_view kTestAccuracy = "test_accuracy";
inline constexpr std::string_view kTestLoss = "test_loss";
inline constexpr std::string_view kEvaluationSeconds = "evaluation_seconds";
// One value a run.
inline constexpr std::string_view kLoadSeconds = "load_seconds";  // engine's load and weights
inline constexpr std::string_view kFirstStepSeconds = "first_step_seconds";
inline constexpr std::string_view kTrainSeconds = "train_seconds";  // first to last update
inline constexpr std::string_view kSteps = "steps";                 // updates made
inline constexpr std::string_view kBatch = "batch";                 // samples a full step
inline constexpr std::string_view kPeakResidentBytes = "peak_resident_bytes";

struct SampleName {
  std::string_view name;
  std::string_view unit;  // "1" has none
};
inline constexpr std::array<SampleName, 15> kAll = {{{kLoss, "1"},
                                                     {kWindowSeconds, "s"},
                                                     {kWindowSamples, "1"},
                                                     {kInputWait, "s"},
                                                     {kStepTime, "s"},
                                                     {kEpochSeconds, "s"},
                                                     {kTestAccuracy, "1"},
                                                     {kTestLoss, "1"},
                                                     {kEvaluationSeconds, "s"},
                                                     {kLoadSeconds, "s"},
                                                     {kFirstStepSeconds, "s"},
                                                     {kTrainSeconds, "s"},
                                                     {kSteps, "1"},
                                                     {kBatch, "1"},
                                                     {kPeakResidentBytes, "B"}}};

// Sections of FactEvent, that is keys of RunRecord::context, that a worker fills. Its engine's
// description is context["engine"]; it travels in WorkerHello.
inline constexpr std::string_view kDataSection = "data";          // reference, counts, checksum
inline constexpr std::string_view kTrainingSection = "training";  // dropout, weights, programs

}  // namespace gradstone::sample_names
