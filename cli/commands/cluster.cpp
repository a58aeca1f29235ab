#include "cli/commands/cluster.h"

#include "costmodel/units/parse_number.h"

namespace hexaplan::cli {

using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;

presets::ImportedCluster run_cluster(const ClusterOptions& options) {
  return presets::import_cluster_files(
      options.files, {.title = options.title,
                      .gpu = options.gpu,
                      .nodes = costmodel::parse_number<std::int64_t>(options.nodes).value_or(0)});
}

std::string cluster_report(const presets::ImportedCluster& cluster) {
  std::string text;
  for (const std::string& line : cluster.said) text += line + "\n";
  for (const std::string& note : cluster.notes) text += "note: " + note + "\n";
  return text;
}

JsonValue cluster_json(const presets::ImportedCluster& cluster) {
  const auto list = [](const std::vector<std::string>& lines) {
    JsonArray values;
    for (const std::string& line : lines) values.emplace_back(line);
    return values;
  };
  return JsonObject{{"schema", "hexaplan/cluster-import/1"},
                    {"cluster", cluster.cluster},
                    {"said", list(cluster.said)},
                    {"notes", list(cluster.notes)}};
}

}  // namespace hexaplan::cli
