#include "presets/models/model_dimensions.h"

#include <gmock/gmock.h>

#include <string>

#include "presets/catalog/catalog.h"
#include "presets/json/input_error.h"
#include "presets/models/find_model.h"
#include "presets/models/model_text.h"
#include "presets/models/read_model_config.h"

namespace hexaplan::presets {
namespace {

/// Multiples of each other where a family asks for it: heads by kv_heads, layers beyond the dense ones.
std::int64_t other_value(std::string_view id, std::int64_t value) {
  return id == "kv_heads" ? 1 : id == "top_k" ? 1 : value * 2;
}

TEST(model_dimensions, changed_in_a_config_are_read_back_for_every_preset) {
  for (const std::string& name : list_presets(PresetKind::Model)) {
    const JsonValue config = model_config(name);
    for (const ModelDimension& dimension : model_dimensions()) {
      if (!has_dimension(config, dimension.id)) continue;
      const std::int64_t before = dimension.of(find_model(name));
      if (before == 0) continue;
      // A list of layer types, or of factors of the rotated columns, or a rule between fields may forbid it;
      // then reading says so.
      try {
        const std::int64_t wanted = other_value(dimension.id, before);
        const JsonValue changed = with_dimension(config, dimension.id, wanted);
        EXPECT_EQ(dimension.of(model_from_config(name, "", changed)), wanted) << name << " " << dimension.id;
      } catch (const InputError&) {
        EXPECT_THAT(dimension.id, testing::AnyOf("layers", "heads", "hidden", "head_dim")) << name;
      }
    }
  }
}

TEST(model_dimensions, every_preset_lets_the_main_ones_be_changed) {
  for (const std::string& name : list_presets(PresetKind::Model)) {
    for (const char* id : {"layers", "hidden", "vocab"})
      EXPECT_TRUE(has_dimension(model_config(name), id)) << name << " " << id;
    const bool attends = costmodel::has_attention(find_model(name));
    EXPECT_EQ(has_dimension(model_config(name), "heads"), attends) << name;
  }
}

TEST(model_dimensions, a_dense_model_has_none_of_experts) {
  EXPECT_FALSE(has_dimension(model_config("llama-3.1-8b"), "experts"));
  EXPECT_TRUE(has_dimension(model_config("deepseek-v3"), "experts"));
}

TEST(model_dimensions, the_config_of_a_preset_remembers_its_name) {
  const JsonValue config = model_config("llama-3.1-8b");
  ASSERT_NE(config.find("_name_or_path"), nullptr);
  EXPECT_EQ(*config.find("_name_or_path"), JsonValue{"llama-3.1-8b"});
}

TEST(model_dimensions, of_a_model_by_its_dimensions_are_the_words_of_its_text) {
  const JsonValue text{"layers=8 hidden=512 heads=8 ffn=1376 vocab=32000 tied"};
  EXPECT_EQ(model_config(text), text);
  EXPECT_EQ(with_dimension(text, "layers", 16),
            JsonValue{"layers=16 hidden=512 heads=8 ffn=1376 vocab=32000 tied"});
  EXPECT_EQ(with_dimension(text, "kv_heads", 2),
            JsonValue{"layers=8 hidden=512 heads=8 ffn=1376 vocab=32000 tied kv_heads=2"});
}

TEST(model_dimensions, changed_in_a_text_are_read_back) {
  const std::string latent =
      "layers=4 hidden=512 heads=8 ffn=1024 vocab=1000 kv_lora=64 q_lora=96 qk_nope=32 qk_rope=16 "
      "v_head_dim=32 experts=8 top_k=2 shared_ffn=64 first_k_dense=1 mtp_layers=1 window=16 max_positions=64";
  for (const ModelDimension& dimension : model_dimensions()) {
    if (!has_dimension(latent, dimension.id)) continue;
    if (dimension.id == "head_dim") continue;  // follows from the parts of a latent head
    const std::int64_t wanted = other_value(dimension.id, dimension.of(parse_model_text(latent, "--model")));
    const JsonValue changed = with_dimension(latent, dimension.id, wanted);
    EXPECT_EQ(dimension.of(parse_model_text(*changed.get_if<std::string>(), "--model")), wanted)
        << dimension.id;
  }
  EXPECT_FALSE(has_dimension(latent, "shared_experts"));  // the text says their width
}

}  // namespace
}  // namespace hexaplan::presets
