#include "planner/refine/refine.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "costmodel/communication/device_overhead.h"
#include "costmodel/memory/layer_ledger.h"
#include "costmodel/memory/memory_load.h"
#include "costmodel/memory/parameter_memory.h"
#include "costmodel/program/activation_memory.h"
#include "costmodel/schedule/schedule.h"
#include "costmodel/step/estimate.h"
#include "costmodel/step/step_parts.h"
#include "costmodel/units/ceil_div.h"

namespace hexaplan::planner {
namespace {

using namespace costmodel;

constexpr double kWorthwhile = 1e-6;  // share of the step below which a gain is rounding
constexpr double kSlack = 1e-12;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kDoesNotFit = std::numeric_limits<int>::max();

/// A stage with some of the layers, with as few of them recomputed as its memory allows, or as many as all
/// stages recompute.
struct StageCost {
  double pace = kNever;   // step of a pipeline that this stage paces, less its share of the others' waiting
  double total = kNever;  // one micro-batch
  int recomputed = 0;     // layers of each chunk
  int fewest = kDoesNotFit;  // of them that fit
  [[nodiscard]] bool fits() const { return recomputed >= fewest; }
};

using Counts = LayersByClass;

/// layers_by_class of any of a model's layers: a dealer asks for thousands of ranges.
class LayerRanges {
 public:
  explicit LayerRanges(const ModelSpec& model)
      : before_(static_cast<std::size_t>(model.layers) + 1), first_alike_(before_.size()) {
    std::size_t last = 0;
    for (std::size_t layer = 0; layer + 1 < before_.size(); ++layer) {
      const std::size_t kind = index_at(class_of_layer(model, static_cast<std::int64_t>(layer)));
      before_[layer + 1] = before_[layer];
      ++before_[layer + 1][kind];
      first_alike_[layer] = static_cast<std::int64_t>(layer);
      if (layer > 0 && kind == last) first_alike_[layer] = first_alike_[layer - 1];
      last = kind;
    }
  }
  /// Whether all layers from `first` up to `end` are of one class.
  [[nodiscard]] bool alike(std::int64_t first, std::int64_t end) const {
    return end <= first + 1 || first_alike_[static_cast<std::size_t>(end - 1)] <= first;
  }
  [[nodiscard]] Counts of(std::int64_t first, std::int64_t count) const {
    Counts counts = before_[static_cast<std::size_t>(first + count)];
    const Counts& before = before_[static_cast<std::size_t>(first)];
    for (std::size_t c = 0; c < counts.size(); ++c) counts[c] -= before[c];
    return counts;
  }

 private:
  static std::size_t index_at(LayerClass kind) { return static_cast<std::size_t>(index_of(kind)); }
  std::vector<Counts> before_;             // of the layers before each
  std::vector<std::int64_t> first_alike_;  // of the layers up to each that are of its class
};

StagePlan with_ends(const Scenario& sc, const Counts& layers, bool first, bool last) {
  StagePlan plan{.layers = layers};
  add_ends(sc, first, last, plan);
  return plan;
}

/// Prices stages of one plan by the parts that estimate_step combines.
class Stages {
 public:
  /// `choose`: find how many layers to recompute; otherwise as many as the recipe says.
  Stages(const Scenario& sc, const Calibration& calibration, Bytes most_memory, bool choose)
      : sc_{sc},
        calibration_{calibration},
        most_memory_{most_memory},
        choose_{choose},
        ranges_{sc.model},
        whole_{with_ends(sc, ranges_.of(0, sc.model.layers), true, true)},
        used_{used_classes(whole_)},
        pricer_{sc, calibration},
        counts_{sc, whole_},
        totals_{totals_of(price_layers(sc, local_dims(sc), pricer_, used_))},
        combiner_{sc, message_time(sc, local_dims(sc), pricer_)},
        microbatches_{static_cast<double>(microbatches_per_step(sc))} {}

