#include "presets/models/read_model_config.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/input_error.h"
#include "tests/support/temporary_folder.h"

namespace hexaplan::presets {
namespace {

using costmodel::Activation;
using costmodel::AttentionKind;
using costmodel::ModelSpec;
using costmodel::NormKind;
using costmodel::PositionKind;

ModelSpec read(const std::string& json) {
  return model_from_config_text(json, "config.json");
}
/// A config that says nothing but `fields`: the rest are class defaults.
ModelSpec read(const std::string& type, const std::string& fields) {
  return read("{\"model_type\": \"" + type + "\"" + (fields.empty() ? "" : ", ") + fields + "}");
}
std::int64_t total(const ModelSpec& model) {
  return costmodel::count_parameters(model).total;
}

// The file as meta-llama/Llama-3.1-8B-Instruct has it.
constexpr const char* kLlama = R"({
  "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 128000,
  "eos_token_id": [128001, 128008, 128009], "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02,
  "intermediate_size": 14336, "max_position_embeddings": 131072, "mlp_bias": false, "model_type": "llama",
  "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8, "pretraining_tp": 1,
  "rms_norm_eps": 1e-05, "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
  "original_max_position_embeddings": 8192, "rope_type": "llama3"}, "rope_theta": 500000.0,
  "tie_word_embeddings": false, "torch_dtype": "bfloat16", "transformers_version": "4.42.3", "use_cache": true,
  "vocab_size": 128256})";

// The file as deepseek-ai/DeepSeek-V3 has it.
constexpr const char* kDeepseek = R"({
  "architectures": ["DeepseekV3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
  "auto_map": {"AutoConfig": "configuration_deepseek.DeepseekV3Config"}, "bos_token_id": 0, "eos_token_id": 1,
  "ep_size": 1, "first_k_dense_replace": 3, "hidden_act": "silu", "hidden_size": 7168, "initializer_range": 0.02,
  "intermediate_size": 18432, "kv_lora_rank": 512, "max_position_embeddings": 163840, "model_type": "deepseek_v3",
  "moe_intermediate_size": 2048, "moe_layer_freq": 1, "n_group": 8, "n_routed_experts": 256, "n_shared_experts": 1,
  "norm_topk_prob": true, "num_attention_heads": 128, "num_experts_per_tok": 8, "num_hidden_layers": 61,
  "num_key_value_heads": 128, "num_nextn_predict_layers": 1, "q_lora_rank": 1536, "qk_nope_head_dim": 128,
  "qk_rope_head_dim": 64, "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3",
  "quant_method": "fp8", "weight_block_size": [128, 128]}, "rms_norm_eps": 1e-06, "rope_scaling": {"beta_fast": 32,
  "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0, "original_max_position_embeddings": 4096,
  "type": "yarn"}, "rope_theta": 10000, "routed_scaling_factor": 2.5, "scoring_func": "sigmoid",
  "tie_word_embeddings": false, "topk_group": 4, "topk_method": "noaux_tc", "torch_dtype": "bfloat16",
  "transformers_version": "4.33.1", "use_cache": true, "v_head_dim": 128, "vocab_size": 129280})";

