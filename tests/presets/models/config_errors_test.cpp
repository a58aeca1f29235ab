// Every config.json that cannot be planned says why in one line: file, JSON pointer, value, what was
// expected.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <string>

#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/input_error.h"
#include "presets/models/read_model_config.h"

namespace hexaplan::presets {
namespace {

struct Malformed {
  const char* name;
  std::string json;
  std::string message;  // without "config.json: "
};
class MalformedConfig : public testing::TestWithParam<Malformed> {};

TEST_P(MalformedConfig, is_refused_with_one_clear_line) {
  try {
    static_cast<void>(model_from_config_text(GetParam().json, "config.json"));
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string{error.what()}, "config.json" + GetParam().message);
  }
}

std::string llama(const std::string& fields) {
  return R"({"model_type": "llama", )" + fields + "}";
}
std::string of(const std::string& type, const std::string& fields) {
  return R"({"model_type": ")" + type + R"(", )" + fields + "}";
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) {
    result += text;
  }
  return result;
}

const std::string kTypes =
    "llama, mistral, mixtral, qwen2, qwen2_moe, qwen3, qwen3_moe, deepseek_v2, deepseek_v3, kimi_k2, gemma, "
    "gemma2, "
    "gemma3_text, phi3, gpt_oss, gpt2, gpt_neox, bloom, opt, mpt, "
    "glm, glm4, glm4_moe, dots1, ernie4_5, helium, seed_oss, stablelm, gptj, gpt_bigcode and " +
    std::to_string(supported_model_types().size() - 30) + " more";

