// What PyTorch itself keeps, sends and computes (tests/golden/oracle/*.json, scripts/oracle) against what the
// profiles say. Cases that are knowingly wrong stand in known_differences.json with their cause; that list
// may only shrink.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "costmodel/step/estimate.h"
#include "costmodel/step/model_flops.h"
#include "costmodel/step/step_counts.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/json/read_json.h"
#include "presets/models/read_model_config.h"
#include "presets/oracle/compare_step.h"
#include "presets/oracle/framework_step.h"

namespace hexaplan::presets {
namespace {

using namespace costmodel;

const std::string kFolder = std::string{HEXAPLAN_SOURCE_DIR} + "/tests/golden/oracle/";

// --- the oracle's cases
// --------------------------------------------------------------------------------------------

const std::string& text_at(const JsonValue& object, std::string_view key) {
  return *object.find(key)->get_if<std::string>();
}
std::int64_t number_at(const JsonValue& object, std::string_view key) {
  return *object.find(key)->get_if<std::int64_t>();
}
bool flag_at(const JsonValue& object, std::string_view key) {
  return *object.find(key)->get_if<bool>();
}
const JsonArray& list_at(const JsonValue& object, std::string_view key) {
  return *object.find(key)->get_if<JsonArray>();
}
const JsonObject& members_at(const JsonValue& object, std::string_view key) {
  return *object.find(key)->get_if<JsonObject>();
}

/// By name: "kept: attention bf16", "peak".
using Pairs = std::map<std::string, ComparedNumber>;
constexpr double kEqual = 1e-9;

std::string key_of(const ComparedNumber& number) {
  return number.what.empty() ? std::string{name_of(number.group)}
                             : fmt::format("{}: {}", name_of(number.group), number.what);
}
void add(ComparedNumbers numbers, Pairs& out) {
  for (ComparedNumber& number : numbers) out[key_of(number)] = std::move(number);
}
void add(ComparedGroup group, double measured, double predicted, Pairs& out) {
  add({{.group = group, .predicted = predicted, .measured = measured, .tolerance = kEqual}}, out);
}

/// A recorded value as what reads answers of the scripts takes it.
ObjectReader reader_of(const JsonValue& value) {
  static const std::string file = "tests/golden/oracle";
  return {file, "", *value.get_if<JsonObject>(), Reading::Strict};
}
InstantPeaks peaks_of(const JsonValue& of) {
  return read_instant_peaks(reader_of(*of.find("peaks")));
}

struct Case {
  std::string name;
  const JsonValue* value;
  Pairs (*compare)(const JsonValue&);
};

Scenario scenario_of(const JsonValue& of, std::string_view framework, std::int64_t world,
                     std::int64_t microbatches) {
  Scenario sc;
  sc.model = model_from_config("config.json", "/config", *of.find("config"));
  sc.framework = find_framework(framework);
  sc.cluster = parse_cluster(world < 8 ? "1xH100" : fmt::format("{}xH100", world));
  sc.recipe.sequence = number_at(of, "sequence");
  sc.recipe.micro_batch = number_at(of, "batch");
  sc.recipe.global_batch = sc.recipe.micro_batch * microbatches;
  const std::string& weights = text_at(of, "weights");
  sc.recipe.parameter_dtype = weights == "bf16" ? DType::Bf16 : DType::Fp32;
  const std::string& recompute = text_at(of, "recompute");
  sc.recipe.recompute.mode = recompute == "full" ? RecomputeMode::Full
                             : recompute == "op" ? RecomputeMode::SelectiveOperators
                                                 : RecomputeMode::None;
  return sc;
}

// --- Hugging Face
// --------------------------------------------------------------------------------------------------

void adapt(const JsonValue& of, Recipe& recipe) {
  if (of.find("adapters")->is_null()) return;
  const std::string& adapters = text_at(of, "adapters");
  recipe.fine_tune = adapters == "ia3" ? FineTune::Ia3 : FineTune::Lora;
  recipe.lora_rank = adapters == "ia3" ? 0 : 16;
  if (recipe.fine_tune == FineTune::Ia3) return;
  constexpr std::pair<std::string_view, AdapterTargets> kTargets[] = {
      {"lora-all", AdapterTargets::AllLinear},
      {"lora-attention", AdapterTargets::Attention},
      {"lora-qkv", AdapterTargets::QueryKeyValue},
      {"lora-qv", AdapterTargets::QueryValue},
      {"lora-mlp", AdapterTargets::Mlp}};
  const auto found = std::find_if(std::begin(kTargets), std::end(kTargets),
                                  [&](const auto& row) { return row.first == adapters; });
  ASSERT_NE(found, std::end(kTargets)) << adapters;
  recipe.lora_targets = found->second;
  recipe.dora = of.find("dora") != nullptr;
}

/// Of the tensors inside layers.
KeptParts measured_kept(const JsonValue& of, const JsonArray& tensors, double layers, bool fp32 = false) {
  const JsonValue& config = *of.find("config");
  const std::int64_t hidden = number_at(config, config.find("n_embd") != nullptr ? "n_embd" : "hidden_size");
  std::vector<KeptTensor> kept;
  for (const JsonValue& t : tensors) {
    const KeptTensor& tensor = kept.emplace_back(read_kept_tensor(reader_of(t)));
    const bool inside =
        tensor.module.find(".*") != std::string::npos || tensor.module.starts_with("layers.*");
    if (!inside) kept.pop_back();
  }
  return kept_parts(kept, {.hidden_states = number_at(of, "batch") * number_at(of, "sequence") * hidden,
                           .checkpointed = text_at(of, "recompute") == "full",
                           .fp32 = fp32,
                           .layers = layers});
}

Pairs compare_transformers(const JsonValue& of, std::string_view framework) {
  Scenario sc = scenario_of(of, framework, 1, 1);
  sc.recipe.attention =
      text_at(of, "attention") == "eager" ? AttentionKernel::Unfused : AttentionKernel::Flash;
  if (text_at(of, "weights") == "fp32") sc.recipe.precision = Precision::Fp32;
  adapt(of, sc.recipe);
  if (!of.find("adapters")->is_null() && text_at(of, "weights") == "bf16") sc.recipe.parameter_dtype.reset();
  const TensorLedger ledger = build_ledger(sc, 0);
  Pairs out;
  if (of.find("adapters")->is_null())
    add(ComparedGroup::Parameters, static_cast<double>(number_at(of, "parameters")), parameters_of(sc.model),
        out);
  add(ComparedGroup::TrainedParameters, static_cast<double>(number_at(of, "trained_parameters")),
      trained_parameters(ledger), out);
  if (const JsonValue* flops = of.find("flops"))
    add(ComparedGroup::Flops, static_cast<double>(*flops->get_if<std::int64_t>()),
        model_flops_per_step(sc, AttentionFlops::Full).value(), out);
  // What the deeper model has more than the shallower one.
  Scenario shallow = sc;
  shallow.model.layers = *list_at(of, "depths")[0].get_if<std::int64_t>();
  KeptParts kept = kept_parts(ledger, 1);
  for (const auto& [name, part] : kept_parts(build_ledger(shallow, 0), 1)) kept[name].size -= part.size;
  const bool fp32 = sc.recipe.precision == Precision::Fp32;
  add(compare_kept(kept, measured_kept(of, list_at(of, "layer"), 1, fp32)), out);
  add(compare_peaks(ledger, peaks_of(of)), out);
  return out;
}

Pairs compare_hugging_face(const JsonValue& of) {
  return compare_transformers(of, "hf-eager");
}
Pairs compare_hugging_face_4(const JsonValue& of) {
  return compare_transformers(of, "hf-eager@transformers-4.44");
}

// --- compiled layers
// -----------------------------------------------------------------------------------------------

Pairs compare_compiled_layer(const JsonValue& of) {
  Scenario sc = scenario_of(of, "fsdp2", 8, 8);
  sc.layout.dp = 8, sc.layout.sharding.stage = 3;
  const auto layers = static_cast<double>(sc.model.layers);
  Pairs out;
  add(compare_kept(kept_parts(build_ledger(sc, 0), layers), measured_kept(of, list_at(of, "kept"), 1)), out);
  return out;
}

// --- whole steps
// ---------------------------------------------------------------------------------------------------

Pairs compare_whole_step(const JsonValue& of) {
  const bool replicated = text_at(of, "sharding") == "ddp";
  const std::int64_t world = number_at(of, "world"), tp = number_at(of, "tp"),
                     replicas = number_at(of, "replicas");
  const std::int64_t dp = world / tp;
  const bool chunked = of.find("loss") != nullptr;
  const bool flat = text_at(of, "sharding") == "fsdp1";
  const std::string_view framework = replicated ? "ddp"
                                     : flat     ? "fsdp1"
                                     : chunked  ? "fsdp2@torchtitan-0.3"
                                                : "fsdp2";
  Scenario sc = scenario_of(of, framework, world, dp * number_at(of, "microbatches"));
  sc.recipe.execution.compiled = false;
  sc.layout.dp = static_cast<int>(dp), sc.layout.tp = static_cast<int>(tp), sc.layout.sp = flag_at(of, "sp");
  if (!replicated) sc.layout.sharding.stage = flag_at(of, "reshard") ? 3 : 2;
  sc.framework.gradients_view_buckets = flag_at(of, "bucket_view");
  sc.framework.gather_ends_for_whole_step = text_at(of, "units") == "root";
  sc.framework.head_unit_stays_gathered = !sc.framework.gather_ends_for_whole_step;
  if (replicas > 1) sc.layout.sharding.group = static_cast<int>(dp / replicas);
  const TensorLedger ledger = build_ledger(sc, 0);
  Pairs out;
  add(ComparedGroup::Parameters, static_cast<double>(number_at(of, "parameters")), parameters_of(sc.model),
      out);
  const auto layers = static_cast<double>(sc.model.layers);
  add(compare_kept(kept_parts(ledger, layers), measured_kept(of, list_at(of, "kept"), layers)), out);
  std::vector<SentMessages> messages;
  for (const JsonValue& row : list_at(of, "collectives")) messages.push_back(read_messages(reader_of(row)));
  if (!replicated) add(compare_messages(sc, messages), out);
  add(compare_peaks(ledger, peaks_of(of)), out);
  return out;
}

// --- Megatron-Core
// -------------------------------------------------------------------------------------------------

Scenario megatron_scenario(const JsonValue& of, std::int64_t dp) {
  Scenario sc;
  sc.model = model_from_config("config.json", "/config", *of.find("config"));
  sc.framework = find_framework("megatron");
  sc.cluster = parse_cluster("8xH100");
  sc.recipe.sequence = number_at(of, "sequence");
  sc.recipe.global_batch = dp;
  sc.layout.dp = static_cast<int>(dp), sc.layout.tp = static_cast<int>(number_at(of, "tp"));
  sc.layout.pp = static_cast<int>(number_at(of, "pp")),
  sc.layout.vpp = static_cast<int>(number_at(of, "vpp"));
  if (sc.layout.vpp > 1) sc.layout.schedule = ScheduleKind::Interleaved;
  sc.layout.ep = static_cast<int>(number_at(of, "ep")),
  sc.layout.etp = static_cast<int>(number_at(of, "etp"));
  return sc;
}

Pairs compare_megatron(const JsonValue& of) {
  constexpr std::int64_t kWorld = 8;
  const std::int64_t tp = number_at(of, "tp"), pp = number_at(of, "pp");
  const auto stage = static_cast<int>(number_at(of, "rank") * pp / kWorld);
  double parameters = 0;
  for (const TensorEntry& e : build_ledger(megatron_scenario(of, kWorld / tp / pp), stage))
    parameters += e.kind == TensorKind::Parameter ? e.elements * e.count : 0;
  Pairs out;
  add(ComparedGroup::Parameters, static_cast<double>(number_at(of, "parameters")), parameters, out);
  if (of.find("collectives") == nullptr) return out;
  std::vector<SentMessages> messages;
  for (const JsonValue& row : list_at(of, "collectives")) messages.push_back(read_messages(reader_of(row)));
  add(compare_messages(megatron_scenario(of, 1), messages), out);
  return out;
}

// --- DeepSpeed
// -----------------------------------------------------------------------------------------------------

/// Bytes by kind, over the whole step: the engine reduces and gathers when its hooks and buckets say so.
Pairs compare_deepspeed(const JsonValue& of) {
  constexpr int kWorld = 8;
  Scenario sc;
  sc.model = model_from_config("config.json", "/config", *of.find("config"));
  sc.framework = find_framework("deepspeed");
  sc.cluster = parse_cluster("8xH100");
  sc.recipe.sequence = number_at(of, "sequence");
  sc.recipe.global_batch = sc.layout.dp = kWorld;
  sc.layout.sharding.stage = static_cast<int>(number_at(of, "stage"));
  sc.recipe.sizes.reduce_bucket = number_at(of, "bucket");
  Pairs out;
  add(ComparedGroup::Parameters, static_cast<double>(number_at(of, "parameters")), parameters_of(sc.model),
      out);
  std::map<std::string, std::pair<double, double>> bytes;  // by kind: the engine's, predicted
  for (const JsonValue& row : list_at(of, "collectives")) {
    const SentMessages sent = read_messages(reader_of(row));
    bytes[sent.kind].first += static_cast<double>(sent.bytes);
  }
  for (const CollectiveCount& row : count_step(sc, 0).collectives) {
    const std::string kind = row.kind == CollectiveKind::AllGather       ? "all_gather"
                             : row.kind == CollectiveKind::ReduceScatter ? "reduce_scatter"
                                                                         : "all_reduce";
    bytes[kind].second += row.bytes.value();
  }
  for (const auto& [kind, both] : bytes)
    add({{.group = ComparedGroup::CallBytes,
          .what = kind,
          .predicted = both.second,
          .measured = both.first,
          .tolerance = kEqual}},
        out);
  return out;
}

// --- the list of known differences
// -----------------------------------------------------------------------------------

const JsonDocument& document(const std::string& name) {
  static std::map<std::string, JsonDocument> documents;
  return documents.try_emplace(name, read_json_file(kFolder + name)).first->second;
}

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const auto& [file, compare] : {std::pair{"hugging_face.json", &compare_hugging_face},
                                      {"hugging_face_4.json", &compare_hugging_face_4},
                                      {"compiled_layers.json", &compare_compiled_layer},
                                      {"megatron_core.json", &compare_megatron},
                                      {"deepspeed_steps.json", &compare_deepspeed},
                                      {"whole_steps.json", &compare_whole_step}}) {
    for (const JsonValue& value : list_at(document(file).root, "cases"))
      out.push_back({text_at(value, "name"), &value, compare});
  }
  return out;
}

