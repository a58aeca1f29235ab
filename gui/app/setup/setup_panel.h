#pragma once
#include <QScrollArea>
#include <array>
#include <vector>

#include "gui/app/setup/fields.h"

class QToolButton;
class QVBoxLayout;

namespace hexaplan::gui {

class FieldRow;
class ScenarioDocument;

/// The question at the left of the window: every row of fields(), by section. Edits go to the document as
/// undoable changes; what the document says comes back as values, offers and reasons.
class SetupPanel : public QScrollArea {
  Q_OBJECT
 public:
  explicit SetupPanel(ScenarioDocument& document, QWidget* parent = nullptr);

  [[nodiscard]] FieldRow* row(std::string_view id) const;
  /// Puts the keyboard into a field, opening its section.
  void focusField(std::string_view id);
  [[nodiscard]] QSize sizeHint() const override { return {kWidth, 600}; }

 signals:
  void openModelRequested();

 private:
  static constexpr int kWidth = 348;
  struct Part {
    QToolButton* more = nullptr;
    QWidget* usual = nullptr;
    QWidget* advanced = nullptr;
  };
  void makeSection(Section section, QVBoxLayout* into);
  void addRow(const Field& field, QVBoxLayout* into);
  void edit(FieldRow& row, const QString& text, bool continuous);
  void refresh();

  ScenarioDocument& document_;
  std::array<Part, kSections> parts_;
  std::vector<FieldRow*> rows_;
};

}  // namespace hexaplan::gui
