#include "gui/models/plan_table_model.h"

#include <algorithm>
#include <array>

#include "presets/scenario/layout_text.h"
#include "presets/scenario/recompute_text.h"
#include "presets/scenario/vocabulary.h"

namespace hexaplan::gui {
namespace {

QString text(std::string_view utf8) {
  return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size()));
}

QVariant known(double value) {
  return value > 0 ? QVariant(value) : QVariant();
}

const costmodel::Layout& layoutOf(const PlanRow& row) {
  return row.plan.plan.layout;
}
const planner::Price& priceOf(const PlanRow& row) {
  return row.plan.plan.price;
}

#define PLAN_TEXT(text) QT_TRANSLATE_NOOP("hexaplan::gui::PlanTableModel", text)
using R = const PlanRow&;
constexpr std::array kPlanColumns{
    Column<PlanRow>{{PLAN_TEXT("#"), CellUnit::Count, PLAN_TEXT("Place in the ranking.")},
                    [](R r) -> QVariant { return r.place; }},
    Column<PlanRow>{{PLAN_TEXT("layout"), CellUnit::Text, PLAN_TEXT("As the command line reads it.")},
                    [](R r) -> QVariant { return layoutText(layoutOf(r)); }},
    Column<PlanRow>{{PLAN_TEXT("step time"), CellUnit::Seconds, PLAN_TEXT("Of one optimizer step.")},
                    [](R r) -> QVariant { return priceOf(r).step.value(); }},
    Column<PlanRow>{{PLAN_TEXT("peak memory"), CellUnit::Bytes, PLAN_TEXT("Of the fullest GPU.")},
                    [](R r) -> QVariant { return priceOf(r).peak.value(); }},
    Column<PlanRow>{
        {PLAN_TEXT("to spare"), CellUnit::Bytes, PLAN_TEXT("Usable memory left on the fullest GPU.")},
        [](R r) -> QVariant { return priceOf(r).headroom().value(); }},
    Column<PlanRow>{{PLAN_TEXT("tokens/s/GPU"), CellUnit::Plain, PLAN_TEXT("Tokens per second and GPU.")},
                    [](R r) -> QVariant { return priceOf(r).tokens_per_second_per_gpu; }},
    Column<PlanRow>{{PLAN_TEXT("MFU"), CellUnit::Percent,
                     PLAN_TEXT("Model FLOPs over the dense peak; causal attention halved.")},
                    [](R r) -> QVariant { return priceOf(r).mfu; }},
    Column<PlanRow>{{PLAN_TEXT("GPUs"), CellUnit::Count, PLAN_TEXT("That the plan uses.")},
                    [](R r) -> QVariant { return static_cast<double>(priceOf(r).gpus); }},
    Column<PlanRow>{{PLAN_TEXT("micro-batch"), CellUnit::Count, PLAN_TEXT("Sequences per pass and replica.")},
                    [](R r) -> QVariant { return static_cast<double>(r.plan.plan.recipe.micro_batch); }},
    Column<PlanRow>{
        {PLAN_TEXT("recompute"), CellUnit::Text, PLAN_TEXT("What backward runs again to save memory.")},
        [](R r) -> QVariant { return recomputeText(r.plan.plan.recipe.recompute); }},
    Column<PlanRow>{{PLAN_TEXT("cost per step"), CellUnit::Dollars,
                     PLAN_TEXT("All GPUs together; empty where the GPU has no price.")},
                    [](R r) { return known(priceOf(r).dollars_per_step); }},
    Column<PlanRow>{
        {PLAN_TEXT("uneven gain"), CellUnit::Seconds,
         PLAN_TEXT("What the best uneven split of layers saves per step.")},
        [](R r) { return r.plan.refinement ? QVariant(r.plan.refinement->gain.value()) : QVariant(); }},
    Column<PlanRow>{{PLAN_TEXT("simulated"), CellUnit::Seconds, PLAN_TEXT("Step time by discrete events.")},
                    [](R r) { return r.plan.simulated ? QVariant(r.plan.simulated->value()) : QVariant(); }},
    Column<PlanRow>{{PLAN_TEXT("DP"), CellUnit::Count, PLAN_TEXT("Data-parallel replicas.")},
                    [](R r) -> QVariant { return layoutOf(r).dp; }},
    Column<PlanRow>{{PLAN_TEXT("TP"), CellUnit::Count, PLAN_TEXT("Ranks that share each layer's matrices.")},
                    [](R r) -> QVariant { return layoutOf(r).tp; }},
    Column<PlanRow>{{PLAN_TEXT("CP"), CellUnit::Count, PLAN_TEXT("Ranks that share each sequence.")},
                    [](R r) -> QVariant { return layoutOf(r).cp; }},
    Column<PlanRow>{{PLAN_TEXT("PP"), CellUnit::Count, PLAN_TEXT("Pipeline stages.")},
                    [](R r) -> QVariant { return layoutOf(r).pp; }},
    Column<PlanRow>{{PLAN_TEXT("VPP"), CellUnit::Count, PLAN_TEXT("Model chunks per stage.")},
                    [](R r) -> QVariant { return layoutOf(r).vpp; }},
    Column<PlanRow>{{PLAN_TEXT("EP"), CellUnit::Count, PLAN_TEXT("Ranks that share the experts.")},
                    [](R r) -> QVariant { return layoutOf(r).ep; }},
    Column<PlanRow>{
        {PLAN_TEXT("ZeRO"), CellUnit::Count,
         PLAN_TEXT("What data-parallel ranks shard: 1 optimizer states, 2 gradients too, 3 all.")},
        [](R r) -> QVariant { return layoutOf(r).sharding.stage; }},
    Column<PlanRow>{
        {PLAN_TEXT("schedule"), CellUnit::Text, PLAN_TEXT("Order of micro-batches in the pipeline.")},
        [](R r) -> QVariant {
          for (const auto& name : presets::kScheduleNames) {
            if (name.value == layoutOf(r).schedule) return text(name.name);
          }
          return {};
        }},
};
constexpr int kShownAtFirst = 10;
#undef PLAN_TEXT

