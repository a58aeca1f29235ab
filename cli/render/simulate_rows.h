#pragma once
#include <string_view>

#include "costmodel/simulate/simulation.h"

namespace hexaplan::cli {

/// What a stage does with the step, in the order in which it is shown, and its names in text and JSON.
struct StageTimeName {
  costmodel::Seconds costmodel::StageTimes::*member;
  std::string_view key;     // JSON
  std::string_view column;  // text
};
inline constexpr StageTimeName kStageTimeNames[] = {
    {&costmodel::StageTimes::compute, "compute", "compute"},
    {&costmodel::StageTimes::collectives, "collectives", "collect."},
    {&costmodel::StageTimes::messages, "messages", "messages"},
    {&costmodel::StageTimes::data_parallel, "data_parallel", "data par."},
    {&costmodel::StageTimes::optimizer, "optimizer", "optimizer"},
    {&costmodel::StageTimes::host, "host", "host"},
    {&costmodel::StageTimes::bubble, "bubble", "bubble"},
};

}  // namespace hexaplan::cli
