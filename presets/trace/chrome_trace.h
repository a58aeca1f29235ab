#pragma once
#include <memory>
#include <string>

#include "costmodel/simulate/simulation.h"
#include "presets/trace/trace_writer.h"

namespace hexaplan::presets {

/// A simulation in the Trace Event Format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing
/// open: one process a stage, one thread a stream, complete events for spans, a counter for memory; times in
/// microseconds. One event a line.
/// Format: "Trace Event Format", Google,
/// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
class ChromeTraceWriter final : public TraceWriter {
 public:
  ChromeTraceWriter(std::string title, TraceSink sink);
  ~ChromeTraceWriter() override;
  void add(int stage, const costmodel::StageTimeline& piece) override;
  void finish(const costmodel::Simulation& simulation) override;

 private:
  class Events;
  std::string title_;
  std::unique_ptr<Events> events_;
};

}  // namespace hexaplan::presets
