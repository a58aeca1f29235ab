#pragma once
#include <vector>

#include "gui/models/figures.h"
#include "gui/models/table_model.h"

namespace hexaplan::gui {

/// One state beside others: a name and its numbers (figuresOf).
struct ComparedState {
  QString name;
  std::vector<Figure> figures;
};

/// Several states side by side: every number of each, and of all but the first its difference from the first,
/// absolute and relative. Columns: figure, first, then (state, difference, change) for each further one.
class ComparisonModel : public TableModel {
  Q_OBJECT
 public:
  enum class Verdict { Same, Better, Worse };

  explicit ComparisonModel(QObject* parent = nullptr) : TableModel(parent) {}
  /// The first is the baseline. States of the same names whose numbers alone changed keep the table as it
  /// is. Preconditions: all have the same figures in the same order.
  void setStates(std::vector<ComparedState> states);
  /// Leaves out rows that are 0 or unknown in every state; inputs (CellUnit::Text) are left out where they
  /// are the same in all, whatever is said here.
  void setHideEmpty(bool hide);
  /// Whether a difference is good, for its colour; of columns of numbers, and of what rounds to nothing,
  /// Same.
  [[nodiscard]] Verdict verdict(const QModelIndex& index) const;

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;

 protected:
  [[nodiscard]] QVariant value(int row, int column) const override;
  [[nodiscard]] CellUnit unit(int row, int column) const override;
  [[nodiscard]] CellUnit columnUnit(int column) const override;
  [[nodiscard]] QString title(int column) const override;
  [[nodiscard]] QString meaning(int column) const override;
  [[nodiscard]] QString toolTip(int row, int column) const override;
  [[nodiscard]] QString text(int row, int column) const override;

 private:
  enum class Part { Group, Name, Number, Difference, Change };
  struct Place {
    Part part = Part::Name;
    std::size_t state = 0;
  };
  [[nodiscard]] static Place place(int column);
  [[nodiscard]] QString remainderText(int row, int column) const;
  [[nodiscard]] Verdict judged(int row, double change, const QString& text) const;
  [[nodiscard]] const Figure& figure(int row, std::size_t state) const;
  /// Figures that are shown.
  [[nodiscard]] static std::vector<std::size_t> rowsOf(const std::vector<ComparedState>& states,
                                                       bool hide_empty);
  void announceChanges(const std::vector<ComparedState>& before);

  std::vector<ComparedState> states_;
  std::vector<std::size_t> rows_;  // figures shown
  bool hide_empty_ = true;
};

}  // namespace hexaplan::gui
