#include "cli/render/posttrain_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "charts/table_text.h"
#include "cli/render/numbers.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "presets/scenario/layout_text.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::format_short;
using costmodel::GpuPool;
using costmodel::kRoles;
using costmodel::PhaseMemory;
using costmodel::PhaseTime;
using costmodel::row_of;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

constexpr int kBar = 20;
constexpr double kHour = 3600;
/// docs/posttrain.md: NeMo-RL's published steps over what is predicted of them.
constexpr const char* kUncalibrated =
    "  Generation is not calibrated; rewards, data and scheduling are not in it: published steps took 1.2 to "
    "1.9\n"
    "  times as long (docs/posttrain.md)\n";

std::string count_of(double value) {
  return format_count(std::llround(value));
}

/// "512 tokens", or "1,024 (longest 8,192) tokens".
std::string in_words(const costmodel::TokenLengths& lengths) {
  const std::string mean = count_of(lengths.mean);
  if (std::llround(lengths.mean) == lengths.longest) return mean + " tokens";
  return fmt::format("{} (longest {}) tokens", mean, format_count(lengths.longest));
}

/// "actor+reference+engine".
std::string name_of(const GpuPool& pool) {
  std::string text;
  const auto add = [&](std::string_view name) { text.append(text.empty() ? "" : "+").append(name); };
  for (const auto& role : kRoles) {
    if (pool.holds[static_cast<std::size_t>(role.id)]) add(role.name);
  }
  if (pool.engine) add("engine");
  return text;
}

std::string model_lines(const PostTrainReport& report, const TextStyle& style) {
  charts::Cells rows;
  for (const auto& role : kRoles) {
    const auto& model = report.question.model(role.id);
    if (!model) continue;
    rows.push_back(
        {fmt::format("  {}", role.name),
         fmt::format("{} {} {} {} {} {} {} {}", model->model.name, style.dot(),
                     format_short(static_cast<double>(costmodel::count_parameters(model->model).total)) +
                         " parameters",
                     style.dot(), model->framework.name, style.dot(), presets::to_layout_text(model->layout),
                     role.trained ? "" : "(frozen)")});
  }
  if (report.plan.generation) {
    rows.push_back(
        {"  engine", fmt::format("{} of tp{}, {:.0f} % of each GPU's memory", report.plan.generation->engines,
                                 report.question.engine.tp, 100 * report.plan.memory_share)});
  }
  return format_table(rows, 2);
}

std::string heading(const PostTrainReport& report, const TextStyle& style) {
  const auto& q = report.question;
  const auto& b = q.batch;
  std::string text = fmt::format("{} {} {} {} {} x {}\n", style.bold(presets::name_of(q.algorithm)),
                                 style.dot(), style.bold(q.actor().model.name), style.dot(),
                                 format_count(q.cluster.gpus), q.cluster.gpu.name);
  text += q.generates()
              ? fmt::format("{} prompts x {} responses, prompt {}, response {}", format_count(b.prompts),
                            b.responses, in_words(b.prompt), in_words(b.response))
              : fmt::format("{} pairs, prompt {}, answer {}", format_count(b.prompts), in_words(b.prompt),
                            in_words(b.response));
  const int steps = b.mini_batches * b.epochs;
  text += fmt::format(", {} optimizer step{} a batch\n", steps, steps == 1 ? "" : "s");
  return text + model_lines(report, style);
}

/// " on actor+reference" where pools differ.
std::string where(const PostTrainReport& report, std::size_t pool) {
  return report.question.pools.size() == 1 ? std::string{}
                                           : fmt::format(" on {}", name_of(report.question.pools[pool]));
}

/// "--offload-idle all --engine-tp 2".
std::string flags_of(const planner::PostTrainingChange& change) {
  std::string text;
  for (const auto& [flag, value] : change.flags)
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", flag, value);
  return text;
}

std::string changes_text(const PostTrainReport& report) {
  if (report.changes.empty()) return {};
  charts::Cells rows{{"  to change", "GiB", "step"}};
  for (const planner::PostTrainingChange& change : report.changes) {
    rows.push_back({"  " + flags_of(change), gib_digits(change.plan.memory[change.plan.fullest].total()),
                    format_duration(change.plan.step)});
  }
  return "\nWould fit, fastest first\n" + format_table(rows);
}

