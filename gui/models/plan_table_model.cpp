#include "gui/models/plan_table_model.h"

#include <algorithm>
#include <array>
#include <optional>

#include "gui/models/number_text.h"
#include "presets/json/vocabulary.h"
#include "presets/scenario/layout_text.h"
#include "presets/scenario/recompute_text.h"

namespace hexaplan::gui {
namespace {

QVariant known(double value) {
  return value > 0 ? QVariant(value) : QVariant();
}

const costmodel::Layout& layoutOf(const PlanRow& row) {
  return row.plan.plan.layout;
}
const planner::Price& priceOf(const PlanRow& row) {
  return row.plan.plan.price;
}

/// What the best uneven split of layers saves per step; nothing where the plan is not priced here.
std::optional<costmodel::Seconds> unevenGain(const planner::RankedPlan& plan) {
  const costmodel::Seconds step = plan.estimate.time.total();
  if (!plan.refined_from || step.value() <= 0) return std::nullopt;
  return plan.refined_from->price.step - step;
}

using R = const PlanRow&;
constexpr std::array kPlanColumns{
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "#"), CellUnit::Count,
                     QT_TRANSLATE_NOOP("Plans", "Place in the ranking.")},
                    [](R r) -> QVariant { return r.place; }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "layout"), CellUnit::Text,
                     QT_TRANSLATE_NOOP("Plans", "As the command line reads it.")},
                    [](R r) -> QVariant { return layoutText(layoutOf(r)); }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "step time"), CellUnit::Seconds,
                     QT_TRANSLATE_NOOP("Plans",
                                       "Of one optimizer step: by discrete events where the plan was "
                                       "simulated, else in closed form.")},
                    [](R r) -> QVariant { return priceOf(r).step.value(); }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "peak memory"), CellUnit::Bytes,
                     QT_TRANSLATE_NOOP("Plans", "Of the fullest GPU.")},
                    [](R r) -> QVariant { return priceOf(r).peak.value(); }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "risk"), CellUnit::Percent,
                     QT_TRANSLATE_NOOP("Plans", "Chance of running out of memory. Formula T9.")},
                    [](R r) -> QVariant { return priceOf(r).risk; }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "tokens/s/GPU"), CellUnit::Plain,
                     QT_TRANSLATE_NOOP("Plans", "Tokens per second and GPU.")},
                    [](R r) -> QVariant { return priceOf(r).tokens_per_second_per_gpu; }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "MFU"), CellUnit::Percent,
                     QT_TRANSLATE_NOOP("Plans", "Model FLOPs over the dense peak; causal attention halved.")},
                    [](R r) -> QVariant { return priceOf(r).mfu; }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "micro-batch"), CellUnit::Count,
                     QT_TRANSLATE_NOOP("Plans", "Sequences per pass and replica.")},
                    [](R r) -> QVariant { return static_cast<double>(r.plan.plan.recipe.micro_batch); }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "recompute"), CellUnit::Text,
                     QT_TRANSLATE_NOOP("Plans", "What backward runs again to save memory.")},
                    [](R r) -> QVariant { return recomputeText(r.plan.plan.recipe.recompute); }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "to spare"), CellUnit::Bytes,
                     QT_TRANSLATE_NOOP("Plans", "Usable memory left on the fullest GPU.")},
                    [](R r) -> QVariant { return priceOf(r).headroom().value(); }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "GPUs"), CellUnit::Count,
                     QT_TRANSLATE_NOOP("Plans", "That the plan uses.")},
                    [](R r) -> QVariant { return static_cast<double>(priceOf(r).gpus); }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "cost per step"), CellUnit::Dollars,
                     QT_TRANSLATE_NOOP("Plans", "All GPUs together; empty where the GPU has no price.")},
                    [](R r) { return known(priceOf(r).dollars_per_step); }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "uneven gain"), CellUnit::Seconds,
                     QT_TRANSLATE_NOOP("Plans", "What the best uneven split of layers saves per step.")},
                    [](R r) {
                      const auto gain = unevenGain(r.plan);
                      return gain ? QVariant(gain->value()) : QVariant();
                    }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "closed form"), CellUnit::Seconds,
                     QT_TRANSLATE_NOOP("Plans",
                                       "Step time in closed form: what the window says of the plan once it "
                                       "is loaded, and where the chart has it.")},
                    [](R r) { return known(r.plan.estimate.time.total().value()); }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "DP"), CellUnit::Count,
                     QT_TRANSLATE_NOOP("Plans", "Data-parallel replicas.")},
                    [](R r) -> QVariant { return layoutOf(r).dp; }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "TP"), CellUnit::Count,
                     QT_TRANSLATE_NOOP("Plans", "Ranks that share each layer's matrices.")},
                    [](R r) -> QVariant { return layoutOf(r).tp; }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "CP"), CellUnit::Count,
                     QT_TRANSLATE_NOOP("Plans", "Ranks that share each sequence.")},
                    [](R r) -> QVariant { return layoutOf(r).cp; }},
    Column<PlanRow>{
        {QT_TRANSLATE_NOOP("Plans", "PP"), CellUnit::Count, QT_TRANSLATE_NOOP("Plans", "Pipeline stages.")},
        [](R r) -> QVariant { return layoutOf(r).pp; }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "VPP"), CellUnit::Count,
                     QT_TRANSLATE_NOOP("Plans", "Model chunks per stage.")},
                    [](R r) -> QVariant { return layoutOf(r).vpp; }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "EP"), CellUnit::Count,
                     QT_TRANSLATE_NOOP("Plans", "Ranks that share the experts.")},
                    [](R r) -> QVariant { return layoutOf(r).ep; }},
    Column<PlanRow>{
        {QT_TRANSLATE_NOOP("Plans", "ZeRO"), CellUnit::Count,
         QT_TRANSLATE_NOOP("Plans",
                           "What data-parallel ranks shard: 1 optimizer states, 2 gradients too, 3 all.")},
        [](R r) -> QVariant { return layoutOf(r).sharding.stage; }},
    Column<PlanRow>{{QT_TRANSLATE_NOOP("Plans", "schedule"), CellUnit::Text,
                     QT_TRANSLATE_NOOP("Plans", "Order of micro-batches in the pipeline.")},
                    [](R r) -> QVariant {
                      for (const auto& name : presets::kScheduleNames) {
                        if (name.value == layoutOf(r).schedule) return utf8Text(name.name);
                      }
                      return {};
                    }},
};
constexpr int kShownAtFirst = 9;  // up to recompute: plans that differ look different
constexpr int kClosedForm = 13;   // beside the step time

