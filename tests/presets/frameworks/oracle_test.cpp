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

#include "costmodel/memory/tensor_ledger.h"
#include "costmodel/parameters/parameter_tensors.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/model_flops.h"
#include "costmodel/step/step_counts.h"
#include "presets/clusters/cluster_preset.h"
#include "presets/frameworks/framework_preset.h"
#include "presets/json/read_json.h"
#include "presets/models/read_model_config.h"

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

/// Measured and predicted, and how far apart they may be: a share of `measured`, or of `of` where that is not
/// zero.
struct Pair {
  double measured = 0, predicted = 0;
  double tolerance = 0;
  double of = 0;
  [[nodiscard]] double error() const {
    const double base = of != 0 ? of : measured;
    return base != 0 ? (predicted - measured) / base : predicted == 0 ? 0 : 1;
  }
  [[nodiscard]] bool holds() const { return std::abs(error()) <= tolerance; }
};
using Pairs = std::map<std::string, Pair>;
constexpr double kEqual = 1e-9, kSaved = 1e-3, kPeak = 1e-2;

double bytes_of(std::string_view dtype) {
  static const std::map<std::string_view, double> kBytes = {{"fp32", 4},      {"bf16", 2},  {"fp16", 2},
                                                            {"int64", 8},     {"int32", 4}, {"bool", 1},
                                                            {"complex64", 8}, {"uint8", 1}};
  return kBytes.at(dtype);
}

/// Part of a layer that a tensor of the ledger belongs to.
std::string_view part_of_entry(const TensorEntry& e) {
  struct Row {
    std::string_view starts, part;
  };
  constexpr Row kRows[] = {{"parameter.cast", "weights"},
                           {"layer.", "norm inputs"},
                           {"norm.input", "norm inputs"},
                           {"norm.output", "norm outputs"},
                           {"norm.stats", "statistics"},
                           {"attention.log_sum_exp", "statistics"},
                           {"attention.qk_norm.stats", "statistics"},
                           {"attention.", "attention"},
                           {"mlp.", "mlp"},
                           {"moe.", "experts"},
                           {"adapter.", "adapters"}};
  if (e.formula == "M3") return "checkpoint";
  for (const Row& row : kRows) {
    if (e.name.starts_with(row.starts)) return row.part;
  }
  return "other";
}

/// … that one of the oracle's belongs to, by the module and the operation that made it.
std::string_view part_of_tensor(const JsonValue& t, std::int64_t hidden_states) {
  const std::string_view module = text_at(t, "module"), operation = text_at(t, "operation"),
                         dtype = text_at(t, "dtype");
  const auto in = [&](std::string_view text) { return module.find(text) != std::string_view::npos; };
  const auto by = [&](std::string_view text) { return operation == text; };
  const bool statistics = by("rsqrt") || (by("native_layer_norm") && number_at(t, "elements") <= 65536);
  if (by("cast of a parameter")) return "weights";
  if (statistics ||
      (dtype == "fp32" && (by("_scaled_dot_product_flash_attention_for_cpu") || by("new_empty"))))
    return "statistics";
  if (in("lora_") || (in("_proj") && dtype == "fp32") || in("base_layer")) return "adapters";
  if (in("experts") || module.ends_with("mlp.gate")) return "experts";
  const bool reads_hidden = module.ends_with("wq") || module.ends_with("wk") || module.ends_with("wv") ||
                            module.ends_with("w1") || module.ends_with("w3") || module.ends_with("q_proj") ||
                            module.ends_with("k_proj") || module.ends_with("v_proj") ||
                            module.ends_with("gate_proj") || module.ends_with("up_proj");
  const bool of_hidden = number_at(t, "elements") == hidden_states;
  if (by("_to_copy") && reads_hidden && of_hidden && dtype == "bf16") return "norm outputs";
  if (by("wait_tensor")) return "norm outputs";  // gathered
  if (in("q_norm") || in("k_norm") || in("kv_a_layernorm")) return "attention";
  if (in("norm") || in("ln_")) {
    return dtype == "fp32" && (by("_to_copy") || (by("mul") && in("norm"))) ? "norm inputs" : "norm outputs";
  }
  if (in("attn") || in("attention")) return "attention";
  return in("mlp") || in("feed_forward") ? "mlp" : "norm inputs";
}

/// What counts as a tensor's type: statistics are compared like any other.
std::string_view type_of(DType type) {
  switch (type) {
    case DType::Fp32:
      return "fp32";
    case DType::Int8:
      return "byte";
    default:
      return "bf16";
  }
}
std::string_view type_of(std::string_view type) {
  return type == "bool" || type == "uint8" ? "byte" : type == "int64" || type == "int32" ? "fp32" : type;
}

