#pragma once
#include <QWidget>

#include "gui/app/document/scenario_document.h"

namespace hexaplan::gui {

/// One of the window's pages. Shows the document's last answer; a page that is hidden does nothing until it
/// is shown.
class Page : public QWidget {
  Q_OBJECT
 public:
  explicit Page(ScenarioDocument& document, QWidget* parent = nullptr);

 protected:
  [[nodiscard]] ScenarioDocument& document() const { return document_; }
  /// Shows what the document says now.
  virtual void refresh() = 0;
  void showEvent(QShowEvent* event) override;

 private:
  void documentChanged();

  ScenarioDocument& document_;
  bool stale_ = true;
};

}  // namespace hexaplan::gui