#define RULE_TEXT(text) QT_TRANSLATE_NOOP("hexaplan::gui::RejectionModel", text)
using Rejection = planner::RejectionCount;
constexpr std::array kRejectionColumns{
    Column<Rejection>{
        {RULE_TEXT("candidates"), CellUnit::Count, RULE_TEXT("That this rule was the first to reject.")},
        [](const Rejection& r) -> QVariant { return static_cast<double>(r.candidates); }},
    Column<Rejection>{{RULE_TEXT("rule"), CellUnit::Text, RULE_TEXT("Its stable name.")},
                      [](const Rejection& r) -> QVariant { return text(r.rule); }},
    Column<Rejection>{
        {RULE_TEXT("reason, for example"), CellUnit::Text, RULE_TEXT("Why one of them was rejected.")},
        [](const Rejection& r) -> QVariant { return text(r.reason); }},
    Column<Rejection>{{RULE_TEXT("what would pass"), CellUnit::Text, RULE_TEXT("Advice for that one.")},
                      [](const Rejection& r) -> QVariant { return text(r.advice); }},
    Column<Rejection>{{RULE_TEXT("nearest layouts that pass"), CellUnit::Text,
                       RULE_TEXT("Next to the example, along the axis that the rule speaks of.")},
                      [](const Rejection& r) -> QVariant {
                        QStringList near;
                        for (const costmodel::Layout& layout : r.nearest) near.append(layoutText(layout));
                        return near.join(QStringLiteral(" · "));
                      }},
};
#undef RULE_TEXT

}  // namespace

QString layoutText(const costmodel::Layout& layout) {
  return text(presets::to_layout_text({.layout = layout, .dp_given = true}));
}

QString recomputeText(const costmodel::Recompute& recompute) {
  return text(presets::to_recompute_text(recompute));
}

PlanTableModel::PlanTableModel(QObject* parent)
    : ColumnTableModel(kPlanColumns, "hexaplan::gui::PlanTableModel", parent) {}

void PlanTableModel::setRanking(const planner::Ranking& ranking) {
  std::vector<PlanRow> rows;
  rows.reserve(ranking.plans.size());
  for (const planner::RankedPlan& plan : ranking.plans)
    rows.push_back({static_cast<int>(rows.size()) + 1, plan});
  setRows(std::move(rows));
}

bool PlanTableModel::shownAtFirst(int column) {
  return column < kShownAtFirst;
}

QString PlanTableModel::toolTip(int index, int column) const {
  const planner::RankedPlan& plan = row(index).plan;
  if (!plan.refinement) return ColumnTableModel::toolTip(index, column);
  return tr("%1\nWith stages of %2: %3 faster")
      .arg(ColumnTableModel::toolTip(index, column), layoutText(plan.refinement->layout),
           secondsText(plan.refinement->gain));
}

RejectionModel::RejectionModel(QObject* parent)
    : ColumnTableModel(kRejectionColumns, "hexaplan::gui::RejectionModel", parent) {}

}  // namespace hexaplan::gui
