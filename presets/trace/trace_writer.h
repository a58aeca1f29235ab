#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "costmodel/simulate/simulation.h"
#include "costmodel/spec/layout.h"

namespace hexaplan::presets {

/// Takes a trace in pieces of at most kTracePiece: it may be larger than memory.
using TraceSink = std::function<void(std::string_view)>;
inline constexpr std::size_t kTracePiece = 1 << 20;  // bytes

/// Writes a simulation while the step runs (SimulationOptions::take): in the order of the pieces, those of a
/// stream in the order of time.
class TraceWriter {
 public:
  TraceWriter() = default;
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;
  virtual ~TraceWriter() = default;

  virtual void add(int stage, const costmodel::StageTimeline& piece) = 0;
  /// Nothing follows; `simulation` has the totals.
  virtual void finish(const costmodel::Simulation& simulation) = 0;
};

/// What writes a file of this name: Perfetto's binary trace where the name ends like one (.pftrace,
/// .perfetto-trace, .pb), the Trace Event Format otherwise. `layout`: of the simulation.
[[nodiscard]] std::unique_ptr<TraceWriter> trace_writer(std::string_view file,
                                                        const costmodel::Layout& layout,
                                                        const std::string& title, TraceSink sink);
/// A whole simulation. Precondition: it kept what is to be shown.
void write_trace(const costmodel::Simulation& simulation, TraceWriter& writer);

/// What a trace says of itself.
inline constexpr std::string_view kTraceMadeBy = "hexaplan simulate: predicted, not measured";

}  // namespace hexaplan::presets
