#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hexaplan::presets {

// What machines say of themselves: the outputs of four tools as values. Every reader throws InputError with
// file and line for text that is cut off or something else.

enum class MachineTool : std::uint8_t {
  Topology,   // nvidia-smi topo -m
  NvidiaSmi,  // nvidia-smi -q -x
  Ibstat,     // ibstat
  Slurm,      // scontrol show node
};
inline constexpr int kMachineTools = 4;
/// As the command is typed.
[[nodiscard]] std::string_view command_of(MachineTool tool);
/// By what the text looks like. InputError when it is no tool's.
[[nodiscard]] MachineTool tool_of(std::string_view text, const std::string& file);

/// The matrix of links between the GPUs of a node.
struct MachineTopology {
  int gpus = 0, cards = 0;  // cards: of the network
  /// NVLinks between every two GPUs; 0 when a pair has none, or pairs differ.
  int nvlinks = 0;
  /// A pair without NVLink where others have it, as "GPU0 and GPU3: SYS"; empty: none.
  std::string without_nvlink;
  int line = 0;
};
[[nodiscard]] MachineTopology read_topology(std::string_view text, const std::string& file);

struct MachineGpus {
  std::string name;  // as the driver has it, "NVIDIA H100 80GB HBM3"
  int count = 0;
  std::int64_t memory_mib = 0;
  bool instances = false;               // MIG is on
  double watts = 0, default_watts = 0;  // limits; 0: not said
  int line = 0;
};
[[nodiscard]] MachineGpus read_nvidia_smi(std::string_view xml, const std::string& file);

struct MachinePort {
  std::string card;  // "mlx5_0"
  bool active = false, infiniband = false;
  double gbps = 0;
  int line = 0;
};
[[nodiscard]] std::vector<MachinePort> read_ibstat(std::string_view text, const std::string& file);

struct SlurmNode {
  std::string name, gpu;  // gpu: the type of its GRES; empty: not said
  int gpus = 0;
  std::int64_t memory_mib = 0;
  bool usable = true;  // neither down nor drained
  int line = 0;
};
[[nodiscard]] std::vector<SlurmNode> read_slurm_nodes(std::string_view text, const std::string& file);

}  // namespace hexaplan::presets