/// Live tensors at `instant`, without what kernels take for themselves, which the oracle does not see.
double live(const TensorLedger& ledger, std::uint8_t instants) {
  double most = 0;
  for (int i = 0; i < kInstants; ++i) {
    if ((instants & instant_at(i)) == 0) continue;
    double sum = 0;
    for (const TensorEntry& e : ledger) {
      const bool outside = e.kind == TensorKind::Communication || e.kind == TensorKind::Overhead;
      if ((e.alive & instant_at(i)) != 0 && !outside && e.name != "library.workspace")
        sum += e.size().value();
    }
    most = std::max(most, sum);
  }
  return most;
}

void compare_peaks(const JsonValue& of, const TensorLedger& ledger, Pairs& out) {
  const std::map<std::string_view, Instant> instants = {{"forward", kForward},
                                                        {"loss", kLoss},
                                                        {"head backward", kHeadBackward},
                                                        {"backward", kBackward},
                                                        {"end of backward", kOptimizer},
                                                        {"optimizer step", kOptimizer},
                                                        {"between steps", kIdle}};
  std::map<Instant, double> measured;
  double most = 0;
  for (const auto& [phase, bytes] : members_at(of, "peaks")) {
    double& at = measured[instants.at(phase)];
    at = std::max(at, static_cast<double>(*bytes.get_if<std::int64_t>()));
    most = std::max(most, at);
  }
  for (const auto& [instant, bytes] : measured)
    out[fmt::format("peak: {}", name_of(instant))] = {bytes, live(ledger, instant), kPeak};
  out["peak"] = {most, live(ledger, kAlways), kPeak};
}

/// Bytes kept per layer by part and type.
void compare_kept(const std::map<std::string, double>& measured,
                  const std::map<std::string, double>& predicted, Pairs& out) {
  double layer = 0;
  for (const auto& [name, bytes] : measured) layer += bytes;
  std::set<std::string> names;
  for (const auto& [name, bytes] : measured) names.insert(name);
  for (const auto& [name, bytes] : predicted) names.insert(name);
  for (const std::string& name : names) {
    const auto at = [&](const std::map<std::string, double>& m) {
      return m.contains(name) ? m.at(name) : 0.0;
    };
    out["kept: " + name] = {at(measured), at(predicted), kSaved, layer};
  }
}

std::map<std::string, double> predicted_kept(const TensorLedger& ledger, double layers) {
  std::map<std::string, double> out;
  for (const TensorEntry& e : ledger) {
    const bool kept = e.kind == TensorKind::Activation || e.name == "parameter.cast";
    if (!kept || (e.alive & kInPasses) != kInPasses) continue;  // not those that forward alone has
    out[fmt::format("{} {}", part_of_entry(e), type_of(e.dtype))] += e.size().value() / layers;
  }
  return out;
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

double parameters(const ModelSpec& model) {
  std::vector<ParameterTensor> tensors;
  append_embedding_parameters(model, tensors);
  append_head_parameters(model, false, tensors);
  for (std::int64_t i = 0; i < model.layers; ++i)
    append_layer_parameters(model, class_of_layer(model, i), tensors);
  double sum = 0;
  for (const ParameterTensor& t : tensors) sum += static_cast<double>(t.elements());
  return sum;
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
}

std::map<std::string, double> measured_kept(const JsonValue& of, const JsonArray& tensors, double layers) {
  const JsonValue& config = *of.find("config");
  const std::int64_t hidden = number_at(config, config.find("n_embd") != nullptr ? "n_embd" : "hidden_size");
  const std::int64_t hidden_states = number_at(of, "batch") * number_at(of, "sequence") * hidden;
  const bool checkpointed = text_at(of, "recompute") == "full";
  std::map<std::string, double> out;
  for (const JsonValue& t : tensors) {
    const std::string& module = text_at(t, "module");
    if (module.find(".*") == std::string::npos && !module.starts_with("layers.*")) continue;
    const bool cast = text_at(t, "operation") == "cast of a parameter";
    const std::string_view part = checkpointed && !cast ? "checkpoint" : part_of_tensor(t, hidden_states);
    const std::string& dtype = text_at(t, "dtype");
    out[fmt::format("{} {}", part, type_of(std::string_view{dtype}))] +=
        static_cast<double>(number_at(t, "elements") * number_at(t, "count")) * bytes_of(dtype) / layers;
  }
  return out;
}

Pairs compare_hugging_face(const JsonValue& of) {
  Scenario sc = scenario_of(of, "hf-eager", 1, 1);
  sc.recipe.attention =
      text_at(of, "attention") == "eager" ? AttentionKernel::Unfused : AttentionKernel::Flash;
  if (text_at(of, "weights") == "fp32") sc.recipe.precision = Precision::Fp32;
  adapt(of, sc.recipe);
  if (!of.find("adapters")->is_null() && text_at(of, "weights") == "bf16") sc.recipe.parameter_dtype.reset();
  const TensorLedger ledger = build_ledger(sc, 0);
  Pairs out;
  const bool adapted = !of.find("adapters")->is_null();
  if (!adapted)
    out["parameters"] = {static_cast<double>(number_at(of, "parameters")), parameters(sc.model), kEqual};
  double trained = 0;
  for (const TensorEntry& e : ledger)
    trained += e.kind == TensorKind::Gradient && (e.alive & kOptimizer) != 0 ? e.elements * e.count : 0;
  out["trained parameters"] = {static_cast<double>(number_at(of, "trained_parameters")), trained, kEqual};
  if (const JsonValue* flops = of.find("flops"))
    out["flops"] = {static_cast<double>(*flops->get_if<std::int64_t>()),
                    model_flops_per_step(sc, AttentionFlops::Full).value(), kEqual};
  // What the deeper model has more than the shallower one.
  Scenario shallow = sc;
  shallow.model.layers = *list_at(of, "depths")[0].get_if<std::int64_t>();
  auto kept = predicted_kept(ledger, 1);
  for (const auto& [name, bytes] : predicted_kept(build_ledger(shallow, 0), 1)) kept[name] -= bytes;
  compare_kept(measured_kept(of, list_at(of, "layer"), 1), kept, out);
  compare_peaks(of, ledger, out);
  return out;
}

// --- whole steps
// ---------------------------------------------------------------------------------------------------

std::string message(std::string_view phase, std::string_view kind, std::int64_t ranks) {
  return fmt::format("{} {} over {}", phase, kind, ranks);
}

std::string_view kind_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllReduce:
      return "all_reduce";
    case CollectiveKind::AllGather:
      return "all_gather";
    case CollectiveKind::ReduceScatter:
      return "reduce_scatter";
    default:
      return "other";
  }
}

