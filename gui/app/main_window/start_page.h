#pragma once
#include <QWidget>

#include "gui/app/document/evaluation.h"

class QLabel;
class QPushButton;

namespace hexaplan::gui {

class ScenarioDocument;

/// What stands in the window while there is no question yet: what to do first, and next.
class StartPage : public QWidget {
  Q_OBJECT
 public:
  explicit StartPage(ScenarioDocument& document, QWidget* parent = nullptr);

 signals:
  void openModelRequested();
  void openScenarioRequested();
  void exampleRequested();
  void clusterRequested(const QString& cluster);

 private:
  void refresh();

  ScenarioDocument& document_;
  QLabel* step_ = nullptr;
  QWidget* model_ = nullptr;
  QWidget* cluster_ = nullptr;
};

}  // namespace hexaplan::gui