  /// From now on all stages recompute `count` layers of each chunk.
  void recompute_everywhere(int count) {
    common_ = count;
    forget_costs();
  }
  /// Whether stages have to fit, from now on. Where they don't they recompute the least that may be chosen.
  void limit_memory(bool limits) {
    limits_memory_ = limits;
    forget_costs();
  }

  /// `stage` with the model's layers [begin, begin + layers), until the next recompute_everywhere or
  /// limit_memory. Where the range behind is like the one before, it is the same object.
  [[nodiscard]] const StageCost& cost(int stage, std::int64_t begin, std::int64_t layers) {
    const bool same = latest_.cost != nullptr && latest_.stage == stage && latest_.layers == layers &&
                      latest_.begin <= begin && ranges_.alike(latest_.begin, begin + layers);
    if (same) return *latest_.cost;
    // Which layers come first matters where they differ.
    const Key key{stage, ranges_.of(begin, layers), ranges_.alike(begin, begin + layers) ? 0 : begin};
    const auto [entry, made] = known_.try_emplace(key);
    if (made) entry->second = price(key, begin);
    latest_ = {stage, begin, layers, &entry->second};
    return entry->second;
  }

 private:
  using Key = std::tuple<int, Counts, std::int64_t>;

  /// First and last number of recomputed layers to try for a chunk of `layers`.
  [[nodiscard]] std::pair<int, int> counts_to_try(int stage, int layers) const {
    if (choose_) return {0, layers};
    const int said =
        std::min(recomputed_layers(sc_.recipe.recompute, static_cast<std::size_t>(stage)), layers);
    return {said, said};
  }

  /// The stage recomputing the first `count` layers of each chunk. Layers of stages with several chunks are
  /// all alike, and dealt evenly.
  [[nodiscard]] StagePlan recomputing(StagePlan plan, std::int64_t begin, int count) const {
    const int first = std::min(count * sc_.layout.vpp, plan.total_layers());
    const int of_model = std::min(first, plan.total_layers() - plan.mtp_modules());
    Counts which = ranges_.of(begin, of_model);
    which[kMtpClass] += first - of_model;
    set_recomputed(sc_.recipe.recompute, which, plan);
    return plan;
  }

  void forget_costs() {
    known_.clear();
    latest_ = {};
  }

  /// What a stage is, wherever in the pipeline it stands and however much of it is recomputed.
  struct Content {
    StagePlan whole;
    std::optional<MemoryLoad> load;  // of its parameters, and of what belongs to no stage
    std::optional<StageTransfers> transfers;
    /// By the layer that it begins with, 0 where all are alike, and recomputed layers of each chunk.
    std::map<std::pair<std::int64_t, int>, StageCost> costs;
  };
  [[nodiscard]] Content& content_of(const Key& key) {
    const auto& [stage, layers, place] = key;
    const bool first = stage == 0, last = stage + 1 == sc_.layout.pp;
    const auto [entry, made] = contents_.try_emplace({first, last, layers});
    if (made) entry->second.whole = with_ends(sc_, layers, first, last);
    return entry->second;
  }

  /// What memory is summed from.
  struct Memory {
    ParameterMemory parameters;
    ActivationMemory activations;
    MemoryLoad device;
  };
  [[nodiscard]] const Memory& memory() {
    if (memory_) return *memory_;
    TensorLedger device;
    append_device_entries(sc_, device_overhead(sc_, calibration_), device);
    memory_.emplace(Memory{{sc_, used_}, {sc_, local_dims(sc_), used_}, load_of(device)});
    memory_->parameters.sum();
    memory_->activations.sum();
    return *memory_;
  }

