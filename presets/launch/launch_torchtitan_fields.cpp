// Which of torchtitan's models a plan's is.
#include <algorithm>
#include <iterator>
#include <string>

#include "presets/launch/launch_fields.h"
#include "presets/launch/launch_readers.h"
#include "presets/launch/launch_reading.h"
#include "presets/launch/launch_words.h"
#include "presets/models/hub_models.h"

namespace hexaplan::presets {

namespace {

using S = const costmodel::Scenario&;
using V = const ValueReader&;
using R = LaunchReading&;

/// Flavors whose dimensions are those of a model on the hub (pytorch/torchtitan@v0.2.2 torchtitan/models:
/// llama3, qwen3, deepseek_v3, gpt_oss, __init__.py each). Qwen3-235B-A22B's has another RoPE base.
struct Flavor {
  std::string_view hub_name, name, flavor;
};
constexpr Flavor kFlavors[] = {
    {"meta-llama/Meta-Llama-3-8B", "llama3", "8B"},
    {"meta-llama/Meta-Llama-3-70B", "llama3", "70B"},
    {"meta-llama/Llama-3.1-8B", "llama3", "8B"},
    {"meta-llama/Llama-3.1-70B", "llama3", "70B"},
    {"meta-llama/Llama-3.1-405B", "llama3", "405B"},
    {"Qwen/Qwen3-0.6B", "qwen3", "0.6B"},
    {"Qwen/Qwen3-4B", "qwen3", "4B"},
    {"Qwen/Qwen3-8B", "qwen3", "8B"},
    {"Qwen/Qwen3-14B", "qwen3", "14B"},
    {"Qwen/Qwen3-32B", "qwen3", "32B"},
    {"Qwen/Qwen3-30B-A3B", "qwen3", "30B-A3B"},
    {"deepseek-ai/DeepSeek-V3", "deepseek_v3", "671B"},
    {"openai/gpt-oss-20b", "gpt_oss", "20b"},
    {"openai/gpt-oss-120b", "gpt_oss", "120b"},
};
const Flavor* flavor_of(S s) {
  const std::string hub = hub_name_of_model(s.model);
  const auto row = std::find_if(std::begin(kFlavors), std::end(kFlavors),
                                [&](const Flavor& each) { return each.hub_name == hub; });
  return row == std::end(kFlavors) ? nullptr : row;
}
/// "8B" of "llama3": either may come first, and a command's stands in place of the file's.
void name_model(R r) {
  const bool both = !r.family.empty() && !r.flavor.empty();
  r.model_name = r.family + (both ? "-" : "") + r.flavor;
}
void read_name(V v, R r) {
  r.family = v.text();
  name_model(r);
}
void read_flavor(V v, R r) {
  r.flavor = text_in(v);
  name_model(r);
}

constexpr LaunchField kTorchtitanSettings[] = {
    {[](S s) -> JsonValue {
       const Flavor* flavor = flavor_of(s);
       return flavor == nullptr ? JsonValue{} : JsonValue{flavor->name};
     },
     {kNone, kNone, "model.name"},
     read_name},
    {[](S s) -> JsonValue {
       const Flavor* flavor = flavor_of(s);
       return flavor == nullptr ? JsonValue{} : JsonValue{flavor->flavor};
     },
     {kNone, kNone, "model.flavor"},
     read_flavor},
    // Where scripts/download_hf_assets.py puts them.
    {[](S s) -> JsonValue {
       const Flavor* flavor = flavor_of(s);
       if (flavor == nullptr) return {};
       return "./assets/hf/" + std::string{flavor->hub_name.substr(flavor->hub_name.find('/') + 1)};
     },
     {kNone, kNone, "model.hf_assets_path"},
     read_assets},
};

}  // namespace

std::span<const LaunchField> torchtitan_model_fields() {
  return kTorchtitanSettings;
}

}  // namespace hexaplan::presets
