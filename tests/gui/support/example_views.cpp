#include "tests/gui/support/example_views.h"

#include <algorithm>
#include <string>

#include "presets/calibration/find_calibration.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/models/find_model.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::gui {

Example example(std::string_view model, std::string_view cluster, std::string_view layout,
                std::int64_t sequence, std::int64_t global_batch) {
  Example out;
  out.scenario.model = presets::find_model(std::string(model));
  out.scenario.cluster = presets::parse_cluster(std::string(cluster));
  out.scenario.framework = presets::find_framework("megatron");
  out.scenario.layout = presets::parse_layout(layout, "layout").layout;
  out.scenario.recipe.sequence = sequence;
  out.scenario.recipe.global_batch = global_batch;
  out.calibration = presets::find_calibration(out.scenario.cluster.gpu);
  out.estimate = costmodel::estimate_step(out.scenario, out.calibration);
  return out;
}

Example largeExample(int stages) {
  const int dp = 16384 / 8 / stages;
  return example("llama-3.1-405b", "2048x8xH100",
                 "tp8 sp zero1 pp" + std::to_string(stages) + " dp" + std::to_string(dp), 8192, 2048);
}

std::shared_ptr<const TimelineData> madeUpTimeline(int stages, std::size_t spans) {
  auto data = std::make_shared<TimelineData>();
  data->names = {"forward", "backward", "message"};
  data->legend = {{Ink::Forward, "forward"},
                  {Ink::Backward, "backward"},
                  {Ink::HiddenCommunication, "communication beside compute"},
                  {Ink::ExposedCommunication, "exposed communication"},
                  {Ink::Bubble, "bubble or waiting"}};
  const auto rounds = static_cast<int>(spans / static_cast<std::size_t>(4 * stages));
  constexpr double forward = 1, backward = 2, message = 0.3;
  for (int stage = 0; stage < stages; ++stage) {
    TimelineLane compute{"compute", stage, 2, true, {}}, messages{"messages", stage, 1, false, {}};
    double now = stage * forward;
    for (int m = 0; m < rounds; ++m) {
      compute.spans.push_back({now, now + forward, m, 0, Ink::Forward, 0});
      now += forward;
      messages.spans.push_back({now, now + message, m, 0, Ink::HiddenCommunication, 2});
      // The first backward waits for the way there and back.
      if (m == 0) now += (stages - 1 - stage) * (forward + backward);
      compute.spans.push_back({now, now + backward, m, 0, Ink::Backward, 1});
      now += backward;
      messages.spans.push_back({now, now + message, m, 0, Ink::ExposedCommunication, 2});
      now += m % 7 == 0 ? message : 0;
    }
    data->end = std::max(data->end, now);
    data->lanes.push_back(std::move(compute));
    data->lanes.push_back(std::move(messages));
  }
  return data;
}

}  // namespace hexaplan::gui
