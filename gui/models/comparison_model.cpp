#include "gui/models/comparison_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace hexaplan::gui {
namespace {
constexpr int kFirstNumber = 2;  // after group and name
}

void ComparisonModel::setStates(std::vector<ComparedState> states) {
  assert(std::all_of(states.begin(), states.end(),
                     [&](const auto& s) { return s.figures.size() == states.front().figures.size(); }));
  std::vector<std::size_t> rows = rowsOf(states, hide_empty_);
  const bool same_table =
      rows == rows_ && std::equal(states.begin(), states.end(), states_.begin(), states_.end(),
                                  [](const auto& a, const auto& b) { return a.name == b.name; });
  if (same_table) {
    states_.swap(states);
    announceChanges(states);
    return;
  }
  beginResetModel();
  states_ = std::move(states);
  rows_ = std::move(rows);
  endResetModel();
}

void ComparisonModel::announceChanges(const std::vector<ComparedState>& before) {
  for (int row = 0; row < rowCount(); ++row) {
    const std::size_t figure = rows_[static_cast<std::size_t>(row)];
    int first = columnCount(), last = -1;
    for (std::size_t s = 0; s < states_.size(); ++s) {
      const Figure &is = states_[s].figures[figure], &was = before[s].figures[figure];
      if (is.value == was.value && is.text == was.text) continue;
      // Every difference hangs on the first state.
      first = std::min(first, s == 0 ? kFirstNumber : kFirstNumber + 1 + 3 * (static_cast<int>(s) - 1));
      last = s == 0 ? columnCount() - 1 : std::max(last, kFirstNumber + 3 * static_cast<int>(s));
    }
    if (last >= first) emit dataChanged(index(row, first), index(row, last));
  }
}

void ComparisonModel::setHideEmpty(bool hide) {
  beginResetModel();
  hide_empty_ = hide;
  rows_ = rowsOf(states_, hide);
  endResetModel();
}

/// Inputs that differ, and numbers that are not empty in every state.
static bool worthARow(const std::vector<ComparedState>& states, std::size_t figure, bool hide_empty) {
  const Figure& first = states.front().figures[figure];
  if (first.unit == CellUnit::Text) {
    return std::any_of(states.begin(), states.end(),
                       [&](const ComparedState& state) { return state.figures[figure].text != first.text; });
  }
  return !hide_empty || std::any_of(states.begin(), states.end(), [&](const ComparedState& state) {
    return state.figures[figure].value.value_or(0) != 0;
  });
}

std::vector<std::size_t> ComparisonModel::rowsOf(const std::vector<ComparedState>& states, bool hide_empty) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; !states.empty() && i < states.front().figures.size(); ++i) {
    if (worthARow(states, i, hide_empty)) rows.push_back(i);
  }
  return rows;
}

ComparisonModel::Place ComparisonModel::place(int column) {
  if (column == 0) return {Part::Group};
  if (column == 1) return {Part::Name};
  if (column == kFirstNumber) return {Part::Number, 0};
  const int after = column - kFirstNumber - 1;
  constexpr Part parts[] = {Part::Number, Part::Difference, Part::Change};
  return {parts[after % 3], static_cast<std::size_t>(after / 3) + 1};
}

const Figure& ComparisonModel::figure(int row, std::size_t state) const {
  return states_[state].figures[rows_[static_cast<std::size_t>(row)]];
}

int ComparisonModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int ComparisonModel::columnCount(const QModelIndex& parent) const {
  if (parent.isValid() || states_.empty()) return 0;
  return kFirstNumber + 1 + 3 * (static_cast<int>(states_.size()) - 1);
}

QVariant ComparisonModel::value(int row, int column) const {
  const Place at = place(column);
  const Figure& before = figure(row, 0);
  const Figure& now = figure(row, at.state);
  switch (at.part) {
    case Part::Group:
      return before.group;
    case Part::Name:
      return before.name;
    case Part::Number:
      if (now.unit == CellUnit::Text) return now.text;
      return now.value ? QVariant(*now.value) : QVariant();
    case Part::Difference:
      if (now.unit == CellUnit::Text) return now.text == before.text ? QVariant() : QVariant(tr("differs"));
      return before.value && now.value ? QVariant(*now.value - *before.value) : QVariant();
    case Part::Change:
      if (!before.value || !now.value || now.remainder) return {};
      // A share of a share would stand beside points of it.
      if (now.unit == CellUnit::Percent) return *now.value - *before.value;
      return *before.value > 0 && *now.value >= 0 ? QVariant(*now.value / *before.value - 1) : QVariant();
  }
  return {};
}