std::string verdict(const PostTrainReport& report, const TextStyle& style) {
  const auto& plan = report.plan;
  if (plan.rejected) {
    const bool helped = plan.rejected->advice.empty() || !report.changes.empty();
    return fmt::format("\n{} {}{}\n{}",
                       style.bad(report.changes.empty() && !plan.priced() ? "Cannot run:" : "Does not fit:"),
                       plan.rejected->reason, helped ? "" : "; " + plan.rejected->advice,
                       changes_text(report));
  }
  const PhaseMemory& most = plan.memory[plan.fullest];
  return fmt::format("\n{} {} of {} per GPU, fullest in \"{}\"{}, {} free\n", style.good("Fits:"),
                     format_binary(most.total()), format_binary(plan.capacity), row_of(most.phase).name,
                     where(report, most.pool), format_binary(plan.capacity - most.total()));
}

/// A column of the memory table.
struct Column {
  std::string name;
  std::size_t role = 0;
  Bytes PhaseMemory::*member = nullptr;
  [[nodiscard]] Bytes of(const PhaseMemory& memory) const {
    return member != nullptr ? memory.*member : memory.models[role];
  }
};

std::vector<Column> columns_of(const PostTrainReport& report) {
  std::vector<Column> columns;
  for (const auto& role : kRoles) {
    if (report.question.model(role.id))
      columns.push_back({std::string{role.name}, static_cast<std::size_t>(role.id)});
  }
  if (report.question.generates()) {
    columns.push_back({"engine", 0, &PhaseMemory::engine});
    columns.push_back({"cache", 0, &PhaseMemory::cache});
    columns.push_back({"transfer", 0, &PhaseMemory::buffer});
  }
  columns.push_back({"context", 0, &PhaseMemory::outside});
  return columns;
}

std::string pool_memory(const PostTrainReport& report, std::size_t pool, const TextStyle& style) {
  const auto& plan = report.plan;
  const std::vector<Column> columns = columns_of(report);
  charts::Cells rows{{"phase"}};
  for (const Column& column : columns) rows.front().push_back(column.name);
  rows.front().insert(rows.front().end(), {"total", "of " + gib_digits(plan.capacity)});
  for (std::size_t i = 0; i < plan.memory.size(); ++i) {
    const PhaseMemory& memory = plan.memory[i];
    if (memory.pool != pool) continue;
    std::vector<std::string> cells{
        fmt::format("{}{}", row_of(memory.phase).name, i == plan.fullest ? " *" : "")};
    for (const Column& column : columns) cells.push_back(gib_digits(column.of(memory)));
    cells.push_back(gib_digits(memory.total()));
    cells.push_back(style.bar(memory.total() / plan.capacity, kBar));
    rows.push_back(std::move(cells));
  }
  const std::string of = report.question.pools.size() == 1
                             ? ""
                             : fmt::format(" on {} x {}", name_of(report.question.pools[pool]),
                                           report.question.pools[pool].cluster.gpus);
  return fmt::format("\nMemory per GPU by phase{} (GiB, 2^30 bytes; * = fullest)\n", of) + format_table(rows);
}

std::string engine_text(const PostTrainReport& report) {
  if (!report.plan.generation) return {};
  const auto& g = *report.plan.generation;
  return fmt::format(
      "\nGeneration: {} responses per engine, at most {} together ({:.0f} on average), {} decode steps\n"
      "  cache {} per GPU for {} tokens, {} each\n",
      format_count(g.responses), format_count(g.together), g.mean_batch, format_count(g.decode_steps),
      format_binary(g.cache), count_of(g.cached_tokens), format_binary(g.token));
}

std::string time_text(const PostTrainReport& report, const TextStyle& style) {
  const auto& plan = report.plan;
  charts::Cells rows{{"phase", "time", "of step", "", "copies with host"}};
  for (const PhaseTime& time : plan.times) {
    const double share = time.total() / plan.step;
    rows.push_back({fmt::format("  {}{}", row_of(time.phase).name, where(report, time.pool)),
                    format_duration(time.total()), format_percent(share), style.bar(share, kBar),
                    time.moving.value() > 0 ? format_duration(time.moving) : std::string{style.dash()}});
  }
  std::string text = fmt::format("\nStep {} (estimate)\n", format_duration(plan.step)) + format_table(rows);
  if (report.question.generates()) text += kUncalibrated;
  text +=
      fmt::format("\nThroughput {} tokens/s in all, {} per GPU", count_of(plan.tokens / plan.step.value()),
                  count_of(plan.tokens / plan.step.value() / plan.gpus));
  if (plan.generated > 0)
    text += fmt::format("; {} generated per second", count_of(plan.generated / plan.step.value()));
  text += "\n";
  if (plan.dollars > 0)
    text += fmt::format("Cost ${:.2f} per step, ${:.0f} per 100 steps ({:.1f} h)\n", plan.dollars,
                        100 * plan.dollars, 100 * plan.step.value() / kHour);
  if (plan.host.value() > 0) text += fmt::format("Host memory {} per node\n", format_binary(plan.host));
  return text;
}

