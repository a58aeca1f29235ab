#include "presets/trace/trace_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "presets/trace/chrome_trace.h"
#include "presets/trace/perfetto_trace.h"

namespace hexaplan::presets {

std::unique_ptr<TraceWriter> trace_writer(std::string_view file, const costmodel::Layout& layout,
                                          const std::string& title, TraceSink sink) {
  constexpr std::array<std::string_view, 3> binary{".pftrace", ".perfetto-trace", ".pb"};
  if (std::ranges::any_of(binary, [&](std::string_view ending) { return file.ends_with(ending); }))
    return std::make_unique<PerfettoTraceWriter>(layout, title, std::move(sink));
  return std::make_unique<ChromeTraceWriter>(title, std::move(sink));
}

void write_trace(const costmodel::Simulation& simulation, TraceWriter& writer) {
  for (std::size_t s = 0; s < simulation.stages.size(); ++s)
    writer.add(static_cast<int>(s), simulation.stages[s]);
  writer.finish(simulation);
}

}  // namespace hexaplan::presets
