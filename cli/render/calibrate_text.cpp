#include "cli/render/calibrate_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

#include "cli/render/numbers.h"
#include "presets/calibration/fabric/collective_names.h"
#include "presets/json/spec_names.h"

namespace hexaplan::cli {
namespace {

using costmodel::format_duration;
using costmodel::format_percent;
using costmodel::Seconds;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using validator::CollectiveLine;
using validator::FitError;
using validator::FittedNumber;

constexpr std::size_t kWorstShown = 5;
using Rows = std::vector<std::vector<std::string>>;

std::string number_text(double value, const std::string& unit) {
  return unit == "s" ? format_duration(Seconds{value}) : fmt::format("{:.3f}", value);
}

std::string numbers(const CalibrateReport& report) {
  if (report.fit.numbers.empty()) return {};
  Rows rows{{"fitted", "from", "value", "95 % from", "to"}};
  for (const FittedNumber& n : report.fit.numbers)
    rows.push_back({n.name, n.how, number_text(n.value, n.unit), number_text(n.low, n.unit),
                    number_text(n.high, n.unit)});
  return format_table(rows, 2) + "\n";
}

std::string errors(const CalibrateReport& report) {
  if (report.fit.errors.empty()) return {};
  Rows rows{{"curves against points", "points", "median", "90 % below", "held out", "median", "90 % below",
             "own share"}};
  for (const FitError& e : report.fit.errors) {
    const bool held = e.held_out > 0;
    rows.push_back({e.kind, fmt::format("{}", e.points), format_percent(e.median), format_percent(e.p90),
                    held ? fmt::format("{}", e.held_out) : "", held ? format_percent(e.held_out_median) : "",
                    held ? format_percent(e.held_out_p90) : "",
                    e.share > 0 ? fmt::format("{:.3f}", e.share) : ""});
  }
  return format_table(rows) + "\n";
}

std::string clocks(const CalibrateReport& report) {
  if (report.clocks.empty()) return {};
  Rows rows{{"clock of", "points", "lowest MHz", "median MHz", "highest MHz", "at most W", "at most °C"}};
  for (const ClocksOfKind& c : report.clocks) {
    rows.push_back({c.kind, fmt::format("{}", c.points), fmt::format("{:.0f}", c.lowest),
                    fmt::format("{:.0f}", c.median), fmt::format("{:.0f}", c.highest),
                    fmt::format("{:.0f}", c.power), fmt::format("{:.0f}", c.temperature)});
  }
  return format_table(rows) + "\n";
}

/// What groups of other forms attain of the rate of whole hosts.
std::string shares_of_network(const validator::NetworkFit& n) {
  std::string text;
  if (n.measured_pairs)
    text += fmt::format("; pairs attain {} of that rate", format_percent(n.model.pair_share));
  if (n.measured_exchange)
    text += fmt::format("; all-to-alls attain {}", format_percent(n.model.exchange_share));
  if (n.measured_contention) {
    text += fmt::format("; {} is lost per doubling of the groups that share a host's cards",
                        format_percent(n.model.contention_per_doubling));
  }
  return text;
}

std::string links(const CalibrateReport& report) {
  if (report.fit.lines.empty()) return {};
  Rows rows{{"collective", "ranks", "apart", "hosts", "at once", "points", "latency", "+-", "GB/s of payload",
             "median off"}};
  for (const CollectiveLine& line : report.fit.lines) {
    rows.push_back(
        {std::string{presets::name_in(presets::kCollectiveNames, line.kind)}, fmt::format("{}", line.ranks),
         fmt::format("{}", line.stride), fmt::format("{}", line.nodes), fmt::format("{}", line.groups),
         fmt::format("{}", line.points), format_duration(line.latency), format_duration(line.latency_error),
         std::isfinite(line.rate.value()) ? fmt::format("{:.2f}", line.rate.value() / 1e9) : "-",
         format_percent(line.median_error)});
  }
  std::string text = format_table(rows) + "\n";
  if (report.fit.network) {
    const validator::NetworkFit& n = *report.fit.network;
    text += fmt::format(
        "network between hosts: {} of the card's rate (+- {}), {} per collective, {} per step{}; {} points, "
        "median {} off\n\n",
        format_percent(n.model.bandwidth_efficiency), format_percent(n.efficiency_error),
        format_duration(n.model.base_latency), format_duration(n.model.hop_latency), shares_of_network(n),
        n.points, format_percent(n.median_error));
  }
  return text;
}

std::string worst(const CalibrateReport& report) {
  if (report.fit.residuals.empty()) return {};
  Rows rows{{"furthest from its curve", "measured", "spread", "curve", "off"}};
  for (const validator::PointResidual& r : report.fit.residuals) {
    if (rows.size() > kWorstShown) break;
    rows.push_back({r.point, format_duration(Seconds{r.measured}), format_percent(r.spread),
                    format_duration(Seconds{r.predicted}),
                    format_signed_percent(r.predicted / r.measured - 1)});
  }
  return format_table(rows) + "\n";
}

std::string points_text(const CalibrateReport& report) {
  if (!report.logs.empty()) {
    const std::size_t logs = report.logs.size();
    return fmt::format("{} times from {} log{}", report.measured, logs, logs == 1 ? "" : "s");
  }
  std::string text = fmt::format("{} points measured in {}", report.measured, format_duration(report.took));
  if (report.stored > 0) text += fmt::format(", {} taken from {}", report.stored, report.store);
  if (report.left_out > 0)
    text += fmt::format(", {} left out: no time within {}", report.left_out, format_duration(report.budget));
  return text;
}

JsonArray clocks_json(const CalibrateReport& report) {
  JsonArray rows;
  for (const ClocksOfKind& c : report.clocks) {
    rows.push_back(JsonObject{{"kind", c.kind},
                              {"points", c.points},
                              {"lowest_mhz", c.lowest},
                              {"median_mhz", c.median},
                              {"highest_mhz", c.highest},
                              {"most_watts", c.power},
                              {"most_celsius", c.temperature}});
  }
  return rows;
}

JsonArray lines_json(const CalibrateReport& report) {
  JsonArray rows;
  for (const CollectiveLine& line : report.fit.lines) {
    JsonObject row{{"kind", presets::name_in(presets::kCollectiveNames, line.kind)},
                   {"ranks", line.ranks},
                   {"stride", line.stride},
                   {"groups", line.groups},
                   {"hosts", line.nodes},
                   {"points", line.points},
                   {"latency_seconds", line.latency.value()},
                   {"latency_error_seconds", line.latency_error.value()},
                   {"median_log_error", line.median_error}};
    if (std::isfinite(line.rate.value())) row.emplace_back("bytes_per_second", line.rate.value());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::string calibrate_text(const CalibrateReport& report, const TextStyle& style) {
  std::string text = fmt::format("{} ({}): {}\n", style.bold(report.device), report.gpu, points_text(report));
  for (const std::string& note : report.notes) text += fmt::format("{}\n", note);
  text += "\n" + numbers(report) + errors(report) + clocks(report) + links(report) + worst(report);
  const char* const flag = report.logs.empty() ? "--calibration" : "--fabric";
  return text + fmt::format("Written to {}; predictions take it with {} {}\n", style.bold(report.out), flag,
                            report.out);
}

JsonValue calibrate_json(const CalibrateReport& report) {
  JsonArray numbers, errors, notes, logs;
  for (const FittedNumber& n : report.fit.numbers) {
    numbers.push_back(JsonObject{{"name", n.name},
                                 {"value", n.value},
                                 {"low", n.low},
                                 {"high", n.high},
                                 {"unit", n.unit},
                                 {"from", n.how}});
  }
  for (const FitError& e : report.fit.errors) {
    errors.push_back(JsonObject{{"kind", e.kind},
                                {"points", e.points},
                                {"median", e.median},
                                {"p90", e.p90},
                                {"held_out", e.held_out},
                                {"held_out_median", e.held_out_median},
                                {"held_out_p90", e.held_out_p90},
                                {"share", e.share}});
  }
  for (const std::string& note : report.notes) notes.emplace_back(note);
  for (const std::string& log : report.logs) logs.emplace_back(log);
  JsonArray devices;
  for (const validator::DeviceSpeed& d : report.devices)
    devices.push_back(JsonObject{{"rank", d.rank}, {"host", d.host}, {"slowness", d.slowness}});
  JsonObject object{{"schema", "hexaplan/calibrated/1"},
                    {"device", report.device},
                    {"gpu", report.gpu},
                    {"file", report.out},
                    {"store", report.store},
                    {"logs", std::move(logs)},
                    {"measured", report.measured},
                    {"taken_from_store", report.stored},
                    {"left_out", report.left_out},
                    {"restless", report.restless},
                    {"devices", std::move(devices)},
                    {"clocks", clocks_json(report)},
                    {"seconds", report.took.value()},
                    {"budget_seconds", report.budget.value()},
                    {"notes", std::move(notes)},
                    {"fitted", std::move(numbers)},
                    {"errors", std::move(errors)},
                    {"collectives", lines_json(report)}};
  if (report.fit.network) {
    const validator::NetworkFit& n = *report.fit.network;
    JsonObject network{{"bandwidth_efficiency", n.model.bandwidth_efficiency},
                       {"base_latency_seconds", n.model.base_latency.value()},
                       {"hop_latency_seconds", n.model.hop_latency.value()}};
    if (n.measured_contention)
      network.emplace_back("contention_per_doubling", n.model.contention_per_doubling);
    if (n.measured_pairs) network.emplace_back("pair_share", n.model.pair_share);
    if (n.measured_exchange) network.emplace_back("exchange_share", n.model.exchange_share);
    network.emplace_back("points", n.points);
    network.emplace_back("median", n.median_error);
    network.emplace_back("p90", n.p90_error);
    object.emplace_back("network", std::move(network));
  }
  return object;
}

}  // namespace hexaplan::cli
