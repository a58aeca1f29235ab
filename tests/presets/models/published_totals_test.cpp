// Parameter totals of the model presets against the figures their publishers print.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "costmodel/parameters/parameter_tensors.h"
#include "presets/json/read_json.h"
#include "presets/models/model_preset.h"
#include "presets/models/read_model_config.h"

namespace hexaplan::presets {
namespace {

const std::filesystem::path kRoot{HEXAPLAN_SOURCE_DIR};
const std::filesystem::path kFolder = kRoot / "presets" / "models";

costmodel::ParameterCount count(const std::string& name) {
  return costmodel::count_parameters(read_model_preset(kFolder / (name + ".json")).spec);
}

/// Test names hold no punctuation.
std::string test_name(std::string name) {
  for (char& c : name) {
    c = std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

// Where a total is printed.
constexpr const char* kSafetensors = "safetensors metadata of the hub repository that the preset names";
constexpr const char* kModelCard = "model card of the hub repository that the preset names";
constexpr const char* kModules = "num_parameters() of the transformers model";

struct ExactTotal {
  const char* name;
  std::int64_t total;
  const char* source;
};
class PublishedTotal : public testing::TestWithParam<ExactTotal> {};

TEST_P(PublishedTotal, is_met_exactly) {
  EXPECT_EQ(count(GetParam().name).total, GetParam().total) << GetParam().source;
}

// clang-format off
constexpr ExactTotal kExact[] = {
    {"qwen3-next-80b-a3b", 79'674'391'296, kModules},
    {"qwen3.5-27b", 26'895'998'464, "num_parameters() of its language model, Qwen3_5ForCausalLM"},
    {"qwen3.5-35b-a3b", 34'660'610'688, "num_parameters() of its language model, Qwen3_5MoeForCausalLM"},
    {"nemotron-h-8b", 8'100'852'736, kModules},
    {"nemotron-h-56b", 56'324'350'464, kModules},
    {"nemotron-nano-9b-v2", 8'888'227'328, kModules},
    {"nemotron-3-nano-30b-a3b", 31'577'940'288, "num_parameters() and the buffers of its routers"},
    {"falcon-mamba-7b", 7'272'665'088, kModules},
    {"jamba-v0.1", 51'570'323'328, kModules},
    {"minimax-text-01", 456'089'655'296, kModules},
    {"kimi-linear-48b-a3b", 49'122'681'728, "num_parameters() and the buffers of its routers"},
    {"llama-7b", 6'738'415'616, kSafetensors},
    {"llama-13b", 13'015'864'320, kSafetensors},
    {"llama-30b", 32'528'943'616, kSafetensors},
    {"llama-65b", 65'285'660'672, kSafetensors},
    {"llama-2-7b", 6'738'415'616, kSafetensors},
    {"llama-2-13b", 13'015'864'320, kSafetensors},
    {"llama-2-70b", 68'976'648'192, kSafetensors},
    {"llama-3-8b", 8'030'261'248, kSafetensors},
    {"llama-3-70b", 70'553'706'496, kSafetensors},
    {"llama-3.1-8b", 8'030'261'248, kSafetensors},
    {"llama-3.1-70b", 70'553'706'496, kSafetensors},
    {"llama-3.1-405b", 405'853'388'800, kSafetensors},
    {"llama-3.2-1b", 1'235'814'400, kSafetensors},
    {"llama-3.2-3b", 3'212'749'824, kSafetensors},
    {"mistral-7b", 7'241'732'096, kSafetensors},
    {"mistral-7b-v0.3", 7'248'023'552, kSafetensors},
    {"mistral-nemo-12b", 12'247'782'400, kSafetensors},
    {"mistral-large-123b", 122'610'069'504, kSafetensors},
    {"mixtral-8x7b", 46'702'792'704, kSafetensors},
    {"mixtral-8x22b", 140'620'634'112, kSafetensors},
    {"qwen2.5-0.5b", 494'032'768, kSafetensors},
    {"qwen2.5-1.5b", 1'543'714'304, kSafetensors},
    {"qwen2.5-7b", 7'615'616'512, kSafetensors},
    {"qwen2.5-14b", 14'770'033'664, kSafetensors},
    {"qwen2.5-32b", 32'763'876'352, kSafetensors},
    {"qwen2.5-72b", 72'706'203'648, kSafetensors},
    {"qwen1.5-moe-a2.7b", 14'315'784'192, kSafetensors},
    {"qwen3-0.6b", 596'049'920, kModules},
    {"qwen3-4b", 4'022'468'096, kSafetensors},
    {"qwen3-8b", 8'190'735'360, kSafetensors},
    {"qwen3-14b", 14'768'307'200, kSafetensors},
    {"qwen3-32b", 32'762'123'264, kSafetensors},
    {"qwen3-30b-a3b", 30'532'122'624, kSafetensors},
    {"qwen3-235b-a22b", 235'093'634'560, kSafetensors},
    {"deepseek-v2-lite", 15'706'484'224, kSafetensors},
    {"deepseek-v2", 235'741'434'880, kSafetensors},
    {"deepseek-v3", 671'026'419'200, "safetensors metadata without FP8 scales and MTP module"},
    {"kimi-k2", 1'026'408'232'448, "safetensors metadata without FP8 scales"},
    {"gemma-2b", 2'506'172'416, kSafetensors},
    {"gemma-7b", 8'537'680'896, kSafetensors},
    {"gemma-2-2b", 2'614'341'888, kSafetensors},
    {"gemma-2-9b", 9'241'705'984, kSafetensors},
    {"gemma-2-27b", 27'227'128'320, kSafetensors},
    {"gemma-3-1b", 999'885'952, kSafetensors},
    {"gemma-3-4b", 3'880'263'168, kModules},
    {"gemma-3-27b", 27'009'346'304, kModules},
    {"phi-3-mini", 3'821'079'552, kSafetensors},
    {"phi-3-medium", 13'960'238'080, kSafetensors},
    {"phi-4", 14'659'507'200, kSafetensors},
    {"gpt-oss-20b", 20'914'757'184, kModules},
    {"gpt-oss-120b", 116'829'156'672, kModules},
    {"gpt2", 124'439'808, kModules},
    {"gpt2-medium", 354'823'168, kModules},
    {"gpt2-large", 774'030'080, kModules},
    {"gpt2-xl", 1'557'611'200, kModules},
    {"gpt-neox-20b", 20'554'567'680, kModelCard},
    {"pythia-6.9b", 6'857'302'016, kModelCard},
    {"pythia-12b", 11'846'072'320, kModelCard},
    {"bloom-7b1", 7'069'016'064, kModelCard},
    {"bloom-176b", 176'247'271'424, kModelCard},
    {"tinyllama-1.1b", 1'100'048'384, kSafetensors},
    {"codellama-7b", 6'738'546'688, kSafetensors},
    {"codellama-13b", 13'016'028'160, kSafetensors},
    {"codellama-34b", 33'743'970'304, kSafetensors},
    {"codellama-70b", 68'976'910'336, kSafetensors},
    {"codellama-70b-instruct", 68'976'910'336, kModules},
    {"qwen2.5-3b", 3'085'938'688, kSafetensors},
    {"qwen3-1.7b", 1'720'574'976, kModules},
    {"falcon-7b", 6'921'720'704, kModules},
    {"falcon-40b", 41'303'293'952, kModules},
    {"phi-2", 2'779'683'840, kSafetensors},
    {"phi-1.5", 1'418'270'720, kSafetensors},
    {"phi-4-mini", 3'836'021'760, kSafetensors},
    {"smollm2-135m", 134'515'008, kSafetensors},
    {"smollm2-360m", 361'821'120, kSafetensors},
    {"smollm2-1.7b", 1'711'376'384, kSafetensors},
    {"smollm3-3b", 3'075'098'624, kModules},
    {"stablelm-3b", 2'795'443'200, kSafetensors},
    {"stablelm-2-1.6b", 1'644'515'328, kSafetensors},
    {"pythia-70m", 70'426'624, kModelCard},
    {"pythia-160m", 162'322'944, kModelCard},
    {"pythia-410m", 405'334'016, kModelCard},
    {"pythia-1b", 1'011'781'632, kModelCard},
    {"pythia-1.4b", 1'414'647'808, kModelCard},
    {"pythia-2.8b", 2'775'208'960, kModelCard},
    {"open-llama-3b", 3'426'473'600, kSafetensors},
    {"mistral-7b-v0.2", 7'241'732'096, kSafetensors},
    {"mistral-small-24b", 23'572'403'200, kSafetensors},
    {"qwen3-coder-480b-a35b", 480'154'875'392, kSafetensors},
    {"glm-4-9b", 9'400'279'040, kSafetensors},
    {"seed-oss-36b", 36'151'104'512, kSafetensors},
    {"apertus-8b", 8'053'338'176, kSafetensors},
    {"olmoe-1b-7b", 6'919'161'856, kSafetensors},
    {"command-r-35b", 34'980'831'232, kSafetensors},
    {"gpt-j-6b", 6'050'882'784, kSafetensors},
    {"starcoder2-3b", 3'030'371'328, kSafetensors},
    {"starcoder2-7b", 7'173'923'840, kSafetensors},
    {"starcoder2-15b", 15'957'889'024, kSafetensors},
    {"yi-6b", 6'061'035'520, kSafetensors},
    {"yi-34b", 34'388'917'248, kSafetensors},
    {"falcon3-1b", 1'669'408'768, kSafetensors},
    {"falcon3-3b", 3'227'655'168, kSafetensors},
    {"falcon3-7b", 7'455'550'464, kSafetensors},
    {"falcon3-10b", 10'305'653'760, kSafetensors},
    {"aya-23-8b", 8'028'033'024, kSafetensors},
    {"olmo-2-7b", 7'298'617'344, kSafetensors},
    {"olmo-2-13b", 13'716'198'400, kSafetensors},
    {"olmo-2-32b", 32'234'279'936, kSafetensors},
    {"moonlight-16b-a3b", 15'960'110'208, kSafetensors},
    {"gemma-3-12b", 11'766'034'176, kModules},
    {"falcon-180b", 178'557'088'768, "safetensors metadata, 179,522,565,120 with both copies of the tied embedding"},
    {"minimax-m2", 228'689'764'864, "safetensors metadata without FP8 scales and MTP modules"},
    {"qwen3-4b-2507", 4'022'468'096, kSafetensors},
    {"qwen3-30b-a3b-2507", 30'532'122'624, kSafetensors},
    {"qwen3-235b-a22b-2507", 235'093'634'560, kSafetensors},
    {"exaone-3.0-7.8b", 7'818'448'896, "num_parameters() of its config.json, not compared with the hub"},
    {"exaone-3.5-2.4b", 2'405'327'360, "num_parameters() of its config.json, not compared with the hub"},
    {"exaone-3.5-7.8b", 7'818'448'896, "num_parameters() of its config.json, not compared with the hub"},
    {"exaone-3.5-32b", 32'003'200'000, "num_parameters() of its config.json, not compared with the hub"},
    {"sarvam-30b", 32'152'650'368, "num_parameters() and the buffers of its routers"},
    {"kolibri-1", 78'103'074'560, "num_parameters() and the buffers of its routers"},
    {"mpt-7b", 6'649'286'656, "pytorch_model.bin.index.json: 13,298,573,312 bytes of bf16"},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(table, PublishedTotal, testing::ValuesIn(kExact),
                         [](const auto& row) { return test_name(row.param.name); });

struct RoundedTotal {
  const char* name;
  double billions;   // as printed
  double tolerance;  // half a unit of the last digit that is meant
  const char* source;
};
class RoundedPublishedTotal : public testing::TestWithParam<RoundedTotal> {};

TEST_P(RoundedPublishedTotal, is_met_to_the_printed_digits) {
  EXPECT_NEAR(static_cast<double>(count(GetParam().name).total) / 1e9, GetParam().billions,
              GetParam().tolerance)
      << GetParam().source;
}

constexpr const char* kNarayanan = "arXiv:2104.04473 Table 1";
constexpr const char* kShoeybi = "arXiv:1909.08053 Table 1";
constexpr const char* kZhang = "arXiv:2205.01068 Table 1";
// clang-format off
constexpr RoundedTotal kRounded[] = {
    {"megatron-gpt-1.2b", 1.2, 0.05, kShoeybi},
    {"megatron-gpt-2.5b", 2.5, 0.05, kShoeybi},
    {"megatron-gpt-4.2b", 4.2, 0.05, kShoeybi},
    {"megatron-gpt-8.3b", 8.3, 0.05, kShoeybi},
    {"megatron-gpt-1.7b", 1.7, 0.05, kNarayanan},
    {"megatron-gpt-3.6b", 3.6, 0.05, kNarayanan},
    {"megatron-gpt-7.5b", 7.5, 0.05, kNarayanan},
    {"megatron-gpt-18b", 18.4, 0.05, kNarayanan},
    {"megatron-gpt-39b", 39.1, 0.05, kNarayanan},
    {"megatron-gpt-76b", 76.1, 0.05, kNarayanan},
    {"megatron-gpt-145b", 145.6, 0.05, kNarayanan},
    {"megatron-gpt-310b", 310.1, 0.05, kNarayanan},
    {"mt-nlg-530b", 529.6, 0.05, kNarayanan},
    {"megatron-gpt-1t", 1008.0, 0.05, kNarayanan},
    {"megatron-gpt-22b", 22, 0.5, "arXiv:2205.05198 Table 3"},
    {"gpt-3-175b", 175.0, 0.5, "arXiv:2005.14165 Table 2.1"},
    {"opt-6.7b", 6.7, 0.05, kZhang},
    {"opt-13b", 13, 0.5, kZhang},
    {"opt-30b", 30, 0.5, kZhang},
    {"opt-66b", 66, 0.5, kZhang},
    {"mpt-30b", 29.95, 0.01, kModelCard},
    {"dbrx", 132, 0.5, kModelCard},
    {"llama-4-scout", 109, 1.5, kModelCard},     // with the vision tower
    {"llama-4-maverick", 400, 1.5, kModelCard},  // with the vision tower
    {"glm-4.5", 355, 2.5, kModelCard},
    {"glm-4.5-air", 106, 1, kModelCard},
    {"glm-4.7-flash", 30, 0.5, kModelCard},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(table, RoundedPublishedTotal, testing::ValuesIn(kRounded),
                         [](const auto& row) { return test_name(row.param.name); });

class ActiveParameters : public testing::TestWithParam<RoundedTotal> {};

TEST_P(ActiveParameters, are_what_the_publisher_names) {
  EXPECT_NEAR(static_cast<double>(count(GetParam().name).active) / 1e9, GetParam().billions,
              GetParam().tolerance)
      << GetParam().source;
}

// Some publishers leave the input embedding out: the tolerance holds it.
// clang-format off
constexpr RoundedTotal kActive[] = {
    {"mixtral-8x7b", 12.9, 0.05, "https://mistral.ai/news/mixtral-of-experts"},
    {"mixtral-8x22b", 39, 0.5, "https://mistral.ai/news/mixtral-8x22b"},
    {"qwen3-30b-a3b", 3.3, 0.1, kModelCard},
    {"qwen3-235b-a22b", 22, 0.5, kModelCard},
    {"qwen1.5-moe-a2.7b", 2.7, 0.05, kModelCard},
    {"deepseek-v2", 21, 0.5, "arXiv:2405.04434 abstract"},
    {"deepseek-v2-lite", 2.4, 0.3, "arXiv:2405.04434 appendix B, without embedding"},
    {"deepseek-v3", 37, 0.6, "arXiv:2412.19437 abstract, without embedding"},
    {"kimi-k2", 32, 1.0, "arXiv:2507.20534 Table 2, without embedding"},
    {"qwen3-coder-480b-a35b", 35, 0.5, kModelCard},
    {"llama-4-scout", 17, 0.6, kModelCard},
    {"llama-4-maverick", 17, 0.6, kModelCard},
    {"minimax-m2", 10, 1.1, kModelCard},
    {"glm-4.5", 32, 1.7, kModelCard},
    {"glm-4.5-air", 12, 1.5, kModelCard},
    {"dbrx", 36, 0.6, kModelCard},
    {"olmoe-1b-7b", 1.3, 0.05, "arXiv:2409.02060 Table 1"},
    {"moonlight-16b-a3b", 2.24 + 0.67, 0.05, "arXiv:2502.16982 Table 4; 2 x 163,840 x 2,048 of embedding and head"},
};
// clang-format on
INSTANTIATE_TEST_SUITE_P(table, ActiveParameters, testing::ValuesIn(kActive),
                         [](const auto& row) { return test_name(row.param.name); });

std::vector<std::filesystem::path> preset_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{kFolder}) {
    if (entry.path().extension() == ".json" && entry.path().filename() != "aliases.json") {
      files.push_back(entry.path());
    }
  }
  return files;
}

TEST(model_presets, are_named_like_their_files_and_say_where_they_come_from) {
  EXPECT_GE(preset_files().size(), 110U);
  for (const std::filesystem::path& file : preset_files()) {
    const ModelPreset model = read_model_preset(file);
    EXPECT_EQ(model.name, file.stem().string());
    EXPECT_EQ(model.spec.name, model.name);
    EXPECT_THAT(model.source, testing::AnyOf(testing::StartsWith("https://"), testing::StartsWith("arXiv:")))
        << file;
  }
}

TEST(model_presets, each_has_a_published_total_in_this_file) {
  std::ifstream self{kRoot / "tests/presets/models/published_totals_test.cpp"};
  std::stringstream text;
  text << self.rdbuf();
  for (const std::filesystem::path& file : preset_files()) {
    EXPECT_THAT(text.str(), testing::HasSubstr("{\"" + file.stem().string() + "\", ")) << "add a row for it";
  }
}

TEST(model_presets, the_bare_config_gives_the_same_model) {
  for (const std::filesystem::path& file : preset_files()) {
    const JsonDocument document = read_json_file(file);
    const std::string config = to_text(*document.root.find("config"));
    EXPECT_EQ(model_from_config_text(config, "models/" + file.stem().string() + "/config.json"),
              read_model_preset(file).spec);
  }
}

}  // namespace
}  // namespace hexaplan::presets
