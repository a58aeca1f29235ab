#include "presets/truth/truth_row.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <variant>

#include "costmodel/units/nearest_name.h"
#include "costmodel/units/parse_number.h"
#include "presets/json/input_error.h"

namespace hexaplan::presets {
namespace {

using Field = std::variant<std::string TruthRow::*, bool TruthRow::*, std::optional<bool> TruthRow::*,
                           std::optional<std::int64_t> TruthRow::*, std::optional<double> TruthRow::*>;
struct Column {
  std::string_view name;
  Field field;
  bool required = true;
};
constexpr bool kOptional = false;

const Column kColumns[] = {
    {"case_id", &TruthRow::case_id},
    {"source_file", &TruthRow::source_file},
    {"outcome", &TruthRow::outcome},
    {"missing_inputs", &TruthRow::missing_inputs, kOptional},
    {"rank_group", &TruthRow::rank_group, kOptional},
    {"confidence", &TruthRow::confidence, kOptional},
    {"scoreable_time", &TruthRow::scoreable_time},
    {"scoreable_memory", &TruthRow::scoreable_memory},
    {"scoreable_memory_ci", &TruthRow::scoreable_memory_ci, kOptional},
    {"scoreable_oom", &TruthRow::scoreable_oom},
    {"weight", &TruthRow::weight, kOptional},
    {"model_name", &TruthRow::model_name, kOptional},
    {"arch", &TruthRow::arch},
    {"gated_mlp", &TruthRow::gated_mlp, kOptional},
    {"tied_embeddings", &TruthRow::tied_embeddings, kOptional},
    {"learned_positions", &TruthRow::learned_positions, kOptional},
    {"linear_bias", &TruthRow::linear_bias, kOptional},
    {"fused_norm", &TruthRow::fused_norm, kOptional},
    {"layers", &TruthRow::layers},
    {"hidden", &TruthRow::hidden},
    {"ffn", &TruthRow::ffn},
    {"heads", &TruthRow::heads},
    {"kv_heads", &TruthRow::kv_heads, kOptional},
    {"head_dim", &TruthRow::head_dim, kOptional},
    {"vocab", &TruthRow::vocab},
    {"seq", &TruthRow::seq},
    {"n_experts", &TruthRow::n_experts, kOptional},
    {"top_k", &TruthRow::top_k, kOptional},
    {"moe_ffn", &TruthRow::moe_ffn, kOptional},
    {"first_k_dense", &TruthRow::first_k_dense, kOptional},
    {"dense_ffn", &TruthRow::dense_ffn, kOptional},
    {"shared_experts", &TruthRow::shared_experts, kOptional},
    {"q_lora_rank", &TruthRow::q_lora_rank, kOptional},
    {"kv_lora_rank", &TruthRow::kv_lora_rank, kOptional},
    {"qk_rope_dim", &TruthRow::qk_rope_dim, kOptional},
    {"moe_routing", &TruthRow::moe_routing, kOptional},
    {"gpu", &TruthRow::gpu},
    {"intra_node", &TruthRow::intra_node, kOptional},
    {"network_source", &TruthRow::network_source, kOptional},
    {"n_gpus", &TruthRow::n_gpus},
    {"gpus_per_node", &TruthRow::gpus_per_node, kOptional},
    {"node_nic_gbps", &TruthRow::node_nic_gbps, kOptional},
    {"tp", &TruthRow::tp},
    {"pp", &TruthRow::pp},
    {"vpp", &TruthRow::vpp, kOptional},
    {"cp", &TruthRow::cp, kOptional},
    {"ep", &TruthRow::ep, kOptional},
    {"etp", &TruthRow::etp, kOptional},
    {"dp", &TruthRow::dp},
    {"shard_size", &TruthRow::shard_size, kOptional},
    {"sp", &TruthRow::sp, kOptional},
    {"zero", &TruthRow::zero},
    {"schedule", &TruthRow::schedule, kOptional},
    {"vocab_method", &TruthRow::vocab_method, kOptional},
    {"stage_layout", &TruthRow::stage_layout, kOptional},
    {"micro_batch", &TruthRow::micro_batch},
    {"grad_accum", &TruthRow::grad_accum, kOptional},
    {"global_batch", &TruthRow::global_batch},
    {"framework_profile", &TruthRow::framework_profile},
    {"precision_norm", &TruthRow::precision_norm},
    {"params_dtype", &TruthRow::params_dtype, kOptional},
    {"grad_dtype", &TruthRow::grad_dtype, kOptional},
    {"optimizer_norm", &TruthRow::optimizer_norm, kOptional},
    {"optimizer_in_backward", &TruthRow::optimizer_in_backward, kOptional},
    {"offload", &TruthRow::offload, kOptional},
    {"ce_kind", &TruthRow::ce_kind, kOptional},
    {"attention", &TruthRow::attention},
    {"recompute_norm", &TruthRow::recompute_norm},
    {"recompute_layers", &TruthRow::recompute_layers, kOptional},
    {"recompute_modules", &TruthRow::recompute_modules, kOptional},
    {"finetune", &TruthRow::finetune, kOptional},
    {"lora_rank", &TruthRow::lora_rank, kOptional},
    {"trainable_params", &TruthRow::trainable_params, kOptional},
    {"measured_step_seconds", &TruthRow::measured_step_seconds},
    {"measured_memory_bytes", &TruthRow::measured_memory_bytes},
    {"measured_reserved_bytes", &TruthRow::measured_reserved_bytes, kOptional},
    {"memory_kind", &TruthRow::memory_kind},
};

struct NotRead {
  std::string_view expected;
};

std::optional<double> number(std::string_view cell) {
  if (cell.empty()) return std::nullopt;
  const auto value = costmodel::parse_number<double>(cell);
  if (!value || !std::isfinite(*value)) throw NotRead{"a number"};
  return value;
}

/// Integers may be written as whole decimals ("8.0"): tables pass through spreadsheets.
std::optional<std::int64_t> integer(std::string_view cell) {
  const auto value = number(cell);
  if (!value) return std::nullopt;
  if (*value != std::floor(*value) || std::abs(*value) > 9e15) throw NotRead{"a whole number"};
  return static_cast<std::int64_t>(*value);
}

std::optional<bool> flag(std::string_view cell) {
  const auto value = integer(cell);
  if (!value) return std::nullopt;
  if (*value != 0 && *value != 1) throw NotRead{"0 or 1"};
  return *value == 1;
}

struct Store {
  TruthRow& row;
  const std::string& cell;
  void operator()(std::string TruthRow::*field) const { row.*field = cell; }
  void operator()(bool TruthRow::*field) const { row.*field = flag(cell).value_or(false); }
  void operator()(std::optional<bool> TruthRow::*field) const { row.*field = flag(cell); }
  void operator()(std::optional<std::int64_t> TruthRow::*field) const { row.*field = integer(cell); }
  void operator()(std::optional<double> TruthRow::*field) const { row.*field = number(cell); }
};

std::vector<std::size_t> find_columns(const CsvTable& table) {
  std::vector<std::size_t> positions;
  for (const Column& column : kColumns) {
    positions.push_back(table.column(column.name));
    if (column.required && positions.back() == table.header.size()) {
      throw InputError{
          {.file = table.file,
           .field = "header",
           .value = "no such column",
           .expected = fmt::format("a column {} (docs/accuracy.md lists them)", in_quotes(column.name)),
           .hint = did_you_mean(costmodel::nearest_name(column.name, table.header))}};
    }
  }
  return positions;
}

void read_cell(const Column& column, const std::string& cell, TruthRow& row) {
  try {
    std::visit(Store{row, cell}, column.field);
  } catch (const NotRead& wrong) {
    if (row.problem.empty())
      row.problem = fmt::format("{} is '{}', not {}", column.name, cell, wrong.expected);
  }
}

}  // namespace

std::vector<TruthRow> read_truth_rows(const CsvTable& table) {
  const std::vector<std::size_t> positions = find_columns(table);
  std::vector<TruthRow> rows(table.rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].line = table.lines[i];
    for (std::size_t c = 0; c < std::size(kColumns); ++c) {
      if (positions[c] < table.header.size()) read_cell(kColumns[c], table.rows[i][positions[c]], rows[i]);
    }
  }
  return rows;
}

}  // namespace hexaplan::presets