  /// Recomputing more costs time and frees memory: the fewest layers that fit.
  [[nodiscard]] int fewest_that_fit(int stage, std::int64_t begin, Content& content) {
    const Memory& of = memory();
    if (!content.load) {
      content.load = of.parameters.load(sc_, content.whole);
      *content.load += of.device;
    }
    const double in_flight = microbatches_in_flight(sc_.layout, microbatches_per_step(sc_), stage);
    const Allocator allocator = allocator_of(sc_);
    const auto [least, most] = counts_to_try(stage, layers_of_chunk(content));
    for (int count = least; count <= most; ++count) {
      const LiveLoad live = of.activations.load(recomputing(content.whole, begin, count), in_flight);
      if (device_peak(*content.load, live, allocator).needed <= most_memory_) return count;
    }
    return kDoesNotFit;
  }
  [[nodiscard]] int fewest_of(const Key& key, std::int64_t begin, Content& content) {
    const auto [entry, made] = fewest_.try_emplace(key, kDoesNotFit);
    if (made) entry->second = fewest_that_fit(std::get<0>(key), begin, content);
    return entry->second;
  }

  [[nodiscard]] int layers_of_chunk(const Content& content) const {
    return static_cast<int>(ceil_div(content.whole.total_layers(), sc_.layout.vpp));
  }

  [[nodiscard]] StageCost price(const Key& key, std::int64_t begin) {
    const auto& [stage, layers, place] = key;
    Content& content = content_of(key);
    const int of_chunk = layers_of_chunk(content);
    const int fewest = limits_memory_ ? fewest_of(key, begin, content) : counts_to_try(stage, of_chunk).first;
    if (fewest == kDoesNotFit) return {};
    const int count = common_ ? std::min(*common_, of_chunk) : fewest;
    const auto [entry, made] = content.costs.try_emplace({place, count});
    if (made) {
      if (!content.transfers)
        content.transfers = price_transfers(sc_, calibration_, pricer_, counts_, content.whole);
      entry->second = timed(recomputing(content.whole, begin, count), *content.transfers,
                            neighbours_of(stage, sc_.layout.pp));
    }
    StageCost cost = entry->second;
    cost.recomputed = count;
    cost.fewest = fewest;
    return cost;
  }

  [[nodiscard]] StageCost timed(const StagePlan& plan, const StageTransfers& transfers,
                                int neighbours) const {
    StageLoad load{.totals = stage_totals(totals_, plan), .neighbours = neighbours};
    load.waits = combiner_.waits(totals_, plan, transfers, load.totals);
    const StepOverheads alone = combiner_.overheads(transfers, {&load, 1}, 0, Seconds{});
    const double work = load.totals.total().value(), total = work + load.waits.total().value();
    return {.pace = work * microbatches_ + alone.total().value() - total / sc_.layout.vpp, .total = total};
  }

  const Scenario& sc_;
  const Calibration& calibration_;
  Bytes most_memory_;
  bool choose_;
  std::optional<int> common_;  // layers of each chunk that every stage recomputes
  LayerRanges ranges_;
  std::vector<StagePlan> whole_;
  std::array<bool, kLayerClasses> used_;
  Pricer pricer_;
  ModelParameters counts_;
  LayerTotals totals_;
  StepCombiner combiner_;
  double microbatches_;
  bool limits_memory_ = true;
  std::optional<Memory> memory_;  // once it is asked for
  /// What was asked for last.
  struct Latest {
    int stage = 0;
    std::int64_t begin = 0, layers = 0;
    const StageCost* cost = nullptr;
  };
  Latest latest_;
  std::map<Key, StageCost> known_;
  std::map<Key, int> fewest_;
  std::map<std::tuple<bool, bool, Counts>, Content> contents_;  // by whether it is first and last
};

struct Split {
  double step = kNever;
  std::vector<int> layers = {}, recomputed = {};  // by stage; recomputed: of each chunk
};

/// Minimises  max over stages of pace  +  sum over stages of total / vpp.  For a given largest pace the
/// smallest sum is a shortest path over (stage, layers dealt); paces are tried from the smallest on until
/// even the smallest sum cannot better what was found.
class Dealer {
 public:
  /// `own`: the plan's own layers by stage; stages of several chunks keep them.
  Dealer(const Scenario& sc, Stages& stages, const std::vector<int>& own)
      : pp_{static_cast<std::size_t>(sc.layout.pp)},
        layers_{static_cast<std::size_t>(sc.model.layers)},
        least_{static_cast<std::size_t>(chunks_per_stage(sc.layout))},
        most_{std::min(layers_, 2 * (layers_ / pp_) + least_ + 1)},
        vpp_{static_cast<double>(sc.layout.vpp)} {
    static const StageCost kNoStage;
    costs_.assign(pp_ * (layers_ + 1) * (most_ + 1), &kNoStage);
    for (std::size_t s = 0; s < pp_; ++s)
      for (std::size_t n = least_; n <= most_; ++n) {
        if (sc.layout.vpp > 1 && n != static_cast<std::size_t>(own[s])) continue;
        const StageCost* before = nullptr;
        for (std::size_t begin = 0; begin + n <= layers_; ++begin) {
          if (!reachable(s, begin)) continue;
          const StageCost& cost = stages.cost(static_cast<int>(s), static_cast<std::int64_t>(begin),
                                              static_cast<std::int64_t>(n));
          costs_[place(s, begin, n)] = &cost;
          if (&cost == before) continue;
          before = &cost;
          if (cost.pace < kNever) all_paces_.push_back(cost.pace);
          if (cost.fits()) paces_.push_back(cost.pace);
        }
      }
    sort(paces_);
  }

