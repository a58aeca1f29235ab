#pragma once
#include <QFrame>
#include <vector>

#include "gui/app/document/evaluation.h"

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace hexaplan::gui {

class ScenarioDocument;

/// The answer in one line, above every page: does it fit, memory, step time, throughput, cost, each with its
/// difference to the baseline. Where it does not fit: why, the changes that would make it fit, and a button
/// that searches.
class VerdictBar : public QFrame {
  Q_OBJECT
 public:
  explicit VerdictBar(ScenarioDocument& document, QWidget* parent = nullptr);

  /// The line that says why, as a person reads it.
  [[nodiscard]] QString reason() const;
  /// While a search for a layout that fits runs.
  void setSearching(bool searching);

 signals:
  /// Another verdict than before stands there; screen readers are told at the same time.
  void verdictChanged(const QString& verdict);
  void findLayoutRequested();
  void cancelSearchRequested();

 private:
  struct Tile {
    QLabel* title = nullptr;
    QLabel* value = nullptr;
    QLabel* note = nullptr;
    QWidget* box = nullptr;
  };
  Tile addTile(QHBoxLayout* into, const QString& name, const QString& title, const QString& tip);
  void makeHelp();
  void refresh();
  void showVerdict(const Evaluation& evaluation);
  void showNumbers(const Evaluation& evaluation, const Evaluation* baseline);
  void showChanges(const Evaluation& evaluation);
  /// What the buttons offer for `evaluation`.
  struct Change;
  [[nodiscard]] static std::vector<Change> changesFor(const Evaluation& evaluation);
  void showLeftOut(const Evaluation& evaluation);

  ScenarioDocument& document_;
  QLabel* badge_ = nullptr;
  QLabel* reason_ = nullptr;
  QLabel* left_out_ = nullptr;  // what the numbers do not contain
  QWidget* help_ = nullptr;
  QLabel* help_title_ = nullptr;  // what the buttons of a plan that fits are for
  QPushButton* find_ = nullptr;
  std::vector<QPushButton*> changes_;
  Tile memory_, step_, tokens_, mfu_, cost_;
  bool searching_ = false;
};

}  // namespace hexaplan::gui
