#pragma once
#include "costmodel/spec/model_spec.h"
#include "presets/models/config_fields.h"

namespace hexaplan::presets {

// What stands in the files of GPT-2's descendants, and what only their modeling code knows: rows of
// model_families.cpp.

void gpt2(ConfigFields& fields, costmodel::ModelSpec& model);
void gpt_neox(ConfigFields& fields, costmodel::ModelSpec& model);
void bloom(ConfigFields& fields, costmodel::ModelSpec& model);
void opt(ConfigFields& fields, costmodel::ModelSpec& model);
void mpt(ConfigFields& fields, costmodel::ModelSpec& model);
void gptj(ConfigFields& fields, costmodel::ModelSpec& model);
void gpt_bigcode(ConfigFields& fields, costmodel::ModelSpec& model);
void phi(ConfigFields& fields, costmodel::ModelSpec& model);
void starcoder2(ConfigFields& fields, costmodel::ModelSpec& model);
void falcon(ConfigFields& fields, costmodel::ModelSpec& model);

}  // namespace hexaplan::presets