JsonValue bytes_json(Bytes bytes) {
  return costmodel::whole(bytes);
}

JsonValue memory_json(const PostTrainReport& report, const PhaseMemory& memory) {
  JsonObject row{{"phase", row_of(memory.phase).key}, {"pool", name_of(report.question.pools[memory.pool])}};
  for (const Column& column : columns_of(report))
    row.emplace_back(column.name, bytes_json(column.of(memory)));
  row.emplace_back("total", bytes_json(memory.total()));
  return row;
}

JsonValue generation_json(const PostTrainReport& report) {
  if (!report.plan.generation) return {};
  const auto& g = *report.plan.generation;
  return JsonObject{{"engines", g.engines},
                    {"memory_share", report.plan.memory_share},
                    {"weight_bytes", bytes_json(report.plan.engine->weights)},
                    {"activation_bytes", bytes_json(report.plan.engine->activations)},
                    {"cache_bytes", bytes_json(g.cache)},
                    {"cache_bytes_per_token", bytes_json(g.token)},
                    {"cached_tokens", g.cached_tokens},
                    {"responses_per_engine", g.responses},
                    {"responses_together", g.together},
                    {"mean_batch", g.mean_batch},
                    {"decode_steps", g.decode_steps},
                    {"prefill_seconds", g.prefill.value()},
                    {"decode_seconds", g.decode.value()}};
}

JsonValue verdict_json(const PostTrainReport& report) {
  if (!report.plan.rejected) return {};
  JsonArray changes;
  for (const planner::PostTrainingChange& change : report.changes) {
    changes.push_back(JsonObject{{"change", flags_of(change)},
                                 {"peak_bytes", bytes_json(change.plan.memory[change.plan.fullest].total())},
                                 {"step_seconds", change.plan.step.value()}});
  }
  return JsonObject{{"rule", report.plan.rejected->rule},
                    {"reason", report.plan.rejected->reason},
                    {"advice", report.plan.rejected->advice},
                    {"changes_that_fit", std::move(changes)}};
}

}  // namespace

std::string posttrain_text(const PostTrainReport& report, const TextStyle& style) {
  std::string text = heading(report, style) + verdict(report, style);
  if (!report.plan.priced()) return text;
  for (std::size_t pool = 0; pool < report.question.pools.size(); ++pool)
    text += pool_memory(report, pool, style);
  return text + engine_text(report) + time_text(report, style);
}

JsonValue posttrain_json(const PostTrainReport& report) {
  const auto& plan = report.plan;
  JsonArray memory, times, notes;
  for (const PhaseMemory& row : plan.memory) memory.push_back(memory_json(report, row));
  for (const PhaseTime& row : plan.times) {
    times.push_back(JsonObject{{"phase", row_of(row.phase).key},
                               {"pool", name_of(report.question.pools[row.pool])},
                               {"seconds", row.total().value()},
                               {"host_copy_seconds", row.moving.value()}});
  }
  for (const std::string& note : report.notes) notes.emplace_back(note);
  JsonObject answer{{"schema", "hexaplan/posttrain-plan/1"},
                    {"question", to_json(report.request)},
                    {"notes", std::move(notes)},
                    {"fits", !plan.rejected},
                    {"rejected", verdict_json(report)}};
  if (!plan.priced()) return answer;
  answer.emplace_back("capacity_bytes", bytes_json(plan.capacity));
  answer.emplace_back("fullest_phase", row_of(plan.memory[plan.fullest].phase).key);
  answer.emplace_back("peak_bytes", bytes_json(plan.memory[plan.fullest].total()));
  answer.emplace_back("memory", std::move(memory));
  answer.emplace_back("host_bytes_per_node", bytes_json(plan.host));
  answer.emplace_back("generation", generation_json(report));
  answer.emplace_back("phases", std::move(times));
  answer.emplace_back("step_seconds", plan.step.value());
  answer.emplace_back("tokens_per_second", plan.tokens / plan.step.value());
  answer.emplace_back("generated_tokens_per_second", plan.generated / plan.step.value());
  answer.emplace_back("dollars_per_step", plan.dollars > 0 ? JsonValue{plan.dollars} : JsonValue{});
  return answer;
}

}  // namespace hexaplan::cli
