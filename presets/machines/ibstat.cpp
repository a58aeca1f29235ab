#include <fmt/format.h>

#include <optional>

#include "costmodel/units/parse_number.h"
#include "costmodel/units/trimmed.h"
#include "presets/machines/machine_lines.h"
#include "presets/machines/machine_report.h"

namespace hexaplan::presets {
namespace {

/// A port while its lines are read.
struct OpenPort {
  MachinePort port;
  bool state = false, rate = false, layer = false;  // said
};

void close_port(std::optional<OpenPort>& open, const std::string& file, std::vector<MachinePort>& ports) {
  if (!open) return;
  if (!open->state || !open->rate || !open->layer)
    throw machine_error(file, open->port.line, open->port.card,
                        "State, Rate and Link layer of each port, as 'ibstat' says them");
  ports.push_back(open->port);
  open.reset();
}

void take_line(std::string_view key, std::string_view value, const MachineLine& line, const std::string& file,
               OpenPort& open) {
  if (key == "State") {
    open.port.active = value == "Active";
    open.state = true;
  } else if (key == "Link layer") {
    if (value != "InfiniBand" && value != "Ethernet" && value != "RoCE")
      throw machine_error(file, line.number, value, "InfiniBand or Ethernet");
    open.port.infiniband = value == "InfiniBand";
    open.layer = true;
  } else if (key == "Rate") {
    const auto gbps = costmodel::parse_number<double>(value.substr(0, value.find(' ')));
    if (!gbps || !(*gbps >= 0 && *gbps <= 1e5))
      throw machine_error(file, line.number, value, "a rate in Gbit/s");
    open.port.gbps = *gbps;
    open.rate = true;
  }
}

}  // namespace

std::vector<MachinePort> read_ibstat(std::string_view text, const std::string& file) {
  std::vector<MachinePort> ports;
  std::string card;
  std::optional<OpenPort> open;
  for (const MachineLine& line : machine_lines(text, file)) {
    const std::string_view said = costmodel::trimmed(line.text);
    if (said.empty()) continue;
    if (said.starts_with("CA '")) {
      close_port(open, file, ports);
      const std::size_t end = said.find('\'', 4);
      if (end == std::string_view::npos || end == 4)
        throw machine_error(file, line.number, said, "CA 'mlx5_0'");
      card = said.substr(4, end - 4);
      continue;
    }
    const std::size_t colon = said.find(':');
    if (card.empty() || colon == std::string_view::npos)
      throw machine_error(file, line.number, said, "a line of 'ibstat': CA 'mlx5_0', or KEY: VALUE");
    const std::string_view key = said.substr(0, colon), value = costmodel::trimmed(said.substr(colon + 1));
    if (key.starts_with("Port ") && value.empty()) {
      close_port(open, file, ports);
      open = OpenPort{.port = {.card = card, .line = line.number}};
    } else if (open) {
      take_line(key, value, line, file, *open);
    }
  }
  close_port(open, file, ports);
  if (ports.empty()) throw machine_error(file, 1, "a text without ports", "the output of 'ibstat'");
  return ports;
}

}  // namespace hexaplan::presets
