#include "gui/models/sweep_model.h"

#include <array>

#include "gui/models/plan_table_model.h"

namespace hexaplan::gui {
namespace {

template <class Value>
QVariant ofBest(const SweepRow& row, Value value) {
  return row.best ? QVariant(value(*row.best)) : QVariant();
}

using Swept = SweepRow;
constexpr std::array kSweptColumns{
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "first"), CellUnit::Text,
                   QT_TRANSLATE_NOOP("Sweep", "Value of the axis.")},
                  [](const Swept& r) -> QVariant { return r.first; }},
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "second"), CellUnit::Text,
                   QT_TRANSLATE_NOOP("Sweep", "Value of the axis.")},
                  [](const Swept& r) -> QVariant { return r.second; }},
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "best plan"), CellUnit::Text,
                   QT_TRANSLATE_NOOP("Sweep", "What the search lists first.")},
                  [](const Swept& r) {
                    return ofBest(r, [](const planner::Plan& p) { return layoutText(p.layout); });
                  }},
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "micro-batch"), CellUnit::Count,
                   QT_TRANSLATE_NOOP("Sweep", "Sequences at once.")},
                  [](const Swept& r) {
                    return ofBest(
                        r, [](const planner::Plan& p) { return static_cast<double>(p.recipe.micro_batch); });
                  }},
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "recompute"), CellUnit::Text,
                   QT_TRANSLATE_NOOP("Sweep", "What backward runs again.")},
                  [](const Swept& r) {
                    return ofBest(r,
                                  [](const planner::Plan& p) { return recomputeText(p.recipe.recompute); });
                  }},
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "step time"), CellUnit::Seconds,
                   QT_TRANSLATE_NOOP("Sweep", "Of one optimizer step.")},
                  [](const Swept& r) {
                    return ofBest(r, [](const planner::Plan& p) { return p.price.step.value(); });
                  }},
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "tokens/s/GPU"), CellUnit::Count,
                   QT_TRANSLATE_NOOP("Sweep", "Throughput per GPU.")},
                  [](const Swept& r) {
                    return ofBest(r,
                                  [](const planner::Plan& p) { return p.price.tokens_per_second_per_gpu; });
                  }},
    Column<Swept>{
        {QT_TRANSLATE_NOOP("Sweep", "MFU"), CellUnit::Percent,
         QT_TRANSLATE_NOOP("Sweep", "Model FLOPs over the peak.")},
        [](const Swept& r) { return ofBest(r, [](const planner::Plan& p) { return p.price.mfu; }); }},
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "free memory"), CellUnit::Bytes,
                   QT_TRANSLATE_NOOP("Sweep", "Of the fullest stage's GPU.")},
                  [](const Swept& r) {
                    return ofBest(r, [](const planner::Plan& p) { return p.price.headroom().value(); });
                  }},
    Column<Swept>{
        {QT_TRANSLATE_NOOP("Sweep", "risk"), CellUnit::Percent,
         QT_TRANSLATE_NOOP("Sweep", "Chance of running out of memory.")},
        [](const Swept& r) { return ofBest(r, [](const planner::Plan& p) { return p.price.risk; }); }},
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "cost per million tokens"), CellUnit::Dollars,
                   QT_TRANSLATE_NOOP("Sweep", "At the price of the GPUs.")},
                  [](const Swept& r) {
                    const auto cost = r.best ? costOfTokens(*r.best, r.tokens_per_step) : std::nullopt;
                    return cost ? QVariant(*cost) : QVariant();
                  }},
    Column<Swept>{{QT_TRANSLATE_NOOP("Sweep", "nothing because"), CellUnit::Text,
                   QT_TRANSLATE_NOOP("Sweep", "The limit that no plan keeps.")},
                  [](const Swept& r) -> QVariant { return r.nothing; }},
};

}  // namespace

std::optional<double> costOfTokens(const planner::Plan& plan, double tokens_per_step) {
  constexpr double kMillion = 1e6;
  if (plan.price.dollars_per_step <= 0 || tokens_per_step <= 0) return std::nullopt;
  return plan.price.dollars_per_step / tokens_per_step * kMillion;
}

SweepModel::SweepModel(QObject* parent) : ColumnTableModel(kSweptColumns, "Sweep", parent) {}

void SweepModel::setSweep(const QString& first, const QString& second, std::vector<SweepRow> rows) {
  axes_[0] = first;
  axes_[1] = second;
  setRows(std::move(rows));
}

QString SweepModel::title(int column) const {
  const bool axis = column < 2 && !axes_[column].isEmpty();
  return axis ? axes_[column] : ColumnTableModel::title(column);
}

}  // namespace hexaplan::gui
