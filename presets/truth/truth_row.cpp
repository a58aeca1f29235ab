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
/// What a number may be: far beyond what anybody has built, so that nothing overflows, divides by zero or
/// takes for ever. Layouts, batches and clusters as the command line has them (presets/scenario,
/// presets/clusters).
struct NumberRange {
  double least = 0, most = 1e9;
  bool or_zero = false;  // "not known", "not used"
};
constexpr NumberRange kSize{1, 1e9};  // of a tensor's side
constexpr NumberRange kLayers{1, 1e6};
constexpr NumberRange kSomeOrNone{0, 1e9};  // none: the feature is off
constexpr NumberRange kDegree{1, 1e6};
constexpr NumberRange kGpus{1, 1e7};
constexpr NumberRange kNicGbps{1e-3, 1e9, true};
constexpr NumberRange kCounted{0, 1e9};
constexpr NumberRange kProbability{0, 0.999};
constexpr NumberRange kSeconds{1e-9, 1e9, true};
constexpr NumberRange kBytes{1, 1e18, true};
constexpr NumberRange kParameters{0, 9e15};

struct Column {
  std::string_view name;
  Field field;
  bool required = true;
  NumberRange range = {};  // of a number
  bool input = true;
};
constexpr bool kOptional = false, kNeeded = true;
constexpr bool kNoInput = false;  // says whose run it was, what was measured or how it is scored

