#pragma once
#include <QString>

class QWidget;

namespace hexaplan::gui {

/// What docs/formulas.md says about an anchor ("M2"): the page travels inside the program. Empty strings for
/// an anchor it does not have.
struct FormulaSection {
  QString title;  // "M2 · Saved activations of one layer"
  QString text;   // Markdown, without the title
};
[[nodiscard]] FormulaSection formulaSection(const QString& anchor);

/// Tool-tip of a field: what it is, which formula it enters, and what launch files call it (empty: not said).
[[nodiscard]] QString fieldTip(const QString& label, const QString& meaning, const QString& anchor,
                               const QString& launch_keys = {});

/// Opens the page in a window of its own, at `anchor` when there is one.
void showFormulas(QWidget* parent, const QString& anchor = {});

}  // namespace hexaplan::gui