/// Errors that are known, by case and comparison, and why they are there: a cause holds for what begins with
/// `what` in the cases whose names have all words of `cases`.
class KnownDifferences {
 public:
  KnownDifferences() : root_{&document("known_differences.json").root} {}
  [[nodiscard]] const double* error(const std::string& of, const std::string& what) const {
    const JsonValue* differences = members(of);
    const JsonValue* found = differences != nullptr ? differences->find(what) : nullptr;
    return found != nullptr ? found->get_if<double>() : nullptr;
  }
  [[nodiscard]] const JsonArray& causes() const { return list_at(*root_, "causes"); }
  [[nodiscard]] const JsonObject& cases() const { return members_at(*root_, "differences"); }
  [[nodiscard]] static bool explains(const JsonValue& cause, std::string_view of, std::string_view what) {
    if (!what.starts_with(text_at(cause, "what"))) return false;
    std::istringstream words{text_at(cause, "cases")};
    for (std::string word; words >> word;) {
      if (of.find(word) == std::string_view::npos) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] const JsonValue* members(const std::string& of) const {
    return root_->find("differences")->find(of);
  }
  const JsonValue* root_;
};

std::string percent(double error) {
  return fmt::format("{:+.2f} %", 100 * error);
}

void write_known(const std::vector<Case>& all) {
  JsonObject differences;
  for (const Case& c : all) {
    JsonObject of;
    for (const auto& [what, pair] : c.compare(*c.value)) {
      if (!pair.holds()) of.emplace_back(what, std::round(pair.error() * 1e5) / 1e5);
    }
    if (!of.empty()) differences.emplace_back(c.name, std::move(of));
  }
  JsonObject root = {{"causes", KnownDifferences{}.causes()}, {"differences", std::move(differences)}};
  std::ofstream{kFolder + "known_differences.json"} << to_text(root) << '\n';
}

/// A last digit that is not written.
constexpr double kRounded = 1e-4;

TEST(framework_profiles, keep_send_and_compute_what_pytorch_does) {
  if (std::getenv("HEXAPLAN_UPDATE") != nullptr) return write_known(cases());
  const KnownDifferences known;
  for (const Case& c : cases()) {
    for (const auto& [what, pair] : c.compare(*c.value)) {
      if (known.error(c.name, what) != nullptr) continue;
      EXPECT_TRUE(pair.holds()) << fmt::format("{}, {}: PyTorch {:.0f}, predicted {:.0f}, {}", c.name, what,
                                               pair.measured, pair.predicted, percent(pair.error()));
    }
  }
}

TEST(known_differences, are_there_and_not_larger_than_when_they_were_written_down) {
  const KnownDifferences known;
  for (const Case& c : cases()) {
    for (const auto& [what, pair] : c.compare(*c.value)) {
      const double* recorded = known.error(c.name, what);
      if (recorded == nullptr) continue;
      EXPECT_FALSE(pair.holds()) << c.name << ", " << what << ": is right now; take it off the list";
      EXPECT_LE(std::abs(pair.error()), std::abs(*recorded) + kRounded)
          << fmt::format("{}, {}: {}, recorded {}", c.name, what, percent(pair.error()), percent(*recorded));
    }
  }
}

/// Position of the first cause that explains it; the number of causes when none does.
std::size_t cause_of(const KnownDifferences& known, const std::string& of, const std::string& what) {
  const JsonArray& causes = known.causes();
  return static_cast<std::size_t>(
      std::find_if(causes.begin(), causes.end(),
                   [&](const JsonValue& cause) { return KnownDifferences::explains(cause, of, what); }) -
      causes.begin());
}

TEST(known_differences, have_a_cause_and_a_case_each) {
  const KnownDifferences known;
  std::set<std::string> names;
  for (const Case& c : cases()) names.insert(c.name);
  std::vector<bool> used(known.causes().size());
  for (const auto& [of, differences] : known.cases()) {
    EXPECT_TRUE(names.contains(of)) << of << ": no such case";
    for (const auto& [what, error] : *differences.get_if<JsonObject>()) {
      const std::size_t cause = cause_of(known, of, what);
      EXPECT_LT(cause, used.size()) << of << ", " << what << ": no cause";
      if (cause < used.size()) used[cause] = true;
    }
  }
  for (std::size_t i = 0; i < used.size(); ++i)
    EXPECT_TRUE(used[i]) << text_at(known.causes()[i], "why") << ": explains nothing any more";
}

// Everything side by side, for whoever mends a profile.
TEST(framework_profiles, print_every_comparison_where_it_is_asked_for) {
  if (std::getenv("HEXAPLAN_REPORT") == nullptr) GTEST_SKIP() << "HEXAPLAN_REPORT=1 prints it";
  for (const Case& c : cases()) {
    for (const auto& [what, pair] : c.compare(*c.value))
      fmt::print("{}\t{}\t{:.0f}\t{:.0f}\t{:+.4f}\t{}\n", c.name, what, pair.measured, pair.predicted,
                 pair.error(), pair.holds() ? "right" : "wrong");
  }
}

}  // namespace
}  // namespace hexaplan::presets