const Column kColumns[] = {
    {"case_id", &TruthRow::case_id, kNeeded, {}, kNoInput},
    {"source_file", &TruthRow::source_file, kNeeded, {}, kNoInput},
    {"outcome", &TruthRow::outcome, kNeeded, {}, kNoInput},
    {"missing_inputs", &TruthRow::missing_inputs, kOptional, {}, kNoInput},
    {"rank_group", &TruthRow::rank_group, kOptional, {}, kNoInput},
    {"excluded_because", &TruthRow::excluded_because, kOptional, {}, kNoInput},
    {"step_from_utilisation", &TruthRow::step_from_utilisation, kOptional, {}, kNoInput},
    {"scoreable_time", &TruthRow::scoreable_time, kNeeded, {}, kNoInput},
    {"scoreable_memory", &TruthRow::scoreable_memory, kNeeded, {}, kNoInput},
    {"scoreable_memory_ci", &TruthRow::scoreable_memory_ci, kOptional, {}, kNoInput},
    {"scoreable_oom", &TruthRow::scoreable_oom, kNeeded, {}, kNoInput},
    {"weight", &TruthRow::weight, kOptional, kCounted, kNoInput},
    {"engine", &TruthRow::engine, kOptional},
    {"engine_era", &TruthRow::engine_era, kOptional},
    {"tp_comm_overlap", &TruthRow::tp_comm_overlap, kOptional},
    {"pipeline_overlap", &TruthRow::pipeline_overlap, kOptional},
    {"dp_overlap", &TruthRow::dp_overlap, kOptional},
    {"ep_overlap", &TruthRow::ep_overlap, kOptional},
    {"async_tp", &TruthRow::async_tp, kOptional},
    {"compile", &TruthRow::compile, kOptional},
    {"power_limited", &TruthRow::power_limited, kOptional},
    {"cuda_graphs", &TruthRow::cuda_graphs, kOptional},
    {"moe_dispatcher", &TruthRow::moe_dispatcher, kOptional},
    {"fp8_scaling", &TruthRow::fp8_scaling, kOptional},
    {"model_name", &TruthRow::model_name, kOptional, {}, kNoInput},
    {"arch", &TruthRow::arch},
    {"gated_mlp", &TruthRow::gated_mlp, kOptional},
    {"tied_embeddings", &TruthRow::tied_embeddings, kOptional},
    {"learned_positions", &TruthRow::learned_positions, kOptional},
    {"linear_bias", &TruthRow::linear_bias, kOptional},
    {"fused_norm", &TruthRow::fused_norm, kOptional},
    {"layers", &TruthRow::layers, kNeeded, kLayers},
    {"hidden", &TruthRow::hidden, kNeeded, kSize},
    {"ffn", &TruthRow::ffn, kNeeded, kSize},
    {"heads", &TruthRow::heads, kNeeded, kSize},
    {"kv_heads", &TruthRow::kv_heads, kOptional, kSize},
    {"head_dim", &TruthRow::head_dim, kOptional, kSize},
    {"vocab", &TruthRow::vocab, kNeeded, kSize},
    {"seq", &TruthRow::seq, kNeeded, kSize},
    {"n_experts", &TruthRow::n_experts, kOptional, kSomeOrNone},
    {"top_k", &TruthRow::top_k, kOptional, kSomeOrNone},
    {"moe_ffn", &TruthRow::moe_ffn, kOptional, kSize},
    {"first_k_dense", &TruthRow::first_k_dense, kOptional, kSomeOrNone},
    {"dense_ffn", &TruthRow::dense_ffn, kOptional, kSize},
    {"shared_experts", &TruthRow::shared_experts, kOptional, kCounted},
    {"q_lora_rank", &TruthRow::q_lora_rank, kOptional, kSomeOrNone},
    {"kv_lora_rank", &TruthRow::kv_lora_rank, kOptional, kSize},
    {"qk_rope_dim", &TruthRow::qk_rope_dim, kOptional, kSize},
    {"moe_routing", &TruthRow::moe_routing, kOptional},
    {"gpu", &TruthRow::gpu},
    {"intra_node", &TruthRow::intra_node, kOptional},
    {"network_kind", &TruthRow::network_kind, kOptional},
    {"n_gpus", &TruthRow::n_gpus, kNeeded, kGpus},
    {"gpus_per_node", &TruthRow::gpus_per_node, kOptional, kSomeOrNone},
    {"node_nic_gbps", &TruthRow::node_nic_gbps, kOptional, kNicGbps},
    {"tp", &TruthRow::tp, kNeeded, kDegree},
    {"pp", &TruthRow::pp, kNeeded, kDegree},
    {"vpp", &TruthRow::vpp, kOptional, kDegree},
    {"cp", &TruthRow::cp, kOptional, kDegree},
    {"ep", &TruthRow::ep, kOptional, kDegree},
    {"etp", &TruthRow::etp, kOptional, kDegree},
    {"dp", &TruthRow::dp, kNeeded, kDegree},
    {"shard_size", &TruthRow::shard_size, kOptional, kDegree},
    {"sp", &TruthRow::sp, kOptional},
    {"zero", &TruthRow::zero},
    {"schedule", &TruthRow::schedule, kOptional},
    {"vocab_method", &TruthRow::vocab_method, kOptional},
    {"stage_layout", &TruthRow::stage_layout, kOptional},
    {"micro_batch", &TruthRow::micro_batch, kNeeded, kSize},
    {"grad_accum", &TruthRow::grad_accum, kOptional, kSize},
    {"global_batch", &TruthRow::global_batch, kNeeded, kSize},
    {"padding", &TruthRow::padding, kOptional},
    {"framework_profile", &TruthRow::framework_profile},
    {"precision_norm", &TruthRow::precision_norm},
    {"params_dtype", &TruthRow::params_dtype, kOptional},
    {"grad_dtype", &TruthRow::grad_dtype, kOptional},
    {"optimizer_norm", &TruthRow::optimizer_norm, kOptional},
    {"projection_rank", &TruthRow::projection_rank, kOptional, kSomeOrNone},
    {"projection_interval", &TruthRow::projection_interval, kOptional, kSomeOrNone},
    {"precondition_frequency", &TruthRow::precondition_frequency, kOptional, kSomeOrNone},
    {"max_precondition_dim", &TruthRow::max_precondition_dim, kOptional, kSomeOrNone},
    {"optimizer_in_backward", &TruthRow::optimizer_in_backward, kOptional},
    {"outer_replicas", &TruthRow::outer_replicas, kOptional, kDegree},
    {"outer_steps", &TruthRow::outer_steps, kOptional, kSomeOrNone},
    {"outer_dtype", &TruthRow::outer_dtype, kOptional},
    {"outer_states", &TruthRow::outer_states, kOptional},
    {"dropout", &TruthRow::dropout, kOptional, kProbability},
    {"base_dtype", &TruthRow::base_dtype, kOptional},
    {"offload", &TruthRow::offload, kOptional},
    {"ce_kind", &TruthRow::ce_kind, kOptional},
    {"attention", &TruthRow::attention},
    {"recompute_norm", &TruthRow::recompute_norm},
    {"recompute_layers", &TruthRow::recompute_layers, kOptional, kSomeOrNone},
    {"recompute_modules", &TruthRow::recompute_modules, kOptional},
    {"finetune", &TruthRow::finetune, kOptional},
    {"lora_rank", &TruthRow::lora_rank, kOptional, kSomeOrNone},
    {"trainable_params", &TruthRow::trainable_params, kOptional, kParameters},
    {"measured_step_seconds", &TruthRow::measured_step_seconds, kNeeded, kSeconds, kNoInput},
    {"measured_memory_bytes", &TruthRow::measured_memory_bytes, kNeeded, kBytes, kNoInput},
    {"measured_reserved_bytes", &TruthRow::measured_reserved_bytes, kOptional, kBytes, kNoInput},
    {"memory_kind", &TruthRow::memory_kind, kNeeded, {}, kNoInput},
};

