#pragma once
#include <string_view>

#include "costmodel/simulate/simulation.h"

namespace hexaplan::cli {

/// What a stage does with the step, in the order in which it is shown, and its names in text and JSON.
struct StageTimeName {
  costmodel::Seconds costmodel::SimulatedTimes::*member;
  std::string_view key;     // JSON
  std::string_view column;  // text
};
inline constexpr StageTimeName kStageTimeNames[] = {
    {&costmodel::SimulatedTimes::compute, "compute", "compute"},
    {&costmodel::SimulatedTimes::collectives, "collectives", "collect."},
    {&costmodel::SimulatedTimes::messages, "messages", "messages"},
    {&costmodel::SimulatedTimes::data_parallel, "data_parallel", "data par."},
    {&costmodel::SimulatedTimes::optimizer, "optimizer", "optimizer"},
    {&costmodel::SimulatedTimes::host, "host", "host"},
    {&costmodel::SimulatedTimes::bubble, "bubble", "bubble"},
};

}  // namespace hexaplan::cli
