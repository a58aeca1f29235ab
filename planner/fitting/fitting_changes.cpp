#include "planner/fitting/fitting_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "costmodel/program/not_modelled.h"
#include "costmodel/schedule/schedule.h"

namespace hexaplan::planner {

using costmodel::Layout;
using costmodel::RecomputeMode;
using costmodel::Scenario;

std::vector<ChangedSetting> split_sequences(Scenario& s) {
  if (s.layout.sp || s.layout.tp == 1 || !s.framework.abilities.sequence) return {};
  s.layout.sp = true;
  return {{"layout", "sp"}};
}

std::vector<ChangedSetting> change_recompute(Scenario& s, RecomputeMode mode, const char* word) {
  if (s.recipe.recompute.mode == mode || !costmodel::has_bit(s.framework.abilities.recompute, mode))
    return {};
  s.recipe.recompute = {.mode = mode, .layers = 0, .stage_layers = {}, .modules = 0};
  return {{"recompute", word}};
}

namespace {

using Settings = std::vector<ChangedSetting>;

/// One thing to try. Attempts of one slot exclude each other.
struct Attempt {
  std::string_view slot;
  /// Changes the scenario and says how; empty when it does not apply.
  Settings (*apply)(Scenario&);
};

/// Also the parameters' gradients and states are cut over data-parallel ranks, from `stage` on. A framework
/// that shards nothing by itself is run inside one that does (Trainer and DDP inside DeepSpeed or FSDP).
template <int kStage>
Settings shard_more(Scenario& s) {
  const unsigned can = s.framework.abilities.zero_stages;
  const bool by_itself = (can & ~1U) != 0;
  if (s.layout.sharding.stage >= kStage || s.layout.dp * s.layout.cp == 1) return {};
  if (by_itself && !costmodel::has_bit(can, kStage)) return {};
  s.layout.sharding.stage = kStage;
  return {{"layout", kStage == 3 ? "fsdp" : fmt::format("zero{}", kStage)}};
}

Settings recompute_everything(Scenario& s) {
  return change_recompute(s, RecomputeMode::Full, "full");
}

Settings recompute_attention(Scenario& s) {
  if (s.recipe.recompute.mode != RecomputeMode::None) return {};
  return change_recompute(s, RecomputeMode::Selective, "selective");
}

/// Twice the model parallelism on the same GPUs, where the framework has it or the layout has it anyhow.
Settings trade_data_parallelism(Scenario& s, int Layout::*degree, const char* name, bool can) {
  if (s.layout.dp % 2 != 0 || (!can && s.layout.*degree == 1)) return {};
  s.layout.dp /= 2;
  s.layout.*degree *= 2;
  return {{"layout", fmt::format("{}{} dp{}", name, s.layout.*degree, s.layout.dp)}};
}

Settings one_sequence(Scenario& s) {
  if (s.recipe.micro_batch <= 1) return {};
  s.recipe.micro_batch = 1;
  return {{"micro-batch", "1"}};
}

Settings chunk_the_loss(Scenario& s) {
  if (s.recipe.cross_entropy == costmodel::CrossEntropy::Chunked) return {};
  s.recipe.cross_entropy = costmodel::CrossEntropy::Chunked;
  return {{"cross-entropy", "chunked"}};
}

/// Parameters, and where no master copy stands behind them their states, in 16 bits.
Settings keep_parameters_in_16_bits(Scenario& s) {
  const costmodel::DType own = costmodel::activation_dtype(s.recipe.precision);
  const auto said = s.recipe.parameter_dtype;
  const bool frozen = costmodel::trains_adapters(s.recipe);
  const costmodel::DType now = said.value_or(frozen ? own : s.framework.parameter_dtype);
  if (own != costmodel::DType::Bf16 || now != costmodel::DType::Fp32) return {};
  s.recipe.parameter_dtype = own;
  return {{"params-dtype", "bf16"}};
}

Settings quantise_the_base(Scenario& s) {
  if (s.recipe.fine_tune != costmodel::FineTune::Lora) return {};
  s.recipe.fine_tune = costmodel::FineTune::Qlora;
  return {{"fine-tune", "qlora"}};
}

/// Of whoever fine-tunes all parameters.
Settings train_adapters(Scenario& s, costmodel::FineTune kind, const char* words) {
  if (s.recipe.fine_tune != costmodel::FineTune::Full) return {};
  s.recipe.fine_tune = kind;
  return {{"fine-tune", words}};
}

Settings quantise_the_states(Scenario& s) {
  if (s.recipe.optimizer != costmodel::Optimizer::AdamW) return {};
  s.recipe.optimizer = costmodel::Optimizer::AdamW8bit;
  return {{"optimizer", "adamw-8bit"}};
}

/// Offloads `what`, where nothing is offloaded yet and the framework can offload `needed`.
Settings offload(Scenario& s, int what, int needed, const char* words) {
  if (s.recipe.offload != 0 || (s.framework.abilities.offload & needed) == 0) return {};
  // Weight gradients that wait are known to the replay alone, which does not describe this (first_gap).
  if ((what & costmodel::kOffloadActivations) != 0 && costmodel::splits_backward(s.layout.schedule) &&
      !s.framework.replays_parameters)
    return {};
  s.recipe.offload = static_cast<std::uint8_t>(what);
  if ((what & costmodel::kOffloadParameters) == 0 || s.layout.sharding.stage == 3)
    return {{"offload", words}};
  s.layout.sharding.stage = 3;
  return {{"layout", "zero3"}, {"offload", words}};
}

constexpr Attempt kAttempts[] = {
    {"micro-batch", one_sequence},
    {"zero", shard_more<1>},
    {"zero", shard_more<2>},
    {"zero", shard_more<3>},
    {"recompute", recompute_attention},
    {"recompute", recompute_everything},
    {"degrees",
     [](Scenario& s) { return trade_data_parallelism(s, &Layout::tp, "tp", s.framework.abilities.tensor); }},
    {"degrees",
     [](Scenario& s) {
       return trade_data_parallelism(s, &Layout::pp, "pp",
                                     costmodel::has_bit(s.framework.abilities.schedules, s.layout.schedule));
     }},
    {"degrees",
     [](Scenario& s) {
       return trade_data_parallelism(s, &Layout::cp, "cp",
                                     costmodel::has_bit(s.framework.abilities.contexts, s.layout.context));
     }},
    {"sp", split_sequences},  // after tp: what has just been cut may split its sequences, too
    {"loss", chunk_the_loss},
    {"parameters", keep_parameters_in_16_bits},
    {"base", quantise_the_base},
    {"base", [](Scenario& s) { return train_adapters(s, costmodel::FineTune::Lora, "lora"); }},
    {"base", [](Scenario& s) { return train_adapters(s, costmodel::FineTune::Qlora, "qlora"); }},
    {"states", quantise_the_states},
    {"offload",
     [](Scenario& s) {
       return offload(s, costmodel::kOffloadOptimizer, costmodel::kOffloadOptimizer, "optimizer");
     }},
    {"offload",
     [](Scenario& s) {
       return offload(s, costmodel::kOffloadActivations, costmodel::kOffloadActivations, "activations");
     }},
    {"offload",
     [](Scenario& s) {
       return offload(s, costmodel::kOffloadOptimizer | costmodel::kOffloadParameters,
                      costmodel::kOffloadParameters, "optimizer,params");
     }},
};
constexpr std::size_t kMostTogether = 3;

/// Attempts by their place in kAttempts, ascending.
using ChosenAttempts = std::vector<std::size_t>;

bool contains(const ChosenAttempts& all, const ChosenAttempts& some) {
  return std::includes(all.begin(), all.end(), some.begin(), some.end());
}

/// Tries combinations in the order of their size: whoever fits with some changes needs no further one.
class FittingSearch {
 public:
  FittingSearch(const Scenario& scenario, const costmodel::Calibration& calibration, double max_risk)
      : scenario_{scenario}, calibration_{calibration}, max_risk_{max_risk} {}