CellUnit ComparisonModel::unit(int row, int column) const {
  switch (place(column).part) {
    case Part::Group:
    case Part::Name:
      return CellUnit::Text;
    case Part::Change:
      return CellUnit::Percent;
    default:
      return figure(row, 0).unit;
  }
}

CellUnit ComparisonModel::columnUnit(int column) const {
  const Part part = place(column).part;
  if (part == Part::Change) return CellUnit::Percent;
  return part == Part::Group || part == Part::Name ? CellUnit::Text : CellUnit::Plain;
}

QString ComparisonModel::title(int column) const {
  const Place at = place(column);
  switch (at.part) {
    case Part::Group:
      return tr("group");
    case Part::Name:
      return tr("figure");
    case Part::Number:
      return states_[at.state].name;
    case Part::Difference:
      return tr("difference");
    case Part::Change:
      return tr("change");
  }
  return {};
}

QString ComparisonModel::meaning(int column) const {
  const Place at = place(column);
  switch (at.part) {
    case Part::Group:
      return tr("What the figure speaks of.");
    case Part::Name:
      return tr("Figures of the estimate.");
    case Part::Number:
      return at.state == 0 ? tr("The baseline.") : states_[at.state].name;
    case Part::Difference:
    case Part::Change:
      return tr("%1 against %2.").arg(states_[at.state].name, states_.front().name);
  }
  return {};
}

QString ComparisonModel::toolTip(int row, int column) const {
  return place(column).part == Part::Name ? figure(row, 0).meaning : meaning(column);
}

QString ComparisonModel::text(int row, int column) const {
  const Part part = place(column).part;
  const QVariant bare = value(row, column);
  const bool input = figure(row, 0).unit == CellUnit::Text;
  if (part == Part::Change && figure(row, 0).remainder) return remainderText(row, column);
  if ((part != Part::Difference && part != Part::Change) || !bare.isValid() || input)
    return TableModel::text(row, column);
  const double change = bare.toDouble();
  // Differences of shares are percentage points.
  const CellUnit shown = unit(row, column);
  QString magnitude = cellText(std::abs(change), shown, byteUnit());
  if (figure(row, 0).unit == CellUnit::Percent) magnitude.replace(u'%', tr("points"));
  QString text = signedText(change, magnitude);
  if (part != Part::Change) return text;
  // Not by colour alone.
  switch (judged(row, change, text)) {
    case Verdict::Better:
      return tr("%1 better").arg(text);
    case Verdict::Worse:
      return tr("%1 worse").arg(text);
    case Verdict::Same:
      break;
  }
  return text;
}

/// Whether more or less is left, in a word: the difference stands beside it.
QString ComparisonModel::remainderText(int row, int column) const {
  const QVariant difference = value(row, column - 1);
  if (!difference.isValid()) return {};
  switch (judged(row, difference.toDouble(), text(row, column - 1))) {
    case Verdict::Better:
      return tr("better");
    case Verdict::Worse:
      return tr("worse");
    case Verdict::Same:
      break;
  }
  return {};
}

ComparisonModel::Verdict ComparisonModel::judged(int row, double change, const QString& text) const {
  if (showsNothing(text)) return Verdict::Same;
  return (change > 0) == figure(row, 0).more_is_better ? Verdict::Better : Verdict::Worse;
}

ComparisonModel::Verdict ComparisonModel::verdict(const QModelIndex& index) const {
  const Place at = place(index.column());
  if (at.part != Part::Difference && at.part != Part::Change) return Verdict::Same;
  if (figure(index.row(), 0).unit == CellUnit::Text) return Verdict::Same;
  const int column =
      at.part == Part::Change && figure(index.row(), 0).remainder ? index.column() - 1 : index.column();
  return judged(index.row(), value(index.row(), column).toDouble(), text(index.row(), column));
}

}  // namespace hexaplan::gui