TEST(model_from_config_text, reads_llama_as_downloaded) {
  const ModelSpec m = read(kLlama);
  EXPECT_EQ(total(m), 8'030'261'248);
  EXPECT_EQ(m.family, "llama");
  EXPECT_EQ(m.attention.kv_heads, 8);
  EXPECT_EQ(m.attention.head_dim, 128);
  EXPECT_EQ(m.max_positions, 131072);
  EXPECT_EQ(m.norm, NormKind::Rms);
  EXPECT_TRUE(m.mlp.gated);
}

TEST(model_from_config_text, reads_deepseek_as_downloaded) {
  const ModelSpec m = read(kDeepseek);
  EXPECT_EQ(total(m), 671'026'419'200);
  EXPECT_EQ(m.attention.kind, AttentionKind::Latent);
  EXPECT_EQ(m.attention.head_dim, 192);
  EXPECT_EQ(m.attention.v_head_dim, 128);
  EXPECT_EQ(m.moe.first_k_dense, 3);
  EXPECT_EQ(m.mtp_layers, 1);
}

/// A projection, three norms, and a layer.
std::int64_t module_of(const ModelSpec& m, std::int64_t layer) {
  return 2 * m.hidden * m.hidden + 3 * m.hidden + layer;
}

TEST(model_from_config_text, a_module_of_a_hybrid_attends) {
  for (const char* type : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    const ModelSpec with = read(type, R"("num_hidden_layers": 8, "mtp_num_hidden_layers": 1)");
    EXPECT_EQ(with.mtp_layers, 1) << type;
    EXPECT_EQ(read(type, "").mtp_layers, 0) << type;
    const ModelSpec four = read(type, R"("num_hidden_layers": 4)"),
                    three = read(type, R"("num_hidden_layers": 3)");
    EXPECT_EQ(costmodel::count_parameters(with).mtp, module_of(with, total(four) - total(three))) << type;
  }
}

TEST(model_from_config_text, a_module_of_nemotron_h_attends_and_has_what_its_pattern_says) {
  const auto model = [](const std::string& pattern, const std::string& more = "") {
    return read("nemotron_h", R"("hybrid_override_pattern": ")" + pattern + R"(")" + more);
  };
  const std::string
      of_experts = R"(, "num_nextn_predict_layers": 1, "mtp_hybrid_override_pattern": "*E")",
      in_words = R"(, "num_nextn_predict_layers": 1, "mtp_layers_block_type": ["full_attention", "moe"])",
      of_an_mlp = R"(, "num_nextn_predict_layers": 1, "mtp_hybrid_override_pattern": "*-")";
  const ModelSpec experts = model("M*E", of_experts), dense = model("M*-", of_an_mlp);
  EXPECT_EQ(costmodel::count_parameters(experts).mtp,
            module_of(experts, total(model("M*E*E")) - total(model("M*E"))));
  EXPECT_EQ(costmodel::count_parameters(dense).mtp,
            module_of(dense, total(model("M*-*-")) - total(model("M*-"))));
  EXPECT_EQ(model("M*E", in_words), experts);
  EXPECT_EQ(model("M*E", R"(, "num_nextn_predict_layers": 1)"), experts) << "the class's own pattern";
  EXPECT_EQ(model("M*E").mtp_layers, 0);
}

TEST(model_from_config_text, a_model_is_called_like_the_folder_of_its_config) {
  EXPECT_EQ(model_from_config_text(kLlama, "models/my-llama/config.json").name, "my-llama");
  EXPECT_EQ(model_from_config_text(kLlama, "my-llama.json").name, "my-llama");
}

TEST(read_model_config, reads_the_same_from_a_file) {
  const tests::TemporaryFolder folder;
  const std::filesystem::path file = folder.file("config.json", kLlama);
  EXPECT_EQ(read_model_config(file), model_from_config_text(kLlama, file.string()));
}

TEST(model_from_config_text, what_python_writes_of_no_number_is_read_where_nothing_depends_on_it) {
  const ModelSpec model =
      read("bamba", R"("time_step_limit": [0.0, Infinity], "note": "-Infinity \" Infinity", "a": -Infinity)");
  EXPECT_EQ(model, read("bamba", ""));
  try {
    (void)read("llama", "\"a\": [-Infinity],\n \"hidden_size\": Infinity");
    FAIL() << "no number";
  } catch (const InputError& error) {
    EXPECT_NE(std::string{error.what()}.find("hidden_size: got \"inf\""), std::string::npos) << error.what();
  }
}

TEST(model_from_config_text, whole_numbers_may_be_written_as_fractions) {
  EXPECT_EQ(read("llama", R"("hidden_size": 2048.0)").hidden, 2048);
}

// save_pretrained leaves out what equals the class default.
TEST(class_defaults, fill_what_the_file_leaves_out) {
  EXPECT_EQ(total(read("llama", "")), 6'738'415'616);          // LlamaConfig() is Llama-2-7B
  EXPECT_EQ(total(read("mistral", "")), 7'241'732'096);        // MistralConfig() is Mistral-7B
  EXPECT_EQ(total(read("mixtral", "")), 46'702'792'704);       // MixtralConfig() is Mixtral-8x7B
  EXPECT_EQ(total(read("gpt2", "")), 124'439'808);             // GPT2Config() is GPT-2
  EXPECT_EQ(total(read("gpt_neox", "")), 20'554'567'680);      // GPTNeoXConfig() is GPT-NeoX-20B
  EXPECT_EQ(total(read("gemma", "")), 8'537'680'896);          // GemmaConfig() is Gemma-7B
  EXPECT_EQ(total(read("gemma2", "")), 2'614'341'888);         // Gemma2Config() is Gemma-2-2B
  EXPECT_EQ(total(read("phi3", "")), 3'821'079'552);           // Phi3Config() is Phi-3-mini
  EXPECT_EQ(total(read("qwen2_moe", "")), 14'315'784'192);     // Qwen2MoeConfig() is Qwen1.5-MoE-A2.7B
  EXPECT_EQ(total(read("deepseek_v3", "")), 671'026'419'200);  // DeepseekV3Config() is DeepSeek-V3
  EXPECT_EQ(total(read("gpt_oss", "")), 116'829'156'672);      // GptOssConfig() is gpt-oss-120b
}

TEST(class_defaults, null_means_none_where_the_class_says_so) {
  EXPECT_EQ(read("mistral", "").attention.window, 4096);
  EXPECT_EQ(read("mistral", R"("sliding_window": null)").attention.window, 0);
  EXPECT_EQ(read("mistral", "").attention.kv_heads, 8);
  EXPECT_EQ(read("mistral", R"("num_key_value_heads": null)").attention.kv_heads, 32);
  EXPECT_EQ(read("deepseek_v3", "").attention.q_lora_rank, 1536);
  EXPECT_EQ(read("deepseek_v3", R"("q_lora_rank": null)").attention.q_lora_rank, 0);
  EXPECT_EQ(read("gpt2", R"("n_inner": null)").mlp.ffn, 3072);
  EXPECT_FALSE(read("deepseek_v3", R"("n_routed_experts": null)").is_moe());
  EXPECT_EQ(read("gemma2", "").logit_softcap, 30);
  EXPECT_EQ(read("gemma2", R"("final_logit_softcapping": null)").logit_softcap, 0);
}

TEST(class_defaults, embeddings_are_tied_as_the_class_says_unless_the_file_does) {
  for (const char* type : {"gemma", "gemma2", "gemma3_text", "gpt2", "bloom", "opt", "mpt"}) {
    EXPECT_TRUE(read(type, "").tied_embeddings) << type;
    EXPECT_FALSE(read(type, R"("tie_word_embeddings": false)").tied_embeddings) << type;
  }
  for (const char* type : {"llama", "mistral", "qwen2", "qwen3", "gpt_neox", "phi3", "deepseek_v3"}) {
    EXPECT_FALSE(
        read(type, type == std::string{"deepseek_v2"} ? R"("num_experts_per_tok": 6)" : "").tied_embeddings)
        << type;
  }
}

TEST(class_defaults, fields_have_their_second_names) {
  EXPECT_EQ(read("gpt2", R"("hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16)"),
            read("gpt2", R"("n_embd": 1024, "n_layer": 24, "n_head": 16)"));
  EXPECT_EQ(read("bloom", R"("n_embed": 1024, "num_attention_heads": 16)"),
            read("bloom", R"("hidden_size": 1024, "n_head": 16)"));
  EXPECT_EQ(read("qwen3_moe", R"("num_local_experts": 64)").moe.experts, 64);
}

// What stands in no config.json.
TEST(family_rules, biases) {
  EXPECT_TRUE(read("qwen2", "").attention.qkv_bias);
  EXPECT_FALSE(read("qwen2", "").attention.output_bias);
  EXPECT_FALSE(read("qwen3", "").attention.qkv_bias);
  EXPECT_FALSE(read("llama", "").attention.qkv_bias);
  EXPECT_TRUE(read("llama", R"("attention_bias": true)").attention.output_bias);
  EXPECT_TRUE(read("llama", R"("mlp_bias": true)").mlp.bias);
  EXPECT_TRUE(read("gpt_neox", "").mlp.bias);
  EXPECT_FALSE(read("gpt_neox", R"("attention_bias": false)").attention.qkv_bias);
  EXPECT_FALSE(read("mpt", "").norm_bias);
  EXPECT_TRUE(read("mpt", R"("no_bias": false)").norm_bias);
}

TEST(family_rules, norms) {
  EXPECT_TRUE(read("qwen3", "").attention.qk_norm);
  EXPECT_FALSE(read("qwen2", "").attention.qk_norm);
  EXPECT_EQ(read("gemma2", "").norms_per_layer, 4);
  EXPECT_EQ(read("gemma3_text", "").norms_per_layer, 4);
  EXPECT_TRUE(read("gemma3_text", "").attention.qk_norm);
  EXPECT_EQ(read("gpt2", "").norm, NormKind::Layer);
  EXPECT_TRUE(read("bloom", "").embedding_norm);
  EXPECT_TRUE(read("gpt_neox", "").parallel_residual);
  EXPECT_FALSE(read("opt", R"("do_layer_norm_before": false)").final_norm);
  EXPECT_FALSE(read("opt", R"("layer_norm_elementwise_affine": false)").norm_weight);
  EXPECT_TRUE(read("opt", "").norm_weight);
}

TEST(family_rules, positions) {
  EXPECT_EQ(read("llama", "").positions, PositionKind::Rotary);
  EXPECT_EQ(read("gpt2", "").positions, PositionKind::Learned);
  EXPECT_EQ(read("bloom", "").positions, PositionKind::Alibi);
  EXPECT_EQ(read("opt", "").max_positions, 2048 + 2);
  EXPECT_EQ(read("mpt", R"("attn_config": {"alibi": false})").positions, PositionKind::Learned);
  EXPECT_EQ(read("mpt", R"("attn_config": {"alibi": true})").positions, PositionKind::Alibi);
}

TEST(family_rules, activations) {
  EXPECT_EQ(read("gemma2", "").mlp.activation, Activation::Gelu);
  EXPECT_EQ(read("opt", "").mlp.activation, Activation::Relu);
  EXPECT_EQ(read("gpt_neox", R"("hidden_act": "gelu_fast")").mlp.activation, Activation::Gelu);
  EXPECT_EQ(read("phi3", "").mlp.activation, Activation::Silu);
}

TEST(family_rules, experts) {
  const ModelSpec qwen = read("qwen2_moe", R"("decoder_sparse_step": 2, "mlp_only_layers": [3])");
  EXPECT_FALSE(class_of_layer(qwen, 0).moe);
  EXPECT_TRUE(class_of_layer(qwen, 1).moe);
  EXPECT_FALSE(class_of_layer(qwen, 3).moe);
  EXPECT_TRUE(qwen.moe.shared_gate);
  EXPECT_EQ(qwen.moe.shared_ffn, 5632);
  EXPECT_EQ(read("mixtral", "").moe.expert_ffn, 14336);
  EXPECT_EQ(read("deepseek_v2", R"("num_experts_per_tok": 6, "n_shared_experts": 2)").moe.shared_ffn,
            2 * 1407);
  EXPECT_FALSE(read("deepseek_v2", R"("num_experts_per_tok": 6)").moe.router_correction);
  EXPECT_TRUE(read("deepseek_v3", "").moe.router_correction);
  EXPECT_FALSE(read("deepseek_v3", R"("topk_method": "greedy")").moe.router_correction);
  EXPECT_TRUE(read("gpt_oss", "").moe.expert_bias);
}

TEST(family_rules, deepseek_moe_layer_freq_counts_from_the_first_layer) {
  const ModelSpec m = read("deepseek_v3", R"("first_k_dense_replace": 1, "moe_layer_freq": 2)");
  EXPECT_FALSE(class_of_layer(m, 0).moe);
  EXPECT_FALSE(class_of_layer(m, 1).moe);
  EXPECT_TRUE(class_of_layer(m, 2).moe);
  EXPECT_FALSE(class_of_layer(m, 3).moe);
}

TEST(family_rules, sliding_windows) {
  EXPECT_EQ(read("gemma2", "").attention.global_period, 2);
  EXPECT_EQ(read("gemma3_text", "").attention.global_period, 6);
  EXPECT_EQ(read("gpt_oss", "").attention.global_period, 2);
  EXPECT_EQ(read("qwen2", R"("sliding_window": 131072)").attention.window, 0);  // use_sliding_window is false
  const ModelSpec qwen = read("qwen2", R"("use_sliding_window": true, "max_window_layers": 30)");
  EXPECT_EQ(qwen.attention.window, 4096);
  EXPECT_FALSE(class_of_layer(qwen, 29).windowed);
  EXPECT_TRUE(class_of_layer(qwen, 30).windowed);
  EXPECT_EQ(read("qwen3_moe", R"("use_sliding_window": true)").attention.window, 4096);
}

TEST(family_rules, layer_types_decide_where_they_are_given) {
  const std::string four = R"("num_hidden_layers": 4, "layer_types": )";
  const ModelSpec regular = read(
      "gemma2", four + R"(["sliding_attention", "full_attention", "sliding_attention", "full_attention"])");
  EXPECT_EQ(regular.attention.global_period, 2);
  EXPECT_THAT(regular.attention.global_layers, testing::IsEmpty());
  const ModelSpec irregular = read(
      "gemma2", four + R"(["full_attention", "full_attention", "sliding_attention", "sliding_attention"])");
  EXPECT_THAT(irregular.attention.global_layers, testing::ElementsAre(0, 1));
  const ModelSpec global =
      read("gemma2", four + R"(["full_attention", "full_attention", "full_attention", "full_attention"])");
  EXPECT_EQ(global.attention.window, 0);
}

TEST(family_rules, gemma_3_keeps_its_language_model_in_text_config) {
  // google/gemma-3-4b-pt writes four numbers and leaves the rest to the class.
  const ModelSpec m = read("gemma3", R"("mm_tokens_per_image": 256, "vision_config": {"hidden_size": 1152},
    "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
                    "num_hidden_layers": 34, "sliding_window": 1024})");
  EXPECT_EQ(total(m), 3'880'263'168);
  EXPECT_TRUE(m.tied_embeddings);
  EXPECT_EQ(m.family, "gemma3");
  EXPECT_FALSE(m.not_counted.empty()) << "the vision tower";
}

TEST(family_rules, wrappers_hold_any_language_model_that_is_known) {
  const ModelSpec m = read("llava", R"("tie_word_embeddings": true, "vision_config": {},
    "text_config": {"model_type": "qwen3", "num_hidden_layers": 7})");
  EXPECT_EQ(m.layers, 7);
  EXPECT_TRUE(m.attention.qk_norm);
  EXPECT_TRUE(m.tied_embeddings) << "said by the wrapper";
  EXPECT_EQ(
      read("qwen2_vl",
           R"("hidden_size": 1536, "num_attention_heads": 12, "num_key_value_heads": 2, "vision_config": {})")
          .hidden,
      1536)
      << "older files have no text_config";
}

TEST(family_rules, layers_without_positions) {
  const ModelSpec smollm = read("smollm3", "");
  EXPECT_FALSE(class_of_layer(smollm, 2).unrotated);
  EXPECT_TRUE(class_of_layer(smollm, 3).unrotated);
  EXPECT_FALSE(class_of_layer(smollm, 3).windowed);
  const ModelSpec cohere = read("cohere2", "");
  EXPECT_TRUE(class_of_layer(cohere, 2).windowed);
  EXPECT_FALSE(class_of_layer(cohere, 2).unrotated);
  EXPECT_TRUE(class_of_layer(cohere, 3).unrotated);
  const ModelSpec listed = read("llama4_text", R"("num_hidden_layers": 3, "no_rope_layers": [0, 1, 1])");
  EXPECT_TRUE(class_of_layer(listed, 0).unrotated);
  EXPECT_TRUE(class_of_layer(listed, 1).windowed);
  EXPECT_TRUE(listed.attention.chunked);
}

TEST(family_rules, multipliers_of_granite_and_cohere) {
  const ModelSpec granite = read("granite", R"("embedding_multiplier": 12.0, "residual_multiplier": 0.22,
    "attention_multiplier": 0.0078125, "logits_scaling": 8.0)");
  EXPECT_EQ(granite.embedding_multiplier, 12);
  EXPECT_EQ(granite.residual_multiplier, 0.22);
  EXPECT_EQ(granite.logit_multiplier, 0.125);
  EXPECT_EQ(granite.attention.score_width, 16384) << "scores over its root: times 1/128";
  EXPECT_EQ(read("cohere", "").logit_multiplier, 0.0625);
}

TEST(family_rules, mpt_shares_keys_and_values_as_attn_type_says) {
  EXPECT_EQ(read("mpt", "").attention.kv_heads, 16);
  EXPECT_EQ(read("mpt", R"("attn_config": {"attn_type": "multiquery_attention"})").attention.kv_heads, 1);
  EXPECT_EQ(read("mpt", R"("attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 4})")
                .attention.kv_heads,
            4);
}

TEST(supported_model_types, each_has_a_class_that_works_without_any_field) {
  for (const std::string_view type : supported_model_types()) {
    // Lfm2MoeConfig() has no types of layers, and makes no model.
    const std::string needed = type == "deepseek_v2" ? R"("num_experts_per_tok": 6)"
                               : type == "lfm2_moe"  ? R"("num_hidden_layers": 1, "layer_types": ["conv"])"
                                                     : R"("text_config": {})";
    EXPECT_GT(total(read(std::string{type}, needed)), 0) << type;
  }
}

// --- What a model computes, beside its sizes ---

TEST(model_from_config_text, reads_rope_as_llama_3_1_has_it_with_the_keys_of_transformers_4_and_5) {
  const ModelSpec old = read(kLlama);
  const costmodel::RotarySpec expected{.base = 500000,
                                       .scaling = costmodel::RopeScaling::Llama3,
                                       .factor = 8,
                                       .original_positions = 8192,
                                       .low_frequency = 1,
                                       .high_frequency = 4};
  EXPECT_EQ(old.rotary, expected);
  EXPECT_EQ(old.norm_epsilon, 1e-5);
  const ModelSpec now =
      read("llama", R"("rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3", "factor": 8.0,
    "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192})");
  EXPECT_EQ(now.rotary, expected);
}

TEST(model_from_config_text, takes_class_defaults_of_what_is_computed) {
  struct Row {
    const char* type;
    double base, share, epsilon;
    bool renormalise;
  };
  // configuration_<type>.py and modeling_<type>.py of transformers v5.23.0.
  constexpr Row kRows[] = {{"llama", 1e4, 1, 1e-6, false},     {"mistral", 1e4, 1, 1e-6, false},
                           {"mixtral", 1e6, 1, 1e-5, true},    {"qwen3_moe", 1e4, 1, 1e-6, false},
                           {"phi3", 1e4, 1, 1e-5, false},      {"gpt_neox", 1e4, 0.25, 1e-5, false},
                           {"gpt_oss", 150000, 1, 1e-5, true}, {"gemma3_text", 1e6, 1, 1e-6, false},
                           {"deepseek_v3", 1e4, 1, 1e-6, true}};
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.type);
    const ModelSpec m = read(row.type, "");
    EXPECT_EQ(m.rotary.base, row.base);
    EXPECT_EQ(m.rotary.share, row.share);
    EXPECT_EQ(m.norm_epsilon, row.epsilon);
    EXPECT_EQ(m.moe.renormalise, row.renormalise);
  }
}

TEST(model_from_config_text, reads_partial_rotation_under_either_name) {
  EXPECT_EQ(read("phi3", R"("partial_rotary_factor": 0.75)").rotary.share, 0.75);
  EXPECT_EQ(read("gpt_neox", R"("rotary_pct": 1.0, "rotary_emb_base": 25000)").rotary,
            (costmodel::RotarySpec{.base = 25000}));
}

TEST(model_from_config_text, gives_windowed_layers_of_gemma_3_their_own_base) {
  const ModelSpec old = read("gemma3_text", R"("rope_theta": 1e6, "rope_local_base_freq": 12000.0,
    "rope_scaling": {"rope_type": "linear", "factor": 8.0})");
  EXPECT_EQ(old.rotary.local_base, 12000);
  EXPECT_EQ(old.rotary.scaling, costmodel::RopeScaling::Linear);
  const ModelSpec now = read("gemma3_text", R"("rope_parameters": {
    "sliding_attention": {"rope_type": "default", "rope_theta": 12000.0},
    "full_attention": {"rope_type": "linear", "rope_theta": 1e6, "factor": 8.0}})");
  EXPECT_EQ(now.rotary, old.rotary);
}

TEST(model_from_config_text, reads_the_router_of_deepseek) {
  const ModelSpec m = read(kDeepseek);
  EXPECT_EQ(m.moe.score, costmodel::RouterScore::Sigmoid);
  EXPECT_TRUE(m.moe.renormalise);
  EXPECT_TRUE(m.moe.router_correction);
  EXPECT_EQ(m.moe.groups, 8);
  EXPECT_EQ(m.moe.top_groups, 4);
  EXPECT_EQ(m.moe.weight_factor, 2.5);
  EXPECT_EQ(m.rotary.scaling, costmodel::RopeScaling::Yarn);
  EXPECT_EQ(m.rotary.factor, 40);
  EXPECT_EQ(m.rotary.attention_factor, 1);  // mscale and mscale_all_dim are equal
  EXPECT_TRUE(m.rotary.interleaved);
}

TEST(model_from_config_text, reads_soft_caps_multipliers_and_the_form_of_gelu) {
  const ModelSpec m = read("gemma2", R"("query_pre_attn_scalar": 144, "hidden_size": 4096)");
  EXPECT_EQ(m.attention.softcap, 50);
  EXPECT_EQ(m.logit_softcap, 30);
  EXPECT_EQ(m.attention.score_width, 144);
  EXPECT_EQ(m.embedding_multiplier, 64);
  EXPECT_TRUE(m.zero_centered_norm);
  EXPECT_EQ(m.mlp.gelu, costmodel::GeluForm::Tanh);
  EXPECT_EQ(read("gpt_neox", "").mlp.gelu, costmodel::GeluForm::Exact);
  EXPECT_EQ(read("gpt_neox", R"("hidden_act": "gelu_fast")").mlp.gelu, costmodel::GeluForm::Tanh);
}

TEST(model_from_config_text, refuses_a_kind_of_scaling_that_it_does_not_know_or_that_lacks_a_number) {
  EXPECT_THROW((void)read("llama", R"("rope_scaling": {"rope_type": "mrope", "factor": 2.0})"), InputError);
  EXPECT_THROW((void)read("llama", R"("rope_scaling": {"rope_type": "linear"})"), InputError);
  EXPECT_THROW((void)read("llama", R"("rope_scaling": {"rope_type": "llama3", "factor": 8.0})"), InputError);
  EXPECT_THROW(
      (void)read("phi3",
                 R"("rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [1.0]})"),
      InputError);
  EXPECT_THROW((void)read("llama", R"("rope_theta": 0)"), InputError);
}

}  // namespace
}  // namespace hexaplan::presets
