#include <fmt/format.h>

#include <set>

#include "costmodel/program/not_modelled.h"
#include "costmodel/step/largest.h"
#include "costmodel/units/format_units.h"
#include "presets/published/published_runs.h"
#include "report/formula_index.h"
#include "report/html.h"
#include "report/plan_page.h"

namespace hexaplan::report {

using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::format_duration;
using costmodel::Provenance;
using costmodel::Seconds;

namespace {

std::string_view words_of(Provenance provenance) {
  switch (provenance) {
    case Provenance::Measured:
      return "measured";
    case Provenance::Borrowed:
      return "borrowed from a similar GPU";
    case Provenance::Prior:
      return "not measured: a prior from the datasheet";
  }
  return "?";
}

std::string item(std::string_view name, const std::string& value) {
  return fmt::format("<dt>{}</dt><dd>{}</dd>\n", Cell{name}.html(), Cell{value}.html());
}

std::string curves(const presets::CalibratedScenario& resolved) {
  const costmodel::Calibration& c = resolved.calibration;
  const presets::FabricOrigin& f = resolved.fabric;
  std::string html = item("Kernels", fmt::format("{}, {}; {}", c.name, words_of(c.provenance), c.source));
  html += item("Links of a node", f.inside_source.empty()
                                      ? std::string{"not measured: NCCL's model on datasheet figures"}
                                      : fmt::format("{}; {}", words_of(f.inside), f.inside_source));
  if (!f.network.empty())
    html += item("Network",
                 fmt::format("{}, {}; {}", f.network, words_of(f.network_provenance), f.network_source));
  return html;
}

/// The published runs that are nearest, and how many support the techniques used.
std::string published_runs(const costmodel::Scenario& scenario) {
  constexpr std::size_t kListed = 5;
  const presets::Evidence evidence = presets::evidence_for(scenario, kListed);
  std::string html = "<h3>Published runs nearest to this one</h3>\n<ul>\n";
  for (const presets::PublishedRun& run : evidence.nearest) {
    html += fmt::format("<li><b>{}</b>: {} on {} {}, {}, {}: step {} measured, {} predicted ({}). {}</li>\n",
                        Cell{run.id}.html(), Cell{run.model}.html(), run.gpus, Cell{run.gpu}.html(),
                        Cell{run.framework}.html(), Cell{run.layout}.html(), format_duration(run.measured),
                        format_duration(run.predicted), costmodel::format_signed_percent(run.error()),
                        Cell{run.source}.html());
  }
  html += "</ul>\n";
  const std::vector<std::string> lines = presets::evidence_lines(evidence, scenario);
  for (std::size_t i = evidence.nearest.empty() ? 0 : 1; i < lines.size(); ++i)
    html += fmt::format("<p>{}</p>\n", Cell{lines[i]}.html());
  return html;
}

std::string notes_list(std::string_view heading, const std::vector<costmodel::KnobNote>& notes) {
  if (notes.empty()) return {};
  std::string html = fmt::format("<h3>{}</h3>\n<ul>\n", heading);
  for (const costmodel::KnobNote& note : notes)
    html += fmt::format("<li><b>{}</b>: {}</li>\n", Cell{note.knob}.html(), Cell{note.effect}.html());
  return html + "</ul>\n";
}

}  // namespace

std::string evidence_part(const Answer& answer) {
  const costmodel::Estimate& e = answer.estimate;
  std::string html =
      "<p>Everything above is predicted. Nine of ten times the truth should lie in these intervals, "
      "which come from the errors against published runs.</p>\n<dl>\n";
  html += item("Memory of the fullest GPU",
               fmt::format("{}; 90 % interval {} to {}; chance of running out of memory {}",
                           format_binary(e.peak().device), format_binary(Bytes{e.memory_bytes.low}),
                           format_binary(Bytes{e.memory_bytes.high}),
                           costmodel::format_percent(e.out_of_memory_probability)));
  html += item("Step", fmt::format("{}; 90 % interval {} to {}", format_duration(e.time.total()),
                                   format_duration(Seconds{e.step_seconds.low}),
                                   format_duration(Seconds{e.step_seconds.high})));
  html +=
      item("MFU",
           "model FLOPs with causal attention halved and the input embedding excluded, over the dense peak "
           "of the precision");
  html += curves(answer.resolved) + "</dl>\n";
  const costmodel::Scenario& scenario = answer.resolved.scenario;
  html += published_runs(scenario);
  return html + notes_list("Not modelled: the numbers leave this out", costmodel::not_modelled(scenario)) +
         notes_list("Without effect here", costmodel::words_without_effect(scenario));
}

std::string formulas_part(const Answer& answer) {
  const costmodel::StageMemory& peak = answer.estimate.peak();
  const costmodel::Scenario& scenario = answer.resolved.scenario;
  std::set<std::string> anchors{"M7"};
  for (const costmodel::StageMemory& stage : answer.estimate.stages) {
    for (const costmodel::TensorEntry& entry : costmodel::build_ledger(scenario, stage.stage))
      anchors.insert(std::string{entry.formula});
  }
  for (const auto& row :
       costmodel::largest_operations(scenario, answer.resolved.calibration, peak.stage, kOperationsListed))
    anchors.insert(std::string{row.operation.formula});
  std::string html = "<dl>\n";
  for (const std::string& anchor : anchors) {
    if (anchor.empty()) continue;
    const FormulaNote note = find_formula(anchor);
    html += fmt::format(
        "<dt id=\"{0}\">{0} · {1}</dt><dd>{2}{3}</dd>\n", Cell{anchor}.html(), Cell{note.title}.html(),
        note.function.empty() ? std::string{} : fmt::format("<code>{}</code>", Cell{note.function}.html()),
        note.source.empty() ? std::string{} : fmt::format("<br/>Source: {}", Cell{note.source}.html()));
  }
  return html + "</dl>\n";
}

}  // namespace hexaplan::report