INSTANTIATE_TEST_SUITE_P(
    table, MalformedConfig,
    testing::Values(
        Malformed{
            "bert", of("bert", R"("hidden_size": 768)"),
            ": /model_type: got \"bert\", expected another model_type; bert has an encoder, or attention "
            "between encoder and decoder: not modelled"},
        Malformed{"t5", of("t5", R"("d_model": 512)"),
                  ": /model_type: got \"t5\", expected another model_type; t5 has an encoder, or attention "
                  "between encoder and decoder: not modelled"},
        Malformed{
            "empty", "",
            R"(:1:1: got the end of the text, expected JSON; unexpected end of input; expected '[', '{', or a literal)"},
        Malformed{"not_an_object", "[1, 2]", R"(: got an array, expected an object)"},
        Malformed{"truncated", R"({"model_type": "llama")",
                  R"(:1:23: got the end of the text, expected JSON; unexpected end of input; expected '}')"},
        Malformed{"trailing_comma", R"({"model_type": "llama",})",
                  R"(:1:24: got "}", expected JSON; remove the comma before it)"},
        Malformed{"bare_nan", llama(R"("hidden_size": NaN)"),
                  R"(:1:40: got "N", expected JSON; JSON has no NaN; write a number or null)"},
        Malformed{"duplicate_key", llama(R"("hidden_size": 1, "hidden_size": 2)"),
                  R"(: /hidden_size: got the key twice, expected each key once)"},
        Malformed{"too_deep", llama("\"x\": " + repeated("[", 100) + repeated("]", 100)),
                  ": /x" + repeated("/0", 63) + ": got deeper nesting, expected at most 64 levels"},
        Malformed{"no_model_type", R"({"hidden_size": 4096})",
                  R"(: /model_type: got nothing, expected one of )" + kTypes +
                      R"(; is this the config.json of a Hugging Face model?)"},
        Malformed{"model_type_is_a_number", R"({"model_type": 3})",
                  R"(: /model_type: got 3, expected a string)"},
        Malformed{"misspelt_model_type", R"({"model_type": "lama"})",
                  R"(: /model_type: got "lama", expected one of )" + kTypes + R"(; did you mean "llama"?)"},
        Malformed{"unknown_model_type", R"({"model_type": "my_own"})",
                  R"(: /model_type: got "my_own", expected one of )" + kTypes},
        Malformed{
            "known_but_not_modelled", R"({"model_type": "rwkv"})",
            R"(: /model_type: got "rwkv", expected another model_type; rwkv has layers with a state of another kind than delta nets, Mamba, lightning attention and short convolutions: not modelled)"},
        Malformed{"unknown_wrapper_of_a_language_model",
                  R"({"model_type": "my_vision", "text_config": {"model_type": "llama"}})",
                  R"(: /model_type: got "my_vision", expected one of )" + kTypes +
                      R"(; save its "text_config" as a file of its own to plan the language model)"},
        Malformed{"wrapper_of_an_unknown_language_model",
                  R"({"model_type": "llava", "text_config": {"model_type": "my_own"}})",
                  R"(: /text_config/model_type: got "my_own", expected one of )" + kTypes},
        Malformed{"mixers_of_another_number",
                  of("granitemoehybrid", R"("layer_types": ["attention", "mamba"])"),
                  R"(: /layer_types: got an array, expected one entry for each of 32 layers, not 2)"},
        Malformed{
            "another_mixer", of("qwen3_next", R"("num_hidden_layers": 1, "layer_types": ["rnn"])"),
            R"(: /layer_types/0: got "rnn", expected one of full_attention, attention, linear_attention, mamba, conv)"},
        Malformed{
            "another_letter", of("nemotron_h", R"("hybrid_override_pattern": "M-X")"),
            R"(: /hybrid_override_pattern: got "M-X", expected a letter for each layer: M (Mamba-2), * (attention), - (MLP) or E (experts))"},
        Malformed{
            "another_number_of_letters",
            of("nemotron_h", R"("num_hidden_layers": 4, "hybrid_override_pattern": "M-*")"),
            R"(: /num_hidden_layers: got 4, expected 3, as many as layers_block_type or hybrid_override_pattern has)"},
        Malformed{"heads_of_no_whole_group",
                  of("qwen3_next", R"("linear_num_value_heads": 24, "linear_num_key_heads": 16)"),
                  R"(: /linear_num_value_heads: got 24, expected a multiple of 16 (linear_num_key_heads))"},
        Malformed{
            "mamba_heads_beside_the_width", of("mamba2", R"("num_heads": 24)"),
            R"(: /num_heads: got 24, expected heads of 64 that make expand·hidden_size = 8192 columns)"},
        Malformed{"attention_behind_its_period",
                  of("jamba", R"("attn_layer_period": 4, "attn_layer_offset": 4)"),
                  R"(: /attn_layer_offset: got 4, expected less than 4 (attn_layer_period))"},
        Malformed{"layers_of_kimi_count_from_one",
                  of("kimi_linear", R"("linear_attn_config": {"full_attn_layers": [0], "kda_layers": [1]})"),
                  R"(: /linear_attn_config/full_attn_layers/0: got 0, expected a whole number from 1 to 27)"},
        Malformed{"types_of_minimax_layers",
                  of("minimax_text_01", R"("num_hidden_layers": 4, "attn_type_list": [0, 0, 1])"),
                  R"(: /attn_type_list: got an array, expected one entry for each of 4 layers, not 3)"},
        Malformed{
            "shared_experts_of_minimax", of("minimax_m1", R"("shared_intermediate_size": 64)"),
            R"(: /shared_intermediate_size: got 64, expected 0: MiniMax's shared experts are not modelled)"},
        Malformed{"widths_of_kimi_are_an_object", of("kimi_linear", R"("linear_attn_config": 128)"),
                  R"(: /linear_attn_config: got 128, expected an object)"},
        Malformed{"mamba_heads_do_not_divide", of("bamba", R"("mamba_n_heads": 100)"),
                  R"(: /mamba_n_heads: got 100, expected a divisor of 8192 columns)"},
        Malformed{
            "several_attending_modules", of("qwen3_next", R"("mtp_num_hidden_layers": 2)"),
            ": /mtp_num_hidden_layers: got 2, expected 0 or 1: several layers behind one projection are "
            "not modelled"},
        Malformed{"a_module_behind_a_recurrence",
                  of("qwen3_5_text", R"("num_hidden_layers": 3, "mtp_num_hidden_layers": 1)"),
                  ": /mtp_num_hidden_layers: got 1, expected 0, or a last layer that attends as the module "
                  "does"},
        Malformed{"a_module_with_its_own_table",
                  of("qwen3_5_text", R"("mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": true)"),
                  ": /mtp_use_dedicated_embeddings: got true, expected false: a module with an embedding of "
                  "its own is not modelled"},
        Malformed{"a_module_of_another_pattern",
                  of("nemotron_h", R"("hybrid_override_pattern": "ME*E", "num_nextn_predict_layers": 1, )"
                                   R"("mtp_hybrid_override_pattern": "M*E")"),
                  ": /mtp_hybrid_override_pattern: got \"M*E\", expected attention and experts (*E): "
                  "multi-token-prediction modules of other layers are not modelled"},
        Malformed{
            "experts_in_a_latent_space",
            of("nemotron_h", R"("hybrid_override_pattern": "ME", "moe_latent_size": 1024)"),
            R"(: /moe_latent_size: got 1024, expected null: experts that work in a latent space are not modelled)"},
        Malformed{"convolutions_without_their_layers", of("lfm2_moe", R"("hidden_size": 2048)"),
                  R"(: /layer_types: got 0 by default, expected "conv" or "full_attention" for each layer)"},
        Malformed{"unrotated_layers_of_another_length",
                  of("smollm3", R"("num_hidden_layers": 3, "no_rope_layers": [1, 0])"),
                  R"(: /no_rope_layers: got an array, expected an entry for each of 3 layers)"},
        Malformed{"string_for_number", llama(R"("hidden_size": "4096")"),
                  R"(: /hidden_size: got "4096", expected a whole number >= 1; write 4096 without quotes)"},
        Malformed{"true_for_number", llama(R"("hidden_size": true)"),
                  R"(: /hidden_size: got true, expected a whole number >= 1)"},
        Malformed{"number_for_flag", llama(R"("tie_word_embeddings": 1)"),
                  R"(: /tie_word_embeddings: got 1, expected true or false)"},
        Malformed{"fraction", llama(R"("num_hidden_layers": 0.5)"),
                  R"(: /num_hidden_layers: got 0.5, expected a whole number from 1 to 10000)"},
        Malformed{"zero", llama(R"("hidden_size": 0)"),
                  R"(: /hidden_size: got 0, expected a whole number >= 1)"},
        Malformed{"negative", llama(R"("vocab_size": -1)"),
                  R"(: /vocab_size: got -1, expected a whole number >= 1)"},
        Malformed{"overflows_a_double", llama(R"("vocab_size": 1e400)"),
                  R"(:1:39: got 1e400, expected a number between -1.8e308 and 1.8e308)"},
        Malformed{"two_to_the_31", llama(R"("hidden_size": 2147483648)"),
                  R"(: /hidden_size: got 2147483648, expected a whole number <= 2147483647)"},
        Malformed{"two_to_the_64", llama(R"("vocab_size": 18446744073709551616)"),
                  R"(: /vocab_size: got 1.8446744073709552e+19, expected a whole number >= 1)"},
        Malformed{"wrapped_infinity", llama(R"("hidden_size": {"__float__": "Infinity"})"),
                  R"(: /hidden_size: got an object, expected a whole number >= 1)"},
        Malformed{"too_many_layers", llama(R"("num_hidden_layers": 1000000)"),
                  R"(: /num_hidden_layers: got 1000000, expected a whole number <= 10000)"},
        Malformed{
            "too_large_to_plan", llama(R"("hidden_size": 1048576, "num_hidden_layers": 10000)"),
            R"(: got a model of 4.43e+16 parameters, expected at most 1e+15: too large to plan; check hidden size, layers, experts and vocabulary)"},
        Malformed{
            "product_beyond_64_bits",
            llama(R"("hidden_size": 2147483647, "intermediate_size": 2147483647, "num_attention_heads": 1)"),
            R"(: got a model of 1.03e+21 parameters, expected at most 1e+15: too large to plan; check hidden size, layers, experts and vocabulary)"},
        Malformed{"heads_do_not_divide_hidden", llama(R"("hidden_size": 4096, "num_attention_heads": 30)"),
                  R"(: /num_attention_heads: got 30, expected a divisor of 4096 (hidden_size))"},
        Malformed{"default_heads_do_not_divide_hidden", llama(R"("hidden_size": 100)"),
                  R"(: /num_attention_heads: got 32 by default, expected a divisor of 100 (hidden_size))"},
        Malformed{"kv_heads_do_not_divide_heads",
                  llama(R"("num_attention_heads": 32, "num_key_value_heads": 5)"),
                  R"(: /num_key_value_heads: got 5, expected a divisor of 32 (num_attention_heads))"},
        Malformed{
            "default_kv_heads_do_not_divide_heads", of("mistral", R"("num_attention_heads": 4)"),
            R"(: /num_key_value_heads: got 8 by default, expected a divisor of 4 (num_attention_heads))"},
        Malformed{
            "unknown_activation", llama(R"("hidden_act": "tanh")"),
            R"(: /hidden_act: got "tanh", expected one of silu, swish, gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, quick_gelu, relu, relu2, xielu)"},
        Malformed{"zero_experts", of("mixtral", R"("num_local_experts": 0)"),
                  R"(: /num_local_experts: got 0, expected a whole number from 1 to 1000000)"},
        Malformed{"more_chosen_than_there_are", of("mixtral", R"("num_experts_per_tok": 9)"),
                  R"(: /num_experts_per_tok: got 9, expected at most 8 (num_local_experts))"},
        Malformed{"default_top_k_of_too_few_experts", of("qwen3_moe", R"("num_experts": 4)"),
                  R"(: /num_experts_per_tok: got 8 by default, expected at most 4 (num_experts))"},
        Malformed{"top_k_left_out", of("deepseek_v2", R"("n_routed_experts": 64)"),
                  R"(: /num_experts_per_tok: got nothing, expected this key)"},
        Malformed{"first_k_dense_beyond_the_layers", of("deepseek_v3", R"("first_k_dense_replace": 62)"),
                  R"(: /first_k_dense_replace: got 62, expected at most 61 (num_hidden_layers))"},
        Malformed{"dense_layer_beyond_the_layers", of("qwen3_moe", R"("mlp_only_layers": [1, 24])"),
                  R"(: /mlp_only_layers/1: got 24, expected a whole number <= 23)"},
        Malformed{"sparse_step_zero", of("qwen3_moe", R"("decoder_sparse_step": 0)"),
                  R"(: /decoder_sparse_step: got 0, expected a whole number >= 1)"},
        Malformed{"no_latent_rank", of("deepseek_v3", R"("kv_lora_rank": 0)"),
                  R"(: /kv_lora_rank: got 0, expected a whole number >= 1)"},
        Malformed{"too_few_layer_types", of("gemma2", R"("layer_types": ["full_attention"])"),
                  R"(: /layer_types: got an array, expected one entry for each of 26 layers, not 1)"},
        Malformed{
            "unknown_layer_type", of("qwen3", R"("num_hidden_layers": 1, "use_sliding_window": true,
                  "layer_types": ["linear_attention"])"),
            R"(: /layer_types/0: got "linear_attention", expected one of full_attention, sliding_attention, chunked_attention; did you mean "sliding_attention"?)"},
        Malformed{"gemma_3_without_text_config", R"({"model_type": "gemma3"})",
                  R"(: /text_config: got nothing, expected this key)"},
        Malformed{"gemma_3_text_config_is_a_list", R"({"model_type": "gemma3", "text_config": []})",
                  R"(: /text_config: got an array, expected an object)"},
        Malformed{"nested_pointer", R"({"model_type": "gemma3", "text_config": {"hidden_size": "big"}})",
                  R"(: /text_config/hidden_size: got "big", expected a whole number >= 1)"},
        Malformed{
            "opt_with_projected_embedding", of("opt", R"("hidden_size": 1024, "word_embed_proj_dim": 512,
                  "num_attention_heads": 16)"),
            R"(: /word_embed_proj_dim: got 512, expected 1024 (hidden_size): projected embeddings are not modelled)"},
        Malformed{"mpt_kv_heads_do_not_divide",
                  of("mpt", R"("attn_config": {"attn_type": "grouped_query_attention", "kv_n_heads": 5})"),
                  R"(: /attn_config/kv_n_heads: got 5, expected a divisor of 16 (n_heads))"},
        Malformed{
            "mpt_with_query_key_norm", of("mpt", R"("attn_config": {"qk_ln": true})"),
            R"(: /attn_config/qk_ln: got true, expected false: norms over all query heads together are not modelled)"}),
    [](const auto& row) { return row.param.name; });

