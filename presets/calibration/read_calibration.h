#pragma once
#include <filesystem>

#include "costmodel/calibrate/calibration.h"

namespace hexaplan::presets {

/// Reads one file of measured curves (schema "hexaplan/calibration/1", README.md beside this file).
/// Precisions without curves of their own take the nearest measured one's, as shares of their own peak, and
/// are marked Borrowed. InputError for anything else, also when a curve would let time fall as a shape grows.
[[nodiscard]] costmodel::Calibration read_calibration(const std::filesystem::path& path);

}  // namespace hexaplan::presets
