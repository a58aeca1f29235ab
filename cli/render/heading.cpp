#include "cli/render/heading.h"

#include <fmt/format.h>

#include "costmodel/units/format_units.h"
#include "presets/json/spec_names.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recompute_text.h"

namespace hexaplan::cli {

using costmodel::format_count;

std::string heading(const Question& question, std::int64_t parameters, const costmodel::Estimate& estimate,
                    const TextStyle& style) {
  const costmodel::Scenario& s = question.scenario;
  const std::string parts[] = {style.bold(s.model.name),
                               costmodel::format_short(static_cast<double>(parameters)) + " parameters",
                               fmt::format("{} x {}", format_count(s.cluster.gpus), s.cluster.gpu.name),
                               s.framework.name, presets::to_layout_text(s.layout)};
  const std::int64_t microbatches = estimate.microbatches;
  const std::string passes = microbatches > 0 ? fmt::format(" ({} micro-batch{} per rank)", microbatches,
                                                            microbatches == 1 ? "" : "es")
                                              : "";
  return fmt::format("{}\n", fmt::join(parts, fmt::format(" {} ", style.dot()))) +
         fmt::format("sequence {} tokens, micro-batch {}, global batch {}{}, {}, recompute {}\n\n",
                     format_count(s.recipe.sequence), s.recipe.micro_batch,
                     format_count(s.recipe.global_batch), passes,
                     presets::name_in(presets::kPrecisionNames, s.recipe.precision),
                     presets::to_recompute_text(s.recipe.recompute));
}

std::string rejected_lines(const costmodel::Rejected& rejected, const TextStyle& style) {
  return fmt::format("{}: {} (rule {})\n", style.bad("Cannot run"), rejected.reason, rejected.rule) +
         (rejected.advice.empty() ? "" : fmt::format("  {}\n", rejected.advice));
}

}  // namespace hexaplan::cli
