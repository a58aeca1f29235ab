#pragma once
#include "costmodel/spec/model_spec.h"
#include "presets/models/config_fields.h"

namespace hexaplan::presets {

// What stands in the files of families with experts, and what only their modeling code knows: rows of
// model_families.cpp.

void aria_text(ConfigFields& fields, costmodel::ModelSpec& model);
void cohere2_moe(ConfigFields& fields, costmodel::ModelSpec& model);
void dbrx(ConfigFields& fields, costmodel::ModelSpec& model);
void ernie4_5_moe(ConfigFields& fields, costmodel::ModelSpec& model);
void exaone_moe(ConfigFields& fields, costmodel::ModelSpec& model);
void flex_olmo(ConfigFields& fields, costmodel::ModelSpec& model);
void flint(ConfigFields& fields, costmodel::ModelSpec& model);
void glm4_moe_lite(ConfigFields& fields, costmodel::ModelSpec& model);
void glm4v_moe_text(ConfigFields& fields, costmodel::ModelSpec& model);
void granitemoe(ConfigFields& fields, costmodel::ModelSpec& model);
void granitemoe_swa(ConfigFields& fields, costmodel::ModelSpec& model);
void granitemoehybrid(ConfigFields& fields, costmodel::ModelSpec& model);
void granitemoeshared(ConfigFields& fields, costmodel::ModelSpec& model);
void hunyuan_v1_moe(ConfigFields& fields, costmodel::ModelSpec& model);
void hy_v3(ConfigFields& fields, costmodel::ModelSpec& model);
void kolibri1(ConfigFields& fields, costmodel::ModelSpec& model);
void llama4_text(ConfigFields& fields, costmodel::ModelSpec& model);
void mellum(ConfigFields& fields, costmodel::ModelSpec& model);
void minimax_m2(ConfigFields& fields, costmodel::ModelSpec& model);
void olmoe(ConfigFields& fields, costmodel::ModelSpec& model);
void phimoe(ConfigFields& fields, costmodel::ModelSpec& model);
void qwen3_vl_moe_text(ConfigFields& fields, costmodel::ModelSpec& model);
void sarvam_mla(ConfigFields& fields, costmodel::ModelSpec& model);
void mistral4(ConfigFields& fields, costmodel::ModelSpec& model);
void sarvam_moe(ConfigFields& fields, costmodel::ModelSpec& model);
void solar_open(ConfigFields& fields, costmodel::ModelSpec& model);

}  // namespace hexaplan::presets
