#include "cli/render/network_text.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "costmodel/communication/group_links.h"
#include "costmodel/units/format_units.h"
#include "presets/clusters/network_tiers.h"

namespace hexaplan::cli {

using costmodel::BytesPerSecond;
using costmodel::ClusterSpec;
using costmodel::Fabric;
using costmodel::Group;
using costmodel::NetworkLevel;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

namespace {

/// Where a kind of process groups lies.
struct GroupOnNetwork {
  Group group = Group::Tensor;
  std::int64_t ranks = 0;
  const NetworkLevel* reaches = nullptr;  // the highest level that its messages take
  BytesPerSecond rate;                    // attainable by one member, all groups of the kind at once
};

std::vector<GroupOnNetwork> groups_of(const Question& question) {
  const ClusterSpec& cluster = question.scenario.cluster;
  std::vector<GroupOnNetwork> rows;
  for (const Group group :
       {Group::Tensor, Group::Context, Group::Expert, Group::ExpertTensor, Group::Pipeline, Group::Shard,
        Group::Replica, Group::DataContext, Group::ExpertData, Group::Outer}) {
    const costmodel::GroupPlacement place = place_group(question.scenario.layout, group, cluster);
    if (place.ranks <= 1) continue;
    const costmodel::GroupLinks links = links_of(place, cluster, question.calibration.network);
    rows.push_back({group, place.ranks, &cluster.levels[highest_level(place, cluster)],
                    BytesPerSecond{links.domains > 1 ? links.outside / links.per_domain : links.inside}});
  }
  return rows;
}

JsonValue level_json(const NetworkLevel& level, const NetworkLevel* below) {
  return JsonObject{{"name", level.name},
                    {"gpus", level.ranks},
                    {"bytes_per_second_per_gpu", level.bandwidth.value()},
                    {"oversubscription", below == nullptr ? 1.0 : below->bandwidth / level.bandwidth},
                    {"latency_seconds", below == nullptr ? JsonValue{} : JsonValue{level.latency.value()}},
                    {"rail_optimised", level.rail_optimised}};
}

}  // namespace

std::string network_lines(const Question& question, const TextStyle& style) {
  const ClusterSpec& cluster = question.scenario.cluster;
  if (!has_tiers(cluster)) return {};
  std::vector<std::vector<std::string>> rows{{"  group", "ranks", "reaches", "per GPU"}};
  for (const GroupOnNetwork& row : groups_of(question)) {
    rows.push_back({fmt::format("  {}", name_of(row.group)), costmodel::format_count(row.ranks),
                    row.reaches->name, costmodel::format_rate(row.rate)});
  }
  return fmt::format("\n{} {}\n", style.bold("Network"), presets::network_text(cluster)) +
         format_table(rows, 1);
}

JsonValue network_json(const Question& question) {
  const ClusterSpec& cluster = question.scenario.cluster;
  if (!has_tiers(cluster)) return {};
  JsonArray tiers, groups;
  const NetworkLevel* below = nullptr;
  for (const NetworkLevel& level : cluster.levels) {
    if (level.fabric != Fabric::Network) continue;
    tiers.push_back(level_json(level, below));
    below = &level;
  }
  for (const GroupOnNetwork& row : groups_of(question)) {
    groups.push_back(JsonObject{{"group", std::string{name_of(row.group)}},
                                {"ranks", row.ranks},
                                {"reaches", row.reaches->name},
                                {"bytes_per_second_per_gpu", row.rate.value()}});
  }
  return JsonObject{{"tiers", std::move(tiers)}, {"groups", std::move(groups)}};
}

}  // namespace hexaplan::cli