  /// The fewest layers that all stages of some split can recompute to fit; kDoesNotFit if none can.
  [[nodiscard]] int least_common_count() {
    std::vector<int> least((pp_ + 1) * (layers_ + 1), kDoesNotFit);
    const auto at_end = [&](std::size_t stages, std::size_t layers) -> int& {
      return least[stages * (layers_ + 1) + layers];
    };
    at_end(0, 0) = 0;
    for (std::size_t s = 0; s < pp_; ++s)
      for (std::size_t begin = 0; begin <= layers_; ++begin) {
        if (at_end(s, begin) == kDoesNotFit || !reachable(s, begin)) continue;
        for (std::size_t n = least_; n <= most_ && begin + n <= layers_; ++n) {
          int& after = at_end(s + 1, begin + n);
          after = std::min(after, std::max(at_end(s, begin), at(s, begin, n).fewest));
        }
      }
    return at_end(pp_, layers_);
  }

  /// A lower bound on the step of any split, whether this count of recomputed layers makes it fit or not;
  /// any number that is not below `longest` where the bound is not.
  [[nodiscard]] double least_step(double longest) {
    const double least_sum = path(kNever, false, nullptr);
    if (least_sum == kNever || !leaves_a_pace(longest, least_sum, false)) return kNever;
    sort(all_paces_);
    const auto first = first_pace(all_paces_, false);
    return first == all_paces_.end() ? kNever : *first + least_sum / vpp_;
  }

  /// The best split whose step is below `longest` (of the closed form).
  [[nodiscard]] Split best(double longest) {
    Split best{.step = longest};
    const double least_sum = paces_.empty() ? kNever : path(kNever, true, nullptr);
    if (least_sum == kNever || !leaves_a_pace(longest, least_sum, true)) return best;
    for (auto pace = first_pace(paces_, true); pace != paces_.end() && *pace + least_sum / vpp_ < best.step;
         ++pace) {
      Split split;
      const double step = *pace + path(*pace, true, &split) / vpp_;
      if (step < best.step) {
        best = std::move(split);
        best.step = step;
      }
    }
    return best;
  }

 private:
  static void sort(std::vector<double>& paces) {
    std::sort(paces.begin(), paces.end());
    paces.erase(std::unique(paces.begin(), paces.end()), paces.end());
  }
  [[nodiscard]] std::size_t place(std::size_t stage, std::size_t begin, std::size_t n) const {
    return (stage * (layers_ + 1) + begin) * (most_ + 1) + n;
  }
  [[nodiscard]] const StageCost& at(std::size_t stage, std::size_t begin, std::size_t n) const {
    return *costs_[place(stage, begin, n)];
  }
  [[nodiscard]] bool reachable(std::size_t stage, std::size_t begin) const {
    return begin >= stage * least_ && begin <= stage * most_ && begin + (pp_ - stage) * least_ <= layers_ &&
           begin + (pp_ - stage) * most_ >= layers_ && (stage > 0 || begin == 0);
  }

