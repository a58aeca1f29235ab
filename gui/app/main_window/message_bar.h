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

  /// Whether a message has become void, asked after every change of the question.
  using Stale = std::function<bool()>;
  /// Of messages that only their offers or the person end.
  [[nodiscard]] static bool never() { return false; }

  /// Replaces what was said. An offer that is taken ends the message. Without `stale`, the next change of the
  /// question ends it, and what is no problem ends with the page that it was said on.
  void say(const QString& text, bool problem, std::vector<Offer> offers = {}, Stale stale = {});
  /// The question has changed.
  void questionChanged();
  /// Another page is shown.
  void pageChanged();
  /// Empty when nothing is said.
  [[nodiscard]] QString text() const;

 private:
  QLabel* text_ = nullptr;
  QHBoxLayout* line_ = nullptr;
  std::vector<QPushButton*> offers_;
  Stale stale_;
  bool problem_ = false;
};

}  // namespace hexaplan::gui
