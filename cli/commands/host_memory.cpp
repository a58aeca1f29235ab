#include "cli/commands/host_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <vector>

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/spec/rank_grid.h"
#include "costmodel/step/estimate.h"
#include "costmodel/units/format_units.h"
#include "validator/executor/device/device.h"

namespace hexaplan::cli {

using costmodel::Bytes;
using costmodel::Scenario;
using costmodel::TensorKind;
using validator::Element;

namespace {

/// "MemAvailable:   23071332 kB"; nothing when the file or the row is not there.
std::optional<double> available_memory() {
  constexpr double kUnit = 1024;
  std::ifstream file{"/proc/meminfo"};
  for (std::string name; file >> name;) {
    double value = 0;
    if (name == "MemAvailable:" && file >> value) return value * kUnit;
    std::getline(file, name);
  }
  return std::nullopt;
}

/// A file that holds one number; nothing when it is not there or holds a word ("max").
std::optional<double> number_in(const char* path) {
  std::ifstream file{path};
  double value = 0;
  return file >> value ? std::optional{value} : std::nullopt;
}

/// Communicators' buffers and what a GPU takes for itself lie elsewhere, or nowhere.
bool lies_in_tensors(TensorKind kind) {
  return kind != TensorKind::Communication && kind != TensorKind::Overhead;
}

Bytes bytes_of_ranks(const Scenario& scenario, Element element, const HostRanks& ranks) {
  std::vector<std::int64_t> of_stage(static_cast<std::size_t>(scenario.layout.pp));
  const std::int64_t end = std::min(ranks.first + ranks.count, scenario.layout.world_size());
  for (std::int64_t rank = ranks.first; rank < end; ++rank) {
    const auto at = costmodel::coordinates_of(scenario.layout, rank);
    ++of_stage[static_cast<std::size_t>(at[static_cast<std::size_t>(costmodel::Axis::Pipeline)])];
  }
  Bytes sum;
  for (int stage = 0; stage < scenario.layout.pp; ++stage) {
    const auto here = static_cast<double>(of_stage[static_cast<std::size_t>(stage)]);
    if (here > 0) sum += here * host_bytes(scenario, stage, element);
  }
  return sum;
}

}  // namespace

Bytes free_host_memory() {
  const std::optional<double> available = available_memory();
  const std::optional<double> limit = number_in("/sys/fs/cgroup/memory.max");
  const std::optional<double> taken = number_in("/sys/fs/cgroup/memory.current");
  const double host = available.value_or(0);
  if (!limit || !taken) return Bytes{host};
  const double room = std::max(*limit - *taken, 1.0);
  return Bytes{available ? std::min(host, room) : room};
}

Bytes host_bytes(const Scenario& scenario, int stage, Element element) {
  const Element wide = element == Element::F64 ? Element::F64 : Element::F32;
  std::array<Bytes, costmodel::kInstants> alive{};
  for (const costmodel::TensorEntry& entry : costmodel::build_ledger(scenario, stage)) {
    if (!lies_in_tensors(entry.kind)) continue;
    const auto stored = static_cast<double>(bytes_of(stored_element(entry.dtype, wide, element)));
    for (int i = 0; i < costmodel::kInstants; ++i) {
      if ((entry.alive & costmodel::instant_at(i)) != 0)
        alive[static_cast<std::size_t>(i)] += Bytes{entry.elements * entry.count * stored};
    }
  }
  return *std::max_element(alive.begin(), alive.end());
}

std::optional<costmodel::Rejected> too_large_for_host(const Scenario& scenario, Element element,
                                                      const HostRanks& ranks, Bytes free) {
  const Bytes needed = bytes_of_ranks(scenario, element, ranks);
  if (free <= Bytes{} || needed <= free) return std::nullopt;
  return costmodel::Rejected{
      .rule = "host-memory",
      .reason = fmt::format("does not fit in this host's memory ({} about {}, {} are free)",
                            ranks.count == 1 ? "needs" : fmt::format("{} ranks need", ranks.count),
                            costmodel::format_binary(needed), costmodel::format_binary(free)),
      .advice = "'hexaplan run --shrink' runs the same layout of a small model"};
}

}  // namespace hexaplan::cli
