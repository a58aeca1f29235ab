#pragma once
#include <memory>
#include <string_view>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/scenario.h"
#include "costmodel/step/estimate.h"
#include "gui/plot/memory_curve.h"
#include "gui/plot/timeline_geometry.h"

namespace hexaplan::gui {

/// A question of real presets with its answer.
struct Example {
  costmodel::Scenario scenario;
  costmodel::Calibration calibration;
  costmodel::Estimate estimate;
};
/// Llama-3.1-405B, 8,192 tokens, on 16,384 H100 in `stages` pipeline stages.
[[nodiscard]] Example largeExample(int stages);
/// A model preset on a cluster with a layout as the command line reads it.
[[nodiscard]] Example example(std::string_view model, std::string_view cluster, std::string_view layout,
                              std::int64_t sequence, std::int64_t global_batch);

/// Timeline of `spans` boxes on `stages` stages with two lanes each, made up: forward, backward and messages
/// in the rhythm of 1F1B.
[[nodiscard]] std::shared_ptr<const TimelineData> madeUpTimeline(int stages, std::size_t spans);

}  // namespace hexaplan::gui
