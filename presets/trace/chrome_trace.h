#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "costmodel/simulate/simulation.h"

namespace hexaplan::presets {

/// Takes a trace in pieces of about 1 MiB: it may be larger than memory.
using TraceSink = std::function<void(std::string_view)>;

/// A simulation in the Trace Event Format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing
/// open: one process a stage, one thread a stream, complete events for spans, a counter for memory; times in
/// microseconds. One event a line.
/// Format: "Trace Event Format", Google,
/// docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
/// Written while the step runs (SimulationOptions::take): in the order of the pieces, those of a thread in
/// the order of time.
class ChromeTraceWriter {
 public:
  explicit ChromeTraceWriter(TraceSink sink);
  ~ChromeTraceWriter();
  ChromeTraceWriter(const ChromeTraceWriter&) = delete;
  ChromeTraceWriter& operator=(const ChromeTraceWriter&) = delete;

  void add(int stage, const costmodel::StageTimeline& piece);
  /// Nothing follows; `simulation` has the totals.
  void finish(const costmodel::Simulation& simulation, const std::string& title);

 private:
  class Events;
  std::unique_ptr<Events> events_;
};

/// A whole simulation. Precondition: it kept what is to be shown.
void write_chrome_trace(const costmodel::Simulation& simulation, const std::string& title,
                        const TraceSink& sink);
/// The same as one text.
[[nodiscard]] std::string chrome_trace(const costmodel::Simulation& simulation, const std::string& title);

}  // namespace hexaplan::presets
