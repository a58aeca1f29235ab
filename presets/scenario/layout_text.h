#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/spec/layout.h"
#include "presets/json/object_reader.h"

namespace hexaplan::presets {

/// A layout as a person asks for it: dp may be left to the size of the cluster.
struct LayoutRequest {
  costmodel::Layout layout;
  bool dp_given = false;
  /// zero3 was called fsdp: where a trainer shards with one of two engines, it says which.
  bool fsdp = false;
  /// Groups within the world are FSDP's hybrid sharding.
  [[nodiscard]] bool by_fsdp() const {
    return layout.sharding.stage == 3 && (fsdp || layout.sharding.group > 0);
  }
  /// The word moves the profile as by_fsdp says it.
  friend bool operator==(const LayoutRequest& a, const LayoutRequest& b) {
    return a.layout == b.layout && a.dp_given == b.dp_given && a.by_fsdp() == b.by_fsdp();
  }
};

/// Reads "tp8 pp4 dp16 zero1 sp vpp2": words in any order, separated by blanks or commas, "tp8" or "tp=8".
///
///   degrees     dp tp cp pp vpp ep etp (etp: tensor-parallel size of the experts)
///
///   sharding    zero0…zero3, ddp, fsdp (= zero3), hsdp8 (= zero3 in groups of 8), shard8, hpz8, qwz, qgz
///
///   tensors     sp, partition-activations
///
///   schedule    gpipe 1f1b interleaved zb-h1 zb-2p zb-v vhalf dualpipe dualpipev
///
///   context     ring allgather alltoall (ulysses)
///
///   stages      even compute-cost ends-minus-one embedding-counts, stages=4/5/5/4 (layers of every chunk)
///
///   vocabulary  vocab-last vocab-1 vocab-2 vocab-interlaced
///
///   rank order  order=tp/cp/dp/pp (innermost first)
///
/// InputError with `field` for an unknown word (and the nearest one), a degree below 1 or above 10^6, a word
/// twice, or a world of more than 10^7 ranks.
[[nodiscard]] LayoutRequest parse_layout(std::string_view text, std::string_view field);

/// Every word that parse_layout reads, further spellings included; those with a number without it.
[[nodiscard]] std::vector<std::string_view> known_layout_words();

/// The shortest text that reads back the same; of a layout alone, with its dp.
[[nodiscard]] std::string to_layout_text(const LayoutRequest& request);
[[nodiscard]] std::string to_layout_text(const costmodel::Layout& layout);

/// A layout in a scenario file: a string as above, or an object whose keys are the words: {"tp": 8, "sp":
/// true, "zero": 1, "schedule": "zb-v", "stages": [4, 5, 5, 4]}.
[[nodiscard]] LayoutRequest read_layout(const ValueReader& value);

}  // namespace hexaplan::presets