using Rejection = planner::RejectionCount;
constexpr std::array kRejectionColumns{
    Column<Rejection>{{QT_TRANSLATE_NOOP("Rejections", "candidates"), CellUnit::Count,
                       QT_TRANSLATE_NOOP("Rejections", "That this rule was the first to reject.")},
                      [](const Rejection& r) -> QVariant { return static_cast<double>(r.candidates); }},
    Column<Rejection>{{QT_TRANSLATE_NOOP("Rejections", "rule"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Rejections", "Its stable name.")},
                      [](const Rejection& r) -> QVariant { return utf8Text(r.rule); }},
    Column<Rejection>{{QT_TRANSLATE_NOOP("Rejections", "reason, for example"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Rejections", "Why one of them was rejected.")},
                      [](const Rejection& r) -> QVariant { return utf8Text(r.reason); }},
    Column<Rejection>{{QT_TRANSLATE_NOOP("Rejections", "what would pass"), CellUnit::Text,
                       QT_TRANSLATE_NOOP("Rejections", "Advice for that one.")},
                      [](const Rejection& r) -> QVariant { return utf8Text(r.advice); }},
    Column<Rejection>{
        {QT_TRANSLATE_NOOP("Rejections", "nearest layouts that pass"), CellUnit::Text,
         QT_TRANSLATE_NOOP("Rejections", "Next to the example, along the axis that the rule speaks of.")},
        [](const Rejection& r) -> QVariant {
          QStringList near;
          for (const costmodel::Layout& layout : r.nearest) near.append(layoutText(layout));
          return near.join(QStringLiteral(" · "));
        }},
};

}  // namespace

QString layoutText(const costmodel::Layout& layout) {
  return utf8Text(presets::to_layout_text({.layout = layout, .dp_given = true}));
}

QString recomputeText(const costmodel::Recompute& recompute) {
  return utf8Text(presets::to_recompute_text(recompute));
}

PlanTableModel::PlanTableModel(QObject* parent) : ColumnTableModel(kPlanColumns, "Plans", parent) {}

void PlanTableModel::setRanking(const planner::Ranking& ranking) {
  std::vector<PlanRow> rows;
  rows.reserve(ranking.plans.size());
  for (const planner::RankedPlan& plan : ranking.plans)
    rows.push_back({static_cast<int>(rows.size()) + 1, plan});
  setRows(std::move(rows));
}

bool PlanTableModel::shownAtFirst(int column) {
  return column < kShownAtFirst || column == kClosedForm;
}

QString PlanTableModel::toolTip(int index, int column) const {
  const planner::RankedPlan& plan = row(index).plan;
  const auto gain = unevenGain(plan);
  if (!gain) return ColumnTableModel::toolTip(index, column);
  return tr("%1\n%2: %3 faster than with equal stages")
      .arg(ColumnTableModel::toolTip(index, column), layoutText(plan.plan.layout), secondsText(*gain));
}

RejectionModel::RejectionModel(QObject* parent) : ColumnTableModel(kRejectionColumns, "Rejections", parent) {}

}  // namespace hexaplan::gui
