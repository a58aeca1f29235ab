#include <fmt/format.h>

#include <algorithm>

#include "costmodel/units/parse_number.h"
#include "presets/machines/machine_lines.h"
#include "presets/machines/machine_report.h"

namespace hexaplan::presets {
namespace {

constexpr std::size_t kMostTopologyDevices = 256;

/// "GPU3": 3; -1 for anything else.
int number_of_gpu(std::string_view word) {
  if (!word.starts_with("GPU")) return -1;
  const auto number = costmodel::parse_number<std::uint8_t>(word.substr(3));
  return number ? *number : -1;
}

/// How many NVLinks a cell names; 0 for a path over PCIe, -1 for something else.
int links_of(std::string_view cell) {
  if (cell.starts_with("NV")) {
    const auto links = costmodel::parse_number<std::uint8_t>(cell.substr(2));
    return links && *links > 0 ? *links : -1;
  }
  for (const std::string_view path : {"SYS", "NODE", "PHB", "PXB", "PIX"}) {
    if (cell == path) return 0;
  }
  return -1;
}

struct Heading {
  std::size_t devices = 0;
  int gpus = 0;
  int line = 0;
};

/// The devices of the heading, up to "CPU Affinity".
Heading heading_of(const std::vector<MachineLine>& lines, const std::string& file, std::size_t& next) {
  for (; next < lines.size(); ++next) {
    const auto words = machine_words(lines[next].text);
    if (words.empty() || number_of_gpu(words.front()) != 0 ||
        (words.size() > 1 && (words[1] == "X" || links_of(words[1]) >= 0)))
      continue;
    Heading heading{.line = lines[next].number};
    for (const std::string_view word : words) {
      if (word == "CPU" || word == "NUMA") break;
      if (number_of_gpu(word) >= 0) ++heading.gpus;
      ++heading.devices;
    }
    if (heading.devices > kMostTopologyDevices)
      throw machine_error(file, heading.line, lines[next].text, "at most 256 devices");
    ++next;
    return heading;
  }
  throw machine_error(file, 1, lines.empty() ? "" : lines.front().text,
                      "the heading of 'nvidia-smi topo -m': GPU0 GPU1 …");
}

/// One row of a GPU: its links to the others.
void read_row(const std::vector<std::string_view>& words, const MachineLine& line, const Heading& heading,
              const std::string& file, int gpu, MachineTopology& topology, bool& equal) {
  if (words.size() < heading.devices + 1)
    throw machine_error(file, line.number, line.text,
                        fmt::format("a path to each of {} devices", heading.devices));
  for (int other = 0; other < heading.gpus; ++other) {
    const std::string_view cell = words[static_cast<std::size_t>(other) + 1];
    if (other == gpu ? cell != "X" : links_of(cell) < 0)
      throw machine_error(file, line.number, cell,
                          other == gpu ? "X where a GPU meets itself"
                                       : "NV18, SYS, NODE, PHB, PXB or PIX, as nvidia-smi names paths");
    if (other == gpu) continue;
    const int links = links_of(cell);
    if (links == 0 && topology.without_nvlink.empty())
      topology.without_nvlink = fmt::format("GPU{} and GPU{}: {}", gpu, other, cell);
    equal = equal && (topology.nvlinks == 0 || links == 0 || links == topology.nvlinks);
    topology.nvlinks = std::max(topology.nvlinks, links);
  }
}

}  // namespace

MachineTopology read_topology(std::string_view text, const std::string& file) {
  const std::vector<MachineLine> lines = machine_lines(text, file);
  std::size_t next = 0;
  const Heading heading = heading_of(lines, file, next);
  MachineTopology topology{
      .gpus = heading.gpus, .cards = static_cast<int>(heading.devices) - heading.gpus, .line = heading.line};
  bool equal = true;
  int rows = 0;
  for (; next < lines.size() && rows < heading.gpus; ++next) {
    const auto words = machine_words(lines[next].text);
    if (words.empty()) continue;
    if (number_of_gpu(words.front()) != rows)
      throw machine_error(file, lines[next].number, words.front(), fmt::format("the row of GPU{}", rows));
    read_row(words, lines[next], heading, file, rows, topology, equal);
    ++rows;
  }
  if (rows < heading.gpus)
    throw machine_error(file, static_cast<int>(lines.size()), "the end of the text",
                        fmt::format("the row of GPU{}", rows));
  if (topology.nvlinks == 0) topology.without_nvlink.clear();
  if (!topology.without_nvlink.empty() || !equal) topology.nvlinks = 0;
  return topology;
}

}  // namespace hexaplan::presets
