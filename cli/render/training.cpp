#include "cli/render/training.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "costmodel/units/format_units.h"
#include "presets/clusters/reliability_fields.h"

namespace hexaplan::cli {

using costmodel::format_binary;
using costmodel::format_count;
using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::format_short;
using costmodel::Goodput;
using costmodel::Scenario;
using costmodel::Seconds;
using costmodel::TrainingCost;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

/// What nobody said, with the value it counts as: "gpu_mtbf 65536h".
std::vector<std::string> assumed_words(const Scenario& scenario) {
  const costmodel::Reliability used = reliability_of(scenario);
  const costmodel::Reliability said = overlaid(scenario.recipe.reliability, scenario.cluster.reliability);
  std::vector<std::string> words;
  for (const presets::ReliabilityField& field : presets::reliability_fields()) {
    const JsonValue value = field.write(used);
    if (value.is_null() || !field.write(said).is_null()) continue;
    if (const auto* text = value.get_if<std::string>())
      words.push_back(fmt::format("{} {}", field.key, *text));
  }
  return words;
}

std::string losses(const Goodput& g) {
  struct Loss {
    double share;
    const char* what;
  };
  const Loss all[] = {{g.checkpointing, "checkpoints"},
                      {g.repeating, "repeated steps"},
                      {g.restarting, "restarts"},
                      {g.waiting, "waiting for repairs"}};
  std::string text;
  for (const Loss& loss : all) {
    if (loss.share > 0)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", format_percent(loss.share), loss.what);
  }
  return text;
}

std::string failures_line(const TrainingCost& cost) {
  const Goodput& g = cost.goodput;
  constexpr double kMany = 10;
  const std::string failures =
      cost.failures < kMany ? fmt::format("{:.1f}", cost.failures) : format_short(std::round(cost.failures));
  return fmt::format("  goodput {} ({}); {} failures expected, one in {}\n", format_percent(g.productive),
                     losses(g), failures, format_duration(g.mtbf));
}

/// "18.9 MWh", "2.45 GWh".
std::string energy_text(double kilowatt_hours) {
  constexpr double kThousand = 1000;
  double amount = kilowatt_hours / kThousand;
  for (const char* unit : {"MWh", "GWh"}) {
    if (amount < kThousand) return fmt::format("{} {}", format_short(amount), unit);
    amount /= kThousand;
  }
  return fmt::format("{} TWh", format_short(amount));
}

std::string checkpoints_line(const Scenario& scenario, const TrainingCost& cost) {
  const Goodput& g = cost.goodput;
  const bool said = scenario.recipe.checkpoints.interval.has_value();
  // Between two steps is where one can be made.
  const Seconds step = cost.productive / std::max(1.0, cost.steps);
  const std::string every = g.interval < step ? "step" : format_duration(g.interval);
  std::string text = fmt::format(
      "  checkpoint of {} every {} ({}), written in {}", format_binary(g.checkpoint), every,
      said ? "best: " + format_duration(g.best_interval) : "the best interval", format_duration(g.writing));
  if (g.stall < g.writing) text += fmt::format(", training waits {}", format_duration(g.stall));
  return text + fmt::format("; restart {}; enough spare nodes: {}\n", format_duration(g.restart),
                            format_count(g.enough_spares));
}

}  // namespace

std::string training_text(const Scenario& scenario, const TrainingCost& cost, const TextStyle& style) {
  std::string text =
      fmt::format("{} {} tokens: {} steps, ", style.bold("Training on"),
                  format_short(static_cast<double>(scenario.recipe.tokens)), format_short(cost.steps));
  if (!std::isfinite(cost.wall.value()))
    return text + fmt::format("{}: the job fails every {} and restarts in {}\n", style.bad("it never ends"),
                              format_duration(cost.goodput.mtbf), format_duration(cost.goodput.restart));
  text += fmt::format("{} ({} to {}), {} GPU-hours, {}", format_duration(cost.wall),
                      format_duration(Seconds{cost.wall_seconds.low}),
                      format_duration(Seconds{cost.wall_seconds.high}), format_short(cost.gpu_hours),
                      energy_text(cost.kilowatt_hours));
  text += cost.dollars > 0 ? fmt::format(", ${} at ${:.2f} per GPU-hour\n", format_short(cost.dollars),
                                         scenario.cluster.gpu.price_per_hour)
                           : ", price per GPU-hour not known (--price)\n";
  text += failures_line(cost) + checkpoints_line(scenario, cost);
  if (const auto words = assumed_words(scenario); !words.empty())
    text += fmt::format("  assumed: {}\n", fmt::join(words, ", "));
  return text;
}

JsonValue training_json(const Scenario& scenario, const TrainingCost& cost) {
  const Goodput& g = cost.goodput;
  JsonArray assumed;
  for (std::string& words : assumed_words(scenario)) assumed.emplace_back(std::move(words));
  return JsonObject{{"tokens", scenario.recipe.tokens},
                    {"steps", cost.steps},
                    {"productive_seconds", cost.productive.value()},
                    {"wall_seconds", cost.wall.value()},
                    {"wall_interval_seconds", JsonArray{cost.wall_seconds.low, cost.wall_seconds.high}},
                    {"gpu_hours", cost.gpu_hours},
                    {"dollars", cost.dollars > 0 ? JsonValue{cost.dollars} : JsonValue{}},
                    {"kilowatt_hours", cost.kilowatt_hours},
                    {"failures", cost.failures},
                    {"goodput", JsonObject{{"share", g.productive},
                                           {"checkpointing", g.checkpointing},
                                           {"repeating", g.repeating},
                                           {"restarting", g.restarting},
                                           {"waiting", g.waiting},
                                           {"mtbf_seconds", g.mtbf.value()},
                                           {"restart_seconds", g.restart.value()},
                                           {"enough_spare_nodes", g.enough_spares}}},
                    {"checkpoint", JsonObject{{"bytes", costmodel::whole(g.checkpoint)},
                                              {"seconds", g.writing.value()},
                                              {"stall_seconds", g.stall.value()},
                                              {"interval_seconds", g.interval.value()},
                                              {"best_interval_seconds", g.best_interval.value()}}},
                    {"assumed", std::move(assumed)}};
}

}  // namespace hexaplan::cli
