#include "cli/render/snapshot_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "charts/table_text.h"
#include "cli/render/numbers.h"

namespace hexaplan::cli {

using charts::Cells;
using costmodel::Bytes;
using costmodel::format_binary;
using costmodel::format_count;
using costmodel::format_percent;
using costmodel::format_signed_percent;
using presets::SnapshotDevice;

namespace {

constexpr std::size_t kPlacesShown = 8;
constexpr std::string_view kSegmentNames[] = {"small", "large", "expandable"};

std::string segments_table(const SnapshotDevice& device) {
  Cells rows{{"  segments", "", "reserved", "allocated", "free beside blocks", "largest free"}};
  for (std::size_t i = 0; i < device.kinds.size(); ++i) {
    const presets::SegmentSum& sum = device.kinds[i];
    if (sum.segments == 0) continue;
    rows.push_back({fmt::format("  {}", kSegmentNames[i]), format_count(sum.segments),
                    format_binary(sum.reserved), format_binary(sum.allocated), format_binary(sum.free),
                    format_binary(sum.largest_free)});
  }
  return rows.size() > 1 ? format_table(rows) : std::string{};
}

std::string device_lines(const SnapshotDevice& device) {
  std::string text =
      fmt::format("  when taken: {} allocated of {} reserved ({} unused)\n", format_binary(device.allocated),
                  format_binary(device.reserved),
                  device.reserved > Bytes{} ? format_percent(device.unused() / device.reserved) : "0 %");
  if (device.events == 0) return text + "  no event is recorded: the peaks are not known\n";
  text +=
      fmt::format("  peak over {} recorded events: {} allocated, {} reserved\n", format_count(device.events),
                  format_binary(device.peak_allocated), format_binary(device.peak_reserved));
  if (device.simulated_reserved && device.expandable_reserved)
    text +=
        fmt::format("  by the allocator's rules: {} reserved; with expandable segments {}\n",
                    format_binary(*device.simulated_reserved), format_binary(*device.expandable_reserved));
  if (device.ran_out > 0)
    text += fmt::format("  ran out of memory {} times, last when {} were asked for\n", device.ran_out,
                        format_binary(device.asked));
  return text;
}

std::string places_table(const SnapshotDevice& device) {
  if (device.events == 0) return {};
  Cells rows{{"  alive at the peak, by where it was allocated", "blocks", "bytes"}};
  for (std::size_t i = 0; i < std::min(device.at_peak.size(), kPlacesShown); ++i) {
    const presets::AliveGroup& group = device.at_peak[i];
    rows.push_back({"  " + group.where, format_count(group.blocks), format_binary(group.bytes)});
  }
  if (device.at_peak.size() > kPlacesShown)
    rows.push_back({fmt::format("  {} more places", device.at_peak.size() - kPlacesShown), "", ""});
  rows.push_back({"  before the first event", "", format_binary(device.alive_before)});
  return format_table(rows);
}

std::string compared_table(const std::vector<ComparedPeak>& peaks) {
  Cells rows{{"  beside the prediction", "predicted", "measured", "error"}};
  for (const ComparedPeak& peak : peaks)
    rows.push_back({fmt::format("  {}, stage {}", peak.reserved ? "reserved" : "allocated", peak.stage),
                    format_binary(peak.predicted), format_binary(peak.measured),
                    peak.measured > Bytes{} ? format_signed_percent(peak.error()) : ""});
  return format_table(rows);
}

presets::JsonArray segments_json(const SnapshotDevice& device) {
  presets::JsonArray kinds;
  for (std::size_t i = 0; i < device.kinds.size(); ++i) {
    const presets::SegmentSum& sum = device.kinds[i];
    if (sum.segments == 0) continue;
    kinds.push_back(presets::JsonObject{{"kind", kSegmentNames[i]},
                                        {"segments", sum.segments},
                                        {"blocks", sum.blocks},
                                        {"reserved_bytes", sum.reserved.value()},
                                        {"allocated_bytes", sum.allocated.value()},
                                        {"free_bytes", sum.free.value()},
                                        {"largest_free_bytes", sum.largest_free.value()}});
  }
  return kinds;
}

presets::JsonValue bytes_or_nothing(const std::optional<Bytes>& bytes) {
  return bytes ? presets::JsonValue{bytes->value()} : presets::JsonValue{};
}

presets::JsonValue device_json(const SnapshotDevice& device, const std::vector<ComparedPeak>* peaks) {
  presets::JsonArray alive, compared;
  for (const presets::AliveGroup& group : device.at_peak)
    alive.push_back(presets::JsonObject{
        {"where", group.where}, {"blocks", group.blocks}, {"bytes", group.bytes.value()}});
  for (const ComparedPeak& peak : peaks == nullptr ? std::vector<ComparedPeak>{} : *peaks)
    compared.push_back(presets::JsonObject{{"kind", peak.reserved ? "reserved" : "allocated"},
                                           {"stage", peak.stage},
                                           {"predicted", peak.predicted.value()},
                                           {"measured", peak.measured.value()}});
  return presets::JsonObject{{"device", device.device},
                             {"allocated_bytes", device.allocated.value()},
                             {"reserved_bytes", device.reserved.value()},
                             {"peak_allocated_bytes", device.peak_allocated.value()},
                             {"peak_reserved_bytes", device.peak_reserved.value()},
                             {"simulated_reserved_bytes", bytes_or_nothing(device.simulated_reserved)},
                             {"expandable_reserved_bytes", bytes_or_nothing(device.expandable_reserved)},
                             {"events", device.events},
                             {"ran_out", device.ran_out},
                             {"segments", segments_json(device)},
                             {"alive_at_peak", std::move(alive)},
                             {"alive_before_bytes", device.alive_before.value()},
                             {"compared", std::move(compared)}};
}

}  // namespace

std::string snapshots_text(const std::vector<ImportedSnapshot>& snapshots, const TextStyle& style) {
  std::string text;
  for (const ImportedSnapshot& imported : snapshots) {
    for (std::size_t i = 0; i < imported.snapshot.devices.size(); ++i) {
      const SnapshotDevice& device = imported.snapshot.devices[i];
      text += fmt::format("{}{}: CUDA memory snapshot, device {}{}\n", text.empty() ? "" : "\n",
                          style.bold(imported.snapshot.file), device.device,
                          imported.snapshot.expandable ? ", expandable segments" : "");
      text += device_lines(device) + segments_table(device) + places_table(device);
      if (!imported.peaks.empty()) text += compared_table(imported.peaks[i]);
    }
  }
  return text;
}

presets::JsonArray snapshots_json(const std::vector<ImportedSnapshot>& snapshots) {
  presets::JsonArray rows;
  for (const ImportedSnapshot& imported : snapshots) {
    presets::JsonArray devices;
    for (std::size_t i = 0; i < imported.snapshot.devices.size(); ++i)
      devices.push_back(
          device_json(imported.snapshot.devices[i], imported.peaks.empty() ? nullptr : &imported.peaks[i]));
    rows.push_back(presets::JsonObject{{"file", imported.snapshot.file},
                                       {"expandable_segments", imported.snapshot.expandable},
                                       {"devices", std::move(devices)}});
  }
  return rows;
}

}  // namespace hexaplan::cli
