#pragma once
#include <memory>
#include <string>

#include "costmodel/simulate/simulation.h"
#include "costmodel/spec/layout.h"
#include "presets/trace/trace_writer.h"

namespace hexaplan::presets {

/// A simulation as Perfetto's own binary trace (https://ui.perfetto.dev): a track a stage with tracks for its
/// streams, slices for spans, counters for memory in bytes, and arrows (flows) from the pass that sends over
/// its message to the pass of another stage that waits for it. Times in nanoseconds.
/// Format: `Trace` of protos/perfetto/trace/perfetto_trace.proto, github.com/google/perfetto, v50; "Synthetic
/// TrackEvents", https://perfetto.dev/docs/reference/synthetic-track-event.
class PerfettoTraceWriter final : public TraceWriter {
 public:
  /// `layout`: of the simulation; it says which chunk follows which.
  PerfettoTraceWriter(const costmodel::Layout& layout, const std::string& title, TraceSink sink);
  ~PerfettoTraceWriter() override;
  void add(int stage, const costmodel::StageTimeline& piece) override;
  void finish(const costmodel::Simulation& simulation) override;

 private:
  class Packets;
  std::unique_ptr<Packets> packets_;
};

}  // namespace hexaplan::presets