/// What a person or a tool may write where a size belongs.
constexpr const char* kOddities[] = {"null",     "-1",     "0",    "1",          "3",
                                     "0.5",      "4096.0", "1e18", "2147483647", "9223372036854775807",
                                     "\"4096\"", "true",   "[]",   "{}"};
constexpr const char* kFields[] = {"hidden_size",
                                   "n_embd",
                                   "d_model",
                                   "vocab_size",
                                   "intermediate_size",
                                   "n_inner",
                                   "ffn_dim",
                                   "expansion_ratio",
                                   "num_hidden_layers",
                                   "n_layer",
                                   "n_layers",
                                   "num_attention_heads",
                                   "n_head",
                                   "n_heads",
                                   "num_key_value_heads",
                                   "head_dim",
                                   "max_position_embeddings",
                                   "n_positions",
                                   "max_seq_len",
                                   "sliding_window",
                                   "max_window_layers",
                                   "sliding_window_pattern",
                                   "layer_types",
                                   "hidden_act",
                                   "attention_bias",
                                   "tie_word_embeddings",
                                   "num_experts",
                                   "num_local_experts",
                                   "n_routed_experts",
                                   "num_experts_per_tok",
                                   "moe_intermediate_size",
                                   "n_shared_experts",
                                   "shared_expert_intermediate_size",
                                   "decoder_sparse_step",
                                   "mlp_only_layers",
                                   "first_k_dense_replace",
                                   "moe_layer_freq",
                                   "q_lora_rank",
                                   "kv_lora_rank",
                                   "qk_nope_head_dim",
                                   "qk_rope_head_dim",
                                   "v_head_dim",
                                   "num_nextn_predict_layers",
                                   "topk_method",
                                   "attn_config",
                                   "word_embed_proj_dim",
                                   "text_config"};

