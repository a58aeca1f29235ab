#pragma once
#include <optional>
#include <string>
#include <vector>

#include "costmodel/calibrate/calibration.h"
#include "costmodel/spec/cluster_spec.h"
#include "presets/json/json_value.h"

namespace hexaplan::presets {

/// What a calibration file says beside its curves: where each number is from.
struct CalibrationOrigin {
  std::string sustained, grouped, accumulate_exposed, memory;     // one line each
  std::string optimizer, attention_unmasked, attention_windowed;  // of what stands only where measured
  struct GemmOrigin {
    costmodel::Precision precision = costmodel::Precision::Bf16;
    std::string source;
  };
  std::vector<GemmOrigin> gemm;  // curves to write, in this order: the others are borrowed again on reading
  std::vector<std::string> attention;  // one per curve
  JsonValue machine, fit;              // for people; null = left out
};

/// Links that go into a file of their own or into a calibration.
struct LinksToWrite {
  std::vector<std::string> gpus;
  std::string source, date;
  std::vector<costmodel::CollectiveCurve> collectives;
  std::optional<costmodel::NetworkModel> network;
  std::string network_kind;  // "ib": kind of the network level
  double overlap_slowdown = 0;
  JsonValue fit;
};

/// What read_own_fabric reads back: schema "hexaplan/fabric/1", or the same without its schema for the member
/// "fabric" of a calibration.
[[nodiscard]] JsonValue fabric_json(const LinksToWrite& links, bool with_schema);

/// What read_calibration reads back, up to rounding to five digits. Shares refer to `gpu`'s peaks.
/// Precondition: one of origin.gemm is bf16 or fp32, which the peak of attention is taken from.
[[nodiscard]] JsonValue calibration_json(const costmodel::Calibration& calibration,
                                         const costmodel::GpuSpec& gpu, const CalibrationOrigin& origin,
                                         const LinksToWrite* links);

}  // namespace hexaplan::presets
