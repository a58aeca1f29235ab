// Parameters of random small configurations as Hugging Face transformers counts them
// (tests/golden/parameters_oracle.py), part by part of the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/read_json.h"
#include "presets/models/model_families.h"
#include "presets/models/read_model_config.h"

namespace hexaplan::presets {
namespace {

using Parts = std::map<std::string, std::int64_t>;

/// The oracle's name of the part that a parameter belongs to.
std::string_view part_of(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kPrefixes[] = {
      {"head.", "head"},           {"moe.shared.", "shared"},   {"moe.router.", "router"},
      {"moe.experts.", "experts"}, {"attention.", "attention"}, {"mlp.", "mlp"},
      {"embedding.norm", "norm"},  {"embedding.", "embedding"}, {"state.", "state"},
  };
  for (const auto& [prefix, part] : kPrefixes) {
    if (name.starts_with(prefix)) return part;
  }
  return "norm";
}

Parts counted(const costmodel::ModelSpec& model) {
  std::vector<costmodel::ParameterTensor> tensors;
  append_embedding_parameters(model, tensors);
  append_head_parameters(model, false, tensors);
  for (std::int64_t i = 0; i < model.layers; ++i)
    append_layer_parameters(model, class_of_layer(model, i), tensors);
  Parts parts;
  for (const costmodel::ParameterTensor& t : tensors) parts[std::string{part_of(t.name)}] += t.elements();
  return parts;
}

Parts expected_of(const JsonValue& counts) {
  Parts parts;
  for (const auto& [part, count] : *counts.get_if<JsonObject>()) parts[part] = *count.get_if<std::int64_t>();
  return parts;
}

const JsonValue& golden_types() {
  static const JsonDocument document =
      read_json_file(std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/parameters/transformers.json");
  return *document.root.find("types");
}

std::vector<std::string> types() {
  std::vector<std::string> names;
  for (const auto& [type, cases] : *golden_types().get_if<JsonObject>()) names.push_back(type);
  return names;
}

class parameters_of_transformers : public testing::TestWithParam<std::string> {};

TEST_P(parameters_of_transformers, are_those_of_every_part_of_the_model) {
  for (const JsonValue& drawn : *golden_types().find(GetParam())->get_if<JsonArray>()) {
    const costmodel::ModelSpec model = model_from_config("config.json", "", *drawn.find("config"));
    EXPECT_EQ(counted(model), expected_of(*drawn.find("parameters")));
  }
}

INSTANTIATE_TEST_SUITE_P(model_types, parameters_of_transformers, testing::ValuesIn(types()),
                         [](const testing::TestParamInfo<std::string>& type) {
                           std::string name = type.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

/// Their publishers' own code alone has them; parameters are those of deepseek_v3, minimax and
/// phi4_multimodal.
constexpr std::array<std::string_view, 4> kNotInTransformers{"kimi_k2", "minimax_text_01", "minimax_m1",
                                                             "phi4mm"};

TEST(parameters_of_transformers_files, have_every_family_that_is_read) {
  for (const ModelFamily& family : model_families()) {
    if (std::ranges::find(kNotInTransformers, family.model_type) != kNotInTransformers.end()) continue;
    EXPECT_NE(golden_types().find(family.model_type), nullptr) << family.model_type;
  }
}

TEST(model_families, hold_at_least_eighty_text_models_each_type_once) {
  EXPECT_GE(model_families().size(), 80U);
  std::map<std::string_view, int> times;
  for (const ModelFamily& family : model_families()) ++times[family.model_type];
  for (const ModelWrapper& wrapper : model_wrappers()) ++times[wrapper.model_type];
  for (const RefusedFamily& refused : refused_families()) ++times[refused.model_type];
  for (const auto& [type, count] : times) EXPECT_EQ(count, 1) << type;
}

}  // namespace
}  // namespace hexaplan::presets
