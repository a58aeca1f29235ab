#pragma once
#include <QWidget>
#include <functional>
#include <vector>

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace hexaplan::gui {

/// One line above the pages: what happened, and what can be done about it.
class MessageBar : public QWidget {
  Q_OBJECT
 public:
  struct Offer {
    QString text;
    std::function<void()> run;
  };

  explicit MessageBar(QWidget* parent = nullptr);

  /// Replaces what was said. An offer that is taken ends the message.
  void say(const QString& text, bool problem, std::vector<Offer> offers = {});
  /// Empty when nothing is said.
  [[nodiscard]] QString text() const;

 private:
  QLabel* text_ = nullptr;
  QHBoxLayout* line_ = nullptr;
  std::vector<QPushButton*> offers_;
};

}  // namespace hexaplan::gui
