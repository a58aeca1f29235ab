#include "presets/weights/weight_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/input_error.h"
#include "presets/json/read_json.h"
#include "presets/models/read_model_config.h"

namespace hexaplan::tests {
namespace {

using costmodel::ModelSpec;
using presets::JsonArray;
using presets::JsonObject;
using presets::JsonValue;
using presets::StoredRun;
using presets::StoredTensor;
using presets::WeightMap;

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry :
       std::filesystem::directory_iterator{HEXAPLAN_SOURCE_DIR "/tests/golden/transformers"})
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}
JsonValue golden(const std::string& name) {
  return presets::read_json_file(std::string{HEXAPLAN_SOURCE_DIR "/tests/golden/transformers/"} + name +
                                 ".json")
      .root;
}

/// transformers leaves multi-token-prediction modules out.
ModelSpec golden_model(const JsonValue& file) {
  ModelSpec model = presets::model_from_config("config.json", "", *file.find("config"));
  model.mtp_layers = 0;
  return model;
}

/// Every parameter of the model with its layer.
void for_each_parameter(const ModelSpec& m,
                        const std::function<void(int, const costmodel::ParameterTensor&)>& visit) {
  std::vector<costmodel::ParameterTensor> tensors;
  append_embedding_parameters(m, tensors);
  append_head_parameters(m, false, tensors);
  for (const auto& t : tensors) visit(WeightMap::kNoLayer, t);
  for (int layer = 0; layer < m.layers + m.mtp_layers; ++layer) {
    tensors.clear();
    append_layer_parameters(m, class_of_layer(m, layer), tensors);
    for (const auto& t : tensors) visit(layer, t);
  }
}

class weight_map : public testing::TestWithParam<std::string> {};

TEST_P(weight_map, has_names_and_shapes_of_the_checkpoint_that_transformers_writes) {
  const JsonValue file = golden(GetParam());
  const WeightMap map{golden_model(file)};
  std::vector<std::string> expected, got;
  for (const auto& [name, tensor] : *file.find("tensors")->get_if<JsonObject>()) {
    std::string shape;
    for (const JsonValue& d : *tensor.find("shape")->get_if<JsonArray>())
      shape += " " + std::to_string(*d.get_if<std::int64_t>());
    expected.push_back(name + shape);
  }
  for (const StoredTensor& t : map.tensors()) {
    std::string shape;
    for (const std::int64_t d : t.shape) shape += " " + std::to_string(d);
    got.push_back(t.name + shape);
  }
  std::sort(expected.begin(), expected.end());
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, expected);
}

TEST_P(weight_map, finds_every_element_of_the_checkpoint_once_whatever_part_is_asked_for) {
  const WeightMap map{presets::model_from_config("config.json", "", *golden(GetParam()).find("config"))};
  std::vector<std::vector<int>> seen;
  for (const StoredTensor& t : map.tensors()) seen.emplace_back(static_cast<std::size_t>(t.elements()), 0);
  for_each_parameter(presets::model_from_config("config.json", "", *golden(GetParam()).find("config")),
                     [&](int layer, const costmodel::ParameterTensor& t) {
                       // In uneven pieces that begin and end inside rows.
                       for (std::int64_t first = 0; first < t.elements(); first += 37) {
                         const std::int64_t count = std::min<std::int64_t>(37, t.elements() - first);
                         std::int64_t at = 0;
                         map.visit(layer, t.name, first, count, [&](const StoredRun& run) {
                           EXPECT_EQ(run.at, at);
                           at += run.count;
                           for (std::int64_t i = 0; i < run.count; ++i)
                             ++seen.at(run.tensor).at(static_cast<std::size_t>(run.first + i * run.stride));
                         });
                         EXPECT_EQ(at, count);
                       }
                     });
  for (std::size_t t = 0; t < seen.size(); ++t) {
    const std::ptrdiff_t expected = map.tensors()[t].copy_of.empty() ? std::ssize(seen[t]) : 0;
    EXPECT_EQ(std::count(seen[t].begin(), seen[t].end(), 1), expected) << map.tensors()[t].name;
  }
}

INSTANTIATE_TEST_SUITE_P(families, weight_map, testing::ValuesIn(golden_names()),
                         [](const testing::TestParamInfo<std::string>& name) { return name.param; });

TEST(weight_map_of, multi_token_prediction_has_the_published_names_behind_the_last_layer) {
  const JsonValue file = golden("deepseek_v3");
  ModelSpec model = golden_model(file);
  const std::string layer = "model.layers." + std::to_string(model.layers) + ".";
  const auto names_of = [&](const ModelSpec& m) {
    const WeightMap map{m};
    std::map<std::string, StoredTensor> names;
    for (const StoredTensor& t : map.tensors()) names.emplace(t.name, t);
    return names;
  };
  const std::size_t before = names_of(model).size();
  model.mtp_layers = 1;
  const auto names = names_of(model);
  const std::int64_t h = model.hidden;
  const std::pair<const char*, std::vector<std::int64_t>> expected[] = {
      {"enorm.weight", {h}},
      {"hnorm.weight", {h}},
      {"eh_proj.weight", {h, 2 * h}},
      {"shared_head.norm.weight", {h}},
      {"embed_tokens.weight", {model.vocab, h}},
      {"shared_head.head.weight", {model.vocab, h}},
      {"input_layernorm.weight", {h}},
      {"mlp.gate.weight", {model.moe.experts, h}}};
  for (const auto& [name, shape] : expected) {
    ASSERT_TRUE(names.contains(layer + name)) << name;
    EXPECT_EQ(names.at(layer + name).shape, shape) << name;
  }
  EXPECT_EQ(names.at(layer + "embed_tokens.weight").copy_of, "model.embed_tokens.weight");
  EXPECT_EQ(names.at(layer + "shared_head.head.weight").copy_of, "lm_head.weight");
  const auto of_last =
      std::ranges::count_if(names, [&](const auto& named) { return named.first.starts_with(layer); });
  EXPECT_EQ(names.size(), before + static_cast<std::size_t>(of_last));
}

TEST(weight_map_of, a_family_without_names_is_an_input_error_that_says_what_is_missing) {
  ModelSpec m = presets::model_from_config("config.json", "", *golden("llama").find("config"));
  m.family = "nobody's";
  try {
    const WeightMap map{m};
    FAIL() << "no error";
  } catch (const presets::InputError& error) {
    EXPECT_NE(std::string{error.what()}.find("nobody's"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace hexaplan::tests