/// A config of `type` whose `field` holds `value`, at the top and in text_config.
std::string odd_config(std::string_view type, std::string_view field, std::string_view value) {
  const std::string inner = fmt::format(R"("{}": {}, "use_sliding_window": true)", field, value);
  return field == "text_config"
             ? fmt::format(R"({{"model_type": "{}", {}}})", type, inner)
             : fmt::format(R"({{"model_type": "{}", {}, "text_config": {{{}}}}})", type, inner, inner);
}

/// False when refused with an InputError; anything else that is thrown ends the test.
bool gives_a_countable_model(const std::string& json) {
  try {
    const costmodel::ModelSpec model = model_from_config_text(json, "config.json");
    EXPECT_GT(costmodel::count_parameters(model).total, 0) << json;
    return true;
  } catch (const InputError&) {
    return false;
  }
}

/// How many of the odd values `field` may have.
std::ptrdiff_t count_accepted(std::string_view type, std::string_view field) {
  return std::count_if(std::begin(kOddities), std::end(kOddities), [&](std::string_view value) {
    return gives_a_countable_model(odd_config(type, field, value));
  });
}

TEST(model_from_config_text, any_value_in_any_field_gives_a_countable_model_or_an_input_error) {
  std::ptrdiff_t accepted = 0;
  for (const std::string_view type : supported_model_types()) {
    for (const std::string_view field : kFields) {
      accepted += count_accepted(type, field);
    }
  }
  EXPECT_GT(accepted, 1000);
}

TEST(model_from_config_text, no_beginning_of_a_good_file_is_accepted) {
  const std::string good =
      of("qwen3_moe", R"("hidden_size": 2048, "mlp_only_layers": [1, 2], "tie_word_embeddings": false)");
  for (std::size_t length = 0; length < good.size(); ++length) {
    EXPECT_THROW(static_cast<void>(model_from_config_text(good.substr(0, length), "config.json")), InputError)
        << length;
  }
}

TEST(read_model_config, says_which_file_is_missing) {
  try {
    static_cast<void>(read_model_config("/nonexistent/config.json"));
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::StartsWith("/nonexistent/config.json: "));
  }
}

}  // namespace
}  // namespace hexaplan::presets
