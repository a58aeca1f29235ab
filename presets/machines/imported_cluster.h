#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "presets/json/json_value.h"
#include "presets/machines/machine_report.h"

namespace hexaplan::presets {

/// The output of one tool, of a node or of a cluster.
struct MachineFile {
  std::string name, text;
};

/// What somebody says beside the files; empty and 0: as the files say.
struct MachineWords {
  std::string title, gpu;
  std::int64_t nodes = 0;
};

/// A cluster's file (--cluster mine.json) from what its machines say of themselves.
struct ImportedCluster {
  JsonObject cluster;
  std::vector<std::string> said;   // "topo.txt:3: 8 GPUs, joined by 18 NVLinks each"
  std::vector<std::string> notes;  // what was assumed, and what has no word
};
/// InputError where a file is no tool's, files disagree, or the GPU has no preset.
[[nodiscard]] ImportedCluster import_cluster(const std::vector<MachineFile>& files,
                                             const MachineWords& words);
/// The same from paths.
[[nodiscard]] ImportedCluster import_cluster_files(const std::vector<std::string>& paths,
                                                   const MachineWords& words);

}  // namespace hexaplan::presets
