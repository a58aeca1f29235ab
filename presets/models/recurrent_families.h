#pragma once
#include "costmodel/spec/model_spec.h"
#include "presets/models/config_fields.h"

namespace hexaplan::presets {

// What stands in the files of models whose layers keep a state instead of attending, and what only their
// modeling code knows: rows of model_families.cpp.

void bamba(ConfigFields& fields, costmodel::ModelSpec& model);
void falcon_h1(ConfigFields& fields, costmodel::ModelSpec& model);
void falcon_mamba(ConfigFields& fields, costmodel::ModelSpec& model);
void jamba(ConfigFields& fields, costmodel::ModelSpec& model);
void kimi_linear(ConfigFields& fields, costmodel::ModelSpec& model);
void lara_mini(ConfigFields& fields, costmodel::ModelSpec& model);
void lfm2(ConfigFields& fields, costmodel::ModelSpec& model);
void lfm2_moe(ConfigFields& fields, costmodel::ModelSpec& model);
void mamba(ConfigFields& fields, costmodel::ModelSpec& model);
void mamba2(ConfigFields& fields, costmodel::ModelSpec& model);
void minimax(ConfigFields& fields, costmodel::ModelSpec& model);
void nemotron_h(ConfigFields& fields, costmodel::ModelSpec& model);
void olmo_hybrid(ConfigFields& fields, costmodel::ModelSpec& model);
void qwen3_5_moe_text(ConfigFields& fields, costmodel::ModelSpec& model);
void qwen3_5_text(ConfigFields& fields, costmodel::ModelSpec& model);
void qwen3_next(ConfigFields& fields, costmodel::ModelSpec& model);

/// Mamba-2's widths as Bamba's files have them, and Granite's; `values` columns in all heads.
void read_mamba2(ConfigFields& fields, costmodel::ModelSpec& model, std::int64_t values);
/// expand times the hidden size.
[[nodiscard]] std::int64_t expanded_columns(ConfigFields& fields, const costmodel::ModelSpec& model);

}  // namespace hexaplan::presets
