#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "presets/truth/csv.h"

namespace hexaplan::presets {

/// One published measurement: the normalised columns of a truth table, by the names of those columns. An
/// empty cell is an empty string or nothing; words of the vocabularies stay words until `scenario_of` needs
/// them.
struct TruthRow {
  std::size_t line = 0;  // of the file
  std::string problem;   // a cell that could not be read; such a row is listed, not scored

  // Identity and what the row may be scored for.
  std::string case_id, source_file, outcome, missing_inputs, rank_group;
  std::string excluded_because;  // "time: …", "memory: …": what is not scored any more, and why
  bool scoreable_time = false, scoreable_memory = false, scoreable_memory_ci = false, scoreable_oom = false;
  bool step_from_utilisation = false;
  std::optional<double> weight;

  // Software, and what it ran beside what. Unset: the source does not say.
  std::string engine, engine_era;
  std::optional<bool> tp_comm_overlap, pipeline_overlap, dp_overlap, ep_overlap, async_tp, compile,
      power_limited;
  std::string cuda_graphs, moe_dispatcher, fp8_scaling;

  // Model.
  std::string model_name, arch;
  std::optional<bool> gated_mlp, tied_embeddings, learned_positions, linear_bias, fused_norm;
  std::optional<std::int64_t> layers, hidden, ffn, heads, kv_heads, head_dim, vocab, seq;
  std::optional<std::int64_t> n_experts, top_k, moe_ffn, first_k_dense, dense_ffn;
  std::optional<double> shared_experts;
  std::optional<std::int64_t> q_lora_rank, kv_lora_rank, qk_rope_dim;
  std::string moe_routing;

  // Machines.
  std::string gpu, intra_node, network_kind;
  std::optional<std::int64_t> n_gpus, gpus_per_node;
  std::optional<double> node_nic_gbps;

  // Layout.
  std::optional<std::int64_t> tp, pp, vpp, cp, ep, etp, dp, shard_size;
  std::optional<bool> sp;
  std::string zero, schedule, vocab_method, stage_layout;
  std::optional<std::int64_t> micro_batch, grad_accum, global_batch;
  std::string padding;  // of a batch's sequences

  // Numerics and memory saving.
  std::string framework_profile, precision_norm, params_dtype, grad_dtype, optimizer_norm, offload, ce_kind,
      attention;
  std::optional<std::int64_t> projection_rank, projection_interval, precondition_frequency,
      max_precondition_dim;
  std::optional<bool> optimizer_in_backward;
  std::optional<std::int64_t> outer_replicas, outer_steps;  // that train apart, and what brings them together
  std::string outer_dtype, outer_states;
  std::optional<double> dropout;
  std::string base_dtype;  // of frozen weights
  std::string recompute_norm, recompute_modules, finetune;
  std::optional<std::int64_t> recompute_layers, lora_rank, trainable_params;

  // Measured.
  std::optional<double> measured_step_seconds, measured_memory_bytes, measured_reserved_bytes;
  std::string memory_kind;

  /// Every cell that describes the run and none that measures or judges it: runs with equal ones are one
  /// configuration, measured several times.
  std::string inputs;
};

/// Reads every row of a table of the schema. Columns are found by name; those the schema needs for any
/// prediction must be there (InputError names the first that is not), the others may be absent and count as
/// empty.
[[nodiscard]] std::vector<TruthRow> read_truth_rows(const CsvTable& table);

}  // namespace hexaplan::presets