  void try_all(std::size_t size) {
    ChosenAttempts chosen;
    extend(chosen, 0, size);
  }
  [[nodiscard]] std::vector<FittingChange> found() && { return std::move(found_); }
  [[nodiscard]] bool empty() const { return found_.empty(); }

 private:
  void extend(ChosenAttempts& chosen, std::size_t first, std::size_t size) {
    if (chosen.size() == size) return price(chosen);
    for (std::size_t i = first; i < std::size(kAttempts); ++i) {
      const bool taken = std::any_of(chosen.begin(), chosen.end(), [&](std::size_t other) {
        return kAttempts[other].slot == kAttempts[i].slot;
      });
      if (taken) continue;
      chosen.push_back(i);
      extend(chosen, i + 1, size);
      chosen.pop_back();
    }
  }

  void price(const ChosenAttempts& chosen) {
    const auto fits = [&](const ChosenAttempts& fewer) { return contains(chosen, fewer); };
    if (std::any_of(fitting_.begin(), fitting_.end(), fits)) return;
    Scenario changed = scenario_;
    Settings settings;
    for (const std::size_t i : chosen) {
      const Settings more = kAttempts[i].apply(changed);
      if (more.empty()) return;
      settings.insert(settings.end(), more.begin(), more.end());
    }
    const costmodel::Estimate estimate = costmodel::estimate_step(changed, calibration_);
    const double risk = estimate.out_of_memory_probability;
    if (!std::holds_alternative<costmodel::Fits>(estimate.verdict) || risk > max_risk_) return;
    fitting_.push_back(chosen);
    found_.push_back({std::move(settings), changed.recipe, changed.layout, estimate.peak().needed,
                      estimate.time.total(), risk, costmodel::newly_not_modelled(scenario_, changed)});
  }

  const Scenario& scenario_;
  const costmodel::Calibration& calibration_;
  double max_risk_;
  std::vector<ChosenAttempts> fitting_;
  std::vector<FittingChange> found_;
};

/// By predicted time; what the prediction leaves out comes after what it does not.
bool comes_before(const FittingChange& a, const FittingChange& b) {
  if (a.not_modelled.empty() != b.not_modelled.empty()) return a.not_modelled.empty();
  return a.step < b.step;
}

}  // namespace

std::vector<FittingChange> fitting_changes(const Scenario& scenario,
                                           const costmodel::Calibration& calibration, std::size_t most,
                                           double max_risk) {
  FittingSearch search{scenario, calibration, max_risk};
  search.try_all(1);
  search.try_all(2);
  for (std::size_t size = 3; size <= kMostTogether && search.empty(); ++size) search.try_all(size);
  std::vector<FittingChange> changes = std::move(search).found();
  std::stable_sort(changes.begin(), changes.end(), comes_before);
  if (changes.size() > most)
    changes.erase(changes.begin() + static_cast<std::ptrdiff_t>(most), changes.end());
  return changes;
}

}  // namespace hexaplan::planner
