#pragma once
#include <QByteArray>
#include <cstdint>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/scenario.h"

namespace hexaplan::gui {

/// What PyTorch's profiler would write of `rank`, had every operation taken `slower` times its prediction and
/// products `products_slower` times: two steps, marked, with shapes.
[[nodiscard]] QByteArray exampleTrace(const costmodel::Scenario& scenario,
                                      const costmodel::Calibration& calibration, std::int64_t rank,
                                      double slower, double products_slower);

}  // namespace hexaplan::gui
