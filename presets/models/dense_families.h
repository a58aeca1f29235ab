#pragma once
#include "costmodel/spec/model_spec.h"
#include "presets/models/config_fields.h"

namespace hexaplan::presets {

// What stands in the files of Llama's descendants without experts, and what only their modeling code knows:
// rows of model_families.cpp.

void apertus(ConfigFields& fields, costmodel::ModelSpec& model);
void arcee(ConfigFields& fields, costmodel::ModelSpec& model);
void biogpt(ConfigFields& fields, costmodel::ModelSpec& model);
void codegen(ConfigFields& fields, costmodel::ModelSpec& model);
void cohere(ConfigFields& fields, costmodel::ModelSpec& model);
void cohere2(ConfigFields& fields, costmodel::ModelSpec& model);
void cohere_compass_text(ConfigFields& fields, costmodel::ModelSpec& model);
void ctrl(ConfigFields& fields, costmodel::ModelSpec& model);
void cwm(ConfigFields& fields, costmodel::ModelSpec& model);
void exaone4(ConfigFields& fields, costmodel::ModelSpec& model);
void glm4v_text(ConfigFields& fields, costmodel::ModelSpec& model);
void gpt_neo(ConfigFields& fields, costmodel::ModelSpec& model);
void granite(ConfigFields& fields, costmodel::ModelSpec& model);
void granite_swa(ConfigFields& fields, costmodel::ModelSpec& model);
void hunyuan_v1_dense(ConfigFields& fields, costmodel::ModelSpec& model);
void hyperclovax(ConfigFields& fields, costmodel::ModelSpec& model);
void internlm3(ConfigFields& fields, costmodel::ModelSpec& model);
void jais2(ConfigFields& fields, costmodel::ModelSpec& model);
void minicpm3(ConfigFields& fields, costmodel::ModelSpec& model);
void ministral(ConfigFields& fields, costmodel::ModelSpec& model);
void ministral3(ConfigFields& fields, costmodel::ModelSpec& model);
void nemotron(ConfigFields& fields, costmodel::ModelSpec& model);
void olmo(ConfigFields& fields, costmodel::ModelSpec& model);
void olmo2(ConfigFields& fields, costmodel::ModelSpec& model);
void olmo3(ConfigFields& fields, costmodel::ModelSpec& model);
void openai_gpt(ConfigFields& fields, costmodel::ModelSpec& model);
void persimmon(ConfigFields& fields, costmodel::ModelSpec& model);
void qwen2_vl_text(ConfigFields& fields, costmodel::ModelSpec& model);
void qwen3_vl_text(ConfigFields& fields, costmodel::ModelSpec& model);
void smollm3(ConfigFields& fields, costmodel::ModelSpec& model);
void xglm(ConfigFields& fields, costmodel::ModelSpec& model);
void youtu(ConfigFields& fields, costmodel::ModelSpec& model);

/// Factors of embeddings, branches, scores and logits as Granite has them.
void read_granite_multipliers(ConfigFields& fields, costmodel::ModelSpec& model, double score_scale);
/// Windowed layers with sinks, each layer with a rotary base of its own.
void read_granite_windows(ConfigFields& fields, costmodel::ModelSpec& model);
/// Norms of whole rows of queries and of keys.
void set_row_norms(costmodel::ModelSpec& model);
/// EXAONE's windows, all layers but every `period`-th, whose global layers have no positions; normed queries
/// and keys.
void read_exaone_windows(ConfigFields& fields, costmodel::ModelSpec& model, std::int64_t absent,
                         std::int64_t period);
/// Layers that see everything have no positions.
void set_global_unrotated(costmodel::ModelSpec& model);

}  // namespace hexaplan::presets
