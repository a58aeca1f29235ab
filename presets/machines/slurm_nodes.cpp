#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "costmodel/units/parse_number.h"
#include "presets/machines/machine_lines.h"
#include "presets/machines/machine_report.h"

namespace hexaplan::presets {
namespace {

/// "gpu:h100:8(S:0-1),nvme:1" or "gpu:8": GPUs and their type. Parts of GPUs ("gpu:a100_1g.5gb:7") are no
/// GPUs.
void read_gres(std::string_view gres, int line, const std::string& file, SlurmNode& node) {
  for (std::size_t begin = 0; begin < gres.size();) {
    const std::size_t end = std::min(gres.find(',', begin), gres.size());
    std::string_view part = gres.substr(begin, end - begin);
    begin = end + 1;
    part = part.substr(0, part.find('('));
    if (!part.starts_with("gpu:")) continue;
    part.remove_prefix(4);
    const std::size_t colon = part.rfind(':');
    const std::string_view type = colon == std::string_view::npos ? "" : part.substr(0, colon);
    if (type.find("g.") != std::string_view::npos) continue;
    const auto count =
        costmodel::parse_number<std::uint8_t>(part.substr(colon == std::string_view::npos ? 0 : colon + 1));
    if (!count) throw machine_error(file, line, gres, "GPUs of a node, as gpu:h100:8 or gpu:8");
    node.gpu = type;
    node.gpus += *count;
  }
}

/// "MIXED+DRAIN", "DOWN*": whether jobs are given to the node.
bool is_usable(std::string_view state) {
  for (const std::string_view word :
       {"DOWN", "DRAIN", "FAIL", "FUTURE", "UNKNOWN", "NOT_RESPONDING", "NO_RESPOND", "MAINT"}) {
    if (state.find(word) != std::string_view::npos) return false;
  }
  return true;
}

void take_word(std::string_view key, std::string_view value, int line, const std::string& file,
               SlurmNode& node) {
  if (key == "Gres") {
    if (value != "(null)") read_gres(value, line, file, node);
  } else if (key == "RealMemory") {
    const auto mib = costmodel::parse_number<std::int64_t>(value);
    if (!mib || *mib < 0 || *mib > 1'000'000'000)
      throw machine_error(file, line, value, "the node's memory in MiB");
    node.memory_mib = *mib;
  } else if (key == "State") {
    node.usable = is_usable(value);
  }
}

/// The nodes of a text, word by word; a node ends where the next one begins.
class NodeList {
 public:
  explicit NodeList(const std::string& file) : file_{file} {}

  void take(std::string_view word, int line) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return;  // of a value with blanks, as OS has
    const std::string_view key = word.substr(0, equals), value = word.substr(equals + 1);
    if (key == "NodeName") return begin(value, word, line);
    if (nodes_.empty())
      throw machine_error(file_, line, word, "NodeName=… first, as 'scontrol show node' has it");
    take_word(key, value, line, file_, nodes_.back());
    has_state_ = has_state_ || key == "State";
  }
  std::vector<SlurmNode> take_all() {
    if (nodes_.empty())
      throw machine_error(file_, 1, "a text without nodes", "the output of 'scontrol show node'");
    end();
    return std::move(nodes_);
  }

 private:
  void begin(std::string_view name, std::string_view word, int line) {
    if (!nodes_.empty()) end();
    if (name.empty()) throw machine_error(file_, line, word, "NodeName=node1");
    nodes_.push_back({.name = std::string{name}, .line = line});
    has_state_ = false;
  }
  void end() const {
    if (!has_state_)
      throw machine_error(file_, nodes_.back().line, nodes_.back().name, "the State of each node");
  }

  const std::string& file_;
  std::vector<SlurmNode> nodes_;
  bool has_state_ = false;
};

}  // namespace

std::vector<SlurmNode> read_slurm_nodes(std::string_view text, const std::string& file) {
  NodeList nodes{file};
  for (const MachineLine& line : machine_lines(text, file)) {
    for (const std::string_view word : machine_words(line.text)) nodes.take(word, line.number);
  }
  return nodes.take_all();
}

}  // namespace hexaplan::presets