  /// Whether some split is paced so that its step, with the least sum, could be below `longest`.
  [[nodiscard]] bool leaves_a_pace(double longest, double least_sum, bool has_to_fit) {
    if (longest == kNever) return true;
    const double rounding = longest * kSlack;
    return path(longest - least_sum / vpp_ + rounding, has_to_fit, nullptr) < kNever;
  }

  /// The first pace for which there is a split at all, by bisection.
  std::vector<double>::const_iterator first_pace(const std::vector<double>& paces, bool has_to_fit) {
    return std::partition_point(paces.begin(), paces.end(),
                                [&](double pace) { return path(pace, has_to_fit, nullptr) == kNever; });
  }

  /// Smallest sum of totals with no stage above `pace`.
  double path(double pace, bool has_to_fit, Split* split) {
    const std::size_t width = layers_ + 1;
    sum_.assign((pp_ + 1) * width, kNever);
    from_.assign((pp_ + 1) * width, 0);
    sum_[0] = 0;
    for (std::size_t s = 0; s < pp_; ++s)
      for (std::size_t begin = 0; begin <= layers_; ++begin) {
        const double before = sum_[s * width + begin];
        if (before == kNever || !reachable(s, begin)) continue;
        for (std::size_t n = least_; n <= most_ && begin + n <= layers_; ++n) {
          const StageCost& cost = at(s, begin, n);
          double& after = sum_[(s + 1) * width + begin + n];
          if (cost.pace > pace || (has_to_fit && !cost.fits()) || before + cost.total >= after) continue;
          after = before + cost.total;
          from_[(s + 1) * width + begin + n] = n;
        }
      }
    const double sum = sum_[pp_ * width + layers_];
    if (split != nullptr && sum < kNever) trace(*split);
    return sum;
  }

  void trace(Split& split) {
    split.layers.resize(pp_);
    split.recomputed.resize(pp_);
    std::size_t end = layers_;
    for (std::size_t s = pp_; s-- > 0;) {
      const std::size_t n = from_[(s + 1) * (layers_ + 1) + end];
      end -= n;
      split.layers[s] = static_cast<int>(n);
      split.recomputed[s] = at(s, end, n).recomputed;
    }
  }