struct NotRead {
  std::string expected;
};

std::string describe(const NumberRange& range, std::string_view what) {
  return fmt::format("{} from {} to {}{}", what, range.least, range.most, range.or_zero ? ", or 0" : "");
}

std::optional<double> number(std::string_view cell, const NumberRange& range,
                             std::string_view what = "a number") {
  if (cell.empty()) return std::nullopt;
  const auto value = costmodel::parse_number<double>(cell);
  const bool zero = range.or_zero && value == 0.0;
  if (!value || !(zero || (*value >= range.least && *value <= range.most)))
    throw NotRead{describe(range, what)};
  return value;
}

/// Integers may be written as whole decimals ("8.0"): tables pass through spreadsheets.
std::optional<std::int64_t> integer(std::string_view cell, const NumberRange& range) {
  constexpr std::string_view kWhole = "a whole number";
  const auto value = number(cell, range, kWhole);
  if (!value) return std::nullopt;
  if (*value != std::floor(*value)) throw NotRead{describe(range, kWhole)};
  return static_cast<std::int64_t>(*value);
}

std::optional<bool> flag(std::string_view cell) {
  const auto value = costmodel::parse_number<double>(cell);
  if (cell.empty()) return std::nullopt;
  if (value != 0.0 && value != 1.0) throw NotRead{"0 or 1"};
  return value == 1.0;
}

struct Store {
  TruthRow& row;
  const std::string& cell;
  const NumberRange& range;
  void operator()(std::string TruthRow::*field) const { row.*field = cell; }
  void operator()(bool TruthRow::*field) const { row.*field = flag(cell).value_or(false); }
  void operator()(std::optional<bool> TruthRow::*field) const { row.*field = flag(cell); }
  void operator()(std::optional<std::int64_t> TruthRow::*field) const { row.*field = integer(cell, range); }
  void operator()(std::optional<double> TruthRow::*field) const { row.*field = number(cell, range); }
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

void read_cell(const Column& column, const std::string& cell, const std::string& file, TruthRow& row) {
  try {
    std::visit(Store{row, cell, column.range}, column.field);
  } catch (const NotRead& wrong) {
    if (row.problem.empty()) {
      row.problem = fmt::format("{}:{}: row {}: {} is {}, expected {}", file, row.line, row.case_id,
                                column.name, in_quotes(cell), wrong.expected);
    }
  }
}

}  // namespace

std::vector<TruthRow> read_truth_rows(const CsvTable& table) {
  const std::vector<std::size_t> positions = find_columns(table);
  std::vector<TruthRow> rows(table.rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].line = table.lines[i];
    for (std::size_t c = 0; c < std::size(kColumns); ++c) {
      if (positions[c] == table.header.size()) continue;
      const std::string& cell = table.rows[i][positions[c]];
      read_cell(kColumns[c], cell, table.file, rows[i]);
      if (kColumns[c].input) (rows[i].inputs += cell) += '\n';
    }
  }
  return rows;
}

}  // namespace hexaplan::presets