std::int64_t ranks_of(Group group, const Layout& l) {
  switch (group) {
    case Group::Tensor:
      return l.tp;
    case Group::Shard:
      return l.shard_ranks();
    case Group::Replica:
      return std::int64_t{l.dp} * l.cp / l.shard_ranks();
    default:
      return std::int64_t{l.dp} * l.cp;
  }
}

/// What runs again is forward's to Hexaplan and backward's to PyTorch: tensor-parallel messages are added up
/// there.
void compare_messages(const JsonValue& of, const Scenario& sc, Pairs& out) {
  const bool again = text_at(of, "recompute") != "none";
  std::map<std::string, std::pair<double, double>> calls, bytes;
  for (const JsonValue& row : list_at(of, "collectives")) {
    const std::int64_t ranks = number_at(row, "group");
    const bool tensor = again && ranks == sc.layout.tp && sc.layout.tp > 1;
    const std::string name = message(tensor ? "step" : text_at(row, "phase"), text_at(row, "kind"), ranks);
    calls[name].first += static_cast<double>(number_at(row, "calls"));
    bytes[name].first += static_cast<double>(number_at(row, "bytes"));
  }
  for (const CollectiveCount& row : count_step(sc, 0).collectives) {
    if (row.operation.starts_with("loss.")) continue;  // inside an operation of DTensor's, which no mode sees
    const bool tensor = again && row.group == Group::Tensor;
    const std::string name = message(tensor                      ? "step"
                                     : row.pass == Pass::Forward ? "forward"
                                                                 : "backward",
                                     kind_of(row.kind), ranks_of(row.group, sc.layout));
    calls[name].second += row.messages;
    bytes[name].second += row.bytes.value();
  }
  for (const auto& [name, both] : calls) out["calls: " + name] = {both.first, both.second, kEqual};
  for (const auto& [name, both] : bytes) out["bytes: " + name] = {both.first, both.second, kEqual};
}

Pairs compare_whole_step(const JsonValue& of) {
  const bool replicated = text_at(of, "sharding") == "ddp";
  const std::int64_t world = number_at(of, "world"), tp = number_at(of, "tp"),
                     replicas = number_at(of, "replicas");
  const std::int64_t dp = world / tp;
  Scenario sc = scenario_of(of, replicated ? "ddp" : "fsdp2", world, dp * number_at(of, "microbatches"));
  sc.recipe.execution.compiled = false;
  sc.layout.dp = static_cast<int>(dp), sc.layout.tp = static_cast<int>(tp), sc.layout.sp = flag_at(of, "sp");
  if (!replicated) sc.layout.sharding.stage = flag_at(of, "reshard") ? 3 : 2;
  sc.framework.gradients_view_buckets = flag_at(of, "bucket_view");
  sc.framework.gather_ends_for_whole_step = text_at(of, "units") == "root";
  if (replicas > 1) sc.layout.sharding.group = static_cast<int>(dp / replicas);
  const TensorLedger ledger = build_ledger(sc, 0);
  Pairs out;
  out["parameters"] = {static_cast<double>(number_at(of, "parameters")), parameters(sc.model), kEqual};
  const auto layers = static_cast<double>(sc.model.layers);
  compare_kept(measured_kept(of, list_at(of, "kept"), layers), predicted_kept(ledger, layers), out);
  if (!replicated) compare_messages(of, sc, out);
  compare_peaks(of, ledger, out);
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
  for (const auto& [file, compare] :
       {std::pair{"hugging_face.json", &compare_hugging_face}, {"whole_steps.json", &compare_whole_step}}) {
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