  std::size_t pp_, layers_, least_, most_;
  double vpp_;
  std::vector<const StageCost*> costs_;  // of Stages: until its next recompute_everywhere or limit_memory
  std::vector<double> paces_, all_paces_, sum_;  // paces_: of stages that fit
  std::vector<std::size_t> from_;
};

/// The best split of stages that all recompute the same number of layers. More of them cost time: once a
/// split would take as long as the best one even with all the memory it wants, so does each with more.
Split best_with_one_count(const Scenario& sc, Stages& stages, const std::vector<int>& own, double longest) {
  Split best{.step = longest};
  stages.recompute_everywhere(0);
  std::optional<Dealer> dealer{std::in_place, sc, stages, own};
  if (dealer->least_step(longest) >= longest) return best;
  const int least = dealer->least_common_count();
  if (least == kDoesNotFit) return best;
  for (int count = least; std::int64_t{count} <= sc.model.layers; ++count) {
    if (count > 0) {
      stages.recompute_everywhere(count);
      dealer.emplace(sc, stages, own);
    }
    const double bound = dealer->least_step(best.step);
    if (bound >= best.step) break;
    if (Split split = dealer->best(best.step); !split.layers.empty()) best = std::move(split);
    if (best.step <= bound * (1 + kSlack)) break;
  }
  return best;
}

/// Whether no split is faster than `longest` even with all the memory it wants, its stages recomputing the
/// least that may be chosen.
bool is_too_slow(const Scenario& sc, Stages& stages, const std::vector<int>& own, double longest) {
  stages.limit_memory(false);
  const bool slow = Dealer{sc, stages, own}.least_step(longest) >= longest;
  stages.limit_memory(true);
  return slow;
}

/// The recipe's recomputation with `recomputed` layers by stage.
Recompute recompute_of(Recompute recompute, const std::vector<int>& recomputed, bool per_stage) {
  if (std::all_of(recomputed.begin(), recomputed.end(), [](int n) { return n == 0; })) return {};
  if (per_stage) {
    recompute.stage_layers = recomputed;
  } else {
    recompute.layers = *std::max_element(recomputed.begin(), recomputed.end());
  }
  return recompute;
}

}  // namespace

bool recomputes_whole_layers(RecomputeMode mode) {
  return mode == RecomputeMode::None || mode == RecomputeMode::Layers || mode == RecomputeMode::Full;
}

bool may_choose_recomputed_layers(const std::vector<Recompute>& choices) {
  return std::any_of(choices.begin(), choices.end(), [](const Recompute& choice) {
    return choice.mode == RecomputeMode::Layers && choice.layers == 0;
  });
}

bool can_be_refined(const Scenario& sc) {
  const Layout& l = sc.layout;
  if (l.pp == 1 || is_v_shaped(l.schedule) || model_copies(l.schedule) > 1 ||
      l.vocab != VocabParallel::LastStage || sc.model.layers < static_cast<std::int64_t>(l.pp) * l.vpp)
    return false;
  // Chunks keep their layers: where all stages recompute as many, there is nothing to choose but a candidate.
  if (l.vpp > 1 && !sc.framework.abilities.recompute_per_stage) return false;
  const Counts counts = layers_by_class(sc.model, 0, sc.model.layers);
  return l.vpp == 1 || std::count_if(counts.begin(), counts.end(), [](int n) { return n > 0; }) == 1;
}

std::optional<Plan> refine(const SearchProblem& problem, const Plan& plan, bool choose_recomputed,
                           Seconds longest) {
  Scenario sc = scenario_of(problem, plan);
  if (!can_be_refined(sc)) return std::nullopt;
  const Calibration& calibration = problem.hardware[plan.hardware].calibration;
  const bool choose = choose_recomputed && recomputes_whole_layers(sc.recipe.recompute.mode);
  if (choose) sc.recipe.recompute = {.mode = RecomputeMode::Layers};
  Stages stages{sc, calibration, most_memory(problem, plan.hardware), choose};
  std::vector<int> own;
  for (const StagePlan& stage : plan_stages(sc)) own.push_back(stage.total_layers());
  // Without a closed form the dealer's steps only order the splits.
  const bool exact = has_closed_form(sc.layout, static_cast<int>(microbatches_per_step(sc)));
  const double cutoff = exact ? smaller(longest, plan.price.step).value() : kNever;
  const bool per_stage = sc.framework.abilities.recompute_per_stage;
  const bool chooses_by_stage = choose && per_stage;
  if (cutoff < kNever && !chooses_by_stage && is_too_slow(sc, stages, own, cutoff)) return std::nullopt;
  const Split split = choose && !per_stage ? best_with_one_count(sc, stages, own, cutoff)
                                           : Dealer{sc, stages, own}.best(cutoff);
  if (split.layers.empty()) return std::nullopt;
  if (split.layers != own) {
    sc.layout.split = StageSplit::Explicit;
    sc.layout.stage_layers = split.layers;
  }
  if (choose) sc.recipe.recompute = recompute_of(sc.recipe.recompute, split.recomputed, per_stage);
  const Estimate estimate = estimate_step(sc, calibration);
  if (plan.price.step * (1 - kWorthwhile) < estimate.time.total()) return std::nullopt;
  const Bytes peak = estimate.peak().needed;
  // Stages are cut by the ledger; where the estimate replays them it may find more.
  if (most_memory(problem, plan.hardware) < peak) return std::nullopt;
  return Plan{.hardware = plan.hardware,
              .layout = sc.layout,
              .recipe = sc.recipe,
              .price = price_of(sc, calibration, estimate.time.total(), peak)};
}

}  // namespace hexaplan::planner
